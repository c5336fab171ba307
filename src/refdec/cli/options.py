"""Options that commands share. Those of settings are made from the settings themselves: a new one is an option at once.

Knows the settings and what they are called; nothing here loads a model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from refdec.settings import PRESETS, AnySettings, FingerprintSettings, Settings, preset
from refdec.tasks.constraints import FINDERS, Constraints
from refdec.tasks.fingerprint import Fingerprint

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)
COMMON = "Options"


class SectionedOption(click.Option):
    """An option that the help lists under a title of its own."""

    def __init__(self, *names: Any, section: str, **details: Any) -> None:
        super().__init__(*names, **details)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help has a section for every title of its options, the common ones first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {COMMON: []}
        for item in self.get_params(ctx):
            record = item.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(item, "section", COMMON), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


SETTINGS_HELP = "settings [default: {} on a CPU, {} on a GPU]"


def together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which the help lists them."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def setting_options(kind: type[FingerprintSettings]) -> Callable[[Command], Command]:
    """The presets of a task and one option for every setting; what is not given stays as the preset has it."""
    presets = PRESETS[kind.task]
    names = list(presets)
    choice = click.option("--preset", type=click.Choice(names), help=SETTINGS_HELP.format(names[0], names[-1]))
    return together(choice, options_of(kind, presets))


def options_of(kind: type[Settings], presets: Mapping[str, Settings]) -> Callable[[Command], Command]:
    """One option for every setting, with its value in each preset."""
    return together(*(_setting_option(item, presets) for item in dataclasses.fields(kind)))


def _setting_option(item: dataclasses.Field[Any], presets: Mapping[str, Settings]) -> Callable[[Command], Command]:
    details = item.metadata
    values = {name: _word(getattr(settings, item.name)) for name, settings in presets.items()}
    shared = set(values.values())
    default = f"default: {shared.pop()}" if len(shared) == 1 else ", ".join(map(" ".join, values.items()))
    symbol = f" ({details['symbol']} in the paper)" if details["symbol"] else ""
    flag = item.name.replace("_", "-")
    if isinstance(item.default, bool):
        flag, kind = f"{flag}/--no-{flag}", None
    else:
        kind = click.Choice(details["choices"]) if details["choices"] else type(item.default)
    return click.option(f"--{flag}", item.name, type=kind, default=None, help=f"{details['help']}{symbol} [{default}]")


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


model_options = together(
    click.option("--forward", help="forward model, or a directory of a pair: a path or hub id"),
    click.option("--backward", help="backward model with the same tokenizer: a path or hub id"),
    click.option("--device", help="where to compute: cpu, cuda, cuda:1 [default: a GPU where there is one]"),
    click.option("--precision", help="float32, bfloat16 or int8 [default: the fastest that the device is good at]"),
)

quiet_option = click.option("-q", "--quiet", is_flag=True, help="no progress on standard error")

output_options = together(
    click.option("--explain", is_flag=True, help="show the weighted contexts, the fit with each, and surprising words"),
    click.option("--html", type=FILE, metavar="FILE", help="write the explanations of all results to a web page"),
    click.option("--json", "as_json", is_flag=True, help="one JSON object a line"),
    quiet_option,
)


def task_options(kind: type[FingerprintSettings]) -> Callable[[Command], Command]:
    """What every command with results has: how they are printed, by which models, with which settings."""
    return together(output_options, model_options, setting_options(kind))


constraint_options = together(
    click.option("--keep", multiple=True, metavar="PHRASE", help="results have this phrase, as written; repeatable"),
    click.option("--avoid", multiple=True, metavar="WORD", help="results do not have this word; repeatable"),
    *(
        click.option(f"--keep-{kind}", is_flag=True, help=f"results have the {kind} of the given text, as written")
        for kind in FINDERS
    ),
)

novelty_options = together(
    click.option("--novelty", type=float, help="only results of at least this Novelty (0 to 100)"),
    click.option("--front", is_flag=True, help="show the whole trade-off between quality and Novelty"),
)

confidence_option = click.option(
    "--confidence", type=float, metavar="P", help="only results that keep the meaning with this probability (0 to 1)"
)


def top_option(what: str) -> Callable[[Command], Command]:
    return click.option(
        "-n", "--top", type=click.IntRange(1), default=5, show_default=True, help=f"how many {what} to show"
    )


def file_option(help: str) -> Callable[[Command], Command]:
    return click.option("-f", "--file", type=FILE, metavar="FILE", help=help)


def fingerprint_option(of: str) -> Callable[[Command], Command]:
    return click.option(
        "--fingerprint", type=FILE, metavar="FILE", help=f"use the contexts of the {of} from refdec fingerprint"
    )


def given(kind: type[Settings], options: dict[str, Any]) -> dict[str, Any]:
    """The settings that were named on the command line."""
    return {name: options[name] for name in kind.names() if options.get(name) is not None}


def checked_settings(
    kind: type[AnySettings], options: dict[str, Any], fingerprint: Fingerprint | None = None, text: str | None = None
) -> None:
    """Refuse a wrong setting, or one that is at odds with a fingerprint, before models are loaded."""
    assert issubclass(kind, FingerprintSettings)
    settings = preset(kind, options["preset"] or next(iter(PRESETS[kind.task])))
    if fingerprint is not None and options["preset"] is None:
        settings = settings.replace(**dict(fingerprint.settings.items()))
    settings = settings.replace(**given(kind, options))
    if fingerprint is not None:
        fingerprint.check(fingerprint.pair, text, settings)


def constraints_from(options: dict[str, Any]) -> Constraints:
    kinds = [kind for kind in FINDERS if options[f"keep_{kind}"]]
    return Constraints(keep=options["keep"], avoid=options["avoid"], automatic=tuple(kinds))
