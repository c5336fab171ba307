"""`refdec train`: text in, a pair of models out, or a backward partner for a forward model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refdec.cli.options import FILE, Command, SectionedCommand, SectionedOption, given, options_of, quiet_option
from refdec.cli.progress import Live, time_text
from refdec.errors import InputError
from refdec.train.recipe import SHAPE, SIZES, TURNED, BothWays, Budget, Recipe, size, size_like

if TYPE_CHECKING:
    from refdec.train.cleaning import Counts
    from refdec.train.loop import StepReport
    from refdec.train.pair import Made, Plan
    from refdec.train.processes import Processes
    from refdec.train.rewordings import Rewordings

MINUTES = 10.0
SIZE = "5m"
EMBEDDED = "embedded"


def _named_pair(_context: click.Context, _option: click.Parameter, place: Path | None) -> Path | None:
    """The embedded pair by its name, unless a directory has that name."""
    if place != Path(EMBEDDED) or place.exists():
        return place
    from refdec.lm import pair

    return pair.EMBEDDED


def _option(section: str, *names: str, **details: Any) -> Callable[[Command], Command]:
    return click.option(*names, cls=SectionedOption, section=section, **details)


TEXT, FILES, BOTH = "Text", "Files and processes", "One model that reads both ways"


@click.command("train", cls=SectionedCommand, short_help="Make a pair of models from plain text.")
@click.argument("corpus", nargs=-1, required=True, type=FILE, metavar="CORPUS...")
@click.option("-o", "--out", type=FILE, required=True, metavar="DIR", help="directory to write the pair to")
@click.option("--minutes", type=float, metavar="X", help=f"time to train, both models [default: {MINUTES:g}]")
@click.option("--tokens", type=click.IntRange(1), metavar="N", help="tokens per model (or --minutes)")
@click.option("--size", "size_name", type=click.Choice(list(SIZES)), metavar="NAME",
              help=f"{', '.join(SIZES)} [default: {SIZE}]")  # fmt: skip
@click.option("--from", "begin_from", type=FILE, metavar="PAIR", callback=_named_pair,
              help=f"go on from a pair: a directory, or {EMBEDDED}")  # fmt: skip
@click.option("--both-ways", is_flag=True, help="one model that reads both ways, also from a forward model")
@click.option("--partner-of", metavar="MODEL", help="make a backward model for this forward one")
@click.option("--device", metavar="NAME", help="cpu, cuda or cuda:1 [default: a GPU, if any]")
@quiet_option
@_option(TEXT, "--column", default="text", show_default=True, metavar="NAME", help="column with the text")
@_option(TEXT, "--exclude", type=FILE, multiple=True, metavar="FILE", help="remove its lines and sentences; repeatable")
@_option(TEXT, "--clean/--no-clean", default=True, help="mend white space, drop short documents")
@_option(TEXT, "--deduplicate/--no-deduplicate", default=True, help="take every document once")
@_option(TEXT, "--held-out", type=float, metavar="X", help="share to measure with [default: 0.005]")
@_option(TEXT, "--tokenizer", type=FILE, metavar="FILE", help="use a tokenizer.json, do not learn one")
@_option(BOTH, "--backward-share", type=float, metavar="X",
         help=f"share of backward windows [default: 0.5; with --from {TURNED['backward_share']}]")  # fmt: skip
@_option(BOTH, "--keep-forward", type=float, metavar="X", help="weight of staying near the model of --from forward")
@_option(BOTH, "--rewordings", type=int, metavar="N", help="let the model reword sentences, and learn so many")
@_option(BOTH, "--forward-start", type=int, metavar="ID", help="id before a document [default: the model's own]")
@_option(BOTH, "--backward-start", type=int, metavar="ID", help="the same, backward [default: an unused mark]")
@_option(FILES, "--int8/--bfloat16", default=True, help="small files, or files for transformers too")
@_option(FILES, "--keep", is_flag=True, help="keep tokenised text and checkpoints")
@_option(FILES, "--sharded/--replicated", default=None, help="torchrun: a share of the model per process, or all")
@options_of(Recipe, SIZES)
def train_command(corpus: tuple[Path, ...], **options: Any) -> int:
    """Train a forward and a backward model on the same text, one that reads both ways, or a partner for a model.

    \b
    Examples:
      refdec train stories.txt -o pair --minutes 0.1
      refdec train stories.txt -o pair --tokens 20000 --vocabulary 300 --held-out 0.2
      refdec train stories.txt -o pair --both-ways --minutes 0.1

    CORPUS is files or directories: plain text (a blank line ends a document), JSON lines, CSV, TSV or Parquet.
    Use a pair with --forward DIR, a partner with --forward MODEL --backward DIR. A partner has the tokenizer of MODEL;
    with --from, it goes on from a Llama model with that tokenizer, such as MODEL itself. --both-ways goes on from a
    Llama model too: a directory, a hub id or a GGUF file. The same command resumes a run that was stopped. For several
    GPUs, start it with torchrun. See docs/training.md.
    """
    from refdec.train.processes import told_once

    with told_once():
        _train(corpus, options)
    return 0


def _train(corpus: tuple[Path, ...], options: dict[str, Any]) -> None:
    both_ways = _both_ways(options)
    recipe = _recipe(options, both_ways is not None)
    if options["minutes"] is not None and options["tokens"] is not None:
        raise InputError("--minutes and --tokens were both given. Choose one.")
    minutes = MINUTES if options["minutes"] is None and options["tokens"] is None else options["minutes"]
    models = 2 if options["partner_of"] is None and both_ways is None else 1
    budget = Budget(minutes and minutes / models, options["tokens"])
    plan = _plan(corpus, recipe, budget, both_ways, options)
    from refdec.lm.device import choose_device
    from refdec.train.pair import make_pair
    from refdec.train.processes import joined

    with joined(choose_device(options["device"])) as processes:
        with _TrainingProgress(options["quiet"] or not processes.is_first, processes) as progress:
            made = make_pair(plan, processes, progress)
        if processes.is_first:
            _plot(plan, made)
            for direction, result in made.results.items():
                click.echo(f"{direction.value:9} {result} of held-out text")
            what = f"partner of {plan.partner_name}" if plan.partner_of else "pair"
            click.echo(f"the {what} is in {plan.folder}; its card is {plan.folder / 'README.md'}")


def _both_ways(options: dict[str, Any]) -> BothWays | None:
    """How one model learns to read both ways, where that is asked for, or where it goes on from one that does."""
    named, begin_from = given(BothWays, options), options["begin_from"]
    is_asked_for = options["both_ways"]
    if not is_asked_for and begin_from and options["partner_of"] is None and (begin_from / "config.json").is_file():
        from refdec.lm.engine import reads_both_ways
        from refdec.lm.model_files import read_json

        is_asked_for = reads_both_ways(read_json(begin_from / "config.json"))
    if is_asked_for:
        return BothWays(**(TURNED if begin_from else {}) | named)
    for name in named:
        raise InputError(f"--{name.replace('_', '-')} was given, which is for one model. Add --both-ways.")
    return None


def _recipe(options: dict[str, Any], both_ways: bool) -> Recipe:
    """The recipe of the size with the settings that were named, if no other option decides them."""
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
    if options["size_name"] or not begin_from:
        recipe = size(options["size_name"] or SIZE)
    else:
        from refdec.lm.device import choose_device
        from refdec.train.export import initial_shape

        alone = partner_of or both_ways
        shape = initial_shape(str(begin_from) if alone else begin_from / "forward")  # it may be a hub id
        on_cpu = choose_device(options["device"]).type == "cpu"
        recipe = size_like(shape.parameters, shape.positions, on_cpu=on_cpu)
    if begin_from and not partner_of:  # a partner must learn the other direction, at full rates
        recipe = recipe.gentler().turning() if both_ways else recipe.gentler()
    return recipe.replace(**named)


def _plan(
    corpus: tuple[Path, ...], recipe: Recipe, budget: Budget, both_ways: BothWays | None, options: dict[str, Any]
) -> Plan:
    from refdec.train.cleaning import Exclusion
    from refdec.train.corpus import Corpus, CorpusSettings
    from refdec.train.pair import Plan

    chosen = {name: options[name] for name in ("clean", "deduplicate", "held_out") if options[name] is not None}
    exclusion = Exclusion.of(options["exclude"]) if options["exclude"] else None
    text = Corpus.at(corpus, CorpusSettings(**chosen), column=options["column"], exclusion=exclusion)
    out, begin_from = options["out"], options["begin_from"]
    if out.name in ("", ".."):
        out = out.resolve()  # files beside it are named after it
    return Plan(
        text, out, recipe, budget, options["tokenizer"], begin_from, options["int8"], options["partner_of"],
        options["sharded"], options["keep"], both_ways,
    )  # fmt: skip


def _plot(plan: Plan, made: Made) -> None:
    from refdec.errors import ModelError
    from refdec.train.plot import draw

    path = plan.folder.with_name(plan.folder.name + ".loss.svg")
    try:
        draw(path, made.results, made.token_files.bits)
    except ModelError as error:
        click.echo(f"refdec: {error}", err=True)
    else:
        click.echo(f"the loss is drawn in {path}")


class _TrainingProgress(Live):
    """Progress of training: a live line on a terminal, a plain line now and then in a log."""

    def __init__(self, quiet: bool, processes: Processes) -> None:
        from refdec.train.hardware import peak

        super().__init__(quiet)
        one = peak(processes.device)
        self._peak = None if one is None else one * processes.world

    def stage(self, words: str) -> None:
        self.say(words, must=True)

    def counted(self, counts: Counts) -> None:
        self.say(f"tokenising the text: {counts.documents:,} documents, {counts.bytes / 1e6:,.1f} MB")

    def reworded(self, rewordings: Rewordings, wanted: int) -> None:
        self.say(f"rewording sentences: {len(rewordings.pairs):,} of {wanted:,}, {rewordings.tried:,} tried")

    def trained(self, name: str, report: StepReport, bits: float, flops: float) -> None:
        parts = [
            f"{name}: {report.done:.0%}",
            f"{report.tokens / 1e6:,.1f} M tokens" if report.tokens >= 1e6 else f"{report.tokens:,} tokens",
            f"{report.tokens_per_second:,.0f} per second",
            f"loss {report.loss:.3f}",
            f"{bits:.3f} bits per byte",
        ]
        if report.apart:
            parts.append(f"forward {report.apart:.3f} nats apart")
        if self._peak is not None:
            parts.append(f"{flops / self._peak:.0%} of the peak")
        if report.done:
            parts.append(f"{time_text(report.seconds * (1 - report.done) / report.done)} left")
        self.say(", ".join(parts))
