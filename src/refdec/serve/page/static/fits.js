// How well a text fits each context: a strip of colours that shows its numbers on focus, and all of it as a table.

import { make } from "./dom.js";
import { level, nats } from "./numbers.js";

/** The order in which people meet contexts: those before the text, then those after it. */
export function readingOrder(contexts) {
  const numbered = contexts.map((context, index) => ({ ...context, index }));
  const ordered = [
    ...numbered.filter((item) => item.side === "left"),
    ...numbered.filter((item) => item.side === "right"),
  ];
  return ordered.map((item, at) => ({ ...item, number: at + 1 }));
}

const place = (context) => (context.side === "left" ? "before" : "after");

export function strip(fits, contexts) {
  const ordered = readingOrder(contexts);
  const said = ordered.map((item) => `${item.number} ${place(item)}: ${nats(fits[item.index])}`).join(", ");
  return make(
    "span",
    {
      class: "strip",
      title: "fit with each context",
      tabindex: "0",
      role: "img",
      "aria-label": `fit with each context, in nats: ${said}`,
    },
    ordered.map((item) =>
      make(
        "span",
        { class: `cell ${item.side}`, "data-level": level(fits[item.index]) },
        make("span", { class: "cell-number" }, nats(fits[item.index])),
      ),
    ),
  );
}

/** One row per text, one column per context. `rows` are {text, fits}. */
export function fitTable(rows, contexts, yardstick) {
  const ordered = readingOrder(contexts);
  const caption = `Fit with each context, in nats against ${yardstick}`;
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make(
      "table",
      {},
      make("caption", {}, caption),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("th", { scope: "col" }, "text"),
          ordered.map((item) =>
            make("th", { scope: "col", class: "number", title: item.text.trim() }, `${item.number} ${place(item)}`),
          ),
        ),
      ),
      make(
        "tbody",
        {},
        rows.map(({ text, fits }) =>
          make(
            "tr",
            {},
            make("th", { scope: "row", dir: "auto" }, text),
            ordered.map((item) =>
              make("td", { class: "number", "data-level": level(fits[item.index]) }, nats(fits[item.index])),
            ),
          ),
        ),
      ),
    ),
  );
}
