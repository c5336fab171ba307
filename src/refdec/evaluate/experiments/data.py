"""The data sets that refdec is measured on: their names, where their files are, and what a row of each has.

Reads and checks, and changes no text but for the control characters of WMT. Knows nothing of systems or metrics. The
sets themselves are no part of refdec; docs/data.md says where they come from and how their files are made.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refdec.errors import InputError, SettingsError
from refdec.evaluate.experiments.lines import Line, find_file, keyed, read_lines
from refdec.settings import did_you_mean

VARIABLE = "REFDEC_DATA"


@dataclass(frozen=True, slots=True)
class Example:
    """A text to paraphrase, and how people said the same."""

    id: str
    source: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoryGap:
    """Two observations, and what people said may have happened between them."""

    id: str
    left: str
    right: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Graded:
    """Two sentences, and how alike people found them."""

    id: str
    first: str
    second: str
    grade: float


@dataclass(frozen=True, slots=True)
class Segment:
    """A reference translation, and which systems' translations people preferred to which."""

    id: int
    reference: str
    translations: dict[str, str]  # by system; those that were judged
    judgements: tuple[tuple[str, str], ...]  # two systems each, the better one first


Kind = type[Example] | type[StoryGap] | type[Graded] | type[Segment]


@dataclass(frozen=True, slots=True)
class DataSet:
    """The kind of the rows of a set, and the place of its splits in the data folder."""

    kind: Kind
    splits: dict[str, str]


PAIRS = ("cs-en", "de-en", "et-en", "fi-en", "ru-en", "tr-en", "zh-en")
SETS = {
    "quora": DataSet(Example, {"dev": "quora/dev.jsonl", "test": "quora/test.jsonl"}),
    "quora-upsa": DataSet(Example, {"test": "quora-upsa/test.jsonl"}),
    "twitter": DataSet(Example, {"test": "twitter/test_paraphrases.jsonl"}),
    "sentences": DataSet(Example, {"dev": "sentences/dev.jsonl"}),
    "anlg": DataSet(StoryGap, {"dev": "anlg/dev.jsonl", "test": "anlg/test.jsonl"}),
    "stsb": DataSet(Graded, {split: f"stsb/{split}.jsonl" for split in ("train", "dev", "test")}),
    "wmt18": DataSet(Segment, {pair: f"wmt18/{pair}" for pair in PAIRS}),  # a folder of three files each
}
VOTES = {"test": "twitter/test.jsonl"}  # every pair of Twitter with its votes, paraphrase or not

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
"""The models refuse control characters, which a few translations have; they become spaces."""


def data_folder(given: Path | None) -> Path:
    """The folder of the data sets: as given, else as the environment variable names it."""
    named = given or os.environ.get(VARIABLE)
    if not named:
        raise InputError(
            f"No folder of data is named. Give --data DIR or set {VARIABLE}; docs/data.md says what belongs there."
        )
    folder = Path(named)
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}. Give --data DIR or set {VARIABLE}; see docs/data.md.")
    return folder


def find_set(name: str, kind: Kind | None = None) -> DataSet:
    """A set by its name, among those with this kind of rows."""
    names = [key for key, found in SETS.items() if kind in (None, found.kind)]
    if name in names:
        return SETS[name]
    if name in SETS:
        raise SettingsError(f"The data set {name!r} is for another task. Sets for this one: {', '.join(names)}.")
    raise SettingsError(f"There is no data set {name!r}{did_you_mean(name, names)}. Sets: {', '.join(names)}.")


def read_examples(folder: Path, name: str, split: str) -> list[Example]:
    """Texts to paraphrase: quora, quora-upsa, twitter or sentences."""
    return example_file(_file(folder, _place(name, Example, split)))


def example_file(path: Path) -> list[Example]:
    return [Example(key, line.text("source"), line.texts("references")) for key, line in keyed(read_lines(path), _id)]


def read_gaps(folder: Path, name: str, split: str) -> list[StoryGap]:
    """Gaps to fill: anlg."""
    path = _file(folder, _place(name, StoryGap, split))
    return [
        StoryGap(key, line.text("o1"), line.text("o2"), line.texts("references"))
        for key, line in keyed(read_lines(path), _id)
    ]


def read_graded(folder: Path, name: str, split: str) -> list[Graded]:
    """Pairs with a grade from 0, unlike, to 5, the same: stsb."""
    path = _file(folder, _place(name, Graded, split))
    return [
        Graded(key, line.text("sentence1"), line.text("sentence2"), line.real("score", 0, 5))
        for key, line in keyed(read_lines(path), _id)
    ]


def read_votes(folder: Path, name: str = "twitter", split: str = "test") -> list[Graded]:
    """Every pair of Twitter, graded by how many of six people took it for a paraphrase."""
    if name != "twitter":
        raise SettingsError(f"There are no votes on {name!r}{did_you_mean(name, ['twitter'])}. Sets: twitter.")
    path = _file(folder, _split(name, VOTES, split))
    return [
        Graded(key, line.text("sentence1"), line.text("sentence2"), float(line.whole("votes", 0, 6)))
        for key, line in keyed(read_lines(path), _id)
    ]


def read_segments(folder: Path, name: str, split: str) -> list[Segment]:
    """The judged segments of a language pair, by rising id: wmt18."""
    place = _place(name, Segment, split)
    files = [_file(folder, f"{place}/{part}.jsonl") for part in ("segments", "translations", "darr")]
    segments, translations, judgements = map(read_lines, files)
    references = {key: _printable(line, "reference") for key, line in keyed(segments, _segment)}
    texts = {key: _printable(line, "translation") for key, line in keyed(translations, _translation)}
    judged: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for (key, *systems), line in keyed(judgements, _judgement):
        if key not in references:
            raise line.wrong(f"{files[0].name} has no segment {key}.")
        for system in systems:
            if (key, system) not in texts:
                raise line.wrong(f"{files[1].name} has no translation of segment {key} by {system}.")
        judged[key].append((line.text("better"), line.text("worse")))
    return [
        Segment(key, references[key], {system: texts[key, system] for pair in pairs for system in pair}, tuple(pairs))
        for key, pairs in sorted(judged.items())
    ]


READERS: dict[Kind, Callable[[Path, str, str], Sequence[Any]]] = {
    Example: read_examples,
    StoryGap: read_gaps,
    Graded: read_graded,
    Segment: read_segments,
}


def read_rows(folder: Path, name: str, split: str) -> Sequence[Any]:
    """The rows of a data set, of the kind that it has."""
    return READERS[find_set(name).kind](folder, name, split)


def _id(line: Line) -> str:
    return line.text("id")


def _segment(line: Line) -> int:
    return line.whole("sid", 0, 10**9)


def _translation(line: Line) -> tuple[int, str]:
    return _segment(line), line.text("system")


def _judgement(line: Line) -> tuple[int, str, str]:
    """Named by its systems in one order: a pair is judged once, and not both ways."""
    first, second = sorted((line.text("better"), line.text("worse")))
    if first == second:
        raise line.wrong(f"{first} cannot be better than itself.")
    return _segment(line), first, second


def _printable(line: Line, name: str) -> str:
    text = CONTROL.sub(" ", line.text(name))
    if not text.strip():
        raise line.wrong(f'"{name}" is empty.')
    return text


def _place(name: str, kind: Kind, split: str) -> str:
    return _split(name, find_set(name, kind).splits, split)


def _split(name: str, splits: dict[str, str], split: str) -> str:
    if split not in splits:
        raise SettingsError(f"{name} has no split {split!r}{did_you_mean(split, splits)}. Splits: {', '.join(splits)}.")
    return splits[split]


def _file(folder: Path, place: str) -> Path:
    path = find_file(folder / place)
    if path is None:
        raise InputError(f"There is no file {folder / place}. docs/data.md says where it comes from.")
    return path


QUORA_FILES = ("quora/dev.jsonl", "quora/test.jsonl", "quora-train/train.jsonl", "quora-upsa/test.jsonl")


def read_isolated(folder: Path, name: str = "quora-upsa", split: str = "test") -> list[Example]:
    """The isolated rows of a Quora set, among all Quora pairs that lie in the folder."""
    files = [path for place in QUORA_FILES if (path := find_file(folder / place))]
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
