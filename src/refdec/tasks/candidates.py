"""Generating: from the ensembles of both sides to different texts that satisfy the constraints.

The task says which texts a raw generation holds, and ranks them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from refdec.errors import InputError
from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids, Tokens
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.mixture import Mixture, generate
from refdec.reflect.particles import Steer
from refdec.reflect.randomness import uniforms
from refdec.reflect.schedule import together
from refdec.reflect.side import FramedIds, Side
from refdec.settings import InfillSettings, ParaphraseSettings
from refdec.tasks.constraints import Constraints
from refdec.tasks.steer import Avoid, Edge, Keep, all_of


@dataclass(frozen=True)
class Place:
    """The place that texts are generated for: what is held, how long they are, how they end, what they must satisfy."""

    pair: Pair
    key: str  # addresses the random numbers
    framed: FramedIds
    settings: ParaphraseSettings | InfillSettings
    constraints: Constraints
    length: int  # tokens a generation has
    expected: int  # tokens that a good one probably has
    stops: Collection[int] = ()

    def __post_init__(self) -> None:
        """Refuse words to keep that are longer than a generation."""
        needed = sum(len(self.pair.tokens.encode(" " + phrase)) for phrase in self.constraints.keep)
        if needed > self.length:
            raise InputError(
                f"The words to keep have {needed} tokens, and a generated text may have {self.length}. Keep fewer "
                "words, or raise the length of generations."
            )


@dataclass(frozen=True)
class Candidates:
    """Different texts with the side that generated each, and why others were rejected."""

    origins: dict[str, str]  # text -> "left", "right", "both" or "joined"
    rejected: dict[str, int]  # reason -> how many different texts


TextsIn = Callable[[Ids, str], list[str]]
"""The texts in a raw generation of a side ("right" or "left")."""

Rules = Callable[[Edge], Sequence[Steer]]
"""A task's own rules for what is generated next to an edge."""


async def generate_candidates(
    ensembles: Sequence[Ensemble], place: Place, texts_in: TextsIn, rules: Rules = lambda _: ()
) -> Candidates:
    """Different texts from both sides."""
    generations = await together(_generations(ensemble, place, rules) for ensemble in ensembles)
    sides: dict[str, set[str]] = {}
    for ensemble, rows in zip(ensembles, generations, strict=True):
        for ids in rows:
            for text in texts_in(ids, ensemble.side.name):
                sides.setdefault(text, set()).add(ensemble.side.name)
    failures = {text: place.constraints.failures(text) for text in sides}
    return Candidates(
        origins={
            text: "both" if len(names) == 2 else next(iter(names))
            for text, names in sides.items()
            if not failures[text]
        },
        rejected=dict(Counter(reason for reasons in failures.values() for reason in reasons)),
    )


async def _generations(ensemble: Ensemble, place: Place, rules: Rules) -> list[Ids]:
    """Raw generations of one side, steered by the constraints and by the task's own rules."""
    side, tokens, settings = ensemble.side, place.pair.tokens, place.settings
    own = rules(edge_of(side, tokens, place.framed))
    steer = constraining(side, tokens, place.framed, place.constraints, place.stops, place.expected, own)
    draws = uniforms(settings.seed, place.key, f"samples {side.name}", settings.samples, place.length)
    mixture = Mixture.of(ensemble)
    if isinstance(settings, ParaphraseSettings) and settings.top_p:
        mixture = replace(mixture, top_p=settings.top_p)
    return await generate(mixture, place.framed, draws, place.stops, steer)


def edge_of(side: Side, tokens: Tokens, framed: FramedIds) -> Edge:
    """Where the text of a side grows."""
    near = framed.right if side.name == "right" else framed.left
    return Edge(tokens, side.inward.direction, tokens.decode(near))


def constraining(
    side: Side,
    tokens: Tokens,
    framed: FramedIds,
    constraints: Constraints,
    stops: Collection[int],
    expected: int,
    own: Sequence[Steer] = (),
) -> Steer | None:
    """A task's own rules and those of the constraints as one; None where there are none."""
    edge, steers = edge_of(side, tokens, framed), list(own)
    if not framed.middle:  # a filling is judged without the text around the gap
        edge = replace(edge, held="")
    if constraints.avoid:
        steers.append(Avoid(edge, constraints))
    if constraints.keep:
        steers.append(Keep(edge, constraints, stops, side.inward.direction.arrange(framed.middle), expected))
    return all_of(steers)
