// A list of results, best first: each with its confidence, its marked words, its fit with each context, and its facts.

import { copy } from "./clipboard.js";
import { make, unseen } from "./dom.js";
import { strip } from "./fits.js";
import { nats, percent } from "./numbers.js";
import { markedWords } from "./words.js";

const AT_FIRST = 6;
const CHANGES = 4;

export class RankedList {
  #list;
  #column;
  #more;
  #items = new Map(); // element by result
  #inside = [];
  #open = false;

  constructor(element) {
    this.#list = element.querySelector("ol");
    this.#column = element.querySelector(".column");
    this.#more = element.querySelector("button.more");
    this.#more.addEventListener("click", () => {
      const first = this.#inside[AT_FIRST];
      this.#open = true;
      this.#show();
      this.#items.get(first)?.focus(); // the button is gone
    });
  }

  /** `choice`, where given, is {name, chosen}: each result gets a radio button, and `chosen` is called with it. */
  load(results, contexts, choice) {
    this.#open = false;
    this.#column.textContent = results.some((item) => item.confidence !== null) ? "confidence" : "score";
    this.#items = new Map(results.filter((item) => !item.copy).map((item) => [item, entry(item, contexts, choice)]));
  }

  show(inside) {
    this.#inside = inside;
    this.#show();
  }

  /** The words of results whose differences have come. */
  mark(source, changes) {
    for (const [item, element] of this.#items) {
      if (!changes.has(item)) continue;
      element.querySelector(".text").replaceChildren(...markedWords(source, item.text, changes.get(item)));
    }
  }

  goTo(item) {
    this.#open ||= this.#inside.indexOf(item) >= AT_FIRST;
    this.#show();
    const element = this.#items.get(item);
    element?.scrollIntoView({ block: "nearest" });
    element?.focus();
  }

  #show() {
    const shown = this.#open ? this.#inside : this.#inside.slice(0, AT_FIRST);
    this.#list.replaceChildren(...shown.map((item) => this.#items.get(item)));
    this.#more.hidden = shown.length === this.#inside.length;
    this.#more.textContent = `Show all ${this.#inside.length}`;
  }
}

function entry(item, contexts, choice) {
  const text = make(choice ? "span" : "p", { class: "text", dir: "auto" }, item.text);
  const copyButton = make(
    "button",
    { type: "button", class: "quiet", click: () => copy(item.text, copyButton, "Result") },
    "copy",
    unseen(` “${item.text}”`),
  );
  return make(
    "li",
    { class: item.doubtful ? "result doubtful" : "result", tabindex: "-1" },
    confidence(item),
    make(
      "div",
      { class: "said" },
      choice ? make("label", { class: "choice" }, radio(item, choice), text) : text,
      make(
        "p",
        { class: "facts" },
        item.doubtful ? make("strong", { class: "tag" }, "doubtful") : null,
        make("span", {}, `Novelty ${item.novelty.toFixed(0)}`),
        item.confidence === null
          ? null
          : make("span", { title: "nats against the source" }, `score ${nats(item.relative, 2)}`),
        changed(item.changes),
      ),
    ),
    make("div", { class: "beside" }, contexts.length ? fit(item, contexts) : null, copyButton),
  );
}

const fit = (item, contexts) =>
  make("span", { class: "fit" }, make("span", { "aria-hidden": "true" }, "fit"), strip(item.fits, contexts));

function radio(item, choice) {
  return make("input", { type: "radio", name: choice.name, change: () => choice.chosen(item) });
}

function confidence(item) {
  if (item.confidence === null) {
    return make(
      "div",
      { class: "confidence" },
      make("span", { class: "percent" }, unseen("score "), nats(item.relative, 1)),
    );
  }
  return make(
    "div",
    { class: "confidence" },
    make("span", { class: "percent" }, unseen("confidence "), percent(item.confidence)),
    make("span", { class: "bar", "--share": item.confidence }),
  );
}

function changed(changes) {
  if (!changes.length) return null;
  const more = changes.length - CHANGES;
  return make(
    "span",
    { class: "changes" },
    [...changes.slice(0, CHANGES), ...(more > 0 ? [`and ${more} more`] : [])].join(" · "),
  );
}
