"""`refdec serve`: the tasks as an HTTP service, with a page to try them on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from refdec.cli.command_run import ending_on_terminate, load_reflector
from refdec.cli.options import FILE, SectionedCommand, examples_option, given, model_options, options_of, quiet_option
from refdec.cli.serve_extra import check_serve_extra
from refdec.cli.study import show_links, url_option
from refdec.errors import InputError
from refdec.serve.limits import Limits

KEY_VARIABLE = "REFDEC_API_KEY"


@click.command("serve", cls=SectionedCommand, short_help="Serve the tasks over HTTP, with a page.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="NAME", help="address to listen on")
@click.option("--port", type=click.IntRange(0, 65_535), default=8000, show_default=True, metavar="N", help="its port")
@click.option("--api-key-file", type=FILE, metavar="FILE", help=f"file with the API key [or {KEY_VARIABLE}]")
@click.option("--study", "studies", type=FILE, multiple=True, metavar="FILE", help="rating study to show, too")
@url_option
@quiet_option
@model_options
@examples_option
@options_of(Limits, {"cpu": Limits.on("cpu"), "cuda": Limits.on("cuda")})
def serve_command(**options: Any) -> int:
    """Serve paraphrase, infill, rewrite, score, diff and fingerprint as JSON, and a page to try them on.

    \b
    Examples:
      refdec serve --port 9000
      refdec serve --texts 10 --seconds 60
      refdec serve --host 0.0.0.0 --api-key-file key
      refdec serve --study study.db

    The server answers only to this machine, unless --host says otherwise; then it needs an API key, which clients send
    as "Authorization: Bearer KEY". The log has no texts in it. Ctrl-C ends the server. See docs/serving.md.
    """
    key = _key(options["api_key_file"])
    check_serve_extra("refdec serve")

    from refdec.serve import run
    from refdec.serve.app import create_app
    from refdec.serve.studies.router import router
    from refdec.serve.studies.store import open_to_raters

    run.check_address(options["host"], key)
    with open_to_raters(options["studies"]) as studies, run.listen(options["host"], options["port"]) as listening:
        reflector = load_reflector(options)
        limits = Limits.on(reflector.pair.forward.device.type, **given(Limits, options))
        app = create_app(reflector, limits, key=key, studies=router(studies) if studies else None)
        with ending_on_terminate():
            show_links(studies, options["url"] or run.address_of(listening))
            if not options["quiet"]:
                click.echo(f"refdec: serving on {run.address_of(listening)} (Ctrl-C ends it)", err=True)
            run.set_up_log(options["quiet"])
            run.server_for(app).run([listening])
    return 0


def _key(file: Path | None) -> str | None:
    """The API key in a file or in the environment, if there is one."""
    if file is None:
        return os.environ.get(KEY_VARIABLE) or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The API key cannot be read from {file} ({type(error).__name__}).") from None
