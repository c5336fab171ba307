"""Numbers and texts as they stand in every part of the page."""

from __future__ import annotations

from html import escape

from refdec.results import Explanation, Reason

LEVELS = (1.0, 3.0, 8.0, 20.0)  # nats from the yardstick at which the colour of a fit changes


def yardstick(explanation: Explanation) -> str:
    """The name of the text that numbers are compared with, as it stands in a sentence."""
    label = explanation.reasons[0].label
    return label if label == "nothing" else f"the {label}"


def plain(reason: Reason) -> str:
    return escape(reason.text) or '<i class="nothing">nothing</i>'


def beside(text: str, side: str) -> str:
    """A context, with … where the text stands."""
    return f"{text} …" if side == "left" else f"… {text}"


def level(value: float) -> int:
    """-4 to 4: how far, and in which direction, a number is from the yardstick."""
    steps = sum(abs(value) >= bound for bound in LEVELS)
    return steps if value > 0 else -steps


def nats(value: float, digits: int = 1) -> str:
    return f"{value:+z.{digits}f}"
