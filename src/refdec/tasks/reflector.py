"""The front door in Python: a loaded pair and the tasks it can do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import torch

from refdec.errors import InputError
from refdec.lm.pair import Pair, load_pair
from refdec.reflect.schedule import Result, Task, run, run_all
from refdec.results import InfillResult, ParaphraseResult, RewriteResult, Score
from refdec.settings import (
    AnySettings,
    FingerprintSettings,
    InfillSettings,
    ParaphraseSettings,
    RewriteSettings,
    ScoreSettings,
    resolve,
)
from refdec.tasks.constraints import NONE, Constraints
from refdec.tasks.describe import Stage, fingerprint, prepare, silent
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.infill import infill, split_blanks
from refdec.tasks.paraphrase import paraphrase
from refdec.tasks.rewrite import find_span, rewrite, split_document
from refdec.tasks.score import score

INPUTS_AT_ONCE = 48
"""Texts of a wave on a GPU. What they hold between steps is small; a pass holds what memory allows."""


class Reflector:
    """Rewrites text with a pair of language models.

    In every method, settings is a settings object of the task, the name of a preset, or nothing for what suits the
    machine; single settings can be changed by name. stage is called with a few words whenever a new step begins.

    >>> reflector = Reflector()
    >>> print(reflector.paraphrase("How do I learn to cook?"))  # doctest: +SKIP
    """

    def __init__(
        self, pair: Pair | None = None, *, device: str | torch.device | None = None, precision: str | None = None
    ) -> None:
        """Without a pair, the one that comes with the package, on a GPU where there is one."""
        self.pair = pair if pair is not None else load_pair(device=device, precision=precision)

    def settings(
        self,
        kind: type[AnySettings],
        chosen: AnySettings | str | None = None,
        changes: dict[str, Any] | None = None,
        fingerprint: Fingerprint | None = None,
    ) -> AnySettings:
        """Settings of a task: given, by preset, or the machine's default, with changes.

        With a fingerprint, what is not named is as the fingerprint has it.
        """
        known = None if fingerprint is None else fingerprint.settings
        return resolve(kind, chosen, changes or {}, self.pair.forward.device.type, known)

    @overload
    def paraphrase(
        self, text: str | None, settings: ParaphraseSettings | str | None = None, **options: Any
    ) -> ParaphraseResult: ...

    @overload
    def paraphrase(
        self, text: Sequence[str], settings: ParaphraseSettings | str | None = None, **options: Any
    ) -> list[ParaphraseResult]: ...

    @overload
    def paraphrase(
        self, text: Iterator[str], settings: ParaphraseSettings | str | None = None, **options: Any
    ) -> Iterator[ParaphraseResult]: ...

    def paraphrase(
        self,
        text: str | Sequence[str] | Iterator[str] | None,
        settings: ParaphraseSettings | str | None = None,
        *,
        constraints: Constraints = NONE,
        fingerprint: Fingerprint | str | Path | None = None,
        explain: int = 0,
        stage: Stage = silent,
        **changes: Any,
    ) -> ParaphraseResult | list[ParaphraseResult] | Iterator[ParaphraseResult]:
        """Ranked paraphrases of a text, of each text of a list, or of an iterator, whose results come as they are made.

        With a fingerprint, or the name of its file, contexts are not sampled again, and the text may be None.
        """
        known = _fingerprint(fingerprint)
        chosen = self.settings(ParaphraseSettings, settings, changes, known)
        options: dict[str, Any] = {"constraints": constraints, "explain": explain, "stage": stage}
        if text is None or isinstance(text, str):
            if text is None and known is None:
                raise InputError("There is no text to paraphrase. Give one, or a fingerprint.")
            source = known.text if known is not None and text is None else text or ""
            return run(self.pair, paraphrase(self.pair, source, chosen, fingerprint=known, **options))
        if known is not None:
            raise InputError("A fingerprint is of one text. Paraphrase texts with fingerprints one by one.")
        if isinstance(text, Sequence):
            for number, item in enumerate(text, start=1):  # a bad text is told before an hour is spent on the others
                try:
                    prepare(self.pair, item, chosen, chosen.extra_tokens)
                except InputError as error:
                    raise InputError(f"Text {number} of {len(text)}: {error}") from error
        results = self._all(paraphrase(self.pair, item, chosen, **options) for item in text)
        return list(results) if isinstance(text, Sequence) else results

    def infill(
        self,
        left: str,
        right: str = "",
        settings: InfillSettings | str | None = None,
        *,
        constraints: Constraints = NONE,
        explain: int = 0,
        stage: Stage = silent,
        **changes: Any,
    ) -> InfillResult:
        """Ranked fillings of the gap between two texts; one of them may be empty."""
        chosen = self.settings(InfillSettings, settings, changes)
        task = infill(self.pair, left, right, chosen, constraints=constraints, explain=explain, stage=stage)
        return run(self.pair, task)

    def infill_all(
        self, gaps: Iterable[tuple[str, str]], settings: InfillSettings | str | None = None, **changes: Any
    ) -> Iterator[InfillResult]:
        """Fillings of many gaps, each the text before it and the text after it, in order."""
        chosen = self.settings(InfillSettings, settings, changes)
        return self._all(infill(self.pair, left, right, chosen) for left, right in gaps)

    def fill(self, text: str, settings: InfillSettings | str | None = None, **options: Any) -> list[InfillResult]:
        """Fill every ___ of a text, from left to right; each sees what the ones before it were filled with."""
        parts = split_blanks(text)
        results: list[InfillResult] = []
        left = parts[0]
        for right in parts[1:]:
            results.append(self.infill(left, right, settings, **options))
            left = results[-1].filled
        return results

    def rewrite(
        self,
        span: str,
        settings: RewriteSettings | str | None = None,
        *,
        left: str = "",
        right: str = "",
        document: str | None = None,
        constraints: Constraints = NONE,
        explain: int = 0,
        stage: Stage = silent,
        **changes: Any,
    ) -> RewriteResult:
        """Ranked rewritings of a span between the texts before and after it.

        The span can be given with its neighbours, with the document it stands in, or as a document with [[span]].
        """
        if document is not None:
            left, span, right = find_span(document, span)
        elif not (left or right) and "[[" in span:
            left, span, right = split_document(span)
        chosen = self.settings(RewriteSettings, settings, changes)
        task = rewrite(self.pair, left, span, right, chosen, constraints=constraints, explain=explain, stage=stage)
        return run(self.pair, task)

    def rewrite_all(
        self, documents: Iterable[str], settings: RewriteSettings | str | None = None, **changes: Any
    ) -> Iterator[RewriteResult]:
        """Rewritings of the [[span]] in each of many documents, in order."""
        chosen = self.settings(RewriteSettings, settings, changes)
        return self._all(rewrite(self.pair, *split_document(document), chosen) for document in documents)

    @overload
    def score(
        self, reference: str | None, candidate: str, settings: ScoreSettings | str | None = None, **options: Any
    ) -> Score: ...

    @overload
    def score(
        self,
        reference: str | None,
        candidate: Sequence[str],
        settings: ScoreSettings | str | None = None,
        **options: Any,
    ) -> list[Score]: ...

    def score(
        self,
        reference: str | None,
        candidate: str | Sequence[str],
        settings: ScoreSettings | str | None = None,
        *,
        fingerprint: Fingerprint | str | Path | None = None,
        explain: bool = False,
        stage: Stage = silent,
        **changes: Any,
    ) -> Score | list[Score]:
        """The Reflective Score of a candidate, or of each of a list, against a reference.

        With a fingerprint of the reference, contexts are not sampled again, and the reference may be None.
        """
        known = _fingerprint(fingerprint)
        if reference is None and known is None:
            raise InputError("There is no reference to score against. Give one, or its fingerprint.")
        chosen = self.settings(ScoreSettings, settings, changes, known)
        candidates = [candidate] if isinstance(candidate, str) else candidate
        results = run(
            self.pair,
            score(self.pair, reference, candidates, chosen, fingerprint=known, explain=explain, stage=stage),
        )
        return results[0] if isinstance(candidate, str) else results

    def score_all(
        self,
        groups: Iterable[tuple[str, Sequence[str]]],
        settings: ScoreSettings | str | None = None,
        **changes: Any,
    ) -> Iterator[list[Score]]:
        """Scores for many references, each with its candidates, in order."""
        chosen = self.settings(ScoreSettings, settings, changes)
        return self._all(score(self.pair, reference, candidates, chosen) for reference, candidates in groups)

    def fingerprint(
        self, text: str, settings: FingerprintSettings | str | None = None, *, stage: Stage = silent, **changes: Any
    ) -> Fingerprint:
        """The contexts that describe a text, with their weights, to be saved and used again."""
        chosen = self.settings(FingerprintSettings, settings, changes)
        return run(self.pair, fingerprint(self.pair, text, chosen, stage))

    def batch(
        self,
        rows: Iterable[str | Mapping[str, Any]],
        task: str = "paraphrase",
        settings: FingerprintSettings | str | None = None,
        **options: Any,
    ) -> Iterator[dict[str, Any]]:
        """Rows with what a task makes of each, in order and as they are made, however many there are.

        A row is a text or a mapping from columns to cells. What comes back is a mapping with new cells, as `refdec
        batch` writes them; one that cannot be worked on has an `error`. Options are those of `Mapper`: column, top, ...
        """
        from refdec.batch.mapper import Mapper

        return Mapper(task, settings, reflector=self, **options).rows(rows)

    def inputs_at_once(self, wished: int | None = None) -> int:
        """A GPU takes many inputs at once; a CPU, which one fills, takes them one by one, whatever is wished."""
        return (wished or INPUTS_AT_ONCE) if self.pair.forward.device.type == "cuda" else 1

    def _all(self, tasks: Iterable[Task[Result]]) -> Iterator[Result]:
        """Results in order."""
        return run_all(self.pair, tasks, self.inputs_at_once())


def _fingerprint(given: Fingerprint | str | Path | None) -> Fingerprint | None:
    return Fingerprint.load(given) if isinstance(given, str | Path) else given
