// The trade-off of quality and Novelty, from results that are all here already. The same rules as in results.py.

export const counted = (results) => results.filter((item) => !item.copy);

/** Results of at least this Novelty, best first. */
export const atNovelty = (results, least) => counted(results).filter((item) => item.novelty >= least);

/** Results that no other beats in both rank and Novelty, by rising Novelty. */
export function front(results) {
  const best = [];
  for (const item of counted(results)) {
    if (!best.length || item.novelty > best.at(-1).novelty) best.push(item);
  }
  return best;
}
