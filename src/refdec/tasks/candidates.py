"""The second half of generating tasks: from the ensembles of both sides to candidates that satisfy their constraints.

Which texts a raw generation holds is the task's own business, and so is ranking them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from refdec.errors import InputError
from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids
from refdec.reflect.ensemble import Ensemble, generate
from refdec.reflect.randomness import uniforms
from refdec.reflect.sampling import Steer
from refdec.reflect.side import FramedIds
from refdec.tasks.constraints import Constraints
from refdec.tasks.steer import Avoid, Edge, Keep, all_of


@dataclass(frozen=True)
class Place:
    """Where texts are generated: what is held, how long they are, how they end, and what they must satisfy."""

    key: str  # addresses the random numbers
    framed: FramedIds
    samples: int
    length: int  # tokens a generation has
    expected: int  # tokens that a good one probably has
    stops: Collection[int]
    constraints: Constraints
    seed: int


async def generations(
    pair: Pair, ensemble: Ensemble, place: Place, rules: Callable[[Edge], Sequence[Steer]] = lambda _: ()
) -> list[Ids]:
    """Raw generations of one side, steered towards the constraints and by the task's own rules."""
    side = ensemble.side
    near = place.framed.right if side.name == "right" else place.framed.left
    edge = Edge(pair.tokens, side.inward.direction, pair.tokens.decode(near))
    steers = list(rules(edge))
    if not place.framed.middle:  # what stands around a gap is no part of what fills it
        edge = replace(edge, held="")
    if place.constraints.avoid:
        steers.append(Avoid(edge, place.constraints))
    if place.constraints.keep:
        source = side.inward.direction.arrange(place.framed.middle)
        steers.append(Keep(edge, place.constraints, place.stops, source, place.expected))
    draws = uniforms(place.seed, place.key, f"samples {side.name}", place.samples, place.length)
    return await generate(ensemble, place.framed, draws, place.stops, all_of(steers))


@dataclass(frozen=True)
class Candidates:
    """Different texts, whose contexts generated each, and why others were turned down."""

    origins: dict[str, str]  # text -> "left", "right" or "both"
    rejected: dict[str, int]  # reason -> how many different texts


def gather(explored: Sequence[tuple[Ensemble, Sequence[str]]], constraints: Constraints) -> Candidates:
    """Merge the texts of both sides, without those that break a constraint."""
    sides: dict[str, set[str]] = {}
    for ensemble, texts in explored:
        for text in texts:
            sides.setdefault(text, set()).add(ensemble.side.name)
    failures = {text: constraints.failures(text) for text in sides}
    return Candidates(
        origins={
            text: "both" if len(names) == 2 else next(iter(names))
            for text, names in sides.items()
            if not failures[text]
        },
        rejected=dict(Counter(reason for reasons in failures.values() for reason in reasons)),
    )


def check_room(pair: Pair, constraints: Constraints, length: int) -> None:
    """What must be kept has to fit into what may be generated."""
    needed = sum(len(pair.tokens.encode(" " + phrase)) for phrase in constraints.keep)
    if needed > length:
        raise InputError(
            f"What must be kept has {needed} tokens, and a text here may have {length}. Keep less, or allow longer "
            "texts."
        )
