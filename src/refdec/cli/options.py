"""Options made from the settings themselves, so that a new setting is an option at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import click

from refdec.settings import PRESETS, ParaphraseSettings

Command = TypeVar("Command", bound=Callable[..., Any])


def setting_options(function: Command) -> Command:
    """One option for every setting; what is not given stays as the preset has it."""
    for item in reversed(dataclasses.fields(ParaphraseSettings)):
        details = item.metadata
        kind: Any = click.Choice(details["choices"]) if details["choices"] else type(item.default)
        symbol = f" ({details['symbol']} in the paper)" if details["symbol"] else ""
        values = ", ".join(f"{name} {getattr(settings, item.name)}" for name, settings in PRESETS.items())
        same = len({getattr(settings, item.name) for settings in PRESETS.values()}) == 1
        default = f"[default: {item.default}]" if same else f"[{values}]"
        flag = "--" + item.name.replace("_", "-")
        function = click.option(flag, item.name, type=kind, default=None, help=f"{details['help']}{symbol} {default}")(
            function
        )
    return function


def given(values: dict[str, Any]) -> dict[str, Any]:
    """The settings that were named on the command line."""
    names = {item.name for item in dataclasses.fields(ParaphraseSettings)}
    return {name: value for name, value in values.items() if name in names and value is not None}
