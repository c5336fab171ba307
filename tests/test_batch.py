"""`refdec batch` as its users meet it: every row once, in order, whatever happens in between."""

from __future__ import annotations

import csv
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refdec.batch import parts, worker
from refdec.batch.input_table import InputTable
from refdec.batch.item import Item, Outcome, digest
from refdec.batch.job import Job
from refdec.batch.manifest import Manifest
from refdec.batch.row_tasks import ParaphraseRows
from refdec.batch.todo import Todo
from refdec.errors import InputError, OutOfMemory
from refdec.files import growing, jsonl_format
from refdec.files.lock import locked
from refdec.tasks import describe, yardstick
from refdec.tasks.signature import signature
from tests.conftest import Run, refusal
from tests.small_pair import SMALL_SETTINGS, small_texts

Batch = Callable[..., tuple[int, str, str]]


@pytest.fixture
def batch(command: Run, small_pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """`refdec batch` with a small pair and quick settings, in a directory of its own."""
    monkeypatch.chdir(tmp_path)

    def call(task: str, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        models = ("--forward", str(small_pair), "--device", "cpu")
        samples = () if task == "score" else ("--samples=2",)
        return command("batch", task, *models, *SMALL_SETTINGS, *samples, *arguments, stdin=stdin)

    return call


def write(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def read(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def texts(count: int) -> list[dict[str, Any]]:
    return [{"id": number, "text": text} for number, text in enumerate(small_texts(count))]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each text was worked on."""
    counts: Counter[str] = Counter()
    real = ParaphraseRows.cells

    async def counted(self: ParaphraseRows, texts: Any, full: bool) -> Any:
        counts.update(texts[:1])
        return await real(self, texts, full)

    monkeypatch.setattr(ParaphraseRows, "cells", counted)
    return counts


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, BaseException], None]:
    """Let a run break off once so many rows are kept."""
    real = parts.Parts.add

    def arrange(rows: int, problem: BaseException) -> None:
        left = rows

        def add(self: parts.Parts, outcome: Any) -> bool:
            nonlocal left
            if not left:
                monkeypatch.setattr(parts.Parts, "add", real)
                raise problem
            left -= 1
            return real(self, outcome)

        monkeypatch.setattr(parts.Parts, "add", add)

    return arrange


def test_every_row_comes_back_in_order_with_its_columns(batch: Batch) -> None:
    write("in.jsonl", texts(5))
    code, out, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert (code, out) == (0, "")
    assert "out.jsonl: 5 rows." in err
    rows = read("out.jsonl")
    assert [(row["id"], row["text"]) for row in rows] == [(row["id"], row["text"]) for row in texts(5)]
    assert list(rows[0]) == ["id", "text", *ParaphraseRows.ranked, "note", "error"]
    assert all(row["paraphrase"] and row["error"] is None for row in rows)
    assert not Path("out.jsonl.parts").exists()
    manifest = json.loads(Path("out.jsonl.manifest.json").read_text())
    assert manifest["done"] == [[1, 5]]
    assert manifest["signatures"][0].startswith("refdec:")
    assert manifest["finished"]["rows"] == 5


def test_rows_are_what_the_command_for_one_text_gives(batch: Batch, command: Run, small_pair: Path) -> None:
    write("in.jsonl", texts(3))
    batch("paraphrase", "--top", "2", "--full", "in.jsonl", "out.jsonl")
    for row in read("out.jsonl"):
        options = ("--forward", str(small_pair), "--device", "cpu", *SMALL_SETTINGS, "--samples=2", "--json")
        _, out, _ = command("paraphrase", *options, row["text"])
        alone = json.loads(out)
        best = [item for item in alone["results"] if not item["copy"]]
        assert [row["paraphrase"], row["paraphrase_2"]] == [item["text"] for item in best[:2]]
        assert [row["relative"], row["relative_2"]] == [item["relative"] for item in best[:2]]
        assert row["result"]["contexts"] == alone["contexts"]


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl.gz", "parquet", "txt"])
def test_tables_of_every_format_go_in_and_out(batch: Batch, name: str) -> None:
    write("in.jsonl", texts(3))
    assert batch("paraphrase", "in.jsonl", f"there.{name}")[0] == 0
    column = "text" if name == "txt" else "paraphrase"
    assert batch("paraphrase", "--column", column, "--prefix", "again_", f"there.{name}", "back.jsonl")[0] == 0
    first, second = read("back.jsonl"), texts(3)
    assert len(first) == 3
    if name != "txt":
        assert [row["text"] for row in first] == [row["text"] for row in second]
        kinds = (int, str) if name in ("jsonl.gz", "parquet") else (str,)
        assert isinstance(first[0]["id"], kinds)
    assert all(row["again_paraphrase"] for row in first)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_bytes_do_not_depend_on_the_batch_size(batch: Batch, size: int) -> None:
    write("in.jsonl", texts(9))
    batch("paraphrase", "in.jsonl", "plain.jsonl")
    batch("paraphrase", "--batch-size", str(size), "in.jsonl", "sized.jsonl")
    assert Path("plain.jsonl").read_bytes() == Path("sized.jsonl").read_bytes()


@pytest.mark.parametrize("task", ["paraphrase", "score"])
def test_shuffled_rows_give_the_same_rows(batch: Batch, task: str) -> None:
    rows = texts(8)
    if task == "score":
        rows = [{"id": row["id"], "reference": rows[0]["text"], "candidate": row["text"]} for row in rows]
    write("in.jsonl", rows)
    write("shuffled.jsonl", random.Random(0).sample(rows, len(rows)))
    batch(task, "in.jsonl", "out.jsonl")
    batch(task, "shuffled.jsonl", "out2.jsonl")
    assert sorted(read("out2.jsonl"), key=lambda row: row["id"]) == read("out.jsonl")


def test_gaps_spans_and_pairs_are_worked_through(batch: Batch) -> None:
    text = small_texts(1)[0]
    write("gaps.jsonl", [{"text": f"{text} ___ {text} ___ {text}"}, {"text": "no gap"}])
    assert batch("infill", "gaps.jsonl", "filled.jsonl")[0] == 0
    filled, bad = read("filled.jsonl")
    assert "There is no ___ in the text." in bad["error"]
    if filled["filling"]:
        assert filled["filled"].count(text) == 3
        assert filled["filling"].count("___") == 1
    write("sides.jsonl", [{"left": text, "right": text, "number": 7}])
    assert batch("infill", "--top", "2", "sides.jsonl", "sides.csv")[0] == 0
    with open("sides.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert {"number", "filled", "filling", "filling_2", "passes_2"} <= set(row)
    write("spans.jsonl", [{"text": f"{text} [[{text}]] {text}"}])
    write("parted.jsonl", [{"left": f"{text} ", "span": text, "right": f" {text}"}])
    for name in ("spans", "parted"):
        assert batch("rewrite", f"{name}.jsonl", f"{name}.out.jsonl")[0] == 0
    marked, parted = read("spans.out.jsonl")[0], read("parted.out.jsonl")[0]
    assert marked["rewriting"] == parted["rewriting"]
    assert marked["rewritten"] == parted["rewritten"] == f"{text} {marked['rewriting']} {text}"
    write("pairs.jsonl", [{"reference": text, "candidate": text}, {"reference": text, "candidate": "x"}])
    assert batch("score", "pairs.jsonl", "scores.jsonl")[0] == 0
    same, other = read("scores.jsonl")
    assert same["scaled"] == 100
    assert other["scaled"] < 100


def test_a_fingerprint_stands_for_the_reference_of_all_rows(
    command: Run, small_pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = small_texts(1)[0]
    models = ("--forward", str(small_pair), "--device", "cpu")
    assert command("fingerprint", *models, *SMALL_SETTINGS, text, "-o", "known.json")[0] == 0
    Path("in.txt").write_text(f"{text}\nsomething else\n")
    assert command("batch", "score", *models, "--fingerprint", "known.json", "in.txt", "out.jsonl")[0] == 0
    same, other = read("out.jsonl")
    assert same["scaled"] == 100 > other["scaled"]


def test_an_interrupted_run_goes_on_without_loss_or_repeat(
    batch: Batch, seen: Counter[str], stop_after: Callable[[int, BaseException], None]
) -> None:
    write("in.jsonl", texts(12))
    batch("paraphrase", "in.jsonl", "whole.jsonl")
    seen.clear()
    stop_after(5, KeyboardInterrupt())
    code, _, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert code == 130
    assert "5 of 12 rows are done and kept in out.jsonl.parts. The same command goes on." in err
    assert not Path("out.jsonl").exists()
    assert json.loads(Path("out.jsonl.parts/manifest.json").read_text())["done"] == [[1, 5]]
    code, _, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert code == 0
    assert "going on: 5 of 12 rows are done." in err
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    again = [text for text, count in seen.items() if count > 1]
    assert len(seen) == 12
    assert len(again) <= 4  # rows that were under way


def test_rows_that_a_gpu_computes_together_are_computed_together_again(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{number}\n" for number in range(1, 12)))
    table, job = InputTable.at(path, "text"), Job.make("paraphrase", there=("text",), device="cpu")
    with parts.Parts(tmp_path / "out.parts", Manifest(job.describe(), {})) as kept:
        for number in (1, 2, 3, 4, 6, 11):
            item = Item(number, number, digest([str(number)]))
            assert kept.add(Outcome.failed(item, "why"))
            assert not kept.add(Outcome.failed(item, "why"))
        assert kept.manifest.done == [[1, 4], [6, 6], [11, 11]]
        assert kept.manifest.failed == 6
        alone, together = (Todo(table, job, kept.done, size) for size in (1, 4))
        assert [item.number for item in alone] == [5, 7, 8, 9, 10]
        assert [item.number for item in together] == [5, 6, 7, 8, 9, 10, 11]


def test_half_a_line_at_the_end_of_a_part_is_made_again(
    batch: Batch, stop_after: Callable[[int, BaseException], None]
) -> None:
    write("in.jsonl", texts(6))
    batch("paraphrase", "in.jsonl", "whole.jsonl")
    stop_after(3, KeyboardInterrupt())
    batch("paraphrase", "in.jsonl", "out.jsonl")
    part = Path("out.jsonl.parts/part-0000000.jsonl")
    part.write_bytes(part.read_bytes()[:-5])
    code, _, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert code == 0
    assert "going on: 2 of 6 rows" in err
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


def test_a_damaged_part_is_named(batch: Batch, stop_after: Callable[[int, BaseException], None]) -> None:
    write("in.jsonl", texts(6))
    stop_after(3, KeyboardInterrupt())
    batch("paraphrase", "in.jsonl", "out.jsonl")
    part = Path("out.jsonl.parts/part-0000000.jsonl")
    part.write_bytes(part.read_bytes().replace(b'{"row": 2', b'{"raw": 2'))
    assert "part-0000000.jsonl, line 2 is damaged." in refusal(batch, "paraphrase", "in.jsonl", "out.jsonl")
    part.unlink()
    assert batch("paraphrase", "in.jsonl", "out.jsonl")[0] == 0


def test_rows_of_other_settings_inputs_or_models_are_not_mixed(
    batch: Batch, stop_after: Callable[[int, BaseException], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("in.jsonl", texts(4))
    stop_after(2, KeyboardInterrupt())
    batch("paraphrase", "in.jsonl", "out.jsonl")
    message = refusal(batch, "paraphrase", "--seed", "7", "in.jsonl", "out.jsonl")
    assert "out.jsonl.parts holds rows of another run: seed was 0 and is 7." in message
    assert "top was 1 and is 2" in refusal(batch, "paraphrase", "--top", "2", "in.jsonl", "out.jsonl")
    write("other.jsonl", [{"text": "another"}, *texts(3)])
    code, _, err = batch("paraphrase", "other.jsonl", "out.jsonl")
    assert code == 2
    assert "other.jsonl, line 1: the row is not what it was when this output was begun." in err
    monkeypatch.setattr(worker, "signature", lambda *given: signature(*given).replace("|precision:", "|precision:odd+"))
    code, _, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert code == 2
    assert "The rows that are done were made differently: precision was" in err


def test_a_table_that_only_grew_goes_on(batch: Batch, stop_after: Callable[[int, BaseException], None]) -> None:
    write("in.jsonl", texts(4))
    stop_after(3, KeyboardInterrupt())
    batch("paraphrase", "in.jsonl", "out.jsonl")
    write("in.jsonl", texts(6))
    assert batch("paraphrase", "in.jsonl", "out.jsonl")[0] == 0
    assert [row["id"] for row in read("out.jsonl")] == list(range(6))


def test_a_table_that_changes_while_it_is_read_ends_the_run_and_nothing_is_lost(
    batch: Batch, seen: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("in.jsonl", texts(4))
    real = parts.Parts.add

    def add(self: parts.Parts, outcome: Any) -> bool:
        if outcome.number == 3:
            with open("in.jsonl", "a") as file:
                file.write(json.dumps({"id": 9, "text": "one more"}) + "\n")
        return real(self, outcome)

    monkeypatch.setattr(parts.Parts, "add", add)
    code, _, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert code == 2
    assert "in.jsonl changed while it was read. The rows that are done are kept" in err
    monkeypatch.setattr(parts.Parts, "add", real)
    seen.clear()
    assert batch("paraphrase", "in.jsonl", "out.jsonl")[0] == 0
    assert len(read("out.jsonl")) == 5
    assert len(seen) <= 3


def test_a_full_disk_ends_the_run_and_nothing_is_lost(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    write("in.jsonl", texts(5))
    batch("paraphrase", "in.jsonl", "whole.jsonl")
    real = growing.GrowingFile.add
    written = 0

    def add(self: growing.GrowingFile, content: bytes) -> None:
        nonlocal written
        written += 1
        if written == 3:
            os.write(self._file.fileno(), content[: len(content) // 2])  # a crash on top: half a line stays
            raise InputError(f"{self.path} cannot be written (No space left on device).")
        real(self, content)

    monkeypatch.setattr(growing.GrowingFile, "add", add)
    code, _, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert code == 2
    assert "part-0000000.jsonl cannot be written (No space left on device)." in err
    assert "2 of 5 rows are done and kept in out.jsonl.parts." in err
    monkeypatch.setattr(growing.GrowingFile, "add", real)
    assert batch("paraphrase", "in.jsonl", "out.jsonl")[0] == 0
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


def test_a_disk_that_fills_up_at_the_very_end_leaves_the_old_output_and_the_parts(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("in.jsonl", texts(3))
    Path("out.jsonl").write_text("old\n")
    real = jsonl_format.JsonlWriter.write

    def full(self: Any, fields: Any) -> None:  # noqa: ARG001
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jsonl_format.JsonlWriter, "write", full)
    code, _, err = batch("paraphrase", "--no-resume", "in.jsonl", "out.jsonl")
    assert code == 2
    assert "out.jsonl cannot be written (No space left on device)." in err
    assert Path("out.jsonl").read_text() == "old\n"
    monkeypatch.setattr(jsonl_format.JsonlWriter, "write", real)
    assert batch("paraphrase", "in.jsonl", "out.jsonl")[0] == 0
    assert len(read("out.jsonl")) == 3


def test_a_finished_run_is_not_made_again(batch: Batch, seen: Counter[str]) -> None:
    write("in.jsonl", texts(2))
    batch("paraphrase", "in.jsonl", "out.jsonl")
    seen.clear()
    code, _, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert code == 0
    assert "out.jsonl is finished already: 2 rows." in err
    assert not seen
    assert "seed was 0 and is 1" in refusal(batch, "paraphrase", "--seed", "1", "in.jsonl", "out.jsonl")
    write("in.jsonl", texts(3))
    assert "was made of other rows than in.jsonl has now" in refusal(batch, "paraphrase", "in.jsonl", "out.jsonl")
    Path("out.jsonl").write_text("mine\n")
    assert "was changed since it was made" in refusal(batch, "paraphrase", "in.jsonl", "out.jsonl")
    Path("out.jsonl.manifest.json").unlink()
    assert "nothing tells what made it" in refusal(batch, "paraphrase", "in.jsonl", "out.jsonl")
    assert Path("out.jsonl").read_text() == "mine\n"
    assert batch("paraphrase", "--no-resume", "in.jsonl", "out.jsonl")[0] == 0
    assert len(read("out.jsonl")) == 3


def test_standard_input_does_not_replace_what_something_else_made(batch: Batch) -> None:
    piped = "".join(text + "\n" for text in small_texts(2))
    Path("out.jsonl").write_text("mine\n")
    message = refusal(batch, "paraphrase", "--format", "text", "-", "out.jsonl", stdin=piped)
    assert "out.jsonl exists" in message
    assert Path("out.jsonl").read_text() == "mine\n"
    assert not Path("out.jsonl.parts").exists()
    assert batch("paraphrase", "--no-resume", "--format", "text", "-", "out.jsonl", stdin=piped)[0] == 0
    code, _, err = batch("paraphrase", "--format", "text", "-", "out.jsonl", stdin=piped)
    assert code == 0
    assert "out.jsonl is finished already: 2 rows." in err
    assert not Path("out.jsonl.parts").exists()


@pytest.mark.parametrize("options", [["--no-resume", "in.txt"], ["--format", "text", "-"]])
def test_a_second_run_takes_nothing_away_from_the_first(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    Path("in.txt").write_text("".join(text + "\n" for text in small_texts(4)))
    real, codes = parts.Parts.add, list[int]()

    def add(self: parts.Parts, outcome: Any) -> bool:
        if outcome.number == 3:
            before = {path: path.read_bytes() for path in self.home.iterdir()}
            codes.append(batch("paraphrase", *options, "out.jsonl", stdin="other\n")[0])
            assert {path: path.read_bytes() for path in self.home.iterdir()} == before
        return real(self, outcome)

    monkeypatch.setattr(parts.Parts, "add", add)
    assert batch("paraphrase", "in.txt", "out.jsonl")[0] == 0
    assert codes == [2]
    assert [row["text"] for row in read("out.jsonl")] == small_texts(4)


def test_a_row_that_ran_out_of_memory_is_tried_again_by_the_same_command(
    batch: Batch, seen: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("in.jsonl", texts(4))
    batch("paraphrase", "in.jsonl", "whole.jsonl")
    counted = ParaphraseRows.cells

    async def short(self: ParaphraseRows, texts: Any, full: bool) -> Any:
        if texts[0] == small_texts(2)[1]:
            raise MemoryError
        return await counted(self, texts, full)

    monkeypatch.setattr(ParaphraseRows, "cells", short)
    code, _, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert code == 2
    assert "1 of 4 rows ran out of memory" in err
    assert "The same command tries them again." in err
    assert not Path("out.jsonl").exists()
    assert json.loads(Path("out.jsonl.parts/manifest.json").read_text())["done"] == [[1, 1], [3, 4]]
    monkeypatch.setattr(ParaphraseRows, "cells", counted)
    seen.clear()
    assert batch("paraphrase", "in.jsonl", "out.jsonl")[0] == 0
    assert seen == Counter([small_texts(2)[1]])
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


def test_memory_that_is_gone_for_good_ends_the_run(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    async def short(*_: Any) -> Any:
        raise OutOfMemory("The memory of cuda does not hold the contexts of one text.")

    monkeypatch.setattr(ParaphraseRows, "cells", short)
    write("in.jsonl", texts(30))
    code, _, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert code == 2
    assert "5 rows one after the other failed, the last with The memory of cuda does not hold" in err
    assert "0 of 30 rows are done and kept" in err


@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("is_finished", [True, False])
def test_rows_with_errors_are_tried_again_when_asked(
    batch: Batch,
    seen: Counter[str],
    stop_after: Callable[[int, BaseException], None],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    is_finished: bool,
) -> None:
    write("in.jsonl", texts(5))
    options = ("paraphrase", "--full", "--top", "2", "in.jsonl")
    batch(*options, f"whole.{name}")
    counted = ParaphraseRows.cells

    async def broken(self: ParaphraseRows, texts: Any, full: bool) -> Any:
        if texts[0] == small_texts(2)[1]:
            raise RuntimeError("the device is lost")
        return await counted(self, texts, full)

    monkeypatch.setattr(ParaphraseRows, "cells", broken)
    if not is_finished:
        stop_after(3, KeyboardInterrupt())
    batch(*options, f"out.{name}")
    monkeypatch.setattr(ParaphraseRows, "cells", counted)
    seen.clear()
    code, _, err = batch(*options, "--retry-errors", f"out.{name}")
    assert code == 0
    assert small_texts(2)[1] in seen
    assert small_texts(1)[0] not in seen
    assert f"out.{name}: 5 rows." in err
    assert Path(f"out.{name}").read_bytes() == Path(f"whole.{name}").read_bytes()
    seen.clear()
    _, _, err = batch(*options, "--retry-errors", f"out.{name}")
    assert "is finished already" in err
    assert not seen


def test_errors_cannot_be_found_again_in_plain_text(batch: Batch) -> None:
    Path("in.txt").write_text(f"{small_texts(1)[0]}\n\n")
    assert batch("paraphrase", "in.txt", "out.txt")[0] == 0
    message = refusal(batch, "paraphrase", "--retry-errors", "in.txt", "out.txt")
    assert "out.txt is plain text, which does not say which rows failed" in message


def test_a_rewriting_has_no_column_that_is_always_empty(batch: Batch) -> None:
    text = small_texts(1)[0]
    write("in.jsonl", [{"text": f"{text} [[{text}]] {text}"}])
    assert batch("rewrite", "--top", "2", "in.jsonl", "out.jsonl")[0] == 0
    ranked = [
        f"{name}{rank}" for rank in ("", "_2") for name in ("rewriting", "relative", "novelty", "cost", "changes")
    ]
    assert list(read("out.jsonl")[0]) == ["text", "rewritten", *ranked, "note", "error"]


def test_two_runs_do_not_write_to_one_output(batch: Batch) -> None:
    write("in.jsonl", texts(1))
    with locked(Path("out.jsonl")):
        assert "out.jsonl is in use: another process writes to it." in refusal(
            batch, "paraphrase", "in.jsonl", "out.jsonl"
        )


def test_a_bad_row_is_noted_and_the_others_go_on(batch: Batch) -> None:
    good = json.dumps(texts(1)[0])
    lines = [good, "{broken", '{"id": 2}', '{"text": null}', '{"text": 7}', '{"text": ""}', "[]", good]
    Path("in.jsonl").write_text("\n".join(lines) + "\n")
    code, _, err = batch("paraphrase", "in.jsonl", "out.jsonl")
    assert code == 0
    rows = read("out.jsonl")
    assert [bool(row["error"]) for row in rows] == [False, *[True] * 6, False]
    assert rows[0]["paraphrase"] == rows[-1]["paraphrase"]
    assert "It is not JSON" in rows[1]["error"]
    assert "no column 'text' in this row" in rows[2]["error"]
    assert "no text but int" in rows[4]["error"]
    assert "The text is empty" in rows[5]["error"]
    assert "in.jsonl, line 2: It is not JSON" in err
    assert "8 rows, 6 of them failed, their error says why" in err


def test_strict_stops_at_the_first_bad_row_before_the_models_are_loaded(batch: Batch) -> None:
    Path("in.jsonl").write_text(json.dumps(texts(1)[0]) + "\n{broken\n")
    message = refusal(batch, "paraphrase", "--strict", "in.jsonl", "out.jsonl")
    assert "in.jsonl, line 2: It is not JSON" in message
    write("in.jsonl", [*texts(1), {"text": ""}])
    code, _, err = batch("paraphrase", "--strict", "in.jsonl", "out.jsonl")
    assert code == 2
    assert "in.jsonl, line 2: The text is empty." in err
    assert not Path("out.jsonl").exists()


def test_a_row_that_breaks_the_program_is_noted_and_a_broken_program_stops(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ParaphraseRows.cells
    broken = {"Anna"}

    async def cells(self: ParaphraseRows, texts: Any, full: bool) -> Any:
        if texts[0].split()[0] in broken:
            raise RuntimeError("the device is lost")
        return await real(self, texts, full)

    monkeypatch.setattr(ParaphraseRows, "cells", cells)
    write("in.jsonl", [{"text": "Bertha sings."}, {"text": "Anna sings."}, {"text": "Carla sings."}])
    assert batch("paraphrase", "in.jsonl", "out.jsonl")[0] == 0
    assert [row["error"] for row in read("out.jsonl")] == [None, "RuntimeError: the device is lost.", None]
    write("in.jsonl", [{"text": "Bertha sings."}, *({"text": f"Anna sings {number}."} for number in range(9))])
    code, _, err = batch("paraphrase", "in.jsonl", "many.jsonl")
    assert code == 2
    assert "5 rows one after the other failed, the last with RuntimeError: the device is lost." in err
    assert "1 of 10 rows are done and kept" in err
    monkeypatch.setattr(ParaphraseRows, "cells", real)
    assert batch("paraphrase", "in.jsonl", "many.jsonl")[0] == 0
    assert not any(row["error"] for row in read("many.jsonl"))


def test_only_the_first_rows_where_a_limit_is_given(batch: Batch) -> None:
    write("in.jsonl", texts(5))
    assert batch("paraphrase", "--limit", "2", "in.jsonl", "out.jsonl")[0] == 0
    assert [row["id"] for row in read("out.jsonl")] == [0, 1]


def test_a_dry_run_tells_the_cost_and_leaves_nothing(batch: Batch) -> None:
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts(20)) + "{broken\n")
    code, out, _ = batch("paraphrase", "--dry-run", "in.jsonl", "out.jsonl")
    assert code == 0
    told = dict(
        line.split(maxsplit=1) for line in out.replace("to do", "todo").replace("made by", "made_by").splitlines()
    )
    assert told["input"].startswith("in.jsonl: 21 rows (jsonl), columns id, text")
    assert told["bad"].startswith("1 row, the first on line 21: It is not JSON")
    assert told["todo"] == "21 rows"
    assert "rows measured" in told["time"]
    assert told["memory"].endswith("B")
    assert told["made_by"].startswith("refdec:")
    assert sorted(path.name for path in Path().iterdir()) == ["in.jsonl"]


@pytest.mark.parametrize(("rows", "measured"), [(1, 1), (6, 1), (30, 3), (200, 12)])
def test_a_dry_run_works_on_a_small_share_of_the_rows(
    batch: Batch, seen: Counter[str], rows: int, measured: int
) -> None:
    write("in.jsonl", texts(rows))
    _, out, _ = batch("paraphrase", "--dry-run", "in.jsonl", "out.jsonl")
    assert f"{measured} row{'s' * (measured > 1)} measured" in out
    assert seen.total() <= max(1, rows // 6)


def test_the_models_are_loading_only_until_they_are_loaded(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr("refdec.cli.batch_run.Bar.begin", lambda _, words, *given: told.append(f"{words} {given}"))
    real = worker.Worker.outcomes

    def outcomes(self: worker.Worker, *given: Any) -> Iterator[Outcome]:
        told.append("first row")
        return real(self, *given)

    monkeypatch.setattr(worker.Worker, "outcomes", outcomes)
    write("in.jsonl", texts(3))
    assert batch("paraphrase", "in.jsonl", "out.jsonl")[0] == 0
    computing = ["rows (0, 3, 0)", "loading the models ()", "rows (0, 3, 0)", "first row"]
    assert told == ["reading the input ()", *computing, "writing the output ()"]


def test_standard_input_goes_to_a_file_and_need_not_be_given_again(
    batch: Batch, stop_after: Callable[[int, BaseException], None]
) -> None:
    piped = "".join(text + "\n" for text in small_texts(5))
    stop_after(2, KeyboardInterrupt())
    assert batch("paraphrase", "--format", "text", "-", "out.jsonl", stdin=piped)[0] == 130
    other = batch("paraphrase", "--format", "text", "-", "out.jsonl", stdin="other\n")
    assert "Standard input is not what it was when the run in out.jsonl.parts began." in other[2]
    assert batch("paraphrase", "--format", "text", "-", "out.jsonl")[0] == 0
    assert [row["text"] for row in read("out.jsonl")] == small_texts(5)


@pytest.mark.parametrize("name", ["text", "jsonl", "csv"])
def test_a_pipe_gets_rows_as_they_come(batch: Batch, name: str) -> None:
    first, second = small_texts(2)
    piped = {
        "text": f"{first}\n{second}\n",
        "jsonl": f'{{"text": "{first}"}}\n{{"text": "{second}"}}\n',
        "csv": f"text\n{first}\n{second}\n",
    }[name]
    code, out, err = batch("paraphrase", "--format", name, "--output-format", "jsonl", "-", "-", stdin=piped)
    assert code == 0, err
    assert [json.loads(line)["text"] for line in out.splitlines()] == [first, second]
    assert not any(Path().iterdir())


def test_new_cells_that_a_spreadsheet_would_run_are_made_safe_and_those_of_the_input_are_left_alone(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("in.jsonl", [{"text": "=SUM(A1)", "link": "=HYPERLINK(1)"}])

    async def formula(*_: Any) -> Any:
        return {"paraphrase": "=SUM(A1)"}

    monkeypatch.setattr(ParaphraseRows, "cells", formula)
    _, _, err = batch("paraphrase", "in.jsonl", "out.csv")
    assert "1 new cell begins with ' so that no spreadsheet takes it for a formula." in err
    assert "=SUM(A1),=HYPERLINK(1),'=SUM(A1)," in Path("out.csv").read_text()
    _, _, err = batch("paraphrase", "--formulas", "--no-resume", "in.jsonl", "out.csv")
    assert "spreadsheet" not in err
    assert "=SUM(A1),=HYPERLINK(1),=SUM(A1)," in Path("out.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.jsonl", "out.jsonl"], "missing.jsonl"),
        (["in.jsonl", "nowhere/out.jsonl"], "there is no directory nowhere"),
        (["in.jsonl", "out.odd"], "out.odd"),
        (["in.jsonl", "in.jsonl"], "The input and the output are the same file."),
        (
            ["--column", "txt", "in.jsonl", "out.jsonl"],
            "There is no column 'txt' in the input. It has columns id, text.",
        ),
        (["--column", "id", "--column", "text", "in.jsonl", "out.jsonl"], "2 columns were named."),
        (["-", "out.jsonl"], "The format of standard input is not known."),
        (["--workers", "2", "in.jsonl", "out.jsonl"], "--workers is for a cluster. Add --engine ray."),
        (["--engine", "ray", "in.jsonl", "-"], "Name a file instead of standard output."),
        (["--novelty", "101", "in.jsonl", "out.jsonl"], "novelty is 101.0"),
        (["--confidence", "0.5", "in.jsonl", "out.jsonl"], "have no confidence"),
        (["empty.jsonl", "out.jsonl"], "empty.jsonl"),
        (["taken.jsonl", "out.jsonl"], "The input has a column 'paraphrase' already"),
        (["odd.jsonl", "out.jsonl"], "The input has columns a, b, and column text is needed."),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(batch: Batch, arguments: list[str], message: str) -> None:
    write("in.jsonl", texts(2))
    write("taken.jsonl", [{"text": "x", "paraphrase": "y"}])
    write("odd.jsonl", [{"a": "x", "b": "y"}])
    Path("empty.jsonl").write_text("")
    code, _, err = batch("paraphrase", *arguments)
    assert code == 2
    assert message in err
    assert not Path("out.jsonl").exists()


def test_an_output_that_cannot_be_written_is_refused_first(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    write("in.jsonl", texts(1))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "out.jsonl cannot be written (permission denied)." in refusal(batch, "paraphrase", "in.jsonl", "out.jsonl")


def test_parts_of_many_rows_are_kept_apart_and_joined_in_order(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROWS", 4)
    monkeypatch.setattr(parts, "OPEN", 2)
    write("in.jsonl", texts(11))
    real = worker.Worker.outcomes

    def backwards(self: worker.Worker, items: Iterator[Item], batch_size: int | None = None) -> Iterator[Any]:
        yield from reversed(list(real(self, items, batch_size)))

    monkeypatch.setattr(worker.Worker, "outcomes", backwards)
    assert batch("paraphrase", "in.jsonl", "out.jsonl")[0] == 0
    assert [row["id"] for row in read("out.jsonl")] == list(range(11))


def test_the_contexts_of_a_reference_are_sampled_once(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    described: list[str] = []
    contexts_of = describe.contexts_of

    async def counted(*given: Any) -> Any:
        described.append(given[0].name)
        return await contexts_of(*given)

    monkeypatch.setattr(yardstick, "contexts_of", counted)
    write("in.jsonl", [{"reference": small_texts(1)[0], "candidate": text} for text in small_texts(8)])
    assert batch("score", "in.jsonl", "out.jsonl")[0] == 0
    assert sorted(described) == ["left", "right"]
