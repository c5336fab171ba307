"""Small rating studies: files of outputs, the study made from them, and raters who answer by rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from refdec.serve.studies.material import Item, Material, read_material
from refdec.serve.studies.plan import Plan, make_plan
from refdec.serve.studies.questions import TASKS
from refdec.serve.studies.store import Study, create_study

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

Answering = Callable[[str, Sequence[str]], Mapping[str, int]]
"""The answers of a rater, from the text and the systems that it is of."""


def write_outputs(folder: Path) -> None:
    """Write questions.jsonl, which has references, and outputs of two systems, rd.jsonl and mt.csv."""
    rows = list(enumerate(zip(SOURCES, REWORDED, strict=True)))
    lines: dict[str, list[dict[str, Any]]] = {
        "questions.jsonl": [
            {"id": f"q{number}", "source": text, "references": [other]} for number, (text, other) in rows
        ],
        "rd.jsonl": [{"id": f"q{number}", "output": f"Put otherwise, {text}"} for number, (text, _) in rows],
        "fillings.jsonl": [
            {"id": f"s{number}", "left": left, "right": right, "output": middle}
            for number, (left, right, middle) in enumerate(STORIES)
        ],
    }
    for name, objects in lines.items():
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in objects))
    table = [f'q{number},"{text.replace("the", "a")}"' for number, (text, _) in rows]
    (folder / "mt.csv").write_text("\n".join(["id,output", *table]) + "\n")


def small_material(folder: Path) -> Material:
    write_outputs(folder)
    files = [f"rd={folder / 'rd.jsonl'}", f"mt={folder / 'mt.csv'}"]
    return read_material(["source"], files, folder / "questions.jsonl")


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
    create_study(path, plan, "A small study", closes, {"seed": str(seed)}, force=True)
    return plan


def rate(study: Study, answering: Answering, raters: Sequence[str] | None = None) -> None:
    """Let raters fill in all their forms; checks are answered rightly."""
    for rater in study.progress():
        if raters is not None and rater.name not in raters:
            continue
        for place in range(1, rater.total + 1):
            form = study.form(rater.id, place)
            assert form is not None
            systems, right = _secret(study, rater.id, place)
            answers = dict(answering(form.words, systems))
            study.answer(rater.id, place, answers | {name: values[0] for name, values in right.items()})


def write_rated_study(path: Path) -> None:
    """A finished study: three raters, of whom one knows better than to agree with the others on every text."""
    material = small_material(path.parent)
    save(path, material, ("ann", "ben", "cy"))
    with Study(path) as study:
        rate(study, _usual)
        rate(study, lambda words, systems: {**_usual(words, systems), "novelty": 1 + len(words) % 4}, ["cy"])


def _usual(words: str, systems: Sequence[str]) -> dict[str, int]:
    fluency = 4 if "reference" in systems else 3 - len(words) % 2
    return {"fluency": fluency, "consistency": 4 if "mt" in systems else 3, "novelty": 2 if "rd" in systems else 3}


def _secret(study: Study, rater: int, place: int) -> tuple[list[str], dict[str, list[int]]]:
    """What a rater does not see: the systems of a text, and the right answers of a check."""
    ask = study._database.execute
    text, expected = ask(
        "SELECT text.id, expected FROM form JOIN text ON text.id = form.text WHERE rater = ? AND place = ?",
        (rater, place),
    ).fetchone()
    systems = [name for (name,) in ask("SELECT system FROM output WHERE text = ?", (text,))]
    return systems, json.loads(expected or "{}")
