"""The Reflective Score against people: rankings of translations (WMT18) and graded similarity (STS-B)."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence

from refdec.errors import InputError, SettingsError
from refdec.evaluate.experiments.bench import Bench, Need
from refdec.evaluate.experiments.data import SETS, Graded, Segment
from refdec.evaluate.experiments.outputs import OutputRow
from refdec.evaluate.experiments.scoreboard import legend, stars
from refdec.evaluate.experiments.systems import GivenText, System
from refdec.evaluate.reports.quoted import quoted_rows
from refdec.evaluate.reports.report import Cell, ReportColumn, ReportRow, ReportTable, Section
from refdec.metrics.by_sacrebleu import sentence_chrf
from refdec.metrics.kendall import kendall_like, tau_interval, tau_significance
from refdec.metrics.spearman import spearman, spearman_interval
from refdec.settings import ScoreSettings

PAIRS = ("cs-en", "de-en", "et-en")
WMT18, STSB = "rd:translation", "rd:fast"
CHRF = "chrF"
Judged = list[list[tuple[float, float]]]
"""Of each segment the scores of the better and of the worse translation of every judged pair."""


def wmt18(bench: Bench) -> list[Section]:
    """Segment level to English: the Kendall-like tau of WMT18, ties discordant, over people's relative ranking."""
    pairs = _pairs(bench)
    rows: dict[str, dict[str, Cell]] = {}
    counts = []
    fewest = sys.maxsize  # segments of a language pair
    for pair in pairs:
        place = bench.split_rows("wmt18", pair)
        judgements: dict[str, Judged] = {}
        for item in _systems(bench, WMT18):
            outputs = bench.runs.outputs(item, place)
            place = place.only(list(outputs))
            bench.used(item, place, outputs.values())
            judgements |= {
                name: _judged(place.items, scores) for name, scores in _parts(item.name, place.items, outputs).items()
            }
        judgements[CHRF] = _judged(place.items, _chrf(place.items))
        fewest = min(fewest, len(place.items))
        counts.append(f"{pair} {sum(map(len, judgements[CHRF])):,} pairs of {len(place.items):,} segments")
        for name, judged in judgements.items():
            better = tau_significance(judged, judgements[CHRF], bench.resamples)
            mark = "" if name == CHRF else stars(better, len(judged))
            value = kendall_like(pair for group in judged for pair in group)
            rows.setdefault(name, {})[pair] = Cell(value, *tau_interval(judged, bench.resamples), mark)
    bench.provenance["metric tau"] = "(concordant - discordant) / all, ties discordant, 95 % over segments, seed 0"
    bench.provenance["metric chrF"] = "sacrebleu, sentence level, beta 3"
    columns = tuple(ReportColumn(pair, pair, "higher", 3) for pair in pairs)
    measured_rows = tuple(ReportRow(name, cells, ranked=" alone" not in name) for name, cells in rows.items())
    marks = legend("* better than chrF, p < 0.05; ** p < 0.01 (paired bootstrap over segments).", fewest)
    note = f"{'; '.join(counts)}. {marks} The paper's caption takes cs for Chinese; it is Czech."
    return [ReportTable("WMT18: agreement with people", columns, (*measured_rows, *quoted_rows("wmt18")), note)]


def stsb(bench: Bench) -> list[Section]:
    """Spearman with graded similarity: the score either way round, and both added."""
    place = bench.rows("stsb", "test")
    lines = []
    for item in _systems(bench, STSB):
        outputs = bench.runs.outputs(item, place)
        scored = place.only(list(outputs))
        bench.used(item, place, outputs.values())
        forms = _forms({key: outputs[key] for key in scored.ids})
        grades = [pair.grade for pair in scored.items if isinstance(pair, Graded)]
        for form, values in forms.items():
            cell = Cell(spearman(values, grades), *spearman_interval(values, grades, bench.resamples))
            lines.append(ReportRow(f"{item.name}, {form}", {"spearman": cell}))
    bench.provenance["metric Spearman"] = "ties share ranks, 95 % over pairs, seed 0"
    note = (
        f"{len(scored.items):,} pairs of {place.place}. The scale of a score depends on its reference, so correlations "
        "are of the share of the way from an unrelated text to the reference."
    )
    columns = (ReportColumn("spearman", "Spearman", "higher", 3),)
    return [ReportTable("STS-B: graded similarity", columns, tuple(lines), note)]


def wmt18_needs(bench: Bench) -> list[Need]:
    return [(item, bench.split_rows("wmt18", pair)) for item in _systems(bench, WMT18) for pair in _pairs(bench)]


def stsb_needs(bench: Bench) -> list[Need]:
    return [(item, bench.rows("stsb", "test")) for item in _systems(bench, STSB)]


def _pairs(bench: Bench) -> tuple[str, ...]:
    return (bench.split,) if bench.split in SETS["wmt18"].splits else PAIRS


def _systems(bench: Bench, usual: str) -> list[System]:
    systems = bench.chosen(ScoreSettings, (usual,))
    for item in systems:
        if isinstance(item, GivenText):
            raise SettingsError(f"{item.name!r} gives no scores. Name rd, rd:PRESET or a file of scores.")
    return systems


def _parts(
    name: str, segments: Sequence[Segment], outputs: Mapping[str, OutputRow]
) -> dict[str, list[dict[str, float]]]:
    """The scores of each segment by system; where fluency is a part of them, both parts by themselves too."""
    scores, fluencies = (
        [{system: _number(outputs, str(item.id), system, part) for system in item.translations} for item in segments]
        for part in ("score", "fluency")
    )
    if not any(fluency for row in fluencies for fluency in row.values()):
        return {name: scores}
    contexts = [
        {system: score - fluency[system] for system, score in row.items()}
        for row, fluency in zip(scores, fluencies, strict=True)
    ]
    return {name: scores, f"{name}, contexts alone": contexts, f"{name}, fluency alone": fluencies}


def _number(outputs: Mapping[str, OutputRow], key: str, name: str, part: str) -> float:
    """A part of the score of one text; fluency may be missing, the rest may not."""
    row = outputs[key].get("scores", {}).get(name)
    value = row.get(part, 0.0 if part == "fluency" else None) if isinstance(row, dict) else None
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"There is no {part} for row {key}, {name}, in the file of scores. Generate it again.")
    return float(value)


def _chrf(segments: Sequence[Segment]) -> list[dict[str, float]]:
    texts = [text for segment in segments for text in segment.translations.values()]
    references = [[segment.reference] for segment in segments for _ in segment.translations]
    scores = iter(sentence_chrf(texts, references))
    return [{system: next(scores) for system in segment.translations} for segment in segments]


def _judged(segments: Sequence[Segment], scores: Sequence[Mapping[str, float]]) -> Judged:
    return [
        [(of_segment[better], of_segment[worse]) for better, worse in segment.judgements]
        for segment, of_segment in zip(segments, scores, strict=True)
    ]


def _forms(rows: Mapping[str, OutputRow]) -> dict[str, list[float]]:
    first, second = ([_share(rows, key, name) for key in rows] for name in ("first", "second"))
    return {
        "first sentence as reference": first,
        "second sentence as reference": second,
        "symmetric": [one + other for one, other in zip(first, second, strict=True)],
    }


def _share(rows: Mapping[str, OutputRow], key: str, name: str) -> float:
    """0 for an unrelated text, 1 for the reference itself, not cut off."""
    relative, span = (_number(rows, key, name, part) for part in ("relative", "span"))
    return 1 + relative / max(span, 1e-6)
