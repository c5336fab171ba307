"""Isolated pairs: questions that have each other for a partner and no one else, as those of the paper's Quora set.

A question with many partners is answered well by any of them, but is compared with one, so figures on such rows do
not compare with the paper's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from refdec.evaluate.data import Example, example_file, read_examples
from refdec.evaluate.lines import find_file

QUORA = ("quora/dev.jsonl", "quora/test.jsonl", "quora-train/train.jsonl", "quora-upsa/test.jsonl")


def read_isolated(folder: Path, name: str = "quora-upsa", split: str = "test") -> list[Example]:
    """The isolated rows of a Quora set, among all Quora pairs that lie in the folder."""
    files = [path for place in QUORA if (path := find_file(folder / place))]
    others = [example for path in files for example in example_file(path)]
    return isolated(read_examples(folder, name, split), others)


def isolated(examples: Iterable[Example], others: Iterable[Example] = ()) -> list[Example]:
    """Examples with one reference, in other words than the source, where neither text has another partner.

    Partners are the pairs of source and reference of the examples and the others, either way round. Only letters a to
    z and digits tell texts apart; a text is never its own partner.
    """
    examples = list(examples)
    partners: dict[str, set[str]] = defaultdict(set)
    for example in (*examples, *others):
        source = _letters(example.source)
        for reference in map(_letters, example.references):
            if source != reference:
                partners[source].add(reference)
                partners[reference].add(source)
    return [example for example in examples if len(example.references) == 1 and _alone(example, partners)]


def _alone(example: Example, partners: dict[str, set[str]]) -> bool:
    source, reference = _letters(example.source), _letters(example.references[0])
    return source != reference and len(partners[source]) == len(partners[reference]) == 1


def _letters(text: str) -> str:
    return re.sub("[^a-z0-9]+", "", text.lower())
