"""From a request to the pieces of work in it: for each text its coroutine, and what it would cost.

The same tasks as those of `Reflector`, with the same settings, constraints and choices; the result of a piece is the
JSON object that `to_dict` gives. A text that cannot be worked on is refused here, before any model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from refdec.errors import InputError
from refdec.ledger.comparison import compare
from refdec.lm.tokens import Ids
from refdec.reflect.schedule import Task
from refdec.results import Explanation, ParaphraseResult
from refdec.serve.cost import Text, flops_of
from refdec.serve.limits import WORD_PAIRS, Limits
from refdec.settings import (
    AnySettings,
    InfillSettings,
    ParaphraseSettings,
    RewriteSettings,
    ScoreSettings,
)
from refdec.tasks.arguments import place
from refdec.tasks.choice import Wanted, choose, choose_fillings
from refdec.tasks.confidence import check_calibrated
from refdec.tasks.constraints import Constraints
from refdec.tasks.describe import Stage, fingerprint, prepare
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.infill import infill, split_blanks
from refdec.tasks.paraphrase import paraphrase
from refdec.tasks.reflector import Reflector
from refdec.tasks.rewrite import Spot, rewrite
from refdec.tasks.score import score
from refdec.tasks.steering import price_of_following
from refdec.tasks.yardstick import Yardsticks
from refdec.text.cleaning import clean

_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")

Content = dict[str, Any]


@dataclass(frozen=True)
class Piece:
    """The work on one text of a request."""

    flops: float
    begin: Callable[[Stage], Task[Content]]


Asked = dict[str, Any]
"""A request after its form was checked: a value for each of its fields."""

Pieces = Callable[[Reflector, Limits, Asked], list[Piece]]


def paraphrase_pieces(reflector: Reflector, limits: Limits, asked: Asked) -> list[Piece]:
    saved = _fingerprint(reflector, asked)
    settings = _settings(reflector, limits, ParaphraseSettings, asked, saved)
    texts = _texts(asked) if saved is None or _is_given(asked, "text") or _is_given(asked, "texts") else [saved.text]
    if saved is not None and len(texts) > 1:
        raise InputError("A fingerprint is of one text. Give one text with it, or none.")
    wanted, constraints = _wanted(reflector, asked), _constraints(asked)

    async def work(text: str, stage: Stage) -> Content:
        result = await paraphrase(
            reflector.pair, text, settings,
            constraints=constraints, fingerprint=saved, explain=asked["explain"], stage=stage,
        )  # fmt: skip
        return _ranked(result, wanted, asked["all"])

    pieces = []
    for number, text in enumerate(texts, start=1):
        with_place = partial(prepare, reflector.pair, text, settings, settings.extra_tokens)
        _, _, framed = _told(f"Text {number} of {len(texts)}: " * (len(texts) > 1), with_place)
        flops = flops_of(reflector.pair, settings, Text(len(framed.all), explained=asked["explain"]))
        pieces.append(Piece(flops, partial(work, text)))
    return pieces


def rewrite_pieces(reflector: Reflector, limits: Limits, asked: Asked) -> list[Piece]:
    settings = _settings(reflector, limits, RewriteSettings, asked)
    if _is_given(asked, "document") == _is_given(asked, "span"):
        raise InputError("Give a document with [[span]], or a span with its left and right neighbours.")
    spot = asked["document"] or {name: asked[name] or "" for name in ("span", "left", "right")}
    left, span, right = place(spot)
    wanted, constraints = _wanted(reflector, asked), _constraints(asked)

    async def work(stage: Stage) -> Content:
        result = await rewrite(
            reflector.pair, left, span, right, settings, constraints=constraints, explain=asked["explain"], stage=stage
        )
        return _ranked(result, wanted, asked["all"])

    framed = Spot.of(reflector.pair, left, span, right, settings).framed
    text = Text(len(framed.all), explained=asked["explain"])
    return [Piece(flops_of(reflector.pair, settings, text), work)]


def infill_pieces(reflector: Reflector, limits: Limits, asked: Asked) -> list[Piece]:
    settings = _settings(reflector, limits, InfillSettings, asked)
    beside = _is_given(asked, "left") or _is_given(asked, "right")
    if beside == _is_given(asked, "text"):
        raise InputError("Give a text with ___, or the texts to the left and to the right of the gap.")
    parts = [asked["left"] or "", asked["right"] or ""] if beside else split_blanks(asked["text"])
    if len(parts) > 2:
        raise InputError(f"There are {len(parts) - 1} gaps in the text. Send it with one gap, and fill it in first.")
    left, right = parts
    wanted, constraints = Wanted(top=asked["top"]), _constraints(asked)

    async def work(stage: Stage) -> Content:
        result = await infill(
            reflector.pair, left, right, settings, constraints=constraints, explain=asked["explain"], stage=stage
        )
        chosen, note = choose_fillings(result, wanted)
        content = result.to_dict(result.candidates if asked["all"] else chosen) | {"filled": result.filled}
        return content | _reasons(result.explanation) | _noted(note)

    for part in filter(str.strip, parts):
        clean(part)
    size = len(_encoded(reflector, f"{left} {right}"))
    return [Piece(flops_of(reflector.pair, settings, Text(size, explained=asked["explain"])), work)]


def score_pieces(reflector: Reflector, limits: Limits, asked: Asked) -> list[Piece]:
    """One piece per candidate; the reference is described once for all of them."""
    pair, saved = reflector.pair, _fingerprint(reflector, asked)
    settings = _settings(reflector, limits, ScoreSettings, asked, saved)
    if saved is None and not _is_given(asked, "reference"):
        raise InputError("There is no reference to score against. Give one, or its fingerprint.")
    reference, candidates = asked["reference"], asked["candidates"]
    yardsticks = Yardsticks(pair, settings, saved)

    async def work(candidate: str, stage: Stage) -> Content:
        (result,) = await score(
            pair, reference, [candidate], settings,
            yardsticks=yardsticks, explain=bool(asked["explain"]), stage=stage,
        )  # fmt: skip
        return result.to_dict() | _reasons(result.explanation)

    size = 0
    if reference is not None:
        _, _, framed = _told("The reference: ", partial(prepare, pair, reference, settings))
        size = len(framed.all)
    pieces = []
    for number, candidate in enumerate(candidates, start=1):
        place_of = f"Candidate {number} of {len(candidates)}: " * (len(candidates) > 1)
        _, _, framed = _told(place_of, partial(prepare, pair, candidate, settings))
        text = Text(max(size, len(framed.all)), explained=int(bool(asked["explain"])))
        pieces.append(Piece(flops_of(pair, settings, text), partial(work, candidate)))
    return pieces


def diff_pieces(_: Reflector, __: Limits, asked: Asked) -> list[Piece]:
    """No model is asked, but the thread of the models accounts for the words: so the same limits hold."""
    single = _is_given(asked, "a") and _is_given(asked, "b")
    if single == _is_given(asked, "pairs"):
        raise InputError("Give the texts a and b, or a list of pairs.")

    async def work(source: str, text: str, __: Stage) -> Content:
        return {"reference": source, "candidate": text, **compare(source, text).to_dict()}

    pairs = [(asked["a"], asked["b"])] if single else asked["pairs"]
    pieces = []
    for number, texts in enumerate(pairs, start=1):
        which = f"Pair {number} of {len(pairs)}: " * (len(pairs) > 1)
        source, text = (_told(which, partial(clean, text)) for text in texts)
        words, others = (len(_WORD_OR_MARK.findall(text)) for text in (source, text))
        if words * others > WORD_PAIRS:
            raise InputError(
                f"{which}{words:,} words and marks are too many to be compared with {others:,}. Compare sentence by "
                "sentence."
            )
        pieces.append(Piece(0.0, partial(work, source, text)))
    return pieces


def fingerprint_pieces(reflector: Reflector, limits: Limits, asked: Asked) -> list[Piece]:
    kind = ScoreSettings if asked["for"] == "score" else ParaphraseSettings
    settings = _settings(reflector, limits, kind, asked).description()
    texts = _texts(asked)

    async def work(text: str, stage: Stage) -> Content:
        return (await fingerprint(reflector.pair, text, settings, stage)).to_dict()

    pieces = []
    for number, text in enumerate(texts, start=1):
        which = f"Text {number} of {len(texts)}: " * (len(texts) > 1)
        _, _, framed = _told(which, partial(prepare, reflector.pair, text, settings))
        pieces.append(Piece(flops_of(reflector.pair, settings, Text(len(framed.all))), partial(work, text)))
    return pieces


def _settings(
    reflector: Reflector,
    limits: Limits,
    kind: type[AnySettings],
    asked: Asked,
    saved: Fingerprint | None = None,
) -> AnySettings:
    """The settings that a request names, as those of a command; a wanted Novelty sets the price of copying."""
    changes = {name: value for name, value in (asked["settings"] or {}).items() if value is not None}
    if asked.get("novelty") is not None and "copying" in kind.names():
        changes.setdefault("copying", price_of_following(asked["novelty"]))
    preset: str | None = asked["preset"]
    settings = reflector.settings(kind, preset, changes, saved)
    limits.check(settings)
    if saved is not None:
        saved.check(reflector.pair.name, None, settings)
    return settings


def _fingerprint(reflector: Reflector, asked: Asked) -> Fingerprint | None:
    if asked["fingerprint"] is None:
        return None
    saved = Fingerprint.from_dict(asked["fingerprint"])
    saved.check_ids(reflector.pair.tokens.vocabulary)
    return saved


def _texts(asked: Asked) -> Sequence[str]:
    if _is_given(asked, "text") == _is_given(asked, "texts"):
        raise InputError("Give a text, or a list of texts.")
    texts: Sequence[str] = [asked["text"]] if _is_given(asked, "text") else asked["texts"]
    return texts


def _is_given(asked: Asked, name: str) -> bool:
    return asked[name] is not None


def _wanted(reflector: Reflector, asked: Asked) -> Wanted:
    if asked["confidence"] is not None:
        check_calibrated(reflector.pair.name)
    return Wanted(**{name: asked[name] for name in ("top", "novelty", "confidence", "front")})


def _constraints(asked: Asked) -> Constraints:
    return Constraints(**(asked["constraints"] or {}))


def _encoded(reflector: Reflector, text: str) -> Ids:
    """The ids of a text, or of as much of it as the models could read at most."""
    tokens = reflector.pair.tokens
    return tuple(tokens.encode(text[: tokens.longest * reflector.pair.window]))


def _told(which: str, check: Callable[[], Any]) -> Any:
    """What a check gives; what it refuses is told with the text that it is about."""
    try:
        return check()
    except InputError as error:
        raise InputError(f"{which}{error}") from error


def _ranked(result: ParaphraseResult, wanted: Wanted, everything: bool) -> Content:
    """A result with the candidates that were asked for, its reasons, and a note where it has one."""
    chosen, note = choose(result, wanted)
    content = result.to_dict(result.at_novelty(0) if everything else chosen)
    return content | _reasons(result.explanation) | _noted(note)


def _reasons(explanation: Explanation | None) -> Content:
    return {} if explanation is None else explanation.to_dict()


def _noted(note: str) -> Content:
    return {"note": note} if note else {}
