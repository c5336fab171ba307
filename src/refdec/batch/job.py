"""A job: the task for every row of a table, its settings, its models, and the columns it reads and adds.

Plain data that travels to other processes and machines, and that a manifest can compare with another job.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refdec.batch.item import Item, digest
from refdec.batch.row_tasks import RowTask, task_named
from refdec.errors import InputError, SettingsError
from refdec.files.row import Column, Row
from refdec.lm.examples import have_examples
from refdec.settings import FingerprintSettings, resolve
from refdec.tasks import arguments
from refdec.tasks.choice import Wanted
from refdec.tasks.constraints import NONE, Constraints
from refdec.tasks.fingerprint import Fingerprint

if TYPE_CHECKING:
    from refdec.tasks.reflector import Reflector

BEST = Wanted(top=1)
ERROR = Column("error", "text")
RESULT = Column("result", "json")


@dataclass(frozen=True, slots=True)
class Models:
    """The models by name, as load_pair takes them, so that every machine can load them."""

    forward: str | None = None
    backward: str | None = None
    device: str | None = None
    precision: str | None = None
    examples: str | None = None

    def load(self) -> Reflector:
        from refdec.lm.pair import load_pair
        from refdec.tasks.reflector import Reflector

        names, others = (self.forward, self.backward), {"device": self.device, "precision": self.precision}
        return Reflector(load_pair(*names, **others, examples=self.examples))


EMBEDDED = Models()


@dataclass(frozen=True)
class Job:
    """One task for all rows."""

    task: str
    settings: FingerprintSettings
    columns: tuple[str, ...]  # whose texts it reads
    wanted: Wanted = BEST
    constraints: Constraints = NONE
    fingerprint: Fingerprint | None = None
    full: bool = False  # whether the whole result gets a column, too
    prefix: str = ""  # in front of the names of new columns
    models: Models = EMBEDDED

    def __post_init__(self) -> None:
        if self.constraints and self.task == "score":
            raise SettingsError(
                "score writes no text, so there are no words to keep or to avoid. Leave these options out."
            )
        if self.fingerprint is not None and self.task != "score":
            raise InputError(
                "A fingerprint describes one text, so only score takes one for a whole file. Leave it out."
            )

    @classmethod
    def make(
        cls,
        task: str,
        settings: FingerprintSettings | str | None = None,
        *,
        there: Sequence[str],
        device: str,
        column: str | Sequence[str] = (),
        wanted: Wanted = BEST,
        constraints: Constraints = NONE,
        fingerprint: Fingerprint | None = None,
        full: bool = False,
        prefix: str = "",
        models: Models = EMBEDDED,
        examples: bool | None = None,
        **changes: Any,
    ) -> Job:
        """A job with the defaults for these columns and this device where nothing else was asked for.

        `examples` says whether the pair has examples of rewording; by default the models tell by their names.
        """
        kind = task_named(task)
        known = None if fingerprint is None else fingerprint.settings
        examples = have_examples(models.forward, models.examples) if examples is None else examples
        named = (column,) if isinstance(column, str) else tuple(column)
        return cls(
            task=task,
            settings=resolve(kind.settings_kind, settings, changes, device, known, examples),
            columns=choose_columns(kind, named, tuple(there), fingerprint is not None),
            wanted=wanted,
            constraints=arguments.constraints(constraints),
            fingerprint=fingerprint,
            full=full,
            prefix=prefix,
            models=models,
        )

    @property
    def kind(self) -> type[RowTask[Any]]:
        return task_named(self.task)

    @property
    def adds(self) -> tuple[Column, ...]:
        """The new columns, the error last."""
        return (*self.kind.adds(self.wanted.top), *([RESULT] if self.full else []), ERROR)

    def table(self, carried: Sequence[Column]) -> tuple[Column, ...]:
        """The columns of a table with the new ones, whose names must not be taken."""
        added = tuple(Column(self.prefix + column.name, column.kind) for column in self.adds)
        names = {column.name for column in carried}
        for column in added:
            if column.name in names:
                raise InputError(
                    f"The input has a column {column.name!r} already, which a new one would replace. Give new columns "
                    "another name with a prefix, such as rd_."
                )
        return (*carried, *added)

    def cells(self, fields: dict[str, Any], error: str) -> dict[str, Any]:
        """The new cells of a row, by the names of their columns."""
        cells = fields | {ERROR.name: error or None}
        return {self.prefix + column.name: cells.get(column.name) for column in self.adds}

    def item(self, row: Row) -> Item:
        """The texts of a row that the task reads, or what is wrong with the row."""
        if row.error:
            return Item(row.number, row.line, digest((row.error,)), error=row.error)
        texts = []
        for name in self.columns:
            text, problem = _text(row, name)
            if problem:
                return Item(row.number, row.line, digest((repr(row.fields.get(name)), problem)), error=problem)
            texts.append(text)
        return Item(row.number, row.line, digest(texts), tuple(texts))

    def describe(self) -> dict[str, Any]:
        """What must be the same for all rows of an output, as JSON. Models are compared by their signatures."""
        return {
            "task": self.task,
            "settings": dict(self.settings.items()),
            "columns": list(self.columns),
            **dataclasses.asdict(self.wanted),
            "constraints": self.constraints.describe() if self.constraints else "",
            "fingerprint": "" if self.fingerprint is None else self.fingerprint.to_dict()["sha256"],
            "full": self.full,
            "prefix": self.prefix,
        }


def _text(row: Row, name: str) -> tuple[str, str]:
    """The text in a cell, or what is wrong with it."""
    if name not in row.fields:
        return "", f"There is no column {name!r} in this row."
    cell = row.fields[name]
    if cell is None:
        return "", f"The cell in column {name!r} is empty."
    if not isinstance(cell, str):
        return "", f"The cell in column {name!r} is no text but {type(cell).__name__}."
    try:
        cell.encode()
    except UnicodeEncodeError as error:
        place = f"Character {error.start + 1:,} of the text in column {name!r}"
        return "", f"{place} is half of a surrogate pair. Was the text in another encoding?"
    return cell, ""


def choose_columns(
    kind: type[RowTask[Any]], given: tuple[str, ...], there: tuple[str, ...], known: bool
) -> tuple[str, ...]:
    """The columns that a task reads: those that were named, or the first set of its columns that the table has.

    `known` is whether a fingerprint stands for the reference, so that only candidates are read.
    """
    reads = (("candidate",), ("text",)) if known else kind.reads
    if given:
        missing = [name for name in given if name not in there]
        if missing:
            raise InputError(f"There is no column {missing[0]!r} in the input. It has {_listed(there)}.")
        if len(given) not in map(len, reads):
            raise InputError(
                f"{len(given)} columns were named. Name {' or '.join(map(_listed, reads))}, in that order."
            )
        return given
    for names in reads:
        if all(name in there for name in names):
            return names
    if len(there) == 1 and len(reads[-1]) == 1:
        return there
    needed = " or ".join(map(_listed, reads))
    raise InputError(f"The input has {_listed(there)}, and {needed} is needed. Name your columns with --column.")


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return "no columns"
    return ("column " if len(names) == 1 else "columns ") + ", ".join(names)
