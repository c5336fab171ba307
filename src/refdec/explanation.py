"""Why a result is what it is, in one form for every task: contexts, fits and surprises.

Plain data: the terminal table and the HTML page are made from it, and know nothing else of the task.
"""

from __future__ import annotations

from dataclasses import dataclass

from refdec.results import Context


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text and how surprising it is in its place, in nats, mean of both reading directions."""

    text: str  # with the space before it, if it has one: joined, the tokens are the text
    surprise: float


@dataclass(frozen=True, slots=True)
class Reason:
    """What speaks for and against one text."""

    text: str
    label: str  # what it is to the reader: "source", "reference", "nothing", or "" for a candidate
    score: float  # nats against the yardstick, which is the reason with the label
    fits: tuple[
        float, ...
    ]  # one for each context: its log-probability next to this text less that next to the yardstick
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One view for all tasks. The first reason is the yardstick: the text that scores zero by definition.

    paraphrase and rewrite: the source itself. score: the reference. infill: the empty hypothesis, with no tokens.
    """

    task: str  # "paraphrase", "infill", "rewrite" or "score"
    left: str  # text that was held before the place, "" where there is none
    right: str  # text that was held after it
    contexts: tuple[Context, ...]
    reasons: tuple[Reason, ...]  # the yardstick, then candidates, best first
    signature: str
