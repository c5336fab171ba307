// What paraphrase and rewrite share: one field for a text, a ranked answer, and both in a link.

import { byId } from "./dom.js";
import { RankedView } from "./ranked-view.js";

export class RankedTask {
  /** `noun` names one result to the reader. */
  constructor(name, noun, changed) {
    this.panel = byId(name);
    this.text = byId(`${name}-text`);
    this.view = new RankedView(this.panel, name, noun, changed);
  }

  example(text) {
    this.text.value = text;
  }

  toLink() {
    return this.view.least ? [["novelty", String(this.view.least)]] : [];
  }

  textsToLink() {
    return [["text", this.text.value]];
  }

  fromLink(link) {
    this.text.value = link.get("text") ?? this.text.value;
    this.view.least = Number(link.get("novelty") ?? 0) || 0;
  }
}
