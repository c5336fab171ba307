// What every answer has below its results: the picture of the contexts, and ways to take it along.

import { make } from "./dom.js";
import { contextPicture } from "./contexts.js";
import { fitTable } from "./fits.js";
import { save } from "./clipboard.js";

const ABOUT =
  "The models imagined these contexts. The longer its bar, the more a context says about the text; " +
  "words that it shares with the texts stand out.";

/** `rows` are {text, fits} for the table, and may be empty; `yardstick` names what fits are compared with. */
export function showContexts(panel, { contexts, held, texts, rows, yardstick }) {
  const place = panel.querySelector(".contexts");
  if (!contexts?.length) return place.replaceChildren();
  return place.replaceChildren(
    make("h3", {}, `What could stand around ${yardstick}`),
    make("p", { class: "about" }, ABOUT),
    contextPicture(contexts, held, texts),
    rows.length
      ? make(
          "details",
          { class: "numbers" },
          make("summary", {}, "All fits in numbers"),
          fitTable(rows, contexts, yardstick),
        )
      : "",
  );
}

/** The buttons below the answer, for what it holds now. */
export function showShare(panel, task, content, signature) {
  panel.querySelector(".save").onclick = () => save(`refdec-${task}.json`, content);
  panel.querySelector(".signature code").textContent = signature;
  panel.querySelector(".signature").hidden = !signature;
}

export function showHeading(panel, words, seconds) {
  const time = make("small", {}, ` in ${seconds.toFixed(1)} s`);
  panel.querySelector(".heading").replaceChildren(words, time);
}

export function showNote(panel, words) {
  const note = panel.querySelector(".note");
  note.textContent = words ?? "";
  note.hidden = !words;
}
