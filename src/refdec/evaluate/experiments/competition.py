"""The systems to beat, beside refdec: on the same rows, models and metrics, and compared at the same Novelty.

A system with one text per row is compared as it is. Of one with many, the best above a Novelty cutoff is taken, as
from refdec; cutoffs are found on the rows themselves, for all systems alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from refdec.evaluate.experiments.bench import Bench, Need
from refdec.evaluate.experiments.outputs import OutputRow
from refdec.evaluate.experiments.paraphrasing import (
    TARGETS,
    TWITTER_ROWS,
    common,
    curves,
    examples,
    outputs_for,
    system_names,
)
from refdec.evaluate.experiments.runs import Rows
from refdec.evaluate.experiments.scoreboard import SECONDS, Scoreboard, timed
from refdec.evaluate.experiments.selection import best, cutoff_for, is_ranked, top
from refdec.evaluate.experiments.systems import Generated, GivenText, Reflective, System
from refdec.evaluate.reports.quoted import quoted_rows
from refdec.evaluate.reports.report import ReportRow, ReportTable, Section
from refdec.metrics.novelty import corpus_novelty
from refdec.settings import ParaphraseSettings

METRICS = ("sari", "bleu", "meteor", "ter", "ibleu", "rouge1", "rouge2", "similarity", "novelty")
"""All that need no weights of the user's own."""

NEAR = 1.0
"""Novelty by which outputs may miss a target."""

USUAL = ("source", "reference", "rd", "rd:paper", "cgmh", "upsa", "prompt")
TUNED_ON = "This is a tuning set: refdec's settings and its confidence were chosen on it, so it flatters refdec."


def quora_systems(bench: Bench) -> list[Section]:
    """All systems on the Quora test split."""
    return _compared(bench, "Quora", _quora(bench), ("quora", "quora-more"))


def twitter_systems(bench: Bench) -> list[Section]:
    """All systems on the Twitter URL test split."""
    return _compared(bench, "Twitter", _twitter(bench), ("twitter-more", "twitter"))


def sentences_systems(bench: Bench) -> list[Section]:
    """All systems on ordinary sentences."""
    return _compared(bench, "Sentences", _sentences(bench), (), TUNED_ON)


def quora_systems_needs(bench: Bench) -> list[Need]:
    return _needs(bench, _quora(bench))


def twitter_systems_needs(bench: Bench) -> list[Need]:
    return _needs(bench, _twitter(bench))


def sentences_systems_needs(bench: Bench) -> list[Need]:
    return _needs(bench, _sentences(bench))


def _quora(bench: Bench) -> Rows:
    return bench.rows("quora", "test")


def _twitter(bench: Bench) -> Rows:
    return bench.rows("twitter", "test", TWITTER_ROWS)


def _sentences(bench: Bench) -> Rows:
    return bench.rows("sentences", "dev")


def _needs(bench: Bench, rows: Rows) -> list[Need]:
    return [(item, rows) for item in bench.chosen(ParaphraseSettings, USUAL) if isinstance(item, Generated)]


def _compared(bench: Bench, title: str, rows: Rows, tables: tuple[str, ...], warning: str = "") -> list[Section]:
    systems = bench.chosen(ParaphraseSettings, USUAL)
    outputs = {item.name: bench.runs.outputs(item, rows) for item in systems}
    rows = rows.only(common(outputs, rows))
    board = Scoreboard(bench.named(METRICS), len(rows.items), bench.resamples)
    lines: list[ReportRow] = []
    for item in systems:
        system_rows = [outputs[item.name][key] for key in rows.ids]
        for name, texts in _texts(item, system_rows).items():
            board.add(name, outputs_for(rows, texts))
            lines.append(timed(board.row(name, ranked=not isinstance(item, GivenText)), system_rows))
        if isinstance(item, Generated):
            bench.used(item, rows, system_rows)
    note = board.note(
        "Without a number: the best-ranked text that is no copy of the source. 30 and 45: the best-ranked above a "
        "cutoff such that all outputs together have this Novelty, or come as near as the candidates allow; cutoffs are "
        "found on these rows. Seconds are the time of the run per row; a GPU works on many rows together. Metrics of "
        f"quoted rows may differ in detail from ours. {warning}"
    )
    quoted_lines = quoted_rows(*tables) if tables else ()
    table = ReportTable(
        f"{title}, all systems: {rows.place}, {len(rows.items):,} rows",
        (*board.columns(), SECONDS),
        (*lines, *quoted_lines),
        note,
    )
    return [
        table,
        *_at_equal_novelty(board, title, systems, outputs, rows),
        *curves(board, f"{title} systems", systems, outputs, rows, tables),
        examples(
            f"{title}, all systems", rows, board, [name for item in systems for name in system_names(board, item)]
        ),
    ]


def _texts(item: System, system_rows: Sequence[OutputRow]) -> dict[str, list[str]]:
    """The rows of the table that a system has."""
    if not is_ranked(system_rows):
        return {item.name: [top(row) for row in system_rows]}
    texts = {item.name: [best(row) for row in system_rows]}
    for target in TARGETS:
        cutoff = cutoff_for(system_rows, target)
        if cutoff:  # else it is as novel without one
            texts[f"{item.name} {target}"] = [best(row, cutoff) for row in system_rows]
    return texts


def _at_equal_novelty(
    board: Scoreboard, title: str, systems: Sequence[System], outputs: dict[str, dict[str, OutputRow]], rows: Rows
) -> list[Section]:
    """Each of refdec's systems against every other: at Novelty 30, at 45, and where these two meet if not there.

    Refdec's systems are compared with each other too: the first of them with those that lack something.
    """
    ours = [item for item in systems if isinstance(item, Reflective)]
    meeting = _Meeting(board, rows, {item.name: [outputs[item.name][key] for key in rows.ids] for item in systems})
    pairs = [
        (mine.name, other.name)
        for mine in ours
        for other in systems
        if other is not mine and not isinstance(other, GivenText) and (other not in ours or mine is ours[0])
    ]
    sections: list[Section] = []
    met: set[tuple[str, str]] = set()
    for target in TARGETS:
        there = [pair for pair in pairs if all(meeting.reaches(name, target) for name in pair)]
        met.update(there)
        named = [(meeting.at(mine, target), meeting.at(other, target)) for mine, other in there]
        absent = dict.fromkeys(name for pair in pairs for name in pair if not meeting.reaches(name, target))
        why = f" Not at this Novelty: {', '.join(map(meeting.span, absent))}." if absent else ""
        note = f"Both systems with the cutoff that gives all their outputs together the Novelty {target}.{why}"
        sections += _differences(board, f"{title}: differences at Novelty {target}", named, note)
    left = []
    for mine, other in pairs:
        if (mine, other) not in met:
            novelty = meeting.least(other) if other in meeting.fixed else max(map(meeting.least, (mine, other)))
            left.append((meeting.at(mine, novelty), meeting.at(other, novelty)))
    note = (
        "Pairs that meet neither at 30 nor at 45: at the Novelty of the one text that the other has, else at the least "
        "that both have. A Novelty that differs says that refdec has no outputs as plain as the other's."
    )
    return [*sections, *_differences(board, f"{title}: differences at the same Novelty", left, note)]


def _differences(board: Scoreboard, title: str, pairs: Sequence[tuple[str, str]], note: str) -> list[Section]:
    if not pairs:
        return []
    compared = board.comparison(title, pairs)
    return [replace(compared, note=f"{note} {compared.note}")]


@dataclass(frozen=True)
class _Meeting:
    """Systems by name, and their outputs at any Novelty that they can have."""

    board: Scoreboard
    rows: Rows
    candidates: dict[str, list[OutputRow]]
    _novelties: dict[tuple[str, float], float] = field(default_factory=dict)

    @cached_property
    def fixed(self) -> frozenset[str]:
        """Systems with one text per row."""
        return frozenset(name for name, system_rows in self.candidates.items() if not is_ranked(system_rows))

    def at(self, name: str, novelty: float) -> str:
        """The name of the system's row of the table where its outputs have this Novelty, or come nearest to it."""
        cutoff = 0.0 if name in self.fixed else cutoff_for(self.candidates[name], novelty)
        if not cutoff:
            return name
        row = f"{name} {novelty:g}" if novelty in TARGETS else f"{name} at {novelty:.1f}"
        self.board.add(row, outputs_for(self.rows, [best(each, cutoff) for each in self.candidates[name]]))
        return row

    def novelty(self, name: str, asked: float) -> float:
        """The Novelty that the outputs have where this one is asked for."""
        if (name, asked) not in self._novelties:
            texts = self.board.outputs[self.at(name, asked)]
            self._novelties[name, asked] = corpus_novelty(texts.texts, texts.sources)
        return self._novelties[name, asked]

    def least(self, name: str) -> float:
        return self.novelty(name, 0.0)

    def reaches(self, name: str, target: float) -> bool:
        return name not in self.fixed and abs(self.novelty(name, target) - target) <= NEAR

    def span(self, name: str) -> str:
        """What a system can have, in words."""
        least = self.least(name)
        if name in self.fixed:
            return f"{name} (has {least:.1f})"
        return f"{name} ({least:.1f} to {self.novelty(name, 100.0):.1f})"
