"""Every model behind the protocol against the plain one, over a grid of shapes, to 1e-4 nats: float32 rounding."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from refdec import load_pair
from refdec.lm import llama, network, plain
from refdec.lm.cost import Work
from refdec.lm.graph import GraphWriter
from refdec.lm.logprobs import next_logprobs
from refdec.lm.protocol import LanguageModel
from tests.conftest import Tiny
from tests.table_model import TableModel, random_table

TOLERANCE = 1e-4
PREFIXES: dict[str, list[list[int]]] = {
    "one": [[3, 4, 5]],
    "equal": [[1, 2], [3, 4], [5, 6]],
    "ragged": [[7], [1, 2, 3, 4], [9, 8]],
    "empty": [[]],
    "empty among others": [[], [4, 5, 6]],
}


def plain_logprobs(tiny: Tiny, prefix: list[int], tokens: list[int]) -> torch.Tensor:
    """Straight from the model, no cache and no batch: the distribution at each place of the continuation."""
    ids = torch.tensor([[0, *prefix, *tokens]])
    with torch.inference_mode():
        logits: torch.Tensor = tiny.model(input_ids=ids).logits[0].float()
    return logits.log_softmax(-1)[len(prefix) : len(prefix) + len(tokens)]


def near(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("name", PREFIXES)
def test_continuations_are_scored_as_without_a_cache(tiny: Tiny, name: str, length: int) -> None:
    lm, prefixes = tiny.lm, PREFIXES[name]
    tokens = [[(3 * row + place) % 31 for place in range(length)] for row in range(len(prefixes))]
    reading = lm.read(prefixes)
    together = lm.logits(lm.features(reading, torch.tensor(tokens))).log_softmax(-1)
    scored = lm.score(reading, torch.tensor(tokens))
    for row, (prefix, continuation) in enumerate(zip(prefixes, tokens, strict=True)):
        expected = plain_logprobs(tiny, prefix, continuation)
        assert near(together[row], expected)
        assert near(scored[row], expected.gather(1, torch.tensor(continuation)[:, None])[:, 0])


def test_graphs_are_captured_of_kernels_only(small_pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain operations read lengths as they run, and a graph would keep those of its capture."""
    captured: list[network.Network] = []
    monkeypatch.setattr(llama, "Graphs", captured.append)
    load_pair(small_pair, device="cpu", precision="float32")
    assert not captured
    monkeypatch.setattr(network, "operations", lambda _: SimpleNamespace(**vars(plain)))
    pair = load_pair(small_pair, device="cpu", precision="float32")
    models = (pair.forward, pair.backward)
    assert captured == [model.network for model in models if isinstance(model, llama.LlamaLM)]


@pytest.mark.parametrize("name", PREFIXES)
def test_reading_token_by_token_equals_reading_at_once(tiny_lm: LanguageModel, name: str) -> None:
    prefixes = PREFIXES[name]
    reading = tiny_lm.read(prefixes)
    steps = [(7 * place + 5) % 31 for place in range(20)]  # more than a cache has room for at first
    for token in steps:
        reading = tiny_lm.extend(reading, torch.full((len(prefixes),), token))
    at_once = tiny_lm.read([[*prefix, *steps] for prefix in prefixes])
    assert near(next_logprobs(tiny_lm, reading), next_logprobs(tiny_lm, at_once))


@pytest.mark.parametrize("name", PREFIXES)
def test_what_was_written_token_by_token_can_be_continued_at_once(tiny_lm: LanguageModel, name: str) -> None:
    prefixes = PREFIXES[name]
    reading, begun = tiny_lm.read(prefixes), torch.arange(3, 3 + len(prefixes))
    tokens = torch.arange(4 * len(prefixes)).view(len(prefixes), 4)
    for step in range(2):
        reading = tiny_lm.extend(reading, begun + step)
    whole = [[*prefix, 3 + row, 4 + row] for row, prefix in enumerate(prefixes)]
    assert near(tiny_lm.score(reading, tokens), tiny_lm.score(tiny_lm.read(whole), tokens))


@pytest.mark.parametrize("name", PREFIXES)
def test_a_writer_writes_what_extending_reads(tiny_lm: LanguageModel, name: str) -> None:
    prefixes = PREFIXES[name]
    reading = tiny_lm.read(prefixes)
    writer = tiny_lm.writer(reading, 4)
    for token in (5, 11, 2):
        assert near(writer.features, reading.features)
        tokens = torch.full((len(prefixes),), token)
        reading = tiny_lm.extend(reading, tokens)
        writer.append(tokens)
    assert near(writer.features, reading.features)


def test_rows_of_a_writer_go_on_from_where_others_are(tiny_lm: LanguageModel) -> None:
    reading = tiny_lm.read([[5], [5], [5]])
    writer = tiny_lm.writer(reading, 4)
    for tokens in (torch.tensor([3, 4, 5]), torch.tensor([6, 7, 8])):
        writer.append(tokens)
    writer.branch(torch.tensor([0, 2]), torch.tensor([2, 1]))
    assert near(writer.features, tiny_lm.read([[5, 5, 8], [5, 4, 7], [5, 4, 7]]).features)
    writer.append(torch.tensor([9, 9, 10]))
    assert near(writer.features, tiny_lm.read([[5, 5, 8, 9], [5, 4, 7, 9], [5, 4, 7, 10]]).features)


def test_rows_of_a_graph_take_over_what_others_have_written() -> None:
    """Without a GPU: the memory of a graph, whose rows are exchanged in place."""
    keys = torch.arange(2 * 4 * 1 * 3 * 2).view(2, 4, 1, 3, 2).float()  # layers, rows, heads, places, size
    step = SimpleNamespace(
        tail_keys=keys.clone(), tail_values=-keys, index=torch.arange(4), positions=torch.tensor([7, 8, 9, 0])
    )
    writer = object.__new__(GraphWriter)
    writer._step, writer._written, writer.features = step, 2, torch.arange(3)[:, None].float()  # type: ignore[assignment]
    writer.branch(torch.tensor([0, 1]), torch.tensor([1, 2]))
    chosen = [1, 2, 2, 3]
    for places, before in ((step.tail_keys, keys), (step.tail_values, -keys)):
        assert torch.equal(places[..., :2, :], before[:, chosen][..., :2, :])
        assert torch.equal(places[..., 2, :], before[..., 2, :])
    assert step.index.tolist() == chosen
    assert step.positions.tolist() == [8, 9, 9, 0]
    assert writer.features[:, 0].tolist() == [1, 2, 2]


@pytest.mark.parametrize("rows", [[0, 1, 0], [1, 1], [2, 0, 2, 2, 1, 0], [1], [0, 0, 1, 1, 2, 2]])
def test_a_shared_prefix_is_read_once_and_continued_differently(tiny_lm: LanguageModel, rows: list[int]) -> None:
    prefixes = [[1, 2, 3], [9], [4, 5]]
    tokens = list(range(4, 4 + len(rows)))
    continued = tiny_lm.extend(tiny_lm.read(prefixes).select(torch.tensor(rows)), torch.tensor(tokens))
    expected = tiny_lm.read([[*prefixes[row], token] for row, token in zip(rows, tokens, strict=True)])
    assert near(next_logprobs(tiny_lm, continued), next_logprobs(tiny_lm, expected))


def test_rows_that_were_continued_can_be_selected_again(tiny_lm: LanguageModel) -> None:
    reading = tiny_lm.read([[1, 2, 3], [9]])
    reading = tiny_lm.extend(reading.select(torch.tensor([1, 0, 1])), torch.tensor([4, 5, 6]))
    reading = tiny_lm.extend(reading.select(torch.tensor([2, 2, 1])), torch.tensor([7, 8, 7]))
    expected = tiny_lm.read([[9, 6, 7], [9, 6, 8], [1, 2, 3, 5, 7]])
    assert near(next_logprobs(tiny_lm, reading), next_logprobs(tiny_lm, expected))


def test_extending_a_reading_leaves_it_as_it_was(tiny_lm: LanguageModel) -> None:
    reading = tiny_lm.read([[1, 2, 3]])
    first = tiny_lm.extend(tiny_lm.extend(reading, torch.tensor([4])), torch.tensor([5]))
    tiny_lm.extend(tiny_lm.extend(reading, torch.tensor([6])), torch.tensor([7]))
    again = tiny_lm.extend(tiny_lm.extend(reading, torch.tensor([4])), torch.tensor([5]))
    tiny_lm.score(first, torch.tensor([[9, 9, 9]]))
    tiny_lm.extend(first, torch.tensor([10]))
    after_first = tiny_lm.extend(first, torch.tensor([8]))
    assert torch.equal(first.features, again.features)
    expected = tiny_lm.read([[1, 2, 3, 4, 5, 8]])
    assert near(next_logprobs(tiny_lm, after_first), next_logprobs(tiny_lm, expected))


def test_a_window_can_be_filled_to_its_last_place(tiny: Tiny) -> None:
    lm = tiny.lm
    ids = [(5 * place + 2) % 31 for place in range(lm.window)]
    prefix, rest = ids[:40], ids[40:]
    scored = lm.score(lm.read([prefix]), torch.tensor([rest]))[0]
    assert near(scored, plain_logprobs(tiny, prefix, rest).gather(1, torch.tensor(rest)[:, None])[:, 0])


def test_the_head_gives_the_logits_and_its_pull_is_the_adjoint(tiny_lm: LanguageModel) -> None:
    features = tiny_lm.read([[1, 2, 3], [9]]).features
    logits = tiny_lm.head.logits(features)
    assert near(logits.log_softmax(-1), tiny_lm.logits(features).log_softmax(-1))
    chances = torch.rand(2, 31, generator=torch.Generator().manual_seed(0)).softmax(-1)
    assert near((tiny_lm.head.pull(chances) * features).sum(-1), (chances * logits).sum(-1))


def test_mixed_features_are_the_product_of_experts(tiny_lm: LanguageModel) -> None:
    """The basis of the method: a weighted sum of features gives the weighted sum of log-probabilities."""
    reading = tiny_lm.read([[1, 2, 3], [9], [4, 5]])
    weights = torch.tensor([0.2, 0.5, 0.3])
    product = torch.einsum("e,ev->v", weights, next_logprobs(tiny_lm, reading)).log_softmax(-1)
    mixed = torch.einsum("e,ef->f", weights, reading.features)
    assert near(tiny_lm.logits(mixed[None])[0].log_softmax(-1), product)


def test_work_is_counted(tiny_lm: LanguageModel) -> None:
    before = tiny_lm.work
    reading = tiny_lm.read([[1, 2, 3], [4, 5, 6]])
    read = tiny_lm.work
    assert read.tokens - before.tokens == 8  # a start token each
    assert read.passes - before.passes == 1
    tiny_lm.extend(reading, torch.tensor([7, 8]))
    after = tiny_lm.work
    assert after.tokens - read.tokens == 2
    assert after.cached - read.cached == 8
    assert isinstance(after, Work)


def test_a_reading_belongs_to_the_kind_of_model_that_made_it(tiny_lm: LanguageModel) -> None:
    foreign = TableModel(random_table(31, seed=0)).read([[1]])
    with pytest.raises(TypeError, match="only be continued by the model that made it"):
        tiny_lm.extend(foreign, torch.tensor([1]))
