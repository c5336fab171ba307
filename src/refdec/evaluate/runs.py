"""A folder of outputs: what every system said for every data set, generated where it is missing.

OUT/outputs/quora-test/rd-paper.jsonl is what `rd:paper` said for quora test. Generating goes on where it stopped;
without models nothing is generated, and what is there must be complete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refdec.errors import InputError, SettingsError
from refdec.evaluate import generate
from refdec.evaluate.data import Example, Gap, Graded, Segment
from refdec.evaluate.outputs import Row, matched, read_outputs
from refdec.evaluate.systems import Reflective, Saved, System, Yardstick
from refdec.settings import AnySettings, InfillSettings, ParaphraseSettings, ScoreSettings
from refdec.tasks.reflector import Reflector

Make = Callable[[], Reflector]
Tell = Callable[[str, int, int], None]
"""Is told what is being generated, how many rows are done, and of how many."""


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

    def path(self, system: Reflective, rows: Rows) -> Path:
        return self.folder / "outputs" / rows.place / f"{system.name}.jsonl"

    def outputs(self, system: System, rows: Rows) -> dict[str, Row]:
        """What a system said, by id, in the order of the data."""
        if isinstance(system, Yardstick):
            return {str(item.id): {"output": _yardstick(system.name, item)} for item in rows.items}
        path = system.path if isinstance(system, Saved) else self.path(system, rows)
        if isinstance(system, Reflective) and self.make is not None:
            self._generate(system, rows, path)
        found = read_outputs(path)
        ids = [key for key in rows.ids if key in found] if self.unfinished else rows.ids
        if not ids:
            raise InputError(f"{path} has outputs for none of these rows. Generate them first.")
        return dict(zip(ids, matched(found, ids, path, known={*rows.ids, *rows.known}), strict=True))

    def _generate(self, system: Reflective, rows: Rows, path: Path) -> None:
        def step(done: int, total: int) -> None:
            self.tell(f"{system.name} for {rows.place}", done, total)

        assert self.make is not None
        kind = type(rows.items[0])
        if kind is Example:
            generate.paraphrases(self.make(), rows.items, _settings(system, ParaphraseSettings), path, step)
        elif kind is Gap:
            generate.fillings(self.make(), rows.items, _settings(system, InfillSettings), path, step)
        elif kind is Segment:
            generate.translation_scores(self.make(), rows.items, _settings(system, ScoreSettings), path, step)
        else:
            assert kind is Graded
            generate.pair_scores(self.make(), rows.items, _settings(system, ScoreSettings), path, step)


def _settings(system: Reflective, kind: type[AnySettings]) -> AnySettings:
    found = system.settings(kind)
    return found.replace(resamples=0) if isinstance(found, ScoreSettings) else found  # intervals of single scores


def _yardstick(name: str, item: Any) -> str:
    if not isinstance(item, Example if name == "source" else Example | Gap):
        raise SettingsError(f"{name!r} says nothing for this data set. Name rd, or a file of outputs.")
    return str(item.references[0] if name == "reference" else item.source)
