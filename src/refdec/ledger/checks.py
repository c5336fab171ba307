"""What the words taken together say: every check that `compare` runs, in order.

Each check looks at two aligned readings and yields the changes that it finds.
"""

from __future__ import annotations

from refdec.ledger.clauses import spliced, unfinished
from refdec.ledger.comparatives import degrees
from refdec.ledger.doers import doers
from refdec.ledger.forms import plurals, tenses
from refdec.ledger.links import (
    moved_appositions,
    moved_focus,
    moved_modifiers,
    moved_openings,
    moved_places,
    moved_quantifiers,
)
from refdec.ledger.logic import choices, conditions, modals, negation, persons, question, sequence
from refdec.ledger.roles import numbers, roles, turned_spans, units
from refdec.ledger.small_words import small_words
from refdec.ledger.spoiled import grammar
from refdec.ledger.voice import voices

CHECKS = (
    negation,
    persons,
    modals,
    question,
    choices,
    conditions,
    sequence,
    tenses,
    voices,
    plurals,
    degrees,
    small_words,
    numbers,
    units,
    turned_spans,
    roles,
    doers,
    moved_modifiers,
    moved_quantifiers,
    moved_focus,
    moved_places,
    moved_openings,
    moved_appositions,
    grammar,
    spliced,
    unfinished,
)
