"""What the parts of the method are worth: the number of contexts, learned weights, Novelty cutoffs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from refdec.evaluate.experiments.bench import Bench, Need
from refdec.evaluate.experiments.outputs import OutputRow
from refdec.evaluate.experiments.paraphrasing import TARGETS, common, outputs_for
from refdec.evaluate.experiments.scoreboard import Scoreboard
from refdec.evaluate.experiments.selection import best, cutoff_for, top
from refdec.evaluate.experiments.systems import Reflective
from refdec.evaluate.reports.quoted import quoted_rows
from refdec.evaluate.reports.report import Plot, PlotPoint, ReportRow, ReportTable, Section, Series
from refdec.settings import ParaphraseSettings

CONTEXTS = (6, 20, 40, 80, 160, 320, 640, 1280)
CUT = ("rd", "rd:paper")
METRICS = ("sari", "bleu", "ter", "similarity", "novelty")
CUTOFFS_METRICS = ("sari", "bleu", "similarity", "novelty")


def contexts(bench: Bench) -> list[Section]:
    """How many contexts it takes: the paper's settings with 6 to 1,280 of them."""
    rows = bench.rows("quora", "dev")
    outputs = {count: bench.runs.outputs(_with_contexts(count), rows) for count in CONTEXTS}
    lines: list[ReportRow] = []
    for label, target in (("RD Top", None), ("RD", 0.0), *((f"RD {target}", float(target)) for target in TARGETS)):
        for count, by_id in outputs.items():
            part = rows.only(list(by_id))
            board = Scoreboard(bench.named(METRICS), len(part.items), bench.resamples)
            name = f"{count} contexts, {len(by_id):,} rows"
            board.add(name, outputs_for(part, _at(list(by_id.values()), target)))
            lines.append(board.row(name, ranked=False, group=label))
    columns = board.columns()
    note = f"Settings of the paper but for the number of contexts, 6 kept; {rows.place}, cutoffs from the same rows."
    shared_rows = rows.only(common(outputs, rows))
    board = Scoreboard(bench.named(("sari", "similarity", "novelty")), len(shared_rows.items), bench.resamples)
    plots = []
    for key in board.metrics:
        series = []
        for label, target in (("best, no copy", 0.0), *((f"RD {target}", float(target)) for target in TARGETS)):
            if key == "novelty" and target:
                continue
            points = []
            for count, by_id in outputs.items():
                texts = outputs_for(shared_rows, _at([by_id[row] for row in shared_rows.ids], target))
                cell = board.cell(texts, key)
                assert cell.value is not None
                points.append(PlotPoint(count, cell.value, cell.low, cell.high))
            series.append(Series(label, tuple(points)))
        title = board.metrics[key].title
        shared = f"The {len(shared_rows.items):,} rows that all numbers of contexts have."
        plots.append(
            Plot(f"contexts-{key}", f"{title} by contexts", "contexts", title, tuple(series), shared, log_x=True)
        )
    return [ReportTable("How many contexts", columns, (*lines, *_quoted_contexts("quora-contexts")), note), *plots]


def contexts_needs(bench: Bench) -> list[Need]:
    return [(_with_contexts(count), bench.rows("quora", "dev")) for count in CONTEXTS]


def _with_contexts(count: int) -> Reflective:
    return Reflective("paper", {} if count == ParaphraseSettings().contexts else {"contexts": count})


def _weighted() -> dict[str, Reflective]:
    few: dict[str, Any] = {"contexts": 6}
    ten: dict[str, Any] = {"contexts": 10, "kept_contexts": 10}
    return {
        f"{changes['contexts']} contexts, {kind}": Reflective("paper", changes | more)
        for changes in (few, ten)
        for kind, more in (("learned weights", {}), ("equal weights", {"solver": "uniform"}))
    }


def weights_needs(bench: Bench) -> list[Need]:
    return [(item, bench.rows("quora", "dev")) for item in _weighted().values()]


def weights(bench: Bench) -> list[Section]:
    """Learned weights against equal ones, all contexts kept."""
    rows = bench.rows("quora", "dev")
    outputs = {name: bench.runs.outputs(item, rows) for name, item in _weighted().items()}
    rows = rows.only(common(outputs, rows))
    board = Scoreboard(bench.named(METRICS), len(rows.items), bench.resamples)
    for name, by_id in outputs.items():
        board.add(name, outputs_for(rows, [top(by_id[key]) for key in rows.ids]))
    measured_rows = [board.row(name, ranked=False) for name in board.outputs]
    pairs = [(f"{count} contexts, learned weights", f"{count} contexts, equal weights") for count in (6, 10)]
    note = board.note(
        f"RD Top on {rows.place}. The last quoted row equals another row of the paper in every figure: a slip?"
    )
    return [
        ReportTable("Learned weights", board.columns(), (*measured_rows, *_quoted_contexts("quora-weights")), note),
        board.comparison("Learned weights: differences", pairs),
    ]


def cutoffs_needs(bench: Bench) -> list[Need]:
    return [(item, bench.rows("quora", "dev")) for item in bench.chosen(ParaphraseSettings, CUT)]


def cutoffs(bench: Bench) -> list[Section]:
    """What each Novelty cutoff gives on dev, where cutoffs are found."""
    rows = bench.rows("quora", "dev")
    lines = []
    for item in bench.chosen(ParaphraseSettings, CUT):
        outputs = bench.runs.outputs(item, rows)
        part = rows.only(list(outputs))
        board = Scoreboard(bench.named(CUTOFFS_METRICS), len(part.items), bench.resamples)
        for target in (0.0, *TARGETS):
            cutoff = cutoff_for(list(outputs.values()), target)
            name = f"{item.name}, cutoff {cutoff:.1f}"
            board.add(name, outputs_for(part, [best(row, cutoff) for row in outputs.values()]))
            lines.append(board.row(name, ranked=False))
    return [ReportTable(f"Cutoffs on {rows.place}", board.columns(), tuple(lines), board.note())]


def _quoted_contexts(table: str) -> list[ReportRow]:
    """Rows of the paper, each named by its number of contexts."""
    return [replace(row, name=f"{row.name}, {row.cells['contexts'].value:.0f} contexts") for row in quoted_rows(table)]


def _at(rows: Sequence[OutputRow], target: float | None) -> list[str]:
    """RD Top for no target, else the best above the cutoff that gives the target."""
    return [top(row) for row in rows] if target is None else [best(row, cutoff_for(rows, target)) for row in rows]
