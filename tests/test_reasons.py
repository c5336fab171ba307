"""Explanations: tokens that are the text, surprises that are the product's, and a yardstick that scores zero."""

from __future__ import annotations

from typing import Any

import pytest

from refdec import Explanation, FingerprintSettings, Reflector
from refdec.reflect import reference
from refdec.reflect.schedule import run
from refdec.tasks.describe import ensembles_of
from refdec.tasks.frame import FRAMES
from refdec.tasks.reasons import explain_tokens
from tests.conftest import on_both_engines

SMALL: dict[str, Any] = {"contexts": 3, "context_tokens": 4, "kept_contexts": 2}
TEXTS = [
    "It rained.",
    "I 💚 it 👩‍👩‍👧!",
    "Zoë’s café: “naïve” 世界…",
    'He said "no" in 1999 (50%).',
    "a\nb",
    "Why?",
    "é",
]


@pytest.mark.parametrize("frame", FRAMES)
def test_the_tokens_joined_are_the_text(untrained: Reflector, frame: str) -> None:
    ensembles = ensembles_of(untrained.pair, untrained.fingerprint("It rained.", FingerprintSettings(**SMALL)))
    for text in TEXTS:
        tokens = run(untrained.pair, explain_tokens(untrained.pair, ensembles, FRAMES[frame], text))
        assert "".join(token.text for token in tokens) == text
        assert all(token.text and token.surprise >= -1e-4 for token in tokens)


@pytest.mark.long
@on_both_engines
def test_surprises_are_those_of_the_plain_version_in_both_directions(untrained: Reflector) -> None:
    pair, text = untrained.pair, "It rained."
    ensembles = ensembles_of(pair, untrained.fingerprint(text, FingerprintSettings(**SMALL)))
    framed = FRAMES["none"].encode(pair.tokens, text)
    expected = [0.0] * len(framed.middle)
    for ensemble in ensembles:
        side = ensemble.side
        allowed = side.allowed(side.inward, framed).tolist()
        order = side.inward.direction.arrange(framed.all)
        places = side.inward.direction.arrange(range(len(order)))
        for number, (place, token) in enumerate(zip(places, order, strict=True)):
            mixed = reference.mixed_logprobs(
                side.inward, ensemble.contexts, ensemble.weights.tolist(), order[:number], allowed
            )
            expected[place] -= mixed[token] / 2
    found = [token.surprise for token in run(pair, explain_tokens(pair, ensembles, FRAMES["none"], text))]
    assert found == pytest.approx(expected, abs=1e-4)


def explanations(reflector: Reflector) -> dict[str, Explanation | None]:
    text = "We ate good food."
    sampling = SMALL | {"samples": 12, "explain": 2}
    return {
        "paraphrase": reflector.paraphrase(text, **sampling).explanation,
        "rewrite": reflector.rewrite("good food", left="We ate", right="today.", **sampling).explanation,
        "infill": reflector.infill("We ate", "today.", tokens=8, **sampling).explanation,
        "score": reflector.score(text, "We had a meal.", explain=True, **SMALL).explanation,
    }


def test_the_yardstick_comes_first_and_scores_zero(untrained: Reflector) -> None:
    labels = {"paraphrase": "source", "rewrite": "source", "infill": "nothing", "score": "reference"}
    for task, explanation in explanations(untrained).items():
        assert explanation is not None
        assert explanation.task == task
        held = {"rewrite": ("We ate ", " today."), "infill": ("We ate", "today.")}.get(task, ("", ""))
        assert (explanation.left, explanation.right) == held
        yardstick, *others = explanation.reasons
        assert (yardstick.label, yardstick.score) == (labels[task], 0)
        assert yardstick.fits == (0.0,) * len(explanation.contexts)
        assert others or task == "paraphrase"  # untrained models end no sentence
        for reason in explanation.reasons:
            assert len(reason.fits) == len(explanation.contexts)
            assert "".join(token.text for token in reason.tokens) == reason.text


def test_nothing_is_explained_where_nobody_asks(untrained: Reflector) -> None:
    assert untrained.score("We ate.", "We had a meal.", **SMALL).explanation is None
    assert untrained.infill("We ate", "today.", tokens=4, samples=1, **SMALL).explanation is None
