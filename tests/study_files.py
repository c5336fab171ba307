"""Small rating studies: files of outputs, the study made from them, and raters who answer by rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from refdec.serve.studies.app import studies_app
from refdec.serve.studies.material import Item, Material, read_material
from refdec.serve.studies.plan import Plan, make_plan
from refdec.serve.studies.questions import TASKS
from refdec.serve.studies.store import Study, create_study
from tests.serving import listening

SOURCES = (
    "The library closes early on Fridays because few people come.",
    "How do I learn to sail?",
    "Why do people sing?",
    "Is it far to the station?",
    "The council did not approve the plan.",
    "We left the house before it rained.",
    "Nobody knew where the keys were.",
    "The train was late again this morning.",
)
REWORDED = (
    "On Fridays the library shuts early, as it has few visitors.",
    "What is a good way to learn sailing?",
    "What makes people sing?",
    "Is the station a long way off?",
    "The plan was turned down by the council.",
    "We were out of the house before the rain came.",
    "No one could say where the keys had gone.",
    "This morning's train came late once more.",
)
STORIES = (
    ("Tom left his umbrella at home.", "He arrived at work soaking wet.", "It began to rain on his way."),
    ("Mia set sail at noon.", "She swam home.", "A wave turned her boat over."),
    ("Ann baked a cake.", "The kitchen was full of smoke.", "She forgot it in the oven."),
)


def _lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


OUTPUT_FILES = {
    "originals.jsonl": _lines(
        {"id": f"q{number}", "source": text, "references": [other]}
        for number, (text, other) in enumerate(zip(SOURCES, REWORDED, strict=True))
    ),
    "rd.jsonl": _lines({"id": f"q{number}", "output": f"Put otherwise, {text}"} for number, text in enumerate(SOURCES)),
    "mt.csv": "".join(
        ["id,output\n", *(f'q{number},"{text.replace("the", "a")}"\n' for number, text in enumerate(SOURCES))]
    ),
    "fillings.jsonl": _lines(
        {"id": f"s{number}", "left": left, "right": right, "output": middle}
        for number, (left, right, middle) in enumerate(STORIES)
    ),
}
"""Texts with references, the outputs of two systems for them, and fillings of stories."""

GOOD = {"fluency": "4", "consistency": "4", "novelty": "3"}
"""A form about a paraphrase, as a browser sends it."""

Answering = Callable[[str, Sequence[str]], Mapping[str, int]]
"""The answers of a rater, from the text and the systems that it is of."""


def write_outputs(folder: Path) -> None:
    """Write originals.jsonl, which has references, outputs of two systems, rd.jsonl and mt.csv, and fillings.jsonl."""
    for name, content in OUTPUT_FILES.items():
        (folder / name).write_text(content)


def small_material(folder: Path) -> Material:
    write_outputs(folder)
    files = [f"rd={folder / 'rd.jsonl'}", f"mt={folder / 'mt.csv'}"]
    return read_material(["source"], files, folder / "originals.jsonl")


def make_material(items: int, systems: Sequence[str]) -> Material:
    """Any number of items; every output is a text of its own."""
    made = [
        Item(f"i{number}", {"source": f"Source {number}."}, {name: f"Text {number} of {name}." for name in systems})
        for number in range(items)
    ]
    return Material(tuple(systems), tuple(made), 0)


def save(
    path: Path,
    material: Material,
    raters: Sequence[str] = ("ann", "ben"),
    items: int | None = None,
    per_item: int | None = None,
    checks: int | None = None,
    closes: date | None = None,
    task: str = "paraphrase",
    seed: int = 0,
) -> Plan:
    """Write the file of a study, and give its plan."""
    count = len(material.items) if items is None else items
    plan = make_plan(TASKS[task], material, raters, count, per_item or len(raters), checks, seed)
    create_study(path, plan, "A small study", closes, "a test", force=True)
    return plan


def rate(study: Study, answering: Answering, raters: Sequence[str] | None = None) -> None:
    """Let raters fill in all their forms; they answer checks rightly."""
    for rater in study.progress():
        if raters is not None and rater.name not in raters:
            continue
        for place in range(1, rater.total + 1):
            form = study.form(rater.id, place)
            assert form is not None
            systems, right = _secret(study, rater.id, place)
            answers = dict.fromkeys((question.name for question in study.task.questions), 2)
            answers |= {name: values[0] for name, values in right.items()} if right else answering(form.words, systems)
            study.answer(rater.id, place, answers)


@contextmanager
def served_in_a_thread(study: Study) -> Iterator[str]:
    """The address of a server in this process."""
    with listening(studies_app([study])) as (host, port):
        yield f"http://{host}:{port}"


def write_rated_study(path: Path) -> None:
    """A finished study of three systems by four raters, of whom one does not read."""
    systems = ("rd", "mt", "reference")
    save(path, make_material(40, systems), ("ann", "ben", "cy", "di"), per_item=3)
    with Study(path) as study:
        for name in ("ann", "ben", "cy"):
            rate(study, partial(_reader, name), [name])
        for rater in study.progress():
            if rater.name == "di":
                for place in range(1, rater.total + 1):
                    study.answer(rater.id, place, {"fluency": 4, "consistency": 4, "novelty": 4})


def _reader(rater: str, words: str, systems: Sequence[str]) -> dict[str, int]:
    """The answers of a person who reads: of one mind with the others about a text, but for a whim now and then."""
    (system,) = systems
    text = Random(words)
    usual = {
        "rd": (4, text.choice((4, 3, 3, 2)), text.choice((3, 2, 2))),
        "mt": (text.choice((4, 3)), 4, text.choice((2, 1))),
        "reference": (4, text.choice((4, 3)), text.choice((4, 3))),
    }[system]
    whims = Random(f"{rater} {words}")
    answers = [max(1, answer - 1) if whims.random() < 0.15 else answer for answer in usual]
    return dict(zip(("fluency", "consistency", "novelty"), answers, strict=True))


def _secret(study: Study, rater: int, place: int) -> tuple[list[str], dict[str, list[int]]]:
    """What a rater does not see: the systems of a text, and the right answers of a check."""
    ask = study._database.execute
    text, expected = ask(
        "SELECT text.id, expected FROM form JOIN text ON text.id = form.text WHERE rater = ? AND place = ?",
        (rater, place),
    ).fetchone()
    systems = [name for (name,) in ask("SELECT system FROM output WHERE text = ?", (text,))]
    return systems, json.loads(expected or "{}")
