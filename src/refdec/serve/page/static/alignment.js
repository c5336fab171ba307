// Which words of two texts are the same words in the same order, given what the ledger says about them.
//
// The ledger accounts for what carries meaning; small words that cost nothing are not in it and are found here. Places
// are counted in characters as Python counts them, that is by code points.

/** The words of a text: {said, from, to}. */
export function wordsOf(text) {
  const words = [];
  let at = 0; // code points before `read`
  let read = 0; // UTF-16 units
  for (const match of text.matchAll(/[\p{L}\p{N}]+(?:['’]\p{L}+)*/gu)) {
    at += Array.from(text.slice(read, match.index)).length;
    const length = Array.from(match[0]).length;
    words.push({ said: match[0].toLowerCase().replace("’", "'"), from: at, to: at + length });
    at += length;
    read = match.index + match[0].length;
  }
  return words;
}

/** The change that covers each word, if one does; the narrowest where there are several. */
export function covered(words, changes, side) {
  const width = (change) => change[side][1] - change[side][0];
  const placed = changes.filter((change) => change[side] && change.kind !== "roles");
  return words.map(
    ({ from, to }) =>
      placed
        .filter((change) => change[side][0] < to && from < change[side][1])
        .sort((one, other) => width(one) - width(other))[0],
  );
}

/** Pairs [source, text] of word numbers: the heaviest run of kept words that stands in the same order in both. */
export function sameOrder(source, text, coverSource, coverText) {
  const weight = (one, other) => {
    const [here, there] = [coverSource[one], coverText[other]];
    if (here?.kind === "kept" && here === there) return 3; // content counts more than small words
    const isFree = (change) => !change || change.kind === "kept";
    return isFree(here) && isFree(there) && source[one].said === text[other].said ? 1 : 0;
  };
  const best = Array.from({ length: source.length + 1 }, () => new Array(text.length + 1).fill(0));
  for (let one = source.length - 1; one >= 0; one -= 1) {
    for (let other = text.length - 1; other >= 0; other -= 1) {
      const both = weight(one, other);
      const skip = Math.max(best[one + 1][other], best[one][other + 1]);
      best[one][other] = both ? Math.max(skip, both + best[one + 1][other + 1]) : skip;
    }
  }
  const pairs = [];
  for (let one = 0, other = 0; one < source.length && other < text.length;) {
    const both = weight(one, other);
    if (both && best[one][other] === both + best[one + 1][other + 1]) pairs.push([one++, other++]);
    else if (best[one][other] === best[one + 1][other]) one += 1;
    else other += 1;
  }
  return pairs;
}
