"""From raw generations to candidate texts.

A raw generation has a fixed number of tokens and no end of its own. The texts for the source's place are cut out of it
here: every run of whole sentences that touches the static part. Works on text; knows no ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from refdec.tasks.frame import Frame
from refdec.text.sentences import split_sentences

_BROKEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ufffd]")
"""The mark for half a character, and control characters other than line breaks."""

_BRACKETS = {")": "(", "]": "[", "}": "{"}


def extract(raw: str, side: str, frame: Frame, source: str) -> list[str]:
    """Candidates in a raw generation, the static part next to the contexts included in it."""
    body = raw[: len(raw) - len(frame.after)] if side == "right" else raw[len(frame.before) :]
    return well_formed(sentence_runs(body, side, frame.ends), source)


def sentence_runs(body: str, side: str, ends: str = "") -> list[str]:
    """Every run of whole sentences that touches the static part, longest first.

    On the right side that part is at the end and the generation's beginning may be cut off in mid-sentence; on the
    left side it is the other way round. A character of `ends` closes the text there.
    """
    if side == "right":
        tail = max((body.rfind(end) for end in ends), default=-1)
        sentences = split_sentences(body[tail + 1 :])
        whole = sentences if tail >= 0 else sentences[1:]
        return ["".join(whole[start:]) for start in range(len(whole))]
    tail = min((place for end in ends if (place := body.find(end)) >= 0), default=-1)
    sentences = split_sentences(body if tail < 0 else body[:tail])
    whole = sentences if tail >= 0 or is_closed("".join(sentences)) else sentences[:-1]
    return ["".join(whole[:stop]) for stop in range(len(whole), 0, -1)]


def word_runs(body: str, side: str, most: int) -> list[str]:
    """Every run of up to so many whole words that touches the static part, within one sentence."""
    sentences = split_sentences(body)
    if not sentences:
        return []
    near = sentences[-1] if side == "right" else sentences[0]
    words = near.split()
    if side == "right":
        whole = words if len(sentences) > 1 or body[:1].isspace() else words[1:]  # the first can be half a word
        return [" ".join(whole[len(whole) - count :]) for count in range(1, min(most, len(whole)) + 1)]
    whole = words if len(sentences) > 1 else words[:-1]
    return [" ".join(whole[:count]) for count in range(1, min(most, len(whole)) + 1)]


def is_closed(text: str) -> bool:
    """Whether a text ends as a sentence does."""
    return text.rstrip("\"'”’)] ").endswith((".", "!", "?", "…"))


def well_formed(runs: Iterable[str], source: str) -> list[str]:
    """The runs that can stand as texts in the place of a source, tidied."""
    return [text for text in (_finish(run, source) for run in runs) if is_well_formed(text, source)]


def is_well_formed(candidate: str, source: str) -> bool:
    """Whether a candidate could stand alone: it has words, no broken characters and no open brackets or quotes."""
    words = _words(candidate)
    if len(words) < min(2, len(_words(source))) or not words:
        return False
    if _BROKEN.search(candidate):
        return False
    if candidate[0] in ",;:.!?)]}%…" or candidate[-1] in ",;:([{-–—&":
        return False
    return _is_balanced(candidate) or not _is_balanced(source)


def _finish(run: str, source: str) -> str:
    """A run, tidied; a comma before a closing quote stands for the full stop there ("I agree," she said)."""
    text = re.sub(r"\s+", " ", run).strip() if "\n" not in source else run.strip()
    if text.endswith(",") and not source.endswith(("?", "!")):
        text = text[:-1] + ("." if source.endswith(".") else "")
    return text


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _is_balanced(text: str) -> bool:
    open_brackets: list[str] = []
    for character in text:
        if character in _BRACKETS.values():
            open_brackets.append(character)
        elif character in _BRACKETS and (not open_brackets or open_brackets.pop() != _BRACKETS[character]):
            return False
    return not open_brackets and text.count('"') % 2 == 0
