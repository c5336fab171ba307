"""The answers of a study as a table: a row for each rater, text and system."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from refdec.files.formats import writer
from refdec.files.row import Column
from refdec.files.whole import replace_synced, writing
from refdec.files.writer import Sink
from refdec.serve.studies.questions import COMBINED
from refdec.serve.studies.store import Study


def export_answers(path: Path, format: str, study: Study) -> int:
    """Write a file of all answers so far in one step; how many rows it has."""
    target = Path(os.path.realpath(path))
    part = target.with_name(f".refdec-{secrets.token_hex(8)}{''.join(target.suffixes)}")
    with writing(path):
        try:
            count = write_answers(part, format, study)
            replace_synced(part, target)
        finally:
            part.unlink(missing_ok=True)
    return count


def write_answers(sink: Sink, format: str, study: Study) -> int:
    """Write all answers so far; how many rows there are. Attention checks have no system, but whether they passed."""
    columns = _columns(study)
    texts = [column.name for column in columns if column.kind == "text"]  # a spreadsheet must not run them
    count = 0
    with writer(sink, format, columns, guard=texts) as table:
        for row in _rows(study):
            table.write(row)
            count += 1
    return count


def _columns(study: Study) -> list[Column]:
    questions = [Column(question.name, "integer") for question in study.task.questions]
    combined = [Column(COMBINED, "boolean")] if study.task.combined else []
    return [
        Column("rater", "text"),
        Column("id", "text"),
        Column("system", "text"),
        *(Column(name, "text") for name in study.task.fields),
        Column("output", "text"),
        *questions,
        *combined,
        Column("check", "boolean"),
        Column("passed", "boolean"),
        Column("at", "text"),
    ]


def _rows(study: Study) -> Iterator[dict[str, Any]]:
    for rating in study.ratings():
        met = all(question.met(rating.answers[question.name]) for question in study.task.questions)
        for system in rating.systems or (None,):
            yield {
                "rater": rating.rater,
                "id": rating.item,
                "system": system,
                **rating.context,
                "output": rating.words,
                **rating.answers,
                **({COMBINED: met} if study.task.combined else {}),
                "check": rating.expected is not None,
                "passed": rating.passed,
                "at": rating.at,
            }
