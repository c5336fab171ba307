"""The report: every figure in both formats, harmless whatever the texts are, and the same picture every time."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from refdec.errors import ModelError, SettingsError
from refdec.evaluate.reports import cells, prose
from refdec.evaluate.reports.as_html import changes, html
from refdec.evaluate.reports.as_markdown import markdown
from refdec.evaluate.reports.labels import place_labels
from refdec.evaluate.reports.plots import LIGHT, inline_svg, pictures, svg
from refdec.evaluate.reports.report import (
    Cell,
    Examples,
    Plot,
    PlotPoint,
    Prose,
    Report,
    ReportColumn,
    ReportRow,
    ReportTable,
    Series,
)
from tests.test_page import HOSTILE, Document

NASTY = HOSTILE + " | * _x_ **y** `z` ``` [a](https://evil.example) ![b](c) # $n_c$ ~~d~~ \\ 1. - +"
SARI = ReportColumn("sari", "SARI", "higher", 1)
TER = ReportColumn("ter", "TER", "lower", 1)
NOVELTY = ReportColumn("novelty", "Novelty", "", 1)


def table(**changed: object) -> ReportTable:
    rows = (
        ReportRow("reference", {"sari": Cell(91.0), "ter": Cell(0.0)}, group="yardsticks", ranked=False),
        ReportRow(
            "fast", {"sari": Cell(36.04, 34.1, 37.9), "ter": Cell(-3.0, -4.5, 1.0), "novelty": Cell(40.0)}, group="ours"
        ),
        ReportRow("deep", {"sari": Cell(36.01, 34.0, 38.0, "†"), "ter": Cell(60.0)}, group="ours"),
        ReportRow(
            "RD 30", {"sari": Cell(40.0), "ter": Cell(57.0), "novelty": Cell(30.0)}, quoted=True, group="the paper"
        ),
    )
    return replace(ReportTable("Quora", (SARI, TER, NOVELTY), rows, "Intervals are of 95 %."), **changed)  # type: ignore[arg-type]


def plot(name: str = "curve", **changed: object) -> Plot:
    series = (
        Series(
            "ours",
            (PlotPoint(6, 30.0, 29.0, 31.5, "few"), PlotPoint(80, 38.0, 37.0, 39.0), PlotPoint(1000, 40.0, 39.0, 41.0)),
        ),
        Series("theirs", (PlotPoint(80, 40.0, label="RD 30"), PlotPoint(20, 34.0)), quoted=True, line=False),
    )
    whole = Plot(name, "SARI by contexts", "contexts", "SARI", series, "A note.", log_x=True)
    return replace(whole, **changed)  # type: ignore[arg-type]


def report(*sections: ReportTable | Plot | Examples | Prose) -> Report:
    return Report("Evaluation", "What it says.", sections, (("command", "refdec evaluate"), ("seed", "0")))


def nasty() -> Report:
    row = ReportRow(NASTY, {"a": Cell(1.0, 0.5, 2.0, NASTY)}, quoted=True, group=NASTY)
    columns = (ReportColumn("a", NASTY, "higher", 1),)
    series = (
        Series(NASTY, (PlotPoint(1, 2, label=NASTY), PlotPoint(2, 3))),
        Series(NASTY, (PlotPoint(3, 2),), quoted=True),
    )
    sections = (
        ReportTable(NASTY, columns, (row, replace(row, quoted=False)), NASTY),
        ReportTable(NASTY, columns * 7, (row,), NASTY),
        Plot("nasty", NASTY, NASTY, NASTY, series, NASTY),
        Examples(NASTY, (NASTY, NASTY), ((NASTY, NASTY + "\n\nmore"), ("", NASTY)), NASTY),
        Prose(NASTY, "1. " + NASTY + "\n\n- " + NASTY),
    )
    return Report(NASTY, NASTY, sections, ((NASTY, NASTY + "\n" + NASTY),))


def figures_of(text: str, name: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith("| ") and name in line)
    return [cell.strip() for cell in line.strip("|").split(" | ")][1:]


def test_markdown_has_figures_with_intervals_the_best_in_bold_and_quoted_rows_in_italics() -> None:
    text = markdown(report(table()), "pictures")
    assert figures_of(text, "fast") == ["**36.0** (34.1–37.9)", "**-3.0** (-4.5 to 1.0)", "40.0"]
    assert figures_of(text, "deep") == ["**36.0†** (34.0–38.0)", "60.0", "–"]  # reads the same, so it is as good
    assert figures_of(text, "*RD 30* (quoted)") == ["*40.0*", "*57.0*", "*30.0*"]
    assert figures_of(text, "reference") == ["91.0", "0.0", "–"]  # a yardstick wins nothing
    assert "| SARI ↑ | TER ↓ | Novelty |" in text
    assert "**yardsticks**" in text
    assert "In brackets: the interval." in text
    assert "- command: `refdec evaluate`" in text


def test_a_wide_markdown_table_has_its_intervals_apart() -> None:
    columns = tuple(ReportColumn("sari", f"SARI {number}", "higher", 1) for number in range(9))
    text = markdown(report(table(columns=columns)), "pictures")
    assert figures_of(text, "fast") == ["**36.0**"] * 9
    folded = text[text.index("<details>") : text.index("</details>")]
    assert figures_of(folded, "fast") == ["34.1–37.9"] * 9


def test_markdown_shows_plots_and_keeps_texts_as_text() -> None:
    text = markdown(report(plot(), Examples("Pairs", ("source", "ours"), (("a|b\nc", "<b>*d*</b>"),))), "my pictures/")
    assert "![SARI by contexts](my%20pictures/curve.svg)" in text
    assert r"| a\|b c | &lt;b&gt;\*d\*&lt;/b&gt; |" in text
    assert "](curve.svg)" in markdown(report(plot()), "")


def test_nothing_in_a_report_becomes_markdown() -> None:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown(nasty(), "p"))
    inside = [child for token in tokens for child in token.children or []]
    assert not [child for child in inside if child.type in ("html_inline", "link_open", "s_open")]
    assert [child.attrs["src"] for child in inside if child.type == "image"] == ["p/nasty.svg"]
    blocks = [token.content for token in tokens if token.type == "html_block"]
    assert all(re.match(r"</?details>", block) and "<img" not in block for block in blocks)
    shown = "\n".join("".join(c.content for c in token.children or []) for token in tokens if token.type == "inline")
    plain = " ".join(NASTY.split())
    assert shown.count(plain) >= 14


def test_a_report_is_one_html_document_that_loads_nothing() -> None:
    whole = html(nasty())
    document = Document(whole)
    assert not {"link", "img", "iframe", "object", "embed", "base", "form", "image"} & {tag for tag, _ in document.tags}
    for tag, attributes in document.tags:
        assert not {"src", "action", "srcset", "data", "poster"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#"), tag
        assert not re.search(r"url\((?!#)", " ".join(str(value) for value in attributes.values()))
    names = [attributes["id"] for _, attributes in document.tags if "id" in attributes]
    assert len(names) == len(set(names))
    policy = next(attributes["content"] for _, attributes in document.tags if "http-equiv" in attributes)
    assert policy is not None
    assert re.fullmatch(
        r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[\w+/]+='; base-uri 'none'", policy
    )
    assert document.text.count(HOSTILE) >= 14
    assert "<script>alert" not in whole


def test_html_has_every_figure_interval_mark_and_point() -> None:
    whole = html(report(table(), plot(), Prose("Reading", "Run `refdec`:\n- twice\n- more")))
    text = Document(whole).text
    for word in ("36.0", "34.1–37.9", "-4.5 to 1.0", "†", "quoted", "yardsticks", "29 to 31.5", "RD 30", "A note."):
        assert word in text
    assert whole.count("<b>36.0</b>") == 2
    assert "<code>refdec</code>" in whole
    assert '<li dir="auto">twice</li>' in whole
    assert 'data-value="36.04"' in whole  # what the script sorts by


def test_html_marks_the_words_that_the_source_does_not_have() -> None:
    pairs = (("How do I cook rice?", "how should one cook Rice ?"), ("Same.", "same ."))
    whole = html(report(Examples("Pairs", ("source", "ours"), pairs)))
    assert re.findall("<mark>(.*?)</mark>", whole) == ["should one", "marked"]
    assert "<mark>" not in html(report(Examples("Pairs", ("before", "after"), pairs, compared=False)))


@given(st.text(max_size=30), st.text(max_size=30))
def test_changes_make_up_the_text(source: str, text: str) -> None:
    assert "".join(piece for piece, _ in changes(source, text)) == text
    assert not any(new for _, new in changes(text, text))


def test_a_table_can_be_empty() -> None:
    empty = report(table(rows=()), Examples("None", ("source", "ours"), ()), plot(series=()), Prose("", ""))
    assert Document(html(empty)).text
    assert markdown(empty, "p")


def test_figures_that_are_not_numbers_are_left_out() -> None:
    row = ReportRow("odd", {"sari": Cell(float("nan"), float("nan"), 1.0), "ter": Cell(-0.01)})
    text = markdown(report(table(rows=(row,))), "p")
    assert figures_of(text, "odd") == ["–", "0.0", "–"]
    assert cells.best(table(rows=(row, row))) == {(0, "ter"), (1, "ter")}
    assert (
        "nan"
        not in svg(plot(series=(Series("odd", (PlotPoint(1, float("nan"), label="x"), PlotPoint(2, 1))),))).lower()
    )


def test_prose_has_paragraphs_lists_and_code() -> None:
    read = list(prose.blocks("One `a`\nline.\n\n\nList:\n- x\n- y\n  z\n\n<b>*no*</b>"))
    assert read == [
        prose.Paragraph((prose.Span("One "), prose.Span("a", code=True), prose.Span(" line."))),
        prose.Paragraph((prose.Span("List:"),)),
        prose.Bullets(((prose.Span("x"),), (prose.Span("y z"),))),
        prose.Paragraph((prose.Span("<b>*no*</b>"),)),
    ]


def test_the_same_figures_give_the_same_picture_whatever_the_user_prefers() -> None:
    import matplotlib as mpl

    first = svg(plot())
    with mpl.rc_context({"axes.grid": False, "svg.fonttype": "path", "font.size": 20, "lines.linewidth": 9}):
        assert svg(plot()) == first
        assert mpl.rcParams["font.size"] == 20
    assert not re.search(r"<dc:date>|\d{4}-\d\d-\d\d", first)


def test_a_picture_is_valid_svg_with_its_texts_as_text() -> None:
    drawn = svg(plot(title="a <b> & $c$", y="$n_c$ \x00\ud83d end"))
    ElementTree.fromstring(drawn.encode())
    for text in ("a &lt;b&gt; &amp; $c$", ">$n_c$", ">1,000<", ">RD 30<", ">theirs<"):
        assert text in drawn
    assert pictures(report(plot(), plot("other"))).keys() == {"curve.svg", "other.svg"}


def test_a_picture_in_a_page_takes_the_colours_of_the_page_and_leaves_labels_alone() -> None:
    label = 'see (#5) id="x" #0072b2'
    drawn = inline_svg(plot(series=(Series("ours", (PlotPoint(1, 1, 0, 2, label), PlotPoint(2, 2, 1, 3))),)))
    assert label in drawn
    markup = drawn.replace(label, "")
    assert not re.search("#[0-9a-f]{6}", markup)
    assert set(re.findall(r"var\(--([\w-]+)\)", markup)) <= {*LIGHT.values(), "sans"}
    both = [re.findall(' id="([^"]*)"', inline_svg(plot(name))) for name in ("one", "two")]
    assert both[0]
    assert not set(both[0]) & set(both[1])


def test_the_page_knows_every_colour_of_a_picture() -> None:
    style = html(report())
    for name in LIGHT.values():
        assert len(re.findall(rf"--{name}: #", style)) == 2  # light and dark


def test_pictures_without_matplotlib_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModelError, match=r"refdec\[evaluate\]"):
        svg(plot())
    assert html(report(table()))  # a report without plots needs none


def test_names_and_axes_that_cannot_be_are_refused() -> None:
    with pytest.raises(SettingsError, match="small letters"):
        plot("../etc/passwd")
    with pytest.raises(SettingsError, match="above 0"):
        plot(series=(Series("ours", (PlotPoint(0, 1),)),))
    with pytest.raises(SettingsError, match="files would be one"):
        report(plot(), plot())


def test_labels_keep_off_each_other_and_inside_the_plot() -> None:
    points = [(50.0, 50.0), (52.0, 52.0), (99.0, 50.0), (50.0, 1.0)]
    sizes = [(20.0, 8.0)] * 4
    area = (0.0, 0.0, 100.0, 100.0)
    drawn = np.array([(x, y, 1.0) for x, y in points])
    boxes = []
    for (x, y), (width, height), ((right, up), (dx, dy)) in zip(
        points, sizes, place_labels(points, sizes, drawn, area, 3.0), strict=True
    ):
        left, bottom = x + dx + (right - 1) / 2 * width, y + dy + (up - 1) / 2 * height
        boxes.append((left, bottom, left + width, bottom + height))
        assert left >= 0
        assert bottom >= 0
        assert left + width <= 100
    for index, one in enumerate(boxes):
        for other in boxes[:index]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
