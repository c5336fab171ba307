"""Fitting the confidence of paraphrases to a judge, and how well it then tells good results from bad ones.

    python -m benchmarks.faithfulness.candidates outputs/bed.jsonl
    python -m benchmarks.confidence outputs/bed.jsonl outputs/read.jsonl --verdicts verdicts.jsonl --apart
    python -m benchmarks.confidence dev-*.jsonl.gz --judge similarity --to other.json

Files of outputs in, coefficients out: ridge logistic regression by Newton's method. The judge `told` knows the pairs of
benchmarks/faithfulness, which were made good or broken, and results that people read; the others judge any outputs.
Quality is assessed by cross-validation over sources: all candidates of a source, with whatever settings, are judged by
coefficients that were fitted without them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.faithfulness.candidates import texts_by_source
from refdec.errors import InputError, RefdecError
from refdec.evaluate.experiments.outputs import OutputRow, read_outputs
from refdec.evaluate.judging.confidence import (
    SIMILARITY,
    Assessment,
    Judge,
    JudgedCandidates,
    assess,
    gather,
    signature_of,
)
from refdec.evaluate.judging.stand_in import QUORA, meaning_kept
from refdec.evaluate.judging.wording import same_negation, same_numbers
from refdec.files.whole import check_writable, write_whole
from refdec.metrics.bootstrap import Numbers
from refdec.metrics.similarity import check_similarity
from refdec.tasks.confidence import CALIBRATIONS, FEATURES

FOLDS = 10
MADE = 15  # what all good pairs of the test bed count together, and all broken ones; a result that was read counts 1
RIDGE = 1.0  # on standardized features: it matters only for very small data
STEPS = 50
CONVERGED = 1e-10
FLAT = 1e-9  # a feature with a smaller standard deviation is constant: the rest is rounding


def consistency(sources: Sequence[str], texts: Sequence[str]) -> Numbers:
    """As the stand-in for people sees it: the cosine, and nothing where a number or a negation differs."""
    pairs = list(zip(texts, sources, strict=True))
    same = np.array([same_numbers(*pair) and same_negation(*pair) for pair in pairs])
    return np.where(same, meaning_kept(tuple(sources), tuple(texts)), 0.0)


def as_told(sources: Sequence[str], texts: Sequence[str], read: Mapping[tuple[str, str], bool]) -> Numbers:
    """1 for a good text, 0 for another: as readers found it, or as it was made for the test bed."""
    made = texts_by_source()
    pairs = zip(sources, texts, strict=True)
    return np.array([float(read[pair] if pair in read else made[pair[0]][pair[1]]) for pair in pairs])


def read_verdicts(path: Path | None) -> dict[tuple[str, str], bool]:
    """What readers said: lines with `source`, `text` and the verdict same, nearly, broken or different."""
    lines = [] if path is None else [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(line["source"], line["text"]): line["verdict"] in ("same", "nearly") for line in lines}


JUDGES = {
    "told": Judge("readers, and pairs that were made good or broken", partial(as_told, read={}), 0.5),
    "similarity": SIMILARITY,
    "consistency": Judge("consistency of the stand-in with the source", consistency, QUORA.similarity),
}


@dataclass(frozen=True, slots=True)
class Fitted:
    """Coefficients of the features as they are, and the range that each was seen in."""

    intercept: float
    coefficients: Numbers
    low: Numbers
    high: Numbers

    def confidences(self, features: Numbers) -> Numbers:
        seen = np.clip(features, self.low, self.high)
        return _logistic(self.intercept + seen @ self.coefficients)


def fit(candidates: JudgedCandidates, chosen: NDArray[np.bool_] | None = None) -> Fitted:
    """The coefficients that make the judge's verdicts most likely, from the chosen candidates, by default all."""
    chosen = np.ones(len(candidates.kept), dtype=bool) if chosen is None else chosen
    given, kept, weights = (
        candidates.features[chosen],
        candidates.kept[chosen].astype(np.float64),
        candidates.weight[chosen],
    )
    if kept.min() == kept.max():
        how_many = "all" if kept.max() else "none"
        raise InputError(
            f"The judge finds the meaning kept in {how_many} of {len(kept)} candidates, so there is nothing to tell "
            "apart. Give more outputs, or another threshold."
        )
    mean, spread = given.mean(0), given.std(0)
    spread = np.where(spread > FLAT, spread, np.inf)  # a feature that never changes gets no coefficient
    design = np.column_stack([np.ones(len(given)), (given - mean) / spread])
    solution = _newton(design, kept, weights)
    coefficients = solution[1:] / spread
    return Fitted(float(solution[0] - coefficients @ mean), coefficients, given.min(0), given.max(0))


def folds(candidates: JudgedCandidates, rows: Sequence[OutputRow]) -> NDArray[np.int64]:
    """The fold of each candidate, which is that of its source in whatever file."""
    by_row = np.array([zlib.crc32(row["source"].encode()) % FOLDS for row in rows])
    return np.asarray(by_row[candidates.row])


def cross_validated(candidates: JudgedCandidates, fold: NDArray[np.int64]) -> Numbers:
    """The confidence of each candidate, by coefficients fitted to the sources of other folds."""
    confidences = np.empty(len(candidates.kept))
    for number in np.unique(fold):
        here = fold == number
        if here.all():
            raise InputError("Cross-validation needs more sources. Give larger files of outputs.")
        confidences[here] = fit(candidates, ~here).confidences(candidates.features[here])
    return confidences


def calibrate(
    files: Mapping[str, Sequence[OutputRow]], judge: Judge, most: int | None = None, apart: bool = False
) -> tuple[str, dict[str, Any], dict[str, Assessment]]:
    """The pair that made the files of outputs, its calibration as it is stored, and how good that is.

    Assessed are the best-ranked results, since those are what users see: of all files, and of each by its name. With
    `apart`, candidates are no ranking: each is assessed, and pairs of the test bed count as MADE says.
    """
    pair = _pair(files)
    rows = [row for file in files.values() for row in file]
    candidates = gather(rows, judge, most)
    if apart:
        candidates = _apart(candidates, np.array([row["source"] in texts_by_source() for row in rows]))
    fitted = fit(candidates)
    confidences = cross_validated(candidates, folds(candidates, rows))
    best = candidates.place == 1
    file = np.repeat(np.arange(len(files)), [len(rows) for rows in files.values()])[candidates.row]
    chosen = {"all": best} | {name: best & (file == number) for number, name in enumerate(files)}
    assessments = {
        name: assess(candidates.kept[here], confidences[here]) for name, here in chosen.items() if here.any()
    }
    content = {
        "judge": judge.name,
        "threshold": judge.threshold,
        "intercept": round(fitted.intercept, 5),
        "coefficients": dict(zip(FEATURES, fitted.coefficients.round(5).tolist(), strict=True)),
        "ranges": {
            name: [round(low, 4), round(high, 4)]
            for name, low, high in zip(FEATURES, fitted.low.tolist(), fitted.high.tolist(), strict=True)
        },
        "fitted_on": [
            {
                "signature": next(iter(rows))["signature"],
                "sources": len(rows),
                "candidates": int((file == number).sum()),
            }
            for number, rows in enumerate(files.values())
        ],
        "cross_validated": summary(assessments["all"]),
    }
    return pair, content, assessments


def _apart(candidates: JudgedCandidates, made: NDArray[np.bool_]) -> JudgedCandidates:
    """Candidates that are no ranking; those whose rows are of the test bed count little each, good and bad alike."""
    of_bed = made[candidates.row]
    weight = np.ones(len(candidates.kept))
    for kind in (candidates.kept, ~candidates.kept):
        weight[of_bed & kind] = MADE / max(1, int((of_bed & kind).sum()))
    return replace(candidates, place=np.ones(len(candidates.kept)), weight=weight)


def summary(assessment: Assessment) -> dict[str, Any]:
    """The figures of an assessment without its bands, rounded."""
    return {
        "results": assessment.count,
        "kept": round(assessment.kept, 3),
        "auc": None if assessment.auc is None else round(assessment.auc, 3),
        "calibration_error": round(assessment.error, 3),
        "precision_at_yield": {f"{item.share:.0%}": round(item.precision, 3) for item in assessment.accepted},
    }


def store(path: Path, pair: str, content: dict[str, Any]) -> None:
    """Put the calibration of a pair beside those of others."""
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_whole(path, json.dumps(stored | {pair: content}, indent=2, ensure_ascii=False) + "\n")


def _pair(files: Mapping[str, Sequence[OutputRow]]) -> str:
    pairs = {signature_of(row).get("pair", "") for rows in files.values() for row in rows}
    if len(pairs) != 1:
        raise InputError(f"The outputs are of {len(pairs)} pairs of models. Calibrate one pair at a time.")
    return pairs.pop()


def _newton(design: Numbers, kept: Numbers, weights: Numbers) -> Numbers:
    """The solution for standardized features whose first column is constant; the intercept is not held back."""
    ridge = RIDGE * np.eye(design.shape[1])
    ridge[0, 0] = 0
    solution = np.zeros(design.shape[1])
    solution[0] = np.log((weights @ kept + 0.5) / (weights @ (1 - kept) + 0.5))  # as if no feature told anything
    for _ in range(STEPS):
        predicted = _logistic(design @ solution)
        slope = design.T @ (weights * (kept - predicted)) - ridge @ solution
        curvature = (design.T * (weights * predicted * (1 - predicted))) @ design + ridge
        step = np.linalg.solve(curvature, slope)
        solution = solution + step
        if np.abs(step).max() < CONVERGED:
            break
    return solution


def _logistic(values: Numbers) -> Numbers:
    odds = np.exp(-np.abs(values))
    return np.asarray(np.where(values > 0, 1, odds) / (1 + odds))


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", type=click.Path(path_type=Path), default=CALIBRATIONS, help="where the coefficients are written")
@click.option(
    "--judge", "name", type=click.Choice(list(JUDGES)), default=next(iter(JUDGES)), help="who says what is kept"
)
@click.option("--threshold", type=float, help="what is enough for the judge [default: the judge's own]")
@click.option("--most", type=click.IntRange(1), help="judge only so many best-ranked candidates of each source")
@click.option("--apart", is_flag=True, help="candidates are no ranking: each counts by itself")
@click.option("--verdicts", type=click.Path(path_type=Path), help="what readers said of results, for the judge told")
def main(
    files: tuple[Path, ...],
    to: Path,
    name: str,
    threshold: float | None,
    most: int | None,
    apart: bool,
    verdicts: Path | None,
) -> None:
    """Fit the confidence to files of outputs, write it, and say how good it is."""
    try:
        check_writable(to)
        if name != "told":
            check_similarity()
        outputs = {path.name.partition(".")[0]: list(read_outputs(path).values()) for path in files}
        if len(outputs) < len(files):
            raise InputError("Two files of outputs have the same name. Rename one.")
        if verdicts is not None:
            JUDGES["told"] = replace(JUDGES["told"], measure=partial(as_told, read=read_verdicts(verdicts)))
        judge = JUDGES[name] if threshold is None else replace(JUDGES[name], threshold=threshold)
        pair, content, assessments = calibrate(outputs, judge, most, apart)
        store(to, pair, content)
    except RefdecError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{pair}: {json.dumps({'intercept': content['intercept'], **content['coefficients']})}")
    for file, assessment in assessments.items():
        click.echo(f"{file:16} {json.dumps(summary(assessment))}")
    for band in assessments["all"].bands:
        click.echo(f"{band.low:.1f} to {band.high:.1f} {band.count:6} {band.confidence:.3f} {band.kept:.3f}")


if __name__ == "__main__":
    main()
