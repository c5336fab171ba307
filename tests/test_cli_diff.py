"""`refdec diff` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path

from refdec import compare
from tests.conftest import Run


def test_lines_show_what_was_kept_swapped_lost_and_new(command: Run) -> None:
    code, out, err = command("diff", "The show took place in May.", "The show happened in June in Rome.")
    assert (code, err) == (0, "")
    lines = {line.split()[0]: line for line in out.splitlines()[2:]}
    assert "does not say the same" in lines["cost"]
    assert lines["kept"].split() == ["kept", "show"]
    assert "took place in → happened in (0.30)" in lines["swapped"]


def test_python_and_the_command_give_the_same(command: Run) -> None:
    texts = "It is late.", "It is not late."
    code, out, _ = command("diff", "--json", *texts)
    assert code == 0
    assert json.loads(out) == {"reference": texts[0], "candidate": texts[1], **compare(*texts).to_dict()}


def test_a_broken_line_is_reported_and_the_others_go_on(command: Run, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text('Ann sued Bo.\tBo sued Ann.\nno tab\nIt is late.\t\n{"reference": "A.", "candidate": "A."}\n')
    code, out, err = command("diff", "--file", str(file))
    assert code == 2
    assert out.count("cost") == 2
    assert "line 2 of pairs.tsv: It has no tab." in err
    assert "line 3 of pairs.tsv: the second text: The text is empty." in err
    code, out, _ = command("diff", "--json", "--file", str(file))
    assert [json.loads(line).get("line") for line in out.splitlines()] == [None, 2, 3, None]


def test_other_languages_are_named(command: Run) -> None:
    code, out, _ = command("diff", "El perro come carne.", "El gato come carne.")
    assert code == 0
    assert "This is not English" in out
