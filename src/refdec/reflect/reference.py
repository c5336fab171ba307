"""The method as the paper writes it, with no regard for speed.

Every probability is read from the model with a fresh, uncached prefix; every sum is a loop. The shipped path is
tested against this file, and this file can be checked against the paper with a pencil. Ids are in text order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from refdec.lm import logprobs as lm_logprobs
from refdec.lm.protocol import LanguageModel


def next_logprobs(model: LanguageModel, seen: Sequence[int]) -> list[float]:
    """log LM(t | seen) for every token t; `seen` in the model's reading order."""
    return [float(value) for value in lm_logprobs.next_logprobs(model, model.read([list(seen)]))[0]]


def mixed_logprobs(
    model: LanguageModel,
    contexts: Sequence[Sequence[int]],
    weights: Sequence[float],
    seen: Sequence[int],
    allowed: Sequence[bool],
) -> list[float]:
    """Equation 6: the renormalised product over contexts, for the token after `seen` (in reading order)."""
    arrange = model.direction.arrange
    experts = [next_logprobs(model, arrange(context) + list(seen)) for context in contexts]
    product = [
        sum(weight * expert[token] for weight, expert in zip(weights, experts, strict=True))
        for token in range(model.vocabulary)
    ]
    normaliser = math.log(sum(math.exp(value) for value, use in zip(product, allowed, strict=True) if use))
    return [value - normaliser if use else -math.inf for value, use in zip(product, allowed, strict=True)]


def log_rd(
    model: LanguageModel,
    contexts: Sequence[Sequence[int]],
    weights: Sequence[float],
    text: Sequence[int],
    allowed: Sequence[bool],
) -> float:
    """Equation 2: log RD(text), token by token in the model's reading order."""
    order = model.direction.arrange(text)
    return sum(
        mixed_logprobs(model, contexts, weights, order[:place], allowed)[token] for place, token in enumerate(order)
    )


def with_echo(share: float, weights: Sequence[float]) -> list[float]:
    """Weights of the echo, which has a fixed share, and of the contexts, which have the rest; the echo comes first.

    The echo is a context like the others: it goes before theirs into the product.
    """
    return [share, *((1 - share) * weight / sum(weights) for weight in weights)] if weights else [1.0]


def nucleus(logprobs: Sequence[float], top_p: float) -> list[int]:
    """The fewest most probable tokens whose mass reaches top_p, most probable first."""
    order = sorted(range(len(logprobs)), key=lambda token: -logprobs[token])
    mass, chosen = 0.0, []
    for token in order:
        chosen.append(token)
        mass += math.exp(logprobs[token])
        if mass >= top_p:
            break
    return chosen


def draw(logprobs: Sequence[float], top_p: float, uniform: float) -> int:
    """The token of the nucleus at which its cumulative distribution passes a uniform number."""
    chosen = nucleus(logprobs, top_p)
    target = uniform * sum(math.exp(logprobs[token]) for token in chosen)
    mass = 0.0
    for token in chosen:
        mass += math.exp(logprobs[token])
        if mass > target:
            return token
    return chosen[-1]


def truncated_entropy(distributions: Sequence[Sequence[float]], top_p: float) -> float:
    """Appendix B: the summed entropy of the nuclei of some log-probability distributions."""
    total = 0.0
    for logprobs in distributions:
        probabilities = [math.exp(logprobs[token]) for token in nucleus(logprobs, top_p)]
        mass = sum(probabilities)
        total -= sum(p / mass * math.log(p / mass) for p in probabilities if p > 0)
    return total


def sample(
    model: LanguageModel,
    contexts: Sequence[Sequence[int]],
    weights: Sequence[float],
    near: Sequence[int],
    uniform: Sequence[float],
    top_p: float,
    allowed: Sequence[bool],
) -> list[int]:
    """A generation after the static part `near` (in reading order), one token per uniform number; text order."""
    seen = list(near)
    for number in uniform:
        seen.append(draw(mixed_logprobs(model, contexts, weights, seen, allowed), top_p, number))
    return model.direction.arrange(seen[len(near) :])


def score(outward: LanguageModel, contexts: Sequence[Sequence[int]], framed: Sequence[int]) -> float:
    """One side of equation 3, in log-probabilities: the mean over contexts of log LM(context | framed text)."""
    arrange = outward.direction.arrange
    total = 0.0
    for context in contexts:
        seen = arrange(framed)
        for token in arrange(context):
            total += next_logprobs(outward, seen)[token]
            seen.append(token)
    return total / len(contexts)
