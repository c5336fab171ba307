"""Candidates as a judge of their meaning sees them, and how well a confidence tells good results from bad ones.

A judge is any function of source and text that is independent of the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refdec.errors import InputError
from refdec.evaluate.judging.agreement import area_under_curve
from refdec.metrics.bootstrap import Numbers
from refdec.metrics.similarity import similarities
from refdec.results import Flow, Paraphrase
from refdec.tasks.confidence import features_of

MEANING_KEPT = 0.8
"""The least cosine of sentence embeddings at which a text counts as keeping the meaning."""

YIELDS = (1.0, 0.8, 0.6, 0.4)  # shares of the sources for which a result is accepted
BANDS = 10  # of confidence, from 0 to 1


@dataclass(frozen=True, slots=True)
class Judge:
    """Says of texts how much of their sources' meaning they keep, and how much is enough."""

    name: str  # what a stranger needs to judge the same way
    measure: Callable[[Sequence[str], Sequence[str]], Sequence[float] | Numbers]  # (sources, texts) to numbers
    threshold: float

    def verdicts(self, sources: Sequence[str], texts: Sequence[str]) -> NDArray[np.bool_]:
        return np.asarray(self.measure(sources, texts)) >= self.threshold


SIMILARITY = Judge("cosine of all-MiniLM-L6-v2 with the source", similarities, MEANING_KEPT)


@dataclass(frozen=True, slots=True)
class JudgedCandidates:
    """Candidates of many sources, without copies, and the verdicts of the judge on them."""

    features: Numbers  # (candidates, features)
    kept: NDArray[np.bool_]  # whether the judge finds the meaning in them
    place: Numbers  # in the ranking of their source, from 1
    weight: Numbers  # how much each counts when a confidence is fitted
    row: NDArray[np.int64]  # which row of outputs they are from


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


def gather(rows: Sequence[dict[str, Any]], judge: Judge, most: int | None = None) -> JudgedCandidates:
    """The candidates in rows of outputs; with `most`, so many of each source only, which is less to judge."""
    values: list[tuple[float, ...]] = []
    texts: list[str] = []
    places: list[int] = []
    origins: list[int] = []
    for number, row in enumerate(rows):
        fresh = [item for item in ranked_of(row) if not item.copy][:most]
        values += [features_of(row["source"], item) for item in fresh]
        texts += [item.text for item in fresh]
        places += range(1, len(fresh) + 1)
        origins += [number] * len(fresh)
    if not texts:
        raise InputError("The files of outputs hold no candidate that is not a copy. Give files with results.")
    return JudgedCandidates(
        features=np.array(values, dtype=np.float64),
        kept=judge.verdicts([rows[number]["source"] for number in origins], texts),
        place=np.array(places, dtype=np.float64),
        weight=1 / np.array(places),  # what ranks high is what people see, and it must be right about that
        row=np.array(origins),
    )


def signature_of(row: dict[str, Any]) -> dict[str, str]:
    """The parts of a row's signature by their names."""
    return {name: value for name, _, value in (part.partition(":") for part in row.get("signature", "").split("|"))}


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


def ranked_of(row: dict[str, Any]) -> list[Paraphrase]:
    """The candidates of a row of outputs, best first."""
    if signature_of(row).get("task") != "paraphrase":
        raise InputError(f"The output {row['id']!r} has no signature of a paraphrase. Give files that refdec wrote.")
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
                cost=item["cost"],
                flow=Flow(**item["flow"]),
            )
            for item in row["results"]
        ]
    except KeyError as error:
        raise InputError(f"The output {row['id']!r} has no {error}. Generate it with this version of refdec.") from None


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
