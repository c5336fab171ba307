"""What a competing system is: settings, a signature, and texts with their scores.

A method works on one text at a time and is seeded: the same text, settings and seed give the same texts. Knows no
system in particular.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any, Protocol

import torch

import refdec
from refdec.lm.pair import Pair
from refdec.settings import Settings
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

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text, "score": round(self.score, 4)}


class Method(Protocol):
    """What all methods have."""

    @property
    def signature(self) -> str:
        """Version, method, settings, models and machine: what a stranger needs to get the same texts."""


class Paraphraser(Method, Protocol):
    """A method that says texts in other words."""

    def paraphrase(self, source: str) -> list[Proposal]:
        """Proposals for a text that `clean` has passed, best first, at least one.

        The first is what the method's own paper would return. It is the source where the method finds nothing better.
        """


class Infiller(Method, Protocol):
    """A method that fills the gap between two texts."""

    def infill(self, left: str, right: str) -> list[Proposal]:
        """Fillings for a gap between two texts that `clean` has passed, best first, at least one."""


def pair_signature(settings: Settings, pair: Pair) -> str:
    """The signature of a method that runs on a pair of models."""
    return signature(settings.task, pair, settings)


def own_signature(settings: Settings, models: str, device: str = "cpu") -> str:
    """The signature of a method with models of its own, or without any; `models` tells their weights apart."""
    machine = torch.cuda.get_device_name(device).replace(" ", "-") if device.startswith("cuda") else device
    parts = [("refdec", refdec.__version__), ("task", settings.task), ("models", models), *settings.items()]
    parts += [("torch", torch.__version__), ("device", machine), ("python", platform.python_version())]
    return "|".join(f"{name}:{value}" for name, value in parts)


def paraphrase_texts(method: Paraphraser, source: str) -> list[Proposal]:
    """Proposals of a method for a text as a user gives it."""
    return method.paraphrase(clean(source))


def infill_texts(method: Infiller, left: str, right: str) -> list[Proposal]:
    """Fillings of a method for a gap as a user gives it."""
    return method.infill(clean(left), clean(right))
