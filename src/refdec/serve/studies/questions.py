"""The questions of the paper's human evaluation, and the answers that raters choose from.

An answer is a number from 1, the first. The paper asks of a paraphrase whether it is fluent, consistent with its source
and novel, each with a threshold, and calls it good where all three are met; of a filling, how coherent it is with the
text before it, after it, with both, and over all, on four points. The wording is our own: the paper prints its
forms as pictures. Knows nothing of raters, files or pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from refdec.errors import InputError
from refdec.settings import did_you_mean


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a text.

    Attributes:
        name: of its column in exports
        title: of its column in reports: what a text is that meets the threshold
        words: what raters are asked
        answers: what they choose from, in order
        least: the lowest answer that meets the threshold
    """

    name: str
    title: str
    words: str
    answers: tuple[str, ...]
    least: int

    def met(self, answer: int) -> bool:
        return answer >= self.least


@dataclass(frozen=True, slots=True)
class Task:
    """What is rated, and how.

    Attributes:
        name: paraphrase or infill
        fields: what a text is rated beside, by name, with a title for raters
        rated: what raters call the text itself
        place: how many of the fields stand before the text
        questions: in the order in which they are asked
        combined: whether a text is good where it meets every threshold; otherwise a question asks for that
    """

    name: str
    fields: Mapping[str, str]
    rated: str
    place: int
    questions: tuple[Question, ...]
    combined: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"fields": dict(self.fields)}

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Self:
        """A task as a study file has it: a study keeps the words that its raters read."""
        questions = tuple(Question(**{**item, "answers": tuple(item["answers"])}) for item in saved["questions"])
        return cls(**{**saved, "questions": questions})


COMBINED = "overall"
"""The name of what a paraphrase is where every threshold is met."""

FIT = ("Not at all", "Hardly", "Mostly", "Very well")

TASKS = {
    "paraphrase": Task(
        "paraphrase",
        {"source": "Original"},
        "Rewording",
        1,
        (
            Question(
                "fluency",
                "fluent",
                "Can you understand the rewording?",
                ("Not at all", "Only in part", "Yes, with small faults", "Yes, and it reads well"),
                3,
            ),
            Question(
                "consistency",
                "consistent",
                "Does it mean the same as the original?",
                ("No, something else", "Major differences", "Minor differences", "Yes, the same"),
                3,
            ),
            Question(
                "novelty",
                "novel",
                "How different is its wording?",
                ("The same words", "Minor differences", "Clearly different", "Very different"),
                2,
            ),
        ),
        combined=True,
    ),
    "infill": Task(
        "infill",
        {"left": "Beginning", "right": "End"},
        "Middle",
        1,
        (
            Question("before", "fits the beginning", "Does the middle fit the beginning?", FIT, 3),
            Question("after", "fits the end", "Does the middle fit the end?", FIT, 3),
            Question("both", "fits both", "Does it join the beginning and the end into one story?", FIT, 3),
            Question("overall", "overall", "All in all, how good is the middle?", ("Bad", "Poor", "Fair", "Good"), 3),
        ),
        combined=False,
    ),
}


def task_named(name: str) -> Task:
    if name not in TASKS:
        raise InputError(f"There is no study of {name!r}{did_you_mean(name, TASKS)}. Tasks: {', '.join(TASKS)}.")
    return TASKS[name]
