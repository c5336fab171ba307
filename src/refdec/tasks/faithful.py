"""Candidates that say what the source says: particles steered by the ledger, and what can be joined from them.

The experts of the product are the heaviest contexts and the echo, which quotes the source after the pair's examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from refdec.ledger.account import Account
from refdec.ledger.compare import FAITHFUL, compare
from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids
from refdec.metrics.novelty import novelty
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.mixture import Echo, generate_particles, with_echo
from refdec.reflect.randomness import uniforms
from refdec.reflect.schedule import together
from refdec.results import Paraphrase
from refdec.settings import ParaphraseSettings
from refdec.tasks.candidates import Candidates, Place, TextsIn
from refdec.tasks.joining import distinct, joined, shortlist
from refdec.tasks.steering import Faithful

SHORTLIST = 40
"""Faithful candidates that are read closely, and a quarter as many others."""


def is_steered(pair: Pair, settings: ParaphraseSettings) -> bool:
    """Whether the ledger steers: it needs the echo, and so a pair with examples."""
    return settings.ledger > 0 and settings.echo > 0 and pair.examples is not None


async def faithful_candidates(ensembles: Sequence[Ensemble], place: Place, source: str, texts_in: TextsIn) -> Candidates:
    """Different texts from both sides and those joined from them, the most promising of which are kept."""
    per_side = await together(_texts(ensemble, place, source, texts_in) for ensemble in ensembles)
    sides: dict[str, set[str]] = {}
    for ensemble, texts in zip(ensembles, per_side, strict=True):
        for text in texts:
            sides.setdefault(text, set()).add(ensemble.side.name)
    priced = {text: compare(source, text).cost for text in distinct(list(sides))}
    priced |= joined(
        source,
        {source: 0.0} | priced,
        lambda text: compare(source, text).cost,
        lambda text: novelty(text, source),
        FAITHFUL,
    )
    chosen = shortlist(priced, lambda text: novelty(text, source), FAITHFUL, SHORTLIST)
    failures = {text: place.constraints.failures(text) for text in chosen}
    return Candidates(
        origins={text: _origin(sides.get(text)) for text in chosen if not failures[text]},
        rejected=dict(Counter(reason for reasons in failures.values() for reason in reasons)),
    )


def accounted(source: str, ranked: Sequence[Paraphrase]) -> list[Paraphrase]:
    """Candidates with what the ledger says of each."""
    compared = [compare(source, item.text) for item in ranked]
    return [
        replace(item, cost=comparison.cost, changes=tuple(comparison.reasons))
        for item, comparison in zip(ranked, compared, strict=True)
    ]


def _origin(sides: set[str] | None) -> str:
    if sides is None:
        return "joined"
    return "both" if len(sides) == 2 else next(iter(sides))


async def _texts(ensemble: Ensemble, place: Place, source: str, texts_in: TextsIn) -> list[str]:
    """Texts of the particles of one side."""
    side, pair, settings = ensemble.side, place.pair, place.settings
    assert isinstance(settings, ParaphraseSettings)
    assert pair.examples is not None
    quoted = pair.examples.after(source) if side.name == "right" else pair.examples.before(source)
    echo = tuple(pair.tokens.encode(quoted))
    mixture = await with_echo(
        Echo(ensemble, place.framed, echo, settings.echo, settings.echo_contexts, settings.entropy)
    )
    account = Account(source, backward=side.name == "right")
    groups = settings.populations
    sizes = [len(range(group, settings.samples, groups)) for group in range(groups)]

    async def population(group: int) -> list[Ids]:
        potential = Faithful(
            account=account,
            tokens=pair.tokens,
            direction=side.inward.direction,
            source=place.framed.middle,
            stops=place.stops,
            ends=place.ends,
            strength=settings.ledger,
            copying=settings.copying * (2 * group + 1) / groups,  # from hardly any to twice the price
            mark=source[-1] if source[-1] in ".?!" else "",
        )
        purpose = f"particles {side.name} {group}"
        draws = uniforms(settings.seed, place.key, purpose, sizes[group], place.length)
        resampling = uniforms(settings.seed, place.key, f"resampling {purpose}", 1, place.length)[0]
        particles = await generate_particles(mixture, place.framed, draws, resampling, place.stops, potential)
        return [particle.tokens for particle in particles if particle.whole]

    texts = await together(population(group) for group in range(groups) if sizes[group])
    return [text for rows in texts for ids in rows for text in texts_in(ids, side.name)[:1]]


def faithful_first(ranked: Sequence[Paraphrase]) -> list[Paraphrase]:
    """Candidates by their worth: meaning and grammar first, then new words."""
    return sorted(ranked, key=lambda item: (-worth(item), item.text))


def worth(item: Paraphrase) -> float:
    """What a candidate is worth in nats: new words, less what the ledger charges and what reads badly."""
    assert item.cost is not None
    assert item.flow is not None
    reads = 0.4 * min(item.flow.whole, 2.0) + min(item.flow.worst, 0.0)
    return reads - 3.0 * item.cost + 0.12 * min(item.novelty, 35.0)
