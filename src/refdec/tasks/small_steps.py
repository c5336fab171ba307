"""Candidates a few small steps away from their source: words that are interchangeable, and turns that say the same.

The ledger offers steps, and both models say how well each reads in its place. The best ones are taken together, one per
place. Particles find what nobody could list; small steps find what is surely right, and both are ranked together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from refdec.ledger.interchangeable import Step, swaps
from refdec.ledger.small_turns import small_turns
from refdec.ledger.whole_turns import whole_turns
from refdec.lm.pair import Pair
from refdec.reflect.scoring import alone
from refdec.tasks.ranking import flow_of

LEAST = -4.0
"""Nats that a text may lose by one step: a clumsy swap costs more."""

LEAST_TURNED = -8.0
"""Nats that it may lose where the whole sentence is turned, which moves much and breaks little."""

LEAST_TOGETHER = -8.0
"""Nats that it may lose by all of its steps."""

MOST_STEPS = 6
"""Steps that are taken together."""

OPTIONS = 2
"""Replacements for one place that are tried."""

TURNED = 2
"""Turns of the whole sentence in which words are swapped too."""

OFFERS = 96
"""Steps that are read, at most."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A step, and what it changes in the log-probability of the whole text, the mean of both directions."""

    step: Step
    gain: float


def taken(source: str, steps: Iterable[Step]) -> str:
    """The source after steps that do not overlap."""
    for step in sorted(steps, key=lambda step: -step.start):
        source = source[: step.start] + step.text + source[step.end :]
    return source


async def near_texts(pair: Pair, source: str) -> list[str]:
    """Texts a few steps away from a source, those of one step among them."""
    turned, steps = whole_turns(source), _steps(source)[:OFFERS]
    texts = [*turned, *(taken(source, [step]) for step in steps)]
    if not texts:
        return []
    read = await alone(pair, [pair.tokens.encode(text) for text in (source, *texts)])
    gains = [flow_of(one, read[0]).whole for one in read[1:]]
    orders = sorted(zip(gains, turned, strict=False), reverse=True)
    whole = [text for gain, text in orders if gain >= LEAST_TURNED]
    good = [Weighed(step, gain) for step, gain in zip(steps, gains[len(turned) :], strict=True) if gain >= LEAST]
    found = [*whole, *(taken(source, [one.step]) for one in good)]
    found += (taken(source, together) for together in combinations(good))
    for text in whole[:TURNED]:
        found += (taken(text, together) for together in combinations(_carried(source, good, text)))
    return [text for text in dict.fromkeys(found) if text != source]


def _steps(source: str) -> list[Step]:
    return [*small_turns(source), *swaps(source)]


def combinations(steps: Sequence[Weighed]) -> list[list[Step]]:
    """Steps that are taken together: the best of each place, one more place at a time, and the second best in turn."""
    places: list[list[Weighed]] = []
    for one in sorted(steps, key=lambda one: -one.gain):
        overlapping = next((place for place in places if any(_overlap(one.step, other.step) for other in place)), None)
        if overlapping is None:
            places.append([one])
        elif len(overlapping) < OPTIONS:
            overlapping.append(one)
    chosen: list[list[Step]] = []
    together = 0.0
    for count, place in enumerate(places[:MOST_STEPS], start=1):
        together += min(place[0].gain, 0.0)
        if together < LEAST_TOGETHER:
            break
        best = [other[0].step for other in places[:count]]
        chosen.append(best)
        for changed in range(count):
            rest = [*best[:changed], *best[changed + 1 :]]
            others = (other.step for other in places[changed][1:])
            chosen += [[*rest, other] for other in others if not any(_overlap(other, step) for step in rest)]
            if count > 2:
                chosen.append(rest)
    return chosen


def _overlap(one: Step, other: Step) -> bool:
    return (one.start < other.end and other.start < one.end) or one.start == other.start


def _carried(source: str, steps: Sequence[Weighed], turned: str) -> list[Weighed]:
    """The same steps in a text whose clauses were turned round."""
    gains = {(source[one.step.start : one.step.end].lower(), one.step.text.lower()): one.gain for one in steps}
    again = ((step, (turned[step.start : step.end].lower(), step.text.lower())) for step in _steps(turned))
    return [Weighed(step, gains[key]) for step, key in again if key in gains]
