"""Competing systems on the command line: `--method NAME` of paraphrase and infill, and `refdec method`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from refdec.cli.command_run import CommandRun
from refdec.cli.inputs import Origin
from refdec.cli.method_train import train_method
from refdec.cli.options import SectionedOption
from refdec.errors import SettingsError
from refdec.settings import FingerprintSettings, did_you_mean
from refdec.text.cleaning import clean

if TYPE_CHECKING:
    from rich.console import Console

    from refdec.baselines.method import Infiller, Paraphraser, Proposal
    from refdec.baselines.named_methods import AnyMethod, ChosenMethod, NamedMethod

SHARED = {
    *("texts", "file", "method", "top", "novelty", "seed", "as_json", "quiet"),
    *("forward", "backward", "device", "precision"),
}
"""Options that mean the same for every method; all others are about refdec's own way of writing."""

method_option = click.option(
    "--method",
    metavar="NAME",
    cls=SectionedOption,
    section="Models",
    help="a competing system (see refdec method list)",
)


def paraphrase_by(name: str, inputs: Iterable[tuple[Origin, str]], options: dict[str, Any]) -> int:
    """`refdec paraphrase --method NAME`."""
    from refdec.baselines.method import paraphrases
    from refdec.baselines.named_methods import PARAPHRASERS
    from refdec.tasks.choice import Wanted

    chosen = _chosen(name, PARAPHRASERS, options)
    wanted = Wanted(top=options["top"], novelty=options["novelty"])
    method: Paraphraser | None = None
    with CommandRun({**options, "preset": None}, FingerprintSettings) as run:
        for origin, text in inputs:
            with run.on(origin, source=text):
                clean(text)  # refused before the models are loaded for it
                method = method or chosen.load(lambda: run.reflector.pair, options["device"])
                run.stage(chosen.label)
                (result,) = paraphrases(method, [text])
                proposals = result.top(wanted.top, wanted.novelty or 0)
                note = "" if proposals else f"{chosen.label} found nothing but the source, or nothing that novel."
                content = run.content(result.to_dict(proposals), None, note)
                run.put([content], [None], _shown(result.source, chosen, proposals, note))
        return run.exit_code()


def infill_by(name: str, inputs: Iterable[tuple[Origin, dict[str, str]]], options: dict[str, Any]) -> int:
    """`refdec infill --method NAME`: every gap of a text from left to right, as refdec fills them."""
    from refdec.baselines.method import fillings
    from refdec.baselines.named_methods import INFILLERS
    from refdec.tasks.infill import split_blanks

    chosen = _chosen(name, INFILLERS, options)
    method: Infiller | None = None
    with CommandRun({**options, "preset": None}, FingerprintSettings) as run:
        for origin, names in inputs:
            with run.on(origin, **names):
                left, *others = split_blanks(" ___ ".join(names.values()))
                for part in filter(None, (left, *others)):
                    clean(part)
                method = method or chosen.load(lambda: run.reflector.pair, options["device"])
                for right in others:
                    run.stage(chosen.label)
                    (result,) = fillings(method, [(left, right)])
                    proposals = result.proposals[: options["top"]]
                    content = run.content(result.to_dict(proposals), None)
                    run.put([content], [None], _shown(f"{left} ___ {right}", chosen, proposals, ""))
                    left = f"{left} {result} {right}"
        return run.exit_code()


def _chosen(
    name: str, methods: Mapping[str, NamedMethod[AnyMethod]], options: dict[str, Any]
) -> ChosenMethod[AnyMethod]:
    """The method of that name with its settings; options that mean nothing to it are refused."""
    from refdec.baselines.named_methods import choose_method

    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and option.name not in SHARED:
            raise SettingsError(
                f"{option.opts[0]} is about refdec's own way of writing. Leave it out beside --method; settings of a "
                "method stand behind its name, as in --method upsa,steps=50."
            )
    changes = {} if options["seed"] is None else {"seed": options["seed"]}
    chosen = choose_method(name, methods, changes)
    if chosen is None:
        raise SettingsError(
            f"There is no method {name!r}{did_you_mean(name, methods)}. Methods: {', '.join(methods)}, or a folder "
            "with a trained one."
        )
    return chosen


def _shown(heading: str, chosen: ChosenMethod[Any], proposals: Sequence[Proposal], note: str) -> Any:
    def show(console: Console) -> None:
        from refdec.cli.render import show_proposals

        show_proposals(console, heading, chosen.label, proposals, note)

    return show


@click.group("method", short_help="Competing systems: list them, train those that need it.")
def method_command() -> None:
    """Competing systems, which run on the same models: for paraphrase --method, infill --method and evaluate.

    \b
    Examples:
      refdec method list
      refdec paraphrase --method upsa "How do I learn to cook?"
      refdec method train copynet pairs.jsonl -o copynet --minutes 0.1

    docs/baselines.md says where each comes from, and how ours differs from the published one.
    """


@method_command.command("list", short_help="Names, what they are, and their settings.")
def list_methods() -> int:
    """List the methods with their settings and defaults."""
    from refdec.baselines.named_methods import INFILLERS, PARAPHRASERS

    for option, methods in (("paraphrase --method", PARAPHRASERS), ("infill --method", INFILLERS)):
        click.echo(f"{option}:")
        for name, method in methods.items():
            needs = " (train it first)" if method.trained else f" ({name}:{method.models})" if method.models else ""
            click.echo(f"  {name:12} {method.title}{needs}")
            click.echo(click.wrap_text(_settings(method), 100, " " * 15, " " * 15))
    return 0


method_command.add_command(train_method)


def _settings(method: NamedMethod[Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in method.settings().items())
