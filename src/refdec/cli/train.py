"""`refdec train`: text in, a matched pair of models out, or the one that a pair lacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refdec.cli.options import FILE, SectionedCommand, given, options_of, quiet_option
from refdec.cli.progress import Live, time_text
from refdec.errors import InputError
from refdec.train.recipe import GENTLE, SHAPE, SIZES, Budget, Recipe, size, size_like

if TYPE_CHECKING:
    from refdec.lm.direction import Direction
    from refdec.train.cleaning import Counts
    from refdec.train.loop import Report
    from refdec.train.pair import Made, Plan
    from refdec.train.processes import Processes

MINUTES = 10.0
SIZE = "5m"
EMBEDDED = "embedded"


def _named_pair(_context: click.Context, _option: click.Parameter, place: Path | None) -> Path | None:
    """The embedded pair by its name, unless there is a directory of that name."""
    if place != Path(EMBEDDED) or place.exists():
        return place
    from refdec.lm import pair

    return pair.EMBEDDED


@click.command("train", cls=SectionedCommand, short_help="Make a pair of models from plain text.")
@click.argument("corpus", nargs=-1, required=True, type=FILE, metavar="CORPUS...")
@click.option("-o", "--out", type=FILE, required=True, metavar="DIR", help="directory of what is made")
@click.option("--size", "size_name", type=click.Choice(list(SIZES)),
              help=f"of a model, by its parameters [default: {SIZE}; with --from, the nearest]")  # fmt: skip
@click.option("--minutes", type=float, help=f"of training, in all [default: {MINUTES:g}]")
@click.option("--tokens", type=click.IntRange(1), help="seen by each direction, instead of --minutes")
@click.option("--from", "begin_from", type=FILE, metavar="PAIR", callback=_named_pair,
              help=f"go on from a pair, a directory or the word {EMBEDDED}, with {GENTLE} of the rates; "
                   "for a partner, from a model")  # fmt: skip
@click.option(
    "--partner-of",
    metavar="MODEL",
    help="a forward model, a path or hub id: make only a backward one that goes with it",
)
@click.option("--tokenizer", type=FILE, metavar="FILE", help="a tokenizer.json, instead of learning one")
@click.option("--column", default="text", show_default=True, help="of tables, with the text")
@click.option(
    "--exclude", type=FILE, multiple=True, metavar="FILE", help="leave out its lines and sentences; repeatable"
)
@click.option("--clean/--no-clean", default=True, help="mend white space and odd characters, drop what is too short")
@click.option("--deduplicate/--no-deduplicate", default=True, help="take every document once")
@click.option("--held-out", type=float, help="share of the documents to measure with, not to learn [default: 0.005]")
@click.option(
    "--int8/--bfloat16", default=True, help="how weights are stored: small, for refdec; or for transformers, too"
)
@click.option("--keep", is_flag=True, help="keep tokenised text and checkpoints beside the pair")
@click.option("--sharded/--replicated", default=None,
              help="a process of torchrun holds a share of a model, or all of it [default: by its size]")  # fmt: skip
@click.option("--device", help="where to compute [default: a GPU where there is one]")
@quiet_option
@options_of(Recipe, SIZES)
def train_command(corpus: tuple[Path, ...], **options: Any) -> int:
    """Train a forward and a backward model on the same text, or a partner for a forward model that is there.

    \b
    Examples:
      refdec train stories.txt -o pair --minutes 0.1
      refdec train stories.txt -o pair --tokens 20000 --vocabulary 300 --held-out 0.2

    CORPUS are files or directories: plain text (paragraphs are documents), JSON lines, CSV, TSV or Parquet.
    The pair is used with --forward DIR, a partner with --forward MODEL --backward DIR; it has the tokenizer of MODEL,
    and with --from it goes on from a model of Llama's layout with that tokenizer, such as MODEL itself. A run that was
    stopped goes on when the same command is given again. Several GPUs are used by way of torchrun, see
    docs/training.md.
    """
    from refdec.train.processes import told_once

    with told_once():
        _train(corpus, options)
    return 0


def _train(corpus: tuple[Path, ...], options: dict[str, Any]) -> None:
    recipe = _recipe(options)
    if options["minutes"] is not None and options["tokens"] is not None:
        raise InputError("--minutes and --tokens were both given. Choose one.")
    minutes = MINUTES if options["minutes"] is None and options["tokens"] is None else options["minutes"]
    directions = 2 if options["partner_of"] is None else 1
    budget = Budget(minutes and minutes / directions, options["tokens"])
    plan = _plan(corpus, recipe, budget, options)
    from refdec.lm.device import choose_device
    from refdec.train.pair import discard_work, make_pair
    from refdec.train.processes import joined

    with joined(choose_device(options["device"])) as processes:
        with _Told(options["quiet"] or not processes.is_first, processes) as told:
            made = make_pair(plan, processes, told)
        if processes.is_first:
            _plot(plan, made)
            for direction, found in made.found.items():
                click.echo(f"{direction.value:9} {found} of held-out text")
            what = f"partner of {plan.partner_name}" if plan.partner_of else "pair"
            click.echo(f"the {what} is in {plan.folder}; its card is {plan.folder / 'README.md'}")
            if not options["keep"]:
                discard_work(plan)


def _recipe(options: dict[str, Any]) -> Recipe:
    """That of the size, with the settings that were named; none that something else decides."""
    named = given(Recipe, options)
    begin_from, partner_of = options["begin_from"], options["partner_of"]
    for option, decides, names in (
        ("--from", begin_from, ("vocabulary", *SHAPE)),
        ("--partner-of", partner_of, ("vocabulary",)),
        ("--tokenizer", options["tokenizer"], ("vocabulary",)),
    ):
        clash = decides and next((name for name in names if name in named), None)
        if clash:
            raise InputError(f"--{clash} was given, and {option} decides it. Leave one of them out.")
    recipe = _size(options)
    if begin_from and not partner_of:  # a partner turns round, for which it needs all of the rates
        recipe = recipe.gentler()
    return recipe.replace(**named)


def _size(options: dict[str, Any]) -> Recipe:
    begin_from, partner_of = options["begin_from"], options["partner_of"]
    if options["size_name"] or not begin_from:
        return size(options["size_name"] or SIZE)
    from refdec.lm.device import choose_device
    from refdec.train.export import initial_shape

    shape = initial_shape(str(begin_from) if partner_of else begin_from / "forward")  # a model may be a hub id
    on_cpu = choose_device(options["device"]).type == "cpu"
    return size_like(shape.parameters, shape.positions, on_cpu=on_cpu)


def _plan(corpus: tuple[Path, ...], recipe: Recipe, budget: Budget, options: dict[str, Any]) -> Plan:
    from refdec.train.cleaning import Exclusion
    from refdec.train.corpus import Corpus, CorpusSettings
    from refdec.train.pair import Plan

    chosen = {name: options[name] for name in ("clean", "deduplicate", "held_out") if options[name] is not None}
    exclusion = Exclusion.of(options["exclude"]) if options["exclude"] else None
    text = Corpus.at(corpus, CorpusSettings(**chosen), column=options["column"], exclusion=exclusion)
    out, begin_from = options["out"], options["begin_from"]
    if out.name in ("", ".."):
        out = out.resolve()  # what lies beside it is called after it
    return Plan(
        text, out, recipe, budget, options["tokenizer"], begin_from, options["int8"], options["partner_of"],
        options["sharded"],
    )  # fmt: skip


def _plot(plan: Plan, made: Made) -> None:
    from refdec.errors import ModelError
    from refdec.train.plot import draw

    path = plan.folder.with_name(plan.folder.name + ".loss.svg")
    try:
        draw(path, made.found, made.shards.bits)
    except ModelError as error:
        click.echo(f"refdec: {error}", err=True)
    else:
        click.echo(f"the loss is drawn in {path}")


class _Told(Live):
    """How it goes: a live line on a terminal, a plain line now and then in a log."""

    def __init__(self, quiet: bool, processes: Processes) -> None:
        from refdec.train.hardware import peak

        super().__init__(quiet)
        one = peak(processes.device)
        self._peak = None if one is None else one * processes.world

    def stage(self, words: str) -> None:
        self.say(words, must=True)

    def counted(self, counts: Counts) -> None:
        self.say(f"tokenising the text: {counts.documents:,} documents, {counts.bytes / 1e6:,.1f} MB")

    def trained(self, direction: Direction, report: Report, bits: float, flops: float) -> None:
        parts = [
            f"{direction.value}: {report.done:.0%}",
            f"{report.tokens / 1e6:,.1f} M tokens" if report.tokens >= 1e6 else f"{report.tokens:,} tokens",
            f"{report.tokens_per_second:,.0f} a second",
            f"loss {report.loss:.3f}",
            f"{bits:.3f} bits a byte",
        ]
        if self._peak is not None:
            parts.append(f"{flops / self._peak:.0%} of the peak")
        if report.done:
            parts.append(f"{time_text(report.seconds * (1 - report.done) / report.done)} left")
        self.say(", ".join(parts))
