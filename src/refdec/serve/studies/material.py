"""What a study is made of: the outputs of several systems for the same texts, read from files.

A file of outputs is what `refdec evaluate` writes, JSON lines with `id` and `output`, or a table with such columns. The
texts that the outputs belong to stand in one of these files, or in a file of the data set, which may have references
too. Knows nothing of raters and questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refdec.errors import InputError
from refdec.evaluate.experiments.outputs import read_outputs
from refdec.evaluate.experiments.selection import best, cutoff_for, top
from refdec.files.formats import format_of, read
from refdec.files.source import Source

REFERENCE = "reference"
"""The system whose outputs are the references of the data."""

ALIASES = {"left": "o1", "right": "o2"}
"""Fields by their names in the data set aNLG."""

Rows = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Item:
    """A text of the data and what each system made of it.

    Attributes:
        key: its id in the data
        context: what an output is rated beside, by the name of the field
        outputs: by the name of the system
    """

    key: str
    context: Mapping[str, str]
    outputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that raters could be asked about.

    Attributes:
        systems: names, in the order in which they were given
        items: those that all systems have an output for, in the order of the first file
        left_out: ids that some system has no output for
    """

    systems: tuple[str, ...]
    items: tuple[Item, ...]
    left_out: int


def read_material(fields: Iterable[str], named: Sequence[str], data: Path | None, references: bool = True) -> Material:
    """Read systems, each NAME=FILE, and the data; references of the data are one more system unless refused."""
    files = dict(_split(words) for words in named)
    if len(files) < len(named):
        raise InputError("Two systems have the same name. Give each NAME=FILE a name of its own.")
    if not files:
        raise InputError("A study needs at least one system: NAME=FILE.")
    tables: dict[str, Rows] = {name: _rows(Path(path)) for name, (path, _) in files.items()}
    outputs = {name: _outputs(tables[name], *files[name]) for name in files}
    rows = _rows(data) if data is not None else {}
    if data is not None and references and any("references" in row for row in rows.values()):
        if REFERENCE in outputs:
            raise InputError(
                f"{data} has references, and a system is called {REFERENCE!r}. Give it another name, or leave the "
                "references out with --no-references."
            )
        outputs[REFERENCE] = {key: _first_reference(data, key, row) for key, row in rows.items()}
    sources = {str(path): tables[name] for name, (path, _) in files.items()}
    contexts = _contexts(tuple(fields), {str(data): rows} if rows else sources)
    every = list(dict.fromkeys(key for texts in outputs.values() for key in texts))
    shared = [key for key in every if all(texts.get(key, "").strip() for texts in outputs.values())]
    if not shared:
        raise InputError(
            f"There is no id for which all of {', '.join(outputs)} have an output. Are the files about the same data?"
        )
    unknown = [key for key in shared if key not in contexts]
    if unknown:
        where = f"{data} has" if data is not None else "The files have"
        wanted = " and ".join(f'"{name}"' for name in fields)
        more = f" and {len(unknown) - 1:,} more ids" if len(unknown) > 1 else ""
        raise InputError(
            f"{where} no {wanted} for the id {unknown[0]!r}{more}. Name a file that has them with --data FILE, or "
            "choose the other task."
        )
    items = (
        Item(key, contexts[key], {name: _one_line(texts[key]) for name, texts in outputs.items()}) for key in shared
    )
    return Material(tuple(outputs), tuple(items), max(0, (len(rows) or len(every)) - len(shared)))


def _split(words: str) -> tuple[str, tuple[str, str]]:
    """NAME=FILE, or NAME=FILE@top or NAME=FILE@30 for files of ranked candidates."""
    name, equals, path = words.partition("=")
    if not equals or not name.strip() or not path.strip():
        raise InputError(f"{words!r} is not a system. Give each as NAME=FILE, such as rd=outputs.jsonl.")
    chosen = re.fullmatch(r"(.+)@(top|[0-9]+(?:[.][0-9]+)?)", path)
    if chosen and not Path(path).exists():
        return name.strip(), (chosen[1], chosen[2])
    return name.strip(), (path, "")


def _rows(path: Path) -> Rows:
    """The rows of a file by their ids."""
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    if path.suffix.lower() == ".jsonl" or ".jsonl." in path.name.lower():
        return _objects(path)
    return _keyed(path, path, format_of(path, None))


def _objects(path: Path) -> Rows:
    """JSON lines: outputs with all the checks of `refdec evaluate`, or rows of data."""
    rows = _keyed(path, path, "jsonl")
    if any("output" in row or "results" in row for row in rows.values()):
        return read_outputs(path)
    return rows


def _keyed(path: Path, source: Source, format: str) -> Rows:
    rows: dict[str, dict[str, Any]] = {}
    for row in read(source, format):
        if row.error:
            raise InputError(f"{path}, line {row.line}: {row.error}")
        key = "" if row.fields.get("id") is None else str(row.fields["id"]).strip()
        if not key:
            raise InputError(f'{path}, line {row.line}: there is no "id", by which systems are matched.')
        if key in rows:
            raise InputError(f"{path}, line {row.line}: the id {key!r} is there twice.")
        rows[key] = row.fields
    if not rows:
        raise InputError(f"{path} has no rows.")
    return rows


def _outputs(rows: Rows, path: str, choice: str) -> dict[str, str]:
    """The text of each row: its output, or one of its ranked candidates."""
    ranked = ["results" in row for row in rows.values()]
    if all(ranked):
        return _chosen(list(rows.values()), choice, list(rows))
    if any(ranked) or not any("output" in row for row in rows.values()):
        raise InputError(
            f'{path} must have "output" in its rows, or "results" in all of them. docs/data.md has the format of files '
            "of outputs."
        )
    if choice:
        raise InputError(f"{path} has one output per row, so there is nothing to choose by @{choice}. Leave it out.")
    return {key: str(row.get("output") or "") for key, row in rows.items()}


def _chosen(rows: list[Mapping[str, Any]], choice: str, keys: list[str]) -> dict[str, str]:
    """By the paper's protocol for paraphrases; of fillings the best-ranked."""
    given = [{"source": "", **row} for row in rows]
    if any({"novelty", "copy"} - item.keys() for row in given for item in row["results"]):
        return {
            key: str(row["results"][0]["text"]) if row["results"] else "" for key, row in zip(keys, given, strict=True)
        }
    if choice == "top":
        return {key: top(row) for key, row in zip(keys, given, strict=True)}
    cutoff = cutoff_for(given, float(choice)) if choice else 0.0
    return {key: best(row, cutoff) for key, row in zip(keys, given, strict=True)}


def _first_reference(path: Path, key: str, row: Mapping[str, Any]) -> str:
    references = row.get("references")
    if isinstance(references, str):
        return references
    if not isinstance(references, list) or not references or not isinstance(references[0], str):
        raise InputError(f"{path}: the row {key!r} has no list of references. Mend it, or give --no-references.")
    return references[0]


def _contexts(fields: tuple[str, ...], files: Mapping[str, Rows]) -> dict[str, dict[str, str]]:
    """What outputs are rated beside, by id. Two files that say different things of one id are refused."""
    contexts: dict[str, dict[str, str]] = {}
    for path, rows in files.items():
        for key, row in rows.items():
            texts = {name: row.get(name, row.get(ALIASES.get(name, name))) for name in fields}
            if not all(isinstance(text, str) and text.strip() for text in texts.values()):
                continue
            context = {name: _one_line(str(text)) for name, text in texts.items()}
            if contexts.setdefault(key, context) != context:
                raise InputError(
                    f"{path}: the text of the id {key!r} is another one than in a file before it. Systems are "
                    "compared on the same texts."
                )
    return contexts


def _one_line(text: str) -> str:
    return " ".join(text.split())
