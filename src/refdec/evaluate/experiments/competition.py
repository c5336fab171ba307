"""The systems to beat, beside refdec: on the same rows, models and metrics, and compared at the same Novelty.

A system with one text per row is compared as it is. Of one with many, the best above a Novelty cutoff is taken, as
from refdec; cutoffs are found on the rows themselves, for all systems alike.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from refdec.evaluate.experiments.selection import best, cutoff_for, is_ranked, novelty_at, top
from refdec.evaluate.experiments.systems import Generated, GivenText, Reflective, System
from refdec.evaluate.reports.quoted import quoted_rows
from refdec.evaluate.reports.report import ReportRow, ReportTable, Section
from refdec.metrics.novelty import corpus_novelty
from refdec.settings import ParaphraseSettings

METRICS = ("sari", "bleu", "meteor", "ter", "ibleu", "rouge1", "rouge2", "similarity", "novelty")
"""All that need no weights of the user's own."""

USUAL = ("source", "reference", "rd", "cgmh", "upsa", "prompt")
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
        "found on these rows. Seconds are per row, one row after the other on the same machine. Metrics of quoted rows "
        f"may differ in detail from ours. {warning}"
    )
    quoted_lines = [row for table in tables for row in quoted_rows(table)]
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
    """The first of refdec's systems against every row of every other, with a cutoff that gives the same Novelty."""
    ours = next((item for item in systems if isinstance(item, Reflective)), None)
    if ours is None:
        return []
    our_rows = [outputs[ours.name][key] for key in rows.ids]
    least = novelty_at(our_rows, 0.0)
    pairs, too_plain = [], []
    for item in systems:
        if item is ours or isinstance(item, GivenText):
            continue
        for name in system_names(board, item):
            theirs = board.outputs[name]
            target = corpus_novelty(theirs.texts, theirs.sources)
            if target < least:
                too_plain.append(name)
            ours_there = f"{ours.name} at {target:.1f}"
            board.add(ours_there, outputs_for(rows, [best(row, cutoff_for(our_rows, target)) for row in our_rows]))
            pairs.append((ours_there, name))
    if not pairs:
        return []
    compared = board.comparison(f"{title}: differences at the same Novelty", pairs)
    plain = f" {ours.name} is more novel without a cutoff than {', '.join(too_plain)}." if too_plain else ""
    note = f"{ours.name} with the cutoff that gives it the Novelty of the other, {least:.1f} at least.{plain}"
    return [ReportTable(compared.title, compared.columns, compared.rows, f"{note} {compared.note}")]
