"""What each change between two texts costs: the one table of the ledger."""

from __future__ import annotations

from dataclasses import dataclass

FAITHFUL = 1.0
"""Texts that cost at most this much say the same."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Zero is no change at all, one the most that a faithful rewording costs."""

    spelling: float = 0.0  # colour, color; 12, twelve; U.S., United States
    restated: float = 0.5  # no doubt, certainly: right, but what keeps the negation comes first
    form: float = 0.1  # publish, published
    family: float = 0.3  # publish, publication
    synonym: float = 0.35  # a common sense of both
    own: float = 0.3  # a group of synonyms.txt
    rare: float = 0.6  # a sense that is rare for one of the two
    vague: float = 1.1  # fix, make: a sense that is rare for a word that says little
    near: float = 0.8  # one is the more general word
    repeated: float = 1.1  # learn, re-learn
    negated_opposite: float = 0.5  # not happy, unhappy
    further: float = 0.5  # each further step of these costs so much of its price: rewordings may have several
    swapped: float = 2.5  # a word in the place of another one that is no relative
    opposite: float = 3.0
    lost: float = 2.0
    new: float = 2.5
    light: float = 0.5  # lost or new: a word that says little, such as "thing", "really", "make"
    strict: float = 2.0  # lost or new: a word that stands only for itself, such as "before"
    name: float = 4.0  # lost or new
    name_part: float = 1.1  # John Smith, Smith
    again: float = 0.8  # lost or new: a word that the same text has in another place too
    number: float = 6.0
    one: float = 0.9  # lost or new: "one" is often no number
    negation: float = 6.0
    negation_moved: float = 1.5
    modal: float = 2.0
    modal_near: float = 0.4  # may, might; will, would in reported speech
    person: float = 3.0
    pronoun: float = 0.3  # for a noun or a name, and back
    tense: float = 1.5
    voice: float = 1.5  # was visited, visited
    perfect: float = 0.2  # announced, has announced
    degree: float = 2.0  # old, older
    plural: float = 1.1
    plural_generic: float = 0.4  # in questions
    question: float = 3.0
    asked: float = 2.0  # another question word
    connective: float = 0.7  # because, although, or: lost or new
    sequence: float = 1.1  # "then" at the beginning of a sentence: lost or new
    condition: float = 3.0  # if, unless: lost or new
    noun_preposition: float = 1.1  # another one after a noun: a contract for, a contract of
    preposition: float = 0.6  # lost, new or another one between the same words
    direction: float = 1.2  # from, to; with, without
    number_preposition: float = 1.2
    number_moved: float = 2.0
    auxiliary: float = 0.5
    determiner: float = 0.05
    article: float = 1.1  # a house, the house; some men, the men; in questions: houses, the houses
    general: float = 0.8  # analysts, the analysts; three men, the three men
    moved: float = 1.2  # an adjective that goes with another noun
    owner: float = 1.2  # "Ann's house", "the house"
    grammar: float = 1.2  # a plain fault that the source does not have
    roles: float = 3.0  # who does what to whom


COSTS = Costs()
