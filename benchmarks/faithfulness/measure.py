"""What the ledger and the confidence say of good pairs, and of the same pairs broken on purpose.

    python -m benchmarks.faithfulness.measure --show
    python -m benchmarks.faithfulness.measure --half held-out --candidates outputs/bed.jsonl

For each kind of break: the share that the ledger finds. For each kind of rewording: the share of good pairs that it
calls unfaithful. With candidates, also the shares that have a confidence above 0.8. --show lists what was missed. One
JSON line comes last.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.faithfulness.breaks import HALVES, KINDS, BrokenPair, GoodPair, broken_pairs, good_pairs
from refdec.evaluate.experiments.outputs import OutputRow, read_outputs
from refdec.evaluate.judging.confidence import ranked_of, signature_of
from refdec.ledger.comparison import Comparison, compare
from refdec.tasks.confidence import calibration, features_of

SURE = 0.8
AnyPair = GoodPair | BrokenPair


Compare = Callable[[str, str], Comparison]


def groups(good: Sequence[GoodPair], broken: Sequence[BrokenPair]) -> dict[str, list[AnyPair]]:
    """Pairs by the rows of the table: kinds of breaks and of rewordings, and the sums that must hold."""
    table: dict[str, list[AnyPair]] = {kind: [pair for pair in broken if pair.kind == kind] for kind in KINDS}
    table["word in WordNet"] = [pair for pair in broken if pair.kind == "word" and not pair.outside]
    table["word outside"] = [pair for pair in broken if pair.outside]
    table["all but grammar"] = [pair for pair in broken if pair.kind != "grammar"]
    table["all broken"] = list(broken)
    table |= {f"good: {kind}": [pair for pair in good if pair.kind == kind] for kind in _kinds(good)}
    table["all good"] = list(good)
    return table


def _kinds(good: Iterable[GoodPair]) -> list[str]:
    return list(dict.fromkeys(pair.kind for pair in good))


def unfaithful(pairs: Iterable[AnyPair], compare: Compare) -> dict[AnyPair, Comparison]:
    """The pairs that the ledger calls unfaithful, with its verdicts."""
    verdicts = {pair: compare(pair.source, pair.text) for pair in pairs}
    return {pair: verdict for pair, verdict in verdicts.items() if not verdict.faithful}


def confidences(rows: Iterable[OutputRow], pairs: Iterable[AnyPair]) -> dict[AnyPair, float]:
    """The confidence of each pair, from its figures in rows of outputs."""
    known: dict[tuple[str, str], float] = {}
    for row in rows:
        fitted = calibration(signature_of(row)["pair"])
        assert fitted is not None, "the pair of the candidates is not calibrated"
        for item in ranked_of(row):
            known[row["source"], item.text] = fitted.confidence(features_of(row["source"], item))
    return {pair: known[pair.source, pair.text] for pair in pairs if (pair.source, pair.text) in known}


def figures(
    table: Mapping[str, Sequence[AnyPair]], found: Mapping[AnyPair, Comparison], sure: Mapping[AnyPair, float]
) -> dict[str, dict[str, float]]:
    """For each row of the table: pairs, per cent that are called unfaithful, per cent of confidence above SURE."""
    result = {}
    for name, pairs in table.items():
        row: dict[str, float] = {"pairs": len(pairs), "unfaithful": _percent(pair in found for pair in pairs)}
        if sure:
            row["sure"] = _percent(sure[pair] > SURE for pair in pairs if pair in sure)
        result[name] = row
    return result


def _percent(verdicts: Iterable[bool]) -> float:
    listed = list(verdicts)
    return round(100 * sum(listed) / max(1, len(listed)), 1)


def show(good: Sequence[GoodPair], broken: Sequence[BrokenPair], compare: Compare) -> None:
    """The breaks that the ledger misses, then the good pairs on which it cries wolf, with its reasons."""
    found = unfaithful([*good, *broken], compare)
    for missed in broken:
        if missed not in found:
            cost = compare(missed.source, missed.text).cost
            print(f"missed {missed.kind} ({missed.pair}, cost {cost:.2f}):\n  {missed.source}\n  {missed.text}")
    for pair in good:
        if pair in found:
            reasons = "; ".join(map(str, found[pair].reasons))
            print(f"cried wolf ({pair.id}, cost {found[pair].cost:.2f}): {reasons}\n  {pair.source}\n  {pair.text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="list the breaks that are missed and the false alarms")
    parser.add_argument(
        "--candidates", type=Path, help="what benchmarks.faithfulness.candidates wrote: the confidence too"
    )
    parser.add_argument("--half", choices=HALVES, help="only the pairs of this half")
    parser.add_argument("--pairs", type=int, help="only so many good pairs, evenly spread, and their breaks")
    arguments = parser.parse_args()
    good = good_pairs()
    if arguments.half:
        good = [pair for pair in good if pair.half == arguments.half]
    good = good[:: max(1, len(good) // (arguments.pairs or len(good)))][: arguments.pairs]
    chosen = {pair.id for pair in good}
    broken = [pair for pair in broken_pairs() if pair.pair in chosen]
    sure: dict[AnyPair, float] = {}
    if arguments.candidates:
        sure = confidences(read_outputs(arguments.candidates).values(), [*good, *broken])
    table = figures(groups(good, broken), unfaithful([*good, *broken], compare), sure)
    if arguments.show:
        show(good, broken, compare)
    print(f"{'':20} {'pairs':>6} {'unfaithful':>11}" + (f" {'over ' + str(SURE):>9}" if sure else ""))
    for name, row in table.items():
        above = f" {row['sure']:7.1f} %" if sure else ""
        print(f"{name:20} {row['pairs']:6} {row['unfaithful']:9.1f} %{above}")
    print(json.dumps({"benchmark": "faithfulness", **table}))


if __name__ == "__main__":
    main()
