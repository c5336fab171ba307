"""Contexts that say the source again are recognised, also where a word or the case is changed."""

from __future__ import annotations

import pytest

from refdec import Reflector
from refdec.text.overlap import copied_share
from refdec.text.quoting import quoting

SOURCE = "What should I do with my old car?"


@pytest.mark.parametrize(
    ("text", "most", "again"),
    [
        ("He asked: What should I do with my old car? Sell it.", 1.0, True),
        ("he asked what should i do with my old car", 1.0, False),
        ("he asked what should i do with my old car", 0.99, True),
        ("What could I do with my old car?", 0.7, True),
        ("What could I do with my old car?", 0.8, False),
        ("Old cars are sold at the market.", 0.1, False),
        ("", 0.0, False),
    ],
)
def test_a_share_of_the_word_pairs_tells(text: str, most: float, again: bool) -> None:
    assert quoting(SOURCE, most)(text) is again


@pytest.mark.parametrize("text", ["What, should I do!", "do with my, old car", "WHAT SHOULD my old car", "nothing"])
def test_the_share_is_that_of_the_metric(text: str) -> None:
    share = copied_share(SOURCE, text)
    says = quoting(SOURCE, share)
    assert not says(text)
    if share:
        assert quoting(SOURCE, share - 0.01)(text)


def test_one_word_is_only_quoted_by_itself() -> None:
    assert quoting("Why?", 0.5)("He said Why? and left.")
    assert not quoting("Why?", 0.5)("He said why.")


def test_other_scripts_are_words_too() -> None:
    assert quoting("Где моя машина?", 0.9)("он спросил: где моя машина")


def test_no_kept_context_says_more_of_the_source_than_allowed(reflector: Reflector) -> None:
    result = reflector.paraphrase("How do I learn to cook?", contexts=40, context_tokens=20, samples=2, most_quoted=0.4)
    says = quoting(result.source, 0.4)
    assert not any(says(context.text) for context in result.contexts)
