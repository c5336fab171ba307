"""One sentence said anew: the echo of it and the contexts beside the echo write texts, steered by the ledger.

The frame is a pair of quotes, as in the examples that the echo follows. Gives texts as they were written; which of them
are good is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

import torch

from refdec.errors import InputError
from refdec.ledger.account import Account
from refdec.lm.examples import Examples
from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.mixture import Echo, Mixture, generate_particles, with_echo
from refdec.reflect.randomness import uniforms
from refdec.reflect.schedule import on_both_sides, together
from refdec.reflect.side import FramedIds, Side
from refdec.settings import ParaphraseSettings
from refdec.tasks.candidates import constraining
from refdec.tasks.constraints import Constraints
from refdec.tasks.extract import extract
from refdec.tasks.frame import FRAMES
from refdec.tasks.steering import Faithful

FRAME = FRAMES["quoted"]

WIDEST = 0.92
"""The widest nucleus: a short source would have the wanted entropy only with tokens that nobody would write."""

ROOM = 4
"""A rewording may have a quarter more tokens than its source, besides the extra ones of the settings."""


@dataclass(frozen=True)
class Saying:
    """A sentence that is to be said in other words, and how: which round this is, and what it may use."""

    pair: Pair
    source: str
    settings: ParaphraseSettings
    constraints: Constraints
    round: int
    entropy: float
    ensembles: tuple[Ensemble, ...] = ()  # of the sentence in its quotes

    @cached_property
    def framed(self) -> FramedIds:
        return FRAME.encode(self.pair.tokens, self.source)

    @cached_property
    def length(self) -> int:
        """Tokens that a text may have."""
        size = len(self.framed.middle)
        return size + size // ROOM + self.settings.extra_tokens

    @cached_property
    def stops(self) -> frozenset[int]:
        return self.pair.tokens.containing(FRAME.ends)

    def quoted(self, side: Side) -> tuple[Ids, Ids]:
        """The echo on a side, after as many examples as the models can read beside it, and what all echoes share."""
        examples = self.pair.examples
        if examples is None:
            raise InputError(
                f"echo is {self.settings.echo:g}, but this pair has no examples of rewording. Name a file of them with "
                "--examples, or use echo 0."
            )
        for used in range(len(examples.pairs), 0, -1):
            fewer = replace(examples, pairs=examples.pairs[:used])
            echo = self._encoded(fewer, side, self.source)
            if len(echo) + len(self.framed.all) + self.length <= self.pair.window:
                arrange = side.inward.direction.arrange
                others = (arrange(self._encoded(fewer, side, text)) for text in ("A", "1"))
                shared = [one for one, _ in takewhile(lambda ids: ids[0] == ids[1], zip(*others, strict=False))]
                return echo, tuple(arrange(shared))
        raise InputError(
            f"A sentence has {len(self.framed.middle)} tokens, too many to be quoted for this pair, which reads "
            f"{self.pair.window} tokens at once. Shorten it, or use echo 0."
        )

    def _encoded(self, examples: Examples, side: Side, text: str) -> Ids:
        return tuple(self.pair.tokens.encode(examples.after(text) if side.name == "right" else examples.before(text)))


async def reworded(saying: Saying) -> list[tuple[str, str]]:
    """Texts that end where a text should, each with the side that wrote it."""
    names = saying.settings.side_names
    sides = await on_both_sides(saying.pair, lambda side: _of_side(saying, side), names)
    return [(text, side) for side, texts in zip(names, sides, strict=True) for text in texts]


async def _of_side(saying: Saying, side: Side) -> list[str]:
    mixture = await with_echo(_echo(saying, side))
    mixture = replace(mixture, top_p=saying.settings.top_p or min(mixture.top_p, WIDEST))
    account = Account(saying.source, backward=side.name == "right")
    settings, tokens = saying.settings, saying.pair.tokens
    copying = settings.copying if settings.steered else 0.0
    sizes = [len(range(group, settings.samples, settings.populations)) for group in range(settings.populations)]

    async def population(group: int) -> Sequence[Ids]:
        potential = Faithful(
            account=account,
            tokens=tokens,
            direction=side.inward.direction,
            source=saying.framed.middle,
            stops=saying.stops,
            ends=FRAME.ends,
            strength=settings.ledger if settings.steered else 0.0,
            copying=copying * (2 * group + 1) / settings.populations,  # up to twice the price
            mark=saying.source[-1] if saying.source[-1] in ".?!" else "",
        )
        return await _particles(saying, mixture, potential, group, sizes[group])

    written = await together(population(group) for group in range(settings.populations) if sizes[group])
    near = saying.framed.right if side.name == "right" else saying.framed.left
    raw = [tokens.decode(ids + near if side.name == "right" else near + ids) for rows in written for ids in rows]
    return [text for body in dict.fromkeys(raw) for text in extract(body, side.name, FRAME, saying.source)[:1]]


def _echo(saying: Saying, side: Side) -> Echo:
    settings, entropy = saying.settings, saying.entropy
    echo, shared = saying.quoted(side)
    for ensemble in saying.ensembles:
        if ensemble.side.name == side.name:
            most = settings.echo_contexts
            return Echo.beside(ensemble, saying.framed, echo, shared, settings.echo, most, entropy)
    none = torch.empty(0, device=side.inward.device)
    return Echo(side, saying.framed, echo, shared, settings.echo, (), none, entropy)


async def _particles(saying: Saying, mixture: Mixture, potential: Faithful, group: int, count: int) -> list[Ids]:
    """The particles of one population that have come to an end."""
    purpose = f"particles {mixture.side.name} {saying.round} {group}"
    seed, source, length = saying.settings.seed, saying.source, saying.length
    draws = uniforms(seed, source, purpose, count, length)
    resampling = uniforms(seed, source, f"resampling {purpose}", 1, length)[0]
    side, framed, stops = mixture.side, saying.framed, saying.stops
    expected = len(framed.middle)
    steer = constraining(side, saying.pair.tokens, framed, saying.constraints, stops, expected)
    particles = await generate_particles(mixture, framed, draws, resampling, stops, potential, steer)
    return [particle.tokens for particle in particles if particle.whole]
