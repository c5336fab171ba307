"""Infilling: aNLG, fillings of refdec beside those of other systems, against all references.

The paper had people judge its fillings, which no metric here stands for; its figures are quoted apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import refdec
from refdec.evaluate.experiments.bench import Bench, Need
from refdec.evaluate.experiments.data import StoryGap
from refdec.evaluate.experiments.lines import find_file
from refdec.evaluate.experiments.outputs import OutputRow
from refdec.evaluate.experiments.paraphrasing import common
from refdec.evaluate.experiments.runs import Rows
from refdec.evaluate.experiments.scoreboard import SECONDS, Scoreboard, timed
from refdec.evaluate.experiments.systems import Generated, GivenText, Reflective, System
from refdec.evaluate.judging.metric import Metric, Outputs, mean_metric
from refdec.evaluate.reports.quoted import quoted_rows
from refdec.evaluate.reports.report import Examples, ReportColumn, ReportTable, Section
from refdec.metrics.diversity import bare_sentences, repeats_a_sentence
from refdec.settings import InfillSettings
from refdec.text.overlap import copies
from refdec.text.words import bare_words

METRICS = ("bleu4", "rougeL", "meteor", "reference-similarity", "distinct2", "words")
SHOWN = 12
BETWEEN = " ___ "
"""What stands for the gap where both observations are one text."""


def anlg(bench: Bench) -> list[Section]:
    """Abductive infilling, against all references of each gap."""
    rows = bench.rows("anlg", "dev")
    systems = _systems(bench, rows)
    outputs = {item.name: bench.runs.outputs(item, rows) for item in systems}
    rows = rows.only(common(outputs, rows))
    metrics = bench.named(METRICS) | {
        "copies": _share("copies", _copies),
        "repeats": _share("repeats", _repeats),
    }
    board = Scoreboard(metrics, len(rows.items), bench.resamples)
    observations = tuple(gap.left + BETWEEN + gap.right for gap in rows.items)
    passes, times = [], {}
    for item in systems:
        system_rows = [outputs[item.name][key] for key in rows.ids]
        # A reference is judged by the others; where it is the only one, by itself.
        skipped = 1 if item.name == "reference" else 0
        references = tuple(gap.references[skipped:] or gap.references for gap in rows.items)
        board.add(item.name, Outputs(observations, tuple(map(_text, system_rows)), references))
        times[item.name] = system_rows
        if isinstance(item, Generated):
            bench.used(item, rows, system_rows)
        if isinstance(item, Reflective):
            passing = [bool(row["results"]) and row["results"][0]["passes"] for row in system_rows]
            passes.append(f"{item.name} {100 * sum(passing) / len(passing):.1f} %")
    measured_rows = tuple(
        timed(board.row(item.name, not isinstance(item, GivenText)), times[item.name]) for item in systems
    )
    said = sorted((item for item in systems if not isinstance(item, GivenText)), key=lambda item: not _is_ours(item))
    first, *others = [item.name for item in said] or [""]
    note = board.note(
        "Seconds are per gap. Copies: more than half of its word pairs occur in one of the observations. Repeats: a "
        "sentence said twice, or an observation said again. The reference is scored against the other references, "
        "where there are some. Both observations become more probable by the filling: "
        f"{', '.join(passes) or 'not known'}."
    )
    return [
        ReportTable(f"aNLG: {rows.place}, {len(rows.items):,} gaps", (*board.columns(), SECONDS), measured_rows, note),
        *([board.comparison("aNLG: differences", [(first, other) for other in others])] if others else []),
        _quoted(),
        _examples(rows.items, board),
    ]


def _is_ours(item: System) -> bool:
    return isinstance(item, Reflective)


def anlg_needs(bench: Bench) -> list[Need]:
    rows = bench.rows("anlg", "dev")
    return [(item, rows) for item in _systems(bench, rows) if isinstance(item, Generated)]


def _systems(bench: Bench, rows: Rows) -> list[System]:
    """The usual ones have the supervised outputs that come with the test split, and all that need no training."""
    path = bench.folder / "anlg" / "outputs" / "GRF_supervised.jsonl"
    published = [str(path)] if rows.place == "anlg-test" and find_file(path) is not None else []
    return bench.chosen(InfillSettings, ("reference", "rd:paper", *published, "continue", "delorean"))


def _quoted() -> ReportTable:
    titles = {"o1": "fits o1 %", "o2": "fits o2 %", "o1_o2": "fits both %", "all": "all %"}
    columns = tuple(ReportColumn(key, title, "higher", 1) for key, title in titles.items())
    return ReportTable(
        "aNLG: the paper's raters", columns, quoted_rows("anlg"), "Judged by people; nothing here is measured."
    )


def _examples(gaps: Sequence[StoryGap], board: Scoreboard) -> Examples:
    names = [name for name in board.outputs if name != "reference"]
    lines = tuple(
        (gap.left, gap.right, gap.references[0], *(board.outputs[name].texts[number] for name in names))
        for number, gap in enumerate(gaps[:SHOWN])
    )
    columns = ("before", "after", "reference", *names)
    return Examples("aNLG: examples", columns, lines, f"The first {len(lines)} rows, as they come.", compared=False)


def _text(row: OutputRow) -> str:
    if "output" in row:
        return str(row["output"])
    return str(row["results"][0]["text"]) if row["results"] else ""


def _share(name: str, holds: Callable[[str, str, str], bool]) -> Metric:
    """How many of a hundred fillings have it; `holds` gets a filling and both observations."""

    def values(outputs: Outputs) -> list[float]:
        rows = zip(outputs.texts, outputs.sources, strict=True)
        return [100.0 * holds(text, *source.split(BETWEEN, 1)) for text, source in rows]

    signature = f"{name}|refdec:{refdec.__version__}"
    return mean_metric(f"{name} %", 1, signature, values, better="lower", needs_references=False)


def _copies(text: str, left: str, right: str) -> bool:
    return copies(text, (left, right))


def _repeats(text: str, left: str, right: str) -> bool:
    """Whether a sentence occurs twice in the text, or the text as a whole is a sentence of its surroundings."""
    return repeats_a_sentence(text) or tuple(bare_words(text)) in bare_sentences(left) + bare_sentences(right)
