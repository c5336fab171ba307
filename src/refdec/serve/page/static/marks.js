// What became of each word: the pieces of a result with their marks. Works on data, knows nothing of the page.
//
// The ledger says what became of the words that carry meaning. Small words that are in neither text's account are
// compared here: those that stand in the same gap of both texts were swapped ("did not", "didn't").

import { covered, sameOrder, wordsOf } from "./alignment.js";

/** The pieces of a text in order, each {mark, words, instead}; mark is "", "moved", "swapped", "new" or "lost". */
export function pieces(sourceText, text, changes) {
  const letters = Array.from(text);
  const { painted, lost } = marks(sourceText, text, changes);
  const owner = new Array(letters.length).fill(null); // the mark that each letter belongs to
  for (const mark of painted) owner.fill(mark, ...mark.place);
  const result = [];
  for (let at = 0; at <= letters.length; at += 1) {
    for (const words of lost.get(at) ?? []) result.push({ mark: "lost", words, instead: "" });
    if (at === letters.length) break;
    const { mark, instead } = owner[at] ?? { mark: "", instead: "" };
    const before = result.at(-1);
    if (before && before.owner === owner[at]) before.words += letters[at];
    else result.push({ owner: owner[at], mark, words: letters[at], instead });
  }
  return result.map(({ mark, words, instead }) => ({ mark, words, instead }));
}

function marks(sourceText, text, changes) {
  const source = side(sourceText, changes, "source_place");
  const target = side(text, changes, "text_place");
  const pairs = sameOrder(source.words, target.words, source.cover, target.cover);
  for (const [one, other] of pairs) {
    source.settled.add(one);
    target.settled.add(other);
  }
  const moved = movedWords(source, target);
  const anchors = [
    ...pairs.map(([one, other]) => ({ source: source.place(one), text: target.place(other) })),
    ...changes.filter(isSwap).map((change) => ({ source: change.source_place, text: change.text_place })),
  ];
  const leftOver = leftOverWords(source, target, anchors);
  const lost = [
    ...changes.filter((change) => change.source_place && !change.text_place).map((change) => change.source_place),
    ...runs(source.open(), source),
  ];
  const said = (place) =>
    Array.from(sourceText)
      .slice(...place)
      .join("");
  return {
    painted: [...accounted(changes), ...moved, ...leftOver],
    lost: inserted(
      lost.map((place) => ({ words: said(place), place })),
      anchors,
    ),
  };
}

/** The words of a text with the change that covers each, and which of them are settled. */
function side(text, changes, name) {
  const words = wordsOf(text);
  const cover = covered(words, changes, name);
  const settled = new Set([...words.keys()].filter((at) => cover[at] && cover[at].kind !== "kept"));
  return {
    words,
    cover,
    settled,
    letters: Array.from(text),
    place: (at) => [words[at].from, words[at].to],
    open: () => [...words.keys()].filter((at) => !settled.has(at)),
  };
}

const isSwap = ({ kind, source_place, text_place }) =>
  Boolean(kind !== "kept" && kind !== "roles" && source_place && text_place);

/** What the ledger says, wide places first, so that narrow ones stand out in them. */
function accounted(changes) {
  const width = ({ place: [from, to] }) => to - from;
  return changes
    .map((change) => ({ mark: nameOf(change), place: change.text_place, instead: change.source }))
    .filter(({ mark }) => mark)
    .sort((one, other) => width(other) - width(one));
}

function nameOf(change) {
  if (!change.text_place || change.kind === "roles" || change.kind === "kept") return "";
  if (change.kind === "moved") return "moved";
  if (!change.source_place) return "new";
  return change.source.toLowerCase() === change.text.toLowerCase() ? "" : "swapped";
}

/** Words that both texts have, in another order; those that moved together are one piece. */
function movedWords(source, target) {
  const moved = [];
  for (const at of target.open()) {
    const kept = target.cover[at]; // by the ledger; else the same word is looked for
    const same = (one) => !source.cover[one] && source.words[one].said === target.words[at].said;
    const twin = source.open().find((one) => (kept ? source.cover[one] === kept : same(one)));
    if (twin === undefined && !kept) continue;
    target.settled.add(at);
    source.settled.add(twin);
    const last = moved.at(-1);
    if (last && last.at === at - 1 && (last.twin === twin - 1 || twin === undefined)) {
      Object.assign(last, { at, twin, place: [last.place[0], target.words[at].to] });
    } else moved.push({ mark: "moved", place: target.place(at), instead: "", at, twin });
  }
  for (const at of source.open()) {
    if (source.cover[at]) source.settled.add(at); // kept in other words, of which there are fewer
  }
  return moved;
}

/** Runs of words that nothing accounts for: swapped where the source has such words in the same gap, else new. */
function leftOverWords(source, target, anchors) {
  return runs(target.open(), target).map((place) => {
    const start = Math.max(0, ...anchors.filter(({ text }) => text[1] <= place[0]).map((anchor) => anchor.source[1]));
    const end = Math.min(...anchors.filter(({ text }) => text[0] >= place[1]).map((anchor) => anchor.source[0]));
    const swapped = source.open().filter((at) => source.words[at].from >= start && source.words[at].to <= end);
    for (const at of swapped) source.settled.add(at);
    const instead = swapped.map((at) => source.words[at].said).join(" ");
    return { mark: swapped.length ? "swapped" : "new", place, instead };
  });
}

/** The places of words that stand side by side with nothing but a space between them. */
function runs(numbers, { words, letters }) {
  const places = [];
  for (const at of numbers) {
    const last = places.at(-1);
    const isNext = last && letters.slice(last[1], words[at].from).join("").trim() === "";
    if (isNext) last[1] = words[at].to;
    else places.push([words[at].from, words[at].to]);
  }
  return places;
}

/** Lost words by the letter of the text before which they would stand: behind what stood before them in the source. */
function inserted(gone, anchors) {
  const places = new Map();
  for (const { words, place } of gone.sort((one, other) => one.place[0] - other.place[0])) {
    const before = anchors.filter((anchor) => anchor.source[1] <= place[0]);
    const nearest = before.sort((one, other) => other.source[1] - one.source[1])[0];
    const at = nearest?.text[1] ?? 0;
    places.set(at, [...(places.get(at) ?? []), words]);
  }
  return places;
}
