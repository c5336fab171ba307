"""Words that a result must keep or avoid, and the numbers, names and placeholders of a source that can be kept.

A text either satisfies its constraints or is not returned. Knows text only; `steer.py` steers generations towards them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from refdec.errors import InputError
from refdec.text.cleaning import clean
from refdec.text.sentences import split_sentences

_NUMBER = re.compile(r"(?<![\w.])(?<!\d[.,:/])[-−]?[$€£¥₹]?\.?\d+(?:[.,:/]\d+)*%?(?!\w|[.,:/]\d)")
_PLACEHOLDER = re.compile(
    r"\{\{[^{}\s]+\}\}|\{[^{}\s]*\}|</?[A-Za-z][^<>\n]*>|%\([^)\s]+\)[sdf]|%[sdf]\b|\$\{[^{}\s]+\}"
)
_CAPITAL = "[" + "".join(filter(str.isupper, map(chr, range(0x590)))) + "]"  # Latin, Greek, Cyrillic, Armenian
_CAPITALISED = re.compile(rf"(?<!\w)(?:{_CAPITAL}\w*(?:['’][^\W\d]\w*)*|\w*[a-z]{_CAPITAL}\w*)(?:[-&]{_CAPITAL}\w*)*")
_NO_NAME = frozenset(
    """i i'm i've i'll i'd a an the this that these those he she it we you they his her its our
    your their my mr mrs ms dr and or but if in on at to of for from with by as is are was
    were be do does did can could will would should shall may might must have has had how
    what when where which who whom whose why there here not no yes so then than while
    after before because although once please let some any all every each most many much
    few also just""".split()  # noqa: SIM905
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a result must say and must not say.

    Attributes:
        keep: phrases that a result contains as they are written
        avoid: words that a result does not contain, in upper or lower case
        automatic: kinds of phrases of the source that are kept: "numbers", "names" (capitalised words that do not begin
            a sentence, and runs of them), "placeholders" such as {name}, <b> or %s
    """

    keep: Sequence[str] = ()
    avoid: Sequence[str] = ()
    automatic: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("keep", "avoid", "automatic"):
            object.__setattr__(self, name, _phrases(getattr(self, name), name))
        for kind in self.automatic:
            if kind not in FINDERS:
                raise InputError(f"automatic has {kind!r}; choose from {', '.join(FINDERS)}.")
        for phrase in self.keep:
            for word in self.avoid:
                if _avoided(word).search(phrase):
                    raise InputError(f"{phrase!r} must be kept, and {word!r} in it must be avoided. Drop one of them.")

    def __bool__(self) -> bool:
        return bool(self.keep or self.avoid or self.automatic)

    def on(self, source: str) -> Constraints:
        """The constraints for one source: what is kept automatically becomes phrases to keep."""
        phrases = [phrase for kind in self.automatic for phrase in FINDERS[kind](_composed(source))]
        added = Counter(phrases) - Counter(self.keep)
        return replace(self, keep=(*self.keep, *added.elements()), automatic=())

    def lacking(self, text: str) -> list[str]:
        """The phrases that a text still lacks, each as often as it is missing."""
        return [phrase for phrase, wanted in Counter(self.keep).items() for _ in range(wanted - _times(phrase, text))]

    def complete(self, text: str) -> list[str]:
        """The placeholders that a text has often enough and must not repeat: a program fills each of them in."""
        counts = Counter(phrase for phrase in self.keep if _PLACEHOLDER.fullmatch(phrase))
        return [phrase for phrase, wanted in counts.items() if _times(phrase, text) >= wanted]

    def unwanted(self, text: str) -> list[str]:
        """The words to avoid that a text contains."""
        return [word for word in self.avoid if _avoided(word).search(_composed(text))]

    def failures(self, text: str) -> list[str]:
        """Why a text cannot be returned, in a few words per reason; empty where it can."""
        missing = [f"lacks {phrase!r}" for phrase in dict.fromkeys(self.lacking(text))]
        wanted = Counter(self.keep)
        repeated = [f"repeats {phrase!r}" for phrase in self.complete(text) if _times(phrase, text) > wanted[phrase]]
        return missing + repeated + [f"says {word!r}" for word in self.unwanted(text)]

    def describe(self) -> str:
        """The constraints in a signature: equal constraints give equal text."""
        named = (("keep", self.keep), ("avoid", self.avoid), ("automatic", self.automatic))
        return ";".join(f"{name}={','.join(map(repr, phrases))}" for name, phrases in named if phrases) or "none"


def numbers(text: str) -> list[str]:
    """Numbers with their sign, currency, decimals and percent sign."""
    return _NUMBER.findall(_prose(text))


def names(text: str) -> list[str]:
    """Capitalised words, neighbours joined.

    The first word of a sentence counts only if it has a capital inside ("iPhone", "NASA") or if another name follows it
    ("Barack Obama").
    """
    result: list[str] = []
    for sentence in split_sentences(_prose(text)):
        run: list[re.Match[str]] = []
        for match in [*_CAPITALISED.finditer(sentence), None]:
            if match and run and sentence[run[-1].end() : match.start()] == " ":
                run.append(match)
                continue
            result += _name(sentence, run)
            run = [match] if match else []
    return result


def placeholders(text: str) -> list[str]:
    """Text that a program will fill in or render: {name}, {{name}}, ${name}, %s, %(name)s, <b>, </b>."""
    return _PLACEHOLDER.findall(text)


FINDERS = {"numbers": numbers, "names": names, "placeholders": placeholders}


def _prose(text: str) -> str:
    """The text with its placeholders emptied."""
    return _PLACEHOLDER.sub("{}", text)


def _name(sentence: str, run: list[re.Match[str]]) -> list[str]:
    """The name that a run of capitalised words is, or nothing."""
    named = [place for place, word in enumerate(run) if word.group().replace("’", "'").lower() not in _NO_NAME]
    if not named:
        return []
    run = run[named[0] : named[-1] + 1]
    first = not sentence[: run[0].start()].strip("\"'“‘([ ")
    if first and len(run) == 1 and not any(letter.isupper() for letter in run[0].group()[1:]):
        return []
    text = sentence[run[0].start() : run[-1].end()]
    return [re.sub(r"['’]s$", "", text)]


def _phrases(given: Iterable[str], name: str) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InputError(f"{name} takes a list of texts, not a single one: [{given!r}].")
    if not isinstance(given, Iterable):
        raise InputError(f"{name} takes a list of texts, not {type(given).__name__}.")
    phrases = []
    for phrase in given:
        try:
            text = _composed(clean(phrase))
        except InputError as error:
            raise InputError(f"A text to {name} cannot be used: {error}") from None
        if "\n" in text:
            raise InputError(f"{text!r} cannot be in {name}: it contains a line break.")
        phrases.append(text)
    return tuple(phrases)


def _composed(text: str) -> str:
    """Text with one spelling for accented letters, for which Unicode has two."""
    return unicodedata.normalize("NFC", text)


def _times(phrase: str, text: str) -> int:
    """How often a text contains a phrase to keep; {{x}} does not contain {x}."""
    if _PLACEHOLDER.fullmatch(phrase):
        return placeholders(_composed(text)).count(phrase)
    return len(_bounded(phrase, 0).findall(_composed(text)))


def _avoided(word: str) -> re.Pattern[str]:
    return _bounded(word, re.IGNORECASE)


def _bounded(phrase: str, flags: int) -> re.Pattern[str]:
    """A pattern for a phrase by itself: "art" does not match in "party", nor 5 in 15, 2.5 or 5,000."""
    before = r"(?<!\w)" if re.match(r"\w", phrase) else ""
    after = r"(?!\w)" if re.search(r"\w$", phrase) else ""
    if re.match(r"\d+(?!\w)", phrase):
        before += r"(?<!\d[.,:/])"
    if re.search(r"(?<!\w)\d+$", phrase):
        after += r"(?![.,:/]\d)"
    body = r"\s+".join(map(re.escape, phrase.split()))
    return re.compile(before + body + after, flags)


NONE = Constraints()
