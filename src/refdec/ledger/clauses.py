"""How the sentences of a text are built: where two clauses lost their "and", and where a clause has no main verb.

Looks at two aligned readings and says nothing where a word may be no verb at all. Knows nothing of meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from refdec.ledger import function_words as closed
from refdec.ledger.alignment import Alignment
from refdec.ledger.change import Change, change
from refdec.ledger.costs import COSTS
from refdec.ledger.grammar import Verb, verbs
from refdec.ledger.reading import Reading, Word

_JOINING = closed.words("and but or so")
_RELATIVE = closed.words("who which that")


def spliced(alignment: Alignment) -> Iterator[Change]:
    """A comma where the source has "and" between two clauses: "it rained and we left", "it rained, we left"."""
    source, text = alignment.source, alignment.text
    commas = [at for at, word in enumerate(text.words) if word.text == ","]
    links = [at for at, word in enumerate(source.words) if word.lower in _JOINING]
    if not commas or not links:
        return
    found = verbs(text)
    for comma in commas:
        before, after = _mates(alignment, comma)
        if before is None or after is None or not 0 < after - before < 6:
            continue
        link = next((at for at in links if before < at < after), None)
        if link is not None and _is_clause(text.words, found, comma) and _ends_clause(text.words, found, comma):
            yield change("grammar", source, (link,), text, (comma,), COSTS.grammar)
            return


def _mates(alignment: Alignment, comma: int) -> tuple[int | None, int | None]:
    """The counterparts of the nearest matched words on both sides of a place of the text."""
    known = alignment.to_source
    before = next((known[at] for at in range(comma - 1, max(-1, comma - 4), -1) if at in known), None)
    after = next((known[at] for at in range(comma + 1, min(comma + 4, len(alignment.text.words))) if at in known), None)
    return before, after


def _is_clause(words: Sequence[Word], found: Mapping[int, Verb], comma: int) -> bool:
    """Whether a subject and a verb come right after a comma, with no word that links them."""
    subject = False
    for at in range(comma + 1, min(comma + 7, len(words))):
        word = words[at]
        if at in found and "" not in found[at].tenses:
            return subject
        if word.kind == "modal":
            return subject
        if word.kind not in ("determiner", "number", "name", "content", "person", "auxiliary"):
            return False
        if word.kind == "content" and word.is_part("v") and not (word.is_part("n") or word.is_part("a")):
            return False
        subject = subject or word.kind in ("name", "content", "person")
    return False


def _ends_clause(words: Sequence[Word], found: Mapping[int, Verb], comma: int) -> bool:
    """Whether a whole sentence ends at a comma: a main verb, and no word that makes it depend on what follows."""
    for at in range(comma - 1, -1, -1):
        word = words[at]
        if word.text in ".;:!?":
            break
        if word.text in ',()“”"' or word.kind in ("link", "condition") or word.lower in closed.CONNECTIVES:
            return False
        if word.lower in closed.REPORTED or word.lower in ("as", "since", "after", "before", "until", "once", "that"):
            return False
    first = at + 1 if words[at].kind == "mark" else at
    return any(first < place < comma and "" not in verb.tenses for place, verb in found.items())


def unfinished(alignment: Alignment) -> Iterator[Change]:
    """A sentence whose only verbs are in a relative clause: "The mayor who was born in Oslo and resigned"."""
    fault = _unfinished(alignment.text)
    if fault is not None and _unfinished(alignment.source) is None:
        yield change("grammar", alignment.source, (), alignment.text, (fault,), COSTS.grammar)


def _unfinished(reading: Reading) -> int | None:
    """The relative pronoun of a sentence that has no other verb."""
    words = reading.words
    if not any(word.lower in _RELATIVE for word in words):
        return None
    found = verbs(reading)
    start = 0
    for end, word in enumerate(words):
        if word.text in ".;!?" or end == len(words) - 1:
            fault = _swallowed(words, found, start, end + 1)
            if fault is not None:
                return fault
            start = end + 1
    return None


def _swallowed(words: Sequence[Word], found: Mapping[int, Verb], start: int, end: int) -> int | None:
    relative = next((at for at in range(start + 1, end) if words[at].lower in _RELATIVE), None)
    if relative is None or words[start].lower in closed.QUESTION_WORDS or words[end - 1].text == "?":
        return None
    if any(_may_be_verb(words, found, at) for at in range(start, relative)) or _opens_with_link(words[start]):
        return None
    noun = words[relative - 1]
    if not (noun.text == "," or noun.kind in ("name", "content")):
        return None
    if noun.text == ",":
        close = next((at for at in range(relative + 1, end) if words[at].text in ",—–"), None)
        return relative if close is None else None
    inside = [at for at in range(relative + 1, end) if _may_be_verb(words, found, at)]
    if len(inside) < 2:
        sure = all("" not in found[at].tenses for at in inside if at in found)
        return relative if inside and sure and inside[0] <= relative + 2 else None
    joined = all(words[min(at, found[at].first if at in found else at) - 1].lower in ("and", "or") for at in inside[1:])
    return relative if joined else None


def _may_be_verb(words: Sequence[Word], found: Mapping[int, Verb], at: int) -> bool:
    """Whether a word may be the verb of a clause; an auxiliary counts by its verb."""
    if words[at].kind == "modal":
        return True
    verb = found.get(at)
    if verb is None or verb.tenses == {""}:
        return False
    before = words[at - 1] if at else None
    if before is None or verb.first != at or before.lower in _RELATIVE:
        return before is not None
    number = before.kind == "number" and before.lower != "one"  # "no one knows"
    noun = number or before.kind in ("determiner", "preposition") or before.lower == "to"
    return not (noun or before.lower in closed.POSSESSIVES)


def _opens_with_link(word: Word) -> bool:
    return word.kind in ("link", "condition") or word.lower in ("as", "since", "after", "before", "until", "once")
