"""`refdec`: the group of commands, and what happens when one of them fails.

Exit codes: 0 fine, 2 bad input or usage, 1 anything else.
"""

from __future__ import annotations

import os
import sys

import click

from refdec.cli.paraphrase import paraphrase_command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="refdec", prog_name="refdec")
def commands() -> None:
    """Rewrite text with two language models that read in opposite directions.

    \b
    Example:
      refdec paraphrase "How do I learn to cook?"
    """


commands.add_command(paraphrase_command)


def main() -> None:
    """The entry point: no traceback for what a person can mend."""
    from click.exceptions import Abort, ClickException, Exit

    try:
        sys.exit(commands(standalone_mode=False) or 0)
    except Exit as stop:
        sys.exit(stop.exit_code)
    except ClickException as error:
        error.show()
        sys.exit(2)
    except (Abort, KeyboardInterrupt):
        click.echo("refdec: stopped.", err=True)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output has gone (| head); that is its right
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        from refdec.errors import RefdecError

        if isinstance(error, RefdecError):
            click.echo(f"refdec: {error}", err=True)
            sys.exit(2)
        if os.environ.get("REFDEC_DEBUG"):
            raise
        click.echo(f"refdec: {type(error).__name__}: {error} (REFDEC_DEBUG=1 shows where)", err=True)
        sys.exit(1)
