"""A rating study before anybody rates, and its file: what is drawn, who gets what, and that no answer is lost."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import Counter
from dataclasses import fields
from datetime import date
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdec.errors import InputError, SettingsError
from refdec.evaluate.experiments.outputs import OutputFile
from refdec.files.lock import locked
from refdec.serve.studies.checks import make_checks, passed
from refdec.serve.studies.design import deal, order
from refdec.serve.studies.material import Item, read_material
from refdec.serve.studies.plan import make_plan
from refdec.serve.studies.questions import TASKS
from refdec.serve.studies.store import Form, Study
from tests.study_files import SOURCES, STORIES, make_material, rate, save, small_material, write_outputs

GOOD = {"fluency": 4, "consistency": 4, "novelty": 3}


@given(st.integers(1, 60), st.integers(1, 12), st.data(), st.integers(0, 99))
def test_raters_get_as_many_items_as_each_other_and_items_as_many_raters(
    items: int, raters: int, data: st.DataObject, seed: int
) -> None:
    per_item = data.draw(st.integers(1, raters))
    hands = deal(items, raters, per_item, Random(seed))
    sizes = [len(hand) for hand in hands]
    assert max(sizes) - min(sizes) <= 1
    assert Counter(item for hand in hands for item in hand) == dict.fromkeys(range(items), per_item)
    assert all(len(set(hand)) == len(hand) for hand in hands)


@pytest.mark.parametrize(("items", "raters", "per_item"), [(30, 6, 3), (200, 10, 3), (12, 4, 2), (21, 7, 3)])
def test_any_two_raters_share_about_as_many_items(items: int, raters: int, per_item: int) -> None:
    """On average items * per_item * (per_item - 1) / (raters * (raters - 1))."""
    mean = items * per_item * (per_item - 1) / (raters * (raters - 1))
    for seed in range(5):
        hands = [set(hand) for hand in deal(items, raters, per_item, Random(seed))]
        shared = [len(one & other) for one, other in itertools.combinations(hands, 2)]
        assert min(shared) >= mean - 2
        assert max(shared) <= mean + 2


def test_more_raters_per_item_than_raters_are_refused() -> None:
    with pytest.raises(SettingsError, match="Each item is to have 3 raters, and there are 2"):
        deal(5, 2, 3, Random(0))


def test_every_rater_rates_all_systems_of_an_item_in_an_order_of_their_own() -> None:
    plan = make_plan(TASKS["paraphrase"], make_material(12, "abc"), ["x", "y", "z"], 12, 2, 3, 0)
    first_systems: Counter[tuple[str, ...]] = Counter()
    for forms in plan.forms:
        texts = [plan.texts[place] for place in forms]
        rated = [text for text in texts if text.check is None]
        groups = [list(group) for _, group in itertools.groupby(rated, key=lambda text: text.item.key)]
        assert all({text.systems for text in group} == {("a",), ("b",), ("c",)} for group in groups)
        assert len({group[0].item.key for group in groups}) == len(groups) == 8
        first_systems.update(group[0].systems for group in groups)
        assert sum(text.check is not None for text in texts) == 3
        assert texts[0].check is None
    assert len(first_systems) == 3
    assert len({tuple(plan.texts[place].item.key for place in forms) for forms in plan.forms}) == 3


def test_checks_are_spread_and_never_come_first() -> None:
    for seed in range(50):
        ordered = order([0, 1, 2, 3], [[0, 1], [2, 3], [4, 5], [6, 7]], [8, 9], Random(seed))
        first, second = sorted(ordered.index(check) for check in (8, 9))
        assert 1 <= first <= 4
        assert 5 <= second <= 9
        assert sorted(ordered) == list(range(10))


def test_one_seed_gives_one_study_and_another_seed_another() -> None:
    def forms(seed: int) -> list[list[str]]:
        plan = make_plan(TASKS["paraphrase"], make_material(20, "ab"), ["x", "y"], 10, 1, None, seed)
        return [[plan.texts[place].words for place in row] for row in plan.forms]

    assert forms(1) == forms(1)
    assert forms(1) != forms(2)


def test_a_text_of_two_systems_is_rated_once_for_both(tmp_path: Path) -> None:
    same = Item("i", {"source": "It rained."}, {"a": "It was wet.", "b": "It was wet.", "c": "Rain fell."})
    material = make_material(0, "abc")
    material = type(material)(material.systems, (same,), 0)
    plan = save(tmp_path / "s.db", material, ["x"])
    assert [text.systems for text in plan.texts if text.check is None] == [("a", "b"), ("c",)]
    with Study(tmp_path / "s.db") as study:
        rate(study, lambda *_: GOOD)
        assert [item.systems for item in study.ratings() if item.expected is None and "wet" in item.words] == [
            ("a", "b")
        ]


@pytest.mark.parametrize("name", TASKS)
def test_who_always_gives_one_answer_fails_the_checks(name: str, tmp_path: Path) -> None:
    write_outputs(tmp_path)
    task = TASKS[name]
    file = "mt=mt.csv" if name == "paraphrase" else "rd=fillings.jsonl"
    data = tmp_path / "originals.jsonl" if name == "paraphrase" else None
    material = read_material(task.fields, [file.replace("=", f"={tmp_path}/")], data)
    checks = make_checks(task, material.items, 2, Random(0))
    for answer in (1, 2, 3, 4):
        always = {question.name: answer for question in task.questions}
        assert not all(passed(check.right, always) for check in checks)
    read = [{question.name: check.right.get(question.name, (2,))[0] for question in task.questions} for check in checks]
    assert all(passed(check.right, answers) for check, answers in zip(checks, read, strict=True))


def test_unrelated_checks_have_nothing_to_do_with_their_source() -> None:
    sources = ["Cats sleep a lot.", "Do cats sleep a lot?", "Where is Rome?"]
    items = [Item(str(number), {"source": text}, {}) for number, text in enumerate(sources)]
    check = make_checks(TASKS["paraphrase"], items[:1] + items[:1] + items[1:], 2, Random(0))[1]
    assert check.item is items[0]
    assert check.text not in sources[:2]


def test_material_is_matched_by_id_and_knows_its_references(tmp_path: Path) -> None:
    material = small_material(tmp_path)
    assert material.systems == ("rd", "mt", "reference")
    assert [item.context["source"] for item in material.items] == list(SOURCES)
    assert all(item.outputs["rd"] == f"Put otherwise, {item.context['source']}" for item in material.items)
    without = read_material(["source"], [f"rd={tmp_path / 'rd.jsonl'}"], tmp_path / "originals.jsonl", references=False)
    assert without.systems == ("rd",)


def test_items_without_an_output_of_every_system_are_left_out_and_counted(tmp_path: Path) -> None:
    write_outputs(tmp_path)
    lines = (tmp_path / "rd.jsonl").read_text().splitlines()
    (tmp_path / "rd.jsonl").write_text("\n".join([*lines[:3], '{"id": "q3", "output": " "}']) + "\n")
    material = read_material(["source"], [f"rd={tmp_path / 'rd.jsonl'}"], tmp_path / "originals.jsonl")
    assert [item.key for item in material.items] == ["q0", "q1", "q2"]
    assert material.left_out == 5


def test_ranked_candidates_are_chosen_as_the_paper_does(tmp_path: Path) -> None:
    def result(text: str, novelty: float, copy: bool = False) -> dict[str, object]:
        return {"text": text, "novelty": novelty, "copy": copy, "score": -1.0}

    source = "It rained all night in the old town."
    near, far = "It rained all night in the town.", "Rain fell until the morning."
    ranked = [result(source, 0, copy=True), result(near, 30), result(far, 100)]
    path = tmp_path / "rd.jsonl"
    path.write_text(json.dumps({"id": "a", "source": source, "results": ranked}) + "\n")

    def chosen(words: str) -> str:
        return read_material(["source"], [words], None).items[0].outputs["rd"]

    assert chosen(f"rd={path}") == near
    assert chosen(f"rd={path}@top") == source
    assert chosen(f"rd={path}@90") == far


def test_files_of_the_experiments_are_read_as_they_are(tmp_path: Path) -> None:
    small_material(tmp_path)
    path = tmp_path / "grown.jsonl"
    with OutputFile(path, "refdec:0|made:up", [f"q{number}" for number in range(8)]) as file:
        for number, text in enumerate(SOURCES):
            results = [{"text": text.upper(), "novelty": 50.0, "copy": False, "score": 0.1, "relative": -1.0}]
            file.append({"id": f"q{number}", "source": text, "results": results})
    material = read_material(["source"], [f"rd={path}", f"mt={tmp_path / 'mt.csv'}"], None)
    assert [item.outputs["rd"] for item in material.items] == [text.upper() for text in SOURCES]


def test_stories_have_a_beginning_and_an_end(tmp_path: Path) -> None:
    write_outputs(tmp_path)
    material = read_material(["left", "right"], [f"rd={tmp_path / 'fillings.jsonl'}"], None)
    assert dict(material.items[0].context) == {"left": STORIES[0][0], "right": STORIES[0][1]}
    (tmp_path / "anlg.jsonl").write_text('{"id": "s0", "o1": "A.", "o2": "B.", "references": ["C.", "D."]}\n')
    (tmp_path / "plain.jsonl").write_text('{"id": "s0", "output": "E."}\n')
    material = read_material(["left", "right"], [f"rd={tmp_path / 'plain.jsonl'}"], tmp_path / "anlg.jsonl")
    assert material.items == (Item("s0", {"left": "A.", "right": "B."}, {"rd": "E.", "reference": "C."}),)


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        ("rd", "'rd' is not a system"),
        ("=rd.jsonl", "is not a system"),
        ("rd=none.jsonl", "There is no file"),
        ("rd=rd.jsonl rd=mt.csv", "Two systems have the same name"),
        ("reference=rd.jsonl", "has references, and a system is called 'reference'"),
        ("rd=other.jsonl", "There is no id for which all of"),
        ("rd=rd.jsonl@30", "nothing to choose by @30"),
        ("rd=empty.csv", "has no rows"),
        ("rd=twice.csv", "the id '1' is there twice"),
        ("rd=unnamed.csv", 'there is no "id"'),
        ("rd=silent.csv", 'must have "output"'),
        ("rd=mixed.jsonl", 'must have "output"'),
        ("rd=rd.jsonl@1.2.3", "There is no file"),
        ("rd=page.html", "The format of"),
    ],
)
def test_files_that_make_no_study_are_refused(systems: str, message: str, tmp_path: Path) -> None:
    write_outputs(tmp_path)
    for name, content in {
        "other.jsonl": '{"id": "z", "output": "A."}\n',
        "empty.csv": "id,output\n",
        "twice.csv": "id,output\n1,a\n1,b\n",
        "unnamed.csv": "name,output\n1,a\n",
        "silent.csv": "id,text\n1,a\n",
        "page.html": "<p>",
        "mixed.jsonl": '{"id": "a", "output": "A."}\n{"id": "b", "results": []}\n',
    }.items():
        (tmp_path / name).write_text(content)
    named = [words.replace("=", f"={tmp_path}/") if words.partition("=")[0] else words for words in systems.split()]
    with pytest.raises(InputError, match=message):
        read_material(["source"], named, tmp_path / "originals.jsonl")


def test_outputs_of_different_sources_are_not_compared(tmp_path: Path) -> None:
    for name, source in (("a", "It rained."), ("b", "It snowed.")):
        (tmp_path / f"{name}.csv").write_text(f"id,source,output\n1,{source},Wet.\n")
    with pytest.raises(InputError, match="is another one than in a file before it"):
        read_material(["source"], [f"{name}={tmp_path / name}.csv" for name in "ab"], None)
    with pytest.raises(InputError, match='have no "left" and "right" for the id \'1\''):
        read_material(["left", "right"], [f"a={tmp_path / 'a.csv'}"], None)


@pytest.mark.parametrize(("items", "raters"), [(0, ["x"]), (9, ["x"]), (2, ["x", "x"]), (2, ["x", " "])])
def test_a_plan_that_cannot_be_is_refused(items: int, raters: list[str]) -> None:
    with pytest.raises(SettingsError):
        make_plan(TASKS["paraphrase"], make_material(8, "ab"), raters, items, 1, None, 0)


def test_nobody_is_left_without_work() -> None:
    with pytest.raises(SettingsError, match="5 raters are too many for 2 items with 2 raters each"):
        make_plan(TASKS["paraphrase"], make_material(2, "ab"), list("vwxyz"), 2, 2, None, 0)


def test_a_form_names_no_system_and_does_not_tell_a_check(tmp_path: Path) -> None:
    save(tmp_path / "s.db", small_material(tmp_path))
    with Study(tmp_path / "s.db") as study:
        assert isinstance(study.form(1, 1), Form)
    assert [item.name for item in fields(Form)] == ["place", "total", "context", "words", "answers"]


def test_answers_are_kept_once_can_be_changed_and_show_where_to_go_on(tmp_path: Path) -> None:
    save(tmp_path / "s.db", small_material(tmp_path))
    with Study(tmp_path / "s.db") as study:
        assert study.first_open(1) == 1
        study.answer(1, 1, GOOD)
        (before,) = study.ratings()
        study.answer(1, 1, GOOD)
        assert list(study.ratings()) == [before]
        study.answer(1, 1, GOOD | {"novelty": 1})
        (after,) = study.ratings()
        assert after.answers == GOOD | {"novelty": 1}
        study.answer(1, 2, GOOD)
        assert (study.first_open(1), study.first_open(2)) == (3, 1)
    with Study(tmp_path / "s.db") as study:
        assert study.first_open(1) == 3
        form = study.form(1, 1)
        assert form is not None
        assert form.answers == GOOD | {"novelty": 1}
        assert [(rater.name, rater.done) for rater in study.progress()] == [("ann", 2), ("ben", 0)]


@pytest.mark.parametrize("wrong", [{}, {"fluency": 4}, GOOD | {"novelty": 5}, GOOD | {"novelty": 0}])
def test_half_an_answer_is_not_kept(wrong: dict[str, int], tmp_path: Path) -> None:
    save(tmp_path / "s.db", small_material(tmp_path))
    with Study(tmp_path / "s.db") as study:
        with pytest.raises(InputError, match="Choose one of the 4 answers"):
            study.answer(1, 1, wrong)
        with pytest.raises(sqlite3.IntegrityError):
            study.answer(1, 999, GOOD)  # no such form
        assert list(study.ratings()) == []


def test_every_commit_goes_to_the_disk(tmp_path: Path) -> None:
    save(tmp_path / "s.db", small_material(tmp_path))
    with Study(tmp_path / "s.db") as study:
        assert study._database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert study._database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_a_study_has_a_last_day_that_can_be_moved(tmp_path: Path) -> None:
    save(tmp_path / "s.db", small_material(tmp_path), closes=date(2020, 1, 1))
    with Study(tmp_path / "s.db") as study:
        assert study.closed
        study.close_after(date(2999, 1, 1))
        assert not study.closed
        study.close_after(None)
        assert study.closes is None
        assert not study.closed


def test_a_new_study_does_not_meet_the_log_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    save(path, small_material(tmp_path))
    log = path.with_name("s.db-wal")
    study = Study(path)
    study.answer(1, 1, GOOD)
    left_behind = log.read_bytes()
    study.close()
    log.write_bytes(left_behind)  # as a kill would leave it
    save(path, small_material(tmp_path), seed=1)
    with Study(path) as study:
        assert list(study.ratings()) == []


def test_a_study_that_is_served_is_not_replaced(tmp_path: Path) -> None:
    save(tmp_path / "s.db", small_material(tmp_path))
    with locked(tmp_path / "s.db"), pytest.raises(InputError, match="in use"):
        save(tmp_path / "s.db", small_material(tmp_path))


def test_what_is_no_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no study"):
        Study(tmp_path / "none.db")
    (tmp_path / "text.db").write_text("This is a text and no database at all.")
    (tmp_path / "empty.db").touch()
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (a)").connection.close()
    for name in ("text", "empty", "other"):
        with pytest.raises(InputError, match="is not a study"):
            Study(tmp_path / f"{name}.db")
    save(tmp_path / "s.db", small_material(tmp_path))
    with sqlite3.connect(tmp_path / "s.db") as database:
        database.execute("UPDATE study SET value = 99 WHERE name = 'format'")
    with pytest.raises(InputError, match="in format 99"):
        Study(tmp_path / "s.db")
