"""What short cuts do to the ranking: racing against reading everything, and one precision against another.

    python -m benchmarks.agreement race --data DIR/quora/dev.jsonl --inputs 500 --preset paper --device cuda
    python -m benchmarks.agreement write --data DIR/quora/dev.jsonl --inputs 200 --preset fast --outputs ranked.jsonl
    python -m benchmarks.agreement compare ranked.jsonl --precisions float32 int8 --device cpu

`race` paraphrases each text with and without racing, from the same contexts and generations, and counts how often the
best is the same: overall, and among candidates of at least some Novelty. `write` keeps the contexts and candidates of
texts in a file; `compare` scores these in two precisions. One JSON line comes last.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.outputs import changes, load_reflector, model_arguments, read_rows
from refdec import Pair, ParaphraseResult, ParaphraseSettings, Reflector, load_pair
from refdec.reflect.schedule import run, together
from refdec.reflect.scoring import fits
from refdec.reflect.side import both_sides
from refdec.reflect.workers import Observation, observers
from refdec.tasks import ranking
from refdec.tasks.describe import prepare
from refdec.tasks.signature import signature

FLOORS = (0, 20, 30, 45)


def best_at(result: ParaphraseResult, floor: int) -> str:
    return next((item.text for item in result.at_novelty(floor) if not item.copy), "")


def race(reflector: Reflector, texts: Sequence[str], settings: ParaphraseSettings) -> dict[str, Any]:
    """How often racing finds the same best, and the share of the scored tokens that it reads."""
    ranking.RACE_FLOPS.clear()  # race on every device
    outcomes, tokens = [], []
    for exact in (True, False):
        seen: list[Observation] = []
        observers.append(seen.append)
        outcomes.append(list(reflector.paraphrase(iter(texts), settings, exact=exact)))
        observers.remove(seen.append)
        tokens.append(sum(item.work.tokens for item in seen if item.phase == "scoring"))
    found: dict[str, Any] = {
        f"novelty >= {floor}": sum(
            best_at(one, floor) == best_at(two, floor) for one, two in zip(*outcomes, strict=True)
        )
        / len(texts)
        for floor in FLOORS
    }
    dropped = sum(result.dropped for result in outcomes[1]) / sum(len(result.candidates) for result in outcomes[0])
    for name, share in found.items():
        print(f"same best, {name}: {share:.1%} of {len(texts)}")
    print(f"{dropped:.0%} of the candidates dropped, {1 - tokens[1] / tokens[0]:.0%} of the tokens of scoring saved")
    return found | {"dropped": dropped, "saved": 1 - tokens[1] / tokens[0]}


def write(reflector: Reflector, texts: Sequence[str], settings: ParaphraseSettings, path: Path) -> None:
    """Contexts and candidates of each text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for text in texts:
            described = reflector.fingerprint(text, settings.description())
            result = reflector.paraphrase(text, settings, fingerprint=described, exact=True)
            contexts = {name: side.contexts for name, side in described.sides.items()}
            candidates = [item.text for item in result.candidates if not item.copy]
            file.write(json.dumps({"source": described.text, "contexts": contexts, "candidates": candidates}) + "\n")


def totals(pair: Pair, row: dict[str, Any], settings: ParaphraseSettings) -> list[float]:
    """The score of each candidate of a row."""
    _, frame, _ = prepare(pair, row["source"], settings)
    ids = [pair.tokens.encode(frame.wrap(text)) for text in row["candidates"]]
    sides = both_sides(pair)
    tables = run(pair, together(fits(side, [tuple(c) for c in row["contexts"][side.name]], ids) for side in sides))
    found: list[float] = torch.stack([table.double().mean(1) for table in tables]).sum(0).tolist()
    return found


def compare(path: Path, precisions: Sequence[str], arguments: argparse.Namespace) -> dict[str, Any]:
    """How often two precisions rank the same candidate first, and how far their scores are apart."""
    rows = [row for row in read_rows(path) if len(row["candidates"]) > 1][: arguments.inputs]
    settings = ParaphraseSettings()
    scored = []
    for precision in precisions:
        pair = load_pair(arguments.pair, device=arguments.device, precision=precision)
        scored.append([torch.tensor(totals(pair, row, settings)) for row in rows])
    same = sum(int(one.argmax() == two.argmax()) for one, two in zip(*scored, strict=True)) / len(rows)
    apart = torch.cat([(one - one.max()) - (two - two.max()) for one, two in zip(*scored, strict=True)]).abs()
    loss = torch.tensor([float(one.max() - one[two.argmax()]) for one, two in zip(*scored, strict=True)])
    print(f"{precisions[1]} ranks the same candidate first as {precisions[0]} in {same:.1%} of {len(rows)} texts;")
    print(f"scores differ by {apart.mean():.3f} nats in the mean, {apart.max():.2f} at most;")
    print(
        f"where the first differs, {precisions[0]} finds it {loss[loss > 0].mean() if same < 1 else 0.0:.3f} nats worse"
    )
    return {"same": same, "rows": len(rows), "apart": float(apart.mean()), "most": float(apart.max())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("race", "write", "compare"))
    parser.add_argument("file", nargs="?", type=Path, help="for compare")
    parser.add_argument("--data", type=Path, help="JSON lines with source")
    parser.add_argument("--inputs", type=int, default=200)
    parser.add_argument("--outputs", type=Path)
    parser.add_argument("--precisions", nargs=2, default=("float32", "int8"))
    model_arguments(parser)
    arguments = parser.parse_args()
    if arguments.what == "compare":
        found = compare(arguments.file, arguments.precisions, arguments)
        print(json.dumps({"benchmark": "agreement", "precisions": arguments.precisions, **found}))
        return
    reflector = load_reflector(arguments)
    settings = reflector.settings(ParaphraseSettings, arguments.preset or "paper", changes(arguments))
    texts = [row["source"] for row in read_rows(arguments.data, arguments.inputs)]
    if arguments.what == "write":
        write(reflector, texts, settings, arguments.outputs)
        return
    mark = signature("paraphrase", reflector.pair, settings)
    print(json.dumps({"benchmark": "agreement", "signature": mark, "race": race(reflector, texts, settings)}))


if __name__ == "__main__":
    main()
