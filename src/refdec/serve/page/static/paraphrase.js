// Paraphrase: a text in, ranked results out.

import { RankedTask } from "./ranked-task.js";
import { Mistake } from "./task.js";

export class Paraphrase extends RankedTask {
  constructor(changed) {
    super("paraphrase", "paraphrase", changed);
  }

  request() {
    const text = this.text.value.trim();
    if (!text) throw new Mistake("There is no text yet. Write a sentence, or take an example.", this.text);
    return { text, all: true };
  }

  show([result], seconds) {
    return this.view.show(result, seconds);
  }
}
