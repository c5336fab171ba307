"""From outputs to the tables and curves of a report: every figure with its interval, systems compared in pairs.

Statistics of rows are computed once for each system and metric. Knows metrics and reports, and nothing of data sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from refdec.evaluate.experiments.outputs import OutputRow
from refdec.evaluate.judging.metric import AnyMetric, Outputs, WholeMetric
from refdec.evaluate.judging.statistics import Comparison, compare, summary
from refdec.evaluate.reports.report import Cell, PlotPoint, ReportColumn, ReportRow, ReportTable
from refdec.metrics.bootstrap import Draws, Numbers, draws

SECONDS = ReportColumn("seconds", "seconds", "", 2)
"""What a row took to generate, in the mean."""

LEAST_ROWS = 20
"""Rows below which systems are not tested for a difference."""

INTERVALS = "Intervals are the middle 95 % of {} bootstrap resamples of the {:,} rows, the same for all."


@dataclass
class Scoreboard:
    """Outputs of several systems for the same rows, and their figures by each metric."""

    metrics: Mapping[str, AnyMetric]
    rows: int
    resamples: int = 1000
    seed: int = 0
    outputs: dict[str, Outputs] = field(default_factory=dict)
    _statistics: dict[tuple[Outputs, str], Numbers] = field(default_factory=dict)

    @cached_property
    def drawn(self) -> Draws:
        return draws(self.rows, self.resamples, self.seed)

    def add(self, name: str, outputs: Outputs) -> None:
        assert len(outputs) == self.rows
        self.outputs[name] = outputs

    def cell(self, outputs: Outputs, key: str) -> Cell:
        metric = self.metrics[key]
        if isinstance(metric, WholeMetric):
            return Cell(summary(metric, outputs).value)
        figure = summary(metric, self.statistics(outputs, key), self.drawn)
        return Cell(figure.value, figure.low, figure.high)

    def statistics(self, outputs: Outputs, key: str) -> Numbers:
        metric = self.metrics[key]
        assert not isinstance(metric, WholeMetric)
        if (outputs, key) not in self._statistics:
            self._statistics[outputs, key] = metric.statistics(outputs)
        return self._statistics[outputs, key]

    def columns(self) -> tuple[ReportColumn, ...]:
        return tuple(ReportColumn(key, item.title, item.better, item.digits) for key, item in self.metrics.items())

    def row(self, name: str, ranked: bool = True, group: str = "") -> ReportRow:
        outputs = self.outputs[name]
        return ReportRow(name, {key: self.cell(outputs, key) for key in self.metrics}, group=group, ranked=ranked)

    def point(self, outputs: Outputs, x: str, y: str, label: str = "") -> PlotPoint:
        across, up = self.cell(outputs, x), self.cell(outputs, y)
        assert across.value is not None
        assert up.value is not None
        return PlotPoint(across.value, up.value, up.low, up.high, label)

    def compare(self, first: str, second: str, key: str) -> Comparison:
        metric = self.metrics[key]
        assert not isinstance(metric, WholeMetric)
        one, other = (self.statistics(self.outputs[name], key) for name in (first, second))
        return compare(metric, one, other, self.drawn)

    def comparison(self, title: str, pairs: Sequence[tuple[str, str]]) -> ReportTable:
        """First less second for every metric that can be resampled, marked where the difference is significant."""
        keys = [key for key, metric in self.metrics.items() if not isinstance(metric, WholeMetric)]
        rows = []
        for first, second in pairs:
            cells = {}
            for key in keys:
                compared = self.compare(first, second, key)
                cells[key] = Cell(compared.difference, compared.low, compared.high, stars(compared.p, self.rows))
            rows.append(ReportRow(f"{first} less {second}", cells, ranked=False))
        columns = tuple(column for column in self.columns() if column.key in keys)
        note = legend("Paired bootstrap, two-sided: * p < 0.05, ** p < 0.01.", self.rows)
        return ReportTable(title, columns, tuple(rows), note)

    def note(self, more: str = "") -> str:
        return f"{INTERVALS.format(f'{self.resamples:,}', self.rows)} {more}".strip()


def timed(row: ReportRow, outputs: Sequence[OutputRow]) -> ReportRow:
    """The row of a table with the mean time of its outputs, where that is known."""
    seconds = [float(output["seconds"]) for output in outputs if "seconds" in output]
    return replace(row, cells={**row.cells, SECONDS.key: Cell(sum(seconds) / len(seconds) if seconds else None)})


def stars(p: float, rows: int) -> str:
    """The mark of a significant difference; none on too few rows."""
    return "" if rows < LEAST_ROWS else "**" if p < 0.01 else "*" if p < 0.05 else ""


def legend(marks: str, rows: int) -> str:
    """What stars mean, or why there are none."""
    if rows >= LEAST_ROWS:
        return marks
    return (
        f"No test of significance on {rows} rows: it takes at least {LEAST_ROWS}, for resamples of fewer rows are so "
        "much alike that chance looks significant."
    )
