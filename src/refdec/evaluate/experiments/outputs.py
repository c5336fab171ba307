"""Files of outputs: what a system said for each row of a data set, one JSON object per line.

A line has the row's `id`, and either an `output`, which is a text, or `results`, candidates in rank order as refdec
gives them, or `scores` of texts of the data, by name. Files that refdec writes grow line by line, go on where a killed
run stopped, and hold one signature. A line that was written is never changed. Knows nothing of what else is in a row,
nor of metrics.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from refdec.errors import InputError
from refdec.evaluate.experiments.lines import Line, find_file, keyed, parse, read_content
from refdec.files.growing import GrowingFile
from refdec.files.packed import is_packed
from refdec.files.whole import check_writable
from refdec.version import comparable

OutputRow = dict[str, Any]

START = b'{"id": "'  # every written line begins so: only such a beginning is taken for a torn line and cut off
RESULT = {
    **dict.fromkeys(("score", "relative", "novelty"), (int, float)),
    **dict.fromkeys(("copy", "passes"), (bool,)),
}
FEW = 3  # ids or settings that a message names


class OutputFile:
    """A file of outputs to add to: of one data set, and made with one signature.

        with OutputFile(path, signature, [example.id for example in examples]) as file:
            for example in examples:
                if example.id not in file.done:
                    file.append({"id": example.id, **reflector.paraphrase(example.source).to_dict()})

    A file of other settings or other data is refused when it is opened, and left as it is.
    """

    def __init__(self, path: Path, signature: str, ids: Iterable[str]) -> None:
        self.path = path
        self.signature = signature
        self.done: set[str] = set()
        self._ids = frozenset(ids)
        self._count = 0  # lines
        _check_appendable(path)
        self._file = GrowingFile(path)
        try:
            self._go_on()
        except BaseException:
            self._file.close()
            raise

    def append(self, row: OutputRow) -> None:
        """Write one line; when this returns, it outlives the process."""
        line = Line(self.path, self._count + 1, {**row, "signature": row.get("signature", self.signature)})
        key = _id(line)
        if key in self.done:
            raise line.wrong(f"there is an output for {key!r} already.")
        self._check(line)
        rest = {name: value for name, value in line.fields.items() if name != "id"}
        self._file.add(json.dumps({"id": key, **rest}, ensure_ascii=False).encode() + b"\n")
        self.done.add(key)
        self._count += 1

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _go_on(self) -> None:
        """Check the lines of an earlier run, and make the file end in a whole line."""
        whole, torn = _split_torn(self._file.content())
        for key, line in keyed(parse(self.path, whole), _id):
            self._check(line)
            self.done.add(key)
            self._count = line.number
        if torn:
            self._file.cut(len(whole))
        elif whole and not whole.endswith(b"\n"):
            self._file.add(b"\n")

    def _check(self, line: Line) -> None:
        """Refuse a line that does not belong into this file."""
        _check_form(line)
        if "signature" not in line.fields:
            raise InputError(
                f"{self.path} holds outputs without a signature (line {line.number}), so refdec did not write it. "
                "Name another file."
            )
        there, here = comparable(line.fields["signature"]), comparable(self.signature)
        if there != here:
            raise InputError(
                f"{self.path} holds outputs of other settings: "
                f"{_differences(there, here, ('there', 'here'))}. "
                "Name another file, or give the same settings."
            )
        if line.fields["id"] not in self._ids:
            raise InputError(
                f"{self.path} holds outputs for other data: {line.fields['id']!r} (line {line.number}) is not among "
                f"the {len(self._ids):,} ids of the data. Name another file, or the data it was made from."
            )


def read_outputs(path: Path) -> dict[str, OutputRow]:
    """The rows of a file of outputs by their ids, in the order of the file."""
    file = find_file(path)
    if file is None:
        raise InputError(f"There is no file {path}. Name a file of outputs, or generate them first.")
    whole, torn = _split_torn(read_content(file))
    rows = dict(keyed(parse(file, whole), _id))
    for line in rows.values():
        _check_form(line)
    _refuse_mixture(list(rows.values()))
    if torn:
        raise InputError(
            f"{file} ends in half a line, because its writer was stopped. Generate again, which completes it, or "
            "remove the line."
        )
    if not rows:
        raise InputError(f"{file} has no outputs in it. Generate them first.")
    return {key: line.fields for key, line in rows.items()}


def matched(rows: dict[str, OutputRow], ids: Sequence[str], path: Path, known: Iterable[str] = ()) -> list[OutputRow]:
    """The rows of the data's ids, in their order.

    Refused where an id has no row, and where a row has an unknown id, so that nothing is scored against the wrong row.
    Where `ids` are only a part of the data, such as its isolated rows, `known` are all of them.
    """
    data = {*ids, *known}
    missing = [key for key in ids if key not in rows]
    unknown = [key for key in rows if key not in data]
    if not missing and not unknown:
        return [rows[key] for key in ids]
    there = len(ids) - len(missing)
    if not unknown and there and list(ids[there:]) == missing:
        raise InputError(
            f"{path} has outputs for the first {there:,} of {len(ids):,} rows. Go on with the generation, or "
            f"evaluate {there:,} rows only."
        )
    faults = []
    if missing:
        faults.append(f"{len(missing):,} of the {len(ids):,} ids of the data are not in it ({_few(missing)})")
    if unknown:
        faults.append(f"{len(unknown):,} of its {len(rows):,} ids are not in the data ({_few(unknown)})")
    raise InputError(f"{path} does not match the data: {'; '.join(faults)}. Give the data it was made from.")


def _id(line: Line) -> str:
    return line.text("id")


def _check_form(line: Line) -> None:
    """Refuse what is not a line of outputs."""
    if sum(name in line.fields for name in ("output", "results", "scores")) != 1:
        raise line.wrong('a line of outputs has either "output" or "results" or "scores".')
    if "signature" in line.fields:
        line.text("signature")
    if "output" in line.fields:
        line.string("output")
        return
    if "scores" in line.fields:
        if not isinstance(line.value("scores"), dict):
            raise line.wrong('"scores" must be an object.')
        return
    results = line.value("results")
    if not isinstance(results, list) or not all(isinstance(item, dict) for item in results):
        raise line.wrong('"results" must be a list of objects.')
    for item in results:
        Line(line.path, line.number, item).string("text")
        for name, kinds in RESULT.items():
            if name in item and type(item[name]) not in kinds:
                raise line.wrong(f'"{name}" of a result must be {"a number" if float in kinds else "true or false"}.')


def _refuse_mixture(lines: Sequence[Line]) -> None:
    for line in lines[1:]:
        first, second = (comparable(item.fields.get("signature", "")) for item in (lines[0], line))
        if first != second:
            places = (f"in line {lines[0].number}", "here")
            raise line.wrong(f"the file mixes outputs of different settings: {_differences(first, second, places)}.")


def _split_torn(content: bytes) -> tuple[bytes, bytes]:
    """The whole lines of a file, and the torn last one that refdec was writing when it was stopped, or nothing.

    A line that lacks only its end is whole: no beginning of a JSON object is one.
    """
    start = content.rfind(b"\n") + 1
    last = content[start:]
    if last.startswith(START) or START.startswith(last):
        try:
            json.loads(last.decode())
        except (ValueError, RecursionError):
            return content[:start], last
    return content, b""


def _differences(first: str, second: str, places: tuple[str, str]) -> str:
    """The parts of two signatures that differ, as far as a person reads on."""
    one, other = (dict(part.partition(":")[::2] for part in text.split("|")) for text in (first, second))
    parts = [
        f"{name} is {_value(one, name)} {places[0]} and {_value(other, name)} {places[1]}"
        for name in dict.fromkeys((*one, *other))
        if name and one.get(name) != other.get(name)
    ]
    more = f", and {len(parts) - FEW} more" if len(parts) > FEW else ""
    return ", ".join(parts[:FEW]) + more or "the signatures have other parts"


def _value(parts: dict[str, str], name: str) -> str:
    value = parts.get(name, "not")
    return value if len(value) <= 60 else value[:57] + "..."


def _few(ids: Sequence[str]) -> str:
    return ", ".join(ids[:FEW]) + (", ..." if len(ids) > FEW else "")


def _check_appendable(path: Path) -> None:
    check_writable(path)
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file, so outputs cannot be added to it line by line. Name another.")
    if is_packed(path):
        raise InputError(f"{path} would be compressed, and outputs are written plain. Leave out {path.suffix}.")
