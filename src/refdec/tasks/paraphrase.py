"""Paraphrase: a text in, ranked texts that could stand in the same contexts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.schedule import on_both_sides
from refdec.reflect.scoring import fits
from refdec.results import Explanation, Paraphrase, ParaphraseResult
from refdec.settings import ParaphraseSettings
from refdec.tasks.candidates import Place, check_room, generate_candidates
from refdec.tasks.confidence import with_confidence
from refdec.tasks.constraints import NONE, Constraints
from refdec.tasks.describe import Stage, certificates, describe_side, ensembles_of, prepare, shown_contexts, silent
from refdec.tasks.extract import extract
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.frame import Frame
from refdec.tasks.ranking import race, ranked_paraphrases, standings
from refdec.tasks.reasons import explain_paraphrases
from refdec.tasks.signature import signature


async def paraphrase(
    pair: Pair,
    text: str,
    settings: ParaphraseSettings,
    *,
    constraints: Constraints = NONE,
    fingerprint: Fingerprint | None = None,
    explain: int = 0,
    stage: Stage = silent,
) -> ParaphraseResult:
    """Describe a text by its contexts, generate from them, and rank the candidates.

    A fingerprint stands for the description. The best `explain` candidates are explained token by token.
    """
    source, frame, framed = prepare(pair, text, settings, settings.extra_tokens)
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

    def texts_in(ids: Ids, side: str) -> list[str]:
        raw = pair.tokens.decode(ids + framed.right if side == "right" else framed.left + ids)
        return extract(raw, side, frame, source)

    if fingerprint is None:
        stage("sampling contexts")
        ensembles = await on_both_sides(pair, lambda side: describe_side(side, source, framed, settings))
    else:
        fingerprint.check(pair.name, source, settings)
        ensembles = ensembles_of(pair, fingerprint)
    stage("generating candidates")
    candidates = await generate_candidates(pair, ensembles, place, texts_in)
    stage(f"scoring {len(candidates.origins)} candidates")
    ranked, source_score = await _rank(pair, frame, source, ensembles, candidates.origins, settings)
    ranked = with_confidence(pair.name, source, ranked, settings)
    contexts = shown_contexts(pair, ensembles)
    mark = signature("paraphrase", pair, settings, constraints)
    explanation = None
    if explain:
        reasons = await explain_paraphrases(pair, ensembles, frame, source, ranked[:explain])
        explanation = Explanation("paraphrase", "", "", contexts, reasons, mark)
    return ParaphraseResult(
        source=source,
        source_score=source_score,
        candidates=tuple(ranked),
        contexts=contexts,
        **certificates(ensembles),
        signature=mark,
        rejected=candidates.rejected,
        dropped=len(candidates.origins) - len(ranked),
        explanation=explanation,
    )


async def _rank(
    pair: Pair,
    frame: Frame,
    source: str,
    ensembles: list[Ensemble],
    origins: Mapping[str, str],
    settings: ParaphraseSettings,
) -> tuple[list[Paraphrase], float]:
    """Candidates, best first, and the source's own score (equation 3 over the kept contexts, unweighted).

    A candidate's score also counts a share of its own log-probability, as in a noisy channel, less a penalty for
    numbers and names of the source that it lacks.
    """
    room = pair.window - max(len(context) for ensemble in ensembles for context in ensemble.contexts)
    framed = {text: pair.tokens.encode(frame.wrap(text)) for text in (source, *origins)}
    framed = {text: ids for text, ids in framed.items() if len(ids) <= room}  # the source was measured before: it stays
    standing = await standings(pair, framed, settings)

    async def fit(ensemble: Ensemble, contexts: Sequence[Ids], texts: Sequence[str]) -> torch.Tensor:
        return await fits(ensemble.side, contexts, [framed[text] for text in texts])

    texts, per_side = await race(list(framed), standing, ensembles, fit, settings.exact)
    totals = torch.stack([side.double().mean(1) for side in per_side]).sum(0).tolist()
    return ranked_paraphrases(texts, totals, standing, per_side, origins), totals[0]
