"""Checks that an input is text that a task can work on; anything else is refused in one sentence."""

from __future__ import annotations

import unicodedata

from refdec.errors import InputError

LAYOUT = "\n\t"
"""Control characters that are allowed in a text."""


def clean(text: str) -> str:
    """The text without white space around it, or an `InputError` that says what is wrong with it."""
    if not isinstance(text, str):
        raise InputError(f"A text is needed, not {type(text).__name__}.")
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InputError("The text is empty. Give a sentence to work on.")
    for place, character in enumerate(text, start=1):
        kind = unicodedata.category(character)
        if kind == "Cs":
            raise InputError(
                f"Character {place} of the text is half of a surrogate pair (U+{ord(character):04X}), which is not "
                "text. Was the file in an encoding other than UTF-8?"
            )
        if kind == "Cc" and character not in LAYOUT:
            raise InputError(
                f"Character {place} of the text is a control character (U+{ord(character):04X}). Remove it."
            )
    return text
