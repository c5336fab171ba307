"""Paraphrase: a text in, ranked texts that could stand in the same contexts out."""

from __future__ import annotations

import re
from collections.abc import Callable

import torch

from refdec.errors import InputError
from refdec.lm.pair import Pair
from refdec.metrics.novelty import novelty
from refdec.metrics.words import words
from refdec.reflect.ensemble import Ensemble, generate, learn_ensemble
from refdec.reflect.randomness import uniforms
from refdec.reflect.scoring import fits
from refdec.reflect.side import FramedIds, Side, on_both_sides
from refdec.reflect.weights import SOLVERS
from refdec.results import Context, Paraphrase, ParaphraseResult
from refdec.settings import ParaphraseSettings
from refdec.signature import signature
from refdec.tasks.extract import extract
from refdec.tasks.frame import FRAMES, Frame
from refdec.tasks.text import clean

Stage = Callable[[str], None]
"""Is told what is being done, in a few words, for people who wait."""

EXPERT_BYTES = 6 << 30
"""At most this much memory for the experts' log-probabilities over one source."""


def paraphrase(pair: Pair, text: str, settings: ParaphraseSettings, stage: Stage = lambda _: None) -> ParaphraseResult:
    """Sample contexts on both sides, learn their weights, generate from them, and rank what comes out."""
    source, frame, framed = prepare(pair, text, settings)
    stops = pair.tokens.containing(frame.ends)

    def explore(side: Side) -> tuple[Ensemble, list[str]]:
        """The ensemble of one side, and the candidates that it generates."""
        stage(f"contexts on the {side.name}")
        ensemble = learn_ensemble(
            side,
            framed,
            uniforms(settings.seed, source, f"contexts {side.name}", settings.contexts, settings.context_tokens),
            tells_nothing=lambda ids: source in pair.tokens.decode(ids),
            context_top_p=settings.context_top_p,
            keep=settings.kept_contexts,
            minimum_weight=settings.minimum_weight,
            entropy=settings.entropy,
            solve=SOLVERS[settings.solver],
        )
        stage(f"generating from the {side.name}")
        length = len(framed.middle) + settings.extra_tokens
        draws = uniforms(settings.seed, source, f"samples {side.name}", settings.samples, length)
        candidates = []
        for ids in generate(ensemble, framed, draws, stops):
            raw = pair.tokens.decode(ids + framed.right if side.name == "right" else framed.left + ids)
            candidates += extract(raw, side.name, frame, source)
        return ensemble, candidates

    explored = on_both_sides(pair, explore)
    ensembles = [ensemble for ensemble, _ in explored]
    origins: dict[str, set[str]] = {}  # candidate -> sides that generated it
    for ensemble, texts in explored:
        for candidate in texts:
            origins.setdefault(candidate, set()).add(ensemble.side.name)
    stage(f"scoring {len(origins)} candidates")
    candidates, source_score = _score(pair, frame, source, ensembles, origins)
    return ParaphraseResult(
        source=source,
        source_score=source_score,
        candidates=tuple(sorted(candidates, key=lambda candidate: (-candidate.score, candidate.text))),
        contexts=tuple(
            Context(pair.tokens.decode(ids), ensemble.side.name, float(weight))
            for ensemble in ensembles
            for ids, weight in zip(ensemble.contexts, ensemble.weights, strict=True)
        ),
        log_rd={ensemble.side.name: ensemble.objective for ensemble in ensembles},
        gap={ensemble.side.name: max(0.0, ensemble.gap) for ensemble in ensembles},
        signature=signature("paraphrase", pair, settings),
    )


def prepare(pair: Pair, text: str, settings: ParaphraseSettings) -> tuple[str, Frame, FramedIds]:
    """The cleaned text in its frame, or an `InputError` that says why it cannot be worked on."""
    source = clean(text)
    _refuse_endless(pair, source)
    frame = _frame_for(source, settings)
    framed = frame.encode(pair.tokens, source)
    _check_size(pair, framed, settings)
    return source, frame, framed


def is_copy(candidate: str, source: str) -> bool:
    """Whether two texts say the same words in the same order, whatever their case and punctuation."""
    return _bare_words(candidate) == _bare_words(source)


def _score(
    pair: Pair, frame: Frame, source: str, ensembles: list[Ensemble], origins: dict[str, set[str]]
) -> tuple[list[Paraphrase], float]:
    """Every candidate with its score, and the source's own score (equation 3, kept contexts, unweighted)."""
    room = pair.window - max(len(context) for ensemble in ensembles for context in ensemble.contexts)
    framed = {text: pair.tokens.encode(frame.wrap(text)) for text in (source, *origins)}
    texts = [text for text, ids in framed.items() if len(ids) <= room]  # the source first: it was measured before
    ids = [framed[text] for text in texts]
    per_side = [fits(ensemble.side, ensemble.contexts, ids) for ensemble in ensembles]  # (texts, contexts) each
    totals = torch.stack([side.double().mean(1) for side in per_side]).sum(0).tolist()
    relative = torch.cat([side - side[0] for side in per_side], dim=1).tolist()
    candidates = [
        Paraphrase(
            text=text,
            score=totals[row],
            relative=totals[row] - totals[0],
            novelty=novelty(text, source),
            copy=is_copy(text, source),
            side="both" if len(origins[text]) == 2 else next(iter(origins[text])),
            fits=tuple(relative[row]),
        )
        for row, text in enumerate(texts)
        if text in origins
    ]
    return candidates, totals[0]


def _frame_for(source: str, settings: ParaphraseSettings) -> Frame:
    """A source with quotes inside cannot stand between quotes: nothing would tell where it ends."""
    frame = FRAMES[settings.frame]
    return FRAMES["none"] if any(end in source for end in frame.ends) else frame


def _refuse_endless(pair: Pair, source: str) -> None:
    """What is hopelessly long is told so before a tokenizer spends minutes on it."""
    if len(source) > pair.tokens.longest * pair.window:
        raise InputError(
            f"The text has {len(source):,} characters, and this pair reads at most {pair.window} tokens at once. "
            "Paraphrase it sentence by sentence."
        )


def _check_size(pair: Pair, framed: FramedIds, settings: ParaphraseSettings) -> None:
    """The source must fit the models' window beside a context, and its experts must fit memory."""
    frame_tokens = len(framed.left) + len(framed.right)
    limit = pair.window - settings.context_tokens - settings.extra_tokens - frame_tokens
    if limit < 1:
        raise InputError(
            f"Contexts of {settings.context_tokens} tokens and {settings.extra_tokens} extra ones leave no room for a "
            f"text: this pair reads {pair.window} tokens at once. Lower context_tokens or extra_tokens."
        )
    length = len(framed.middle)
    if length > limit:
        raise InputError(
            f"The text has {length} tokens; with contexts of {settings.context_tokens} it may have {limit} (about "
            f"{limit * 3 // 4} words) with this pair. Shorten it, or paraphrase it sentence by sentence."
        )
    needed = settings.contexts * len(framed.all) * pair.forward.vocabulary * 4
    if needed > EXPERT_BYTES:
        most = EXPERT_BYTES // (len(framed.all) * pair.forward.vocabulary * 4)
        raise InputError(
            f"{settings.contexts} contexts over {len(framed.all)} tokens need {needed / 2**30:.1f} GiB of memory. "
            f"Use at most {most} contexts for this text, or shorten it."
        )


def _bare_words(text: str) -> list[str]:
    return [word for word in words(text) if re.search(r"\w", word)] or text.split()  # emoji have no words
