"""Steering inside the product: which token may come next, given the tokens generated so far.

Each rule changes the log-probabilities of the next token before it is drawn, in either reading direction. The rules
make it likely that a text satisfies its constraints. `constraints.py` checks the finished text, because a tokenizer can
spell a word in more than one way.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from refdec.lm.direction import Direction
from refdec.lm.tokens import Tokens
from refdec.reflect.particles import Steer
from refdec.tasks.constraints import Constraints
from refdec.text.words import bare_words, ngrams

LOOK = 64
"""Rules on text look at this many of the most probable tokens: the nucleus rarely has more."""

PLAUSIBLE = 10.0
"""A phrase to keep is made likelier where its first token is at most this many times less probable than the best one.

The limit grows from the place on where the phrase stands in the source.
"""


@dataclass(frozen=True)
class Edge:
    """The text next to which the next token goes: the held part, and the tokens generated after it."""

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
    """Does not draw tokens that would complete a word to avoid."""

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
    """Does not repeat word sequences of this length from the surroundings.

    Nor sequences shorter by one word that were generated before: a sentence should not say "the flower" twice.
    """

    edge: Edge
    surroundings: Sequence[str]
    length: int

    @cached_property
    def sequences(self) -> set[tuple[str, ...]]:
        """Those of the surroundings."""
        return {sequence for text in self.surroundings for sequence in ngrams(bare_words(text), self.length)}

    def __call__(self, said: Sequence[int], logprobs: torch.Tensor, left: int) -> torch.Tensor:  # noqa: ARG002
        forward = self.edge.direction is Direction.FORWARD
        new = bare_words(self.edge.tokens.decode(self.edge.direction.arrange(said)))
        held = bare_words(self.edge.held)
        words = held + new if forward else new + held
        repeating = _completions(self.sequences, words, forward)
        if self.length > 2:
            repeating |= _completions(ngrams(new, self.length - 1), new, forward)
        banned = []
        for token in _likely(logprobs) if repeating else ():
            piece = self.edge.tokens.text(token)
            spelled = bare_words(piece)
            starts_word = piece[:1] == " " or not forward  # read backward, the last piece of a word comes first
            if spelled and starts_word:
                nearest = spelled[0] if forward else spelled[-1]
                if any(word.startswith(nearest) if forward else word.endswith(nearest) for word in repeating):
                    banned.append(token)
        return _without(logprobs, banned)


@dataclass(frozen=True)
class Keep:
    """Begins phrases to keep where they are plausible, surely from their place in the source on, and finishes them."""

    edge: Edge
    constraints: Constraints
    stops: Collection[int]  # tokens that end a text; not drawn while a phrase is missing
    source: list[int]  # in reading order; a phrase is expected at its place in the source
    expected: int  # the usual number of tokens of such a text

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
                share, plausible = 0.9, math.inf  # the token before it in the source has just been generated
            else:
                share, plausible = 1 / (1 + max(0, -late)), PLAUSIBLE if late < 0 else 1e3 * 1e2 ** min(late, 99)
            logprobs = _at_least(logprobs, first, share, plausible)
        return logprobs

    @cached_property
    def _places(self) -> dict[str, int]:
        """How many tokens come before each phrase in the source; half of a text for a phrase that is not in it."""
        return {
            phrase: next((place for form in forms for place in _occurrences(self.source, form)), self.expected // 2)
            for phrase, forms in self._spellings.items()
        }

    def _between_words(self, text: str) -> bool:
        """Whether a phrase can begin here; read backward, not where the word generated last may go on."""
        return self.edge.direction is Direction.FORWARD or not text[:1].isalnum()

    def _closed(self, logprobs: torch.Tensor) -> torch.Tensor:
        """Without tokens that would continue a phrase that is complete: 15 must not become 150."""
        touching = 0 if self.edge.direction is Direction.FORWARD else -1
        pieces = ((token, self.edge.tokens.text(token)) for token in _likely(logprobs))
        return _without(logprobs, [token for token, piece in pieces if piece and piece[touching].isalnum()])

    @cached_property
    def _spellings(self) -> dict[str, list[tuple[int, ...]]]:
        """The tokens of each phrase in reading order, within a text and at the beginning of one.

        Of a phrase that begins in the held part (its end and the closing quote can be one token), only the rest.
        """
        tokens, arrange = self.edge.tokens, self.edge.direction.arrange
        return {
            phrase: [tuple(arrange(tokens.encode(form))) for form in (" " + rest, rest)]
            for phrase in self.constraints.keep
            for rest in [self._rest(phrase)]
        }

    def _opening(self, phrase: str) -> int:
        """The first token of a phrase that is more than the space before it: other words share that space."""
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
        """Whether the next token of a spelling continues a word that has begun."""
        later = progress - 1 if self.edge.direction is Direction.BACKWARD else progress  # in text order
        return self.edge.tokens.text(spelling[later])[:1] != " "


def _completions(sequences: Collection[tuple[str, ...]], words: Sequence[str], forward: bool) -> set[str]:
    """The words that would complete one of the sequences at the growing end of a text."""
    completing = set()
    for sequence in sequences:
        rest, size = (sequence[:-1] if forward else sequence[1:]), len(sequence) - 1
        near = tuple(words[len(words) - size :] if forward else words[:size])
        if near == rest:
            completing.add(sequence[-1] if forward else sequence[0])
    return completing


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
    tokens: list[int] = logprobs.topk(min(LOOK, len(logprobs))).indices.tolist()
    return tokens


def _without(logprobs: torch.Tensor, banned: Collection[int]) -> torch.Tensor:
    if not banned:
        return logprobs
    return logprobs.index_fill(0, _index(logprobs, banned), -torch.inf).log_softmax(-1)


def _only(logprobs: torch.Tensor, wanted: Collection[int]) -> torch.Tensor:
    index = _index(logprobs, wanted)
    result = torch.full_like(logprobs, -torch.inf)
    # The product can rule out a wanted token: it then gets the lowest finite value.
    result[index] = logprobs[index].clamp(min=-1e4)
    return result.log_softmax(-1)


def _at_least(
    logprobs: torch.Tensor, wanted: Collection[int], share: float, plausible: float = math.inf
) -> torch.Tensor:
    """The wanted tokens raised together to a share of the probability, less where they are far behind the best."""
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
    """How many tokens of a spelling, but not all, stand at the end of the generated ones."""
    for size in range(min(len(said), len(spelling) - 1), 0, -1):
        if tuple(said[len(said) - size :]) == tuple(spelling[:size]):
            return size
    return 0
