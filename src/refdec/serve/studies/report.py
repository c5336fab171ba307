"""The report of a study: tables in the form that all reports of refdec have, and the figures as plain values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refdec.evaluate.reports.report import Cell, Prose, Report, ReportColumn, ReportRow, ReportTable, Section
from refdec.metrics.bootstrap import RESAMPLES
from refdec.metrics.permutation import PERMUTATIONS
from refdec.serve.studies.checks import PASS_MARK
from refdec.serve.studies.figures import Figures, Kappa
from refdec.serve.studies.material import REFERENCE
from refdec.serve.studies.questions import Task
from refdec.serve.studies.store import Study

SIGNIFICANT = 0.05
STAR, DAGGER = "*", "†"


def make_report(study: Study, found: Figures, command: str) -> Report:
    """The report as it is shown on a terminal and written to files."""
    columns = {name: ReportColumn(name, title, "higher", 1) for name, title in found.questions.items()}
    sections: list[Section] = [_percentages(found, columns, study.task)]
    if not study.task.combined:
        sections.append(_means(found, study.task))
    sections.append(_agreement(found))
    if found.differences:
        sections.append(_compared(found))
    sections += [_raters(found), Prose("The questions", _questions(study.task))]
    return Report(study.title, _intro(study, found), tuple(sections), tuple(_provenance(study, command)))


def to_dict(study: Study, found: Figures) -> dict[str, Any]:
    """The figures for other programs."""
    return {
        "study": study.title,
        "task": study.task.name,
        "items": found.items,
        "texts": found.texts,
        "systems": {
            system: {name: asdict(share) for name, share in shares.items()} for system, shares in found.shares.items()
        },
        "agreement": {
            "threshold": {name: asdict(kappa) for name, kappa in found.thresholded.items()},
            "answer": {name: asdict(kappa) for name, kappa in found.graded.items()},
        },
        "differences": [asdict(difference) for difference in found.differences],
        "raters": [{**asdict(rater), "failed": rater.failed} for rater in found.raters],
        "excluded": list(found.excluded),
        "made": study.facts,
    }


def _intro(study: Study, found: Figures) -> str:
    per_text = str(found.most) if found.fewest == found.most else f"{found.fewest} to {found.most}"
    words = (
        f"{found.items} items, {found.texts} different texts of {len(study.systems)} systems, {per_text} "
        f"rating{'' if per_text == '1' else 's'} per text."
    )
    done = study.progress()
    forms, rated = sum(rater.total for rater in done), sum(rater.done for rater in done)
    if rated < forms:
        words += f" The study is not finished: {rated:,} of {forms:,} forms are filled in."
    failed = [rater.name for rater in found.raters if rater.failed]
    if found.excluded:
        words += f" Left out, for failing the attention checks: {', '.join(found.excluded)}."
    elif failed:
        words += (
            f" {', '.join(failed)} failed the attention checks and {'is' if len(failed) == 1 else 'are'} counted here; "
            "`--exclude-failed` leaves such raters out."
        )
    return words


def _percentages(found: Figures, columns: dict[str, ReportColumn], task: Task) -> ReportTable:
    rows = tuple(
        ReportRow(
            system,
            {name: Cell(share.percent, share.low, share.high) for name, share in shares.items()},
            ranked=system != REFERENCE,
        )
        for system, shares in found.shares.items()
    )
    note = "Per cent of ratings that meet the threshold of the question."
    note += " Overall: all thresholds at once, by the same rater." if task.combined else ""
    return ReportTable(
        "What the raters said, %", tuple(columns.values()), rows,
        f"{note} Intervals: 95 %, bootstrap over items ({RESAMPLES:,} resamples).",
    )  # fmt: skip


def _means(found: Figures, task: Task) -> ReportTable:
    columns = tuple(ReportColumn(item.name, item.title, "higher", 2) for item in task.questions)
    rows = tuple(
        ReportRow(system, {name: Cell(share.mean) for name, share in shares.items()}, ranked=system != REFERENCE)
        for system, shares in found.shares.items()
    )
    return ReportTable("Mean answer, 1 to 4", columns, rows)


def _agreement(found: Figures) -> ReportTable:
    columns = (
        ReportColumn("threshold", "on the threshold", "", 2),
        ReportColumn("answer", "on the answer", "", 2),
        ReportColumn("texts", "texts", "", 0),
    )

    def cell(kappa: Kappa | None) -> Cell:
        return Cell(None) if kappa is None else Cell(kappa.kappa, kappa.low, kappa.high)

    rows = tuple(
        ReportRow(
            title,
            {
                "threshold": cell(found.thresholded[name]),
                "answer": cell(found.graded.get(name)),
                "texts": Cell(float(found.thresholded[name].texts)),
            },
        )
        for name, title in found.questions.items()
    )
    note = (
        "Fleiss' kappa: 1 is full agreement, 0 is chance. On the threshold: whether it is met, which is what the paper "
        "reports; on the answer: the very point of the scale. Texts with one rating do not count. A dash: all ratings "
        "are the same, or no text has two."
    )
    if found.fewest < found.most:
        note += (
            f" Texts have {found.fewest} to {found.most} ratings; each counts with the share of its pairs of raters "
            "that agree."
        )
    return ReportTable("Agreement between raters", columns, rows, note)


def _compared(found: Figures) -> ReportTable:
    columns = (ReportColumn("difference", "difference", "", 1), ReportColumn("p", "p", "", 4))
    rows = tuple(
        ReportRow(
            f"{item.first} – {item.second}",
            {
                "difference": Cell(item.difference, item.low, item.high, STAR if item.p_holm < SIGNIFICANT else ""),
                "p": Cell(item.p_holm),
            },
            group=found.questions[item.question],
        )
        for item in found.differences
    )
    note = (
        f"The first system less the second, in points. p: paired permutation test over items ({PERMUTATIONS:,} "
        "permutations, or all where there are fewer), two-sided, with Holm's correction for the pairs of systems of a "
        f"question. {STAR}: p below {SIGNIFICANT:g}."
    )
    return ReportTable("Differences between systems", columns, rows, note)


def _raters(found: Figures) -> ReportTable:
    columns = (
        ReportColumn("rated", "texts rated", "", 0),
        ReportColumn("passed", "checks passed", "", 0),
        ReportColumn("checks", "checks seen", "", 0),
    )
    rows = tuple(
        ReportRow(
            f"{rater.name} (left out)" if rater.name in found.excluded else rater.name,
            {
                "rated": Cell(float(rater.rated)),
                "passed": Cell(float(rater.passed), mark=DAGGER if rater.failed else ""),
                "checks": Cell(float(rater.checks)),
            },
        )
        for rater in found.raters
    )
    note = f"{DAGGER}: fewer than {PASS_MARK:.0%} of the attention checks were right.".replace("%", " %")
    return ReportTable("Raters", columns, rows, note)


def _questions(task: Task) -> str:
    lines = []
    for question in task.questions:
        answers = " / ".join(f"{number} {answer}" for number, answer in enumerate(question.answers, start=1))
        lines.append(f"- {question.words} {answers}. Threshold: {question.least} or more.")
    return "\n".join(lines)


def _provenance(study: Study, command: str) -> list[tuple[str, str]]:
    latest = max((rater.last for rater in study.progress()), default="")
    return [("report", command), ("study", study.id), *study.facts.items(), ("latest answer", latest)]
