// The contexts of a text as a picture: bars of their weights on both sides of it, with their words.

import { make, unseen } from "./dom.js";
import { readingOrder } from "./fits.js";

const SMALL = new Set(
  `a about after all also an and any are as at be been but by can could did do does for from had has
  have he her him his how i if in into is it its me more my no not of off on one or our out she should so some than that
  the their them then there these they this those to too up us very was we were what when where which who why will with
  would you your don't didn't it's`.split(/\s+/),
);

const LIGHT = 0.005; // a context of less weight has one line

/** `held` says what stands in the middle: pieces of the text whose contexts these are. */
export function contextPicture(contexts, held, texts) {
  const shared = new Set(texts.flatMap((text) => words(text).map(stem)).filter((word) => !SMALL.has(word)));
  const ordered = readingOrder(contexts);
  return make(
    "div",
    { class: "picture" },
    side(
      ordered.filter((item) => item.side === "left"),
      "left",
      shared,
    ),
    make("p", { class: "middle", dir: "auto" }, held),
    side(
      ordered.filter((item) => item.side === "right"),
      "right",
      shared,
    ),
  );
}

function side(items, name, shared) {
  const where = name === "left" ? "before" : "after";
  if (!items.length) return make("p", { class: `side ${name} none` }, `No contexts ${where} the text.`);
  return make(
    "ol",
    { class: `side ${name}`, "aria-label": `contexts ${where} the text, heaviest first` },
    items.map((item) =>
      make(
        "li",
        { class: item.weight < LIGHT ? "context light" : "context" },
        make(
          "span",
          { class: "weight", "--weight": item.weight },
          make("span", { class: "weight-bar" }),
          make("span", { class: "weight-number" }, unseen("weight "), item.weight.toFixed(2)),
        ),
        make(
          "span",
          { class: "context-words", dir: "auto" },
          make("span", { class: "context-number", "aria-hidden": "true" }, String(item.number)),
          name === "right" ? "… " : "",
          highlighted(item.text.trim(), shared),
          name === "left" ? " …" : "",
        ),
      ),
    ),
  );
}

/** Words that the context shares with the texts stand out. */
function highlighted(text, shared) {
  return text
    .split(/([\p{L}\p{N}]+(?:['’]\p{L}+)?)/u)
    .map((part, at) => (at % 2 && shared.has(stem(part)) ? make("b", { class: "shared" }, part) : part));
}

const words = (text) => text.match(/[\p{L}\p{N}]+(?:['’]\p{L}+)?/gu) ?? [];

/** Good enough to see "train" in "trains": this only highlights, and nothing is counted by it. */
function stem(word) {
  const lower = word.toLowerCase().replace(/['’]s$/, "");
  if (SMALL.has(lower) || lower.length < 5) return lower;
  return lower.replace(/(ing|ed|er|es|s)$/, "");
}
