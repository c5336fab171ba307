"""Examples of rewording that a pair goes on from: texts, each with the same said in other words.

A pair that can read a sentence which stands before it has them in `examples.json` beside its weights; any other file of
that form can take their place. Knows no models.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from refdec.errors import InputError

FILE = "examples.json"

LINK = " In other words, "
"""The words between a text and its rewording, where a file does not name others."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Pairs of texts, each in quotes with the link between: `"A" In other words, "B"`."""

    pairs: tuple[tuple[str, str], ...]
    link: str = LINK

    @property
    def digest(self) -> str:
        """Equal for equal examples: a part of signatures."""
        return hashlib.sha256(repr((self.pairs, self.link)).encode()).hexdigest()[:8]

    def before(self, source: str) -> str:
        """What stands before a rewording of the source that is written forward; its opening quote comes next."""
        lines = "".join(f'"{text}"{self.link}"{reworded}"\n' for text, reworded in self.pairs)
        return f'{lines}"{source}"{self.link.rstrip(" ")}'

    def after(self, source: str) -> str:
        """What stands after a rewording that is written backward; its closing quote came before.

        Here the rewording comes first on a line, so the halves of the examples are swapped. A reader from right to left
        has read them before the source.
        """
        lines = "".join(f'"{reworded}"{self.link}"{text}"\n' for text, reworded in self.pairs)
        return f'{self.link}"{source}"\n{lines}'


def have_examples(forward: str | Path | None, file: str | Path | None = None) -> bool:
    """Whether a pair has examples, as far as that is known before it is loaded, by the names that `load_pair` takes."""
    return forward is None or file is not None or Path(forward, FILE).is_file()


def read_examples(path: Path) -> Examples:
    """The examples in a file: {"examples": [["text", "the same in other words"], ...], "link": ..., "used": 5}."""
    form = '{"examples": [["A text.", "The same in other words."], ...]}'
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        pairs = [(str(text), str(reworded)) for text, reworded in content["examples"]]
        used = int(content.get("used", len(pairs)))
        link = str(content.get("link", LINK))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The examples in {path} cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} has no examples that can be read. Write them as JSON: {form}") from error
    if not pairs[:used]:
        raise InputError(f"{path} has no examples. Give at least one: {form}")
    for text in (text for pair in pairs for text in pair):
        if '"' in text or "\n" in text or not text.strip():
            raise InputError(f"The example {text!r} in {path} is empty, or has a double quote or a line break in it.")
    return Examples(tuple(pairs[:used]), link)
