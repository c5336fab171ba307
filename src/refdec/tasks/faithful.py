"""Candidates that say what the source says: small steps, steered particles, and what can be joined from both.

Small steps are listed changes that read well in the place. Beside them a sentence is quoted after the pair's examples,
and particles that the ledger steers write it anew from both sides. What they wrote is priced by the ledger; parts of
good candidates are joined; and where too few are faithful, another round looks farther away. A text of several
sentences is reworded sentence by sentence, each read where it stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from refdec.ledger.comparison import compare, faithful_cost
from refdec.ledger.costs import FAITHFUL
from refdec.lm.pair import Pair
from refdec.metrics.novelty import novelty
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.schedule import together
from refdec.reflect.scoring import alone
from refdec.results import Paraphrase
from refdec.settings import ParaphraseSettings
from refdec.tasks.candidates import Candidates
from refdec.tasks.confidence import log_odds
from refdec.tasks.constraints import Constraints
from refdec.tasks.echoing import Saying, reworded
from refdec.tasks.joining import distinct, joined, says_again
from refdec.tasks.ranking import flow_of, is_copy
from refdec.tasks.small_steps import near_texts
from refdec.text.inner_quotes import with_double_quotes, with_single_quotes
from refdec.text.sentences import split_sentences

SHORTLIST = 40
"""Candidates that are read closely, besides those of small steps."""

NEAR = 24
"""Candidates of small steps that are read closely."""

ENOUGH = 8
"""Faithful candidates with new words that make another round needless."""

WIDER = 1.6
"""The entropy of a round against that of the round before it."""

NEW = 10.0
"""Novelty from which a candidate counts as one with new words."""

ASKED = 20.0
"""Novelty up to which more of it brings a candidate forward: the most novel ones are rarely the best."""

PER_NOVELTY = 0.05
"""What a point of Novelty is worth in log-odds."""

NEW_ENOUGH = 20.0
"""Novelty beyond which more is worth nothing by itself: truth comes first."""

STEPS = "steps"
"""The origin of a candidate that small steps made."""

VARIANTS = 4
"""Rewordings of each sentence that texts of several sentences are made of."""


@dataclass(frozen=True)
class Priced:
    """Different texts for the place of a source, what the ledger charges for each, and the sides that wrote it."""

    source: str
    costs: Mapping[str, float]
    sides: Mapping[str, frozenset[str]]

    @cached_property
    def novelties(self) -> dict[str, float]:
        return {text: novelty(text, self.source) for text in self.costs}

    def origin(self, text: str) -> str:
        sides = self.sides.get(text, frozenset())
        return STEPS if STEPS in sides else "both" if len(sides) == 2 else next(iter(sides), "joined")

    def satisfying(self, constraints: Constraints) -> Priced:
        """Without the texts that break a constraint."""
        return replace(self, costs={text: cost for text, cost in self.costs.items() if not constraints.failures(text)})

    def has_enough(self) -> bool:
        """Whether enough texts are faithful and have new words."""
        good = (text for text, cost in self.costs.items() if cost <= FAITHFUL and self.novelties[text] >= NEW)
        return sum(1 for _ in good) >= ENOUGH

    def shortlist(self, most: int) -> list[str]:
        """The texts worth reading closely: faithful ones, the most novel first; where they are few, the nearest."""

        def order(text: str) -> tuple[float, float, bool, str]:
            cost, new = self.costs[text], min(self.novelties[text], ASKED)
            return (0.0 if cost <= FAITHFUL else cost, 10 * cost - new, text not in self.sides, text)

        ranked = sorted(self.costs, key=order)
        near = [text for text in ranked if self.origin(text) == STEPS and self.costs[text] <= FAITHFUL][:NEAR]
        return [*near, *[text for text in ranked if text not in near][:most]]


async def faithful_candidates(
    pair: Pair, source: str, settings: ParaphraseSettings, constraints: Constraints, ensembles: Sequence[Ensemble] = ()
) -> Candidates:
    """The most promising texts for a source; the contexts of an ensemble of the quoted source generate beside the echo.

    Quotes inside a quoted text are single ones.
    """
    inner = with_single_quotes(source)
    parts = [part.strip() for part in split_sentences(inner)]
    if len(parts) == 1:
        priced = await _priced(pair, inner, settings, constraints, ensembles)
        passing = priced.satisfying(constraints)
        origins = {text: priced.origin(text) for text in passing.shortlist(SHORTLIST)}
        failing = set(priced.costs) - set(passing.costs)
    else:
        free = replace(constraints, keep=())  # which sentence keeps a phrase is seen when the text is whole
        every = await together(_priced(pair, part, settings, free) for part in parts)
        every = [priced.satisfying(free) for priced in every]
        best = await together(_best(pair, parts, place, priced) for place, priced in enumerate(every))
        texts = list(_texts_of(best))
        failing = {text for text in texts if constraints.failures(text)}
        origins = {text: "joined" for text in texts if text not in failing}
    if inner != source:
        restored = ((with_double_quotes(text), origin) for text, origin in origins.items())
        origins = {text: origin for text, origin in restored if text.count('"') == with_double_quotes(inner).count('"')}
    rejected = Counter(reason for text in failing for reason in constraints.failures(text))
    return Candidates(origins, dict(rejected))


async def _priced(
    pair: Pair, source: str, settings: ParaphraseSettings, constraints: Constraints, ensembles: Sequence[Ensemble] = ()
) -> Priced:
    """Texts for the place of a sentence: those of the particles, and those joined from them.

    Where no ledger is wanted, all cost nothing, and nothing is joined: the ledger says what belongs together.
    """
    written = dict.fromkeys(await near_texts(pair, source), frozenset({STEPS}))
    costs: dict[str, float] = {}
    for number in range(settings.rounds):
        entropy = settings.entropy * WIDER**number
        saying = Saying(pair, source, settings, constraints, number, entropy, tuple(ensembles))
        for text, side in await reworded(saying):
            written[text] = written.get(text, frozenset()) | {side}
        new = [
            text
            for text in distinct(list(written))
            if text not in costs and not says_again(text, source) and not _is_littered(text, source)
        ]
        costs |= {text: compare(source, text).cost if settings.ledger else 0.0 for text in new}
        if settings.ledger:
            costs |= joined(source, {source: 0.0} | costs, lambda text: faithful_cost(source, text), FAITHFUL)
        priced = Priced(source, costs, written)
        if priced.has_enough():
            break
    return priced


def _is_littered(text: str, source: str) -> bool:
    """Whether quotes that closed nothing are left in a text."""
    return "''" in text and "''" not in source


async def _best(pair: Pair, sentences: Sequence[str], place: int, priced: Priced) -> list[str]:
    """The best rewordings of a sentence, read in its place among the others; the sentence itself where none is good."""
    source = sentences[place]
    texts = [source, *(text for text in priced.shortlist(SHORTLIST) if not is_copy(text, source))]
    whole = [" ".join([*sentences[:place], text, *sentences[place + 1 :]]) for text in texts]
    read = await alone(pair, [pair.tokens.encode(text) for text in whole])
    good = {
        text: log_odds(pair.name, source, text, priced.costs[text], flow_of(one, read[0]))
        for text, one in zip(texts[1:], read[1:], strict=True)
        if priced.costs[text] <= FAITHFUL
    }
    probable = [text for text in good if good[text] > 0]
    ranked = sorted(probable, key=lambda text: (-worth(good[text], priced.novelties[text]), text))
    return [*ranked, source][:VARIANTS]


def _texts_of(best: Sequence[Sequence[str]]) -> Iterable[str]:
    """Texts of the best rewordings of each sentence: all the best, then all but one of them the best."""
    first = [texts[0] for texts in best]
    yield " ".join(first)
    for place, texts in enumerate(best):
        for text in texts[1:]:
            yield " ".join([*first[:place], text, *first[place + 1 :]])


def faithful_first(pair: Pair, source: str, ranked: Sequence[Paraphrase]) -> list[Paraphrase]:
    """Candidates that were compared with their source, by their worth: meaning and grammar first, then new words."""

    def value(item: Paraphrase) -> float:
        assert item.cost is not None
        assert item.flow is not None
        return worth(log_odds(pair.name, source, item.text, item.cost, item.flow), item.novelty)

    return sorted(ranked, key=lambda item: (-value(item), item.text))


def worth(good: float, novel: float) -> float:
    """What a candidate is worth: the log-odds that it is good, and a little for the first new words."""
    return good + PER_NOVELTY * min(novel, NEW_ENOUGH)
