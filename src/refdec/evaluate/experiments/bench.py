"""What every experiment is given, and how it is found by its name.

An experiment reads data, asks systems for their outputs, and returns the sections of a report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from refdec.evaluate.experiments.data import data_folder
from refdec.evaluate.experiments.outputs import OutputRow
from refdec.evaluate.experiments.runs import Rows, Runs
from refdec.evaluate.experiments.systems import System, system
from refdec.evaluate.judging.metric import AnyMetric
from refdec.evaluate.judging.named_metrics import metric
from refdec.evaluate.judging.stand_in import QUORA, StandIn, Thresholds
from refdec.evaluate.reports.report import Section
from refdec.lm.pair import Pair
from refdec.settings import PRESETS, FingerprintSettings, default_preset

JUDGED = ("fluent", "consistent", "novel", "all-three")
"""Metrics that are verdicts of the stand-in for people."""


@dataclass
class Bench:
    """The place where experiments are made: data, outputs, models, and what was asked for."""

    data: Path | None
    runs: Runs
    device: str  # "cpu" or "cuda": what the default preset is chosen by
    pair: Callable[[], Pair]
    systems: tuple[str, ...] = ()  # as named; none: those of the experiment
    metrics: tuple[str, ...] = ()
    split: str | None = None
    limit: int | None = None
    resamples: int = 1000
    preset: str | None = None  # what a plain `rd` is; none: what suits the device
    provenance: dict[str, str] = field(default_factory=dict)  # what was used, in the order of use
    _judges: dict[Thresholds, StandIn] = field(default_factory=dict)

    @cached_property
    def folder(self) -> Path:
        return data_folder(self.data)

    def used(self, system: System, rows: Rows, outputs: Iterable[OutputRow]) -> None:
        """Note what made these outputs."""
        signature = next(iter(outputs)).get("signature", "unknown")
        self.provenance[f"outputs {rows.place} {system.name}"] = str(signature)

    def chosen(self, kind: type[FingerprintSettings], usual: Sequence[str]) -> list[System]:
        """The systems that were asked for, or else the usual ones."""
        return [system(name, kind, self._preset(kind)) for name in self.systems or usual]

    def _preset(self, kind: type[FingerprintSettings]) -> str:
        """What a plain `rd` is: the preset that was asked for, where the task has it, or the one for the machine."""
        return self.preset if self.preset in PRESETS[kind.task] else default_preset(kind, self.device)

    def named(self, names: Sequence[str], thresholds: Thresholds = QUORA) -> dict[str, AnyMetric]:
        """The metrics of an experiment, or those that were asked for instead."""
        wanted = self.metrics or tuple(names)
        judge: Mapping[str, AnyMetric] = {}
        if any(name in JUDGED for name in wanted):
            if thresholds not in self._judges:
                self._judges[thresholds] = StandIn(self.pair(), thresholds)
            judge = self._judges[thresholds].metrics()
        found = {name: judge[name] if name in judge else metric(name) for name in wanted}
        self.provenance.update({f"metric {name}": item.signature for name, item in found.items()})
        return found


Need = tuple[System, Rows]


@dataclass(frozen=True)
class Experiment:
    """What has to be generated for it, and the sections of the report that are made from that."""

    needs: Callable[[Bench], Sequence[Need]]
    report: Callable[[Bench], list[Section]]
