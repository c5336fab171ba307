"""One run of a command: models loaded when they are first needed, results as they come, errors that do not stop it.

Knows nothing of how a task works: a command says what is done with an input, and how its result looks.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refdec.cli.inputs import ARGUMENT, Origin
from refdec.cli.options import constraints_from, given
from refdec.cli.progress import Progress
from refdec.cli.selection import explained, shown
from refdec.errors import InputError
from refdec.files.values import HALF
from refdec.files.whole import check_writable, write_whole
from refdec.settings import FingerprintSettings

if TYPE_CHECKING:
    from rich.console import Console

    from refdec.results import Explanation, Paraphrase, ParaphraseResult
    from refdec.tasks.reflector import Reflector


def check_output(path: Path, options: dict[str, Any]) -> None:
    """Refuse a file that cannot be written, that is an input, or that exists and is not to be overwritten."""
    check_writable(path)
    if not path.is_file():  # not there yet, or a pipe or device
        return
    for name in ("file", "document", "fingerprint"):
        source = options.get(name)
        if source is not None and source.exists() and path.samefile(source):
            raise InputError(f"{path} is an input, too. Name another file to write to.")
    if not options["force"]:
        raise InputError(f"{path} exists. Name another file, or overwrite it with --force.")


def load_reflector(options: dict[str, Any]) -> Reflector:
    """The models that the options name."""
    from refdec.lm.pair import load_pair
    from refdec.tasks.reflector import Reflector

    names = options["forward"], options["backward"]
    others = {name: options.get(name) for name in ("device", "precision", "examples")}
    return Reflector(load_pair(*names, **others))


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM): as Ctrl-C, with another exit code."""


def _terminate(*_: object) -> None:
    raise Terminated


@contextmanager
def ending_on_terminate() -> Iterator[None]:
    """SIGTERM ends what is done here as Ctrl-C does."""
    before: Any = signal.getsignal(signal.SIGTERM)
    with suppress(ValueError):  # not the main thread: whoever started it ends it in another way
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        with suppress(ValueError):
            signal.signal(signal.SIGTERM, before)


class CommandRun:
    """Used with `with`: on leaving, also by Ctrl-C or SIGTERM, the page of what was explained so far is written.

    `arguments` are those of the reflector's methods that the options name; wrong constraints are refused here, before
    models are loaded.
    """

    def __init__(self, options: dict[str, Any], kind: type[FingerprintSettings]) -> None:
        self._options = options
        self._page: Path | None = options.get("html")
        self._progress = Progress(options["quiet"])
        self.stage, self.tell = self._progress.stage, self._progress.tell
        self.arguments = {"settings": options["preset"], "stage": self.stage, **given(kind, options)}
        if "keep" in options:
            self.arguments |= {"constraints": constraints_from(options), "explain": explained(options)}
        self._explanations: list[Explanation] = []
        self._begun = self._code = 0
        self._printed = False
        self._ending = ending_on_terminate()

    def __enter__(self) -> CommandRun:
        if self._page is not None:
            check_output(self._page, self._options)
        self._ending.__enter__()
        self._progress.__enter__()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._progress.__exit__()
        if self._page is not None and self._explanations:
            from refdec.page import page

            write_whole(self._page, page(self._explanations))
            self.tell(f"the explanations are in {self._page}")
        if isinstance(error, KeyboardInterrupt) and self._printed:
            self.tell("the results printed so far are complete")
        self._ending.__exit__(None, None, None)

    @cached_property
    def reflector(self) -> Reflector:
        return load_reflector(self._options)

    def exit_code(self) -> int:
        if not self._begun:
            raise InputError("There was no text to work on: the input is empty.")
        return self._code

    @contextmanager
    def on(self, origin: Origin = ARGUMENT, **names: str) -> Iterator[None]:
        """Work on one input. What is wrong with it is reported under its names, and the next one can go on."""
        try:
            yield
        except InputError as error:
            self.report(error, origin, **names)
        else:
            self._begun += 1
            self._progress.done()

    def report(self, error: InputError, origin: Origin, **names: str) -> None:
        """Say what is wrong with an input: a line on standard error, or a JSON line among the results."""
        self._begun += 1
        self._code = 2
        with self._pause():
            if self._options.get("as_json"):
                line = {"line": origin.line} if origin.line else {}
                click.echo(json_line({**line, **names, "error": str(error)}))
            else:
                click.echo(f"refdec: {origin}{error}", err=True)

    def content(self, result: dict[str, Any], explanation: Explanation | None, note: str = "") -> dict[str, Any]:
        """A result as a JSON object, with its note if it has one, and with its reasons if they are asked for."""
        reasons = explanation.to_dict() if explanation and self._options["explain"] else {}
        return result | reasons | ({"note": note} if note else {})

    def put(
        self,
        contents: Sequence[dict[str, Any]],
        explanations: Sequence[Explanation | None],
        show: Callable[[Console], None],
    ) -> None:
        """Print results, as lines of JSON or as tables, and keep their explanations for the page."""
        from rich.console import Console

        from refdec.cli.explain import show_explanation

        asked_for = [explanation for explanation in explanations if explanation is not None]
        self._explanations += asked_for  # first: Ctrl-C right after a result was printed must not lose its explanation
        self._printed = True
        with self._pause():
            if self._options["as_json"]:
                for content in contents:
                    click.echo(json_line(content))
            else:
                console = Console(highlight=False)
                show(console)
                for explanation in asked_for if self._options["explain"] else []:
                    show_explanation(console, explanation)

    def put_ranked(self, result: ParaphraseResult, chosen: tuple[Paraphrase, ...], note: str) -> None:
        """Print the chosen paraphrases or rewritings of a source, and keep their explanation for the page."""
        from refdec.cli.render import show_results

        explanation = shown(result.explanation, (*chosen, *result.copies), note)
        content = self.content(result.to_dict(chosen), explanation, note)
        self.put([content], [explanation], lambda console: show_results(console, result, chosen, note))

    def put_text(self, text: str) -> None:
        """Print a text and nothing else, with one line break at its end."""
        self._printed = True
        with self._pause():
            click.echo(text, nl=not text.endswith("\n"))

    def fail(self, origin: Origin, words: str) -> None:
        """Say that a good input has no result; the exit code will be 1, unless there is worse."""
        self._code = self._code or 1
        with self._pause():
            click.echo(f"refdec: {origin}{words}", err=True)

    @contextmanager
    def _pause(self) -> Iterator[None]:
        """Take the progress line away while something is printed."""
        self._progress.pause()
        yield
        sys.stdout.flush()
        self._progress.resume()


def json_line(content: dict[str, Any]) -> str:
    line = json.dumps(content, ensure_ascii=False)
    return json.dumps(content) if HALF.search(line) else line  # bytes that were not UTF-8 are escaped
