"""The experiments by name, and the report of several of them."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

import torch

import refdec
from refdec.errors import SettingsError
from refdec.evaluate.experiments import ablations, competition, infilling, paraphrasing, score_agreement, trust, upsa
from refdec.evaluate.experiments.bench import Bench, Experiment, check_experiments
from refdec.evaluate.judging.stand_in import JUDGED
from refdec.evaluate.reports.as_html import html
from refdec.evaluate.reports.as_markdown import markdown
from refdec.evaluate.reports.plots import check_plots, pictures
from refdec.evaluate.reports.report import Examples, Report, Section
from refdec.files.whole import write_whole
from refdec.metrics.by_sacrebleu import scorer
from refdec.metrics.similarity import check_similarity
from refdec.settings import did_you_mean

COMPARED = (*paraphrasing.METRICS, *paraphrasing.VERDICTS)

EXPERIMENTS = {
    "quora": Experiment(paraphrasing.quora, paraphrasing.quora_needs, COMPARED, (check_plots,)),
    "twitter": Experiment(paraphrasing.twitter, paraphrasing.twitter_needs, COMPARED, (check_plots,)),
    "quora-systems": Experiment(
        competition.quora_systems, competition.quora_systems_needs, competition.METRICS, (check_plots,)
    ),
    "twitter-systems": Experiment(
        competition.twitter_systems, competition.twitter_systems_needs, competition.METRICS, (check_plots,)
    ),
    "sentences-systems": Experiment(
        competition.sentences_systems, competition.sentences_systems_needs, competition.METRICS, (check_plots,)
    ),
    "upsa": Experiment(upsa.upsa, upsa.upsa_needs, upsa.METRICS),
    "contexts": Experiment(ablations.contexts, ablations.contexts_needs, ablations.METRICS, (check_plots,)),
    "weights": Experiment(ablations.weights, ablations.weights_needs, ablations.METRICS),
    "cutoffs": Experiment(ablations.cutoffs, ablations.cutoffs_needs, ablations.CUTOFFS_METRICS),
    "anlg": Experiment(infilling.anlg, infilling.anlg_needs, infilling.METRICS),
    "wmt18": Experiment(score_agreement.wmt18, score_agreement.wmt18_needs, checks=(lambda: scorer("CHRF"),)),
    "stsb": Experiment(score_agreement.stsb, score_agreement.stsb_needs),
    "stand-in": Experiment(trust.stand_in, metrics=JUDGED, checks=(check_similarity,)),
    "confidence": Experiment(trust.confidence, trust.confidence_needs, checks=(check_similarity, check_plots)),
}

PICTURES = "pictures"


def experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise SettingsError(
            f"There is no experiment {name!r}{did_you_mean(name, EXPERIMENTS)}. Experiments: {', '.join(EXPERIMENTS)}."
        )
    return EXPERIMENTS[name]


def check(bench: Bench, names: Sequence[str]) -> None:
    """Refuse unknown systems, missing data and reports that could not be computed, before anything is generated."""
    for name in names:
        experiment(name).needs(bench)
    check_experiments(bench, map(experiment, names))


def generate(bench: Bench, names: Sequence[str]) -> None:
    """Generate the outputs that these experiments need and that are missing."""
    for name in names:
        for system, rows in experiment(name).needs(bench):
            bench.runs.outputs(system, rows)


def run(bench: Bench, names: Sequence[str], command: str, examples: bool = True) -> Report:
    """The report of these experiments, in this order; without examples it holds no text of the data."""
    sections: list[Section] = []
    for name in names:
        bench.runs.tell(f"scoring {name}", 0, 0)
        made = experiment(name).report(bench)
        sections += [section for section in made if examples or not isinstance(section, Examples)]
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}"
    provenance = {"command": command, "scored with": f"refdec {refdec.__version__} on {machine}", **bench.provenance}
    intro = (
        "Every figure comes from files of outputs that carry the signature of what made them, listed at the end with "
        "the signatures of the metrics. Rows in italics are quoted from the paper that refdec implements."
    )
    return Report("refdec: results", intro, tuple(sections), tuple(provenance.items()))


def write(report: Report, folder: Path) -> list[Path]:
    """Write report.md with its pictures, and report.html, each as a whole."""
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
