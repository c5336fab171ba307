"""Batches for those who write Python: rows in a stream, and one function for datasets, pandas and plain map."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest
import torch

from refdec import InputError, Mapper, Models, Reflector, SettingsError, load_pair
from refdec.batch.row_tasks import ParaphraseRows
from tests.small_pair import small_texts

QUICK: dict[str, Any] = {"contexts": 3, "context_tokens": 6, "kept_contexts": 2, "samples": 2}


@pytest.fixture(scope="module")
def small(small_pair: Path) -> Reflector:
    return Reflector(load_pair(small_pair, device="cpu"))


@pytest.fixture(scope="module")
def mapper(small_pair: Path) -> Mapper:
    return Mapper("paraphrase", column="question", models=Models(str(small_pair), device="cpu"), **QUICK)


@pytest.fixture(scope="module")
def said(small: Reflector) -> list[str]:
    """What the texts become one by one."""
    return [str(small.paraphrase(text, **QUICK)) for text in small_texts(4)]


def test_rows_come_in_order_while_others_are_still_to_be_read(small: Reflector, said: list[str]) -> None:
    asked: list[int] = []

    def endless() -> Iterator[str]:
        number = 0
        while True:
            asked.append(number)
            yield small_texts(4)[number % 4]
            number += 1

    rows = small.batch(endless(), **QUICK)
    for expected in [*said, *said]:
        assert next(rows)["paraphrase"] == expected
    assert len(asked) <= 8 + 4  # only what is under way was read ahead


def test_rows_keep_their_columns_and_errors_stay_with_their_rows(small: Reflector, said: list[str]) -> None:
    rows = [{"id": 1, "question": small_texts(1)[0]}, {"id": 2, "question": ""}, {"id": 3}, 7]
    found = list(small.batch(rows, column="question", prefix="rd_", **QUICK))  # type: ignore[arg-type]
    assert [row.get("id") for row in found] == [1, 2, 3, None]
    assert found[0]["rd_paraphrase"] == said[0]
    assert found[0]["rd_error"] is None
    assert "The text is empty" in found[1]["rd_error"]
    assert "There is no column 'question' in this row." in found[2]["rd_error"]
    assert "A row is a text or a mapping of columns, not int." in found[3]["rd_error"]
    assert list(small.batch([], **QUICK)) == []


def test_every_task_is_a_word(small: Reflector) -> None:
    text = small_texts(1)[0]
    quick = {name: value for name, value in QUICK.items() if name != "samples"}
    (score,) = small.batch([{"reference": text, "candidate": text}], "score", **quick)
    assert score["scaled"] == 100
    (filled,) = small.batch([f"{text} ___ {text}"], "infill", **QUICK)
    assert filled["error"] is None
    (rewritten,) = small.batch([f"{text} [[{text}]] {text}"], "rewrite", **QUICK)
    assert rewritten["error"] is None


def test_what_is_wrong_with_a_mapper_is_told_when_it_is_made() -> None:
    with pytest.raises(SettingsError, match="did you mean 'paraphrase'"):
        Mapper("paraphrse")
    with pytest.raises(SettingsError, match="did you mean 'contexts'"):
        Mapper(context=3)
    with pytest.raises(InputError, match="2 columns were named"):
        Mapper(column=("a", "b"))
    with pytest.raises(InputError, match="not int"):
        Mapper(**QUICK)(7)


@pytest.mark.processes
def test_datasets_map_it_row_by_row_in_batches_and_in_other_processes(
    mapper: Mapper, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", os.environ)  # datasets leaves a copy in its place
    given = datasets.Dataset.from_dict({"id": list(range(4)), "question": small_texts(4)})
    alone = given.map(mapper, load_from_cache_file=False)
    batched = given.map(mapper, batched=True, batch_size=3, load_from_cache_file=False)
    assert alone.column_names == ["id", "question", *ParaphraseRows.ranked, "note", "error"]
    assert alone["paraphrase"] == batched["paraphrase"] == said
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    torch.randn(600, 600) @ torch.randn(600, 600)  # threads that a forked process does not have
    apart = given.map(mapper, batched=True, num_proc=2, load_from_cache_file=False)
    torch.set_num_threads(threads)
    assert apart["paraphrase"] == said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_program_that_imports_it_forks_as_before() -> None:
    script = """if True:
        import os, sys, torch
        from refdec import Mapper
        torch.set_num_threads(2)
        child = os.fork()
        if not child:
            os._exit(torch.get_num_threads())
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert subprocess.run([sys.executable, "-c", script]).returncode == 2


def test_datasets_tell_one_mapper_from_another(mapper: Mapper, small_pair: Path) -> None:
    from datasets.fingerprint import Hasher

    same = Mapper("paraphrase", column="question", models=Models(str(small_pair), device="cpu"), **QUICK)
    other = Mapper("paraphrase", column="question", models=Models(str(small_pair), device="cpu"), **QUICK | {"seed": 1})
    mapper(small_texts(1)[0])  # what was loaded does not count
    assert Hasher.hash(mapper) == Hasher.hash(same) != Hasher.hash(other)


def test_pandas_map_it_over_a_column_and_over_a_frame(mapper: Mapper, said: list[str]) -> None:
    frame = pd.DataFrame({"question": small_texts(4), "id": range(4)})
    assert list(frame["question"].map(mapper)) == said
    more = frame.pipe(mapper)
    assert list(more["paraphrase"]) == said
    assert list(more.columns[:2]) == ["question", "id"]
    assert list(frame.columns) == ["question", "id"]


def test_plain_map_works_and_a_bad_text_is_refused(mapper: Mapper, said: list[str]) -> None:
    assert list(map(mapper, small_texts(2))) == said[:2]
    with pytest.raises(InputError, match="The text is empty"):
        mapper("  ")


def test_a_mapper_travels_by_the_names_of_its_models(mapper: Mapper, small: Reflector, said: list[str]) -> None:
    mapper(small_texts(1)[0])
    again = pickle.loads(pickle.dumps(mapper))
    assert again(small_texts(1)[0]) == said[0]
    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(Mapper(reflector=small))
