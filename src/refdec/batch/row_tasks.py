"""The four tasks for a row of a table: the columns that each reads, the columns that it adds, and the cells of one row.

Knows rows as texts and results as cells; nothing of files or processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from refdec.errors import InputError, SettingsError
from refdec.files.row import Column
from refdec.lm.pair import Pair
from refdec.results import InfillResult, ParaphraseResult
from refdec.settings import (
    FingerprintSettings,
    InfillSettings,
    ParaphraseSettings,
    RewriteSettings,
    ScoreSettings,
    did_you_mean,
)
from refdec.tasks.choice import Wanted, choose, choose_fillings
from refdec.tasks.constraints import NONE, Constraints
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.infill import infill, split_blanks
from refdec.tasks.paraphrase import paraphrase
from refdec.tasks.rewrite import rewrite, split_document
from refdec.tasks.score import score
from refdec.tasks.yardstick import Yardsticks

Cells = dict[str, Any]
Chosen = TypeVar("Chosen", bound=FingerprintSettings)


@dataclass
class RowTask(ABC, Generic[Chosen]):
    """A task for every row of a table. Made once for a pair of models; rows are worked on side by side."""

    pair: Pair
    settings: Chosen
    wanted: Wanted
    constraints: Constraints = NONE
    fingerprint: Fingerprint | None = None

    settings_kind: ClassVar[type[FingerprintSettings]]
    best: ClassVar[str]  # the new column that matters most: the only one that a text file has
    reads: ClassVar[tuple[tuple[str, ...], ...]]  # sets of columns that the task can work on, best first

    @classmethod
    @abstractmethod
    def adds(cls, top: int) -> list[Column]:
        """The new columns."""

    @abstractmethod
    async def cells(self, texts: Sequence[str], full: bool) -> Cells:
        """The new cells of a row with these texts; with `full`, the whole result in a cell of its own."""


class RankedRows(RowTask[Chosen]):
    """A task whose result is a ranking: a text and its numbers for each rank."""

    ranked: ClassVar[tuple[str, ...]]  # the columns of the first rank; those of the second are paraphrase_2 and so on

    @classmethod
    def adds(cls, top: int) -> list[Column]:
        """The best text if it is not in the ranking itself, the columns of each rank, and a note."""
        kinds = {cls.ranked[0]: "text", "changes": "text", "passes": "boolean"}
        whole = [] if cls.best in cls.ranked else [Column(cls.best, "text")]
        ranks = [(name, rank) for rank in range(1, top + 1) for name in cls.ranked]
        columns = [Column(_at(name, rank), kinds.get(name, "number")) for name, rank in ranks]
        return [*whole, *columns, Column("note", "text")]

    def _rank_cells(self, ranking: Iterable[Sequence[Any]], note: str) -> Cells:
        cells = {
            _at(name, rank): value
            for rank, values in enumerate(ranking, start=1)
            for name, value in zip(self.ranked, values, strict=True)
        }
        return cells | ({"note": note} if note else {})

    def _paraphrase_cells(self, result: ParaphraseResult) -> Cells:
        """The best candidates that are not copies of the source, each with its numbers and changes."""
        chosen, note = choose(result, self.wanted)
        own = [{self.ranked[0]: item.text, "changes": "; ".join(item.changes)} for item in chosen]
        contents = [item.to_dict() | cells for item, cells in zip(chosen, own, strict=True)]
        return self._rank_cells([[content[name] for name in self.ranked] for content in contents], note)


class ParaphraseRows(RankedRows[ParaphraseSettings]):
    settings_kind = ParaphraseSettings
    best = "paraphrase"
    ranked = ("paraphrase", "relative", "novelty", "confidence", "cost", "changes")
    reads = (("text",),)

    async def cells(self, texts: Sequence[str], full: bool) -> Cells:
        result = await paraphrase(self.pair, texts[0], self.settings, constraints=self.constraints)
        return self._paraphrase_cells(result) | ({"result": result.to_dict()} if full else {})


class RewriteRows(RankedRows[RewriteSettings]):
    settings_kind = RewriteSettings
    best = "rewritten"
    ranked = ("rewriting", "relative", "novelty", "cost", "changes")
    reads = (("left", "span", "right"), ("text",))

    async def cells(self, texts: Sequence[str], full: bool) -> Cells:
        left, span, right = texts if len(texts) == 3 else split_document(texts[0])
        result = await rewrite(self.pair, left, span, right, self.settings, constraints=self.constraints)
        chosen, _ = choose(result, self.wanted)
        whole = {self.best: result.in_place(chosen[0]) if chosen else None}
        return whole | self._paraphrase_cells(result) | ({"result": result.to_dict()} if full else {})


class InfillRows(RankedRows[InfillSettings]):
    settings_kind = InfillSettings
    best = "filled"
    ranked = ("filling", "score", "passes")
    reads = (("left", "right"), ("text",))

    async def cells(self, texts: Sequence[str], full: bool) -> Cells:
        parts = list(texts) if len(texts) == 2 else split_blanks(texts[0])
        if len(parts) > 2 and self.wanted.top > 1:
            raise InputError(f"There are {len(parts) - 1} gaps in the text. With --top above 1, give one gap per row.")
        results: list[InfillResult] = []
        left = parts[0]
        for right in parts[1:]:  # each sees what the ones before it were filled with
            results.append(await infill(self.pair, left, right, self.settings, constraints=self.constraints))
            left = results[-1].filled
        cells = self._filling_cells(results)
        return cells | ({"result": [result.to_dict() for result in results]} if full else {})

    def _filling_cells(self, results: Sequence[InfillResult]) -> Cells:
        """For one gap the best fillings; for several gaps the best of each, with ___ between them."""
        if len(results) == 1:
            chosen, note = choose_fillings(results[0], self.wanted)
            ranking = [(item.text, round(item.score, 4), item.passes) for item in chosen]
        else:
            best, notes = zip(*(choose_fillings(result, self.wanted) for result in results), strict=True)
            firsts = [items[0] for items in best if items]
            note = " ".join(dict.fromkeys(filter(None, notes)))
            texts = " ___ ".join(item.text for item in firsts)
            score = round(sum(item.score for item in firsts), 4)
            is_whole = len(firsts) == len(results)
            ranking = [(texts, score, all(item.passes for item in firsts))] if is_whole else []
        return ({self.best: results[-1].filled} if ranking else {}) | self._rank_cells(ranking, note)


class ScoreRows(RowTask[ScoreSettings]):
    settings_kind = ScoreSettings
    best = "scaled"
    reads = (("reference", "candidate"),)
    numbers = ("scaled", "scaled_low", "scaled_high", "relative", "relative_low", "relative_high", "score", "span")

    @cached_property
    def _yardsticks(self) -> Yardsticks:
        """The yardsticks of the latest references."""
        return Yardsticks(self.pair, self.settings, self.fingerprint)

    @classmethod
    def adds(cls, top: int) -> list[Column]:  # noqa: ARG003
        return [Column(name, "number") for name in cls.numbers]

    async def cells(self, texts: Sequence[str], full: bool) -> Cells:
        reference, candidate = (None, texts[0]) if self.fingerprint is not None else texts
        (result,) = await score(
            self.pair,
            reference,
            [candidate],
            self.settings,
            fingerprint=self.fingerprint,
            yardsticks=self._yardsticks,
        )
        content = result.to_dict()
        return {name: content[name] for name in self.numbers} | ({"result": content} if full else {})


ROW_TASKS: tuple[type[RowTask[Any]], ...] = (ParaphraseRows, InfillRows, RewriteRows, ScoreRows)
TASKS = {kind.settings_kind.task: kind for kind in ROW_TASKS}


def task_named(name: str) -> type[RowTask[Any]]:
    if name not in TASKS:
        raise SettingsError(f"There is no task {name!r}{did_you_mean(name, TASKS)}. Tasks: {', '.join(TASKS)}.")
    return TASKS[name]


def _at(name: str, rank: int) -> str:
    return name if rank == 1 else f"{name}_{rank}"
