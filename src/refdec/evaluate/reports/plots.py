"""Plots as SVG: curves with the bands of their intervals, quoted figures as hollow grey marks.

The same plot gives the same bytes with the same version of matplotlib. Text stays text, and colours are those of
`LIGHT`, so that a page can set both its own way (`inline_svg`).
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from refdec.evaluate.reports.labels import place_labels
from refdec.evaluate.reports.report import Plot, PlotPoint, Report, Series
from refdec.metrics.packages import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

# Okabe and Ito's colours, which people with any common kind of colour vision tell apart; names as in report.css.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
INK, DIM, LINE, CARD = "#1d1c22", "#5e5b66", "#dad6cd", "#ffffff"
LIGHT = {INK: "ink", DIM: "dim", LINE: "line", CARD: "card"} | {
    colour: f"series-{number}" for number, colour in enumerate(COLOURS, start=1)
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
WIDTH, HEIGHT = 7.5, 4.5  # inches, 540 x 324 points: text of 10 points is as large as a page's at 720 pixels
LOOK: dict[str, Any] = {
    "svg.hashsalt": "refdec",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": DIM,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0.07,
    "axes.ymargin": 0.1,
    "figure.facecolor": CARD,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "xtick.color": DIM,
    "ytick.color": DIM,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}
PAGE_FONT = "var(--sans)"
FILE_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def check_plots() -> None:
    """Refuses where matplotlib is missing, before anything is drawn."""
    require("Plots", "matplotlib", verb="need")


def pictures(report: Report) -> dict[str, str]:
    """The files that the Markdown of a report shows, by their names."""
    return {f"{plot.name}.svg": svg(plot) for plot in report.plots}


def svg(plot: Plot) -> str:
    """A file of its own, on white."""
    drawn = _in_tags(_drawn(plot), lambda tag: _FONT.sub(FILE_FONT, tag))
    return drawn.replace("<defs>", f"<title>{escape(_clean(plot.title))}</title>\n <defs>", 1)


def inline_svg(plot: Plot) -> str:
    """Markup for a page that has the variables of `LIGHT`: its colours and font, and ids that no other plot has."""
    drawn = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", _drawn(plot), count=1, flags=re.S)
    start = drawn.index("<svg")
    inside = drawn.index(">", start) + 1
    used = frozenset(_REFERENCE.findall(drawn))
    label = escape(_clean(plot.title))
    opening = f'<svg viewBox="0 0 {72 * WIDTH:g} {72 * HEIGHT:g}" role="img" aria-label="{label}" class="plot">'
    return opening + _in_tags(drawn[inside:], lambda tag: _adapted(tag, plot.name, used)).rstrip()


_FONT = re.compile(r"'DejaVu Sans'[^;\"]*")
_REFERENCE = re.compile(r"(?:url\(|xlink:href=\")#([^\")]+)")


def _in_tags(drawn: str, change: Callable[[str], str]) -> str:
    """Changes markup and leaves what the labels say alone; matplotlib escapes every < and > in them."""
    return re.sub(r"<[^<>]*>", lambda tag: change(tag[0]), drawn)


def _adapted(tag: str, name: str, used: frozenset[str]) -> str:
    tag = _FONT.sub(PAGE_FONT, tag)
    tag = re.sub(r' id="([^"]*)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", tag)
    tag = _REFERENCE.sub(lambda found: found[0].replace("#", f"#{name}-").replace("xlink:", ""), tag)
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: f"var(--{LIGHT[found[0]]})" if found[0] in LIGHT else found[0], tag)


def _clean(text: str) -> str:
    """Without characters that no SVG may hold."""
    return "".join(character if character.isprintable() else " " for character in text)


def _drawn(plot: Plot) -> str:
    check_plots()
    import matplotlib as mpl

    file = io.StringIO()
    parameters: Any = mpl.rcParams
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that the font for measuring does not have
        mpl.rcdefaults()  # whatever the user prefers, the same figures give the same bytes
        parameters.update(LOOK)
        _figure(plot).savefig(file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return file.getvalue()


def _figure(plot: Plot) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=72, layout="constrained")
    FigureCanvasAgg(figure)  # measures the labels
    axes = figure.add_subplot()
    axes.set_xlabel(_clean(plot.x))
    axes.set_ylabel(_clean(plot.y))
    if plot.log_x:
        axes.set_xscale("log")
    styles = _styles(plot)
    for series, style in zip(plot.series, styles, strict=True):
        _draw(axes, series, style)
    if plot.log_x:
        _log_ticks(axes, plot)
    if len(plot.series) > 1:
        _legend(figure, plot)
    _label(figure, axes, plot, [style["color"] for style in styles])
    return figure


def _styles(plot: Plot) -> list[dict[str, Any]]:
    """Colours for what was measured here, grey for what is quoted; a marker of its own for each."""
    styles: list[dict[str, Any]] = []
    seen = {True: 0, False: 0}
    for series in plot.series:
        index = seen[series.quoted]
        seen[series.quoted] += 1
        style: dict[str, Any] = {"marker": MARKERS[index % len(MARKERS)], "markersize": 5.5}
        if series.quoted:
            style |= {"color": DIM, "markersize": 6.5, "markerfacecolor": CARD, "linewidth": 1.0, "linestyle": "--"}
        else:
            dashes = ("-", "--", ":")[index // len(COLOURS) % 3]
            style |= {"color": COLOURS[index % len(COLOURS)], "linewidth": 1.8, "linestyle": dashes}
        styles.append(style if series.line else style | {"linestyle": "none"})
    return styles


def _draw(axes: Axes, series: Series, style: dict[str, Any]) -> None:
    points = _finite(series)
    x, y = [point.x for point in points], [point.y for point in points]
    axes.plot(x, y, label=_clean(series.name), zorder=3 if series.quoted else 4, **style)
    bounded = [point for point in points if _bounds(point)]
    if not bounded:
        return
    at = [point.x for point in bounded]
    ends = np.array([_bounds(point) for point in bounded])  # (points, 2)
    steps = np.diff(at)
    if series.line and len(at) > 1 and (np.all(steps > 0) or np.all(steps < 0)):
        axes.fill_between(at, ends[:, 0], ends[:, 1], color=style["color"], alpha=0.15, linewidth=0, zorder=2)
    else:
        axes.vlines(at, ends[:, 0], ends[:, 1], color=style["color"], linewidth=1.0, alpha=0.7, zorder=2)


def _finite(series: Series) -> list[PlotPoint]:
    return [point for point in series.points if math.isfinite(point.x) and math.isfinite(point.y)]


def _bounds(point: PlotPoint) -> tuple[float, float] | None:
    if point.low is None or point.high is None or not math.isfinite(point.low + point.high):
        return None
    return point.low, point.high


def _log_ticks(axes: Axes, plot: Plot) -> None:
    """At the values themselves, where they are not too close: 6, 20, 40, 80 say more than 10 and 100."""
    values = sorted({point.x for series in plot.series for point in _finite(series)})
    if not values:
        return
    least = (values[-1] / values[0]) ** 0.05
    kept: list[float] = []
    for value in values:
        if not kept or value >= kept[-1] * least:
            kept.append(value)
    axes.set_xticks(kept, [f"{value:,g}" for value in kept])
    axes.set_xticks([], minor=True)


def _legend(figure: Figure, plot: Plot) -> None:
    longest = max(len(series.name) for series in plot.series)
    figure.legend(loc="outside upper left", ncols=max(1, min(len(plot.series), 95 // (longest + 8))))


def _label(figure: Figure, axes: Axes, plot: Plot, colours: list[str]) -> None:
    """Writes the labels of points into the layout that everything else has by now."""
    labels = [
        (point, colour)
        for series, colour in zip(plot.series, colours, strict=True)
        for point in _finite(series)
        if point.label
    ]
    if not labels:
        return
    figure.draw_without_rendering()
    points = axes.transData.transform([(point.x, point.y) for point, _ in labels])
    notes = [_annotate(axes, point, colour) for point, colour in labels]
    sizes = [(box.width, box.height) for box in (note.get_window_extent() for note in notes)]
    drawn = np.concatenate(list(_spots(axes, plot)))
    area = axes.bbox
    places = place_labels(points.tolist(), sizes, drawn, (area.x0, area.y0, area.x1, area.y1), gap=6.0)
    for note, ((right, up), step) in zip(notes, places, strict=True):
        note.set_horizontalalignment(("center", "left", "right")[right])
        note.set_verticalalignment(("center", "bottom", "top")[up])
        note.xyann = step  # in points, which are the pixels of this figure


def _annotate(axes: Axes, point: PlotPoint, colour: str) -> Annotation:
    return axes.annotate(
        _clean(point.label),
        (point.x, point.y),
        xytext=(0, 0),
        textcoords="offset points",
        fontsize=8,
        color=colour,
        zorder=5,
        in_layout=False,
    )


def _spots(axes: Axes, plot: Plot) -> Iterator[NDArray[np.float64]]:
    """Spots at every mark and along every line, where a label would be in the way: (spots, 3)."""
    for series in plot.series:
        points = _finite(series)
        if not points:
            continue
        at = np.asarray(axes.transData.transform([(point.x, point.y) for point in points]), dtype=np.float64)
        yield _with_cost(at, 6.0)
        if series.line:
            share = np.linspace(0, 1, 40)[:, None, None]
            yield _with_cost((at[:-1] * (1 - share) + at[1:] * share).reshape(-1, 2), 0.4)


def _with_cost(spots: NDArray[np.float64], cost: float) -> NDArray[np.float64]:
    return np.column_stack([spots, np.full(len(spots), cost)])
