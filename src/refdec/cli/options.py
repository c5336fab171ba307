"""Options that commands share, and the help that lists them in sections.

Options of settings are made from the settings themselves: a new setting is an option at once. Nothing here loads a
model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from refdec.settings import PRESETS, AnySettings, FingerprintSettings, Settings, default_preset, preset
from refdec.tasks.constraints import FINDERS, Constraints
from refdec.tasks.fingerprint import Fingerprint

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)
COMMON = "Options"
WORDS = (
    ("context", "a text that could stand before or after the given one"),
    ("nats", "unit of log-probability: 1 nat less is 2.7 times less probable"),
    ("Novelty", "0: the same words as the source; 100: none of its word pairs"),
    ("nucleus", "tokens are drawn from the most probable ones, up to this share"),
)
"""What the help explains."""


class SectionedOption(click.Option):
    """An option that the help lists under a title of its own."""

    def __init__(self, *names: Any, section: str, **details: Any) -> None:
        super().__init__(*names, **details)
        self.section = section

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Without the second form, --no-exact: it is the value of every preset."""
        record = super().get_help_record(ctx)
        return record and (record[0].partition(" / ")[0], record[1])


class SectionedCommand(click.Command):
    """A command whose help has a section for every title of its options, the common ones first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {COMMON: []}
        for item in self.get_params(ctx):
            record = item.get_help_record(ctx) if isinstance(item, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(item, "section", COMMON), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class TaskCommand(SectionedCommand):
    """Explains the words of the method below its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        with formatter.section("Words"):
            formatter.write_dl(WORDS)


def together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which the help lists them."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def setting_options(kind: type[FingerprintSettings]) -> Callable[[Command], Command]:
    """The presets of a task and one option for every setting; what is not given stays as the preset has it."""
    on_cpu, on_gpu = (default_preset(kind, device) for device in ("cpu", "cuda"))
    default = on_cpu if on_cpu == on_gpu else f"{on_cpu} on a CPU, else {on_gpu}"
    choice = click.option(
        "--preset",
        type=click.Choice(list(PRESETS[kind.task])),
        metavar="NAME",
        help=f"settings by name [{default}]",
    )
    return together(choice, options_of(kind, PRESETS[kind.task]))


def options_of(kind: type[Settings], presets: Mapping[str, Settings]) -> Callable[[Command], Command]:
    """One option for every setting, with its value in each preset."""
    fields = dataclasses.fields(kind)
    symbols = " (symbol in the paper)" if any(item.metadata["symbol"] for item in fields) else ""
    section = f"Settings{symbols} [value in {', '.join(presets)}]"
    return together(*(_setting_option(item, presets, section) for item in fields))


def _setting_option(
    item: dataclasses.Field[Any], presets: Mapping[str, Settings], section: str
) -> Callable[[Command], Command]:
    words, symbol, choices = (item.metadata[name] for name in ("help", "symbol", "choices"))
    values = [_word(getattr(settings, item.name)) for settings in presets.values()]
    values = values[:1] if len(set(values)) == 1 else values
    words += f" ({symbol})" * bool(symbol) + f": {', '.join(choices)}" * bool(choices) + f" [{', '.join(values)}]"
    flag = item.name.replace("_", "-")
    details: dict[str, Any] = {"type": type(item.default), "metavar": "N" if isinstance(item.default, int) else "X"}
    if isinstance(item.default, bool):
        flag, details = f"{flag}/--no-{flag}", {}
    elif choices:
        details = {"type": click.Choice(choices), "metavar": "NAME"}
    return click.option(
        f"--{flag}", item.name, cls=SectionedOption, section=section, default=None, help=words, **details
    )


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


_model_option = partial(click.option, metavar="NAME", cls=SectionedOption, section="Models")
model_options = together(
    _model_option("--forward", help="forward model, or a pair: a directory or hub id"),
    _model_option("--backward", help="backward model that has the same tokenizer"),
    _model_option("--device", help="cpu, cuda or cuda:1 [default: a GPU if there is one]"),
    _model_option("--precision", help="float32, bfloat16 or int8 [default: the fastest]"),
)

examples_option = click.option(
    "--examples",
    type=FILE,
    metavar="FILE",
    cls=SectionedOption,
    section="Models",
    help="examples of rewording [default: those of the pair]",
)

quiet_option = click.option("-q", "--quiet", is_flag=True, help="no progress on standard error")
force_option = click.option("--force", is_flag=True, help="overwrite a file that exists")

output_options = together(
    click.option("--explain", is_flag=True, help="show contexts, fits and surprising words"),
    click.option("--html", type=FILE, metavar="FILE", help="write the explanations as a web page"),
    force_option,
    click.option("--json", "as_json", is_flag=True, help="print one JSON object per line"),
)


def run_options(kind: type[FingerprintSettings]) -> Callable[[Command], Command]:
    """What every command of a task has: whether it is quiet, its models, and its settings."""
    return together(quiet_option, model_options, setting_options(kind))


def task_options(kind: type[FingerprintSettings]) -> Callable[[Command], Command]:
    """What every command with results has: how they are printed, by which models, with which settings."""
    return together(output_options, run_options(kind))


_constraint_option = partial(click.option, cls=SectionedOption, section="Words to keep or to avoid")
constraint_options = together(
    _constraint_option("--keep", multiple=True, metavar="PHRASE", help="results must have this phrase; repeatable"),
    _constraint_option("--avoid", multiple=True, metavar="WORD", help="results must not have this word; repeatable"),
    *(
        _constraint_option(f"--keep-{kind}", is_flag=True, help=f"results must have the {kind} of the text")
        for kind in FINDERS
    ),
)

novelty_options = together(
    click.option("--novelty", type=float, metavar="X", help="only results of at least this Novelty (0 to 100)"),
    click.option("--front", is_flag=True, help="show the trade-off between quality and Novelty"),
)


def _probability(_context: click.Context, _option: click.Parameter, words: str | None) -> float | None:
    """A probability from 0 to 1, or per cent: a number over 1, or one with a per cent sign."""
    if words is None:
        return None
    number, sign, rest = words.partition("%")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if sign or value > 1:
        value /= 100
    if rest or not 0 <= value <= 1:
        raise click.BadParameter(f"{words!r} is neither a probability from 0 to 1 nor per cent up to 100.")
    return value


confidence_option = click.option(
    "--confidence", metavar="P", callback=_probability, help="only results at least this sure: 0.9, 90 or 90%"
)


def ranked_options(help: str, top: int = 5) -> Callable[[Command], Command]:
    """What every command with candidates has: how many it shows, and the words that they must or must not have."""
    count = click.option("-n", "--top", type=click.IntRange(1), metavar="N", default=top, show_default=True, help=help)
    return together(count, constraint_options)


def file_option(help: str) -> Callable[[Command], Command]:
    return click.option("-f", "--file", type=FILE, metavar="FILE", help=f"{help}; - is standard input")


def fingerprint_option(of: str) -> Callable[[Command], Command]:
    return click.option(
        "--fingerprint", type=FILE, metavar="FILE", help=f"contexts of the {of}, from refdec fingerprint"
    )


def given(kind: type[Settings], options: dict[str, Any]) -> dict[str, Any]:
    """The settings that were named on the command line; a Novelty that is asked for sets the price of copying."""
    settings = {name: options[name] for name in kind.names() if options.get(name) is not None}
    if "copying" in kind.names() and options.get("novelty") is not None:
        from refdec.tasks.steering import price_of_following  # loads torch, for which help need not wait

        settings.setdefault("copying", price_of_following(options["novelty"]))
    return settings


def checked_settings(
    kind: type[AnySettings], options: dict[str, Any], fingerprint: Fingerprint | None = None, text: str | None = None
) -> None:
    """Refuse a wrong setting, or one that contradicts a fingerprint, before models are loaded."""
    assert issubclass(kind, FingerprintSettings)
    settings = preset(kind, options["preset"] or default_preset(kind, "cpu"))
    if fingerprint is not None and options["preset"] is None:
        settings = settings.replace(**dict(fingerprint.settings.items()))
    settings = settings.replace(**given(kind, options))
    if fingerprint is not None:
        fingerprint.check(fingerprint.pair, text, settings)


def constraints_from(options: dict[str, Any]) -> Constraints:
    """The constraints that were named on the command line."""
    kinds = [kind for kind in FINDERS if options[f"keep_{kind}"]]
    return Constraints(keep=options["keep"], avoid=options["avoid"], automatic=tuple(kinds))
