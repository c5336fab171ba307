"""What a competing system is: settings, a signature, and texts with their scores.

A method takes many texts and is seeded: the same text, settings and seed give the same texts, whatever else is in the
list. Knows no system in particular.
"""

from __future__ import annotations

import itertools
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch

import refdec
from refdec.errors import InputError
from refdec.lm.pair import Pair
from refdec.metrics.novelty import novelty
from refdec.reflect.schedule import Result, Task, run_all
from refdec.settings import Settings
from refdec.tasks.ranking import is_copy
from refdec.tasks.reflector import Reflector
from refdec.tasks.signature import signature
from refdec.text.cleaning import clean


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text that a method proposes.

    Attributes:
        text: the words
        score: what the method itself maximises; it compares proposals for one text only
    """

    text: str
    score: float


class Method(Protocol):
    """What all methods have."""

    @property
    def signature(self) -> str:
        """Version, method, settings, models and machine: what a stranger needs to get the same texts."""


class Paraphraser(Method, Protocol):
    """A method that says texts in other words."""

    def paraphrase_all(self, sources: Iterable[str]) -> Iterator[list[Proposal]]:
        """For each text, which `clean` has passed, at least one proposal, best first; in order and as they are made.

        The first is what the method's own paper would return. It is the source where the method finds nothing better.
        """


class Infiller(Method, Protocol):
    """A method that fills the gap between two texts."""

    def infill_all(self, gaps: Iterable[tuple[str, str]]) -> Iterator[list[Proposal]]:
        """For each gap at least one filling, best first; a gap is the texts before and after it, which `clean` has
        passed.
        """


@dataclass(frozen=True, slots=True)
class ProposedParaphrases:
    """What a method says for one source.

    Attributes:
        source: the text that was paraphrased
        proposals: best first, a copy of the source among them where the method proposes one
        signature: version, method, settings, models and machine
    """

    source: str
    proposals: tuple[Proposal, ...]
    signature: str

    def __str__(self) -> str:
        return self.proposals[0].text

    def top(self, count: int, least_novelty: float = 0.0) -> tuple[Proposal, ...]:
        """The best `count` proposals that are at least this novel and no copies of the source."""
        fresh = (item for item in self.proposals if not is_copy(item.text, self.source))
        return tuple(item for item in fresh if novelty(item.text, self.source) >= least_novelty)[:count]

    def to_dict(self, proposals: tuple[Proposal, ...] | None = None) -> dict[str, Any]:
        """A JSON object; `proposals` chooses which are in it, by default all."""
        results = [
            {
                "text": item.text,
                "score": round(item.score, 4),
                "novelty": round(novelty(item.text, self.source), 2),
                "copy": is_copy(item.text, self.source),
            }
            for item in (self.proposals if proposals is None else proposals)
        ]
        return {"source": self.source, "results": results, "signature": self.signature}


@dataclass(frozen=True, slots=True)
class ProposedFillings:
    """What a method says for one gap.

    Attributes:
        left: the text before the gap
        right: the text after the gap
        proposals: best first
        signature: version, method, settings, models and machine
    """

    left: str
    right: str
    proposals: tuple[Proposal, ...]
    signature: str

    def __str__(self) -> str:
        return self.proposals[0].text

    def to_dict(self, proposals: tuple[Proposal, ...] | None = None) -> dict[str, Any]:
        """A JSON object; `proposals` chooses which are in it, by default all."""
        chosen = self.proposals if proposals is None else proposals
        results = [{"text": item.text, "score": round(item.score, 4)} for item in chosen]
        return {"left": self.left, "right": self.right, "results": results, "signature": self.signature}


def paraphrases(method: Paraphraser, sources: Iterable[str]) -> Iterator[ProposedParaphrases]:
    """What a method says for texts as a user gives them."""
    texts, same_texts = itertools.tee(map(clean, sources))
    for text, proposals in zip(same_texts, method.paraphrase_all(texts), strict=True):
        yield ProposedParaphrases(text, tuple(proposals), method.signature)


def fillings(method: Infiller, gaps: Iterable[tuple[str, str]]) -> Iterator[ProposedFillings]:
    """What a method says for gaps as a user gives them: the texts before and after each."""
    between, same_gaps = itertools.tee(map(_clean_gap, gaps))
    for (left, right), proposals in zip(same_gaps, method.infill_all(between), strict=True):
        yield ProposedFillings(left, right, tuple(proposals), method.signature)


def _clean_gap(gap: tuple[str, str]) -> tuple[str, str]:
    left, right = gap
    if not (left.strip() and right.strip()):
        raise InputError("This method needs a text before the gap and one after it.")
    return clean(left), clean(right)


def on_pair(pair: Pair, tasks: Iterable[Task[Result]]) -> Iterator[Result]:
    """Results of tasks that ask a pair of models, in order; a GPU works on many of them together."""
    return run_all(pair, tasks, Reflector(pair).inputs_at_once())


def pair_signature(settings: Settings, pair: Pair) -> str:
    """The signature of a method that runs on a pair of models."""
    return signature(settings.task, pair, settings)


def own_signature(settings: Settings, models: str, device: str = "cpu") -> str:
    """The signature of a method with models of its own, or without any; `models` tells their weights apart."""
    machine = torch.cuda.get_device_name(device).replace(" ", "-") if device.startswith("cuda") else device
    parts = [("refdec", refdec.__version__), ("task", settings.task), ("models", models), *settings.items()]
    parts += [("torch", torch.__version__), ("device", machine), ("python", platform.python_version())]
    return "|".join(f"{name}:{value}" for name, value in parts)
