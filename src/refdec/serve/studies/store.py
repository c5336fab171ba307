"""The file of a study: one SQLite database with its texts, forms and answers.

An answer is on the disk before it is acknowledged (write-ahead log, synchronous commits), so that no crash of the
program or of the machine loses one. Giving the same answers again changes nothing. Texts know their systems here;
what is handed out for a form does not. Knows nothing of HTTP and of figures.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Self

import refdec
from refdec.errors import InputError
from refdec.files.lock import locked
from refdec.files.whole import check_writable, replace_synced, writing
from refdec.serve.studies.checks import passed
from refdec.serve.studies.plan import Plan
from refdec.serve.studies.questions import Task

FORMAT = 1
BUSY_SECONDS = 30.0
"""How long a statement waits for another process that writes to the same file."""

TABLES = """
CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE item (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, context TEXT NOT NULL);
CREATE TABLE text (id INTEGER PRIMARY KEY, item INTEGER NOT NULL REFERENCES item, words TEXT NOT NULL, expected TEXT);
CREATE TABLE output (text INTEGER NOT NULL REFERENCES text, system TEXT NOT NULL, PRIMARY KEY (text, system))
    WITHOUT ROWID;
CREATE TABLE rater (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE form (rater INTEGER NOT NULL REFERENCES rater, place INTEGER NOT NULL,
    text INTEGER NOT NULL REFERENCES text, PRIMARY KEY (rater, place), UNIQUE (rater, text)) WITHOUT ROWID;
CREATE TABLE answer (rater INTEGER NOT NULL, place INTEGER NOT NULL, question TEXT NOT NULL, value INTEGER NOT NULL,
    at TEXT NOT NULL, PRIMARY KEY (rater, place, question),
    FOREIGN KEY (rater, place) REFERENCES form (rater, place)) WITHOUT ROWID;
"""

PROGRESS = """
SELECT id, name, (SELECT count(DISTINCT place) FROM answer WHERE rater = id),
    (SELECT count(*) FROM form WHERE rater = id), (SELECT coalesce(max(at), '') FROM answer WHERE rater = id) FROM rater
"""


@dataclass(frozen=True, slots=True)
class Form:
    """What a rater sees at a place: no system, and nothing that tells a check from a text."""

    place: int
    total: int
    context: Mapping[str, str]
    words: str
    answers: Mapping[str, int]  # by question, as far as they were given


@dataclass(frozen=True, slots=True)
class RaterProgress:
    id: int
    name: str
    done: int
    total: int
    last: str  # when the latest answer came, in UTC, or ""


@dataclass(frozen=True, slots=True)
class Rating:
    """All answers of a rater about a text, with what the rater did not know."""

    rater: str
    item: str
    context: Mapping[str, str]
    text: int
    words: str
    systems: tuple[str, ...]
    expected: Mapping[str, tuple[int, ...]] | None  # right answers, for a check
    answers: Mapping[str, int]
    at: str

    @property
    def passed(self) -> bool | None:
        """Whether a check was answered rightly; None where it is none."""
        if self.expected is None:
            return None
        return passed(self.expected, self.answers)


class Study:
    """An open study. All methods may be called from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._database = _open(path)
        try:
            facts = self._facts()
            if facts.get("format") != FORMAT:
                raise InputError(
                    f"{path} is a study in format {facts.get('format')}, and this refdec reads {FORMAT}. "
                    "Use the refdec that made it."
                )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute("PRAGMA foreign_keys = ON")
        except sqlite3.DatabaseError as error:
            self._database.close()
            if "locked" in str(error):
                raise InputError(f"{path} is in use: another process writes to it. Try again.") from None
            raise InputError(f"{path} is not a study. refdec study create makes one.") from None
        except BaseException:
            self._database.close()
            raise
        self.id: str = facts["id"]
        self.title: str = facts["title"]
        self.secret: str = facts["secret"]
        self.task = Task.of(facts["task"])
        self.systems: tuple[str, ...] = tuple(facts["systems"])
        self.per_item: int = facts["per_item"]
        self.facts: dict[str, str] = facts["made"]

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closes(self) -> date | None:
        """The last day, in UTC, on which links work."""
        with self._lock:
            (value,) = self._database.execute("SELECT value FROM study WHERE name = 'closes'").fetchone()
        day = json.loads(value)
        return date.fromisoformat(day) if day else None

    @property
    def closed(self) -> bool:
        last = self.closes
        return last is not None and datetime.now(UTC).date() > last

    def close_after(self, last: date | None) -> None:
        """Let links work up to another day, or for good."""
        with self._writing() as database:
            database.execute("UPDATE study SET value = ? WHERE name = 'closes'", (json.dumps(_day(last)),))

    def form(self, rater: int, place: int) -> Form | None:
        """What stands at a place, the first being 1; None where the rater has no such place."""
        with self._lock:
            total = self._total(rater)
            if not 1 <= place <= total:
                return None
            words, context = self._database.execute(
                "SELECT text.words, item.context FROM form JOIN text ON text.id = form.text "
                "JOIN item ON item.id = text.item WHERE rater = ? AND place = ?",
                (rater, place),
            ).fetchone()
            answers = dict(
                self._database.execute(
                    "SELECT question, value FROM answer WHERE rater = ? AND place = ?", (rater, place)
                )
            )
        return Form(place, total, json.loads(context), words, answers)

    def answer(self, rater: int, place: int, answers: Mapping[str, int]) -> None:
        """Keep the answers to all questions. When this returns, they are on the disk."""
        for question in self.task.questions:
            value = answers.get(question.name)
            if value is None or not 1 <= value <= len(question.answers):
                raise InputError(f"{question.words} Choose one of the {len(question.answers)} answers.")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [(rater, place, question.name, answers[question.name], now) for question in self.task.questions]
        with self._writing() as database:
            database.executemany(
                "INSERT INTO answer VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, "
                "at = excluded.at WHERE value != excluded.value",
                rows,
            )

    def first_open(self, rater: int) -> int | None:
        """The first place without answers; None where all have them."""
        with self._lock:
            (place,) = self._database.execute(
                "SELECT min(place) FROM form WHERE rater = ? AND NOT EXISTS (SELECT 1 FROM answer "
                "WHERE answer.rater = form.rater AND answer.place = form.place)",
                (rater,),
            ).fetchone()
        return None if place is None else int(place)

    def progress(self) -> list[RaterProgress]:
        """How far every rater is."""
        with self._lock:
            rows = self._database.execute(f"{PROGRESS} ORDER BY id").fetchall()
        return [RaterProgress(*row) for row in rows]

    def progress_of(self, rater: int) -> RaterProgress | None:
        """How far one rater is; None where there is no such rater."""
        with self._lock:
            row = self._database.execute(f"{PROGRESS} WHERE id = ?", (rater,)).fetchone()
        return RaterProgress(*row) if row else None

    def ratings(self) -> Iterator[Rating]:
        """All answered forms, in the order of the raters and of their places."""
        with self._lock:
            systems: dict[int, list[str]] = {}
            for text, system in self._database.execute("SELECT text, system FROM output ORDER BY text, system"):
                systems.setdefault(text, []).append(system)
            rows = self._database.execute(
                "SELECT rater.name, item.key, item.context, text.id, text.words, text.expected, "
                "json_group_object(question, value), max(at) FROM answer JOIN form USING (rater, place) "
                "JOIN text ON text.id = form.text JOIN item ON item.id = text.item JOIN rater ON rater.id = form.rater "
                "GROUP BY form.rater, form.place ORDER BY form.rater, form.place"
            ).fetchall()
        for rater, item, context, text, words, expected, answers, at in rows:
            of_text = tuple(name for name in self.systems if name in systems.get(text, ()))
            right = None if expected is None else {key: tuple(value) for key, value in json.loads(expected).items()}
            yield Rating(rater, item, json.loads(context), text, words, of_text, right, json.loads(answers), at)

    def size(self) -> tuple[int, int]:
        """How many items are rated, and how many texts of them; checks are not counted."""
        with self._lock:
            return tuple(
                self._database.execute(
                    "SELECT count(DISTINCT item), count(*) FROM text WHERE expected IS NULL"
                ).fetchone()
            )

    def _total(self, rater: int) -> int:
        return int(self._database.execute("SELECT count(*) FROM form WHERE rater = ?", (rater,)).fetchone()[0])

    def _facts(self) -> dict[str, Any]:
        return {name: json.loads(value) for name, value in self._database.execute("SELECT name, value FROM study")}

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on the disk when this is left, or nothing."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                self._database.execute("ROLLBACK")
                raise


@contextmanager
def open_to_raters(paths: Iterable[Path]) -> Iterator[list[Study]]:
    """Studies that a server may show: as long as they are open, no other server shows them and nobody replaces them."""
    with ExitStack() as stack:
        studies = []
        for path in dict.fromkeys(paths):
            if path.is_file():
                stack.enter_context(locked(path))
            studies.append(stack.enter_context(Study(path)))
        if len({study.id for study in studies}) < len(studies):
            raise InputError("Two of these files are copies of one study. Serve one of them.")
        yield studies


def create_study(path: Path, plan: Plan, title: str, closes: date | None, command: str, force: bool) -> None:
    """Write the file of a study in one step. An old one is replaced only by force, and never while it is served."""
    check_writable(path)
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file. Name another one.")
    if path.exists() and not force:
        raise InputError(f"{path} exists{_answers_in(path)}. Name another file, or overwrite it with --force.")
    part = path.with_name(f".refdec-{secrets.token_hex(8)}.part")
    with locked(path), writing(path, (OSError, sqlite3.Error)):
        try:
            part.touch(mode=0o600)  # whoever can read it can make links for any rater
            _write(part, plan, title, closes, command)
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            for ending in ("-wal", "-shm"):  # of the old study: they must not be taken for the new one's
                path.with_name(path.name + ending).unlink(missing_ok=True)
            replace_synced(part, path)
        finally:
            part.unlink(missing_ok=True)


def _write(path: Path, plan: Plan, title: str, closes: date | None, command: str) -> None:
    facts = {
        "format": FORMAT,
        "id": secrets.token_hex(4),
        "secret": secrets.token_urlsafe(32),
        "title": title,
        "task": plan.task.to_dict(),
        "systems": plan.systems,
        "per_item": plan.per_item,
        "closes": _day(closes),
        "made": {
            "made by": command,
            "made at": datetime.now(UTC).isoformat(timespec="seconds"),
            "refdec": refdec.__version__,
            "seed": str(plan.seed),
        },
    }
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(f"BEGIN; {TABLES}")
        database.executemany(
            "INSERT INTO study VALUES (?, ?)", ((key, json.dumps(value)) for key, value in facts.items())
        )
        items = {text.item.key: text.item for text in plan.texts}
        numbers = {key: number for number, key in enumerate(items, start=1)}
        database.executemany(
            "INSERT INTO item VALUES (?, ?, ?)",
            ((numbers[key], key, json.dumps(dict(item.context))) for key, item in items.items()),
        )
        for number, text in enumerate(plan.texts, start=1):
            expected = None if text.check is None else json.dumps(dict(text.check.right))
            row = (number, numbers[text.item.key], text.words, expected)
            database.execute("INSERT INTO text VALUES (?, ?, ?, ?)", row)
            database.executemany("INSERT INTO output VALUES (?, ?)", ((number, name) for name in text.systems))
        for rater, (name, forms) in enumerate(zip(plan.raters, plan.forms, strict=True), start=1):
            database.execute("INSERT INTO rater VALUES (?, ?)", (rater, name))
            rows = ((rater, place, text + 1) for place, text in enumerate(forms, start=1))
            database.executemany("INSERT INTO form VALUES (?, ?, ?)", rows)
        database.execute("COMMIT")


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise InputError(f"There is no study {path}. refdec study create makes one.")
    try:
        # Without an isolation level, nothing is committed or begun behind our back.
        return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be opened ({error}).") from error


def _answers_in(path: Path) -> str:
    """How many answers would be lost."""
    try:
        with Study(path) as study:
            rated = sum(rater.done for rater in study.progress())
    except InputError:
        return ""
    return f" and has {rated:,} rated text{'' if rated == 1 else 's'} in it"


def _day(day: date | None) -> str:
    return day.isoformat() if day else ""
