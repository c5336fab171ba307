// The answer of paraphrase and rewrite: a ranked list, the slider that moves along the front, and the contexts.

import { differences } from "./api.js";
import { showContexts, showHeading, showNote, showShare } from "./answer.js";
import { make } from "./dom.js";
import { counted } from "./front.js";
import { NoveltySlider } from "./novelty.js";
import { count } from "./numbers.js";
import { RankedList } from "./ranked.js";

const PAIRS = 50; // pairs of texts in one request

export class RankedView {
  #panel;
  #task;
  #name;
  #list;
  #slider;

  constructor(panel, task, name, changed) {
    this.#panel = panel;
    this.#task = task;
    this.#name = name;
    this.#list = new RankedList(panel.querySelector(".list"));
    this.#slider = new NoveltySlider(
      panel.querySelector(".novelty"),
      (_, inside) => this.#list.show(inside),
      (item) => {
        this.#slider.least = Math.min(this.#slider.least, Math.floor(item.novelty));
        this.#list.goTo(item);
      },
    );
    panel.querySelector("input[type=range]").addEventListener("change", changed);
  }

  get least() {
    return this.#slider.least;
  }

  set least(value) {
    this.#slider.least = value;
  }

  /** Shows a result and returns a sentence on it. `choice` as in RankedList.load. */
  show(result, seconds, choice) {
    const { results, contexts, source } = result;
    const items = counted(results);
    const words = count(items.length, this.#name);
    showHeading(this.#panel, words, seconds);
    showNote(this.#panel, result.note);
    this.#list.load(results, contexts, choice);
    this.#slider.show(results);
    this.#showCopies([...results.filter((item) => item.copy), ...(result.copies ?? [])]);
    showContexts(this.#panel, {
      contexts,
      held: source,
      texts: [source, ...items.slice(0, 6).map((item) => item.text)],
      rows: items,
      yardstick: "the source",
    });
    showShare(this.#panel, this.#task, result, result.signature);
    this.#mark(source, items);
    return `${words}. ${items.length ? `The best: ${items[0].text}` : ""} ${result.note ?? ""}`;
  }

  #showCopies(copies) {
    const place = this.#panel.querySelector(".copies");
    place.hidden = !copies.length;
    if (!copies.length) return;
    const more = copies.length - 1;
    place.replaceChildren(
      "A copy of the source, not counted: ",
      make("q", { dir: "auto" }, copies[0].text),
      more ? ` and ${more} more like it` : "",
    );
  }

  /** Asks which words changed. The results are there already, so a failure here takes nothing away. */
  async #mark(source, items) {
    for (let first = 0; first < items.length; first += PAIRS) {
      const some = items.slice(first, first + PAIRS);
      try {
        const answers = await differences(some.map((item) => [source, item.text]));
        this.#list.mark(source, new Map(some.map((item, at) => [item, answers[at].changes])));
      } catch (error) {
        console.warn("The words are not marked:", error.message);
        return;
      }
    }
  }
}
