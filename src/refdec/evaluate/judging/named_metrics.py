"""The metrics by name: what each sums over rows and what the sums give, for `refdec evaluate`.

The mathematics is in `refdec.metrics`, a file a metric. A metric is made by its name, and refused at once where a
package, a program or a model that it needs is missing: before texts are generated, not after.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable
from functools import partial

import refdec
from refdec.errors import SettingsError
from refdec.evaluate.judging.metric import AnyMetric, Metric, Outputs, RowMetric, WholeMetric, mean_of, to_mean
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


def metric(name: str) -> AnyMetric:
    """The metric of this name."""
    check_metric(name)
    return METRICS[name]()


def check_metric(name: str, others: Iterable[str] = ()) -> None:
    """Refuse a name that is no metric; others are those that are made elsewhere."""
    known = [*METRICS, *others]
    if name not in METRICS:
        raise SettingsError(f"There is no metric {name!r}{did_you_mean(name, known)}. Metrics: {', '.join(known)}.")


def _signed(name: str, *packages: str, **details: object) -> str:
    parts = [f"{key}:{value}" for key, value in details.items()]
    versions = [f"{package}:{importlib.metadata.version(package)}" for package in packages]
    return "|".join([name, *parts, *versions, f"refdec:{refdec.__version__}"])


def _sari() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return to_mean(map(sari, outputs.sources, outputs.texts, outputs.references))

    signature = _signed("sari", "nltk", case="lower", tok="nltk", order=4, delete="precision", corpus="mean")
    return RowMetric("SARI", "higher", 1, signature, rows, mean_of)


def _bleu(title: str, order: int) -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return bleu_statistics(outputs.texts, outputs.references, order)

    return RowMetric(title, "higher", 1, _bleu_signature("bleu", order), rows, bleu_of)


def _novelty() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return bleu_statistics(outputs.texts, [[source] for source in outputs.sources])

    def figure(pooled: Numbers) -> Numbers:
        return 100 - bleu_of(pooled)

    return RowMetric("Novelty", "higher", 1, _bleu_signature("novelty", 2), rows, figure, needs_references=False)


def _ibleu() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return ibleu_statistics(outputs.sources, outputs.texts, outputs.references)

    return RowMetric("iBLEU", "higher", 1, _bleu_signature("ibleu", 2, alpha=ALPHA), rows, ibleu_of)


def _bleu_signature(name: str, order: int, **details: object) -> str:
    return _signed(name, "nltk", case="lower", tok="nltk", order=order, smooth="none", corpus="pooled", **details)


def _sacre_bleu() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return sacre_bleu_statistics(outputs.texts, outputs.references)

    return RowMetric("sacreBLEU", "higher", 1, f"BLEU|{scorer_signature('BLEU')}", rows, sacre_bleu_of)


def _ter() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return ter_statistics(outputs.texts, outputs.references)

    return RowMetric("TER (not TERp)", "lower", 1, f"TER|{scorer_signature('TER')}", rows, ter_of)


def _meteor() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        """On the words that the other metrics see, as the paper's Source row (37.6) was: else it is 0.04 higher."""
        return meteor_statistics(
            list(map(_said, outputs.texts)), [list(map(_said, each)) for each in outputs.references]
        )

    check_meteor()
    return RowMetric("METEOR", "higher", 1, f"{METEOR_SIGNATURE}|case:lower|tok:nltk", rows, meteor_of)


def _said(text: str) -> str:
    return " ".join(words(text))


def _rouge(kind: str, stem: bool) -> Metric:
    """With stems the Source row on Quora is the paper's (R-1 70.3 for its 70.1, without them 67.4)."""

    def rows(outputs: Outputs) -> Numbers:
        return to_mean(rouge_rows(outputs.texts, outputs.references, kind, stem))

    check_rouge()
    title = f"ROUGE-{kind.removeprefix('rouge')}"
    stems = "porter" if stem else "no"
    signature = _signed(kind, "rouge-score", f="F1", stem=stems, refs="best", corpus="mean")
    return RowMetric(title, "higher", 1, signature, rows, mean_of)


def _similarity() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return to_mean(similarities(outputs.texts, outputs.sources))

    check_similarity()
    return RowMetric("similarity", "higher", 3, _similarity_signature("source"), rows, mean_of, needs_references=False)


def _reference_similarity() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return to_mean(best_similarities(outputs.texts, outputs.references))

    check_similarity()
    title = "similarity to the reference"
    return RowMetric(title, "higher", 3, _similarity_signature("best-reference"), rows, mean_of)


def _similarity_signature(other: str) -> str:
    return _signed("similarity", to=other, model="all-MiniLM-L6-v2", pool="mean", corpus="mean")


def _bert_score() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return to_mean(bert_scores(outputs.texts, outputs.references))

    name, layer = bert_score_model()
    details = {"model": name, "layer": "last" if layer is None else layer, "idf": "no", "rescaled": "no"}
    signature = _signed("bertscore", "transformers", **details, refs="best", corpus="mean")
    return RowMetric("BERTScore", "higher", 1, signature, rows, mean_of)


def _bleurt() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return to_mean(100 * score for score in bleurt_scores(outputs.texts, outputs.references))  # as the paper has it

    signature = _signed("bleurt", "transformers", model=bleurt_model(), times=100, refs="best", corpus="mean")
    return RowMetric("BLEURT", "higher", 1, signature, rows, mean_of)


def _copied() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return to_mean(map(_per_cent, map(is_copy, outputs.texts, outputs.sources)))

    signature = _signed("copied", case="no", punctuation="no", corpus="per-cent")
    return RowMetric("copied", "lower", 1, signature, rows, mean_of, needs_references=False)


def _per_cent(yes: bool) -> float:
    return 100.0 * yes


def _words() -> Metric:
    def rows(outputs: Outputs) -> Numbers:
        return to_mean(len(bare_words(text)) for text in outputs.texts)

    signature = _signed("words", punctuation="no", corpus="mean")
    return RowMetric("words", "", 1, signature, rows, mean_of, needs_references=False)


def _self_bleu() -> WholeMetric:
    def whole(outputs: Outputs) -> float:
        return self_bleu(outputs.texts)

    details = {"case": "lower", "tok": "nltk", "order": 4, "smooth": "none", "corpus": "pooled", "sample": SAMPLE}
    return WholeMetric("self-BLEU", "lower", 1, _signed("self-bleu", "nltk", **details, seed=0), whole)


def _distinct(length: int) -> WholeMetric:
    def whole(outputs: Outputs) -> float:
        return distinct(outputs.texts, length)

    signature = _signed(f"distinct{length}", "nltk", case="lower", tok="nltk")
    return WholeMetric(f"distinct-{length}", "higher", 3, signature, whole)


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
"""Name to maker. A maker raises a `ModelError` where something is missing that its metric needs."""
