"""How far the confidence of results and the stand-in for human judgement can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from refdec.errors import InputError
from refdec.evaluate.experiments.bench import Bench, Need
from refdec.evaluate.experiments.data import read_examples, read_votes
from refdec.evaluate.experiments.outputs import OutputRow
from refdec.evaluate.experiments.scoreboard import Scoreboard
from refdec.evaluate.experiments.systems import Reflective
from refdec.evaluate.judging.agreement import Agreement, agreement, consistency, pair_agreement, vote_agreement
from refdec.evaluate.judging.confidence import SIMILARITY, Assessment, assess, gather, signature_of
from refdec.evaluate.judging.contrasts import CONTRASTS
from refdec.evaluate.judging.metric import Outputs
from refdec.evaluate.judging.stand_in import JUDGED, QUORA, TWITTER
from refdec.evaluate.reports.quoted import quoted_rows
from refdec.evaluate.reports.report import Cell, Plot, PlotPoint, ReportColumn, ReportRow, ReportTable, Section, Series
from refdec.settings import ParaphraseSettings
from refdec.tasks.confidence import calibration

YIELDS = tuple(share / 20 for share in range(1, 21))
TOLD = (1.0, 0.8, 0.6, 0.4)
ACCEPTED, REFUSED = 4, 2
"""Votes of six that make a pair of Twitter a paraphrase, and none; three decide nothing."""


def confidence(bench: Bench) -> list[Section]:
    """Whether results of confidence 0.9 keep the meaning in nine of ten cases, on data that it was not fitted on."""
    assessments: dict[str, Assessment] = {}
    for item, rows in confidence_needs(bench):
        outputs = list(bench.runs.outputs(item, rows).values())
        bench.used(item, rows, outputs)
        assessments[f"{item.name}, {rows.place}"] = _assessed(outputs)
    bench.provenance["metric confidence"] = f"judge: {SIMILARITY.name}, kept from {SIMILARITY.threshold}"
    columns = (
        ReportColumn("kept", "meaning kept %", "", 1),
        ReportColumn("confidence", "mean confidence %", "", 1),
        ReportColumn("auc", "AUC", "higher", 3),
        ReportColumn("error", "calibration error", "lower", 3),
        *(ReportColumn(f"{share:g}", f"kept of the surest {100 * share:g} %", "higher", 1) for share in TOLD[1:]),
    )
    lines = []
    for name, result in assessments.items():
        surest = {f"{item.share:g}": Cell(100 * item.precision) for item in result.accepted if item.share in TOLD}
        cells = {"kept": Cell(100 * result.kept), "confidence": Cell(100 * result.confidence), "auc": Cell(result.auc)}
        lines.append(
            ReportRow(f"{name}, {result.count:,}", {**cells, "error": Cell(result.error), **surest}, ranked=False)
        )
    note = (
        "Best-ranked results that are no copies. Meaning kept: the cosine of sentence embeddings with the source is "
        "0.8 or more, by a model that has no part in refdec. The confidence was fitted on Quora dev."
    )
    precise = [
        Series(name, tuple(PlotPoint(100 * item.share, 100 * item.precision) for item in result.accepted))
        for name, result in assessments.items()
    ]
    right = [
        Series(
            name, tuple(PlotPoint(100 * band.confidence, 100 * band.kept) for band in result.bands if band.count >= 10)
        )
        for name, result in assessments.items()
    ]
    right.append(Series("as it should be", (PlotPoint(0, 0), PlotPoint(100, 100)), quoted=True))
    return [
        ReportTable("Confidence", columns, tuple(lines), note),
        Plot("confidence-yield", "Precision at a chosen yield", "surest results, %", "meaning kept, %", tuple(precise)),
        Plot("confidence-bands", "Is the confidence right?", "confidence, %", "meaning kept, %", tuple(right),
             "Bands of a tenth with at least ten results."),
    ]  # fmt: skip


def confidence_needs(bench: Bench) -> list[Need]:
    rows = bench.rows("quora", "test")
    return [
        (item, rows) for item in bench.chosen(ParaphraseSettings, ("rd", "rd:paper")) if isinstance(item, Reflective)
    ]


def _assessed(rows: Sequence[OutputRow]) -> Assessment:
    candidates = gather(rows, SIMILARITY, most=1)
    pair = signature_of(rows[0]).get("pair", "")
    fitted = calibration(pair)
    if fitted is None:
        raise InputError(
            f"The pair {pair or 'of these outputs'} was not calibrated, so it has no confidence. Fit it to "
            "outputs on dev with benchmarks.confidence, see docs/evaluation.md."
        )
    return assess(candidates.kept, np.array([fitted.confidence(row) for row in candidates.features]), YIELDS)


def stand_in(bench: Bench) -> list[Section]:
    """Agreement with people on pairs they called duplicates, on votes, and on rates that the paper's raters gave."""
    pairs = {
        f"Quora {split}": [(item.source, item.references[0]) for item in read_examples(bench.folder, "quora", split)]
        for split in ("dev", "test")
    }
    return [_agreement(bench, pairs), _votes(bench), _rates(bench, pairs["Quora test"]), _contrasts()]


FIGURES = ("balanced_accuracy", "precision", "recall", "f1", "kappa", "auc")
COLUMNS = tuple(ReportColumn(name, name.replace("_", " "), "higher", 3) for name in FIGURES)


def _agreement(bench: Bench, pairs: dict[str, list[tuple[str, str]]]) -> ReportTable:
    lines = []
    for name, examples in pairs.items():
        for kind in ("nearest", "words", "random"):
            lines.append(_row(f"{name} against {kind} non-pairs", pair_agreement(examples[: bench.limit], kind)))
    note = (
        "Consistency on pairs that people called duplicates, against the same questions with the duplicate of another: "
        "the nearest by embedding, the one with most words in common, or any. Thresholds were set on dev."
    )
    return ReportTable("Stand-in: duplicates", COLUMNS, tuple(lines), note)


def _row(name: str, agreed: Agreement) -> ReportRow:
    return ReportRow(name, {key: Cell(getattr(agreed, key)) for key in FIGURES}, ranked=False)


def _votes(bench: Bench) -> ReportTable:
    votes = read_votes(bench.folder)[: bench.limit]
    clear = [item for item in votes if item.grade >= ACCEPTED or item.grade <= REFUSED]
    scores, accepted = consistency([(item.first, item.second) for item in clear], TWITTER)
    agreed = agreement(np.array([item.grade >= ACCEPTED for item in clear]), accepted, scores)
    _, every = consistency([(item.first, item.second) for item in votes], TWITTER)
    voted = vote_agreement([int(item.grade) for item in votes], every)
    note = (
        f"Twitter: {len(clear):,} pairs with at least {ACCEPTED} or at most {REFUSED} of six votes. Fleiss' kappa of "
        f"the raters {voted.of_raters:.3f}, with the stand-in as one more {voted.with_stand_in:.3f}; kappa of the "
        f"stand-in with one rater {voted.with_raters:.3f}."
    )
    return ReportTable("Stand-in: votes", COLUMNS, (_row("Twitter votes", agreed),), note)


def _rates(bench: Bench, pairs: list[tuple[str, str]]) -> ReportTable:
    """Shares of the references, which thresholds were set by on dev, beside those that raters gave."""
    limited = pairs[: bench.limit]
    outputs = Outputs(tuple(a for a, _ in limited), tuple(b for _, b in limited), tuple((b,) for _, b in limited))
    board = Scoreboard(bench.named(JUDGED, QUORA), len(limited), bench.resamples)
    board.add("reference, Quora test", outputs)
    paper_rows = tuple(
        replace(row, group="") for row in quoted_rows("quora-human") if row.name in ("Reference", "UPSA")
    )
    measured_rows = tuple(board.row(name, ranked=False) for name in board.outputs)
    note = board.note("UPSA's outputs are measured by the experiment upsa.")
    return ReportTable("Stand-in: rates", board.columns(), (*measured_rows, *paper_rows), note)


def _contrasts() -> ReportTable:
    lines = []
    for kind, pairs in CONTRASTS.items():
        _, accepted = consistency(pairs, QUORA)
        right = accepted if kind == "same" else ~accepted
        lines.append(ReportRow(f"{kind}, {len(pairs)} pairs", {"right": Cell(100 * float(right.mean()))}, ranked=False))
    note = "Made-up pairs that differ in little: how many are refused, or accepted where the meaning is the same."
    return ReportTable("Stand-in: what it sees", (ReportColumn("right", "right %", "higher", 0),), tuple(lines), note)
