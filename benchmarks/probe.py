"""Makes the grammar probe of a pair from plain text, and measures whether it finds what log-probabilities do not.

    python -m benchmarks.probe make PAIR --text CORPUS
    python -m benchmarks.probe measure PAIR

`make` writes probe.safetensors into the directory of the pair, enters it in its SHA256SUMS, and tells how well the
probe knows held-out sentences from their breaks. `measure` reads good rewordings and the same ones with their grammar
broken by hand (benchmarks/faithfulness), in quotes as the program does, and compares three judges and a logistic
combination of probe and worst window: the share of broken texts that are found worse than good ones (AUC), of a text
alone and against its source; and how often a broken text is found worse than its own good version. One JSON line comes
last.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.faithfulness.breaks import broken_pairs, good_pairs
from refdec import InputError, load_pair
from refdec.files.whole import check_writable, write_whole
from refdec.lm.model_files import CHECKSUMS, PROBE_FILE, checksum
from refdec.lm.probe import save_probe
from refdec.reflect.schedule import run
from refdec.reflect.scoring import Alone, alone
from refdec.tasks.frame import FRAMES
from refdec.tasks.ranking import worst_window
from refdec.train.corpus import Corpus
from refdec.train.probe import ProbeSettings, make_probe

FOLDS = 5
Numbers = NDArray[np.float64]


def auc(high: Numbers, low: Numbers) -> float:
    """How often one of the first is above one of the second; ties count half."""
    return float((high[:, None] > low).mean() + (high[:, None] == low).mean() / 2)


def make(home: Path, texts: Sequence[Path], settings: ProbeSettings) -> dict[str, Any]:
    """Write a probe beside the weights of a pair."""
    target = home / PROBE_FILE
    check_writable(target)
    corpus = Corpus.at(texts)
    began = time.perf_counter()
    made = make_probe(load_pair(home), corpus, settings)
    save_probe(made.probe, target)
    target.chmod((home / "config.json").stat().st_mode)  # readable for all
    listing = home / CHECKSUMS
    if listing.is_file():
        others = [line for line in listing.read_text().splitlines() if not line.endswith(f"  {PROBE_FILE}")]
        lines = sorted([*others, f"{checksum(target)}  {PROBE_FILE}"], key=lambda line: line[66:])
        write_whole(listing, "\n".join(lines) + "\n")
    for kind, count in Counter(made.kinds).most_common():
        of_kind = np.array([own == kind for own in made.kinds])
        found, worse = auc(made.broken[of_kind], made.sound), (made.broken > made.sound)[of_kind].mean()
        print(f"{kind:10} {count:5} held-out breaks, AUC {found:.3f}, worse than unbroken {100 * worse:.1f} %")
    return {
        "pairs": settings.pairs,
        "held_out": len(made.kinds),
        "auc": round(auc(made.broken, made.sound), 4),
        "paired": round(float((made.broken > made.sound).mean()), 4),
        "bytes": target.stat().st_size,
        "seconds": round(time.perf_counter() - began),
    }


def judged(texts: Sequence[Alone]) -> dict[str, Numbers]:
    """What each judge says against texts: the higher, the worse."""
    if any(text.broken is None for text in texts):
        raise InputError(
            f"The pair has no {PROBE_FILE}. Make it first: python -m benchmarks.probe make PAIR --text CORPUS"
        )
    return {
        "probe": np.array([text.broken for text in texts]),
        "mean": np.array([-_both(text, lambda row: float(row.double().mean())) for text in texts]),
        "worst window": np.array([-_both(text, worst_window) for text in texts]),
    }


def _both(text: Alone, figure: Any) -> float:
    return float(figure(text.forward) + figure(text.backward)) / 2


def combined(
    good: Numbers, bad: Numbers, good_groups: Sequence[str], bad_groups: Sequence[str]
) -> tuple[Numbers, Numbers]:
    """Log-odds of a logistic regression on several figures (rows, figures), each by one that never saw its group."""
    rows, is_bad = np.concatenate([good, bad]), np.repeat([0.0, 1.0], [len(good), len(bad)])
    rows = np.column_stack([(rows - rows.mean(0)) / rows.std(0), np.ones(len(rows))])
    folds = np.array(
        [int(hashlib.sha256(name.encode()).hexdigest(), 16) % FOLDS for name in (*good_groups, *bad_groups)]
    )
    result = np.empty(len(rows))
    for fold in range(FOLDS):
        known, weights = folds != fold, np.zeros(rows.shape[1])
        for _ in range(25):  # Newton's method, with a ridge that keeps it from running away
            chance = 1 / (1 + np.exp(-rows[known] @ weights))
            slope = rows[known].T @ (is_bad[known] - chance) - 0.1 * weights
            curve = (rows[known].T * (chance * (1 - chance))) @ rows[known] + 0.1 * np.eye(len(weights))
            weights = weights + np.linalg.solve(curve, slope)
        result[~known] = rows[~known] @ weights
    return result[: len(good)], result[len(good) :]


def measure(home: Path, frame: str) -> dict[str, Any]:
    """The judges on the hand-written breaks of grammar."""
    good = good_pairs()
    bad = [pair for pair in broken_pairs() if pair.kind == "grammar"]
    pair = load_pair(home)
    texts = [*(item.text for item in good), *(item.source for item in good), *(item.text for item in bad)]
    ids = [pair.tokens.encode(FRAMES[frame].wrap(text)) for text in texts]
    figures = judged(run(pair, alone(pair, ids)))
    number = {item.id: place for place, item in enumerate(good)}
    own = np.array([number[item.pair] for item in bad])
    groups = [item.id for item in good], [item.pair for item in bad]
    alone_, against = {}, {}
    for name, values in figures.items():
        text, source, broken = np.split(values, [len(good), 2 * len(good)])
        alone_[name], against[name] = (text, broken), (text - source, broken - source[own])
    for table in (alone_, against):
        both = [np.column_stack([table[name][side] for name in ("probe", "worst window")]) for side in (0, 1)]
        table["probe and worst window"] = combined(both[0], both[1], *groups)
    result = {}
    for name in alone_:
        text, broken = alone_[name]
        row = (auc(broken, text), auc(against[name][1], against[name][0]), float((broken > text[own]).mean()))
        result[name] = dict(
            zip(("auc", "auc_against_source", "paired"), (round(value, 3) for value in row), strict=True)
        )
        print(f"{name:24} AUC {row[0]:.3f}, against the source {row[1]:.3f}, worse than unbroken {100 * row[2]:.1f} %")
    return {"good": len(good), "broken": len(bad), "frame": frame} | result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="make the probe of a pair from plain text")
    making.add_argument("pair", type=Path)
    making.add_argument("--text", type=Path, nargs="+", required=True, help="files or directories of plain text")
    making.add_argument("--pairs", type=int, default=ProbeSettings().pairs, help="sentences, each sound and broken")
    making.add_argument("--seed", type=int, default=0)
    measuring = commands.add_parser("measure", help="compare the probe with log-probabilities")
    measuring.add_argument("pair", type=Path)
    measuring.add_argument("--frame", choices=[*FRAMES], default="quoted")
    given = parser.parse_args()
    try:
        if given.command == "make":
            figures = make(given.pair, given.text, ProbeSettings(pairs=given.pairs, seed=given.seed))
        else:
            figures = measure(given.pair, given.frame)
    except InputError as error:
        sys.exit(f"probe: {error}")
    print(json.dumps({"benchmark": f"probe {given.command}", **figures}))


if __name__ == "__main__":
    main()
