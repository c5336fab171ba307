"""What a pair makes of examples: each model alone rewords sentences after five fixed examples of rewording.

    python -m benchmarks.examples PAIR... --data DIR
    python -m benchmarks.examples PAIR PACKED --data DIR --rows 50 --samples 6

The forward model reads `"A" In other words, "B"` five times, then a source in the place of A, and writes B. The
backward model reads the same from right to left, with the source in the place of B, and writes A. Sources are the
first rows of two sets, news sentences and questions, without those that have quotation marks. Every pair gets the same
random numbers. Prints copies, cosine, the share of samples under 0.7 and Novelty of each pair, what each pair after the
first differs in from it, and one JSON line last.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.outputs import read_rows
from refdec import Pair, load_pair
from refdec.lm.direction import Direction
from refdec.metrics.novelty import corpus_novelty
from refdec.metrics.similarity import check_similarity, similarities
from refdec.reflect.randomness import uniforms
from refdec.reflect.sampling import Sampling, sample_branching
from refdec.tasks.ranking import is_copy

SETS = {"news": "sentences/dev.jsonl", "questions": "quora/dev.jsonl"}
TOP_P = 0.7
TOKENS = 60  # of a sample, at most
FAR = 0.7  # a sample whose cosine is lower says something else


@dataclass(frozen=True, slots=True)
class Examples:
    """Pairs of sentences that say the same, and the words between the two."""

    link: str
    pairs: list[tuple[str, str]]

    @classmethod
    def read(cls, path: Path) -> Examples:
        content = json.loads(path.read_text(encoding="utf-8"))
        return cls(content["link"], content["examples"][: content["used"]])

    def prompt(self, source: str, direction: Direction) -> str:
        """The text that a model reads before it writes, in text order."""
        lines = "".join(f'"{first}"{self.link}"{second}"\n' for first, second in self.pairs)
        if direction is Direction.FORWARD:
            return f'{lines}"{source}"{self.link}"'
        end = source[-1] if source[-1] in ".?!" else ""  # tokenizers join it with the mark after it
        return f'{end}"{self.link}"{source}"\n{lines}'


def reword(pair: Pair, direction: Direction, examples: Examples, source: str, samples: int, seed: int) -> list[str]:
    """What one model of a pair writes in the place of the rewording."""
    model, tokens = pair.reading(direction), pair.tokens
    job = Sampling(
        prefixes=[direction.arrange(tokens.encode(examples.prompt(source, direction)))],
        weights=torch.ones(1, device=model.device),
        uniform=uniforms(seed, source, f"examples {direction.value}", samples, TOKENS),
        top_p=TOP_P,
        allowed=pair.speakable[direction],
        stops=tokens.containing('"'),
    )
    texts = [tokens.decode(direction.arrange(ids)) for ids in sample_branching(model, job)]
    if direction is Direction.FORWARD:
        return [text.partition('"')[0].strip() for text in texts]
    return [text.rpartition('"')[2].strip() for text in texts]


def measure(sources: list[str], rewordings: list[list[str]]) -> dict[str, Any]:
    texts = [text for group in rewordings for text in group]
    repeated = [source for source, group in zip(sources, rewordings, strict=True) for _ in group]
    cosines = similarities(texts, repeated)
    size = len(rewordings[0])
    return {
        "copies": statistics.mean(map(is_copy, texts, repeated)),
        "cosine": statistics.mean(cosines),
        "far": statistics.mean(value < FAR for value in cosines),
        "novelty": corpus_novelty(texts, repeated),
        "rows": [statistics.mean(cosines[start : start + size]) for start in range(0, len(cosines), size)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", type=Path, metavar="PAIR", help="directories that load_pair takes")
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {' and '.join(SETS.values())}")
    parser.add_argument("--examples", type=Path, help="by default examples.json of the first pair")
    parser.add_argument("--rows", type=int, default=50, help="of each set")
    parser.add_argument("--samples", type=int, default=6, help="of each row")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device")
    parser.add_argument("--precision")
    given = parser.parse_args()
    check_similarity()
    examples = Examples.read(given.examples or given.pairs[0] / "examples.json")
    rows = {name: (row["source"] for row in read_rows(given.data / path)) for name, path in SETS.items()}
    sources = {name: [text for text in texts if '"' not in text][: given.rows] for name, texts in rows.items()}
    report: dict[str, Any] = {"benchmark": "examples", "rows": given.rows, "samples": given.samples, "pairs": {}}
    first: dict[tuple[str, Direction], dict[str, Any]] = {}
    print(f"{'copies':>50} {'cosine':>7} {'< 0.7':>6} {'Novelty':>8}  cosine beside the first pair's")
    for path in given.pairs:
        pair = load_pair(path, device=given.device, precision=given.precision)
        for direction in Direction:
            for name, texts in sources.items():
                rewordings = []
                for number, source in enumerate(texts, start=1):
                    rewordings.append(reword(pair, direction, examples, source, given.samples, given.seed))
                    print(f"{path.name}, {direction.value}, {name}: {number} of {len(texts)}", file=sys.stderr)
                figures = measure(texts, rewordings)
                beside = first.setdefault((name, direction), figures)
                differences = [one - other for one, other in zip(figures["rows"], beside["rows"], strict=True)]
                error = statistics.stdev(differences) / len(differences) ** 0.5
                figures |= {"difference": statistics.mean(differences), "error": error}
                print(
                    f"{path.name:22} {direction.value:9} {name:10} {figures['copies']:6.1%} {figures['cosine']:7.3f} "
                    f"{figures['far']:6.1%} {figures['novelty']:8.1f}  {figures['difference']:+.3f} +- {error:.3f}",
                    flush=True,
                )
                report["pairs"].setdefault(pair.name, {})[f"{direction.value} {name}"] = figures
    print(json.dumps(report))


if __name__ == "__main__":
    main()
