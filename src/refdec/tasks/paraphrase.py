"""Paraphrase: a text in, ranked texts that could stand in the same contexts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import torch

from refdec.ledger.language import is_english
from refdec.lm.pair import EMBEDDED, Pair
from refdec.lm.tokens import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.schedule import on_both_sides
from refdec.reflect.scoring import fits
from refdec.results import Explanation, Paraphrase, ParaphraseResult, Reason
from refdec.settings import ParaphraseSettings
from refdec.tasks.candidates import Candidates, Place, generate_candidates
from refdec.tasks.confidence import with_confidence
from refdec.tasks.constraints import NONE, Constraints
from refdec.tasks.describe import Stage, describe_side, ensembles_of, prepare, shown_contexts, silent
from refdec.tasks.extract import extract
from refdec.tasks.faithful import faithful_candidates, faithful_first
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.frame import FRAMES, Frame
from refdec.tasks.ranking import race, ranked_paraphrases, standings
from refdec.tasks.reasons import explain_paraphrases
from refdec.tasks.signature import signature
from refdec.tasks.verdict import COMPARED, with_changes, with_doubts

AnyResult = TypeVar("AnyResult", bound=ParaphraseResult)

NOT_ENGLISH = "This does not look like English, which is all that the embedded models know; no confidence is given."


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
    length, stops = len(framed.middle), pair.tokens.containing(frame.ends)
    wanted = constraints.on(source)
    place = Place(pair, source, framed, settings, wanted, length + settings.extra_tokens, length, stops)

    def texts_in(ids: Ids, side: str) -> list[str]:
        raw = pair.tokens.decode(ids + framed.right if side == "right" else framed.left + ids)
        return extract(raw, side, frame, source)

    if fingerprint is None:
        stage("sampling contexts")
        ensembles = await on_both_sides(
            pair, lambda side: describe_side(side, source, framed, settings), settings.side_names
        )
    else:
        fingerprint.check(pair.name, source, settings)
        ensembles = [item for item in ensembles_of(pair, fingerprint) if item.side.name in settings.side_names]
    stage("generating candidates")
    if settings.echo:
        beside = ensembles if frame is FRAMES["quoted"] else ()
        candidates = await faithful_candidates(pair, source, settings, wanted, beside)
    else:
        candidates = await generate_candidates(ensembles, place, texts_in)
    stage(f"scoring {len(candidates.origins)} candidates")
    ranked, source_score = await _rank(pair, frame, source, ensembles, candidates.origins, settings)
    ranked = with_changes(source, ranked, None if settings.ledger else COMPARED)
    ranked = with_confidence(pair.name, source, ranked)
    if settings.ledger:
        ranked = faithful_first(pair, source, ranked)
    ranked = with_doubts(source, ranked, settings)
    mark = signature("paraphrase", pair, settings, constraints)
    reasons = await explain_paraphrases(pair, ensembles, frame, source, ranked, explain) if explain else ()
    ranking = source, source_score, ranked
    return make_result(ParaphraseResult, place, ensembles, candidates, ranking, mark, reasons)


def make_result(
    kind: type[AnyResult],
    place: Place,
    ensembles: Sequence[Ensemble],
    candidates: Candidates,
    ranking: tuple[str, float, Sequence[Paraphrase]],
    mark: str,
    reasons: tuple[Reason, ...],
    **neighbours: str,
) -> AnyResult:
    """Everything known about a source: its own score, its ranked candidates, the contexts and reasons behind them."""
    source, source_score, ranked = ranking
    contexts = shown_contexts(place.pair, ensembles)
    held = neighbours.get("left", ""), neighbours.get("right", "")
    note = language_note(place.pair, source)
    return kind(
        source=source,
        source_score=source_score,
        candidates=tuple(ranked),
        contexts=contexts,
        log_rd={ensemble.side.name: ensemble.objective for ensemble in ensembles},
        gap={ensemble.side.name: max(0.0, ensemble.gap) for ensemble in ensembles},
        signature=mark,
        rejected=candidates.rejected,
        dropped=len(candidates.origins) - len(ranked),
        explanation=Explanation(place.settings.task, *held, contexts, reasons, mark, note) if reasons else None,
        note=note,
        **neighbours,
    )


def language_note(pair: Pair, source: str) -> str:
    """A word for the reader where a source is no English and the models are the embedded ones.

    Of other models nobody knows here what they can read.
    """
    return NOT_ENGLISH if pair.name.startswith(f"{EMBEDDED.name}:") and not is_english(source) else ""


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
