"""What a report holds: tables, plots, examples and prose, in reading order, and how it was made.

Plain values. Knows nothing of Markdown, HTML or files, nor of where its figures come from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from refdec.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure, its interval where one is known, and a mark that the note of the table explains."""

    value: float | None
    low: float | None = None
    high: float | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True)
class ReportColumn:
    key: str
    title: str
    better: str  # "higher", "lower", or "" where neither is
    digits: int


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A system and its figures by the key of their column."""

    name: str
    cells: Mapping[str, Cell]
    quoted: bool = False  # published by others, not measured here
    group: str = ""  # neighbours of the same group stand under its name
    ranked: bool = True  # can be the best of a column; a yardstick such as the reference cannot


@dataclass(frozen=True, slots=True)
class ReportTable:
    title: str
    columns: tuple[ReportColumn, ...]
    rows: tuple[ReportRow, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class PlotPoint:
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    points: tuple[PlotPoint, ...]
    quoted: bool = False
    line: bool = True  # whether the points are joined, in their order


@dataclass(frozen=True, slots=True)
class Plot:
    name: str  # of its file, without an ending
    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    note: str = ""
    log_x: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise SettingsError(f"A plot is called {self.name!r}; use small letters, digits and single hyphens.")
        if self.log_x and any(point.x <= 0 for series in self.series for point in series.points):
            raise SettingsError(f"The plot {self.name!r} has a logarithmic x axis, so every x must be above 0.")


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts side by side. Where they are compared, it is word by word with the first column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    compared: bool = True


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs and lists, as `refdec.evaluate.reports.prose` reads them."""

    title: str
    text: str


Section = ReportTable | Plot | Examples | Prose


@dataclass(frozen=True, slots=True)
class Report:
    title: str
    intro: str
    sections: tuple[Section, ...]
    provenance: tuple[tuple[str, str], ...]  # command, signatures, machine, versions, seed

    def __post_init__(self) -> None:
        names = [plot.name for plot in self.plots]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SettingsError(f"Two plots of a report are called {twice[0]!r}; their files would be one.")

    @property
    def plots(self) -> tuple[Plot, ...]:
        return tuple(section for section in self.sections if isinstance(section, Plot))
