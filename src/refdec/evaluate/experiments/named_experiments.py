"""The experiments by name, and the report of several of them."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

import torch

import refdec
from refdec.errors import SettingsError
from refdec.evaluate.experiments.ablations import (
    contexts,
    contexts_needs,
    cutoffs,
    cutoffs_needs,
    weights,
    weights_needs,
)
from refdec.evaluate.experiments.bench import Bench, Experiment
from refdec.evaluate.experiments.infilling import anlg, anlg_needs
from refdec.evaluate.experiments.paraphrasing import compared_needs, quora, quora_rows, twitter, twitter_rows
from refdec.evaluate.experiments.score_agreement import stsb, stsb_needs, wmt18, wmt18_needs
from refdec.evaluate.experiments.trust import confidence, confidence_needs, no_needs, stand_in
from refdec.evaluate.experiments.upsa import upsa, upsa_needs
from refdec.evaluate.reports.as_html import html
from refdec.evaluate.reports.as_markdown import markdown
from refdec.evaluate.reports.plots import pictures
from refdec.evaluate.reports.report import Examples, Report, Section
from refdec.files.whole import write_whole
from refdec.settings import did_you_mean

EXPERIMENTS = {
    "quora": Experiment(lambda bench: compared_needs(bench, quora_rows(bench)), quora),
    "twitter": Experiment(lambda bench: compared_needs(bench, twitter_rows(bench)), twitter),
    "upsa": Experiment(upsa_needs, upsa),
    "contexts": Experiment(contexts_needs, contexts),
    "weights": Experiment(weights_needs, weights),
    "cutoffs": Experiment(cutoffs_needs, cutoffs),
    "anlg": Experiment(anlg_needs, anlg),
    "wmt18": Experiment(wmt18_needs, wmt18),
    "stsb": Experiment(stsb_needs, stsb),
    "stand-in": Experiment(no_needs, stand_in),
    "confidence": Experiment(confidence_needs, confidence),
}

PICTURES = "pictures"


def experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise SettingsError(
            f"There is no experiment {name!r}{did_you_mean(name, EXPERIMENTS)}. Experiments: {', '.join(EXPERIMENTS)}."
        )
    return EXPERIMENTS[name]


def generate(bench: Bench, names: Sequence[str]) -> None:
    """What these experiments need and does not lie there yet."""
    for name in names:
        for system, rows in experiment(name).needs(bench):
            bench.runs.outputs(system, rows)


def run(bench: Bench, names: Sequence[str], command: str, examples: bool = True) -> Report:
    """The report of these experiments, in this order; without examples it holds no text of the data."""
    sections: list[Section] = []
    for name in names:
        bench.runs.tell(f"scoring {name}", 0, 0)
        found = experiment(name).report(bench)
        sections += [section for section in found if examples or not isinstance(section, Examples)]
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}"
    provenance = {"command": command, "scored with": f"refdec {refdec.__version__} on {machine}", **bench.provenance}
    intro = (
        "Every figure comes from files of outputs that carry the signature of what made them, listed at the end with "
        "the signatures of the metrics. Rows in italics are quoted from the paper that refdec implements."
    )
    return Report("refdec: results", intro, tuple(sections), tuple(provenance.items()))


def write(report: Report, folder: Path) -> list[Path]:
    """report.md, report.html and the pictures of the former; what they replace is replaced whole."""
    drawn = pictures(report)
    if drawn:
        (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in drawn.items():
        write_whole(folder / PICTURES / name, picture)
    paths = [folder / "report.md", folder / "report.html"]
    write_whole(paths[0], markdown(report, PICTURES))
    write_whole(paths[1], html(report))
    return paths
