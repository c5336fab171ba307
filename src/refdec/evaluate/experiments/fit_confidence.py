"""Fitting the confidence of paraphrases to a judge, and how well it then tells good results from bad ones.

    python -m refdec.evaluate.experiments.fit_confidence dev-*.jsonl.gz --to src/refdec/pretrained/confidence.json

Files of outputs in, coefficients out: ridge logistic regression by Newton's method. Its quality is assessed by
cross-validation over sources: all candidates of a source, with whatever settings, are judged by coefficients that were
fitted without them. A judge is any function of source and text that is independent of the models.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from refdec.errors import InputError, RefdecError
from refdec.evaluate.experiments.outputs import OutputRow, read_outputs
from refdec.evaluate.judging.agreement import area_under_curve
from refdec.evaluate.judging.stand_in import QUORA, meaning_kept
from refdec.evaluate.judging.wording import same_negation, same_numbers
from refdec.files.whole import check_writable, write_whole
from refdec.metrics.bootstrap import Numbers
from refdec.metrics.similarity import check_similarity, similarities
from refdec.results import Paraphrase
from refdec.settings import ParaphraseSettings
from refdec.tasks.confidence import CALIBRATIONS, FEATURES, features

MEANING_KEPT = 0.8
"""The least cosine of sentence embeddings at which a text counts as keeping the meaning."""

YIELDS = (1.0, 0.8, 0.6, 0.4)  # shares of the sources for which a result is accepted
BANDS = 10  # of confidence, from 0 to 1
FOLDS = 10
RIDGE = 1.0  # on standardized features: it matters only for very small data
STEPS = 50
CONVERGED = 1e-10
FLAT = 1e-9  # a feature with a smaller standard deviation is constant: the rest is rounding


@dataclass(frozen=True, slots=True)
class Judge:
    """Says of texts how much of their sources' meaning they keep, and how much is enough."""

    name: str  # what a stranger needs to judge the same way
    measure: Callable[[Sequence[str], Sequence[str]], Sequence[float] | Numbers]  # (sources, texts) to numbers
    threshold: float

    def verdicts(self, sources: Sequence[str], texts: Sequence[str]) -> NDArray[np.bool_]:
        return np.asarray(self.measure(sources, texts)) >= self.threshold


def consistency(sources: Sequence[str], texts: Sequence[str]) -> Numbers:
    """As the stand-in for people sees it: the cosine, and nothing where a number or a negation differs."""
    pairs = list(zip(texts, sources, strict=True))
    same = np.array([same_numbers(*pair) and same_negation(*pair) for pair in pairs])
    return np.where(same, meaning_kept(tuple(sources), tuple(texts)), 0.0)


JUDGES = {
    "similarity": Judge("cosine of all-MiniLM-L6-v2 with the source", similarities, MEANING_KEPT),
    "consistency": Judge("consistency of the stand-in with the source", consistency, QUORA.similarity),
}


@dataclass(frozen=True, slots=True)
class JudgedCandidates:
    """Candidates of many sources, without copies, and the verdicts of the judge on them."""

    features: Numbers  # (candidates, features)
    kept: NDArray[np.bool_]  # whether the judge finds the meaning in them
    place: Numbers  # in the ranking of their source, from 1
    fold: NDArray[np.int64]
    file: NDArray[np.int64]  # which file of outputs they are from

    @property
    def best(self) -> NDArray[np.bool_]:
        return np.asarray(self.place == 1)


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


@dataclass(frozen=True, slots=True)
class Band:
    """Results whose confidence lies between two values."""

    low: float
    high: float
    count: int
    confidence: float  # their mean
    kept: float  # the share that keeps the meaning; as large as the mean where the confidence is right


@dataclass(frozen=True, slots=True)
class Accepted:
    """The results of a user who takes only the most confident ones."""

    share: float  # of the sources
    least: float  # the lowest confidence among them
    precision: float  # the share of them that keeps the meaning


@dataclass(frozen=True, slots=True)
class Assessment:
    """How far a confidence can be trusted."""

    count: int
    kept: float  # the share of all that keeps the meaning
    confidence: float  # the mean
    auc: float | None  # how often a kept one has more confidence than one that is not; None where all are of one kind
    error: float  # expected calibration error: by how much a band is off on average
    bands: tuple[Band, ...]
    accepted: tuple[Accepted, ...]


def gather(files: Iterable[Iterable[OutputRow]], judge: Judge, most: int | None = None) -> JudgedCandidates:
    """The candidates in files of outputs; with `most`, so many of each source only, which is less to judge."""
    rows_of_features: list[tuple[float, ...]] = []
    sources: list[str] = []
    texts: list[str] = []
    places: list[int] = []
    origins: list[int] = []
    for number, rows in enumerate(files):
        for row in rows:
            ranked = _ranked(row)
            texts_here = [item.text for item in ranked if not item.copy][:most]
            rows_of_features += features(row["source"], ranked, settings_of(row))[:most]
            sources += [row["source"]] * len(texts_here)
            texts += texts_here
            places += range(1, len(texts_here) + 1)
            origins += [number] * len(texts_here)
    if not texts:
        raise InputError("The files of outputs hold no candidate that is not a copy. Give files with results.")
    return JudgedCandidates(
        features=np.array(rows_of_features, dtype=np.float64),
        kept=judge.verdicts(sources, texts),
        place=np.array(places, dtype=np.float64),
        fold=np.array([zlib.crc32(source.encode()) % FOLDS for source in sources]),
        file=np.array(origins),
    )


def settings_of(row: OutputRow) -> ParaphraseSettings:
    """The settings that confidence depends on, from the signature of a row."""
    parts = _signature(row)
    if parts.get("task") != "paraphrase":
        raise InputError(f"The output {row['id']!r} has no signature of a paraphrase. Give files that refdec wrote.")
    return ParaphraseSettings(
        contexts=int(parts["contexts"]),
        kept_contexts=int(parts["kept_contexts"]),
        loss=float(parts.get("loss", "0")),
    )


def fit(candidates: JudgedCandidates, chosen: NDArray[np.bool_] | None = None) -> Fitted:
    """The coefficients that make the judge's verdicts most likely, from the chosen candidates, by default all.

    The candidate at place k counts 1/k: what ranks high is what people see, and it must be right about that.
    """
    chosen = np.ones(len(candidates.kept), dtype=bool) if chosen is None else chosen
    given, kept, weights = (
        candidates.features[chosen],
        candidates.kept[chosen].astype(np.float64),
        1 / candidates.place[chosen],
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


def cross_validated(candidates: JudgedCandidates) -> Numbers:
    """The confidence of each candidate, by coefficients fitted to other sources."""
    confidences = np.empty(len(candidates.kept))
    for fold in np.unique(candidates.fold):
        here = candidates.fold == fold
        if here.all():
            raise InputError("Cross-validation needs more sources. Give larger files of outputs.")
        confidences[here] = fit(candidates, ~here).confidences(candidates.features[here])
    return confidences


def assess(kept: NDArray[np.bool_], confidences: Numbers, yields: Sequence[float] = YIELDS) -> Assessment:
    """Hold confidences against what a judge says."""
    bands = tuple(_bands(kept, confidences))
    return Assessment(
        count=len(kept),
        kept=float(kept.mean()),
        confidence=float(confidences.mean()),
        auc=auc(kept, confidences),
        error=sum(band.count * abs(band.kept - band.confidence) for band in bands) / len(kept),
        bands=bands,
        accepted=tuple(precision_at(kept, confidences, share) for share in yields),
    )


def auc(kept: NDArray[np.bool_], confidences: Numbers) -> float | None:
    """How often a kept one has more confidence than one that is not; nothing where all are of one kind."""
    return None if kept.all() or not kept.any() else area_under_curve(kept, confidences)


def precision_at(kept: NDArray[np.bool_], confidences: Numbers, share: float) -> Accepted:
    """Of the most confident, as many as this share of all, at least one."""
    order = np.argsort(-confidences, kind="stable")[: max(1, round(share * len(kept)))]
    return Accepted(share, float(confidences[order[-1]]), float(kept[order].mean()))


def calibrate(
    files: Mapping[str, Sequence[OutputRow]], judge: Judge, most: int | None = None
) -> tuple[str, dict[str, Any], dict[str, Assessment]]:
    """The pair that made the files of outputs, its calibration as it is stored, and how good that is.

    Assessed are the best-ranked results, since those are what users see: of all files, and of each by its name.
    """
    pair = _pair(files)
    candidates = gather(files.values(), judge, most)
    fitted = fit(candidates)
    confidences = cross_validated(candidates)
    chosen = {"all": candidates.best} | {name: candidates.best & (candidates.file == n) for n, name in enumerate(files)}
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
                "candidates": int((candidates.file == number).sum()),
            }
            for number, rows in enumerate(files.values())
        ],
        "cross_validated": summary(assessments["all"]),
    }
    return pair, content, assessments


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


def _ranked(row: OutputRow) -> list[Paraphrase]:
    try:
        return [
            Paraphrase(
                text=item["text"],
                score=item["score"],
                relative=item["relative"],
                prior=item["prior"],
                lost=tuple(item["lost"]),
                novelty=item["novelty"],
                copy=item["copy"],
                side=item["side"],
                fits=(),
            )
            for item in row["results"]
        ]
    except KeyError as error:
        raise InputError(f"The output {row['id']!r} has no {error}. Generate it with this version of refdec.") from None


def _signature(row: OutputRow) -> dict[str, str]:
    return {name: value for name, _, value in (part.partition(":") for part in row.get("signature", "").split("|"))}


def _pair(files: Mapping[str, Sequence[OutputRow]]) -> str:
    pairs = {_signature(row).get("pair", "") for rows in files.values() for row in rows}
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


def _bands(kept: NDArray[np.bool_], confidences: Numbers) -> Iterable[Band]:
    band = np.minimum((confidences * BANDS).astype(int), BANDS - 1)
    for number in np.unique(band).tolist():
        here = band == number
        yield Band(
            low=number / BANDS,
            high=(number + 1) / BANDS,
            count=int(here.sum()),
            confidence=float(confidences[here].mean()),
            kept=float(kept[here].mean()),
        )


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", type=click.Path(path_type=Path), default=CALIBRATIONS, help="where the coefficients are written")
@click.option(
    "--judge", "name", type=click.Choice(list(JUDGES)), default=next(iter(JUDGES)), help="who says what is kept"
)
@click.option("--threshold", type=float, help="what is enough for the judge [default: the judge's own]")
@click.option("--most", type=click.IntRange(1), help="judge only so many best-ranked candidates of each source")
def main(files: tuple[Path, ...], to: Path, name: str, threshold: float | None, most: int | None) -> None:
    """Fit the confidence to files of outputs, write it, and say how good it is."""
    try:
        check_writable(to)
        check_similarity()
        outputs = {path.name.partition(".")[0]: list(read_outputs(path).values()) for path in files}
        if len(outputs) < len(files):
            raise InputError("Two files of outputs have the same name. Rename one.")
        judge = JUDGES[name] if threshold is None else replace(JUDGES[name], threshold=threshold)
        pair, content, assessments = calibrate(outputs, judge, most)
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
