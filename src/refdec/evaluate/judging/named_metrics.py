"""The metrics by name: what each sums over rows and what the sums give, for `refdec evaluate`.

The mathematics is in `refdec.metrics`. A metric is made by its name, and refused where a package, a program or a model
that it needs is missing, so that this is found out before texts are generated.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

import refdec
from refdec.errors import SettingsError
from refdec.evaluate.judging.metric import AnyMetric, Metric, Outputs, WholeMetric, mean_metric
from refdec.metrics.bertscore import bert_score_model, bert_scores
from refdec.metrics.bleu import bleu_of, bleu_statistics
from refdec.metrics.bleurt import bleurt_model, bleurt_scores
from refdec.metrics.bootstrap import Numbers
from refdec.metrics.by_sacrebleu import sacre_bleu_of, sacre_bleu_statistics, scorer_signature, ter_of, ter_statistics
from refdec.metrics.diversity import SAMPLE, distinct, self_bleu
from refdec.metrics.ibleu import ALPHA, ibleu_of, ibleu_statistics
from refdec.metrics.meteor import SIGNATURE as METEOR_SIGNATURE
from refdec.metrics.meteor import check_meteor, meteor_of, meteor_statistics
from refdec.metrics.rouge import check_rouge, rouge_rows
from refdec.metrics.sari import sari
from refdec.metrics.similarity import best_similarities, check_similarity, similarities
from refdec.settings import did_you_mean
from refdec.tasks.ranking import is_copy
from refdec.text.words import bare_words, words

T = TypeVar("T")


def metric(name: str) -> AnyMetric:
    """The metric of this name."""
    check_metric(name)
    return METRICS[name]()


def check_metric(name: str, others: Iterable[str] = ()) -> None:
    """Refuse an unknown name; `others` are the metrics that are made elsewhere."""
    known = [*METRICS, *others]
    if name not in METRICS:
        raise SettingsError(f"There is no metric {name!r}{did_you_mean(name, known)}. Metrics: {', '.join(known)}.")


def _signed(name: str, *packages: str, **details: object) -> str:
    parts = [f"{key}:{value}" for key, value in details.items()]
    versions = [f"{package}:{importlib.metadata.version(package)}" for package in packages]
    return "|".join([name, *parts, *versions, f"refdec:{refdec.__version__}"])


def _against_references(compare: Callable[[Sequence[str], Sequence[Sequence[str]]], T]) -> Callable[[Outputs], T]:
    """What a function of texts and references gives for outputs."""
    return lambda given: compare(given.texts, given.references)


def _sari() -> Metric:
    signature = _signed("sari", "nltk", case="lower", tok="nltk", order=4, delete="precision", corpus="mean")
    return mean_metric("SARI", 1, signature, lambda given: map(sari, given.sources, given.texts, given.references))


def _bleu(title: str, order: int) -> Metric:
    rows = _against_references(partial(bleu_statistics, order=order))
    return Metric(title, "higher", 1, _bleu_signature("bleu", order), rows, bleu_of)


def _novelty() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return bleu_statistics(outputs.texts, [[source] for source in outputs.sources])

    def figure(pooled: Numbers) -> Numbers:
        return 100 - bleu_of(pooled)

    return Metric("Novelty", "higher", 1, _bleu_signature("novelty", 2), rows, figure, needs_references=False)


def _ibleu() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return ibleu_statistics(outputs.sources, outputs.texts, outputs.references)

    return Metric("iBLEU", "higher", 1, _bleu_signature("ibleu", 2, alpha=ALPHA), rows, ibleu_of)


def _bleu_signature(name: str, order: int, **details: object) -> str:
    return _signed(name, "nltk", case="lower", tok="nltk", order=order, smooth="none", corpus="pooled", **details)


def _sacre_bleu() -> Metric:
    rows = _against_references(sacre_bleu_statistics)
    return Metric("sacreBLEU", "higher", 1, f"BLEU|{scorer_signature('BLEU')}", rows, sacre_bleu_of)


def _ter() -> Metric:
    rows = _against_references(ter_statistics)
    return Metric("TER (not TERp)", "lower", 1, f"TER|{scorer_signature('TER')}", rows, ter_of)


def _meteor() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        """On the words that the other metrics see, as the paper's Source row (37.6) was: else it is 0.04 higher."""
        texts, *references = ([" ".join(words(text)) for text in row] for row in (outputs.texts, *outputs.references))
        return meteor_statistics(texts, references)

    check_meteor()
    return Metric("METEOR", "higher", 1, f"{METEOR_SIGNATURE}|case:lower|tok:nltk", rows, meteor_of)


def _rouge(kind: str, stem: bool) -> Metric:
    """With stems the Source row on Quora is the paper's (R-1 70.3 for its 70.1, without them 67.4)."""
    check_rouge()
    title = f"ROUGE-{kind.removeprefix('rouge')}"
    signature = _signed(kind, "rouge-score", f="F1", stem="porter" if stem else "no", refs="best", corpus="mean")
    return mean_metric(title, 1, signature, _against_references(partial(rouge_rows, kind=kind, stem=stem)))


def _similarity() -> Metric:
    def values(outputs: Outputs) -> list[float]:
        return similarities(outputs.texts, outputs.sources)

    check_similarity()
    return mean_metric("similarity", 3, _similarity_signature("source"), values, needs_references=False)


def _reference_similarity() -> Metric:
    check_similarity()
    values = _against_references(best_similarities)
    return mean_metric("similarity to the reference", 3, _similarity_signature("best-reference"), values)


def _similarity_signature(other: str) -> str:
    return _signed("similarity", to=other, model="all-MiniLM-L6-v2", pool="mean", corpus="mean")


def _bert_score() -> Metric:
    name, layer = bert_score_model()
    details = {"model": name, "layer": "last" if layer is None else layer, "idf": "no", "rescaled": "no"}
    signature = _signed("bertscore", "transformers", **details, refs="best", corpus="mean")
    return mean_metric("BERTScore", 1, signature, _against_references(bert_scores))


def _bleurt() -> Metric:
    def values(outputs: Outputs) -> list[float]:
        return [100 * score for score in bleurt_scores(outputs.texts, outputs.references)]  # as the paper has it

    signature = _signed("bleurt", "transformers", model=bleurt_model(), times=100, refs="best", corpus="mean")
    return mean_metric("BLEURT", 1, signature, values)


def _copied() -> Metric:
    def values(outputs: Outputs) -> list[float]:
        return [100.0 * is_copy(*pair) for pair in zip(outputs.texts, outputs.sources, strict=True)]

    signature = _signed("copied", case="no", punctuation="no", corpus="per-cent")
    return mean_metric("copied", 1, signature, values, better="lower", needs_references=False)


def _words() -> Metric:
    def values(outputs: Outputs) -> list[float]:
        return [len(bare_words(text)) for text in outputs.texts]

    signature = _signed("words", punctuation="no", corpus="mean")
    return mean_metric("words", 1, signature, values, better="", needs_references=False)


def _self_bleu() -> WholeMetric:
    details = {"case": "lower", "tok": "nltk", "order": 4, "smooth": "none", "corpus": "pooled", "sample": SAMPLE}
    signature = _signed("self-bleu", "nltk", **details, seed=0)
    return WholeMetric("self-BLEU", "lower", 1, signature, lambda given: self_bleu(given.texts))


def _distinct(length: int) -> WholeMetric:
    signature = _signed(f"distinct{length}", "nltk", case="lower", tok="nltk")
    return WholeMetric(f"distinct-{length}", "higher", 3, signature, lambda given: distinct(given.texts, length))


METRICS: dict[str, Callable[[], AnyMetric]] = {
    "sari": _sari,
    "bleu": partial(_bleu, "BLEU", 2),
    "bleu4": partial(_bleu, "BLEU-4", 4),
    "sacrebleu": _sacre_bleu,
    "novelty": _novelty,
    "ibleu": _ibleu,
    "meteor": _meteor,
    "ter": _ter,
    "rouge1": partial(_rouge, "rouge1", stem=True),
    "rouge2": partial(_rouge, "rouge2", stem=True),
    "rougeL": partial(_rouge, "rougeL", stem=False),
    "similarity": _similarity,
    "reference-similarity": _reference_similarity,
    "bertscore": _bert_score,
    "bleurt": _bleurt,
    "copied": _copied,
    "words": _words,
    "self-bleu": _self_bleu,
    "distinct1": partial(_distinct, 1),
    "distinct2": partial(_distinct, 2),
}
"""Name to maker. A maker raises a `ModelError` where its metric lacks a package, a program or a model."""
