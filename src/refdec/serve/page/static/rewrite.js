// Rewrite: a span of a document in other words, shown in its place.

import { make } from "./dom.js";
import { RankedTask } from "./ranked-task.js";
import { Mistake } from "./task.js";

export class Rewrite extends RankedTask {
  constructor(changed) {
    super("rewrite", "rewriting", changed);
    this.panel.querySelector(".mark-selection").addEventListener("click", () => {
      this.#markSelection();
      changed();
    });
  }

  request() {
    if (!this.text.value.includes("[[")) this.#markSelection();
    const text = this.text.value;
    if (!/\[\[[^]*\S[^]*\]\]/.test(text)) {
      throw new Mistake("Select the words that are to be said otherwise, or put them between [[ and ]].", this.text);
    }
    return { document: text, all: true };
  }

  /** The selected words, without the space around them, go between [[ and ]]. */
  #markSelection() {
    const field = this.text;
    let [from, to] = [field.selectionStart, field.selectionEnd];
    const { value } = field;
    while (from < to && /\s/.test(value[from])) from += 1;
    while (to > from && /\s/.test(value[to - 1])) to -= 1;
    if (from === to) return;
    const bare = (words) => words.replaceAll("[[", "").replaceAll("]]", "");
    field.value = `${bare(value.slice(0, from))}[[${bare(value.slice(from, to))}]]${bare(value.slice(to))}`;
    field.focus();
  }

  show([result], seconds) {
    const [best] = result.results.filter((item) => !item.copy);
    this.#place(result, best);
    const said = this.view.show(result, seconds, { name: "in-place", chosen: (item) => this.#place(result, item) });
    const first = this.panel.querySelector("input[name=in-place]");
    if (first) first.checked = true;
    return said;
  }

  #place(result, item) {
    const words = item ? make("mark", {}, item.text) : make("span", {}, result.source);
    this.panel.querySelector(".document").replaceChildren(result.left, words, result.right);
  }
}
