"""One run of a command: models loaded when they are first needed, results as they come, errors that do not stop it.

Knows nothing of tasks: a command says what is done with an input, and how its result looks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from refdec.cli.options import given
from refdec.cli.progress import Progress
from refdec.errors import InputError
from refdec.files.whole import check_writable, write_whole
from refdec.settings import FingerprintSettings

if TYPE_CHECKING:
    from rich.console import Console

    from refdec.results import Explanation
    from refdec.tasks.reflector import Reflector


def load_reflector(options: dict[str, Any]) -> Reflector:
    """The models that the options name."""
    from refdec.lm.pair import load_pair
    from refdec.tasks.reflector import Reflector

    names = options["forward"], options["backward"]
    return Reflector(load_pair(*names, device=options["device"], precision=options["precision"]))


class Work:
    """Used with `with`: on leaving, also by Ctrl-C, the page of what was explained so far is written."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._progress = Progress(options["quiet"])
        self._explanations: list[Explanation] = []
        self._begun = 0
        self._failed = False
        self.stage = self._progress.stage

    def __enter__(self) -> Work:
        if self._page is not None:
            check_writable(self._page)
        self._progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.__exit__(kind, error, trace)
        if self._page is not None and self._explanations:
            from refdec.page import page

            write_whole(self._page, page(self._explanations))
            self.tell(f"the explanations are in {self._page}")

    @cached_property
    def reflector(self) -> Reflector:
        return load_reflector(self._options)

    def arguments(self, kind: type[FingerprintSettings]) -> dict[str, Any]:
        """What every method of a reflector takes: the settings that were named, and who is told of progress."""
        return {"settings": self._options["preset"], "stage": self.stage, **given(kind, self._options)}

    @property
    def explains(self) -> bool:
        """Whether somebody wants to see the reasons for results."""
        return bool(self._options["explain"] or self._page)

    def exit_code(self) -> int:
        if not self._begun:
            raise InputError("There was no text to work on: the input is empty.")
        return 2 if self._failed else 0

    @contextmanager
    def on(self, **names: str) -> Iterator[None]:
        """Work on one input. What is wrong with it is reported under its names, and the next one can go on."""
        self._begun += 1
        try:
            yield
        except InputError as error:
            self.report(error, **names)
        else:
            self._progress.done()

    def report(self, error: InputError, place: str = "", **names: Any) -> None:
        """Say what is wrong with an input: a line on standard error, or a JSON line among the results."""
        self._begun += 1
        self._failed = True
        with self._pause():
            if self._options.get("as_json"):
                click.echo(json_line({**names, "error": str(error)}))
            else:
                click.echo(f"refdec: {place}{error}", err=True)

    def content(self, result: dict[str, Any], explanation: Explanation | None, note: str = "") -> dict[str, Any]:
        """A result as a JSON object, with a note where there is one, and with its reasons where they are wanted."""
        from refdec.cli.explain import explanation_content

        reasons = explanation_content(explanation) if explanation and self._options["explain"] else {}
        return result | reasons | ({"note": note} if note else {})

    def put(
        self,
        contents: Sequence[dict[str, Any]],
        explanations: Sequence[Explanation | None],
        show: Callable[[Console], None],
    ) -> None:
        """Print results, as lines of JSON or as people like to see them, and keep their explanations for the page."""
        from rich.console import Console

        from refdec.cli.explain import show_explanation

        known = [explanation for explanation in explanations if explanation is not None]
        with self._pause():
            if self._options["as_json"]:
                for content in contents:
                    click.echo(json_line(content))
            else:
                console = Console(highlight=False)
                show(console)
                for explanation in known if self._options["explain"] else []:
                    show_explanation(console, explanation)
        self._explanations += known

    def put_text(self, text: str) -> None:
        """Print a text and nothing else, with one line break at its end."""
        with self._pause():
            click.echo(text, nl=not text.endswith("\n"))

    def fail(self, words: str) -> NoReturn:
        """End with exit code 1 where the input was fine, and what was asked for still cannot be given."""
        with self._pause():
            click.echo(f"refdec: {words}", err=True)
        raise click.exceptions.Exit(1)

    def tell(self, words: str) -> None:
        if not self._options["quiet"]:
            click.echo(f"refdec: {words}", err=True)

    @property
    def _page(self) -> Any:
        return self._options.get("html")

    @contextmanager
    def _pause(self) -> Iterator[None]:
        """Take the progress away while something is printed."""
        self._progress.pause()
        yield
        sys.stdout.flush()
        self._progress.resume()


def json_line(content: dict[str, Any]) -> str:
    line = json.dumps(content, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # bytes that were no text: escape them
        return json.dumps(content)
    return line
