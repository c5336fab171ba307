"""What refdec itself says for the rows of a data set, as files of outputs that grow line by line.

An interrupted run goes on where it stopped. Knows nothing of metrics: outputs are made once and scored as often as
anybody likes, also on another machine.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from refdec.evaluate.data import Example, Gap, Graded, Segment
from refdec.evaluate.outputs import OutputFile, Row
from refdec.results import Score
from refdec.settings import InfillSettings, ParaphraseSettings, ScoreSettings
from refdec.tasks.reflector import Reflector
from refdec.tasks.signature import signature

Step = Callable[[int, int], None]
"""Is told how many rows are done, and of how many."""


def paraphrases(
    reflector: Reflector, examples: Sequence[Example], settings: ParaphraseSettings, path: Path, step: Step
) -> None:
    """Ranked paraphrases of every source; one that stands in several rows is paraphrased once."""

    def rows(todo: Sequence[Example]) -> Iterator[Row]:
        sources = [example.source for example in todo]
        results = reflector.paraphrase(iter(dict.fromkeys(sources)), settings)
        left, known = Counter(sources), dict[str, Row]()
        for source in sources:
            if source not in known:
                known[source] = next(results).to_dict()
            left[source] -= 1
            yield known[source] if left[source] else known.pop(source)

    _write(path, signature("paraphrase", reflector.pair, settings), examples, rows, step)


def fillings(reflector: Reflector, gaps: Sequence[Gap], settings: InfillSettings, path: Path, step: Step) -> None:
    """Ranked fillings of every gap."""

    def rows(todo: Sequence[Gap]) -> Iterator[Row]:
        for result in reflector.infill_all(((gap.left, gap.right) for gap in todo), settings):
            yield result.to_dict()

    _write(path, signature("infill", reflector.pair, settings), gaps, rows, step)


def translation_scores(
    reflector: Reflector, segments: Sequence[Segment], settings: ScoreSettings, path: Path, step: Step
) -> None:
    """The Reflective Score of every judged translation, by system; equal translations are scored once."""

    def rows(todo: Sequence[Segment]) -> Iterator[Row]:
        texts = [list(dict.fromkeys(segment.translations.values())) for segment in todo]
        groups = ((segment.reference, mine) for segment, mine in zip(todo, texts, strict=True))
        for segment, mine, scores in zip(todo, texts, reflector.score_all(groups, settings), strict=True):
            found = dict(zip(mine, scores, strict=True))
            yield {"scores": {system: _numbers(found[text]) for system, text in segment.translations.items()}}

    _write(path, signature("score", reflector.pair, settings), segments, rows, step)


def pair_scores(reflector: Reflector, pairs: Sequence[Graded], settings: ScoreSettings, path: Path, step: Step) -> None:
    """The Reflective Score of two sentences, each once as the reference of the other."""

    def rows(todo: Sequence[Graded]) -> Iterator[Row]:
        groups = (group for item in todo for group in ((item.first, [item.second]), (item.second, [item.first])))
        scored = reflector.score_all(groups, settings)
        for _ in todo:
            (forth,), (back,) = next(scored), next(scored)
            yield {"scores": {"first": _numbers(forth), "second": _numbers(back)}}

    _write(path, signature("score", reflector.pair, settings), pairs, rows, step)


def _numbers(score: Score) -> dict[str, float]:
    return {name: round(getattr(score, name), 5) for name in ("score", "relative", "span", "fluency")}


def _write(
    path: Path, mark: str, items: Sequence[Any], rows: Callable[[Sequence[Any]], Iterable[Row]], step: Step
) -> None:
    """Rows for the items that the file does not have yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with OutputFile(path, mark, [str(item.id) for item in items]) as file:
        todo = [item for item in items if str(item.id) not in file.done]
        if not todo:
            return
        step(len(file.done), len(items))
        began = time.perf_counter()
        for item, row in zip(todo, rows(todo), strict=True):
            now = time.perf_counter()
            file.append({"id": str(item.id), **row, "signature": mark, "seconds": round(now - began, 3)})
            began = now
            step(len(file.done), len(items))
