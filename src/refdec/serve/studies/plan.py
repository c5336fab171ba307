"""A study before anybody has rated: the items that were drawn, the checks, and the forms of every rater."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from refdec.errors import SettingsError
from refdec.serve.studies.checks import Check, make_checks
from refdec.serve.studies.design import deal, order
from refdec.serve.studies.material import Item, Material
from refdec.serve.studies.questions import Task

TEXTS_PER_CHECK = 12
FEWEST_CHECKS = 2


@dataclass(frozen=True, slots=True)
class PlannedText:
    """A text to rate. The same text by several systems is rated once, for all of them."""

    item: Item
    words: str
    systems: tuple[str, ...]  # none for a check
    check: Check | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The texts of a study, and for each rater the places of theirs in that list, in order."""

    task: Task
    systems: tuple[str, ...]
    seed: int
    per_item: int
    texts: tuple[PlannedText, ...]
    raters: tuple[str, ...]
    forms: tuple[tuple[int, ...], ...]


def make_plan(
    task: Task, material: Material, raters: Sequence[str], items: int, per_item: int, checks: int | None, seed: int
) -> Plan:
    """Draw items and deal them out. Without a number of checks, there is one for every twelve texts of a rater."""
    if not 1 <= items <= len(material.items):
        raise SettingsError(
            f"{items:,} items are asked for, and {len(material.items):,} have an output of every system. "
            f"Ask for 1 to {len(material.items):,}."
        )
    if len(set(raters)) < len(raters) or not all(name.strip() for name in raters):
        raise SettingsError("Two raters have the same name, or a name is empty. Give each a name of their own.")
    random = Random(f"refdec study {seed}")
    places = sorted(random.sample(range(len(material.items)), items))
    drawn = [material.items[place] for place in places]
    texts: list[PlannedText] = []
    of_item: list[list[int]] = []
    for item in drawn:
        by_words: dict[str, list[str]] = {}
        for system in material.systems:
            by_words.setdefault(item.outputs[system], []).append(system)
        of_item.append(list(range(len(texts), len(texts) + len(by_words))))
        texts += [PlannedText(item, words, tuple(systems)) for words, systems in by_words.items()]
    hands = deal(items, len(raters), per_item, random)
    if not all(hands):
        raise SettingsError(
            f"{len(raters)} raters are too many for {items} items with {per_item} raters each: some would have nothing "
            "to rate. Name fewer raters, draw more items, or let more raters rate each."
        )
    most = max(sum(len(of_item[item]) for item in hand) for hand in hands)
    count = max(FEWEST_CHECKS, round(most / TEXTS_PER_CHECK)) if checks is None else checks
    rest = [item for place, item in enumerate(material.items) if place not in set(places)] or drawn
    made = make_checks(task, random.sample(rest, len(rest)), count, random)
    check_places = list(range(len(texts), len(texts) + len(made)))
    texts += [PlannedText(check.item, check.text, (), check) for check in made]
    forms = tuple(
        tuple(order(hand, of_item, check_places, Random(f"refdec study {seed} rater {number}")))
        for number, hand in enumerate(hands)
    )
    return Plan(task, material.systems, seed, per_item, tuple(texts), tuple(raters), forms)
