// What became of each word: the pieces of a result with their marks. Works on data, knows nothing of the page.

import { covered, sameOrder, wordsOf } from "./alignment.js";

/** The pieces of a text in order, each {mark, words, instead}; mark is "", "moved", "swapped", "new" or "lost". */
export function pieces(sourceText, text, changes) {
  const letters = Array.from(text);
  const { painted, inserted } = marks(sourceText, text, changes);
  const owner = new Array(letters.length).fill(null); // the mark that each letter belongs to
  for (const mark of painted) owner.fill(mark, mark.from, mark.to);
  const result = [];
  for (let at = 0; at <= letters.length; at += 1) {
    for (const words of inserted.get(at) ?? []) result.push({ mark: "lost", words, instead: "" });
    if (at === letters.length) break;
    const before = result.at(-1);
    if (before && before.owner === owner[at] && before.mark !== "lost") before.words += letters[at];
    else result.push({ owner: owner[at], mark: owner[at]?.mark ?? "", words: letters[at], instead: owner[at]?.instead ?? "" });
  }
  return result.map(({ mark, words, instead }) => ({ mark, words, instead }));
}

function marks(sourceText, text, changes) {
  const [source, words] = [wordsOf(sourceText), wordsOf(text)];
  const [coverSource, coverWords] = [covered(source, changes, "source_place"), covered(words, changes, "text_place")];
  const pairs = sameOrder(source, words, coverSource, coverWords);
  const stays = { source: new Set(pairs.map(([one]) => one)), text: new Set(pairs.map(([, other]) => other)) };
  const painted = [];
  for (const change of changes) {
    const mark = nameOf(change);
    if (mark) painted.push({ mark, from: change.text_place[0], to: change.text_place[1], instead: mark === "swapped" ? change.source : "" });
  }
  painted.sort((one, other) => other.to - other.from - (one.to - one.from)); // narrow ones stand out in wide ones

  const free = (list, cover, staying) => list.map((_, at) => at).filter((at) => !staying.has(at) && (!cover[at] || cover[at].kind === "kept"));
  let left = free(source, coverSource, stays.source);
  const leftOver = [];
  for (const at of free(words, coverWords, stays.text)) {
    const twin = coverWords[at] ? at : left.find((one) => !coverSource[one] && source[one].said === words[at].said);
    if (twin === undefined) leftOver.push(at);
    else painted.push({ mark: "moved", from: words[at].from, to: words[at].to, instead: "" });
    if (!coverWords[at]) left = left.filter((one) => one !== twin);
  }
  left = left.filter((one) => !coverSource[one]);

  const anchors = pairs.map(([one, other]) => ({ source: [source[one].from, source[one].to], text: [words[other].from, words[other].to] }));
  for (const change of changes) {
    if (change.kind !== "kept" && change.kind !== "roles" && change.source_place && change.text_place) {
      anchors.push({ source: change.source_place, text: change.text_place });
    }
  }
  // What is left over in the same gap of both texts was swapped: "did not", "didn't".
  for (const run of runs(leftOver, words, text)) {
    const [from, to] = [words[run[0]].from, words[run.at(-1)].to];
    const start = Math.max(0, ...anchors.filter((anchor) => anchor.text[1] <= from).map((anchor) => anchor.source[1]));
    const end = Math.min(Infinity, ...anchors.filter((anchor) => anchor.text[0] >= to).map((anchor) => anchor.source[0]));
    const instead = left.filter((one) => source[one].from >= start && source[one].to <= end);
    left = left.filter((one) => !instead.includes(one));
    painted.push({ mark: instead.length ? "swapped" : "new", from, to, instead: instead.map((one) => source[one].said).join(" ") });
  }
  const gone = [
    ...changes.filter((change) => change.source_place && !change.text_place).map((change) => ({ words: change.source, place: change.source_place })),
    ...runs(left, source, sourceText).map((run) => {
      const place = [source[run[0]].from, source[run.at(-1)].to];
      return { words: Array.from(sourceText).slice(...place).join(""), place };
    }),
  ];
  return { painted, inserted: placed(gone, anchors) };
}

function nameOf(change) {
  if (!change.text_place || change.kind === "roles") return "";
  if (change.kind === "moved") return "moved";
  if (!change.source_place) return "new";
  return change.kind === "kept" || change.source.toLowerCase() === change.text.toLowerCase() ? "" : "swapped";
}

/** Numbers of words in runs: words that stand side by side with nothing but a space between them. */
function runs(numbers, words, text) {
  const letters = Array.from(text);
  const result = [];
  for (const at of numbers) {
    const before = result.at(-1)?.at(-1);
    const between = before === undefined ? "." : letters.slice(words[before].to, words[at].from).join("");
    if (between.trim() === "") result.at(-1).push(at);
    else result.push([at]);
  }
  return result;
}

/** Lost words by the letter of the text after which they would stand: behind what stood before them in the source. */
function placed(gone, anchors) {
  const places = new Map();
  for (const item of gone.sort((one, other) => one.place[0] - other.place[0])) {
    const before = anchors.filter((anchor) => anchor.source[1] <= item.place[0]);
    const nearest = before.sort((one, other) => other.source[1] - one.source[1])[0];
    const at = nearest?.text[1] ?? 0;
    places.set(at, [...(places.get(at) ?? []), item.words]);
  }
  return places;
}
