"""A folder of outputs: what every system said for every data set, generated where it is missing.

OUT/outputs/quora-test/rd-paper.jsonl holds what `rd:paper` said for the test split of Quora. Files grow line by line,
and an interrupted run goes on where it stopped. Without models nothing is generated, and the files must be complete.
Knows nothing of metrics: outputs are made once and scored as often as anybody likes, also on another machine.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refdec.baselines.method import fillings, paraphrases
from refdec.errors import InputError, SettingsError
from refdec.evaluate.experiments.data import Example, Graded, Segment, StoryGap
from refdec.evaluate.experiments.outputs import OutputFile, OutputRow, matched, read_outputs
from refdec.evaluate.experiments.systems import Competing, Generated, GivenText, Reflective, Saved, System
from refdec.results import Score
from refdec.settings import FingerprintSettings, InfillSettings, ParaphraseSettings, ScoreSettings
from refdec.tasks.reflector import Reflector
from refdec.tasks.signature import signature

Make = Callable[[], Reflector]
Tell = Callable[[str, int, int], None]
"""Gets the work at hand, how many rows are done, and of how many."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Items of a data set, or of a part of it, with the place that outputs for them have."""

    place: str  # "quora-test"
    items: Sequence[Any]
    known: frozenset[str] = frozenset()  # ids that files of outputs may have besides

    @property
    def ids(self) -> list[str]:
        return [str(item.id) for item in self.items]

    def only(self, ids: Sequence[str]) -> Rows:
        kept = set(ids)
        return Rows(self.place, [item for item in self.items if str(item.id) in kept], self.known | set(self.ids))


@dataclass(frozen=True)
class Runs:
    folder: Path
    make: Make | None  # loads the models; None where nothing is to be generated
    tell: Tell
    unfinished: bool = False  # whether rows that are not there yet may be left out
    device: str | None = None  # where systems with models of their own run; None: a GPU if there is one

    def path(self, system: Generated, rows: Rows) -> Path:
        return self.folder / "outputs" / rows.place / f"{system.name}.jsonl"

    def outputs(self, system: System, rows: Rows) -> dict[str, OutputRow]:
        """What a system said, by id, in the order of the data."""
        if isinstance(system, GivenText):
            return {str(item.id): {"output": _yardstick(system.name, item)} for item in rows.items}
        path = system.path if isinstance(system, Saved) else self.path(system, rows)
        if isinstance(system, Generated) and self.make is not None:
            self._generate(self.make, system, rows, path)
        saved = read_outputs(path)
        ids = [key for key in rows.ids if key in saved] if self.unfinished else rows.ids
        if not ids:
            raise InputError(f"{path} has outputs for none of these rows. Generate them first.")
        return dict(zip(ids, matched(saved, ids, path, known={*rows.ids, *rows.known}), strict=True))

    def _generate(self, make: Make, system: Generated, rows: Rows, path: Path) -> None:
        """Rows for the items that the file does not have yet."""
        maker = (
            _refdec(make(), system, rows)
            if isinstance(system, Reflective)
            else _competitor(make, system, rows, self.device)
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        with OutputFile(path, maker.signature, rows.ids) as file:
            todo = [item for item in rows.items if str(item.id) not in file.done]
            if not todo:
                return
            work = f"{system.name} for {rows.place}"
            self.tell(work, len(file.done), len(rows.items))
            began = time.perf_counter()
            for item, row in zip(todo, maker.rows(todo), strict=True):
                now = time.perf_counter()
                made = {"id": str(item.id), **row, "signature": maker.signature, "seconds": round(now - began, 3)}
                file.append(made)
                began = now
                self.tell(work, len(file.done), len(rows.items))


@dataclass(frozen=True)
class _Maker:
    """What makes the outputs of a system for items of one kind."""

    signature: str
    rows: Callable[[Sequence[Any]], Iterator[OutputRow]]


def _refdec(reflector: Reflector, system: Reflective, rows: Rows) -> _Maker:
    kind, make_rows = MAKERS[type(rows.items[0])]
    settings = system.settings(kind)
    if isinstance(settings, ScoreSettings):
        settings = settings.replace(resamples=0)  # intervals of single scores are not reported
    mark = signature(settings.task, reflector.pair, settings)
    return _Maker(mark, lambda items: make_rows(reflector, items, settings))


def _competitor(make: Make, system: Competing, rows: Rows, device: str | None) -> _Maker:
    """The pair of models is loaded only for a method that runs on it."""
    method = system.chosen.load(lambda: make().pair, device)

    def fill(gaps: Sequence[StoryGap]) -> Iterator[OutputRow]:
        return (result.to_dict() for result in fillings(method, ((gap.left, gap.right) for gap in gaps)))

    def paraphrase(examples: Sequence[Example]) -> Iterator[OutputRow]:
        results = paraphrases(method, dict.fromkeys(item.source for item in examples))
        return _once_each(examples, (result.to_dict() for result in results))

    return _Maker(method.signature, fill if isinstance(rows.items[0], StoryGap) else paraphrase)


def _yardstick(name: str, item: Any) -> str:
    if not isinstance(item, Example if name == "source" else Example | StoryGap):
        raise SettingsError(f"{name!r} says nothing for this data set. Name rd, or a file of outputs.")
    return str(item.references[0] if name == "reference" else item.source)


def _paraphrases(
    reflector: Reflector, examples: Sequence[Example], settings: ParaphraseSettings
) -> Iterator[OutputRow]:
    """Ranked paraphrases of every source."""
    results = reflector.paraphrase(iter(dict.fromkeys(example.source for example in examples)), settings)
    return _once_each(examples, (result.to_dict() for result in results))


def _once_each(examples: Sequence[Example], results: Iterator[OutputRow]) -> Iterator[OutputRow]:
    """A row for every example, from results for the sources; one that stands in several rows has one result."""
    left, results_by_source = Counter(example.source for example in examples), dict[str, OutputRow]()
    for source in [example.source for example in examples]:
        if source not in results_by_source:
            results_by_source[source] = next(results)
        left[source] -= 1
        yield results_by_source[source] if left[source] else results_by_source.pop(source)


def _fillings(reflector: Reflector, gaps: Sequence[StoryGap], settings: InfillSettings) -> Iterator[OutputRow]:
    """Ranked fillings of every gap."""
    for result in reflector.infill_all(((gap.left, gap.right) for gap in gaps), settings):
        yield result.to_dict()


def _translation_scores(
    reflector: Reflector, segments: Sequence[Segment], settings: ScoreSettings
) -> Iterator[OutputRow]:
    """The Reflective Score of every judged translation, by system; equal translations are scored once."""
    texts = [list(dict.fromkeys(segment.translations.values())) for segment in segments]
    groups = ((segment.reference, different) for segment, different in zip(segments, texts, strict=True))
    for segment, different, scores in zip(segments, texts, reflector.score_all(groups, settings), strict=True):
        by_text = dict(zip(different, scores, strict=True))
        yield {"scores": {system: _numbers(by_text[text]) for system, text in segment.translations.items()}}


def _pair_scores(reflector: Reflector, pairs: Sequence[Graded], settings: ScoreSettings) -> Iterator[OutputRow]:
    """The Reflective Score of two sentences, each once as the reference of the other."""
    groups = (group for item in pairs for group in ((item.first, [item.second]), (item.second, [item.first])))
    scored = reflector.score_all(groups, settings)
    for _ in pairs:
        (forth,), (back,) = next(scored), next(scored)
        yield {"scores": {"first": _numbers(forth), "second": _numbers(back)}}


def _numbers(score: Score) -> dict[str, float]:
    return {name: round(getattr(score, name), 5) for name in ("score", "relative", "span", "fluency")}


MAKERS: dict[Any, tuple[type[FingerprintSettings], Callable[[Reflector, Any, Any], Iterator[OutputRow]]]] = {
    Example: (ParaphraseSettings, _paraphrases),
    StoryGap: (InfillSettings, _fillings),
    Segment: (ScoreSettings, _translation_scores),
    Graded: (ScoreSettings, _pair_scores),
}
"""For each kind of row: the settings of its task, and what makes its outputs."""
