"""Attention checks: forms whose right answers are known, which tell whether a rater reads.

They look like any other form. A paraphrase can be the source itself, whose wording is not different, or a text that has
nothing to do with the source; a filling can be a sentence that fits nowhere, or ask for certain answers. So neither
a rater who always gives the lowest answers nor one who always gives the highest passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from refdec.serve.studies.material import Item
from refdec.serve.studies.questions import Task
from refdec.text.words import bare_words

PASS_MARK = 0.75
"""The share of checks that a rater must get right."""

UNRELATED = (
    "The square root of eighty-one is nine.",
    "Copper conducts electricity better than iron does.",
    "The parliament of Norway has one hundred and sixty-nine seats.",
    "A triangle has three sides and three corners.",
    "Granite is harder than limestone.",
    "The planet Saturn has more than eighty moons.",
)
"""Sentences that belong into no story."""

INSTRUCTION = "This one shows that you are reading: please give the last answer to every question."


@dataclass(frozen=True, slots=True)
class Check:
    """A text with the answers that are right, by the name of the question."""

    item: Item
    text: str
    right: Mapping[str, tuple[int, ...]]


def passed(right: Mapping[str, tuple[int, ...]], answers: Mapping[str, int]) -> bool:
    """Whether all answers that matter are right."""
    return all(answers[name] in allowed for name, allowed in right.items())


def make_checks(task: Task, items: Sequence[Item], count: int, random: Random) -> list[Check]:
    """So many checks on these items, kinds in turn."""
    kinds = (_copy, _unrelated) if task.name == "paraphrase" else (_out_of_place, _instruction)
    chosen = [items[number % len(items)] for number in range(count)]
    return [kinds[number % 2](item, items, random) for number, item in enumerate(chosen)]


def _copy(item: Item, _items: Sequence[Item], _random: Random) -> Check:
    return Check(item, item.context["source"], {"consistency": (3, 4), "novelty": (1,)})


def _unrelated(item: Item, items: Sequence[Item], random: Random) -> Check:
    """The source of another item: of twenty, the one that shares the fewest words."""
    words = set(bare_words(item.context["source"]))
    others = [other.context["source"] for other in items if other.key != item.key]
    candidates = [*random.sample(others, min(20, len(others))), random.choice(UNRELATED)]
    text = min(candidates, key=lambda other: len(words & set(bare_words(other))) / (1 + len(set(bare_words(other)))))
    return Check(item, text, {"consistency": (1, 2)})


def _out_of_place(item: Item, _items: Sequence[Item], random: Random) -> Check:
    return Check(item, random.choice(UNRELATED), {"before": (1, 2), "after": (1, 2), "both": (1, 2)})


def _instruction(item: Item, _items: Sequence[Item], _random: Random) -> Check:
    return Check(item, INSTRUCTION, dict.fromkeys(("before", "after", "both", "overall"), (4,)))
