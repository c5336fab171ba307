"""Pairs of questions and sentences that differ in little: where that changes the meaning, and where it does not."""

from __future__ import annotations

import tomllib
from importlib.resources import files

CONTRASTS: dict[str, list[tuple[str, str]]] = tomllib.loads(
    files("refdec.evaluate.judging").joinpath("contrasts.toml").read_text(encoding="utf-8")
)
"""Pairs by what differs in them."""
