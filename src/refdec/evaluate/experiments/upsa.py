"""Published outputs of other systems, against refdec at the same Novelty: UPSA (Liu et al. 2020)."""

from __future__ import annotations

from refdec.errors import SettingsError
from refdec.evaluate.experiments.bench import Bench, Need
from refdec.evaluate.experiments.data import Example, read_examples, read_isolated
from refdec.evaluate.experiments.paraphrasing import examples, outputs_for
from refdec.evaluate.experiments.runs import Rows
from refdec.evaluate.experiments.scoreboard import Scoreboard
from refdec.evaluate.experiments.selection import best, cutoff_for
from refdec.evaluate.experiments.systems import Reflective, Saved
from refdec.evaluate.judging.stand_in import JUDGED
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
    all_ids = frozenset(example.id for example in everything)
    rows = Rows("quora-upsa-test", alone, all_ids)
    plain = [str(row["output"]) for row in bench.runs.outputs(saved, rows).values()]
    board = Scoreboard(bench.named(("sari", "bleu", "novelty")), len(alone), bench.resamples)
    marked = Rows(rows.place, [_asked(example) for example in alone], all_ids)
    for name, items, texts in (
        ("source", rows, [example.source for example in alone]),
        ("UPSA, as it is", rows, plain),
        ("UPSA, ? added everywhere", marked, [text + "?" for text in plain]),
        ("UPSA, ? added to source and reference only", marked, plain),
    ):
        board.add(name, outputs_for(items, texts))
    measured_rows = [board.row(name, ranked=False) for name in board.outputs]
    paper_rows = tuple(row for row in quoted_rows("quora") if row.name == "UPSA")
    note = board.note("UPSA writes lower-case words and no question mark.")
    table = ReportTable(
        f"UPSA: isolated questions, {len(alone):,}", board.columns(), (*measured_rows, *paper_rows), note
    )
    return [table, *_against_upsa(bench, marked, dict(zip(rows.ids, plain, strict=True)))]


def _against_upsa(bench: Bench, marked: Rows, theirs: dict[str, str]) -> list[Section]:
    ours, rows = _challenger(bench), _first(bench, marked)
    outputs = bench.runs.outputs(ours, rows)
    rows = rows.only(list(outputs))
    our_rows = [outputs[key] for key in rows.ids]
    board = Scoreboard(bench.named(METRICS), len(rows.items), bench.resamples)
    other = outputs_for(rows, [theirs[key] + "?" for key in rows.ids])
    target = board.cell(other, "novelty").value
    assert target is not None
    cutoff = cutoff_for(our_rows, target)
    at_theirs = f"{ours.name} at UPSA's Novelty"
    board.add("source", outputs_for(rows, [item.source for item in rows.items]))
    board.add("reference", outputs_for(rows, [item.references[0] for item in rows.items]))
    board.add("UPSA", other)
    board.add(at_theirs, outputs_for(rows, [best(row, cutoff) for row in our_rows]))
    board.add(ours.name, outputs_for(rows, [best(row) for row in our_rows]))
    bench.used(ours, rows, our_rows)
    names = list(board.outputs)
    measured_rows = tuple(board.row(name, name not in ("source", "reference")) for name in names)
    note = f"A question mark is added to UPSA's texts, sources and references. Cutoff of {ours.name}: {cutoff:.1f}."
    return [
        ReportTable(
            f"UPSA and refdec, {len(rows.items):,} isolated questions", board.columns(), measured_rows, board.note(note)
        ),
        board.comparison("UPSA and refdec: differences", [(at_theirs, "UPSA"), (ours.name, "UPSA")]),
        examples("UPSA and refdec", rows, board, ["UPSA", at_theirs]),
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
