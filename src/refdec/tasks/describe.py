"""Describing a text by the contexts it could stand in: the first half of every task.

Text and settings in, weighted contexts of both sides out. Knows nothing of the tasks that use them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from refdec.errors import InputError
from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids
from refdec.reflect.contexts import sample_contexts
from refdec.reflect.ensemble import Ensemble, Learning, learn_ensemble
from refdec.reflect.randomness import uniforms
from refdec.reflect.schedule import on_both_sides
from refdec.reflect.side import FramedIds, Side, both_sides
from refdec.reflect.weights import SOLVERS
from refdec.results import Context
from refdec.settings import FingerprintSettings
from refdec.tasks.fingerprint import Fingerprint, SideFingerprint
from refdec.tasks.frame import FRAMES, Frame
from refdec.tasks.signature import signature
from refdec.text.cleaning import clean
from refdec.text.quoting import quoting

Stage = Callable[[str], None]
"""Receives the name of each stage of the work, to show progress."""

EXPERT_BYTES = 1 << 30
"""The most memory that the features of one source after all its contexts may take."""


def silent(_: str) -> None:
    """Shows no progress."""


def prepare(
    pair: Pair, text: str, settings: FingerprintSettings, extra_tokens: int = 0
) -> tuple[str, Frame, FramedIds]:
    """The cleaned text in its frame, or an `InputError` that says why it cannot be worked on."""
    source = clean(text)
    refuse_endless(pair, source)
    frame = _frame_for(source, settings)
    framed = frame.encode(pair.tokens, source)
    if not framed.middle:
        raise InputError(f"There is nothing to rewrite in {text!r}: give a text of at least one word.")
    check_size(pair, framed, settings, extra_tokens)
    return source, frame, framed


async def contexts_of(side: Side, ids: Sequence[int], text: str, key: str, settings: FingerprintSettings) -> list[Ids]:
    """Contexts of a text on one side; those that say it again are dropped. The key addresses the random numbers."""
    tokens, shape = side.pair.tokens, (settings.contexts, settings.context_tokens)
    says_it_again = quoting(text, settings.most_quoted)

    def telling(contexts: list[Ids]) -> list[Ids]:
        texts = tokens.rough_texts(contexts) if text.isascii() else tokens.decode_all(contexts)
        return [context for context, words in zip(contexts, texts, strict=True) if not says_it_again(words)]

    draws = uniforms(settings.seed, key, f"contexts {side.name}", *shape)
    return await sample_contexts(side, ids, draws, settings.context_top_p, telling)


async def describe_side(side: Side, source: str, framed: FramedIds, settings: FingerprintSettings) -> Ensemble:
    """The ensemble of a text by itself on one side."""
    contexts = await contexts_of(side, framed.all, source, source, settings)
    return await weigh(side, framed, contexts, settings)


async def weigh(
    side: Side,
    framed: FramedIds,
    contexts: Sequence[Ids],
    settings: FingerprintSettings,
    *,
    entropy: float | None = None,
    given: int = 0,
    given_weight: float = 0.0,
) -> Ensemble:
    """The ensemble of sampled contexts; the first `given` of them are not samples but the source's true neighbours."""
    return await learn_ensemble(
        Learning(
            side,
            framed,
            contexts,
            keep=settings.kept_contexts,
            minimum_weight=settings.minimum_weight,
            entropy=settings.entropy if entropy is None else entropy,
            solve=SOLVERS[settings.solver],
            given=given,
            given_weight=given_weight,
        )
    )


async def fingerprint(pair: Pair, text: str, settings: FingerprintSettings, stage: Stage = silent) -> Fingerprint:
    """The contexts and weights of a text."""
    source, _, framed = prepare(pair, text, settings)

    stage("sampling contexts")
    ensembles = await on_both_sides(pair, lambda side: describe_side(side, source, framed, settings))
    return make_fingerprint(pair, source, settings, ensembles)


def make_fingerprint(
    pair: Pair, source: str, settings: FingerprintSettings, ensembles: Sequence[Ensemble]
) -> Fingerprint:
    description = settings.description()
    sides = {
        ensemble.side.name: SideFingerprint(
            contexts=ensemble.contexts,
            weights=tuple(ensemble.weights.tolist()),
            others=ensemble.others,
            texts=tuple(pair.tokens.decode(ids) for ids in ensemble.contexts + ensemble.others),
            top_p=ensemble.top_p,
            log_rd=ensemble.objective,
            gap=max(0.0, ensemble.gap),
        )
        for ensemble in ensembles
    }
    return Fingerprint(source, pair.name, description, sides, signature("fingerprint", pair, description))


def ensembles_of(pair: Pair, fingerprint: Fingerprint) -> list[Ensemble]:
    """The ensembles that a fingerprint was made from."""
    return [
        Ensemble(
            side=side,
            contexts=kept.contexts,
            weights=torch.tensor(kept.weights, device=side.inward.device),
            others=kept.others,
            top_p=kept.top_p,
            objective=kept.log_rd,
            gap=kept.gap,
        )
        for side in both_sides(pair)
        for kept in [fingerprint.sides[side.name]]
    ]


def shown_contexts(pair: Pair, ensembles: Sequence[Ensemble]) -> tuple[Context, ...]:
    """The kept contexts in plain words, right side first, heaviest first."""
    return tuple(
        Context(pair.tokens.decode(ids), ensemble.side.name, float(weight))
        for ensemble in ensembles
        for ids, weight in zip(ensemble.contexts, ensemble.weights, strict=True)
    )


def refuse_endless(pair: Pair, source: str) -> None:
    """Refuse a hopelessly long text before a tokenizer spends minutes on it."""
    if len(source) > pair.tokens.longest * pair.window:
        raise InputError(
            f"The text has {len(source):,} characters, and this pair reads at most {pair.window} tokens at once. "
            "Work on it sentence by sentence."
        )


def check_size(pair: Pair, framed: FramedIds, settings: FingerprintSettings, extra_tokens: int) -> None:
    """The source must fit the models' window beside a context, and its experts must fit memory."""
    frame_tokens = len(framed.left) + len(framed.right)
    limit = pair.window - settings.context_tokens - extra_tokens - frame_tokens
    if limit < 1:
        raise InputError(
            f"Contexts of {settings.context_tokens} tokens, {extra_tokens} extra ones and {frame_tokens} around the "
            f"text leave no room for it: this pair reads {pair.window} tokens at once. Lower context_tokens or shorten "
            "the text."
        )
    length = len(framed.middle)
    if length > limit:
        raise InputError(
            f"The text has {length} tokens; with contexts of {settings.context_tokens} it may have {limit} (about "
            f"{limit * 3 // 4} words) with this pair. Shorten it, or work on it sentence by sentence."
        )
    each = len(framed.all) * pair.forward.cost.width * 4
    needed = settings.contexts * each
    if needed > EXPERT_BYTES:
        most = EXPERT_BYTES // each
        raise InputError(
            f"{settings.contexts} contexts over {len(framed.all)} tokens need {needed / 2**30:.1f} GiB of memory. "
            f"Use at most {most} contexts for this text, or shorten it."
        )


def _frame_for(source: str, settings: FingerprintSettings) -> Frame:
    """The frame of the settings; none for a source with quotes inside, whose end quotes could not mark."""
    frame = FRAMES[settings.frame]
    return FRAMES["none"] if any(end in source for end in frame.ends) else frame
