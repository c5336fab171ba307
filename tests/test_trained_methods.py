"""Methods with weights of their own: what they learn on toy languages where the right answer is known."""

from __future__ import annotations

import itertools
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from refdec import InputError, ModelError
from refdec.baselines import sizes
from refdec.baselines.beam import Search, sample, search
from refdec.baselines.denoise import DenoisingLesson, damaged
from refdec.baselines.dips import greedy, terms_of
from refdec.baselines.learning import Effort, Lesson, State, batches_of_a_pass, learn
from refdec.baselines.pair_lesson import IdPair, PairLesson
from refdec.baselines.quantiser import DECAY, Quantiser, around
from refdec.baselines.rvqvae import Autoencoder, AutoencodingLesson
from refdec.baselines.seq2seq import END, MASK, PAD, START, Seq2Seq, Shape, padded, shifted
from refdec.baselines.surface import Surface
from refdec.baselines.training_rows import Parts, parted
from refdec.train.recipe import Recipe

pytestmark = pytest.mark.long

FIRST = 4  # the id after the special ones


def shape(vocabulary: int = 60, **changes: Any) -> Shape:
    return Shape(vocabulary, **{"layers": 1, "width": 32, "heads": 2, "inner": 64, "positions": 16, **changes})


def new(of: Shape, seed: int = 0) -> Seq2Seq:
    model = Seq2Seq(of)
    model.initialise(torch.Generator().manual_seed(seed))
    return model


def taught(lesson: Lesson, home: Path, steps: int, tokens: int = 512, rate: float = 0.01) -> State:
    recipe = Recipe(
        vocabulary=300, width=32, heads=2, positions=16, batch_tokens=tokens, matrix_rate=0.03, other_rate=rate
    )
    return learn(lesson, recipe, Effort(None, steps, 10_000), home, {}, lambda _: None, lambda _: None)


def written(model: Seq2Seq, source: tuple[int, ...]) -> tuple[int, ...]:
    model.eval()
    with torch.inference_mode():
        ids = padded([source])
        memory = model.remember(ids, model.encode(ids))
    return search(model, memory, Search(2, 4))[0][0].ids


def swaps(words: range, count: int, seed: int) -> list[IdPair]:
    """Two words, and the same in the other order."""
    draw = random.Random(seed)
    sources = [tuple(draw.sample(words, 2)) for _ in range(count)]
    return [(source, source[::-1]) for source in sources]


def test_copying_carries_over_to_words_that_were_never_learned(tmp_path: Path) -> None:
    rows = Parts(swaps(range(FIRST, 1_000), 3_000, 1), swaps(range(FIRST, 1_000), 20, 2))
    unseen = swaps(range(1_000, 1_040), 20, 3)
    right = {}
    for copying, steps in ((True, 120), (False, 20)):
        model = new(shape(1_040, copying=copying))
        taught(PairLesson("swap", model, rows), tmp_path / str(copying), steps, tokens=256, rate=0.0003)
        right[copying] = sum(written(model, source) == target for source, target in unseen)
    assert right[True] >= 16
    assert right[False] == 0


def test_fast_and_whole_computations_agree() -> None:
    model = new(shape(copying=True)).eval()
    sources, labels = padded([(5, 6, 7, 5), (8, 9)]), padded([(9, 5, 30, END), (6, END)])
    with torch.inference_mode():
        memory = model.remember(sources, model.encode(sources))
        states, _ = model.decode(shifted(labels), memory)
        whole = model.logprobs(states, memory)
        assert torch.allclose(whole.exp().sum(-1), torch.ones(2, 4), atol=1e-4)
        quick = model.label_logprobs(states, memory, labels)
        assert torch.allclose(
            whole.gather(-1, labels[..., None])[..., 0][labels != PAD], quick[labels != PAD], atol=1e-4
        )
        before: Any = ()
        for place, column in enumerate(shifted(labels).T):
            one, before = model.decode(column[:, None], memory, before)
            assert torch.allclose(one[:, 0], states[:, place], atol=1e-4)
        alone = padded([(8, 9)])
        other = model.remember(alone, model.encode(alone))
        assert torch.allclose(model.logprobs(model.decode(shifted(labels[1:]), other)[0], other), whole[1:], atol=1e-4)


def test_a_wide_beam_finds_the_most_probable_text() -> None:
    """With two words and texts of up to three, all texts can be listed."""
    model = new(shape(vocabulary=6, positions=3), seed=3).eval()
    ids = padded([(4, 5)])
    with torch.inference_mode():
        memory = model.remember(ids, model.encode(ids))
        texts = [text for length in (1, 2) for text in itertools.product((4, 5), repeat=length)]
        logprobs = {}
        for text in texts:
            labels = padded([(*text, END)])
            states, _ = model.decode(shifted(labels), memory)
            logprobs[text] = float(model.label_logprobs(states, memory, labels).mean())
    found = {item.ids: item.score for item in search(model, memory, Search(20, 20))[0]}
    for text, score in found.items():
        if text:
            assert score == pytest.approx(logprobs[text], abs=1e-4)
    assert max(texts, key=logprobs.__getitem__) in found


def test_samples_follow_the_model() -> None:
    model = new(shape(vocabulary=8, positions=3), seed=1).eval()
    ids = padded([(4, 5)])
    with torch.inference_mode():
        memory = model.remember(ids, model.encode(ids))
        states, _ = model.decode(torch.tensor([[START]]), memory)
        wanted = model.logprobs(states, memory)[0, 0].exp()
    count = 4_000
    draws = torch.rand((count, 3), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = sample(model, memory.at(torch.zeros(count, dtype=torch.long)), draws, 1.0)
    for index in range(FIRST, 8):
        share = sum(item.ids[:1] == (index,) for item in drawn) / count
        assert share == pytest.approx(float(wanted[index]), abs=0.04)
    assert sum(not item.ids for item in drawn) / count == pytest.approx(float(wanted[END]), abs=0.04)


def test_greedy_finds_the_best_subset_of_a_coverage() -> None:
    """Covering with sets: {0,1,2}, {3,4}, and two that add less; the best pair is known, and greedy has it."""
    sets = [{0, 1}, {0, 1, 2}, {2, 3}, {3, 4}]

    def covered(chosen: Any) -> float:
        return float(len(set().union(*(sets[number] for number in chosen))))

    assert greedy(covered, len(sets), 2) == [1, 3]
    assert covered([1, 3]) == max(covered(pair) for pair in itertools.combinations(range(4), 2))


def unit_vectors(count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.eye(count, dtype=np.float32)


CANDIDATES = [(5, 6, 7), (5, 6, 8), (7, 6, 5), (9, 10, 11), (5, 6, 7, 8)]


@pytest.mark.parametrize("fidelity", [0.0, 0.5, 1.0])
def test_the_function_of_dips_is_monotone_and_submodular(fidelity: float) -> None:
    value = terms_of((5, 6, 7), CANDIDATES, unit_vectors(12), fidelity).value
    everything = range(len(CANDIDATES))
    assert value([]) == 0
    assert value(list(everything)) == pytest.approx(2)
    for size in (1, 2):
        for small in itertools.combinations(everything, size):
            for more in set(everything) - set(small):
                large = [*small, more]
                assert value(large) >= value(small) - 1e-9
                for new_one in set(everything) - set(large):
                    gain = value([*small, new_one]) - value(small)
                    assert value([*large, new_one]) - value(large) <= gain + 1e-9


def test_fidelity_chooses_what_is_like_the_source_and_diversity_what_is_unlike_the_rest() -> None:
    texts = [(5, 6, 7), (5, 6, 7, 8), (9, 10, 11)]
    faithful = terms_of((5, 6, 7), texts, unit_vectors(12), 1.0)
    assert set(greedy(faithful.value, 3, 2)) == {0, 1}
    diverse = terms_of((5, 6, 7), texts, unit_vectors(12), 0.0)
    assert 2 in greedy(diverse.value, 3, 2)


def test_padding_changes_no_loss() -> None:
    for copying in (True, False):
        model = new(shape(copying=copying)).eval()
        with torch.inference_mode():
            losses = []
            for sources, labels in (
                (padded([(5, 6, 7)]), padded([(9, 5, END)])),
                (padded([(8, 9)]), padded([(6, END)])),
                (padded([(5, 6, 7), (8, 9)]), padded([(9, 5, END), (6, END)])),
            ):
                losses.append(float(model.loss(labels, model.remember(sources, model.encode(sources)))))
        assert losses[2] == pytest.approx((3 * losses[0] + 2 * losses[1]) / 5, abs=1e-4)


def test_noise_masks_spans_and_keeps_the_rest_in_order() -> None:
    passage = (tuple(range(10, 30)),)
    noise = np.random.default_rng(0)
    kept = []
    for _ in range(200):
        ids = damaged(passage, noise)
        rest = [index for index in ids if index != MASK]
        assert rest == sorted(rest)
        assert MASK in ids
        kept.append(len(rest) / 20)
    assert 0.7 <= np.mean(kept) <= 0.8
    orders = {damaged(((4,), (5,), (6,)), np.random.default_rng(seed))[:1] for seed in range(20)}
    assert len(orders) >= 3


def test_masked_words_are_restored(tmp_path: Path) -> None:
    """A language in which every word decides all others: a, a + 20, a + 1, a + 21."""
    passages: list[tuple[tuple[int, ...], ...]] = [
        ((first, 20 + first, 1 + first, 21 + first),) for first in range(FIRST, 16) for _ in range(10)
    ]
    model = new(shape(40))
    lesson = DenoisingLesson("denoising", model, Parts(passages, passages[::10]))
    state = taught(lesson, tmp_path / "run", 150, tokens=256)
    assert state.best_loss < 0.5 < state.first_loss
    model.eval()
    with torch.inference_mode():
        ids = padded([(first, MASK, 1 + first, 21 + first) for first in range(FIRST, 16)])
        memory = model.remember(ids, model.encode(ids))
        states, _ = model.decode(padded([(START, first) for first in range(FIRST, 16)]), memory)
        restored = model.logprobs(states, memory)[:, 1].argmax(-1).tolist()
    assert restored == [20 + first for first in range(FIRST, 16)]


def test_an_update_of_a_codebook_is_the_one_worked_out_by_hand() -> None:
    quantiser = Quantiser(width=2, slices=1, codes=2)
    quantiser.counts.copy_(torch.tensor([[1.0, 1.0]]))
    quantiser.sums.copy_(torch.tensor([[[0.0, 0.0], [4.0, 4.0]]]))
    quantiser.codebooks.copy_(quantiser.sums)
    vectors = torch.tensor([[1.0, 0.0], [0.0, 1.0], [4.0, 2.0]])
    indices = quantiser.indices(vectors)
    assert indices[:, 0].tolist() == [0, 0, 1]
    quantiser.follow(vectors, indices)
    first = torch.tensor([0.01, 0.01]) / (DECAY + 0.02)  # counts .99 + .01 * 2, sums .01 * (1, 1)
    second = torch.tensor([DECAY * 4 + 0.04, DECAY * 4 + 0.02])  # counts .99 + .01
    assert torch.allclose(quantiser.codebooks[0], torch.stack([first, second]))


def test_slices_are_quantised_by_themselves_and_idle_codes_begin_anew() -> None:
    generator = torch.Generator().manual_seed(0)
    quantiser = Quantiser(width=4, slices=2, codes=8)
    vectors = torch.randn((400, 4), generator=generator)
    errors = []
    for _ in range(150):
        indices = quantiser.indices(vectors)
        quantiser.follow(vectors, indices, generator)
        errors.append(float((quantiser.decoded(quantiser.indices(vectors)) - vectors).pow(2).mean()))
    assert errors[-1] < 0.5 * float(vectors.pow(2).mean())
    indices = quantiser.indices(vectors)
    assert [len(set(column.tolist())) for column in indices.T] == [8, 8]
    assert quantiser.decoded(indices)[0, :2].tolist() == quantiser.codebooks[0, indices[0, 0]].tolist()


def test_what_goes_around_the_bottleneck_is_continuous() -> None:
    vectors = torch.tensor([[1.0, 2.0]], requires_grad=True)
    codes = torch.tensor([[0.0, 4.0]])
    assert around(vectors, codes, 1.0).tolist() == [[1, 2]]
    assert around(vectors, codes, 0.0).tolist() == [[0, 4]]
    assert around(vectors, codes, 0.5).tolist() == [[0.5, 3]]
    around(vectors, codes, 0.0).sum().backward()  # type: ignore[no-untyped-call]
    assert vectors.grad is not None
    assert vectors.grad.tolist() == [[1, 1]]  # as if the quantiser were not there


def test_sentences_are_said_again_from_their_codes(tmp_path: Path) -> None:
    draw = random.Random(0)
    rows = [tuple(draw.choices(range(FIRST, 10), k=4)) for _ in range(400)]
    model = Autoencoder(shape(vocabulary=10), slices=1, codes=64)
    model.seq2seq.initialise(torch.Generator().manual_seed(0))
    lesson = AutoencodingLesson("sentences", model, Parts(rows[20:], rows[:20]))
    state = taught(lesson, tmp_path / "run", 500)  # how the first 300 go depends on the processor's rounding
    assert state.best_loss < 0.3 < state.first_loss
    used = {int(code) for code in model.quantiser.indices(model.seq2seq.encode(padded(rows[:100])).flatten(0, 1))}
    assert len(used) >= 10  # of 24 pairs of word and place
    model.eval()
    with torch.inference_mode():
        memory = model.memory(padded(rows[:20]), 0.0)
    again = [found[0].ids for found in search(model.seq2seq, memory, Search(2, 4))]
    assert sum(ids == row for ids, row in zip(again, rows, strict=False)) >= 16


def test_a_pass_reads_every_row_once_in_batches_of_like_length() -> None:
    lengths = [random.Random(number).randint(2, 30) for number in range(500)]
    batches = batches_of_a_pass(lengths, 128, np.random.default_rng(0))
    assert sorted(row for batch in batches for row in batch) == list(range(500))
    assert all(len(batch) * max(lengths[row] for row in batch) <= 128 for batch in batches)
    assert len(batches) < 1.2 * sum(lengths) / 128 + 5


def lesson_of(seed: int = 0, dropout: float = 0.1) -> PairLesson:
    rows = Parts(swaps(range(FIRST, 40), 100, 1), swaps(range(FIRST, 40), 10, 2))
    return PairLesson("swap", new(shape(dropout=dropout), seed), rows, own_words=0.5)


def test_same_seed_same_weights(tmp_path: Path) -> None:
    runs = [lesson_of() for _ in range(2)]
    before = torch.random.get_rng_state()
    for number, lesson in enumerate(runs):
        taught(lesson, tmp_path / str(number), 12, tokens=128)
    first, second = (lesson.model.state_dict() for lesson in runs)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert torch.equal(torch.random.get_rng_state(), before)


class Stopped(PairLesson):
    """Is interrupted at a step, as by Ctrl-C."""

    def loss(self, *given: Any) -> torch.Tensor:
        self.steps = getattr(self, "steps", 0) + 1
        if self.steps == 5:
            signal.raise_signal(signal.SIGINT)
        return super().loss(*given)


def test_a_run_that_was_stopped_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole = lesson_of()
    taught(whole, tmp_path / "whole", 12, tokens=128)
    stopped = Stopped("swap", lesson_of().model, whole.rows, own_words=0.5)
    with pytest.raises(KeyboardInterrupt):
        taught(stopped, tmp_path / "stopped", 12, tokens=128)
    goes_on = lesson_of(seed=7)  # its first weights are replaced
    state = taught(goes_on, tmp_path / "stopped", 12, tokens=128)
    assert state.step == 12
    first, second = whole.model.state_dict(), goes_on.model.state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_rows_with_one_source_are_held_out_together() -> None:
    keys = [f"source {number // 2}" for number in range(2_000)]
    parts = parted(list(range(2_000)), keys)
    assert 20 <= len(parts.held_out) <= 80
    assert {number // 2 for number in parts.held_out}.isdisjoint(number // 2 for number in parts.learned)
    with pytest.raises(InputError, match="only one text to learn from"):
        parted([1, 2], ["same", "same"])


def test_texts_are_given_back_as_their_source_is_written() -> None:
    rows = ["what 's up in new york", "how do i learn -lrb- fast -rrb-", "why is n't it so", "`` is it ? ''"] * 3
    surface = Surface.of(rows)
    assert surface == Surface(lower=True, marked=False, cut=True)
    assert [surface.learned(row) for row in rows[:4]] == [
        "what's up in new york", "how do i learn (fast)", "why isn't it so", "is it"
    ]  # fmt: skip
    source = "How do I get to New York in the USA?"
    assert surface.read(source) == "how do i get to new york in the usa"
    assert surface.restored("what is i'm the usa way to new york", source) == "What is I'm the USA way to New York?"
    natural = Surface.of(["It rained.", "We left."])
    assert natural == Surface()
    assert natural.restored(natural.read("It rained."), "It rained.") == "It rained."


def write_pairs(path: Path, count: int = 60) -> Path:
    draw = random.Random(5)
    words = ["red", "green", "blue", "house", "garden", "river", "dog", "cat"]
    lines = []
    for number in range(count):
        chosen = draw.sample(words, 4)
        source, target = " ".join(chosen), " ".join(reversed(chosen))
        lines.append(f'{{"id": "row-{number}", "source": "{source}", "references": ["{target}"]}}\n')
    path.write_text("".join(lines))
    return path


@pytest.fixture
def tiny_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in list(sizes.SIZES.items()):
        recipe = size.recipe.replace(
            vocabulary=300, layers=1, width=32, heads=2, inner=64, positions=32, batch_tokens=256
        )
        monkeypatch.setitem(sizes.SIZES, name, sizes.Size(recipe, size.dropout, 1_000, 10_000))


Train = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("name", ["copynet", "denoise", "rvqvae"])
@pytest.mark.usefixtures("tiny_sizes")
def test_one_command_trains_a_method_that_then_writes(name: str, run: Train, tmp_path: Path) -> None:
    data, home = write_pairs(tmp_path / "pairs.jsonl"), tmp_path / name
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(f"The {word} is here. It is a {word} again." for word in ("dog", "cat", "house") * 6))
    (tmp_path / "ids").write_text("row-1\nrow-2\n")
    extra = ["--text", str(text)] if name == "denoise" else []
    command = ["method", "train", name, str(data), "-o", str(home), "--steps", "6", "--exclude", str(tmp_path / "ids")]
    code, out, err = run(*command, *extra, "-q")
    assert (code, err) == (0, "")
    assert "nats per token of held-out text" in out
    assert not (tmp_path / f"{name}.training").exists()
    for method in (name, *(["dips"] if name != "rvqvae" else [])):
        code, out, _ = run("paraphrase", "--json", "--method", f"{method}:{home}", "red dog blue cat")
        again, same, _ = run("paraphrase", "--json", "--method", f"{method}:{home}", "red dog blue cat")
        assert (code, again) == (0, 0)
        assert out == same
    code, out, err = run(*command, *extra)
    assert code == 2
    assert "holds a trained method" in err
    code, out, err = run("paraphrase", "--method", f"{name}:{home}", "dog " * 90)
    assert "reads 32 at most" in err
    if name == "rvqvae":
        code, out, err = run("paraphrase", "--method", f"dips:{home}", "red dog")
        assert "runs on weights of copynet or denoise" in err


@pytest.mark.usefixtures("tiny_sizes")
def test_a_run_with_other_settings_is_not_gone_on_with(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, home = write_pairs(tmp_path / "pairs.jsonl"), tmp_path / "mine"
    command = ["method", "train", "copynet", str(data), "-o", str(home), "-q"]
    loss, steps = PairLesson.loss, itertools.count(1)

    def interrupted(*given: Any) -> torch.Tensor:
        if next(steps) == 3:
            signal.raise_signal(signal.SIGINT)
        return loss(*given)

    monkeypatch.setattr(PairLesson, "loss", interrupted)
    code, _, err = run(*command, "--steps", "6")
    assert code == 130
    assert "stopped" in err
    assert not home.exists()
    code, _, err = run(*command, "--steps", "6", "--seed", "1")
    assert code == 2
    assert "with other settings (seed)" in err
    code, out, _ = run(*command, "--steps", "6")
    assert code == 0
    assert "after 6 steps" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a b"}', 'line 2: there is no text in "references"'),
        ('{"sourse": "a b", "references": ["c"]}', "there is no text in \"source\" (did you mean 'sourse'?)"),
        ('{"source": " ", "references": ["c"]}', 'there is no text in "source"'),
        ('{"source": "a b", "references": [3]}', 'there is no text in "references"'),
        ("{", "line 2: "),
    ],
)
def test_a_bad_row_is_refused_with_its_place(line: str, message: str, run: Train, tmp_path: Path) -> None:
    data = tmp_path / "pairs.jsonl"
    data.write_text(f'{{"source": "a b c", "references": ["b a"]}}\n{line}\n')
    code, _, err = run("method", "train", "copynet", str(data), "-o", str(tmp_path / "mine"), "--steps", "2", "-q")
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["copynett", "x.jsonl"], "did you mean 'copynet'?"),
        (["dips", "x.jsonl"], "dips runs on the weights of another. To train: ilm, rvqvae, copynet, denoise"),
        (["copynet", "x.jsonl", "--minutes", "1", "--steps", "2"], "were both given"),
        (["copynet", "x.jsonl", "--minutes", "0"], "budget must be more than zero"),
        (["copynet", "nowhere.jsonl", "--size", "big"], "no size 'big'"),
        (["copynet", "nowhere.jsonl"], "There is no file nowhere.jsonl"),
    ],
)
def test_what_cannot_be_trained_is_refused(arguments: list[str], message: str, run: Train, tmp_path: Path) -> None:
    code, _, err = run("method", "train", *arguments, "-o", str(tmp_path / "mine"))
    assert code == 2
    assert message in err


def test_a_folder_of_another_shape_is_refused() -> None:
    with pytest.raises(ModelError, match="does not fit this version"):
        Shape.of({"width": 3, "colour": 4})
