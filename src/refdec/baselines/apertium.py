"""Rule-based round trips: English through another language and back by Apertium, a program of the machine.

Texts go to a process as the Apertium stream format has them: escaped, each ended by a null character, so that no text
changes how another is read. Knows nothing of models; what the rules make of a text is taken as it is.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from refdec.baselines.method import Proposal, own_signature
from refdec.errors import ModelError
from refdec.settings import Settings, documented, setting

PROGRAM = "apertium"

AT_ONCE = 64
"""Texts that one process gets: starting one takes longer than all of them."""

MODES = {
    "spa": ("eng-spa", "spa-eng", "apertium-eng-spa"),
    "cat": ("eng-cat", "cat-eng", "apertium-eng-cat"),
    "epo": ("en-eo", "eo-en", "apertium-eo-en"),
}
"""By language: Apertium's names of the way there and of the way back, and Debian's package with both."""

_RESERVED = re.compile(r"[\\\[\]{}^$/@<>]")
"""Characters that mean something in the stream format."""

_END = ".[]"
"""The end of a text, as Apertium's own deformatters write it: a full stop that is not shown."""

_ESCAPED_OR_BLANK = re.compile(r"\\(.)|[\[\]]")


@documented
@dataclass(frozen=True, slots=True)
class ApertiumSettings(Settings):
    """Which language a text goes through."""

    task: ClassVar[str] = "apertium"

    through: str = setting("spa", "Spanish, Catalan or Esperanto", choices=tuple(MODES))


@dataclass(frozen=True)
class Apertium:
    """Apertium as it is installed here."""

    settings: ApertiumSettings
    version: str

    @classmethod
    def installed(cls, settings: ApertiumSettings) -> Apertium:
        """The program and the language data, or a `ModelError` that says what to install."""
        *modes, package = MODES[settings.through]
        if shutil.which(PROGRAM) is None:
            raise ModelError(
                f"The program {PROGRAM} is not installed. On Debian and Ubuntu: apt-get install {PROGRAM} {package}. "
                "Elsewhere see apertium.org."
            )
        installed = _call("-l").split()
        missing = [mode for mode in modes if mode not in installed]
        if missing:
            raise ModelError(
                f"Apertium has no {' and no '.join(missing)} here. On Debian and Ubuntu: apt-get install {package}."
            )
        return cls(settings, _call("-V").strip().rpartition(" ")[2])

    @property
    def signature(self) -> str:
        there, back, _ = MODES[self.settings.through]
        return own_signature(self.settings, f"apertium-{self.version}:{there}+{back}")

    def paraphrase_all(self, sources: Iterable[str]) -> Iterator[list[Proposal]]:
        there, back, _ = MODES[self.settings.through]
        texts = iter(sources)
        while group := list(itertools.islice(texts, AT_ONCE)):
            returned = translated(translated(group, there), back)
            for source, text in zip(group, returned, strict=True):
                yield [Proposal(text or source, 0.0)]  # one text, which the rules give no figure


def translated(texts: Sequence[str], mode: str) -> list[str]:
    """Texts in another language, words that Apertium does not know left as they are."""
    written = "".join(f"{_deformatted(text)}\0" for text in texts)
    answers = _call("-z", "-u", "-f", "none", mode, given=written).split("\0")
    if len(answers) <= len(texts) or any(answers[len(texts) :]):
        raise ModelError(
            f"Apertium gave {len(list(filter(None, answers))):,} texts for {len(texts):,} ({mode}). Is its "
            "installation damaged?"
        )
    return [_reformatted(answer) for answer in answers[: len(texts)]]


def _deformatted(text: str) -> str:
    """A text in the stream format, its line breaks as spaces."""
    return _RESERVED.sub(r"\\\g<0>", " ".join(text.split())) + _END


def _reformatted(answer: str) -> str:
    """The text in an answer: the end is cut off, unescaped brackets mark what was not translated, and are dropped."""
    text = _ESCAPED_OR_BLANK.sub(r"\1", answer.removesuffix(_END))
    return " ".join(text.split())


def _call(*options: str, given: str = "") -> str:
    """What the program prints."""
    done = subprocess.run([PROGRAM, *options], input=given.encode(), capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reason = said[0] if said else f"exit code {done.returncode}"
        raise ModelError(f"Apertium failed: {reason}. Try it by hand: {PROGRAM} {' '.join(options)}")
    return done.stdout.decode(errors="replace")
