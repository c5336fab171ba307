"""Paraphrase: a text in, ranked texts that could stand in the same contexts out."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from refdec.constraints import NONE, Constraints
from refdec.explanation import Explanation
from refdec.fingerprint import Fingerprint
from refdec.lm.pair import Pair
from refdec.metrics.novelty import novelty
from refdec.metrics.words import bare_words
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.scoring import fits
from refdec.reflect.side import Side, on_both_sides
from refdec.results import Paraphrase, ParaphraseResult
from refdec.settings import ParaphraseSettings
from refdec.signature import signature
from refdec.tasks.candidates import Place, check_room, gather, generations
from refdec.tasks.describe import Stage, certificates, describe_side, ensembles_of, prepare, shown_contexts, silent
from refdec.tasks.extract import extract
from refdec.tasks.frame import Frame
from refdec.tasks.reasons import explain_paraphrases


def paraphrase(
    pair: Pair,
    text: str,
    settings: ParaphraseSettings,
    *,
    constraints: Constraints = NONE,
    fingerprint: Fingerprint | None = None,
    explain: int = 0,
    stage: Stage = silent,
) -> ParaphraseResult:
    """Sample contexts on both sides, learn their weights, generate from them, and rank what comes out.

    A fingerprint stands for the first two steps. The best `explain` candidates are explained token by token.
    """
    source, frame, framed = prepare(pair, text, settings, settings.extra_tokens)
    known: dict[str, Ensemble] = {}
    if fingerprint is not None:
        fingerprint.check(pair.name, source, settings)
        known = {ensemble.side.name: ensemble for ensemble in ensembles_of(pair, fingerprint)}
    wanted = constraints.on(source)
    length = len(framed.middle) + settings.extra_tokens
    check_room(pair, wanted, length)
    place = Place(
        key=source,
        framed=framed,
        samples=settings.samples,
        length=length,
        expected=len(framed.middle),
        stops=pair.tokens.containing(frame.ends),
        constraints=wanted,
        seed=settings.seed,
    )

    def explore(side: Side) -> tuple[Ensemble, list[str]]:
        """The ensemble of one side, and the candidates that it generates."""
        stage(f"contexts on the {side.name}")
        ensemble = known.get(side.name) or describe_side(side, source, framed, settings)
        stage(f"generating from the {side.name}")
        candidates = []
        for ids in generations(pair, ensemble, place):
            raw = pair.tokens.decode(ids + framed.right if side.name == "right" else framed.left + ids)
            candidates += extract(raw, side.name, frame, source)
        return ensemble, candidates

    explored = on_both_sides(pair, explore)
    ensembles = [ensemble for ensemble, _ in explored]
    found = gather(explored, wanted)
    stage(f"scoring {len(found.origins)} candidates")
    ranked, source_score = _score(pair, frame, source, ensembles, found.origins)
    contexts = shown_contexts(pair, ensembles)
    mark = signature("paraphrase", pair, settings, constraints)
    explanation = None
    if explain:
        reasons = explain_paraphrases(pair, ensembles, frame, source, ranked[:explain])
        explanation = Explanation("paraphrase", "", "", contexts, reasons, mark)
    return ParaphraseResult(
        source=source,
        source_score=source_score,
        candidates=tuple(ranked),
        contexts=contexts,
        **certificates(ensembles),
        signature=mark,
        rejected=found.rejected,
        explanation=explanation,
    )


def is_copy(candidate: str, source: str) -> bool:
    """Whether two texts say the same words in the same order, whatever their case and punctuation."""
    return (bare_words(candidate) or candidate.split()) == (bare_words(source) or source.split())  # emoji have no words


def ranked_paraphrases(
    source: str, totals: Mapping[str, float], relative: Mapping[str, tuple[float, ...]], origins: Mapping[str, str]
) -> list[Paraphrase]:
    """Candidates with everything known of them, best first."""
    candidates = [
        Paraphrase(
            text=text,
            score=totals[text],
            relative=totals[text] - totals[source],
            novelty=novelty(text, source),
            copy=is_copy(text, source),
            side=side,
            fits=relative[text],
        )
        for text, side in origins.items()
        if text in totals
    ]
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.text))


def _score(
    pair: Pair, frame: Frame, source: str, ensembles: list[Ensemble], origins: Mapping[str, str]
) -> tuple[list[Paraphrase], float]:
    """Every candidate with its score, and the source's own score (equation 3, kept contexts, unweighted)."""
    room = pair.window - max(len(context) for ensemble in ensembles for context in ensemble.contexts)
    framed = {text: pair.tokens.encode(frame.wrap(text)) for text in (source, *origins)}
    texts = [text for text, ids in framed.items() if len(ids) <= room]  # the source first: it was measured before
    ids = [framed[text] for text in texts]
    per_side = [fits(ensemble.side, ensemble.contexts, ids) for ensemble in ensembles]  # (texts, contexts) each
    totals = torch.stack([side.double().mean(1) for side in per_side]).sum(0).tolist()
    relative = torch.cat([side - side[0] for side in per_side], dim=1).tolist()
    ranked = ranked_paraphrases(
        source,
        dict(zip(texts, totals, strict=True)),
        {text: tuple(row) for text, row in zip(texts, relative, strict=True)},
        origins,
    )
    return ranked, totals[0]
