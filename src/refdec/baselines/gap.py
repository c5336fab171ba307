"""What infilling systems have in common: the texts around a gap as ids, and a filling cut out of generated text.

Knows no system in particular.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from refdec.errors import InputError
from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids
from refdec.tasks.describe import refuse_endless
from refdec.tasks.extract import is_closed, sentence_runs, well_formed
from refdec.text.words import bare_words

NOTHING = "…"
"""The filling where nothing that was generated has a word in it: a filling is never empty."""


@dataclass(frozen=True, slots=True)
class GapIds:
    """The texts around a gap, and their ids."""

    left: str
    right: str
    before: Ids
    after: Ids

    @classmethod
    def of(cls, pair: Pair, left: str, right: str, room: int) -> GapIds:
        """Encode both texts, or refuse what leaves less than `room` tokens of the window to the method."""
        refuse_endless(pair, left + right)
        before, after = (tuple(pair.tokens.encode(f" {text}")) for text in (left, right))
        most = pair.window - room
        if len(before) + len(after) > most:
            raise InputError(
                f"The texts around the gap have {len(before) + len(after)} tokens; with this method and this pair they "
                f"may have {max(0, most)}. Leave out what is far from the gap."
            )
        return cls(left, right, before, after)

    @property
    def key(self) -> str:
        """What addresses the random numbers of this gap."""
        return f"{self.left}\x1f{self.right}"


def first_sentence(body: str) -> str:
    """The whole sentence with which generated text begins; empty where it is cut off or ill-formed."""
    runs = [run for run in sentence_runs(body, "left")[-1:] if is_closed(run)]
    return next(iter(well_formed(runs, "")), "")


def cut_off(bodies: Iterable[str]) -> str:
    """The first of generated texts that has words in it, for a gap where no sentence came to its end."""
    lines = (" ".join(body.split()) for body in bodies)
    return next((line for line in lines if bare_words(line)), NOTHING)
