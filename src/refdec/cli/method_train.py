"""`refdec method train`: pairs or sentences in, the folder of a method with weights of its own out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refdec.baselines.sizes import SIZES
from refdec.cli.options import FILE, quiet_option
from refdec.cli.progress import Live, time_text
from refdec.errors import InputError, SettingsError
from refdec.settings import did_you_mean, named_changes

if TYPE_CHECKING:
    from refdec.baselines.learning import Report

MINUTES = 20.0


@click.command("train", short_help="Train a method that has weights of its own.")
@click.argument("name", metavar="NAME")
@click.argument("data", nargs=-1, required=True, type=FILE, metavar="DATA...")
@click.option("-o", "--out", type=FILE, required=True, metavar="DIR", help="folder to write the method to")
@click.option("--minutes", type=float, metavar="X", help=f"time to train, at most [default: {MINUTES:g}]")
@click.option("--steps", type=click.IntRange(1), metavar="N", help="steps of the optimiser, at most (or --minutes)")
@click.option("--size", default=None, metavar="NAME", help=f"{', '.join(SIZES)} [default: medium on a GPU, else small]")
@click.option(
    "--from", "begin_from", type=FILE, metavar="PAIR", help="the pair that ilm goes on from [default: embedded]"
)
@click.option("--text", multiple=True, type=FILE, metavar="CORPUS", help="plain text; repeatable")
@click.option("--exclude", type=FILE, metavar="FILE", help="ids of rows to leave out, one per line")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="seed of every draw")
@click.option("--device", metavar="NAME", help="cpu, cuda or cuda:1 [default: a GPU, if any]")
@click.option("--force", is_flag=True, help="overwrite a trained method")
@quiet_option
def train_method(name: str, data: tuple[Path, ...], **options: Any) -> int:
    """Train a method that has weights of its own, by one command, into a folder that --method takes.

    \b
    Examples:
      refdec method train copynet pairs.jsonl -o copynet --minutes 0.1
      refdec method train denoise pairs.jsonl --text stories.txt -o denoise --minutes 0.1
      refdec method train rvqvae sentences.txt -o rvqvae --minutes 0.1
      refdec method train ilm,sentence_rate=0.3 stories.txt -o ilm --minutes 0.1

    DATA is tables whose rows have a source and references (JSON lines, CSV, TSV or Parquet, compressed or not), for
    rvqvae also plain text, for ilm plain text alone. Settings of the training of ilm stand behind its name. Some rows
    are held out: the weights with the lowest loss on them are kept. The same command resumes a run that was stopped.
    See docs/baselines.md.
    """
    from refdec.baselines.named_methods import INFILLERS, PARAPHRASERS
    from refdec.baselines.study import Plan, make_method

    text = name
    name, *parts = text.split(",")
    methods = {**INFILLERS, **PARAPHRASERS}
    trained = [key for key, method in methods.items() if method.train is not None]
    if name not in methods:
        raise SettingsError(
            f"There is no method {name!r}{did_you_mean(name, trained)}. To train: {', '.join(trained)}."
        )
    train = methods[name].train
    if train is None:
        why = "runs on the weights of another" if methods[name].trained else "has no weights of its own"
        raise SettingsError(f"{name} {why}. To train: {', '.join(trained)}.")
    changes, training = named_changes(parts, text), methods[name].training
    if training is not None:
        training(**changes)  # refuses what does not exist
    refused = {"--size": training and options["size"], "--exclude": training and options["exclude"]}
    refused |= {"--from": not training and options["begin_from"], text: not training and changes}
    for option, is_given in refused.items():
        if is_given:
            raise SettingsError(f"{option} means nothing to the training of {name}. Leave it out.")
    if options["minutes"] is not None and options["steps"] is not None:
        raise InputError("--minutes and --steps were both given. Choose one.")
    minutes = MINUTES if options["minutes"] is None and options["steps"] is None else options["minutes"]
    from refdec.lm.device import choose_device

    size = options["size"] or ("medium" if choose_device(options["device"]).type == "cuda" else "small")
    out = options["out"].resolve() if options["out"].name in ("", "..") else options["out"]
    plan = Plan(
        name, data, out, minutes, options["steps"], options["text"], options["exclude"], size, options["seed"],
        options["device"], options["force"], changes, options["begin_from"],
    )  # fmt: skip
    with _LearningProgress(options["quiet"]) as progress:
        card = make_method(plan, train, progress.learned, progress.stage)
    for lesson, facts in card.trained["lessons"].items():
        click.echo(
            f"{lesson}: {facts['held_out_loss']:.3f} nats per token of held-out text after {facts['steps']:,} steps, "
            f"{facts['held_out_loss_before']:.3f} before"
        )
    click.echo(f"{name} with {card.parameters / 1e6:.1f} M parameters is in {out}; use it with --method {name}:{out}")
    return 0


class _LearningProgress(Live):
    """Progress of training: a live line on a terminal, a plain line now and then in a log."""

    def stage(self, words: str) -> None:
        self.say(words, must=True)

    def learned(self, report: Report) -> None:
        parts = [f"{report.lesson}: {report.done:.0%}", f"{report.step:,} steps"]
        if not math.isnan(report.loss):
            parts.append(f"loss {report.loss:.3f}")
        parts.append(f"held out {report.held_out:.3f}")
        if report.done:
            parts.append(f"{time_text(report.seconds * (1 - report.done) / report.done)} left")
        self.say(", ".join(parts))
