// A text with its marks, told apart by lines and signs as well as by colour, and by words for screen readers.

import { make, unseen } from "./dom.js";
import { pieces } from "./marks.js";

const TAGS = { moved: "span", swapped: "span", new: "ins", lost: "del" };

export function markedWords(source, text, changes) {
  return pieces(source, text, changes).flatMap(({ mark, words, instead }, at) => {
    if (!mark) return [words];
    const said = mark === "swapped" ? `instead of “${instead}”` : mark;
    const element = make(
      TAGS[mark],
      { class: at ? `mark ${mark}` : `at-start mark ${mark}`, title: said },
      words,
      unseen(` (${said}) `),
    );
    // A lost word stands between others, and leaves no space behind when they are selected.
    return mark === "lost" ? [make("wbr"), unseen(" "), element] : [element];
  });
}
