"""Good and broken pairs as candidates of their sources: what the models say of each, for fitting the confidence.

    python -m benchmarks.faithfulness.candidates outputs/bed.jsonl

The contexts of a source are sampled once, and each text is ranked beside it, with all of its figures. One more text,
the rewording of another sentence, stands for results that went far away. Writes a file of outputs, as `refdec evaluate`
does, one line per source; a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.faithfulness.breaks import broken_pairs, good_pairs
from benchmarks.outputs import changes, load_reflector, model_arguments, write_rows
from refdec import ParaphraseSettings, Reflector
from refdec.reflect.schedule import run
from refdec.tasks.describe import ensembles_of, prepare
from refdec.tasks.paraphrase import rank
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


def judged(reflector: Reflector, source: str, texts: list[str], settings: ParaphraseSettings) -> list[dict[str, Any]]:
    """The figures of texts as candidates of a source."""
    pair = reflector.pair
    cleaned, frame, _ = prepare(pair, source, settings, settings.extra_tokens)
    ensembles = ensembles_of(pair, reflector.fingerprint(source, settings.description()))
    ranked, _ = run(pair, rank(pair, frame, cleaned, ensembles, dict.fromkeys(texts, "both"), settings))
    return [item.to_dict() for item in ranked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outputs", type=Path)
    model_arguments(parser)
    arguments = parser.parse_args()
    reflector = load_reflector(arguments)
    settings = reflector.settings(ParaphraseSettings, arguments.preset, changes(arguments))
    settings = replace(settings, exact=True)  # texts that fall behind are read to the end too
    mark = signature("paraphrase", reflector.pair, settings)
    rows = [{"id": source, "texts": list(texts)} for source, texts in texts_by_source().items()]

    def make(row: dict[str, Any]) -> dict[str, Any]:
        source, texts = row["id"], row["texts"]
        results = judged(reflector, source, texts, settings)
        return {"id": source, "source": source, "results": results, "signature": mark}

    write_rows(arguments.outputs, rows, make, mark)


if __name__ == "__main__":
    main()
