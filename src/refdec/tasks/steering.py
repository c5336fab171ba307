"""The ledger while a text is written: the potential that steers particles to say what the source says.

Each completed word is charged what the ledger asks for it, and the end of a text what the ledger asks for all that is
still missing, so that a sentence goes on until everything is said. Following the source word by word has a price too,
which makes new wordings likelier. Turns tokens into words in either reading direction; knows no models.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from refdec.ledger.account import Account
from refdec.lm.direction import Direction
from refdec.lm.tokens import Tokens
from refdec.reflect.particles import Nats, Numbers

COPIED = 2
"""After this many tokens in the order of the source, the next one in that order costs the price of copying."""

LONG = 18
"""Characters after which a word is charged before it ends: no text escapes the ledger by a word without end."""

OTHER_MARK = 3.0
"""What the ledger charges for another mark at the end than the source's."""


def price_of_following(novelty: float) -> float:
    """The price of copying, in nats, that makes results of about this Novelty likely; it cannot promise them."""
    return 0.5 + 0.03 * novelty


class Written(NamedTuple):
    """A text as far as it is written: what the ledger has seen, the word under way, and the last tokens."""

    account: Any
    word: str
    paid: float  # charged for the word under way
    last: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Faithful:
    """The potential of one source in one reading direction."""

    account: Account
    tokens: Tokens
    direction: Direction
    source: Sequence[int]  # in text order
    stops: Collection[int]
    ends: str  # the characters that close a text
    strength: float  # nats per unit of the ledger
    copying: float  # nats for a token that follows the source
    mark: str = ""  # the mark at the end of the source

    @property
    def start(self) -> Written:
        return Written(self.account.start, "", 0.0, ())

    def ahead(self, states: Sequence[Written], tokens: Numbers) -> Nats:
        nats: Nats = np.zeros(tokens.shape)
        for row, place in np.argwhere(self._is_stop[tokens]).tolist():
            nats[row, place] = -self.strength * self._end(states[row], int(tokens[row, place]))
        for row, state in enumerate(states):
            for copy in self._following.get(state.last, ()):
                nats[row, tokens[row] == copy] -= self.copying
        return nats

    def after(self, state: Written, token: int) -> tuple[float, Written]:
        last = (*state.last, token)[-COPIED:]
        if token in self.stops:
            return 0.0, state._replace(last=last)
        charge, state = self._write(state, self.tokens.text(token))
        return -self.strength * charge, state._replace(last=last)

    @cached_property
    def _is_stop(self) -> npt.NDArray[np.bool_]:
        """Of each token, and of none at the end."""
        table = np.zeros(self.tokens.vocabulary + 1, np.bool_)
        table[list(self.stops)] = True
        return table

    @cached_property
    def _following(self) -> dict[tuple[int, ...], set[int]]:
        """For each run of source tokens in reading order, the tokens that come next there."""
        order = self.direction.arrange(self.source)
        following: dict[tuple[int, ...], set[int]] = {}
        for place in range(COPIED, len(order)):
            following.setdefault(tuple(order[place - COPIED : place]), set()).add(order[place])
        return following

    def _end(self, state: Written, token: int) -> float:
        """What the ledger charges if a text ends with this token."""
        text, forward = self.tokens.text(token), self.direction is Direction.FORWARD
        places = [place for place, character in enumerate(text) if character in self.ends]
        inside = text[: places[0]] if forward else text[places[-1] + 1 :]
        end = (state.word + inside).rstrip()
        wrong_mark = forward and bool(self.mark) and not end.endswith(self.mark)
        charge, whole = self._write(state, inside + " " if forward else " " + inside)
        return charge + self.account.missing(whole.account) + OTHER_MARK * wrong_mark

    def _write(self, state: Written, text: str) -> tuple[float, Written]:
        """The charge for more text, and the state after it."""
        forward = self.direction is Direction.FORWARD
        pieces = (state.word + text if forward else text + state.word).split(" ")
        *complete, word = self.direction.arrange(pieces)
        account, charge, paid = state.account, 0.0, state.paid
        for chunk in complete:
            if chunk:
                price, account = self.account.write(account, chunk)
                charge, paid = charge + price - paid, 0.0
        if len(word) > LONG or any(mark in word.strip("-/") for mark in "-/"):
            price, _ = self.account.write(account, word)
            if price > paid:
                charge, paid = charge + price - paid, price
        return charge, Written(account, word, paid, state.last)
