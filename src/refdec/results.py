"""What refdec gives back: texts that carry their score, their Novelty and the reasons for both.

Plain data. `str(result)` is the text; `to_dict()` is the stable form that `--json` prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Context:
    """A kept context: part of the fingerprint of a source, in plain words."""

    text: str
    side: str  # "left" of the source or "right" of it
    weight: float  # its share in the ensemble of its side

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text, "side": self.side, "weight": round(self.weight, 4)}


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A candidate with what speaks for and against it."""

    text: str
    score: float  # mean log-probability of the kept contexts next to it, both sides added, and what is below; nats
    relative: float  # score less the source's own; 0 fits the contexts as well as the source does
    prior: float  # the part that is its own log-probability against the source's; 0 where that does not count
    lost: tuple[str, ...]  # numbers and names of the source that it does not have; they may cost something, too
    novelty: float  # 0: the source's words; 100: none of its word pairs
    copy: bool  # says the same words as the source
    side: str  # whose contexts generated it: "left", "right" or "both"
    fits: tuple[float, ...]  # per kept context: its log-probability here less that next to the source
    confidence: float | None = None  # how likely it keeps the meaning, 0 to 1; None where nothing was calibrated

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "score": round(self.score, 4),
            "relative": round(self.relative, 4),
            "prior": round(self.prior, 4),
            "lost": list(self.lost),
            "novelty": round(self.novelty, 2),
            "copy": self.copy,
            "side": self.side,
            "fits": [round(fit, 2) for fit in self.fits],
            "confidence": None if self.confidence is None else round(self.confidence, 3),
        }


@dataclass(frozen=True, slots=True)
class ParaphraseResult:
    """Everything known about one source: candidates in rank order, contexts, signature.

    Scores compare candidates of this source with each other. They do not compare across sources, because
    every source is judged by contexts of its own.
    """

    source: str
    source_score: float
    candidates: tuple[Paraphrase, ...]  # best first, copies of the source among them
    contexts: tuple[Context, ...]
    log_rd: dict[str, float]  # a side: log RD(source), how well the kept contexts describe the source
    gap: dict[str, float]  # a side: the most that better weights could add to it, nats
    signature: str
    rejected: dict[str, int] = field(default_factory=dict)  # why candidates broke a constraint, and how many did
    dropped: int = 0  # candidates that fell behind on the first contexts, or were too long, and were not ranked
    explanation: Explanation | None = None  # where it was asked for

    def __str__(self) -> str:
        return str(self.best) if self.best else ""

    def __iter__(self) -> Iterator[Paraphrase]:
        return iter(self.candidates)

    @property
    def best(self) -> Paraphrase | None:
        """The best-ranked candidate that is no copy of the source."""
        return next((candidate for candidate in self.candidates if not candidate.copy), None)

    def at_novelty(self, least: float) -> tuple[Paraphrase, ...]:
        """Candidates whose Novelty is at least this, best first. May be empty; a copy of the source is never novel."""
        return tuple(item for item in self.candidates if item.novelty >= least and not (item.copy and least > 0))

    def confident(self, least: float) -> tuple[Paraphrase, ...]:
        """Candidates that keep the meaning with at least this confidence (0 to 1), best first, copies left out.

        Empty where nothing reaches it, and where the pair of models is not calibrated.
        """
        return tuple(
            item
            for item in self.candidates
            if not item.copy and item.confidence is not None and item.confidence >= least
        )

    def top(self, count: int) -> tuple[Paraphrase, ...]:
        """The best `count` candidates; copies of the source that rank among them come on top of that."""
        chosen: list[Paraphrase] = []
        wanted = count
        for candidate in self.candidates:
            if wanted <= 0:
                break
            chosen.append(candidate)
            wanted -= not candidate.copy
        return tuple(chosen)

    def front(self) -> tuple[Paraphrase, ...]:
        """The trade-off between quality and novelty: those that no other beats in both, by rising Novelty."""
        best: list[Paraphrase] = []
        for candidate in self.candidates:
            if not best or candidate.novelty > best[-1].novelty:
                best.append(candidate)
        return tuple(best)

    def to_dict(self, results: tuple[Paraphrase, ...] | None = None) -> dict[str, Any]:
        """A JSON object; `results` chooses which candidates are in it, by default all."""
        return {
            "source": self.source,
            "results": [result.to_dict() for result in (self.candidates if results is None else results)],
            "source_score": round(self.source_score, 4),
            "contexts": [context.to_dict() for context in self.contexts],
            "log_rd": {side: round(value, 3) for side, value in self.log_rd.items()},
            "gap": {side: round(value, 6) for side, value in self.gap.items()},
            "rejected": self.rejected,
            "dropped": self.dropped,
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True)
class RewriteResult(ParaphraseResult):
    """Rewritings of a span that was held between its neighbours. `relative` counts the fit of these, too."""

    left: str = ""
    right: str = ""

    def in_place(self, item: Paraphrase) -> str:
        """The document with a candidate in the span's place."""
        return f"{self.left}{item.text}{self.right}"

    def to_dict(self, results: tuple[Paraphrase, ...] | None = None) -> dict[str, Any]:
        line = ParaphraseResult.to_dict(self, results)
        return {"source": line.pop("source"), "left": self.left, "right": self.right, **line}


@dataclass(frozen=True, slots=True)
class Filling:
    """A hypothesis for a gap, with what it explains."""

    text: str
    score: float  # nats that it adds to the log-probability of both observations, over the empty hypothesis
    passes: bool  # whether both observations gain
    left_gain: float  # of that, for the text before the gap
    right_gain: float  # and for the text after it
    side: str  # whose contexts generated it: "left", "right" or "both"

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "score": round(self.score, 4),
            "passes": self.passes,
            "left_gain": round(self.left_gain, 4),
            "right_gain": round(self.right_gain, 4),
            "side": self.side,
        }


@dataclass(frozen=True, slots=True)
class InfillResult:
    """Fillings of one gap: those that explain both observations first, each group best first."""

    left: str
    right: str
    candidates: tuple[Filling, ...]
    contexts: tuple[Context, ...]
    signature: str
    rejected: dict[str, int] = field(default_factory=dict)
    explanation: Explanation | None = None

    def __str__(self) -> str:
        return str(self.best) if self.best else ""

    def __iter__(self) -> Iterator[Filling]:
        return iter(self.candidates)

    @property
    def best(self) -> Filling | None:
        """The best filling; its `passes` says whether it explains both observations."""
        return self.candidates[0] if self.candidates else None

    @property
    def filled(self) -> str:
        """The whole text with the best filling in the gap; where there is none, the gap stays."""
        return " ".join(part for part in (self.left, str(self) or "___", self.right) if part)

    def top(self, count: int) -> tuple[Filling, ...]:
        return self.candidates[:count]

    def to_dict(self, results: tuple[Filling, ...] | None = None) -> dict[str, Any]:
        return {
            "left": self.left,
            "right": self.right,
            "results": [result.to_dict() for result in (self.candidates if results is None else results)],
            "contexts": [context.to_dict() for context in self.contexts],
            "rejected": self.rejected,
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True)
class Score:
    """How well a candidate fits the contexts of a reference, with bootstrap intervals over the contexts (95 %)."""

    reference: str
    candidate: str
    score: float  # equation 3: mean log-probability of the contexts next to the candidate, sides added; nats
    low: float
    high: float
    relative: float  # score less the reference's own; 0 fits as well as the reference
    relative_low: float
    relative_high: float
    span: float  # nats from an unrelated text up to the reference itself
    scaled: float  # 100: as good as the reference itself; 0: no better than an unrelated text
    scaled_low: float
    scaled_high: float
    fluency: float  # the part of score that is the candidate's own log-probability; 0 where that does not count
    signature: str
    explanation: Explanation | None = None

    def __float__(self) -> float:
        return self.scaled

    def to_dict(self) -> dict[str, Any]:
        numbers = ("score", "low", "high", "relative", "relative_low", "relative_high", "span", "fluency")
        percents = ("scaled", "scaled_low", "scaled_high")
        return {
            "reference": self.reference,
            "candidate": self.candidate,
            **{name: round(getattr(self, name), 4) for name in numbers},
            **{name: round(getattr(self, name), 2) for name in percents},
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text and how surprising it is in its place, in nats, mean of both reading directions."""

    text: str  # with the space before it, if it has one: joined, the tokens are the text
    surprise: float


@dataclass(frozen=True, slots=True)
class Reason:
    """What speaks for and against one text."""

    text: str
    label: str  # what it is to the reader: "source", "reference", "nothing", or "" for a candidate
    score: float  # nats against the yardstick, which is the reason with the label
    fits: tuple[
        float, ...
    ]  # one for each context: its log-probability next to this text less that next to the yardstick
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One view for all tasks. The first reason is the yardstick: the text that scores zero by definition.

    paraphrase and rewrite: the source itself. score: the reference. infill: the empty hypothesis, with no tokens.
    """

    task: str  # "paraphrase", "infill", "rewrite" or "score"
    left: str  # text that was held before the place, "" where there is none
    right: str  # text that was held after it
    contexts: tuple[Context, ...]
    reasons: tuple[Reason, ...]  # the yardstick, then candidates, best first
    signature: str
