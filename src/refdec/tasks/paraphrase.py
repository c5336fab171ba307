"""Paraphrase: a text in, ranked texts that could stand in the same contexts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.schedule import on_both_sides
from refdec.reflect.scoring import fits
from refdec.reflect.side import Side
from refdec.results import Explanation, Paraphrase, ParaphraseResult
from refdec.settings import ParaphraseSettings
from refdec.tasks.candidates import Place, check_room, gather, generations
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

    async def explore(side: Side) -> tuple[Ensemble, list[str]]:
        """The ensemble of one side, and the candidates that it generates."""
        stage(f"contexts on the {side.name}")
        ensemble = known.get(side.name) or await describe_side(side, source, framed, settings)
        stage(f"generating from the {side.name}")
        candidates = []
        for ids in await generations(pair, ensemble, place):
            raw = pair.tokens.decode(ids + framed.right if side.name == "right" else framed.left + ids)
            candidates += extract(raw, side.name, frame, source)
        return ensemble, candidates

    explored = await on_both_sides(pair, explore)
    ensembles = [ensemble for ensemble, _ in explored]
    found = gather(explored, wanted)
    stage(f"scoring {len(found.origins)} candidates")
    ranked, source_score = await _score(pair, frame, source, ensembles, found.origins, settings)
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
        rejected=found.rejected,
        dropped=len(found.origins) - len(ranked),
        explanation=explanation,
    )


async def _score(
    pair: Pair,
    frame: Frame,
    source: str,
    ensembles: list[Ensemble],
    origins: Mapping[str, str],
    settings: ParaphraseSettings,
) -> tuple[list[Paraphrase], float]:
    """Candidates with their scores, and the source's own score (equation 3, kept contexts, unweighted).

    To that comes a share of how likely a candidate is itself, as in a noisy channel, less a penalty for numbers and
    names of the source that it does not have.
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
