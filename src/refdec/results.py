"""What refdec gives back: texts that carry their score, their Novelty and the reasons for both.

Plain data. `str(result)` is the text; `to_dict()` is the stable form that `--json` prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
    score: float  # mean log-probability of the kept contexts next to it, both sides added; nats
    relative: float  # score less the source's own; 0 fits the contexts as well as the source does
    novelty: float  # 0: the source's words; 100: none of its word pairs
    copy: bool  # says the same words as the source
    side: str  # whose contexts generated it: "left", "right" or "both"
    fits: tuple[float, ...]  # per kept context: its log-probability here less that next to the source

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "score": round(self.score, 4),
            "relative": round(self.relative, 4),
            "novelty": round(self.novelty, 2),
            "copy": self.copy,
            "side": self.side,
            "fits": [round(fit, 2) for fit in self.fits],
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
            "signature": self.signature,
        }
