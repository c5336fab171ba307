"""The paper's figures as quoted: a handful pinned, and what they must have in common."""

from __future__ import annotations

import pytest

from refdec.errors import SettingsError
from refdec.evaluate.reports.quoted import LEARNED_FROM, SOURCE, TABLES, quoted, quoted_rows

QUORA, MORE = dict(quoted("quora")), dict(quoted("quora-more"))
SETTINGS = ("RD Top", "RD 30", "RD 45")


@pytest.mark.parametrize(
    ("table", "system", "key", "value"),
    [
        ("quora", "Source", "sari", 17.8),
        ("quora", "RD 30", "sari", 40.0),
        ("quora", "RD 45", "human", 61.1),
        ("quora-human", "RD 45", "all-three", 62.1),
        ("quora-more", "CGMH 45", "bleurt", -80.9),
        ("quora-more", "RD 45", "bertscore", 93.5),
        ("twitter", "RD 45", "sari", 36.4),
        ("twitter-more", "RD 45", "sari", 36.1),
        ("twitter", "CGMH 45", "novelty", 45.2),
        ("twitter-more", "CGMH 45", "novelty", 45.7),
        ("twitter-human", "RD Top/30", "consistent", 70.9),
        ("anlg", "Reflective Decoding", "o1_o2", 42.4),
        ("wmt18", "Reflective Score", "de-en", 0.490),
        ("wmt18", "RUSE", "cs-en", 0.347),
    ],
)
def test_figures_are_those_of_the_paper(table: str, system: str, key: str, value: float) -> None:
    assert dict(quoted(table))[system][key] == value


def test_every_table_is_whole() -> None:
    sizes = {name: (len(rows), max(len(figures) for _, figures in rows)) for name, rows in TABLES.items()}
    assert sizes == {
        "quora": (14, 6),
        "quora-more": (14, 6),
        "quora-human": (13, 4),
        "twitter-human": (8, 4),
        "twitter": (9, 3),
        "twitter-more": (9, 5),
        "anlg": (8, 4),
        "wmt18": (14, 3),
        "quora-contexts": (12, 6),
        "quora-weights": (4, 6),
    }
    assert "human" not in QUORA["Source"]  # the paper has a dash there


def test_ibleu_follows_from_bleu_and_novelty() -> None:
    for system, figures in MORE.items():
        bleu = QUORA[system]["bleu"]
        assert figures["ibleu"] == pytest.approx(0.9 * bleu - 0.1 * (100 - figures["novelty"]), abs=0.11)


def test_tables_of_the_same_outputs_agree() -> None:
    for system, figures in QUORA.items():
        assert MORE[system]["novelty"] == figures["novelty"]
    for system, figures in quoted("quora-human"):
        assert system == "RD 45" or QUORA[system]["human"] == figures["all-three"]
    main, more = dict(quoted("twitter")), dict(quoted("twitter-more"))
    differing = {
        (system, key) for system in main for key in ("sari", "novelty") if main[system][key] != more[system][key]
    }
    assert differing == {("RD 45", "sari"), ("CGMH 45", "novelty")}
    for system, figures in quoted("twitter-human"):
        assert main[system]["human"] == figures["all-three"]


def test_ablations_start_from_the_main_table() -> None:
    rows = {(system, figures["contexts"]): figures for system, figures in quoted("quora-contexts")}
    for system in SETTINGS:
        for key in ("sari", "bleu", "meteor", "terp", "novelty"):
            assert rows[system, 80][key] == QUORA[system][key]
    weights = [figures for _, figures in quoted("quora-weights")]
    assert weights[0] == rows["RD Top", 6]
    assert weights[3] == rows["RD Top", 40] | {"contexts": 10}  # the paper's slip, quoted as printed


def test_rows_of_a_report_are_marked_and_can_be_joined() -> None:
    rows = {row.name: row for row in quoted_rows("quora", "quora-more")}
    assert all(row.quoted and row.group.startswith(SOURCE) for row in rows.values())
    assert rows["DiPS"].group == f"{SOURCE}: supervised"
    assert rows["Source"].group == SOURCE
    assert rows["RD 30"].cells["sari"].value == 40.0
    assert rows["RD 30"].cells["ibleu"].value == 35.1
    assert "rouge1" not in {row.name: row for row in quoted_rows("quora")}["RD 30"].cells


def test_what_systems_learned_from_names_systems_that_exist() -> None:
    known = {system for rows in TABLES.values() for system, _ in rows}
    assert {system for systems in LEARNED_FROM.values() for system in systems} <= known


def test_a_table_that_is_not_quoted_is_answered_with_the_closest() -> None:
    with pytest.raises(SettingsError, match="did you mean 'twitter'"):
        quoted("twiter")
