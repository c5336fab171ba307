"""The echo: one more expert with a fixed share, equal to the plain equations; without a share there is none."""

from __future__ import annotations

import pytest
import torch

from refdec.lm.direction import Direction
from refdec.lm.llama import LlamaLM
from refdec.lm.pair import Pair
from refdec.reflect import reference
from refdec.reflect.calibration import calibrate_all
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.mixture import Echo, Mixture, generate, mix_all
from refdec.reflect.randomness import uniforms
from refdec.reflect.schedule import run
from refdec.reflect.side import Side
from refdec.reflect.workers import complete
from refdec.tasks.frame import FRAMES

CONTEXTS = [" he said when the rain had stopped", " and everybody was on the way", " because the last train had gone"]
WEIGHTS = torch.tensor([0.5, 0.3, 0.2])
ECHO = '"It is late." In other words,'


def question(pair: Pair, side: str, share: float, contexts: int) -> Echo:
    ids = [tuple(pair.tokens.encode(text)) for text in CONTEXTS[:contexts]]
    echo = tuple(pair.tokens.encode(ECHO))
    shared = echo[:3] if side == "left" else echo[-3:]
    framed = FRAMES["quoted"].encode(pair.tokens, "It is late.")
    return Echo(Side(pair, side), framed, echo, shared, share, ids, WEIGHTS[:contexts], entropy=3.0)


def mixture(job: Echo) -> Mixture:
    (result,) = complete(mix_all(job.side.inward, [job]))
    return result


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize(("share", "contexts"), [(0.7, 3), (0.4, 1), (0.7, 0), (1.0, 0)])
def test_the_echo_has_its_share_and_the_nucleus_is_that_of_all_experts(
    pair: Pair, side: str, share: float, contexts: int
) -> None:
    job = question(pair, side, share, contexts)
    experts = mixture(job)
    plain = reference.with_echo(share, WEIGHTS[:contexts].tolist())
    assert experts.weights.tolist() == pytest.approx(plain)
    assert experts.contexts == (job.echo, *job.contexts)
    model = job.side.inward
    near, middle, _ = job.side.inward_parts(job.framed)
    allowed = job.side.allowed(model, job.framed).tolist()
    distributions = [
        reference.mixed_logprobs(model, experts.contexts, plain, near + middle[:place], allowed)
        for place in range(len(middle))
    ]
    assert [experts.top_p] == pytest.approx(calibrate_all([torch.tensor(distributions)], [job.entropy]), abs=1e-3)


@pytest.mark.parametrize("side", ["right", "left"])
def test_texts_of_the_echo_are_those_of_a_plain_loop(pair: Pair, side: str) -> None:
    job = question(pair, side, 0.6, 2)
    experts, draws = mixture(job), uniforms(0, "text", "samples", 3, 4)
    drawn = run(pair, generate(experts, job.framed, draws, ()))
    model = job.side.inward
    near, _, _ = job.side.inward_parts(job.framed)
    allowed, plain = job.side.allowed(model, job.framed).tolist(), reference.with_echo(0.6, WEIGHTS[:2].tolist())
    for ids, row in zip(drawn, draws.tolist(), strict=True):
        assert list(ids) == reference.sample(model, experts.contexts, plain, near, row, experts.top_p, allowed)


@pytest.mark.parametrize("side", ["right", "left"])
def test_without_a_share_the_mixture_is_the_papers(pair: Pair, side: str) -> None:
    job = question(pair, side, 0.0, 3)
    paper = Ensemble(job.side, tuple(job.contexts), WEIGHTS, (), mixture(job).top_p, 0.0, 0.0)
    draws = uniforms(0, "text", "samples", 4, 5)
    echoed, plain = (
        run(pair, generate(experts, job.framed, draws, ())) for experts in (mixture(job), Mixture.of(paper))
    )
    assert echoed == plain


@pytest.mark.parametrize("direction", Direction)
def test_what_is_remembered_changes_nothing_but_rounding(pair: Pair, direction: Direction) -> None:
    model = pair.reading(direction)
    ids = pair.tokens.encode(" ".join(CONTEXTS))
    prefixes = [ids[:9], ids[:4], ids[3:8], ids[:6], []]
    plain = model.read(prefixes)
    after = torch.tensor([[5, 6, 7]] * len(prefixes))
    model.remember(ids[:4])
    try:
        known = model.read(prefixes)
        torch.testing.assert_close(known.features, plain.features, rtol=1e-3, atol=1e-3)
        for _ in range(3):
            torch.testing.assert_close(model.features(known, after), model.features(plain, after), rtol=1e-3, atol=1e-3)
            rows = torch.tensor([0, 0, 3, 1, 4])
            known, plain = (model.extend(one.select(rows), after[:, 0]) for one in (known, plain))
            torch.testing.assert_close(known.features, plain.features, rtol=1e-3, atol=1e-3)
    finally:
        model.release()


def test_a_remembered_prefix_is_not_read_again(pair: Pair) -> None:
    model, ids = pair.forward, pair.tokens.encode(" ".join(CONTEXTS))
    assert isinstance(model, LlamaLM)
    model.remember(ids[:-1])
    before = model.work.tokens
    model.remember(ids[:-1])
    model.read([ids])
    assert model.work.tokens - before == 1
    model.release()
