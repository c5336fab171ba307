"""Published outputs of other systems, against refdec at the same Novelty: UPSA (Liu et al. 2020)."""

from __future__ import annotations

from refdec.errors import SettingsError
from refdec.evaluate.experiments.bench import JUDGED, Bench, Need
from refdec.evaluate.experiments.data import Example, read_examples, read_isolated
from refdec.evaluate.experiments.paraphrasing import examples, outputs_for
from refdec.evaluate.experiments.runs import Rows
from refdec.evaluate.experiments.scoreboard import Scoreboard
from refdec.evaluate.experiments.selection import best, cutoff_for
from refdec.evaluate.experiments.systems import Reflective, Saved
from refdec.evaluate.reports.quoted import quoted_rows
from refdec.evaluate.reports.report import ReportTable, Section
from refdec.settings import ParaphraseSettings

UPSA_ROWS = 1000
METRICS = ("sari", "bleu", "similarity", "reference-similarity", *JUDGED, "novelty")


def upsa(bench: Bench) -> list[Section]:
    """UPSA's published outputs, by itself and against refdec at the same Novelty, on isolated questions."""
    folder = bench.folder
    everything = read_examples(folder, "quora-upsa", "test")
    alone = read_isolated(folder)
    saved = Saved(folder / "quora-upsa" / "outputs" / "UPSA.jsonl")
    known = frozenset(example.id for example in everything)
    rows = Rows("quora-upsa-test", alone, known)
    plain = [str(row["output"]) for row in bench.runs.outputs(saved, rows).values()]
    measured = Scoreboard(bench.named(("sari", "bleu", "novelty")), len(alone), bench.resamples)
    marked = Rows(rows.place, [_asked(example) for example in alone], known)
    for name, items, texts in (
        ("source", rows, [example.source for example in alone]),
        ("UPSA, as it is", rows, plain),
        ("UPSA, ? added everywhere", marked, [text + "?" for text in plain]),
        ("UPSA, ? added to source and reference only", marked, plain),
    ):
        measured.add(name, outputs_for(items, texts))
    own = [measured.row(name, ranked=False) for name in measured.outputs]
    theirs = tuple(row for row in quoted_rows("quora") if row.name == "UPSA")
    note = measured.note("UPSA writes lower-case words and no question mark.")
    table = ReportTable(f"UPSA: isolated questions, {len(alone):,}", measured.columns(), (*own, *theirs), note)
    return [table, *_against_upsa(bench, marked, dict(zip(rows.ids, plain, strict=True)))]


def _against_upsa(bench: Bench, marked: Rows, theirs: dict[str, str]) -> list[Section]:
    ours, rows = _challenger(bench), _first(bench, marked)
    found = bench.runs.outputs(ours, rows)
    rows = rows.only(list(found))
    mine = [found[key] for key in rows.ids]
    measured = Scoreboard(bench.named(METRICS), len(rows.items), bench.resamples)
    other = outputs_for(rows, [theirs[key] + "?" for key in rows.ids])
    target = measured.cell(other, "novelty").value
    assert target is not None
    cutoff = cutoff_for(mine, target)
    at_theirs = f"{ours.name} at UPSA's Novelty"
    measured.add("source", outputs_for(rows, [item.source for item in rows.items]))
    measured.add("reference", outputs_for(rows, [item.references[0] for item in rows.items]))
    measured.add("UPSA", other)
    measured.add(at_theirs, outputs_for(rows, [best(row, cutoff) for row in mine]))
    measured.add(ours.name, outputs_for(rows, [best(row) for row in mine]))
    bench.used(ours, rows, mine)
    names = list(measured.outputs)
    own = tuple(measured.row(name, name not in ("source", "reference")) for name in names)
    note = f"A question mark is added to UPSA's texts, sources and references. Cutoff of {ours.name}: {cutoff:.1f}."
    return [
        ReportTable(
            f"UPSA and refdec, {len(rows.items):,} isolated questions", measured.columns(), own, measured.note(note)
        ),
        measured.comparison("UPSA and refdec: differences", [(at_theirs, "UPSA"), (ours.name, "UPSA")]),
        examples("UPSA and refdec", rows, measured, ["UPSA", at_theirs]),
    ]


def upsa_needs(bench: Bench) -> list[Need]:
    items = [_asked(example) for example in read_isolated(bench.folder)]
    return [(_challenger(bench), _first(bench, Rows("quora-upsa-test", items)))]


def _challenger(bench: Bench) -> Reflective:
    named = bench.chosen(ParaphraseSettings, ("rd",))
    ours = next((item for item in named if isinstance(item, Reflective)), None)
    if ours is None:
        raise SettingsError("UPSA is compared with refdec: name rd or rd:PRESET among the systems.")
    return ours


def _first(bench: Bench, marked: Rows) -> Rows:
    return Rows(marked.place, marked.items[: bench.limit or UPSA_ROWS], marked.known | set(marked.ids))


def _asked(example: Example) -> Example:
    return Example(example.id, example.source + "?", tuple(text + "?" for text in example.references))
