"""The requests of the API: the fields of each task, with a bound for every number, every text and every list.

Made from the limits of the server and from the settings of the tasks, so that the OpenAPI document says what the server
takes. Knows the form of a request; what a text means is checked by the tasks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, conlist, create_model

from refdec.serve.limits import HIGHEST, Limits
from refdec.settings import (
    PRESETS,
    FingerprintSettings,
    InfillSettings,
    ParaphraseSettings,
    RewriteSettings,
    ScoreSettings,
)
from refdec.tasks.constraints import FINDERS

PHRASE_CHARACTERS = 200
"""Characters of a phrase to keep or to avoid."""

MOST_SHOWN = 1_000
"""Results that can be asked for by number; `all` has no such limit."""

KEY_CHARACTERS = 1_000
"""Characters of a key, at most."""

Fields = dict[str, tuple[Any, Any]]


class Request(BaseModel):
    """Refuses what it does not know: a misspelt field must not be ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SessionRequest(Request):
    """The key that the page asks for once."""

    key: str = Field(max_length=KEY_CHARACTERS, description="the key of the server")


def request_models(limits: Limits) -> Mapping[str, type[Request]]:
    """The request of each task."""
    text = _text(limits, "the text")
    several = conlist(_string(limits), min_length=1, max_length=limits.texts)
    texts = {"texts": _optional(several, "several texts")}
    pair = conlist(_string(limits), min_length=2, max_length=2)
    ranked = _shown(limits) | _constraints(limits)
    novel = _novel()
    saved = _optional(dict[str, Any], "a fingerprint, as this server gave it: its contexts are not sampled again")
    return {
        "paraphrase": _model(ParaphraseSettings, text | texts | {"fingerprint": saved} | ranked | novel),
        "infill": _model(
            InfillSettings,
            _text(limits, "a text with ___", "text")
            | _text(limits, "the text before the gap", "left", least=0)
            | _text(limits, "the text after the gap", "right", least=0)
            | ranked,
        ),
        "rewrite": _model(
            RewriteSettings,
            _text(limits, "a document with [[span]]", "document")
            | _text(limits, "the words to rewrite", "span")
            | _text(limits, "the text before the span", "left", least=0)
            | _text(limits, "the text after the span", "right", least=0)
            | ranked
            | novel,
        ),
        "score": _model(
            ScoreSettings,
            _text(limits, "the text whose contexts judge", "reference")
            | {
                "candidates": (several, Field(description="the texts that are judged")),
                "fingerprint": saved,
                "explain": _explain(limits),
            },
        ),
        "diff": _model(
            None,
            _text(limits, "the first text", "a")
            | _text(limits, "the second text", "b")
            | {
                "pairs": _optional(conlist(pair, min_length=1, max_length=limits.texts), "several pairs of texts"),
            },
        ),
        "fingerprint": _model(
            FingerprintSettings,
            text
            | texts
            | {"for": (Literal["paraphrase", "score"], Field("paraphrase", description="the task it is made for"))},
        ),
    }


def _model(kind: type[FingerprintSettings] | None, fields: Fields) -> type[Request]:
    """The request of a task: its own fields, those of its settings, and whether its results are streamed."""
    name = "diff" if kind is None else kind.task
    if kind is not None:
        fields = fields | {
            "preset": _optional(_one_of(PRESETS[kind.task]), "settings by name"),
            "settings": _optional(_settings_model(kind), "single settings"),
        }
    fields = fields | {"stream": (bool, Field(False, description="send the results as server-sent events"))}
    title = name.capitalize()
    made: type[Request] = create_model(f"{title}Request", __base__=Request, __doc__=f"A request to {name}.", **fields)  # type: ignore[call-overload]
    return made


def _settings_model(kind: type[FingerprintSettings]) -> type[Request]:
    """The settings of a task, each with its range on this server."""
    fields = {item.name: _optional(_setting_type(item), item.metadata["help"]) for item in dataclasses.fields(kind)}
    made: type[Request] = create_model(
        f"{kind.task.capitalize()}Settings", __base__=Request, __doc__=f"Settings of {kind.task}.", **fields
    )  # type: ignore[call-overload]
    return made


def _setting_type(item: dataclasses.Field[Any]) -> Any:
    details = item.metadata
    if details["choices"]:
        return _one_of(details["choices"])
    if isinstance(item.default, bool):
        return bool
    kind = int if isinstance(item.default, int) else float
    high = min(details["high"], HIGHEST.get(item.name, details["high"]))
    return Annotated[kind, Field(ge=details["low"], le=high, allow_inf_nan=False if kind is float else None)]


def _shown(limits: Limits) -> Fields:
    return {
        "top": (int, Field(5, ge=1, le=MOST_SHOWN, description="results, best first")),
        "all": (bool, Field(False, description="every ranked candidate instead of the best")),
        "explain": _explain(limits),
    }


def _explain(limits: Limits) -> tuple[Any, Any]:
    return int, Field(0, ge=0, le=limits.explain, description="results that are explained word by word, best first")


def _novel() -> Fields:
    share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    return {
        "novelty": _optional(Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)], "only results this novel"),
        "confidence": _optional(share, "only results that keep the meaning with this probability"),
        "front": (bool, Field(False, description="the trade-off between quality and Novelty")),
    }


def _constraints(limits: Limits) -> Fields:
    phrase = Annotated[str, Field(min_length=1, max_length=PHRASE_CHARACTERS)]
    phrases = conlist(phrase, max_length=limits.phrases)
    kinds = conlist(_one_of(FINDERS), max_length=len(FINDERS))
    made: Any = create_model(
        "Constraints",
        __base__=Request,
        __doc__="Words that results must have, and must not have.",
        keep=(phrases, Field([], description="phrases that results have")),
        avoid=(phrases, Field([], description="words that results do not have")),
        automatic=(kinds, Field([], description="kinds of phrases of the text that results have")),
    )
    return {"constraints": _optional(made, "words to keep and to avoid")}


def _one_of(names: Iterable[str]) -> Any:
    literal: Any = Literal
    return literal[tuple(names)]


def _string(limits: Limits, least: int = 1) -> Any:
    return Annotated[str, Field(min_length=least, max_length=limits.characters)]


def _text(limits: Limits, description: str, name: str = "text", least: int = 1) -> Fields:
    return {name: _optional(_string(limits, least), description)}


def _optional(kind: Any, description: str) -> tuple[Any, Any]:
    return kind | None, Field(None, description=description)
