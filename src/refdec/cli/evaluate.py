"""`refdec evaluate`: the paper's experiments as commands, from data to a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import click

from refdec.cli.command_run import load_reflector
from refdec.cli.options import FILE, model_options, quiet_option
from refdec.cli.progress import Progress
from refdec.cli.tables import show_report
from refdec.errors import SettingsError
from refdec.lm.examples import have_examples
from refdec.settings import PRESETS, did_you_mean


@click.command("evaluate", short_help="Rerun the paper's experiments: tables, plots, a report.")
@click.argument("experiments", nargs=-1, required=True, metavar="EXPERIMENT...")
@click.option(
    "--data", type=FILE, metavar="DIR", help="folder of the data sets, see docs/data.md [default: $REFDEC_DATA]"
)
@click.option("-o", "--out", type=FILE, metavar="DIR", default=Path("evaluation"), show_default=True,
              help="folder of outputs and report; an interrupted run goes on there")  # fmt: skip
@click.option("--system", "systems", multiple=True, metavar="SYSTEM",
              help="source, reference, rd, rd:PRESET,NAME=VALUE, variants, a method or a file; repeatable")  # fmt: skip
@click.option("--preset", help="preset of a plain rd [default: that of the task]")
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="metrics instead of the usual ones; repeatable"
)
@click.option("--split", help="dev, test, or a language pair, instead of the usual split")
@click.option("--rows", "limit", type=click.IntRange(1), help="only so many rows, from the first")
@click.option("--resamples", type=click.IntRange(1), default=1000, show_default=True, help="resamples of the bootstrap")
@click.option("--generate/--no-generate", default=True, help="generate missing outputs, or score existing ones only")
@click.option("--report/--no-report", default=True, help="score and write the report, or generate only")
@click.option("--examples/--no-examples", default=True, help="show outputs side by side, or no text of the data at all")
@click.option("--unfinished", is_flag=True, help="leave out rows that have no outputs yet")
@quiet_option
@model_options
def evaluate_command(experiments: tuple[str, ...], **options: Any) -> int:
    """Run experiments and write report.md and report.html about them.

    \b
    quora              the paper's main table: source, reference, refdec by its protocol
    twitter            the same on the Twitter URL corpus
    quora-systems      all competing systems in one table, and paired tests at the same Novelty
    twitter-systems    the same on the Twitter URL corpus
    sentences-systems  the same on ordinary sentences, which are a tuning set
    upsa               UPSA's published outputs against refdec at the same Novelty
    contexts           how many contexts it takes
    weights            learned weights against equal ones
    cutoffs            what each Novelty cutoff gives on dev
    anlg               abductive infilling, by refdec and by competing systems
    wmt18              the Reflective Score against rankings of translations
    stsb               the Reflective Score against graded similarity
    stand-in           how far the stand-in for human judgement agrees with people
    confidence         how often results of each confidence keep the meaning

    \b
    Examples:
      refdec evaluate quora --data DIR
      refdec evaluate quora --data DIR --system source --system reference --no-generate
      refdec evaluate quora --data DIR --system rd:paper,contexts=240 --system others.jsonl --rows 200
      refdec evaluate quora-systems --data DIR --system rd --system upsa --rows 50
      refdec evaluate quora twitter --data DIR --no-report --device cuda
      refdec evaluate wmt18 --data DIR --split cs-en --system rd:translation

    Without --system, a CPU runs its default preset and a GPU the paper's settings too; contexts and weights vary the
    paper's settings and take a GPU. Packages that the metrics need are checked before anything is generated.

    Generation and scoring are separate: --no-report only generates, --no-generate only scores existing outputs, also on
    another machine. Outputs are never overwritten, and files of other settings are refused.
    """
    from refdec.evaluate.experiments.bench import Bench
    from refdec.evaluate.experiments.data import SETS, data_folder
    from refdec.evaluate.experiments.named_experiments import check, experiment, generate, run, write
    from refdec.evaluate.experiments.runs import Runs
    from refdec.evaluate.judging.named_metrics import check_metric
    from refdec.evaluate.judging.stand_in import JUDGED

    for name in experiments:
        experiment(name)
    for name in options["metrics"]:
        if name not in JUDGED:
            check_metric(name, JUDGED)
    _check_known("split", options["split"], (split for found in SETS.values() for split in found.splits))
    _check_known("preset", options["preset"], (name for task in PRESETS.values() for name in task))
    if not (options["generate"] or options["report"]):
        raise SettingsError("With --no-generate and --no-report there is nothing to do. Leave one of them out.")
    data_folder(options["data"])
    # Loaded when it is first needed. --examples is about the report here, and not a file of rewordings.
    reflector = cache(partial(load_reflector, {**options, "examples": None}))
    with Progress(options["quiet"]) as progress:
        bench = Bench(
            data=options["data"],
            runs=Runs(
                options["out"],
                reflector if options["generate"] else None,
                progress.rows,
                options["unfinished"],
                options["device"],
            ),
            device=_device_kind(options["device"]),
            pair=lambda: reflector().pair,
            examples=have_examples(options["forward"]),
            notice=progress.tell,
            **{name: options[name] for name in ("preset", "systems", "metrics", "split", "limit", "resamples")},
        )
        if options["report"]:
            check(bench, experiments)
        if options["generate"]:
            generate(bench, experiments)
        if not options["report"]:
            return 0
        report = run(bench, experiments, "refdec " + shlex.join(sys.argv[1:]), options["examples"])
        paths = write(report, options["out"])
    show_report(report)
    if not options["quiet"]:
        click.echo(f"refdec: the report is in {paths[0]} and {paths[1]}", err=True)
    return 0


def _check_known(what: str, given: str | None, known: Iterable[str]) -> None:
    """Refuse an unknown name. An experiment ignores names of other experiments, so a typo would pass unseen."""
    names = list(dict.fromkeys(known))
    if given is not None and given not in names:
        raise SettingsError(
            f"There is no {what} {given!r}{did_you_mean(given, names)}. Choose from {', '.join(names)}."
        )


def _device_kind(named: str | None) -> str:
    """What kind of device the models will have, known without loading them."""
    import torch

    return named.partition(":")[0] if named else "cuda" if torch.cuda.is_available() else "cpu"
