"""Tasks written as if each were alone: their order, what is asked together, and what happens when one fails."""

from __future__ import annotations

import gc
import itertools
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from refdec import (
    InfillSettings,
    ModelError,
    Pair,
    ParaphraseResult,
    ParaphraseSettings,
    Reflector,
    RewriteSettings,
    ScoreSettings,
    load_pair,
)
from refdec.errors import OutOfMemory
from refdec.lm.direction import Direction
from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Tokens
from refdec.reflect import workers
from refdec.reflect.schedule import WAVES, Ask, Shared, desk_of, on_both_sides, run, run_all, together
from refdec.reflect.scoring import own_logprobs, token_logprobs
from refdec.reflect.side import Side
from refdec.reflect.workers import Answering, Observation
from refdec.tasks.infill import infill
from refdec.tasks.paraphrase import paraphrase
from refdec.tasks.rewrite import rewrite
from refdec.tasks.score import score
from tests.conftest import TINY, on_both_engines
from tests.small_pair import small_texts
from tests.table_model import TableModel, random_table

TEXTS = ["How do I learn to cook?", "The train was late again.", "I love it.", "Why?", "My brother lives near the sea."]


@pytest.fixture
def tables(tokens: Tokens) -> Pair:
    """Two tables, which answer nothing here: the answers are functions of the tests."""
    forward, backward = (TableModel(random_table(5, seed=0), direction) for direction in Direction)
    return Pair(forward, backward, tokens, "tables")


class Desk:
    """Answers questions step by step, and remembers which came together."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []

    def double(self, _: LanguageModel, questions: Sequence[int]) -> Answering[list[int]]:
        self.batches.append(list(questions))
        found = []
        for question in questions:
            yield
            found.append(2 * question)
        return found


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_results_come_in_order_however_many_are_under_way(tables: Pair, at_once: int) -> None:
    answer = Desk().double

    async def task(number: int) -> int:
        total = number
        for _ in range(number % 4):  # some are done sooner than those before them
            total = await Ask("phase", tables.forward if number % 2 else tables.backward, answer, total)
        return total

    expected = [number * 2 ** (number % 4) for number in range(11)]
    assert list(run_all(tables, (task(number) for number in range(11)), at_once)) == expected


def test_questions_of_one_kind_to_one_model_are_asked_together(tables: Pair) -> None:
    desk, other = Desk(), Desk()
    answer, another = desk.double, other.double

    async def task(number: int) -> int:
        first = await Ask("phase", tables.forward, answer, number)
        return await Ask("phase", tables.forward, another, first)

    assert list(run_all(tables, map(task, range(4)), at_once=4)) == [0, 4, 8, 12]
    assert [sorted(batch) for batch in desk.batches] == [[0, 1, 2, 3]]
    assert [sorted(batch) for batch in other.batches] == [[0, 2, 4, 6]]


def test_parts_of_one_task_ask_together_and_come_back_in_order(tables: Pair) -> None:
    desk = Desk()
    answer = desk.double

    async def part(number: int) -> int:
        return await Ask("phase", tables.forward, answer, number)

    async def row(number: int) -> list[int]:
        return await together(part(10 * number + place) for place in range(3))

    async def task() -> list[list[int]]:
        return await together(row(number) for number in range(2))

    assert run(tables, task()) == [[0, 2, 4], [20, 22, 24]]
    assert [sorted(batch) for batch in desk.batches] == [[0, 1, 2, 10, 11, 12]]


def test_nothing_together_is_nothing(tables: Pair) -> None:
    async def task() -> list[int]:
        return await together(())

    assert run(tables, task()) == []


@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_shared_work_is_done_once_for_all_who_wait_for_it(tables: Pair, at_once: int) -> None:
    desk = Desk()
    answer = desk.double

    async def work() -> int:
        return await Ask("phase", tables.forward, answer, 21)

    shared = Shared(work)

    async def task(number: int) -> int:
        return number + await shared

    assert list(run_all(tables, map(task, range(9)), at_once)) == [42 + number for number in range(9)]
    assert list(run_all(tables, map(task, range(2)), at_once)) == [42, 43]  # and afterwards
    assert desk.batches == [[21]]


def test_shared_work_that_fails_fails_for_all_who_wait_for_it(tables: Pair) -> None:
    async def work() -> int:
        raise ModelError("no")

    shared = Shared(work)

    async def task() -> str:
        try:
            return str(await shared)
        except ModelError as error:
            return f"refused: {error}"

    assert list(run_all(tables, (task() for _ in range(4)), at_once=2)) == ["refused: no"] * 4


def test_shared_work_that_failed_is_tried_again_by_the_next(tables: Pair) -> None:
    attempts: list[int] = []

    async def work() -> int:
        attempts.append(len(attempts))
        if len(attempts) == 1:
            raise ModelError("for the moment")
        return 42

    shared = Shared(work)

    async def task() -> int:
        return await shared

    with pytest.raises(ModelError, match="for the moment"):
        run(tables, task())
    assert [run(tables, task()), run(tables, task())] == [42, 42]
    assert len(attempts) == 2


def test_shared_work_that_was_left_half_done_is_begun_anew(tables: Pair) -> None:
    desk = Desk()
    answer = desk.double

    async def work() -> int:
        first = await Ask("phase", tables.forward, answer, 10)
        return await Ask("phase", tables.forward, answer, first)

    shared = Shared(work)

    async def task(number: int) -> int:
        return number if number == 0 else number + await shared

    left = run_all(tables, map(task, range(3)), at_once=3)
    assert next(left) == 0
    left.close()
    assert list(run_all(tables, map(task, range(1, 3)), at_once=1)) == [41, 42]


def test_both_models_are_asked_at_the_same_time(tables: Pair) -> None:
    both = threading.Barrier(2, timeout=600)

    def meet(model: LanguageModel, questions: Sequence[str]) -> Answering[list[Direction]]:
        yield
        both.wait()  # for the other model: one after the other would never get past here
        return [model.direction for _ in questions]

    async def work(side: Side) -> Direction:
        return await Ask("phase", side.inward, meet, side.name)

    assert run(tables, on_both_sides(tables, work)) == [Direction.BACKWARD, Direction.FORWARD]


class MishapError(Exception):
    pass


@pytest.mark.parametrize("at_once", [1, 2, 5])
@pytest.mark.parametrize("where", ["before asking", "after asking", "in a part", "in the answer"])
def test_what_a_task_raises_is_raised_in_its_turn_and_nothing_is_left_behind(
    tables: Pair, at_once: int, where: str
) -> None:
    answer = Desk().double
    begun, closed = [], []

    def refuse(_: LanguageModel, questions: Sequence[int]) -> Answering[list[int]]:
        yield
        raise MishapError(str(questions))

    async def part(number: int, fails: bool) -> int:
        found = await Ask("phase", tables.backward, answer, number)
        if fails:
            raise MishapError("a part")
        return found

    async def task(number: int) -> int:
        begun.append(number)
        try:
            fails = number == 2
            if fails and where == "before asking":
                raise MishapError("at once")
            await Ask("phase", tables.forward, answer, number)
            if fails and where == "in the answer":
                await Ask("phase", tables.forward, refuse, number)
            await together(part(number, fails and where == "in a part" and place == 1) for place in range(3))
            if fails:
                raise MishapError("late")
            return number
        finally:
            closed.append(number)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = run_all(tables, map(task, range(7)), at_once)
        assert list(itertools.islice(results, 2)) == [0, 1]
        with pytest.raises(MishapError):
            next(results)
        gc.collect()
    assert sorted(closed) == sorted(begun)
    assert len(begun) <= (2 // at_once + WAVES) * at_once


def test_a_task_can_go_on_after_an_answer_that_failed(tables: Pair) -> None:
    answer = Desk().double

    def refuse(_: LanguageModel, questions: Sequence[int]) -> Answering[list[int]]:
        yield
        raise MishapError(str(questions))

    async def task() -> int:
        try:
            return await Ask("phase", tables.forward, refuse, 1)
        except MishapError:
            return await Ask("phase", tables.forward, answer, 21)

    assert run(tables, task()) == 42


def test_tasks_are_taken_as_they_are_begun_so_there_may_be_no_end_of_them(tables: Pair) -> None:
    answer = Desk().double
    taken: list[int] = []

    async def task(number: int) -> int:
        return await Ask("phase", tables.forward, answer, number)

    def endless() -> Iterator[Any]:
        for number in itertools.count():
            taken.append(number)
            yield task(number)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = run_all(tables, endless(), at_once=3)
        assert taken == []
        assert list(itertools.islice(results, 4)) == [0, 2, 4, 6]
        assert len(taken) <= 3 * (1 + WAVES)
        results.close()
        gc.collect()


def test_observers_are_told_of_every_batch(tables: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Observation] = []
    monkeypatch.setattr(workers, "observers", [seen.append])
    answer = Desk().double

    async def task(number: int) -> int:
        first = await Ask("one", tables.forward, answer, number)
        return await Ask("two", tables.backward, answer, first)

    assert list(run_all(tables, map(task, range(3)), at_once=3)) == [0, 4, 8]
    told = [(item.phase, item.direction, item.questions) for item in seen]
    assert told == [("one", Direction.FORWARD, 3), ("two", Direction.BACKWARD, 3)]
    assert all(item.seconds >= 0 for item in seen)


@pytest.mark.parametrize("ending", ["done", "failed", "left"])
def test_threads_are_shared_while_it_runs_and_given_back(tables: Pair, ending: str) -> None:
    before = torch.get_num_threads()
    seen: list[int] = []

    def count(_: LanguageModel, questions: Sequence[int]) -> Answering[list[int]]:
        yield
        seen.append(torch.get_num_threads())
        return list(questions)

    async def task(number: int) -> int:
        found = await Ask("phase", tables.forward, count, number)
        if ending == "failed":
            raise MishapError
        return found

    try:
        torch.set_num_threads(4)
        results = run_all(tables, map(task, range(3)), at_once=1)
        if ending == "failed":
            with pytest.raises(MishapError):
                next(results)
        elif ending == "left":
            assert next(results) == 0
            results.close()
        else:
            assert list(results) == [0, 1, 2]
        assert torch.get_num_threads() == 4
        assert set(seen) == {2}  # half of them, so that the other model has as many
    finally:
        torch.set_num_threads(before)


def same_words(one: ParaphraseResult, other: ParaphraseResult) -> None:
    assert [context.text for context in one.contexts] == [context.text for context in other.contexts]
    assert sorted(item.text for item in one) == sorted(item.text for item in other)
    scores = {item.text: item.score for item in other}
    for item in one:
        assert item.score == pytest.approx(scores[item.text], abs=1e-2)
    assert [c.weight for c in one.contexts] == pytest.approx([c.weight for c in other.contexts], abs=5e-2)


def test_texts_under_way_together_are_paraphrased_as_if_alone(small_pair: Path) -> None:
    """In float32 no draw here is near enough an edge for rounding to change a word."""
    pair, settings = load_pair(small_pair, device="cpu", precision="float32"), ParaphraseSettings(**TINY)
    texts = small_texts(5)
    at_once = list(run_all(pair, (paraphrase(pair, text, settings) for text in texts), at_once=2))
    assert [found.source for found in at_once] == texts
    assert any(found.candidates for found in at_once)
    for found in at_once:
        same_words(found, Reflector(pair).paraphrase(found.source, settings))


@pytest.mark.long
@on_both_engines
def test_tasks_of_different_kinds_can_be_under_way_together(untrained: Reflector) -> None:
    pair = untrained.pair
    small = {name: value for name, value in TINY.items() if name != "samples"}
    sampled = ParaphraseSettings(**TINY)
    gaps, spans, scores = InfillSettings(tokens=8, **TINY), RewriteSettings(**TINY), ScoreSettings(**small)
    tasks: list[Any] = [
        paraphrase(pair, TEXTS[0], sampled),
        infill(pair, "We ate", "for dinner.", gaps),
        rewrite(pair, "We ate ", "good food", " today.", spans),
        score(pair, TEXTS[1], [TEXTS[2], TEXTS[0]], scores),
    ]
    found = list(run_all(pair, tasks, at_once=4))
    alone: list[Any] = [
        untrained.paraphrase(TEXTS[0], sampled),
        untrained.infill("We ate", "for dinner.", gaps),
        untrained.rewrite("good food", spans, left="We ate ", right=" today."),
    ]
    for one, other in zip(found[:3], alone, strict=True):
        assert type(one) is type(other)
        assert sorted(item.text for item in one) == sorted(item.text for item in other)
    expected = untrained.score(TEXTS[1], [TEXTS[2], TEXTS[0]], scores)
    assert [item.score for item in found[3]] == pytest.approx([item.score for item in expected], abs=1e-3)


@on_both_engines
def test_a_long_text_and_a_long_continuation_can_be_scored_together(untrained: Reflector) -> None:
    """Each fits into the window; the prefix of one with the continuation of the other does not."""
    pair = untrained.pair
    room = pair.window
    long = [5] * (room - 2)

    async def ask(prefix: list[int], rest: list[int]) -> list[torch.Tensor]:
        return await token_logprobs(pair.forward, [prefix], [rest], [[0]])

    pairs = [(long, [3, 4]), ([3, 4], long)]
    found = list(run_all(pair, (ask(*item) for item in pairs), at_once=2))
    for (one,), item in zip(found, pairs, strict=True):
        (alone,) = run(pair, ask(*item))
        assert torch.allclose(one, alone, atol=1e-4)


@on_both_engines
def test_texts_of_different_lengths_are_read_together_as_if_alone(untrained: Reflector) -> None:
    pair = untrained.pair
    texts = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14]]
    rows = run(pair, own_logprobs(pair.forward, texts))
    for row, text in zip(rows, texts, strict=True):
        (alone,) = run(pair, own_logprobs(pair.forward, [text]))
        assert torch.allclose(row, alone, atol=1e-4)


@pytest.mark.parametrize("room", [1, 3, 4])
def test_a_batch_that_does_not_fit_into_memory_is_answered_in_parts(tables: Pair, room: int) -> None:
    sizes = []

    def answer(_: LanguageModel, questions: Sequence[int]) -> Answering[list[int]]:
        sizes.append(len(questions))
        yield
        if len(questions) > room:
            raise torch.cuda.OutOfMemoryError("full")
        return [question + 1 for question in questions]

    async def task(number: int) -> int:
        return await Ask("phase", tables.forward, answer, number)

    assert list(run_all(tables, (task(number) for number in range(7)), at_once=7)) == list(range(1, 8))
    assert sizes[0] == 7
    assert sum(size for size in sizes if size <= room) == 7


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr("refdec.reflect.workers.time.sleep", waited.append)
    return waited


SHORTAGES = [
    torch.OutOfMemoryError("CUDA out of memory."),
    MemoryError(),
    RuntimeError("[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: not enough memory: you tried to allocate"),
]


@pytest.mark.parametrize("shortage", SHORTAGES, ids=lambda error: type(error).__name__)
def test_what_does_not_fit_even_alone_is_one_sentence_and_no_chain_of_errors(
    tables: Pair, shortage: Exception, waits: list[float]
) -> None:
    def answer(_: LanguageModel, questions: Sequence[int]) -> Answering[list[int]]:
        yield
        if 5 in questions:
            raise shortage
        return [2 * question for question in questions]

    async def task(number: int) -> int | Exception:
        try:
            return await Ask("scoring", tables.forward, answer, number)
        except OutOfMemory as error:
            return error

    *others, refused = run_all(tables, map(task, [1, 2, 3, 4, 6, 5]), at_once=6)
    assert others == [2, 4, 6, 8, 12]  # who stood beside it does not notice
    assert isinstance(refused, OutOfMemory)
    assert "does not hold the scoring of one text with these settings. Use fewer or shorter contexts" in str(refused)
    assert refused.__context__ is None
    assert refused.__cause__ is None
    assert sum(waits) > 0


def test_a_text_waits_for_memory_that_another_program_gives_back(tables: Pair, waits: list[float]) -> None:
    def answer(_: LanguageModel, questions: Sequence[int]) -> Answering[list[int]]:
        yield
        if sum(waits) == 0:
            raise torch.OutOfMemoryError("full")
        return [2 * question for question in questions]

    async def task() -> int:
        return await Ask("scoring", tables.forward, answer, 21)

    assert run(tables, task()) == 42


class Arena:
    """Answers in memory that a model has only once, as on a GPU: two batches at a time spoil each other."""

    def __init__(self) -> None:
        self.memory: dict[int, list[int]] = {}

    def double(self, model: LanguageModel, questions: Sequence[int]) -> Answering[list[int]]:
        self.memory[id(model)] = list(questions)
        for _ in range(3):
            yield
            time.sleep(1e-4)  # lets another thread in
        return [2 * question for question in self.memory[id(model)]]


def test_eight_threads_get_the_answers_that_one_gets(tables: Pair) -> None:
    answer = Arena().double

    async def task(number: int) -> int:
        first = await Ask("one", tables.forward, answer, number)
        return await Ask("two", tables.backward, answer, first)

    def work(thread: int) -> list[int]:
        numbers = range(100 * thread, 100 * thread + 10)
        return [run(tables, task(number)) for number in numbers] + list(run_all(tables, map(task, numbers), 4))

    usual = torch.get_num_threads()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert results == [[4 * (100 * thread + place) for place in range(10)] * 2 for thread in range(8)]
    assert torch.get_num_threads() == usual


def test_a_pair_can_be_used_while_results_are_read_from_it(tables: Pair) -> None:
    answer = Arena().double

    async def task(number: int) -> int:
        first = await Ask("one", tables.forward, answer, number)
        return await Ask("two", tables.forward, answer, first)

    results = [(result, run(tables, task(1000 + result))) for result in run_all(tables, map(task, range(9)), 2)]
    assert results == [(4 * number, 4 * (1000 + 4 * number)) for number in range(9)]


def test_a_task_that_uses_its_own_pair_is_refused_and_not_left_waiting_for_itself(tables: Pair) -> None:
    async def inner() -> int:
        return 1

    async def outer() -> int:
        return run(tables, inner())

    with pytest.raises(RuntimeError, match="used the models of the pair that is running it"):
        run(tables, outer())
    assert run(tables, inner()) == 1


def test_the_first_result_is_handed_out_first(tables: Pair) -> None:
    """Later texts fill the gaps that the first leaves; they do not go before it."""
    answered: list[int] = []

    def note(_: LanguageModel, questions: Sequence[int]) -> Answering[list[int]]:
        yield
        answered.extend(questions)
        return list(questions)

    async def task(number: int) -> int:
        for _ in range(5):
            await Ask("phase", tables.forward, note, number)
        return number

    results = run_all(tables, map(task, range(9)), at_once=1)
    assert next(results) == 0
    assert answered == [0] * 5
    for number in range(1, 6):
        assert next(results) == number
        assert answered.count(number) == 5
        assert len(answered) <= 5 * (number + 1) + WAVES
    results.close()


class Phases:
    """Tasks of several phases whose batches are remembered, and something that happens while a phase runs."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.ask = self.answer  # one function, so that all ask the same
        self.batches: list[tuple[str, list[str]]] = []
        self.during: dict[int, Callable[[], Any]] = {}  # by the number of the batch

    def answer(self, _: LanguageModel, questions: Sequence[tuple[str, str]]) -> Answering[list[None]]:
        self.batches.append((questions[0][0], [name for _, name in questions]))
        self.during.pop(len(self.batches), lambda: None)()
        yield
        return [None] * len(questions)

    async def task(self, name: str, phases: str) -> str:
        for phase in phases:
            await Ask(phase, self.model, self.ask, (phase, name))
        return name


def test_a_text_joins_at_the_next_phase_and_leaves_as_soon_as_it_is_ready(tables: Pair) -> None:
    phases = Phases(tables.forward)
    with desk_of(tables).visit() as visit:
        visit.begin_wave([phases.task("long", "abcd")])
        phases.during[2] = lambda: [visit.join(phases.task(name, "a")) for name in ("late", "later")]
        names = []
        while (walk := visit.next_done()) is not None:
            names.append(walk.outcome())
    assert names[-1] == "long"
    assert sorted(names) == ["late", "later", "long"]
    late = ("a", ["late", "later"])  # who joins during one phase is asked together
    assert phases.batches in (
        [("a", ["long"]), ("b", ["long"]), late, ("c", ["long"]), ("d", ["long"])],
        [("a", ["long"]), ("b", ["long"]), ("c", ["long"]), late, ("d", ["long"])],
    )


def test_a_text_that_is_given_up_is_dropped_at_the_next_phase(tables: Pair) -> None:
    phases = Phases(tables.forward)
    with desk_of(tables).visit() as visit:
        kept, dropped = visit.begin_wave([phases.task("kept", "abc"), phases.task("dropped", "abc")])
        phases.during[2] = lambda: visit.give_up(dropped)
        assert visit.next_done() is kept
        assert visit.next_done() is None
    assert phases.batches == [("a", ["kept", "dropped"]), ("b", ["kept", "dropped"]), ("c", ["kept"])]
    assert not dropped.done


def test_runs_that_overlap_leave_the_threads_as_they_found_them(tables: Pair) -> None:
    async def task(number: int) -> int:
        return number

    usual = torch.get_num_threads()
    first, second = (run_all(tables, (task(number) for number in range(9)), 1) for _ in range(2))
    assert (next(first), next(second)) == (0, 0)
    first.close()
    second.close()
    assert torch.get_num_threads() == usual
