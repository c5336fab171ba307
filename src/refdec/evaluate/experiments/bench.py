"""What every experiment is given: data, outputs, models, and the user's choices.

An experiment reads data, takes the outputs of systems, and returns the sections of a report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from refdec.errors import ModelError
from refdec.evaluate.experiments.data import SETS, data_folder, read_rows
from refdec.evaluate.experiments.outputs import OutputRow
from refdec.evaluate.experiments.runs import Rows, Runs
from refdec.evaluate.experiments.systems import System, each_system, system
from refdec.evaluate.judging.metric import AnyMetric
from refdec.evaluate.judging.named_metrics import metric
from refdec.evaluate.judging.stand_in import JUDGED, QUORA, StandIn, Thresholds
from refdec.evaluate.reports.report import Section
from refdec.lm.pair import Pair
from refdec.metrics.packages import INSTALL, MissingPackageError
from refdec.metrics.similarity import check_similarity
from refdec.settings import PRESETS, FingerprintSettings, default_preset


@dataclass
class Bench:
    """The place where experiments are made."""

    data: Path | None
    runs: Runs
    device: str  # "cpu" or "cuda": the default preset depends on it
    pair: Callable[[], Pair]
    systems: tuple[str, ...] = ()  # as the user names them; empty: the experiment's usual ones
    metrics: tuple[str, ...] = ()
    split: str | None = None
    limit: int | None = None
    resamples: int = 1000
    preset: str | None = None  # of a plain `rd`; None: the default of device and pair
    examples: bool = True  # whether the pair has examples of rewording: the default preset depends on it
    notice: Callable[[str], None] = lambda _: None  # shows the user a line that stays
    provenance: dict[str, str] = field(default_factory=dict)  # outputs and metrics, in the order of use
    _judges: dict[Thresholds, StandIn] = field(default_factory=dict)

    @cached_property
    def folder(self) -> Path:
        return data_folder(self.data)

    def rows(self, name: str, usual: str, most: int | None = None) -> Rows:
        """The rows of a data set: of the split that the user names where the set has it, else of the usual one."""
        chosen = self.split if self.split in SETS[name].splits else None
        return self.split_rows(name, chosen or usual, most)

    def split_rows(self, name: str, split: str, most: int | None = None) -> Rows:
        items = read_rows(self.folder, name, split)[:most]
        return Rows(f"{name}-{split}", items[: self.limit], frozenset(str(item.id) for item in items))

    def used(self, system: System, rows: Rows, outputs: Iterable[OutputRow]) -> None:
        """Note the signature of these outputs."""
        signature = next(iter(outputs)).get("signature", "unknown")
        self.provenance[f"outputs {rows.place} {system.name}"] = str(signature)

    def chosen(self, kind: type[FingerprintSettings], usual: Sequence[str]) -> list[System]:
        """The systems that the user names, or else the usual ones.

        The paper's settings take hours on a CPU, so where a CPU has to generate, `rd` stands for a usual `rd:paper`.
        """
        names = self.systems
        if not names:
            slow = self.device == "cpu" and self.runs.make is not None
            names = tuple(dict.fromkeys("rd" if slow and name == "rd:paper" else name for name in usual))
        preset = self.preset if self.preset in PRESETS[kind.task] else None
        if preset is None:
            preset = default_preset(kind, self.device, self.examples)
            if "rd" in names:
                self._note_default(kind.task, preset)
        return [system(name, kind, preset) for name in each_system(names, kind)]

    def _note_default(self, task: str, preset: str) -> None:
        place = "on a CPU" if self.device == "cpu" else "on a GPU"
        note = f"rd is rd:{preset}, the default {place} (choose another with --preset, or name --system rd:PRESET)"
        if f"preset of {task}" not in self.provenance:
            self.provenance[f"preset of {task}"] = note
            self.notice(note)

    def named(self, names: Sequence[str], thresholds: Thresholds = QUORA) -> dict[str, AnyMetric]:
        """The metrics that the user names, or else these."""
        wanted = self.metrics or tuple(names)
        judge: Mapping[str, AnyMetric] = {}
        if any(name in JUDGED for name in wanted):
            if thresholds not in self._judges:
                self._judges[thresholds] = StandIn(self.pair(), thresholds)
            judge = self._judges[thresholds].metrics()
        metrics = {name: judge[name] if name in judge else metric(name) for name in wanted}
        self.provenance.update({f"metric {name}": item.signature for name, item in metrics.items()})
        return metrics


Need = tuple[System, Rows]


def no_needs(_: Bench) -> list[Need]:
    return []


@dataclass(frozen=True)
class Experiment:
    """What has to be generated for it, the sections of the report, and what the report is computed with."""

    report: Callable[[Bench], list[Section]]
    needs: Callable[[Bench], Sequence[Need]] = no_needs
    metrics: tuple[str, ...] = ()  # the usual ones, instead of which the user may name others
    checks: tuple[Callable[[], object], ...] = ()  # raise a `ModelError` where a package is missing

    def missing(self, bench: Bench) -> list[ModelError]:
        """Why the report cannot be computed here."""
        names = self.metrics and (bench.metrics or self.metrics)
        makers = [check_similarity if name in JUDGED else lambda name=name: metric(name) for name in names]
        errors = []
        for check in (*makers, *self.checks):
            try:
                check()
            except ModelError as error:
                errors.append(error)
        return errors


def check_experiments(bench: Bench, experiments: Iterable[Experiment]) -> None:
    """Refuse, before anything is generated, what could not be scored afterwards, and name all that is missing."""
    errors = [error for experiment in experiments for error in experiment.missing(bench)]
    needs = dict.fromkeys(error.need for error in errors if isinstance(error, MissingPackageError))
    parts = [f"Packages are missing: {'; '.join(needs)}. Install them: {INSTALL}."] if needs else []
    parts += dict.fromkeys(str(error) for error in errors if not isinstance(error, MissingPackageError))
    if parts:
        raise ModelError(" ".join([*parts, "Or choose other metrics with --metric, or generate with --no-report."]))
