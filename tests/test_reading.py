"""The blind reading: the sheet gives nothing away, the seed decides, and the table's arithmetic is right."""

from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks.reading import draw, figures, judged, wilson

from refdec import InputError

WANTED = {"news": 3, "encyclopedia": 2, "questions": 3}
IDS = [f"{kind}-{number}" for kind in ("mrpc", "asset", "quora") for number in range(5)]


def _outputs(system: str, **changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": name,
            "source": f"Source {number}.",
            "references": [f"Human {number}."],
            "results": [{"text": f"{system} {number}.", "copy": False, "cost": 0.0, **changes}],
        }
        for number, name in enumerate(IDS)
    ]


OURS, ALONE = _outputs("One"), _outputs("Two")


def test_the_sheet_is_blind_and_the_key_says_whose_each_item_is() -> None:
    sheet, key, drawn = draw(OURS, ALONE, WANTED, seed=1)
    assert all(row.keys() == {"item", "source", "text"} for row in sheet)
    assert not any(name in json.dumps(sheet) for name in IDS)
    assert len(sheet) == 3 * len(drawn) == 24
    starts = {"ours": "One", "contexts": "Two", "reference": "Human"}
    for shown, hidden in zip(sheet, key, strict=True):
        assert shown["item"] == hidden["item"]
        number = IDS.index(hidden["row"])
        assert (shown["source"], shown["text"]) == (f"Source {number}.", f"{starts[hidden['system']]} {number}.")
    order = [row["system"] for row in key]
    assert any(order[place : place + 3] != order[:3] for place in range(3, 24, 3))


def test_the_seed_decides_which_rows_are_drawn() -> None:
    assert draw(OURS, ALONE, WANTED, seed=1) == draw(OURS[::-1], ALONE, WANTED, seed=1)
    assert draw(OURS, ALONE, WANTED, seed=1) != draw(OURS, ALONE, WANTED, seed=2)
    with pytest.raises(InputError, match="5 rows of the kind news and 6"):
        draw(OURS, ALONE, {"news": 6}, seed=1)


def test_a_row_without_a_good_result_is_drawn_and_counted() -> None:
    sheet, key, drawn = draw(_outputs("One", cost=5.0), ALONE, WANTED, seed=1)
    assert len(sheet) == 16
    assert "ours" not in {row["system"] for row in key}
    assert len(drawn) == 8


def test_the_table_counts_verdicts_by_group_and_system() -> None:
    key = [{"item": f"item-{number}", "row": f"mrpc-{number}", "system": "ours"} for number in range(4)]
    said = ("same", "nearly", "broken", "different")
    rows = judged(key, [{"item": f"item-{number}", "verdict": verdict} for number, verdict in enumerate(said)])
    (ours,) = figures(rows, [{"row": f"mrpc-{number}"} for number in range(6)])["sentences"].values()
    assert [ours[verdict] for verdict in said] == [1, 1, 1, 1]
    assert ours["without"] == 2
    assert ours["kept"] == [50.0, 15.0, 85.0]
    assert ours["changed"][0] == 25.0


def test_intervals_are_wilsons() -> None:
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)  # square / (count + square)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert wilson(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        ([], "1 items have no verdict"),
        ([{"item": "item-9", "verdict": "same"}], "no item of this sheet"),
        ([{"item": "item-1", "verdict": "fine"}], "must be same"),
        ([{"item": "item-1", "verdict": "same"}] * 2, "two verdicts"),
    ],
)
def test_verdicts_that_do_not_fit_the_sheet_are_refused(verdicts: list[dict[str, str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        judged([{"item": "item-1", "row": "mrpc-1", "system": "ours"}], verdicts)
