"""What refdec returns: texts with their scores, their Novelty and the reasons for both.

Plain data: first what all tasks share (contexts, explanations), then the results of each task. `str(result)` is the
text; `to_dict()` is the stable form that `--json` prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any


def _rounded(result: Any, **digits: int) -> dict[str, Any]:
    """The fields of a result in order; `digits` says how many digits the numbers of a field keep."""

    def plain(value: Any, digits: int | None) -> Any:
        if isinstance(value, tuple):
            return [plain(item, digits) for item in value]
        return value if value is None or digits is None else round(value, digits)

    return {item.name: plain(getattr(result, item.name), digits.get(item.name)) for item in fields(result)}


@dataclass(frozen=True, slots=True)
class Context:
    """A kept context: part of the fingerprint of a source, in plain words.

    Attributes:
        text: the words of the context
        side: "left" of the source or "right" of it
        weight: its share in the ensemble of its side, 0 to 1
    """

    text: str
    side: str
    weight: float

    def to_dict(self) -> dict[str, Any]:
        return _rounded(self, weight=4)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text and how surprising it is in its place.

    Attributes:
        text: the piece with the space before it, if it has one: joined, the tokens are the text
        surprise: negative log-probability in nats, mean of both reading directions
    """

    text: str
    surprise: float


@dataclass(frozen=True, slots=True)
class Reason:
    """What speaks for and against one text.

    Attributes:
        text: the text that is explained
        label: what it is: "source", "reference", "nothing", "copy of the source", "doubtful", or "" for a candidate
        score: nats against the yardstick, the first reason of an explanation
        fits: for each context, its log-probability next to this text less that next to the yardstick
        tokens: the text in pieces, each with its surprise
        changes: words of the source that it swaps, loses or adds
    """

    text: str
    label: str
    score: float
    fits: tuple[float, ...]
    tokens: tuple[Token, ...]
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why texts were ranked as they were. The first reason is the yardstick: the text that scores zero by definition.

    The yardstick of paraphrase and rewrite is the source, that of score the reference, and that of infill the empty
    hypothesis, which has no tokens.

    Attributes:
        task: "paraphrase", "infill", "rewrite" or "score"
        left: the text that was held before the place, "" where there is none
        right: the text that was held after it
        contexts: the contexts that judged, in the order of `Reason.fits`
        reasons: the yardstick, then the candidates, best first, then a copy of the source
        signature: version, models, settings and machine
        note: what the reader must know about the texts, or ""
    """

    task: str
    left: str
    right: str
    contexts: tuple[Context, ...]
    reasons: tuple[Reason, ...]
    signature: str
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The fields that it adds to the JSON object of its result."""
        return {
            "contexts": [context.to_dict() for context in self.contexts],
            "reasons": [
                {
                    "text": reason.text,
                    "label": reason.label,
                    "score": round(reason.score, 4),
                    "fits": [round(fit, 2) for fit in reason.fits],
                    "tokens": [{"text": token.text, "surprise": round(token.surprise, 2)} for token in reason.tokens],
                }
                for reason in self.reasons
            ],
        }


@dataclass(frozen=True, slots=True)
class Flow:
    """How probable a text is by itself, less how probable the source is: means of both reading directions, in nats.

    Attributes:
        whole: of all tokens together
        worst: per token, of the five neighbouring tokens that are least probable: a break in the grammar shows here
        broken: log-odds that the grammar is broken, by the probe of the pair, less those of the source; 0 without one
    """

    whole: float
    worst: float
    broken: float = 0.0


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A candidate with what speaks for and against it.

    Attributes:
        text: the words of the candidate
        score: mean log-probability of the kept contexts next to it, sides added, and what is below; nats
        relative: score less that of the source; at 0 it fits the contexts as well as the source does
        prior: the part of the score that is its own log-probability against the source's; 0 where that does not count
        lost: numbers and names of the source that it lacks; the setting `loss` makes them cost nats
        novelty: 0: the words of the source; 100: none of its word pairs
        copy: whether it says the same words as the source
        side: which side generated it: "left", "right" or "both"; "steps" if it is the source after small listed steps;
            "joined" for parts of several candidates
        fits: for each kept context, its log-probability next to this text less that next to the source
        confidence: probability that it keeps the meaning, 0 to 1; None where the pair of models is not calibrated, and
            where the source does not look like English
        cost: what the ledger (`refdec.compare`) charges for the words that changed: 0 where none did, at most 1 where
            nothing important did
        changes: these words, the dearest first: "published → released", "lost: album", "new: two weeks ago"
        flow: how it reads by itself, against the source
        doubtful: whether it has more likely lost the meaning than kept it: its confidence is under 0.5, or its cost is
            over 1 although the ledger steered
    """

    text: str
    score: float
    relative: float
    prior: float
    lost: tuple[str, ...]
    novelty: float
    copy: bool
    side: str
    fits: tuple[float, ...]
    confidence: float | None = None
    cost: float | None = None
    changes: tuple[str, ...] = ()
    flow: Flow | None = None
    doubtful: bool = False

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        line = _rounded(self, score=4, relative=4, prior=4, novelty=2, fits=2, confidence=3, cost=2)
        return line | {"flow": None if self.flow is None else _rounded(self.flow, whole=2, worst=3, broken=2)}


@dataclass(frozen=True, slots=True)
class ParaphraseResult:
    """Everything known about one source: candidates in rank order, contexts, signature.

    Scores compare candidates of this source with each other. They do not compare across sources, because each source is
    judged by its own contexts.

    Attributes:
        source: the text that was paraphrased
        source_score: its own score, in nats
        candidates: best first, copies of the source among them
        contexts: the kept contexts, right side first, heaviest first
        log_rd: for each side, log RD(source): how well the kept contexts describe the source
        gap: for each side, the most nats that better weights could add to log_rd
        signature: version, models, settings and machine: what a stranger needs to get the same numbers
        rejected: reasons why candidates broke a constraint, with the number of candidates
        dropped: number of candidates that were not ranked: too long, or far behind on the first contexts
        explanation: reasons for the best candidates, where it was asked for
        note: what the reader must know about the source, such as that it does not look like English, or ""
    """

    source: str
    source_score: float
    candidates: tuple[Paraphrase, ...]
    contexts: tuple[Context, ...]
    log_rd: dict[str, float]
    gap: dict[str, float]
    signature: str
    rejected: dict[str, int] = field(default_factory=dict)
    dropped: int = 0
    explanation: Explanation | None = None
    note: str = ""

    def __str__(self) -> str:
        return str(self.best) if self.best else ""

    def __iter__(self) -> Iterator[Paraphrase]:
        return iter(self.candidates)

    @property
    def best(self) -> Paraphrase | None:
        """The best-ranked candidate that is not a copy of the source."""
        return next((candidate for candidate in self.candidates if not candidate.copy), None)

    @property
    def copies(self) -> tuple[Paraphrase, ...]:
        """The candidates that say the same words as the source, best first."""
        return tuple(item for item in self.candidates if item.copy)

    def at_novelty(self, least: float) -> tuple[Paraphrase, ...]:
        """Candidates whose Novelty is at least this, best first, without copies. May be empty."""
        return tuple(item for item in self.candidates if item.novelty >= least and not item.copy)

    def confident(self, least: float) -> tuple[Paraphrase, ...]:
        """Candidates that keep the meaning with at least this confidence (0 to 1), best first, without copies.

        Empty where no candidate reaches it, and where the pair of models is not calibrated.
        """
        calibrated = ((item, item.confidence) for item in self.candidates if not item.copy)
        return tuple(item for item, confidence in calibrated if confidence is not None and confidence >= least)

    def top(self, count: int) -> tuple[Paraphrase, ...]:
        """The best `count` candidates, without copies of the source."""
        return self.at_novelty(0)[:count]

    def front(self) -> tuple[Paraphrase, ...]:
        """The trade-off between rank and Novelty: candidates that no other beats in both, by rising Novelty.

        Copies of the source are left out.
        """
        best: list[Paraphrase] = []
        for candidate in self.at_novelty(0):
            if not best or candidate.novelty > best[-1].novelty:
                best.append(candidate)
        return tuple(best)

    def to_dict(self, results: tuple[Paraphrase, ...] | None = None) -> dict[str, Any]:
        """A JSON object; `results` chooses which candidates are in it, by default all, copies among them.

        Copies of the source that were not chosen stand apart.
        """
        chosen = self.candidates if results is None else results
        return {
            "source": self.source,
            "results": [result.to_dict() for result in chosen],
            "copies": [copy.to_dict() for copy in self.copies if copy not in chosen],
            "source_score": round(self.source_score, 4),
            "contexts": [context.to_dict() for context in self.contexts],
            "log_rd": {side: round(value, 3) for side, value in self.log_rd.items()},
            "gap": {side: round(value, 6) for side, value in self.gap.items()},
            "rejected": self.rejected,
            "dropped": self.dropped,
            "signature": self.signature,
            **({"note": self.note} if self.note else {}),
        }


@dataclass(frozen=True, slots=True)
class RewriteResult(ParaphraseResult):
    """Rewritings of a span that was held between its neighbours, whose fit counts in every score.

    Attributes, besides those of ParaphraseResult (`source` is the span):
        left: the text before the span
        right: the text after the span
    """

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
    """A filling of a gap, with what it explains.

    Attributes:
        text: the words of the filling
        score: nats that it adds to the log-probability of the texts around the gap, against an empty gap
        passes: whether the texts on both sides become more probable
        left_gain: the part of the score for the text before the gap
        right_gain: the part for the text after the gap
        side: whose contexts generated it: "left", "right" or "both"
    """

    text: str
    score: float
    passes: bool
    left_gain: float
    right_gain: float
    side: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        return _rounded(self, score=4, left_gain=4, right_gain=4)


@dataclass(frozen=True, slots=True)
class InfillResult:
    """Fillings of one gap: those that explain the texts on both sides first, each group best first.

    Attributes:
        left: the text before the gap
        right: the text after the gap
        candidates: the fillings
        contexts: the kept contexts, right side first, heaviest first
        signature: version, models, settings and machine
        rejected: reasons why fillings broke a constraint, with the number of fillings
        explanation: reasons for the best fillings, where it was asked for
    """

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
        """The best filling; its `passes` says whether it explains the texts on both sides."""
        return self.candidates[0] if self.candidates else None

    @property
    def filled(self) -> str:
        """The whole text with the best filling in the gap; where there is none, the gap stays."""
        return " ".join(part for part in (self.left, str(self) or "___", self.right) if part)

    def top(self, count: int) -> tuple[Filling, ...]:
        """The best `count` fillings."""
        return self.candidates[:count]

    def to_dict(self, results: tuple[Filling, ...] | None = None) -> dict[str, Any]:
        """A JSON object; `results` chooses which fillings are in it, by default all."""
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
    """How well a candidate fits the contexts of a reference; `float(score)` is `scaled`.

    Intervals are those of a bootstrap over the contexts (95 %).

    Attributes:
        reference: the text whose contexts judge
        candidate: the text that is judged
        score: equation 3: mean log-probability of the contexts next to the candidate, sides added, in nats
        low, high: its interval
        relative: score less that of the reference; at 0 the candidate fits as well as the reference
        relative_low, relative_high: its interval
        span: nats from an unrelated text up to the reference itself
        scaled: 100: as good as the reference itself; 0: no better than an unrelated text
        scaled_low, scaled_high: its interval
        fluency: the part of score that is the candidate's own log-probability; 0 where that does not count
        signature: version, models, settings and machine
        explanation: reasons for the score, where it was asked for
    """

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
