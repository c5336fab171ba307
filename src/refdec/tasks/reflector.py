"""The front door in Python: a loaded pair of models and the tasks it can do.

What callers give is checked in `arguments.py`; each task is in a file of its own name.
"""

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
from refdec.tasks import arguments
from refdec.tasks.constraints import Constraints
from refdec.tasks.describe import Stage, fingerprint, prepare
from refdec.tasks.fingerprint import Fingerprint
from refdec.tasks.infill import infill, split_blanks
from refdec.tasks.paraphrase import paraphrase
from refdec.tasks.rewrite import rewrite
from refdec.tasks.score import score
from refdec.text.cleaning import clean

INPUTS_AT_ONCE = 48
"""Texts that a GPU works on together. Between steps each holds little; memory limits what one pass holds."""


class Reflector:
    """Rewrites text with a pair of language models.

    In every method `settings` is a settings object of the task or the name of a preset; without it the device decides.
    Single settings can be changed by name. `constraints` are words to keep and to avoid. `explain` is how many of the
    best candidates are explained token by token. `stage` is called with a few words whenever a new step begins.

    >>> reflector = Reflector()
    >>> print(reflector.paraphrase("How do I learn to cook?"))  # doctest: +SKIP
    """

    def __init__(
        self, pair: Pair | None = None, *, device: str | torch.device | None = None, precision: str | None = None
    ) -> None:
        """Without a pair, the one that comes with the package is loaded, onto a GPU where there is one."""
        if isinstance(pair, str | Path):
            raise InputError(f"A loaded pair is needed, not its name: Reflector(load_pair({str(pair)!r})).")
        self.pair = pair if pair is not None else load_pair(device=device, precision=precision)

    def settings(
        self,
        kind: type[AnySettings],
        chosen: AnySettings | str | None = None,
        changes: dict[str, Any] | None = None,
        fingerprint: Fingerprint | None = None,
    ) -> AnySettings:
        """Settings of a task: an object, a preset by name, or the default of device and pair, with changes.

        With a fingerprint, settings that are not named are those of the fingerprint.
        """
        arguments.refuse_misplaced(kind, changes or ())
        saved = None if fingerprint is None else fingerprint.settings
        device, examples = self.pair.forward.device.type, self.pair.examples is not None
        return resolve(kind, chosen, changes or {}, device, saved, examples)

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
        constraints: Constraints | None = None,
        fingerprint: Fingerprint | str | Path | None = None,
        explain: int = 0,
        stage: Stage | None = None,
        **changes: Any,
    ) -> ParaphraseResult | list[ParaphraseResult] | Iterator[ParaphraseResult]:
        """Ranked paraphrases of a text, of each text of a list, or of an iterator, whose results come as they are made.

        With a fingerprint, or the name of its file, contexts are not sampled again, and the text may be None.
        """
        saved = arguments.loaded(fingerprint)
        chosen = self.settings(ParaphraseSettings, settings, changes, saved)
        options = {"constraints": arguments.constraints(constraints), **arguments.reporting(explain, stage)}
        if text is None and saved is not None:
            text = saved.text
        if text is None:
            raise InputError("There is no text to paraphrase. Give one, or a fingerprint.")
        if isinstance(text, str):
            return run(self.pair, paraphrase(self.pair, text, chosen, fingerprint=saved, **options))
        texts = arguments.several(text, "paraphrase takes a text, or several")
        if saved is not None:
            raise InputError("A fingerprint is of one text. Paraphrase texts with fingerprints one by one.")
        if isinstance(text, Sequence):  # a bad text is refused before an hour is spent on the others
            self._check_each("Text", text, chosen, chosen.extra_tokens)
        results = self._all(paraphrase(self.pair, item, chosen, **options) for item in texts)
        return list(results) if isinstance(text, Sequence) else results

    def infill(
        self,
        left: str,
        right: str | None = None,
        settings: InfillSettings | str | None = None,
        *,
        constraints: Constraints | None = None,
        explain: int = 0,
        stage: Stage | None = None,
        **changes: Any,
    ) -> InfillResult:
        """Ranked fillings of the gap between two texts, one of which may be empty, or of the ___ in a single text."""
        gap = left if right is None and isinstance(left, str) and "___" in left else (left, right or "")
        (result,) = self.infill_all([gap], settings, constraints=constraints, explain=explain, stage=stage, **changes)
        return result

    def infill_all(
        self,
        gaps: Iterable[str | tuple[str, str]],
        settings: InfillSettings | str | None = None,
        *,
        constraints: Constraints | None = None,
        explain: int = 0,
        stage: Stage | None = None,
        **changes: Any,
    ) -> Iterator[InfillResult]:
        """Fillings of many gaps, in order. Each is a text with ___, or the texts before and after the gap."""
        chosen = self.settings(InfillSettings, settings, changes)
        options = {"constraints": arguments.constraints(constraints), **arguments.reporting(explain, stage)}

        async def work(gap: str | tuple[str, str]) -> InfillResult:
            return await infill(self.pair, *arguments.sides(gap), chosen, **options)

        return self._all(map(work, arguments.several(gaps, "infill_all takes several gaps")))

    def fill(self, text: str, settings: InfillSettings | str | None = None, **options: Any) -> list[InfillResult]:
        """Fill every ___ of a text, from left to right; each sees what the ones before it were filled with."""
        left, *others = split_blanks(clean(text))
        results: list[InfillResult] = []
        for right in others:
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
        constraints: Constraints | None = None,
        explain: int = 0,
        stage: Stage | None = None,
        **changes: Any,
    ) -> RewriteResult:
        """Ranked rewritings of a span between the texts before and after it.

        The span can be given with its neighbours, with the document that contains it, or as a document with [[span]].
        """
        spot = {"span": span, "left": left, "right": right} | ({} if document is None else {"document": document})
        (result,) = self.rewrite_all([spot], settings, constraints=constraints, explain=explain, stage=stage, **changes)
        return result

    def rewrite_all(
        self,
        documents: Iterable[str | Mapping[str, str]],
        settings: RewriteSettings | str | None = None,
        *,
        constraints: Constraints | None = None,
        explain: int = 0,
        stage: Stage | None = None,
        **changes: Any,
    ) -> Iterator[RewriteResult]:
        """Rewritings of many spans, in order.

        Each is a document with [[span]], or a mapping of `span` and its `left`, `right` or `document`.
        """
        chosen = self.settings(RewriteSettings, settings, changes)
        options = {"constraints": arguments.constraints(constraints), **arguments.reporting(explain, stage)}

        async def work(document: str | Mapping[str, str]) -> RewriteResult:
            return await rewrite(self.pair, *arguments.place(document), chosen, **options)

        return self._all(map(work, arguments.several(documents, "rewrite_all takes several spans")))

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
        stage: Stage | None = None,
        **changes: Any,
    ) -> Score | list[Score]:
        """The Reflective Score of a candidate, or of each of a list, against a reference.

        With a fingerprint of the reference, contexts are not sampled again, and the reference may be None.
        """
        options: dict[str, Any] = {"fingerprint": fingerprint, "explain": explain, "stage": stage}
        (scores,) = self.score_all([(reference, candidate)], settings, **options, **changes)
        return scores[0] if isinstance(candidate, str) else scores

    def score_all(
        self,
        groups: Iterable[tuple[str | None, str | Sequence[str]]],
        settings: ScoreSettings | str | None = None,
        *,
        fingerprint: Fingerprint | str | Path | None = None,
        explain: bool = False,
        stage: Stage | None = None,
        **changes: Any,
    ) -> Iterator[list[Score]]:
        """Scores for many references, in order. Each group is a reference and its candidate, or a list of candidates.

        With a fingerprint, the reference of every group is the text of the fingerprint, or None.
        """
        saved = arguments.loaded(fingerprint)
        chosen = self.settings(ScoreSettings, settings, changes, saved)
        options = {"fingerprint": saved, **arguments.reporting(explain, stage)}

        async def work(group: tuple[str | None, str | Sequence[str]]) -> list[Score]:
            reference, candidates = arguments.group(group)
            if reference is None and saved is None:
                raise InputError("There is no reference to score against. Give one, or its fingerprint.")
            if len(candidates) > 1:
                self._check_each("Candidate", candidates, chosen)
            return await score(self.pair, reference, candidates, chosen, **options)

        return self._all(map(work, arguments.several(groups, "score_all takes several references")))

    def fingerprint(
        self,
        text: str,
        settings: FingerprintSettings | str | None = None,
        *,
        stage: Stage | None = None,
        **changes: Any,
    ) -> Fingerprint:
        """The contexts that describe a text, with their weights, to be saved and used again."""
        chosen = self.settings(FingerprintSettings, settings, changes)
        return run(self.pair, fingerprint(self.pair, text, chosen, arguments.reporting(0, stage)["stage"]))

    def batch(
        self,
        rows: Iterable[str | Mapping[str, Any]],
        task: str = "paraphrase",
        settings: FingerprintSettings | str | None = None,
        **options: Any,
    ) -> Iterator[dict[str, Any]]:
        """Rows with the results of a task, in order and as they are made, however many rows there are.

        A row is a text or a mapping from columns to cells. It comes back as a mapping with new cells, as `refdec batch`
        writes them, and with an `error` if it cannot be worked on. Options are those of `Mapper`: column, top, ...
        """
        from refdec.batch.mapper import Mapper

        return Mapper(task, settings, reflector=self, **options).rows(rows)

    def inputs_at_once(self, wanted: int | None = None) -> int:
        """How many inputs are worked on together: many on a GPU; one on a CPU, which a single input fills."""
        return (wanted or INPUTS_AT_ONCE) if self.pair.forward.device.type == "cuda" else 1

    def _all(self, tasks: Iterable[Task[Result]]) -> Iterator[Result]:
        """Results in order."""
        return run_all(self.pair, tasks, self.inputs_at_once())

    def _check_each(
        self, what: str, texts: Sequence[str], settings: FingerprintSettings, extra_tokens: int = 0
    ) -> None:
        """Refuse a list with a text that cannot be worked on, and say which."""
        for number, text in enumerate(texts, start=1):
            try:
                prepare(self.pair, text, settings, extra_tokens)
            except InputError as error:
                raise InputError(f"{what} {number} of {len(texts)}: {error}") from error
