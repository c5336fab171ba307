"""The shipped path against the plain reference, on the real weights, over a grid of shapes: 1e-4 nats."""

from __future__ import annotations

import pytest
import torch

from refdec import Pair
from refdec.reflect import reference
from refdec.reflect.calibration import calibrate_all
from refdec.reflect.contexts import inward_source, read_sources
from refdec.reflect.product import at_tokens, mix, normalise
from refdec.reflect.schedule import run
from refdec.reflect.scoring import fits
from refdec.reflect.side import FramedIds, Side
from refdec.reflect.weights import Problem, newton
from refdec.tasks.frame import FRAMES

TOLERANCE = 1e-4
WORDS = " said the old man when the rain had stopped and everybody was on the way home again"


def framed(pair: Pair, text: str, frame: str) -> FramedIds:
    return FRAMES[frame].encode(pair.tokens, text)


def some_contexts(pair: Pair, count: int, length: int) -> list[tuple[int, ...]]:
    ids = pair.tokens.encode(WORDS)
    return [tuple(ids[start : start + length]) for start in range(count)]


@pytest.mark.parametrize("side_name", ["right", "left"])
@pytest.mark.parametrize(("text", "frame"), [("Why?", "none"), ("Is it far?", "quoted"), ("We are late.", "paragraph")])
@pytest.mark.parametrize(("count", "length"), [(1, 1), (3, 5)])
def test_log_rd_and_calibration_agree(
    pair: Pair, side_name: str, text: str, frame: str, count: int, length: int
) -> None:
    side, source = Side(pair, side_name), framed(pair, text, frame)
    contexts = some_contexts(pair, count, length)
    allowed = side.allowed(side.inward, source)
    tokens = torch.tensor(inward_source(side, source))
    arrange = side.inward.direction.arrange
    (experts,) = read_sources(side.inward, [([arrange(context) for context in contexts], tokens.tolist())])
    head = side.inward.head
    (learned,) = newton(head, [Problem(experts, tokens, allowed)])
    mixed = normalise(head.logits(mix(learned.weights, experts)), allowed)
    plain = reference.log_rd(side.inward, contexts, learned.weights.tolist(), source.all, allowed.tolist())
    assert float(at_tokens(mixed, tokens).double().sum()) == pytest.approx(plain, abs=TOLERANCE)
    assert learned.objective == pytest.approx(plain, abs=TOLERANCE)
    near, middle, _ = side.inward_parts(source)
    source_part = mixed[len(near) : len(near) + len(middle)]
    order = side.inward.direction.arrange(source.all)
    plain_part = [
        reference.mixed_logprobs(side.inward, contexts, learned.weights.tolist(), order[:place], allowed.tolist())
        for place in range(len(near), len(near) + len(middle))
    ]
    (top_p,) = calibrate_all([source_part], [4.0])
    shipped = reference.truncated_entropy(source_part.tolist(), top_p)
    assert shipped == pytest.approx(reference.truncated_entropy(plain_part, top_p), abs=TOLERANCE)


@pytest.mark.parametrize("side_name", ["right", "left"])
@pytest.mark.parametrize("texts", [["Is it far?"], ["Why?", "Where do all of these people come from?", "Is it far?"]])
@pytest.mark.parametrize(("count", "length"), [(1, 1), (2, 6)])
def test_scores_agree_whatever_shares_the_batch(
    pair: Pair, side_name: str, texts: list[str], count: int, length: int
) -> None:
    side = Side(pair, side_name)
    contexts = some_contexts(pair, count, length)
    candidates = [FRAMES["quoted"].encode(pair.tokens, text).all if text != "Why?" else (5, 6) for text in texts]
    scored = run(pair, fits(side, contexts, candidates)).double().mean(1)
    for row, candidate in enumerate(candidates):
        plain = reference.score(side.outward, contexts, candidate)
        assert float(scored[row]) == pytest.approx(plain, abs=TOLERANCE)


def test_the_backward_model_reads_from_the_right(pair: Pair) -> None:
    """On the right side the source is read last token first; on the left side in text order."""
    source = framed(pair, "Is it far?", "quoted")
    assert inward_source(Side(pair, "right"), source) == list(reversed(source.all))
    assert inward_source(Side(pair, "left"), source) == list(source.all)
