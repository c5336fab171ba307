"""The items of a table that are still to be done: the same ones in every process that iterates over them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from refdec.batch.input_table import InputTable
from refdec.batch.item import Item
from refdec.batch.job import Job
from refdec.batch.parts import Done
from refdec.errors import InputError


@dataclass(frozen=True)
class Todo:
    """Gives the same items every time, whatever was done since it was made.

    A GPU computes rows together, and how they are rounded depends on all of them. So rows that were begun together are
    done together again: of each group of `together` rows, either all are still to be done or none.
    """

    table: InputTable
    job: Job
    done: Done
    together: int = 1

    def __iter__(self) -> Iterator[Item]:
        rows = self.table.rows()
        while group := [self.job.item(row) for row in itertools.islice(rows, self.together)]:
            entries = [self.done.entry(item.number) for item in group]
            for item, entry in zip(group, entries, strict=True):
                if entry is not None and entry["input"] != item.digest:
                    raise changed(self.table, item)
            if None in entries:
                yield from group


def changed(table: InputTable, item: Item) -> InputError:
    return InputError(
        f"{table.path}, line {item.line}: the row is not what it was when this output was begun. Give the table as it "
        "was then, name another output, or begin anew with --no-resume."
    )
