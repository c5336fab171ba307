"""Competing systems as users name them: on the command line, in experiments, from folders."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from refdec import InputError, ModelError, SettingsError
from refdec.baselines.folder import Card, digest, read_card, read_weights, write_method
from refdec.baselines.method import Proposal, fillings, own_signature, paraphrases
from refdec.baselines.named_methods import INFILLERS, PARAPHRASERS, Means, NamedMethod, choose_method
from refdec.evaluate.experiments.bench import Bench
from refdec.evaluate.experiments.competition import sentences_systems
from refdec.evaluate.experiments.runs import Runs
from refdec.evaluate.experiments.scoreboard import SECONDS
from refdec.evaluate.reports.report import ReportTable
from refdec.settings import Settings, documented, setting
from tests.conftest import Run, refusal

SENTENCES = ["The ship left on Monday.", "It rained for three days.", "Nobody saw the small dog.", "We sold the house."]


@documented
@dataclass(frozen=True, slots=True)
class ShoutSettings(Settings):
    """How loud a text is said again."""

    task: ClassVar[str] = "shout"

    marks: int = setting(1, "exclamation marks", low=0, high=9)
    seed: int = setting(0, "seed", low=0, high=9)


@dataclass
class Shout:
    """Says a text again with its first word last, and the text itself."""

    settings: ShoutSettings
    signature: str = "shout"
    asked: int = 0

    def paraphrase_all(self, sources: Iterable[str]) -> Iterator[list[Proposal]]:
        for source in sources:
            self.asked += 1
            first, *others = source.rstrip(".").split()
            turned = " ".join([*others, first]) + "!" * self.settings.marks
            yield [Proposal(turned, 2.0), Proposal(source, 1.0)]

    def infill_all(self, gaps: Iterable[tuple[str, str]]) -> Iterator[list[Proposal]]:
        for left, right in gaps:
            yield [Proposal(f"After {left.split()[0]}, before {right.split()[0]}.", 0.5)]


def shout(_: Means, settings: ShoutSettings) -> Shout:
    return Shout(settings, own_signature(settings, "none"))


@pytest.fixture(autouse=True)
def methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """`shout` for both tasks, and `trained`, which has weights."""
    entry = NamedMethod("says it again", ShoutSettings, shout)
    for names in (PARAPHRASERS, INFILLERS):
        monkeypatch.setitem(names, "shout", entry)
    monkeypatch.setitem(PARAPHRASERS, "trained", NamedMethod("learned it", ShoutSettings, shout, trained=True))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "mine"
    write_method(place, Card("trained", {"width": 3}, {"parameters": 1_234_567}), {"w": torch.arange(3.0)}, "{}")
    return place


def test_a_method_is_named_with_its_settings() -> None:
    chosen = choose_method("shout,marks=3", PARAPHRASERS, {"marks": 1, "seed": 4})
    assert chosen is not None
    assert chosen.settings == ShoutSettings(marks=3, seed=4)
    assert chosen.label == "shout-marks-3-seed-4"
    assert choose_method("nothing", PARAPHRASERS) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shout,marks=10", "marks is 10; it must be a whole number from 0 to 9"),
        ("shout,loud=1", "no setting 'loud'. Settings: marks, seed"),
        ("shout,marks", "'marks' in shout,marks is no setting"),
        ("shout:there", "shout has no weights of its own"),
        ("trained", "trained has weights of its own. Train it"),
        ("trained:nowhere", "nowhere holds no trained method"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_loaded(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        choose_method(text, PARAPHRASERS)


def test_a_folder_names_its_method_and_the_label_its_size(folder: Path) -> None:
    for text in (str(folder), f"trained:{folder}"):
        chosen = choose_method(f"{text},marks=2", PARAPHRASERS)
        assert chosen is not None
        assert (chosen.folder, chosen.label) == (folder, "trained-1.2M-marks-2")
    with pytest.raises(SettingsError, match=r"holds trained, which is for another task\. Methods: .*shout"):
        choose_method(str(folder), INFILLERS)


def test_a_folder_gives_back_what_was_written(folder: Path, tmp_path: Path) -> None:
    card = read_card(folder)
    assert card == Card("trained", {"width": 3}, {"parameters": 1_234_567})
    assert read_weights(folder)["w"].tolist() == [0, 1, 2]
    before = digest(folder)
    write_method(folder, card, {"w": torch.arange(4.0)})
    assert digest(folder) != before
    assert read_card(tmp_path / "nowhere") is None


def test_a_damaged_folder_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"x")
    with pytest.raises(ModelError, match=r"model\.safetensors cannot be read. Train the method again"):
        read_weights(folder)
    (folder / "method.json").write_text('{"method": "trained"}')
    with pytest.raises(ModelError, match=r"method\.json is not the card of a method"):
        read_card(folder)


def test_bad_texts_are_refused_as_everywhere() -> None:
    method = Shout(ShoutSettings())
    with pytest.raises(InputError, match="The text is empty"):
        list(paraphrases(method, ["  "]))
    with pytest.raises(InputError, match="needs a text before the gap and one after it"):
        list(fillings(method, [("It rained.", " ")]))
    assert method.asked == 0


def test_every_method_says_what_it_is_and_has_a_page_section() -> None:
    page = (Path(__file__).parent.parent / "docs" / "baselines.md").read_text(encoding="utf-8")
    for methods in (PARAPHRASERS, INFILLERS):
        for name, method in methods.items():
            if method.settings is not ShoutSettings:
                assert method.settings.task == name
                assert method.title
                assert f"\n## `{name}`" in page


def test_paraphrases_of_a_method_are_shown_without_the_source(run: Run) -> None:
    code, out, err = run("paraphrase", "--method", "shout,marks=2", "--top", "3", "The ship left.")
    assert (code, err) == (0, "")
    assert out.splitlines() == ["The ship left.", "      +2.000  ship left The!!"]


def test_json_of_a_method_has_novelty_and_signature(run: Run) -> None:
    code, out, _ = run("paraphrase", "--json", "--method", "shout", "--seed", "7", "The ship left.")
    line = json.loads(out)
    assert code == 0
    assert [item["text"] for item in line["results"]] == ["ship left The!"]
    assert line["results"][0]["novelty"] > 0
    assert "task:shout|models:none|marks:1|seed:7" in line["signature"]


def test_a_method_fills_every_gap_from_left_to_right(run: Run) -> None:
    code, out, _ = run("infill", "--json", "--method", "shout", "It rained. ___ We ran. ___ They slept.")
    first, second = (json.loads(line) for line in out.splitlines())
    assert code == 0
    assert first["results"][0]["text"] == "After It, before We."
    assert second["left"] == "It rained. After It, before We. We ran."


def test_options_of_refdec_are_refused_beside_a_method(run: Run) -> None:
    words = refusal(run, "paraphrase", "--method", "shout", "--keep", "ship", "The ship left.")
    assert "--keep is about refdec's own way of writing" in words
    words = refusal(run, "paraphrase", "--method", "shuot", "The ship left.")
    assert "no method 'shuot' (did you mean 'shout'?)" in words


def test_nothing_but_the_source_is_told(run: Run) -> None:
    code, out, _ = run("paraphrase", "--method", "shout", "--novelty", "100", "The ship left.")
    assert code == 0
    assert "shout found nothing but the source, or nothing that novel" in out


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def bench(folder: Path, *systems: str) -> Bench:
    def no_models() -> Any:
        raise AssertionError("no system here needs models")

    runs = Runs(folder / "out", no_models, lambda *_: None)
    metrics = ("sari", "bleu", "novelty")
    return Bench(folder / "data", runs, "cpu", no_models, systems, metrics=metrics, resamples=50)


def test_competing_systems_stand_in_one_table_and_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": str(n), "source": text, "references": [text[::-1]]} for n, text in enumerate(SENTENCES)]
    write_rows(tmp_path / "data" / "sentences" / "dev.jsonl", rows)
    ready = [
        {"text": source, "novelty": 0.0, "copy": True}
        if part
        else {"text": f"So {source}", "novelty": 30.0, "copy": False}
        for source in SENTENCES
        for part in (0, 1)
    ]
    ours = [{"id": str(n), "source": source, "results": ready[2 * n : 2 * n + 2]} for n, source in enumerate(SENTENCES)]
    write_rows(tmp_path / "ours.jsonl", ours)
    made: list[Shout] = []

    def counted(*given: Any) -> Shout:
        made.append(shout(*given))
        return made[-1]

    monkeypatch.setitem(PARAPHRASERS, "shout", NamedMethod("says it again", ShoutSettings, counted))
    systems = ("source", "shout", "shout,marks=3", str(tmp_path / "ours.jsonl"))
    table, *_ = sentences_systems(bench(tmp_path, *systems))
    assert isinstance(table, ReportTable)
    without_cutoff = [row.name for row in table.rows if not row.name.endswith((" 30", " 45"))]
    assert without_cutoff == ["source", "shout", "shout-marks-3", "ours"]
    seconds = {row.name: row.cells[SECONDS.key].value for row in table.rows}
    assert seconds["source"] is None
    assert seconds["shout"] is not None
    assert "tuning set" in table.note
    assert [method.asked for method in made] == [4, 4]

    saved = tmp_path / "out" / "outputs" / "sentences-dev" / "shout.jsonl"
    saved.write_text("".join(saved.read_text().splitlines(keepends=True)[:3]))
    again, *_ = sentences_systems(bench(tmp_path, *systems))
    assert [method.asked for method in made] == [4, 4, 1, 0]  # a killed run goes on, a finished one is read
    assert isinstance(again, ReportTable)
    figures = [[row.cells[key].value for key in ("sari", "bleu", "novelty")] for row in table.rows]
    assert figures == [[row.cells[key].value for key in ("sari", "bleu", "novelty")] for row in again.rows]
