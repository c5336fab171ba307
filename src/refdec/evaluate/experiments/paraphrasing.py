"""Paraphrasing: the paper's tables for Quora and Twitter.

The outputs of every system are chosen by the paper's protocol and measured on the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from refdec.errors import InputError
from refdec.evaluate.experiments.bench import Bench, Need
from refdec.evaluate.experiments.outputs import OutputRow
from refdec.evaluate.experiments.runs import Rows
from refdec.evaluate.experiments.scoreboard import Scoreboard
from refdec.evaluate.experiments.selection import best, cutoff_for, is_ranked, novelty_at, top
from refdec.evaluate.experiments.systems import Generated, GivenText, Reflective, Saved, System
from refdec.evaluate.judging.metric import Outputs
from refdec.evaluate.judging.stand_in import QUORA, TWITTER, Thresholds
from refdec.evaluate.reports.quoted import SOURCE, quoted, quoted_rows
from refdec.evaluate.reports.report import Examples, Plot, PlotPoint, ReportColumn, ReportTable, Section, Series
from refdec.settings import ParaphraseSettings

METRICS = ("sari", "bleu", "meteor", "ter", "ibleu", "rouge1", "rouge2", "similarity", "all-three", "novelty")
VERDICTS = ("fluent", "consistent", "novel", "all-three", "copied", "words", "distinct2")
TARGETS = (30, 45)
CURVE = (0, 10, 20, 30, 40, 50, 60, 70)
"""Novelty cutoffs from which the curves are drawn."""

USUAL = ("source", "reference", "rd", "rd:paper")
SHOWN = 12
TWITTER_ROWS = 1000


def quora_rows(bench: Bench) -> tuple[Rows, Rows]:
    """The rows of Quora that are reported, and those of dev, on which cutoffs are found."""
    rows, dev = bench.rows("quora", "test"), bench.split_rows("quora", "dev")
    return rows, rows if rows.place == dev.place else dev


def twitter_rows(bench: Bench) -> tuple[Rows, Rows]:
    """The first 1,000 paraphrases of Twitter, twice: it has no dev split, so cutoffs are found on themselves."""
    rows = bench.rows("twitter", "test", TWITTER_ROWS)
    return rows, rows


def quora_needs(bench: Bench) -> list[Need]:
    return _compared_needs(bench, quora_rows(bench))


def twitter_needs(bench: Bench) -> list[Need]:
    return _compared_needs(bench, twitter_rows(bench))


def _compared_needs(bench: Bench, rows: tuple[Rows, Rows]) -> list[Need]:
    systems = [item for item in bench.chosen(ParaphraseSettings, USUAL) if isinstance(item, Generated)]
    return [(item, part) for item in systems for part in dict.fromkeys(rows)]


def quora(bench: Bench) -> list[Section]:
    """Table 1 of the paper: the Quora test split, cutoffs from dev."""
    return _compared(bench, "Quora", *quora_rows(bench), ("quora", "quora-more"), QUORA)


def twitter(bench: Bench) -> list[Section]:
    """The Twitter URL test split."""
    return _compared(bench, "Twitter", *twitter_rows(bench), ("twitter-more", "twitter"), TWITTER)


def _compared(
    bench: Bench, title: str, rows: Rows, tuned: Rows, tables: tuple[str, ...], thresholds: Thresholds
) -> list[Section]:
    systems = bench.chosen(ParaphraseSettings, USUAL)
    outputs = {item.name: bench.runs.outputs(item, rows) for item in systems}
    rows = rows.only(common(outputs, rows))
    board = Scoreboard(bench.named(METRICS, thresholds), len(rows.items), bench.resamples)
    chosen: dict[str, list[str]] = {}  # system -> its rows in the table
    cutoffs: list[str] = []
    for item in systems:
        system_rows = [outputs[item.name][key] for key in rows.ids]
        if not is_ranked(system_rows):
            board.add(item.name, outputs_for(rows, [top(row) for row in system_rows]))
            chosen[item.name] = [item.name]
            continue
        other = system_rows if tuned.place == rows.place else _tuning(bench, item, tuned)
        chosen[item.name] = _choose(board, item.name, rows, system_rows, other, cutoffs)
        bench.used(item, rows, system_rows)
    ranked = {name: not isinstance(item, GivenText) for item in systems for name in chosen[item.name]}
    sections: list[Section] = [
        _table(board, f"{title}: {rows.place}", ranked, tables, cutoffs),
        *_pairs(board, title, systems, chosen),
        *curves(board, title, systems, outputs, rows, tables),
        examples(title, rows, board, list(ranked)),
    ]
    if bench.metrics:
        return sections
    more = Scoreboard(bench.named(VERDICTS, thresholds), len(rows.items), bench.resamples, outputs=board.outputs)
    sections.insert(1, _verdicts(more, title, ranked))
    return sections


def _choose(
    board: Scoreboard,
    name: str,
    rows: Rows,
    system_rows: Sequence[OutputRow],
    tuned: Sequence[OutputRow],
    cutoffs: list[str],
) -> list[str]:
    """Add the outputs of a ranking system by the paper's protocol; returns the names of the rows."""
    texts_by_name = {f"{name} Top": [top(row) for row in system_rows], name: [best(row) for row in system_rows]}
    for target in TARGETS:
        cutoff = cutoff_for(tuned, target)
        if not cutoff:
            cutoffs.append(f"{name} has Novelty {novelty_at(tuned, 0):.1f} without a cutoff, so it is its own {target}")
            continue
        cutoffs.append(f"{name} {target} has the cutoff {cutoff:.1f}")
        texts_by_name[f"{name} {target}"] = [best(row, cutoff) for row in system_rows]
    for key, texts in texts_by_name.items():
        board.add(key, outputs_for(rows, texts))
    return list(texts_by_name)


def _tuning(bench: Bench, item: System, tuned: Rows) -> list[OutputRow]:
    if isinstance(item, Saved):
        raise InputError(
            f"{item.path} holds ranked candidates, and cutoffs for them are found on {tuned.place}, for which it has "
            "no outputs. Give a file with one output per row."
        )
    return list(bench.runs.outputs(item, tuned).values())


def _table(
    board: Scoreboard, title: str, ranked: dict[str, bool], tables: tuple[str, ...], cutoffs: list[str]
) -> ReportTable:
    paper_rows = quoted_rows(*tables)
    columns = list(board.columns())
    if any("human" in row.cells for row in paper_rows):
        columns.insert(-1, ReportColumn("human", "Human %", "higher", 1))
    note = (
        "Top: the best-ranked candidate, copies included, as in the paper. Without a number: the best-ranked that is "
        f"no copy, as `refdec paraphrase` gives it. Cutoffs: {'; '.join(cutoffs) or 'none'}. All three: the stand-in "
        "for human judgement; Human: the paper's raters. Metrics of quoted rows may differ in detail from ours."
    )
    measured_rows = [board.row(*item) for item in ranked.items()]
    return ReportTable(title, tuple(columns), (*measured_rows, *paper_rows), board.note(note))


def _verdicts(board: Scoreboard, title: str, ranked: dict[str, bool]) -> ReportTable:
    note = "Quoted rows are the paper's raters; measured ones are the automatic stand-in, which is not the same."
    rows = (*(board.row(*item) for item in ranked.items()), *quoted_rows(f"{title.lower()}-human"))
    return ReportTable(f"{title}: the stand-in for human judgement", board.columns(), rows, note)


def _pairs(board: Scoreboard, title: str, systems: Sequence[System], chosen: dict[str, list[str]]) -> list[Section]:
    """The first of our systems against every other, each at the same place of the protocol."""
    ours = [item.name for item in systems if isinstance(item, Reflective)]
    if not ours:
        return []
    pairs = []
    for name in chosen[ours[0]]:
        suffix = name.removeprefix(ours[0])
        pairs += [(name, other + suffix) for other in ours[1:] if other + suffix in chosen[other]]
    pairs += [
        (name, item.name)
        for item in systems
        if isinstance(item, Saved) and chosen[item.name] == [item.name]
        for name in chosen[ours[0]]
    ]
    return [board.comparison(f"{title}: differences", pairs)] if pairs else []


def curves(
    board: Scoreboard,
    title: str,
    systems: Sequence[System],
    outputs: dict[str, dict[str, OutputRow]],
    rows: Rows,
    tables: tuple[str, ...],
) -> list[Section]:
    """Quality against Novelty, from the whole range of cutoffs."""
    result: list[Section] = []
    if "novelty" not in board.metrics:
        return result
    for key in ("sari", "similarity"):
        if key not in board.metrics:
            continue
        series = []
        for item in systems:
            system_rows = [outputs[item.name][row] for row in rows.ids]
            if is_ranked(system_rows):
                texts = [tuple(best(row, cutoff) for row in system_rows) for cutoff in CURVE]
                points = [board.point(outputs_for(rows, each), "novelty", key) for each in dict.fromkeys(texts)]
                series.append(Series(item.name, tuple(points)))
            elif item.name != "source" and (item.name, key) != ("reference", "sari"):
                point = board.point(board.outputs[item.name], "novelty", key, item.name)
                series.append(Series(item.name, (point,), line=False))
        paper_figures = [
            (name, figures)
            for name, figures in (quoted(tables[0]) if tables else ())
            if {key, "novelty"} <= figures.keys() and name not in ("Source", "Reference")
        ]
        if paper_figures:
            points = [PlotPoint(figures["novelty"], figures[key], label=name) for name, figures in paper_figures]
            series.append(Series(SOURCE, tuple(points), quoted=True, line=False))
        slug = f"{title.lower().replace(' ', '-')}-{key}"
        what = board.metrics[key].title
        result.append(Plot(slug, f"{title}: {what} against Novelty", "Novelty", what, tuple(series)))
    return result


def system_names(board: Scoreboard, item: System) -> list[str]:
    """The rows of a system in a table: with and without a Novelty that was asked for."""
    names = (item.name, *(f"{item.name} {target}" for target in TARGETS))
    return [name for name in names if name in board.outputs]


def examples(title: str, rows: Rows, board: Scoreboard, names: Sequence[str]) -> Examples:
    shown = ["source", "reference", *(name for name in names if name not in ("source", "reference"))]
    texts = {
        "source": tuple(item.source for item in rows.items),
        "reference": tuple(item.references[0] for item in rows.items),
        **{name: outputs.texts for name, outputs in board.outputs.items()},
    }
    count = min(SHOWN, len(rows.items))
    lines = tuple(tuple(texts[name][number] for name in shown) for number in range(count))
    return Examples(f"{title}: examples", tuple(shown), lines, f"The first {count} rows, as they come.")


def common(systems: Mapping[Any, Mapping[str, OutputRow]], rows: Rows) -> list[str]:
    """The ids that all systems have outputs for."""
    return [key for key in rows.ids if all(key in outputs for outputs in systems.values())]


def outputs_for(rows: Rows, texts: Sequence[str]) -> Outputs:
    return Outputs(
        tuple(item.source for item in rows.items), tuple(texts), tuple(tuple(item.references) for item in rows.items)
    )
