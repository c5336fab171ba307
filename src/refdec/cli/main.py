"""`refdec`: the group of commands, and what happens when one of them fails.

Exit codes: 0 fine, 2 bad input or usage, 130 stopped by Ctrl-C, 143 by SIGTERM, 1 anything else.
"""

from __future__ import annotations

import os
import signal
import sys

import click

import refdec
from refdec.cli.batch import batch_command
from refdec.cli.command_run import Terminated
from refdec.cli.diff import diff_command
from refdec.cli.evaluate import evaluate_command
from refdec.cli.fingerprint import fingerprint_command
from refdec.cli.infill import infill_command
from refdec.cli.methods import method_command
from refdec.cli.paraphrase import paraphrase_command
from refdec.cli.rewrite import rewrite_command
from refdec.cli.score import score_command
from refdec.cli.serve import serve_command
from refdec.cli.study import study_command
from refdec.cli.train import train_command
from refdec.errors import RefdecError


class _InOrder(click.Group):
    """Lists its commands as they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"refdec, version {refdec.__version__}")
        ctx.exit()


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
def commands() -> None:
    """Rewrite text with two language models that read in opposite directions.

    \b
    Examples:
      refdec paraphrase "How do I learn to cook?"
      refdec infill "She missed the bus. ___ She was late for work."
      refdec rewrite "It was late. [[We were very tired.]] So we left."
      refdec score "The train was late." "The train came late."
      refdec diff "The show took place in May." "The show happened in June."
      refdec fingerprint "How do I learn to cook?" -o cook.json
      refdec batch paraphrase questions.txt paraphrases.jsonl
      refdec evaluate quora --data DIR
      refdec method list
      refdec study create rd=rd.jsonl mt=mt.csv --data originals.jsonl -o study.db
      refdec train stories.txt -o pair --minutes 0.1
      refdec serve --port 9000

    refdec COMMAND --help explains a command and its options.
    """


for command in (
    paraphrase_command,
    infill_command,
    rewrite_command,
    score_command,
    diff_command,
    fingerprint_command,
    batch_command,
    evaluate_command,
    method_command,
    study_command,
    train_command,
    serve_command,
):
    commands.add_command(command)


def main() -> None:
    """The entry point: one line instead of a traceback."""
    try:
        sys.exit(commands(prog_name="refdec", standalone_mode=False) or 0)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt) as stop:
        click.echo("refdec: stopped.", err=True)
        sys.exit(128 + (signal.SIGTERM if isinstance(stop.__cause__, Terminated) else signal.SIGINT))
    except BrokenPipeError:  # the reader of our output has gone (| head); that is its right
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except RefdecError as error:
        click.echo(f"refdec: {error}", err=True)
        sys.exit(2)
    except Exception as error:
        if os.environ.get("REFDEC_DEBUG"):
            raise
        click.echo(f"refdec: {type(error).__name__}: {error} (REFDEC_DEBUG=1 shows where)", err=True)
        sys.exit(1)
