"""The answers of the API as its OpenAPI document describes them: the JSON objects of results.

The server sends what `to_dict` of a result gives, and does not check it again; tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """A JSON object with these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class ContextAnswer(Answer):
    text: str
    side: str
    weight: float


class TokenAnswer(Answer):
    text: str
    surprise: float


class ReasonAnswer(Answer):
    text: str
    label: str
    score: float
    fits: list[float]
    tokens: list[TokenAnswer]


class FlowAnswer(Answer):
    whole: float
    worst: float
    broken: float


class ParaphraseItem(Answer):
    text: str
    score: float
    relative: float
    prior: float
    lost: list[str]
    novelty: float
    copy_: bool = Field(alias="copy")
    side: str
    fits: list[float]
    confidence: float | None
    cost: float | None
    changes: list[str]
    flow: FlowAnswer | None
    doubtful: bool


class Explained(Answer):
    """What results have in common; `reasons` only where they were asked for, `note` where there is one."""

    contexts: list[ContextAnswer]
    rejected: dict[str, int]
    signature: str
    reasons: list[ReasonAnswer] | None = None
    note: str | None = None


class ParaphraseAnswer(Explained):
    source: str
    results: list[ParaphraseItem]
    copies: list[ParaphraseItem]
    source_score: float
    log_rd: dict[str, float]
    gap: dict[str, float]
    dropped: int


class RewriteAnswer(ParaphraseAnswer):
    left: str
    right: str


class FillingItem(Answer):
    text: str
    score: float
    passes: bool
    left_gain: float
    right_gain: float
    side: str


class InfillAnswer(Explained):
    left: str
    right: str
    results: list[FillingItem]
    filled: str


class ScoreAnswer(Answer):
    reference: str
    candidate: str
    score: float
    low: float
    high: float
    relative: float
    relative_low: float
    relative_high: float
    span: float
    scaled: float
    scaled_low: float
    scaled_high: float
    fluency: float
    signature: str
    contexts: list[ContextAnswer] | None = None
    reasons: list[ReasonAnswer] | None = None


class ChangeItem(Answer):
    kind: str
    source: str
    text: str
    source_place: list[int] | None
    text_place: list[int] | None
    cost: float


class DiffAnswer(Answer):
    reference: str
    candidate: str
    cost: float
    faithful: bool
    reasons: list[str]
    changes: list[ChangeItem]
    note: str | None = None


class FingerprintAnswer(Answer):
    format: str
    version: int
    text: str
    pair: str
    settings: dict[str, Any]
    signature: str
    sides: dict[str, Any]
    sha256: str


class ParaphraseAnswers(Answer):
    results: list[ParaphraseAnswer]


class InfillAnswers(Answer):
    results: list[InfillAnswer]


class RewriteAnswers(Answer):
    results: list[RewriteAnswer]


class ScoreAnswers(Answer):
    results: list[ScoreAnswer]


class DiffAnswers(Answer):
    results: list[DiffAnswer]


class FingerprintAnswers(Answer):
    results: list[FingerprintAnswer]


ANSWERS: Mapping[str, type[Answer]] = {
    "paraphrase": ParaphraseAnswers,
    "infill": InfillAnswers,
    "rewrite": RewriteAnswers,
    "score": ScoreAnswers,
    "diff": DiffAnswers,
    "fingerprint": FingerprintAnswers,
}


class Model(Answer):
    """The pair of models that the server has, and what it takes."""

    name: str
    precision: str
    device: str
    window: int
    calibrated: bool
    defaults: dict[str, str] = Field(description="the preset of each task that is used where none is named")
    presets: dict[str, dict[str, dict[str, Any]]] = Field(description="the settings of each preset of each task")
    limits: dict[str, float]


class Models(Answer):
    models: list[Model]


class Health(Answer):
    status: str
    version: str
    waiting: int
    under_way: int
