"""Good and broken pairs as candidates of their sources: what the models say of each, for fitting the confidence.

    python -m benchmarks.faithfulness.candidates outputs/bed.jsonl

Both models read each text beside its source; no contexts are sampled, because the confidence does not depend on them.
One more text, the rewording of another sentence, stands for results that went far away. Writes a file of outputs, as
`refdec evaluate` does, one line per source; a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch

from benchmarks.faithfulness.breaks import broken_pairs, good_pairs
from benchmarks.outputs import changes, load_reflector, model_arguments, write_rows
from refdec import Pair, ParaphraseSettings
from refdec.reflect.schedule import run
from refdec.tasks.frame import FRAMES
from refdec.tasks.ranking import ranked_paraphrases, standings
from refdec.tasks.signature import signature


def texts_by_source() -> dict[str, dict[str, bool]]:
    """For each source its texts, and whether a text says the same."""
    good = good_pairs()
    texts: dict[str, dict[str, bool]] = {}
    for pair, other in zip(good, [*good[1:], good[0]], strict=True):
        texts.setdefault(pair.source, {}).update({pair.text: True, other.text: False})
    for broken in broken_pairs():
        texts[broken.source].setdefault(broken.text, False)
    return texts


def judged(pair: Pair, source: str, texts: list[str], settings: ParaphraseSettings) -> list[dict[str, Any]]:
    """The figures of texts as candidates of a source."""
    framed = {text: pair.tokens.encode(FRAMES[settings.frame].wrap(text)) for text in (source, *texts)}
    standing = run(pair, standings(pair, framed, settings))
    no_fits = [torch.zeros(len(framed), 0)]
    ranked = ranked_paraphrases(list(framed), [0.0] * len(framed), standing, no_fits, dict.fromkeys(texts, "both"))
    return [item.to_dict() for item in ranked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outputs", type=Path)
    model_arguments(parser)
    arguments = parser.parse_args()
    reflector = load_reflector(arguments)
    settings = reflector.settings(ParaphraseSettings, arguments.preset, changes(arguments))
    mark = signature("paraphrase", reflector.pair, settings)
    rows = [{"id": source, "texts": list(texts)} for source, texts in texts_by_source().items()]

    def make(row: dict[str, Any]) -> dict[str, Any]:
        source, texts = row["id"], row["texts"]
        results = judged(reflector.pair, source, texts, settings)
        return {"id": source, "source": source, "results": results, "signature": mark}

    write_rows(arguments.outputs, rows, make, mark)


if __name__ == "__main__":
    main()
