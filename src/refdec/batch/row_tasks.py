"""The four tasks for a row of a table: the columns that each reads, the columns that it adds, and the cells of one row.

Knows rows as texts and results as cells; nothing of files or processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
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


class RowTask(ABC, Generic[Chosen]):
    """A task for every row of a table. Made once for a pair of models; rows are worked on side by side."""

    settings_kind: ClassVar[type[FingerprintSettings]]
    best: ClassVar[str]  # the new column that matters most: the only one that a text file has
    reads: ClassVar[tuple[tuple[str, ...], ...]]  # sets of columns that the task can work on, best first

    def __init__(
        self,
        pair: Pair,
        settings: Chosen,
        wanted: Wanted,
        constraints: Constraints = NONE,
        fingerprint: Fingerprint | None = None,
    ) -> None:
        self._pair, self._settings, self._wanted, self._constraints = pair, settings, wanted, constraints
        self._fingerprint = fingerprint

    @classmethod
    @abstractmethod
    def adds(cls, top: int) -> list[Column]:
        """The new columns."""

    @abstractmethod
    async def cells(self, texts: Sequence[str], full: bool) -> Cells:
        """The new cells of a row with these texts; with `full`, the whole result in a cell of its own."""


class ParaphraseRows(RowTask[ParaphraseSettings]):
    settings_kind = ParaphraseSettings
    best = "paraphrase"
    reads = (("text",),)

    @classmethod
    def adds(cls, top: int) -> list[Column]:
        return [*_ranked(cls.best, "relative", "novelty", "confidence", top=top), Column("note", "text")]

    async def cells(self, texts: Sequence[str], full: bool) -> Cells:
        result = await paraphrase(self._pair, texts[0], self._settings, constraints=self._constraints)
        cells = _paraphrase_cells(self.best, result, self._wanted, "relative", "novelty", "confidence")
        return cells | ({"result": result.to_dict()} if full else {})


class RewriteRows(RowTask[RewriteSettings]):
    settings_kind = RewriteSettings
    best = "rewritten"
    reads = (("left", "span", "right"), ("text",))

    @classmethod
    def adds(cls, top: int) -> list[Column]:
        ranked = _ranked("rewriting", "relative", "novelty", top=top)
        return [Column(cls.best, "text"), *ranked, Column("note", "text")]

    async def cells(self, texts: Sequence[str], full: bool) -> Cells:
        left, span, right = texts if len(texts) == 3 else split_document(texts[0])
        result = await rewrite(self._pair, left, span, right, self._settings, constraints=self._constraints)
        chosen, _ = choose(result, self._wanted)
        best = next((item for item in chosen if not item.copy), None)
        cells = {self.best: None if best is None else result.in_place(best)}
        cells |= _paraphrase_cells("rewriting", result, self._wanted, "relative", "novelty")
        return cells | ({"result": result.to_dict()} if full else {})


class InfillRows(RowTask[InfillSettings]):
    settings_kind = InfillSettings
    best = "filled"
    reads = (("left", "right"), ("text",))

    @classmethod
    def adds(cls, top: int) -> list[Column]:
        ranked = _ranked("filling", "score", "passes", top=top)
        return [Column(cls.best, "text"), *ranked, Column("note", "text")]

    async def cells(self, texts: Sequence[str], full: bool) -> Cells:
        parts = list(texts) if len(texts) == 2 else split_blanks(texts[0])
        if len(parts) > 2 and self._wanted.top > 1:
            raise InputError(f"There are {len(parts) - 1} gaps in the text. With --top above 1, give one gap per row.")
        results: list[InfillResult] = []
        left = parts[0]
        for right in parts[1:]:  # each sees what the ones before it were filled with
            results.append(await infill(self._pair, left, right, self._settings, constraints=self._constraints))
            left = results[-1].filled
        cells = _filling_cells(results, self._wanted)
        return cells | ({"result": [result.to_dict() for result in results]} if full else {})


class ScoreRows(RowTask[ScoreSettings]):
    settings_kind = ScoreSettings
    best = "scaled"
    reads = (("reference", "candidate"),)
    numbers = ("scaled", "scaled_low", "scaled_high", "relative", "relative_low", "relative_high", "score", "span")

    @cached_property
    def _yardsticks(self) -> Yardsticks:
        """The yardsticks of the latest references."""
        return Yardsticks(self._pair, self._settings, self._fingerprint)

    @classmethod
    def adds(cls, top: int) -> list[Column]:  # noqa: ARG003
        return [Column(name, "number") for name in cls.numbers]

    async def cells(self, texts: Sequence[str], full: bool) -> Cells:
        reference, candidate = (None, texts[0]) if self._fingerprint is not None else texts
        (result,) = await score(
            self._pair,
            reference,
            [candidate],
            self._settings,
            fingerprint=self._fingerprint,
            yardsticks=self._yardsticks,
        )
        content = result.to_dict()
        return {name: content[name] for name in self.numbers} | ({"result": content} if full else {})


TASKS: dict[str, type[RowTask[Any]]] = {
    "paraphrase": ParaphraseRows,
    "infill": InfillRows,
    "rewrite": RewriteRows,
    "score": ScoreRows,
}


def task_named(name: str) -> type[RowTask[Any]]:
    if name not in TASKS:
        raise SettingsError(f"There is no task {name!r}{did_you_mean(name, TASKS)}. Tasks: {', '.join(TASKS)}.")
    return TASKS[name]


KINDS = {"passes": "boolean"}


def _ranked(text: str, *others: str, top: int) -> list[Column]:
    """Columns of a text and its numbers for each rank: paraphrase, relative, paraphrase_2, relative_2."""
    return [
        Column(_at(name, rank), "text" if name == text else KINDS.get(name, "number"))
        for rank in range(1, top + 1)
        for name in (text, *others)
    ]


def _at(name: str, rank: int) -> str:
    return name if rank == 1 else f"{name}_{rank}"


def _paraphrase_cells(name: str, result: ParaphraseResult, wanted: Wanted, *numbers: str) -> Cells:
    """The best candidates that are not copies of the source, each with its numbers, and a note where one is needed."""
    chosen, note = choose(result, wanted)
    cells: Cells = {}
    for rank, item in enumerate((item for item in chosen if not item.copy), start=1):
        content = item.to_dict()
        cells[_at(name, rank)] = item.text
        cells |= {_at(number, rank): content[number] for number in numbers}
    return cells | ({"note": note} if note else {})


def _filling_cells(results: Sequence[InfillResult], wanted: Wanted) -> Cells:
    """For one gap the best fillings; for several gaps the best of each, with ___ between them."""
    if len(results) == 1:
        chosen, note = choose_fillings(results[0], wanted)
        ranked = [(item.text, item.score, item.passes) for item in chosen]
    else:
        best, notes = zip(*(choose_fillings(result, wanted) for result in results), strict=True)
        firsts = [items[0] for items in best if items]
        note = " ".join(dict.fromkeys(filter(None, notes)))
        texts = " ___ ".join(item.text for item in firsts)
        whole = len(firsts) == len(results)
        ranked = [(texts, sum(item.score for item in firsts), all(item.passes for item in firsts))] if whole else []
    cells: Cells = {"filled": results[-1].filled} if ranked else {}
    for rank, (text, value, passes) in enumerate(ranked, start=1):
        cells |= {_at("filling", rank): text, _at("score", rank): round(value, 4), _at("passes", rank): passes}
    return cells | ({"note": note} if note else {})
