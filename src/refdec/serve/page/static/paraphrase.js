// Paraphrase: a text in, ranked results out.

import { byId } from "./dom.js";
import { RankedView } from "./ranked-view.js";
import { Mistake } from "./task.js";

export class Paraphrase {
  #text = byId("paraphrase-text");
  #view;

  constructor(changed) {
    this.#view = new RankedView(byId("paraphrase"), "paraphrase", "paraphrase", changed);
  }

  request() {
    const text = this.#text.value.trim();
    if (!text) throw new Mistake("There is no text yet. Write a sentence, or take an example.", this.#text);
    return { text, all: true };
  }

  show([result], seconds) {
    return this.#view.show(result, seconds);
  }

  example(text) {
    this.#text.value = text;
  }

  toLink() {
    return this.#view.least ? [["novelty", String(this.#view.least)]] : [];
  }

  textsToLink() {
    return [["text", this.#text.value]];
  }

  fromLink(link) {
    this.#text.value = link.get("text") ?? this.#text.value;
    this.#view.least = Number(link.get("novelty") ?? 0) || 0;
  }
}
