"""Paraphrasing: the paper's tables for Quora and Twitter, UPSA side by side, and both ablations.

Outputs of every system are chosen by the paper's protocol and measured on the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from refdec.errors import InputError, SettingsError
from refdec.evaluate.data import SETS, Example, read_examples
from refdec.evaluate.experiment import Bench, Need
from refdec.evaluate.figures import Measured
from refdec.evaluate.isolated import read_isolated
from refdec.evaluate.metric import Outputs
from refdec.evaluate.outputs import Row as OutputRow
from refdec.evaluate.protocol import best, cutoff_for, is_ranked, novelty_at, top
from refdec.evaluate.quoted import SOURCE, quoted, quoted_rows
from refdec.evaluate.report import Column, Examples, Plot, Point, Row, Section, Series, Table
from refdec.evaluate.runs import Rows
from refdec.evaluate.stand_in import QUORA, TWITTER, Thresholds
from refdec.evaluate.systems import Reflective, Saved, System, Yardstick
from refdec.settings import ParaphraseSettings

METRICS = ("sari", "bleu", "meteor", "ter", "ibleu", "rouge1", "rouge2", "similarity", "all-three", "novelty")
VERDICTS = ("fluent", "consistent", "novel", "all-three", "copied", "words", "distinct2")
TARGETS = (30, 45)
CURVE = (0, 10, 20, 30, 40, 50, 60, 70)
"""Novelty cutoffs from which the curves are drawn."""

CUT = ("rd", "rd:paper")
USUAL = ("source", "reference", "rd", "rd:paper")
SHOWN = 12
CONTEXTS = (6, 20, 40, 80, 160, 320, 640, 1280)
TWITTER_ROWS = UPSA_ROWS = 1000


def quora_rows(bench: Bench) -> tuple[Rows, Rows]:
    """The rows of Quora that are reported, and those of dev, on which cutoffs are found."""
    split = _split(bench, "quora", "test")
    rows = _rows(bench, "quora", split)
    return rows, rows if split == "dev" else _rows(bench, "quora", "dev")


def twitter_rows(bench: Bench) -> tuple[Rows, Rows]:
    """The first 1,000 paraphrases of Twitter, twice: it has no dev split, so cutoffs are found on themselves."""
    rows = _rows(bench, "twitter", _split(bench, "twitter", "test"), TWITTER_ROWS)
    return rows, rows


def compared_needs(bench: Bench, rows: tuple[Rows, Rows]) -> list[Need]:
    return [(item, part) for item in bench.chosen(ParaphraseSettings, USUAL) for part in dict.fromkeys(rows)
            if isinstance(item, Reflective)]  # fmt: skip


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
    said = {item.name: bench.runs.outputs(item, rows) for item in systems}
    rows = rows.only(_common(said, rows))
    measured = Measured(bench.named(METRICS, thresholds), len(rows.items), bench.resamples)
    chosen: dict[str, list[str]] = {}  # system -> its rows in the table
    cutoffs: list[str] = []
    for item in systems:
        mine = [said[item.name][key] for key in rows.ids]
        if not is_ranked(mine):
            measured.add(item.name, _outputs(rows, [row["output"] for row in mine]))
            chosen[item.name] = [item.name]
            continue
        other = mine if tuned is rows or tuned.place == rows.place else _tuning(bench, item, tuned)
        chosen[item.name] = _choose(measured, item.name, rows, mine, other, cutoffs)
        bench.provenance[f"outputs {rows.place} {item.name}"] = str(mine[0].get("signature", "unknown"))
    names = [name for mine in chosen.values() for name in mine]
    ranked = {name: not isinstance(item, Yardstick) for item in systems for name in chosen[item.name]}
    own = [measured.row(name, ranked[name]) for name in names]
    sections: list[Section] = [
        _table(measured, f"{title}: {rows.place}", own, tables, cutoffs),
        *_pairs(measured, title, systems, chosen),
        *_curves(measured, title, systems, said, rows, tables),
        _examples(title, rows, measured, names),
    ]
    more = Measured(bench.named(VERDICTS, thresholds), len(rows.items), bench.resamples, outputs=measured.outputs)
    sections.insert(1, _verdicts(more, title, names, ranked))
    return sections


def _choose(
    measured: Measured,
    name: str,
    rows: Rows,
    mine: Sequence[OutputRow],
    tuned: Sequence[OutputRow],
    cutoffs: list[str],
) -> list[str]:
    """Add what a ranking system says by the paper's protocol, and return what the rows are called."""
    found = {f"{name} Top": [top(row) for row in mine], name: [best(row) for row in mine]}
    for target in TARGETS:
        cutoff = cutoff_for(tuned, target)
        if not cutoff:
            cutoffs.append(f"{name} has Novelty {novelty_at(tuned, 0):.1f} without a cutoff, so it is its own {target}")
            continue
        cutoffs.append(f"{name} {target} has the cutoff {cutoff:.1f}")
        found[f"{name} {target}"] = [best(row, cutoff) for row in mine]
    for key, texts in found.items():
        measured.add(key, _outputs(rows, texts))
    return list(found)


def _tuning(bench: Bench, item: System, tuned: Rows) -> list[OutputRow]:
    if isinstance(item, Saved):
        raise InputError(
            f"{item.path} holds ranked candidates, and cutoffs for them are found on {tuned.place}, for which it has "
            "nothing. Give a file with one output a row."
        )
    return list(bench.runs.outputs(item, tuned).values())


def _table(measured: Measured, title: str, own: Sequence[Row], tables: tuple[str, ...], cutoffs: list[str]) -> Table:
    theirs = quoted_rows(*tables)
    columns = list(measured.columns())
    if any("human" in row.cells for row in theirs):
        columns.insert(-1, Column("human", "Human %", "higher", 1))
    keys = {column.key for column in columns}
    theirs = tuple(replace(row, cells={key: cell for key, cell in row.cells.items() if key in keys}) for row in theirs)
    note = (
        "Top: the best-ranked candidate, copies included, as in the paper. Without a number: the best-ranked that is "
        f"no copy, as `refdec paraphrase` gives it. Cutoffs: {'; '.join(cutoffs) or 'none'}. All three: the stand-in "
        "for human judgement; Human: the paper's raters. Metrics of quoted rows may differ in detail from ours."
    )
    return Table(title, tuple(columns), (*own, *theirs), measured.note(note))


def _verdicts(measured: Measured, title: str, names: Sequence[str], ranked: dict[str, bool]) -> Table:
    human = "quora-human" if title == "Quora" else "twitter-human"
    theirs = tuple(
        replace(row, cells={("all-three" if key == "overall" else key): cell for key, cell in row.cells.items()})
        for row in quoted_rows(human)
    )
    note = "Quoted rows are the paper's raters; measured ones are the automatic stand-in, which is not the same."
    own = [measured.row(name, ranked[name]) for name in names]
    return Table(f"{title}: the stand-in for human judgement", measured.columns(), (*own, *theirs), note)


def _pairs(measured: Measured, title: str, systems: Sequence[System], chosen: dict[str, list[str]]) -> list[Section]:
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
    return [measured.comparison(f"{title}: differences", pairs)] if pairs else []


def _curves(
    measured: Measured,
    title: str,
    systems: Sequence[System],
    said: dict[str, dict[str, OutputRow]],
    rows: Rows,
    tables: tuple[str, ...],
) -> list[Section]:
    """Quality against Novelty, from the whole range of cutoffs."""
    result: list[Section] = []
    if "novelty" not in measured.metrics:
        return result
    for key in ("sari", "similarity"):
        if key not in measured.metrics:
            continue
        series = []
        for item in systems:
            mine = [said[item.name][row] for row in rows.ids]
            if is_ranked(mine):
                texts = [tuple(best(row, cutoff) for row in mine) for cutoff in CURVE]
                points = [measured.point(_outputs(rows, each), "novelty", key) for each in dict.fromkeys(texts)]
                series.append(Series(item.name, tuple(points)))
            elif item.name != "source" and (item.name, key) != ("reference", "sari"):
                point = measured.point(measured.outputs[item.name], "novelty", key, item.name)
                series.append(Series(item.name, (point,), line=False))
        theirs = [
            (name, figures) for name, figures in quoted(tables[0]) if {key, "novelty"} <= figures.keys()
            and name not in ("Source", "Reference")
        ]  # fmt: skip
        if theirs:
            points = [Point(figures["novelty"], figures[key], label=name) for name, figures in theirs]
            series.append(Series(SOURCE, tuple(points), quoted=True, line=False))
        slug = f"{title.lower()}-{key}"
        what = measured.metrics[key].title
        result.append(Plot(slug, f"{title}: {what} against Novelty", "Novelty", what, tuple(series)))
    return result


def _examples(title: str, rows: Rows, measured: Measured, names: Sequence[str]) -> Examples:
    shown = ["source", "reference", *(name for name in names if name not in ("source", "reference"))]
    first = _outputs(rows, [item.source for item in rows.items])
    texts = {
        "source": first.texts,
        "reference": tuple(item.references[0] for item in rows.items),
        **{name: outputs.texts for name, outputs in measured.outputs.items()},
    }
    count = min(SHOWN, len(rows.items))
    lines = tuple(tuple(texts[name][number] for name in shown) for number in range(count))
    return Examples(f"{title}: examples", tuple(shown), lines, f"The first {count} rows, as they come.")


def upsa(bench: Bench) -> list[Section]:
    """UPSA's published outputs, by itself and against refdec at the same Novelty, on isolated questions."""
    folder = bench.folder
    everything = read_examples(folder, "quora-upsa", "test")
    alone = read_isolated(folder)
    saved = Saved(folder / "quora-upsa" / "outputs" / "UPSA.jsonl")
    known = frozenset(example.id for example in everything)
    rows = Rows("quora-upsa-test", alone, known)
    plain = [str(row["output"]) for row in bench.runs.outputs(saved, rows).values()]
    measured = Measured(bench.named(("sari", "bleu", "novelty")), len(alone), bench.resamples)
    marked = Rows(rows.place, [_asked(example) for example in alone], known)
    for name, items, texts in (
        ("source", rows, [example.source for example in alone]),
        ("UPSA, as it is", rows, plain),
        ("UPSA, ? added everywhere", marked, [text + "?" for text in plain]),
        ("UPSA, ? added to source and reference only", marked, plain),
    ):
        measured.add(name, _outputs(items, texts))
    own = [measured.row(name, ranked=False) for name in measured.outputs]
    theirs = tuple(row for row in quoted_rows("quora") if row.name == "UPSA")
    note = measured.note("UPSA writes lower-case words and no question mark.")
    table = Table(f"UPSA: isolated questions, {len(alone):,}", measured.columns(), (*own, *theirs), note)
    return [table, *_against_upsa(bench, marked, dict(zip(rows.ids, plain, strict=True)))]


def _against_upsa(bench: Bench, marked: Rows, theirs: dict[str, str]) -> list[Section]:
    ours, rows = _challenger(bench), _first(bench, marked)
    found = bench.runs.outputs(ours, rows)
    rows = rows.only(list(found))
    mine = [found[key] for key in rows.ids]
    measured = Measured(
        bench.named(("sari", "bleu", "similarity", "reference-similarity", *VERDICTS[:4], "novelty")),
        len(rows.items),
        bench.resamples,
    )  # fmt: skip
    other = _outputs(rows, [theirs[key] + "?" for key in rows.ids])
    target = measured.cell(other, "novelty").value
    assert target is not None
    cutoff = cutoff_for(mine, target)
    at_theirs = f"{ours.name} at UPSA's Novelty"
    measured.add("source", _outputs(rows, [item.source for item in rows.items]))
    measured.add("reference", _outputs(rows, [item.references[0] for item in rows.items]))
    measured.add("UPSA", other)
    measured.add(at_theirs, _outputs(rows, [best(row, cutoff) for row in mine]))
    measured.add(ours.name, _outputs(rows, [best(row) for row in mine]))
    bench.provenance[f"outputs {rows.place} {ours.name}"] = str(mine[0].get("signature", "unknown"))
    names = list(measured.outputs)
    own = tuple(measured.row(name, name not in ("source", "reference")) for name in names)
    note = f"A question mark is added to UPSA's texts, sources and references. Cutoff of {ours.name}: {cutoff:.1f}."
    return [
        Table(f"UPSA and refdec, {len(rows.items):,} isolated questions", measured.columns(), own, measured.note(note)),
        measured.comparison("UPSA and refdec: differences", [(at_theirs, "UPSA"), (ours.name, "UPSA")]),
        _examples("UPSA and refdec", rows, measured, ["UPSA", at_theirs]),
    ]


def upsa_needs(bench: Bench) -> list[Need]:
    items = [_asked(example) for example in read_isolated(bench.folder)]
    return [(_challenger(bench), _first(bench, Rows("quora-upsa-test", items)))]


def _challenger(bench: Bench) -> Reflective:
    ours = bench.chosen(ParaphraseSettings, ("rd",))[0]
    if not isinstance(ours, Reflective):
        raise SettingsError(f"UPSA is compared with refdec, so the system must be rd or rd:..., not {ours.name}.")
    return ours


def _first(bench: Bench, marked: Rows) -> Rows:
    return Rows(marked.place, marked.items[: bench.limit or UPSA_ROWS], marked.known | set(marked.ids))


def contexts(bench: Bench) -> list[Section]:
    """How many contexts it takes: the paper's settings with 6 to 1,280 of them."""
    rows = _dev(bench)
    said = {count: bench.runs.outputs(_with_contexts(count), rows) for count in CONTEXTS}
    lines: list[Row] = []
    keys = ("sari", "bleu", "meteor", "ter", "similarity", "novelty")
    for label, target in (("RD Top", None), ("RD", 0.0), *((f"RD {target}", float(target)) for target in TARGETS)):
        for count, mine in said.items():
            part = rows.only(list(mine))
            measured = Measured(bench.named(keys), len(part.items), bench.resamples)
            measured.add("", _outputs(part, _at(list(mine.values()), target)))
            lines.append(
                replace(measured.row("", ranked=False), name=f"{count} contexts, {len(mine):,} rows", group=label)
            )
    theirs = tuple(
        replace(row, name=f"{row.name}, {int(figures['contexts'])} contexts")
        for row, (_, figures) in zip(quoted_rows("quora-contexts"), quoted("quora-contexts"), strict=True)
    )
    columns = measured.columns()
    keep = {column.key for column in columns}
    theirs = tuple(replace(row, cells={key: cell for key, cell in row.cells.items() if key in keep}) for row in theirs)
    note = f"Settings of the paper but for the number of contexts, 6 kept; {rows.place}, cutoffs from the same rows."
    common = rows.only([key for key in rows.ids if all(key in mine for mine in said.values())])
    measured = Measured(bench.named(("sari", "similarity", "novelty")), len(common.items), bench.resamples)
    plots = []
    for key in measured.metrics:
        series = []
        for label, target in (("best, no copy", 0.0), *((f"RD {target}", float(target)) for target in TARGETS)):
            if key == "novelty" and target:
                continue
            points = []
            for count, mine in said.items():
                texts = _outputs(common, _at([mine[row] for row in common.ids], target))
                cell = measured.cell(texts, key)
                assert cell.value is not None
                points.append(Point(count, cell.value, cell.low, cell.high))
            series.append(Series(label, tuple(points)))
        title = measured.metrics[key].title
        shared = f"The {len(common.items):,} rows that all numbers of contexts have."
        plots.append(
            Plot(f"contexts-{key}", f"{title} by contexts", "contexts", title, tuple(series), shared, log_x=True)
        )
    return [Table("How many contexts", columns, (*lines, *theirs), note), *plots]


def contexts_needs(bench: Bench) -> list[Need]:
    return [(_with_contexts(count), _dev(bench)) for count in CONTEXTS]


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
    return [(item, _dev(bench)) for item in _weighted().values()]


def weights(bench: Bench) -> list[Section]:
    """Learned weights against equal ones, all contexts kept."""
    rows = _dev(bench)
    said = {name: bench.runs.outputs(item, rows) for name, item in _weighted().items()}
    rows = rows.only(_common(said, rows))
    measured = Measured(
        bench.named(("sari", "bleu", "meteor", "ter", "similarity", "novelty")), len(rows.items), bench.resamples
    )
    for name, mine in said.items():
        measured.add(name, _outputs(rows, [top(mine[key]) for key in rows.ids]))
    keep = set(measured.metrics)
    theirs = tuple(
        replace(
            row,
            name=f"{row.name}, {int(figures['contexts'])} contexts",
            cells={key: cell for key, cell in row.cells.items() if key in keep},
        )
        for row, (_, figures) in zip(quoted_rows("quora-weights"), quoted("quora-weights"), strict=True)
    )
    own = [measured.row(name, ranked=False) for name in measured.outputs]
    pairs = [(f"{count} contexts, learned weights", f"{count} contexts, equal weights") for count in (6, 10)]
    note = measured.note(
        f"RD Top on {rows.place}. The last quoted row equals another row of the paper in every figure: a slip?"
    )
    return [
        Table("Learned weights", measured.columns(), (*own, *theirs), note),
        measured.comparison("Learned weights: differences", pairs),
    ]


def cutoffs_needs(bench: Bench) -> list[Need]:
    return [(item, _dev(bench)) for item in bench.chosen(ParaphraseSettings, CUT)]


def cutoffs(bench: Bench) -> list[Section]:
    """What each Novelty cutoff gives on dev, where cutoffs are found."""
    rows = _dev(bench)
    lines = []
    for item in bench.chosen(ParaphraseSettings, CUT):
        found = bench.runs.outputs(item, rows)
        part = rows.only(list(found))
        measured = Measured(bench.named(("sari", "bleu", "similarity", "novelty")), len(part.items), bench.resamples)
        for target in (0.0, *map(float, TARGETS)):
            mine = list(found.values())
            cutoff = cutoff_for(mine, target) if target else 0.0
            measured.add("", _outputs(part, [best(row, cutoff) for row in mine]))
            lines.append(replace(measured.row("", ranked=False), name=f"{item.name}, cutoff {cutoff:.1f}"))
    return [Table(f"Cutoffs on {rows.place}", measured.columns(), tuple(lines), measured.note())]


def _at(rows: Sequence[OutputRow], target: float | None) -> list[str]:
    """RD Top for no target, else the best above the cutoff that gives the target."""
    if target is None:
        return [top(row) for row in rows]
    cutoff = cutoff_for(rows, target) if target else 0.0
    return [best(row, cutoff) for row in rows]


def _asked(example: Example) -> Example:
    return Example(example.id, example.source + "?", tuple(text + "?" for text in example.references))


def _rows(bench: Bench, name: str, split: str, most: int | None = None) -> Rows:
    items = read_examples(bench.folder, name, split)[:most]
    return Rows(f"{name}-{split}", items[: bench.limit], frozenset(item.id for item in items))


def _dev(bench: Bench) -> Rows:
    return _rows(bench, "quora", _split(bench, "quora", "dev"))


def _split(bench: Bench, name: str, usual: str) -> str:
    return bench.split if bench.split in SETS[name].splits else usual


def _common(said: dict[str, dict[str, OutputRow]], rows: Rows) -> list[str]:
    """The ids that all systems have outputs for."""
    return [key for key in rows.ids if all(key in mine for mine in said.values())]


def _outputs(rows: Rows, texts: Sequence[str]) -> Outputs:
    return Outputs(
        tuple(item.source for item in rows.items), tuple(texts), tuple(tuple(item.references) for item in rows.items)
    )
