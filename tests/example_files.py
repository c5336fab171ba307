"""The input files that the examples in help texts and pages use, with a few rows each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from refdec import Reflector
from tests.study_files import OUTPUT_FILES, write_rated_study

MANY_ROWS = 100_000
"""Rows of questions.csv where an example only asks what they would cost."""

WORDS = ("far", "late", "dark", "wet")

FILES = {
    "questions.txt": "Is it far?\nWhy do people sing?\n",
    "questions.csv": 'id,question\n1,Is it far?\n2,"Why do people, or birds, sing?"\n',
    "questions.jsonl": '{"id": 1, "question": "Is it far?"}\n{"id": 2, "question": "Why do people sing?"}\n',
    "stories.txt": "\n\n".join(f"It was dark. We walked {number} miles and got wet." for number in range(400)),
    "gaps.txt": "It was dark. ___ We got wet.\n",
    "stories.jsonl": '{"left": "It was dark.", "right": "We got wet."}\n',
    "stories.csv": "before,after\nIt was dark.,We got wet.\n",
    "spans.txt": "It was late. [[We were tired.]] So we left.\n",
    "spans.csv": "document\nIt was late. [[We were tired.]] So we left.\n",
    "pairs.jsonl": "".join(f'{{"source": "Is it {word}?", "references": ["Is it {word} there?"]}}\n' for word in WORDS),
    "sentences.txt": "Is it far? We got wet.\nIt was dark.\n",
    "ids.txt": "row-1\n",
    "pairs.tsv": "reference\tcandidate\nIt rained.\tIt was raining.\n",
    "key": "a key of more than sixteen characters\n",
    "translations.csv": "human,system\nIt rained.,It was raining.\n",
    **OUTPUT_FILES,
}


def write_example_files(folder: Path, examples: Iterable[str], reflector: Reflector) -> None:
    """Write those of the files that the examples name."""
    named = " ".join(examples)
    for name, content in FILES.items():
        if name in named:
            (folder / name).write_text(content)
    for name in ("rated.db", "study.db"):
        if name in named and f"-o {name}" not in named:
            write_rated_study(folder / name)
    if "--fingerprint cook.json" in named and "-o cook.json" not in named:
        reflector.fingerprint("How do I learn to cook?").save(folder / "cook.json")
    if re.search(r"--dry-run [^#]*questions\.csv", named):
        rows = (f"{number},Is it far to the next of {number} towns?\n" for number in range(1, MANY_ROWS + 1))
        (folder / "questions.csv").write_text("id,question\n" + "".join(rows))


def in_a_second(example: str) -> str:
    """An example that trains, with a second to do it in."""
    return re.sub(r"--minutes [\d.]+", "--minutes 0.01", example)
