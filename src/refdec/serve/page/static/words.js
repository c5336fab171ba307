// A text with its marks, told apart by lines and signs as well as by colour, and by words for screen readers.

import { make, unseen } from "./dom.js";
import { pieces } from "./marks.js";

const TAGS = { moved: "span", swapped: "span", new: "ins", lost: "del" };

export function markedWords(source, text, changes) {
  return pieces(source, text, changes).flatMap(({ mark, words, instead }, at) => {
    if (!mark) return [words];
    const said = mark === "swapped" ? `instead of “${instead}”` : mark;
    const element = make(TAGS[mark], { class: `mark ${mark}`, title: said }, words, unseen(` (${said})`));
    if (mark !== "lost") return [element];
    return at ? [" ", element] : [element, " "]; // the first word of all has the text after it
  });
}
