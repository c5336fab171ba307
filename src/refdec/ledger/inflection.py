"""Words in another form: which form of its base a word is, and other bases in the same form.

Forms are tags of the Penn treebank, as lemminflect names them. Knows single words and short phrases; no sentences.
"""

from __future__ import annotations

from functools import lru_cache

from refdec.ledger import function_words as closed

TAGS = {"n": ("NN", "NNS"), "v": ("VB", "VBD", "VBN", "VBG", "VBZ"), "a": ("JJ", "JJR", "JJS"), "r": ("RB",)}
"""The forms of each part of speech; the first is the base form."""


@lru_cache(maxsize=4096)
def forms(base: str, tag: str) -> tuple[str, ...]:
    """The spellings of a base in this form, the usual one first."""
    if tag in ("NN", "VB", "JJ", "RB"):
        return (base,)
    from lemminflect import getInflection  # its tables take a tenth of a second

    return tuple(getInflection(base, tag))


def tags(word: str, base: str, part: str) -> list[str]:
    """The forms of the base that this lower-case word may be, where it is the usual spelling."""
    return [tag for tag in TAGS.get(part, ()) if word in forms(base, tag)[:1]]


def head(words: tuple[str, ...], part: str) -> int:
    """The place of the word that changes in a phrase: "take part", "point of view", "soft drink"."""
    if part == "v":
        return 0
    preposition = next((at for at, word in enumerate(words) if at and word in closed.PREPOSITIONS), len(words))
    return preposition - 1 if part == "n" else len(words) - 1


def inflected(phrase: tuple[str, ...], part: str, tag: str) -> str | None:
    """A phrase of base forms with its head in this form; None where there is no such form."""
    if tag in ("JJR", "JJS") and len(phrase) > 1:
        return None
    at = head(phrase, part)
    spellings = forms(phrase[at], tag)
    return " ".join((*phrase[:at], spellings[0], *phrase[at + 1 :])) if spellings else None


def article(following: str) -> str:
    """ "a" or "an", by the sound that the next word begins with."""
    word = following.lower()
    if word.startswith(("hour", "honest", "honor", "honour", "heir")):
        return "an"
    long_u = ("uni", "use", "usu", "ut", "ubiq", "unanim", "uran", "urin", "uk")
    consonant = word.startswith(("eu", "one", "once", *long_u)) and not word.startswith("unin")
    return "an" if word[:1] in tuple("aeiou") and not consonant else "a"
