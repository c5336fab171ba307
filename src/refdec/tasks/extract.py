"""From raw generations to candidate texts.

A raw generation has a fixed number of tokens and knows no end. What it says in the source's place is cut out
of it here: every run of whole sentences that touches the static part. Text only; knows no ids.
"""

from __future__ import annotations

import re
import unicodedata

from refdec.tasks.frame import Frame
from refdec.tasks.sentences import split_sentences

_BRACKETS = {")": "(", "]": "[", "}": "{"}


def extract(raw: str, side: str, frame: Frame, source: str) -> list[str]:
    """Candidates in a raw generation, the static part next to the contexts included in it.

    On the right side that part is at the end and the generation's beginning may be cut off in mid-sentence;
    on the left side it is the other way round.
    """
    ends = frame.ends
    if side == "right":
        body = raw[: len(raw) - len(frame.after)] if frame.after else raw
        tail = max((body.rfind(end) for end in ends), default=-1)
        sentences = split_sentences(body[tail + 1 :])
        whole = sentences if tail >= 0 else sentences[1:]
        runs = ["".join(whole[start:]) for start in range(len(whole))]
    else:
        body = raw[len(frame.before) :]
        tail = min((place for end in ends if (place := body.find(end)) >= 0), default=-1)
        sentences = split_sentences(body if tail < 0 else body[:tail])
        whole = sentences if tail >= 0 or _is_closed(sentences) else sentences[:-1]
        runs = ["".join(whole[:stop]) for stop in range(len(whole), 0, -1)]
    candidates = (_finish(run, source) for run in runs)
    return [candidate for candidate in candidates if is_well_formed(candidate, source)]


def is_well_formed(candidate: str, source: str) -> bool:
    """Whether this could stand as a text of its own: words in it, nothing broken, nothing left open."""
    words = _words(candidate)
    if len(words) < min(2, len(_words(source))) or not words:
        return False
    if "\ufffd" in candidate or any(
        unicodedata.category(character) == "Cc" for character in candidate.replace("\n", "")
    ):
        return False
    if candidate[0] in ",;:.!?)]}%…" or candidate[-1] in ",;:([{-–—&":
        return False
    return _is_balanced(candidate) or not _is_balanced(source)


def _finish(run: str, source: str) -> str:
    """A comma before a closing quote stands for the full stop there ("I agree," she said)."""
    text = re.sub(r"\s+", " ", run).strip() if "\n" not in source else run.strip()
    if text.endswith(",") and not source.endswith(("?", "!")):
        text = text[:-1] + ("." if source.endswith(".") else "")
    return text


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _is_closed(sentences: list[str]) -> bool:
    return bool(sentences) and sentences[-1].rstrip().endswith((".", "!", "?", "…"))


def _is_balanced(text: str) -> bool:
    open_brackets: list[str] = []
    for character in text:
        if character in _BRACKETS.values():
            open_brackets.append(character)
        elif character in _BRACKETS and (not open_brackets or open_brackets.pop() != _BRACKETS[character]):
            return False
    return not open_brackets and text.count('"') % 2 == 0
