"""Steering inside the product: what may be said next, given what has been said.

Each rule here changes the log-probabilities of the next token, before one is drawn, in either direction of
reading. The rules make it likely that a text satisfies its constraints; whether it does is checked on the text
itself afterwards (`constraints.py`), because a tokenizer can spell a word in more than one way.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch

from refdec.lm.direction import Direction
from refdec.lm.tokens import Tokens
from refdec.reflect.sampling import Steer
from refdec.tasks.constraints import Constraints
from refdec.text.words import bare_words

LOOK = 64
"""Only this many most probable tokens are held against rules on text: the nucleus rarely has more."""

PLAUSIBLE = 10.0
"""A phrase to keep is pushed forward where its first token is at most this many times less probable than the best.

From the place on that it has in the source, more and more is plausible.
"""


@dataclass(frozen=True)
class Edge:
    """The text around the place where the next token goes: the held part, and what has been said after it."""

    tokens: Tokens
    direction: Direction
    held: str  # the static part next to the contexts, in text order

    def text(self, said: Sequence[int]) -> str:
        return self.join(self.tokens.decode(self.direction.arrange(said)), self.held)

    def ends_with(self, text: str, phrase: str) -> bool:
        """Whether a phrase stands at the growing end of a text."""
        return text.endswith(phrase) if self.direction is Direction.FORWARD else text.startswith(phrase)

    def join(self, new: str, old: str) -> str:
        """A new piece on the growing end of an old text."""
        return old + new if self.direction is Direction.FORWARD else new + old


@dataclass(frozen=True)
class Avoid:
    """Tokens that would complete a word to avoid are not drawn."""

    edge: Edge
    constraints: Constraints

    def __call__(self, said: Sequence[int], logprobs: torch.Tensor, left: int) -> torch.Tensor:  # noqa: ARG002
        text = self.edge.text(said)
        already = set(self.constraints.unwanted(text))
        return _without(
            logprobs,
            [
                token
                for token in _likely(logprobs)
                if set(self.constraints.unwanted(self.edge.join(self.edge.tokens.text(token), text))) - already
            ],
        )


@dataclass(frozen=True)
class NoRepeat:
    """Word sequences of a length that stand in the surroundings are not said again.

    Nor are shorter ones, by a word, that were said since: a sentence is no place to say "the flower" twice.
    """

    edge: Edge
    surroundings: Sequence[str]
    length: int
    known: set[tuple[str, ...]] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        for text in self.surroundings:
            self.known.update(_sequences(bare_words(text), self.length))

    def __call__(self, said: Sequence[int], logprobs: torch.Tensor, left: int) -> torch.Tensor:  # noqa: ARG002
        forward = self.edge.direction is Direction.FORWARD
        own = bare_words(self.edge.tokens.decode(self.edge.direction.arrange(said)))
        before = bare_words(self.edge.held)
        words = before + own if forward else own + before
        last = _completions(self.known, words, forward)
        if self.length > 2:
            last |= _completions(set(_sequences(own, self.length - 1)), own, forward)
        banned = []
        for token in _likely(logprobs) if last else ():
            piece = self.edge.tokens.text(token)
            word = bare_words(piece)
            starts_word = piece[:1] == " " or not forward  # read backward, the last piece of a word comes first
            if word and starts_word and any(_begins(item, word[0] if forward else word[-1], forward) for item in last):
                banned.append(token)
        return _without(logprobs, banned)


@dataclass(frozen=True)
class Keep:
    """Phrases to keep are begun where they are plausible, surely by their place in the source, and then finished."""

    edge: Edge
    constraints: Constraints
    stops: Collection[int]  # tokens that end a text; not where something can still be said
    source: list[int]  # in reading order: where a phrase stands in it is where it is expected
    expected: int  # tokens that a text of this kind has

    def __call__(self, said: Sequence[int], logprobs: torch.Tensor, left: int) -> torch.Tensor:
        text = self.edge.text(said)
        missing = self.constraints.lacking(text)
        done = {self._opening(phrase) for phrase in self.constraints.complete(text)}
        logprobs = _without(logprobs, done - {self._opening(phrase) for phrase in missing})
        if said and any(self.edge.ends_with(text, phrase) for phrase in self.constraints.keep):
            logprobs = self._closed(logprobs)
        if not missing:
            return logprobs
        spellings = {phrase: self._spellings[phrase] for phrase in missing}
        begun = [
            (spelling, progress)
            for forms in spellings.values()
            for spelling in forms
            if (progress := _progress(said, spelling))
        ]
        must = [spelling[progress] for spelling, progress in begun if self._inside_word(spelling, progress)]
        if must:
            return _only(logprobs, must)
        if begun:
            return _at_least(logprobs, {spelling[progress] for spelling, progress in begun}, 0.5)
        if not self._between_words(text):
            return logprobs
        logprobs = _without(logprobs, self.stops)
        for phrase, forms in spellings.items():
            first = {spelling[0] for spelling in forms}
            if left <= sum(len(self._spellings[other][0]) for other in missing):
                return _only(logprobs, first)
            place = self._places[phrase]
            late = len(said) - place
            if said and place and self.source[place - 1 : place] == list(said[-1:]):
                share, plausible = 0.9, math.inf  # what comes before it in the source has just been said
            else:
                share, plausible = 1 / (1 + max(0, -late)), PLAUSIBLE if late < 0 else 1e3 * 1e2 ** min(late, 99)
            logprobs = _at_least(logprobs, first, share, plausible)
        return logprobs

    @cached_property
    def _places(self) -> dict[str, int]:
        """How many tokens come before each phrase in the source; half of a text for one that is not in it."""
        return {
            phrase: next((place for form in forms for place in _occurrences(self.source, form)), self.expected // 2)
            for phrase, forms in self._spellings.items()
        }

    def _between_words(self, text: str) -> bool:
        """Whether a phrase can begin here; read backward, not where the word that was said last may go on."""
        return self.edge.direction is Direction.FORWARD or not text[:1].isalnum()

    def _closed(self, logprobs: torch.Tensor) -> torch.Tensor:
        """Without tokens that would go on with a phrase that has just been said: 15 is not to become 150."""
        touching = 0 if self.edge.direction is Direction.FORWARD else -1
        pieces = ((token, self.edge.tokens.text(token)) for token in _likely(logprobs))
        return _without(logprobs, [token for token, piece in pieces if piece and piece[touching].isalnum()])

    @cached_property
    def _spellings(self) -> dict[str, list[tuple[int, ...]]]:
        """For each phrase its tokens in reading order, within a text and at the beginning of one.

        A phrase that has begun in the held part (its end and the closing quote can be one token) is to be finished.
        """
        tokens, arrange = self.edge.tokens, self.edge.direction.arrange
        return {
            phrase: [tuple(arrange(tokens.encode(form))) for form in (" " + rest, rest)]
            for phrase in self.constraints.keep
            for rest in [self._rest(phrase)]
        }

    def _opening(self, phrase: str) -> int:
        """The first token of a phrase that is more than the space before it, which other words share."""
        spelling = self._spellings[phrase][0]
        return next((token for token in spelling if self.edge.tokens.text(token).strip()), spelling[0])

    def _rest(self, phrase: str) -> str:
        for size in range(len(phrase) - 1, 0, -1):
            if self.edge.direction is Direction.FORWARD and self.edge.held.endswith(phrase[:size]):
                return phrase[size:]
            if self.edge.direction is Direction.BACKWARD and self.edge.held.startswith(phrase[-size:]):
                return phrase[:-size]
        return phrase

    def _inside_word(self, spelling: Sequence[int], progress: int) -> bool:
        """Whether the next token goes on with a word, or with a number after its space, that has begun."""
        last, coming = (self.edge.tokens.text(spelling[index]) for index in (progress - 1, progress))
        if self.edge.direction is Direction.BACKWARD:
            return last[:1] != " "
        return coming[:1] != " "


def _sequences(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]


def _completions(known: Collection[tuple[str, ...]], words: Sequence[str], forward: bool) -> set[str]:
    """The words that would complete a known sequence at the growing end of others."""
    found = set()
    for row in known:
        rest, size = (row[:-1] if forward else row[1:]), len(row) - 1
        near = tuple(words[len(words) - size :] if forward else words[:size])
        if near == rest:
            found.add(row[-1] if forward else row[0])
    return found


def all_of(steers: Sequence[Steer]) -> Steer | None:
    """Several rules as one, applied in order."""
    if not steers:
        return None

    def steer(said: Sequence[int], logprobs: torch.Tensor, left: int) -> torch.Tensor:
        for rule in steers:
            logprobs = rule(said, logprobs, left)
        return logprobs

    return steer


def _likely(logprobs: torch.Tensor) -> list[int]:
    found: list[int] = logprobs.topk(min(LOOK, len(logprobs))).indices.tolist()
    return found


def _without(logprobs: torch.Tensor, banned: Collection[int]) -> torch.Tensor:
    if not banned:
        return logprobs
    return logprobs.index_fill(0, _index(logprobs, banned), -torch.inf).log_softmax(-1)


def _only(logprobs: torch.Tensor, wanted: Collection[int]) -> torch.Tensor:
    index = _index(logprobs, wanted)
    result = torch.full_like(logprobs, -torch.inf)
    # A token that the product rules out can still be wanted: the lowest finite value stands for it.
    result[index] = logprobs[index].clamp(min=-1e4)
    return result.log_softmax(-1)


def _at_least(
    logprobs: torch.Tensor, wanted: Collection[int], share: float, plausible: float = math.inf
) -> torch.Tensor:
    """The wanted tokens raised together to a share of all, less if they are not nearly as probable as the best one."""
    index = _index(logprobs, wanted)
    mass = float(logprobs[index].exp().sum())
    target = min(share, 0.99) * min(1.0, plausible * mass / float(logprobs.max().exp()))
    if mass >= target or mass <= 0:
        return logprobs
    # Odds of the wanted tokens against all others, from mass to target.
    raised = logprobs.clone()
    raised[index] += math.log(target / (1 - target) * (1 - mass) / mass)
    return raised.log_softmax(-1)


def _index(logprobs: torch.Tensor, tokens: Collection[int]) -> torch.Tensor:
    return torch.tensor(sorted(tokens), device=logprobs.device)


def _occurrences(ids: Sequence[int], part: Sequence[int]) -> list[int]:
    return [at for at in range(len(ids) - len(part) + 1) if tuple(ids[at : at + len(part)]) == tuple(part)]


def _progress(said: Sequence[int], spelling: Sequence[int]) -> int:
    """How many tokens of a spelling, not all of them, stand at the end of what was said."""
    for size in range(min(len(said), len(spelling) - 1), 0, -1):
        if tuple(said[len(said) - size :]) == tuple(spelling[:size]):
            return size
    return 0


def _begins(word: str, piece: str, forward: bool) -> bool:
    return word.startswith(piece) if forward else word.endswith(piece)
