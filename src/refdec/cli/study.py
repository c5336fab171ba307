"""`refdec study`: people rate the outputs of several systems; from files of outputs to a table. Loads no model."""

from __future__ import annotations

import csv
import io
import shlex
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refdec.cli.command_run import check_output, ending_on_terminate, json_line
from refdec.cli.options import FILE, SectionedCommand, force_option, quiet_option
from refdec.cli.serve_extra import check_serve_extra
from refdec.errors import InputError
from refdec.files.whole import check_writable, write_whole

if TYPE_CHECKING:
    from refdec.serve.studies.store import Study

HOST, PORT = "127.0.0.1", 8350
ITEMS = 200
"""As many as in the paper."""
PER_ITEM = 3
LINE = 100
"""Characters in a line of text above tables."""

_study_argument = click.argument("study", type=FILE, metavar="STUDY")
url_option = click.option(
    "--url", metavar="URL", help="address of the server for links, where it has another name outside"
)
_closes_option = click.option(
    "--closes", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE", help="last day, in UTC, on which links work"
)


@click.group("study", short_help="Let people rate the outputs of several systems.")
def study_command() -> None:
    """Let people rate the outputs of several systems, blind, with the paper's questions; see docs/studies.md.

    \b
    Examples:
      refdec study create rd=rd.jsonl mt=mt.csv --data originals.jsonl -o study.db
      refdec study report rated.db
      refdec study export rated.db answers.csv

    create draws items and makes a link for every rater, serve shows the pages to them, export and report may be called
    at any time.
    """


@study_command.command("create", cls=SectionedCommand, short_help="Make a study from files of outputs.")
@click.argument("systems", nargs=-1, required=True, metavar="NAME=FILE...")
@click.option("-o", "--out", type=FILE, required=True, metavar="STUDY", help="file of the study, such as study.db")
@click.option("--task", type=click.Choice(["paraphrase", "infill"]), default="paraphrase", show_default=True,
              help="what the systems do")  # fmt: skip
@click.option(
    "--data", type=FILE, metavar="FILE", help="texts that the outputs belong to, with references if it has some"
)
@click.option("--references/--no-references", default=True, help="rate the references, too [default], or not")
@click.option("--items", type=click.IntRange(1), metavar="N", help=f"texts to draw [default: {ITEMS}, or all]")
@click.option("--raters", default=str(PER_ITEM), metavar="N|NAMES", show_default=True,
              help="how many, or their names with commas between them")  # fmt: skip
@click.option(
    "--per-item", type=click.IntRange(1), metavar="N", help=f"raters of each text [default: {PER_ITEM}, or all]"
)
@click.option("--checks", type=click.IntRange(0, 1000), metavar="N",
              help="attention checks per rater [default: one for 12 texts, at least 2]")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="which texts are drawn, and every order")
@click.option("--title", default="", help="what raters read above the instructions")
@_closes_option
@click.option("--url", metavar="URL", help=f"address of the server for links [default: http://{HOST}:{PORT}]")
@force_option
@quiet_option
def create(systems: tuple[str, ...], out: Path, **options: Any) -> int:
    """Draw items, deal them out to raters, add attention checks, and make a link for every rater.

    \b
    Examples:
      refdec study create rd=rd.jsonl mt=mt.csv --data originals.jsonl -o study.db
      refdec study create rd=rd.jsonl mt=mt.csv --data originals.jsonl --items 2 --raters ann,ben,cy,di -o four.db
      refdec study create rd=fillings.jsonl --task infill --raters 2 --title "What happened?" -o stories.db

    A file of outputs is JSON lines as written by "refdec evaluate", or with "id" and "output"; CSV, TSV and Parquet
    have such columns. The texts themselves ("source", or "left" and "right") stand there too or in --data. Of ranked
    candidates the best that is no copy is taken; rd=FILE@30 takes those of Novelty 30 and rd=FILE@top the best, copy or
    not, as the paper does. Links are printed, and written to a file beside the study. Keep both files to yourself: they
    open everything.
    """
    from refdec.serve.studies.material import read_material
    from refdec.serve.studies.plan import make_plan
    from refdec.serve.studies.questions import task_named
    from refdec.serve.studies.store import Study, create_study

    check_serve_extra("refdec study")
    task = task_named(options["task"])
    base = _address(options["url"] or f"http://{HOST}:{PORT}")
    check_writable(out)
    links = out.with_name(f"{out.stem}-links.csv")
    if not out.exists():
        check_output(links, options)
    material = read_material(task.fields, systems, options["data"], options["references"])
    raters = _rater_names(options["raters"])
    plan = make_plan(
        task,
        material,
        raters,
        options["items"] or min(ITEMS, len(material.items)),
        options["per_item"] or min(PER_ITEM, len(raters)),
        options["checks"],
        options["seed"],
    )
    title = options["title"].strip() or ("Rewordings" if task.name == "paraphrase" else "The middle of a story")
    create_study(out, plan, title, _day(options["closes"]), "refdec " + shlex.join(sys.argv[1:]), options["force"])
    with Study(out) as study:
        rows = _links(study, base)
        items, texts = study.size()
    _write_links(links, rows)
    _print_links(rows)
    if not options["quiet"]:
        left_out = f" {material.left_out:,} rows lack an output of some system." if material.left_out else ""
        forms = [len(row) for row in plan.forms]
        checks = sum(text.check is not None for text in plan.texts)
        each = f"{max(forms):,}" if len(set(forms)) == 1 else f"{min(forms):,} to {max(forms):,}"
        click.echo(
            f"refdec: {out} has {items:,} items with {texts:,} different texts of {len(plan.systems)} systems."
            f"{left_out}\n"
            f"refdec: each rater has {each} forms to fill in, {checks:,} of them attention checks.\n"
            f"refdec: the links are in {links}, too; start the pages with: refdec study serve {shlex.quote(str(out))}",
            err=True,
        )
    return 0


@study_command.command("serve", cls=SectionedCommand, short_help="Show the pages of studies to their raters.")
@click.argument("studies", type=FILE, nargs=-1, required=True, metavar="STUDY...")
@click.option("--host", default=HOST, show_default=True, help="address to listen at; 0.0.0.0 is every network")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 is any free port")
@url_option
@_closes_option
@click.option("--reopen", is_flag=True, help="let links work without a last day")
@quiet_option
def serve(studies: tuple[Path, ...], **options: Any) -> int:
    """Show the pages of one or more studies to their raters, until it is stopped (Ctrl-C).

    \b
    Examples:
      refdec study serve study.db
      refdec study serve study.db --host 0.0.0.0 --url https://study.example.org --closes 2030-01-31

    Every answer is on the disk before a rater sees the next text. Stop and start the server whenever you like: raters
    go on where they were. A link opens the pages of one rater and nothing else; the admin's link shows how far all are.
    Links to another computer travel unencrypted unless a server with HTTPS stands in front.
    """
    check_serve_extra("refdec study")
    from refdec.serve import run
    from refdec.serve.access import is_local
    from refdec.serve.studies.app import studies_app
    from refdec.serve.studies.store import open_to_raters

    if options["closes"] and options["reopen"]:
        raise InputError("--closes names a last day and --reopen removes it. Leave one of them out.")
    with open_to_raters(studies) as opened, run.listen(options["host"], options["port"]) as listening:
        for study in opened:
            if options["closes"] or options["reopen"]:
                study.close_after(_day(options["closes"]))
        with ending_on_terminate():
            address = run.address_of(listening)
            show_links(opened, options["url"] or address)
            if not options["quiet"]:
                outside = "" if is_local(options["host"]) else " Whoever has a link can use it."
                click.echo(f"refdec: serving on {address} (Ctrl-C ends it).{outside}", err=True)
            run.set_up_log(quiet=True)  # addresses carry tokens, so nothing is logged but faults
            run.server_for(studies_app(opened)).run([listening])
    return 0


@study_command.command("export", cls=SectionedCommand, short_help="Write all answers as a table.")
@_study_argument
@click.argument("output", type=FILE, metavar="OUTPUT")
@force_option
@quiet_option
def export(study: Path, output: Path, **options: Any) -> int:
    """Write all answers so far, with the names of the systems: CSV, TSV, JSON lines or Parquet, by the ending.

    \b
    Examples:
      refdec study export rated.db answers.csv
      refdec study export rated.db answers.jsonl
    """
    from refdec.files.formats import format_of
    from refdec.serve.studies.export import export_answers
    from refdec.serve.studies.store import Study

    table_format = format_of(output, None)
    if table_format == "text":
        raise InputError(f"{output} is plain text, and answers have many columns. Name a .csv, .tsv or .jsonl file.")
    check_output(output, options)
    with Study(study) as opened:
        count = export_answers(output, table_format, opened)
    click.echo(f"{count:,} rows are in {output}.")
    return 0


@study_command.command(
    "report", cls=SectionedCommand, short_help="Percentages, agreement, differences between systems."
)
@_study_argument
@click.option("--exclude-failed", is_flag=True, help="leave out raters who failed the attention checks")
@click.option("--html", type=FILE, metavar="FILE", help="write the report as a web page")
@click.option("--markdown", type=FILE, metavar="FILE", help="write the report as Markdown")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object instead of tables")
@force_option
def report(study: Path, **options: Any) -> int:
    """Show what the raters said: the paper's percentages, agreement, differences between systems, attention checks.

    \b
    Examples:
      refdec study report rated.db
      refdec study report rated.db --exclude-failed --html report.html --markdown report.md
      refdec study report rated.db --json

    Intervals are 95 %, from a bootstrap over items. Agreement is Fleiss' kappa. Differences between systems are tested
    by a paired permutation test over items with Holm's correction.
    """
    from refdec.serve.studies.figures import figures
    from refdec.serve.studies.report import make_report, to_dict
    from refdec.serve.studies.store import Study

    for name in ("html", "markdown"):
        if options[name] is not None:
            check_output(options[name], options)
    with Study(study) as opened:
        found = figures(opened.task, opened.systems, list(opened.ratings()), options["exclude_failed"])
        made = make_report(opened, found, "refdec " + shlex.join(sys.argv[1:]))
        values = to_dict(opened, found)
    if options["html"] is not None:
        from refdec.evaluate.reports.as_html import html

        write_whole(options["html"], html(made))
    if options["markdown"] is not None:
        from refdec.evaluate.reports.as_markdown import markdown

        write_whole(options["markdown"], markdown(made, ""))
    if options["as_json"]:
        click.echo(json_line(values))
        return 0
    from refdec.cli.tables import show_report

    click.echo(click.wrap_text(f"{made.title}: {made.intro}".replace("`", ""), LINE) + "\n")
    show_report(made, intervals=True)
    return 0


def _rater_names(words: str) -> list[str]:
    """r1, r2, ... for a number; else the names."""
    if words.strip().isdigit():
        count = int(words)
        if not 1 <= count <= 1000:
            raise InputError(f"{count:,} raters are asked for; there can be 1 to 1,000.")
        return [f"r{number}" for number in range(1, count + 1)]
    return [name.strip() for name in words.split(",")]


def _links(study: Study, base: str) -> list[tuple[str, str]]:
    from refdec.serve.studies.tokens import admin_path, rater_path

    raters = [(rater.name, f"{base}/{rater_path(study, rater.id)}") for rater in study.progress()]
    return [*raters, ("admin", f"{base}/{admin_path(study)}")]


def _address(base: str) -> str:
    if not base.startswith(("http://", "https://")):
        raise InputError(f"{base} is not an address. It begins with http:// or https://.")
    return base.rstrip("/")


def _write_links(path: Path, rows: list[tuple[str, str]]) -> None:
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([("rater", "link"), *rows])
    path.touch(mode=0o600)
    write_whole(path, table.getvalue())


def show_links(studies: Sequence[Study], base: str) -> None:
    """Print the links of studies that are served at an address."""
    for study in studies:
        _print_links(_links(study, _address(base)))
    sys.stdout.flush()


def _print_links(rows: list[tuple[str, str]]) -> None:
    """One per line, uncut: they are there to be copied."""
    width = max(len(name) for name, _ in rows)
    for name, link in rows:
        click.echo(f"{name:<{width}}  {link}")


def _day(given: Any) -> date | None:
    return given.date() if given is not None else None
