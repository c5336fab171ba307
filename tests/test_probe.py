"""The grammar probe: what it learns, that it gives the same values in any company, and which files are refused."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from refdec import InputError, ModelError, Pair, load_pair
from refdec.lm.direction import Direction
from refdec.lm.model_files import PROBE_FILE
from refdec.lm.probe import Probe, load_probe, log_odds, save_probe
from refdec.lm.tokens import Tokens
from refdec.reflect.schedule import run, run_all
from refdec.reflect.scoring import alone, own_both, own_logprobs
from refdec.train.corpus import Corpus
from refdec.train.probe import ProbeSettings, make_probe, odds_of, places_within, read_texts, train_probe
from tests.small_pair import SENTENCES, write_training_text
from tests.table_model import TableModel, random_table

LETTERS = "abcdefgh"
STEPS = (1, 3)
"""In a sound text of the tables, a letter is one or three after the one before it."""


@pytest.fixture
def tables() -> Pair:
    """Models that expect no letter more than another: the probe itself must see which may follow which."""
    tokenizer = Tokenizer(WordLevel({letter: index for index, letter in enumerate(LETTERS)}, unk_token="a"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    forward, backward = (TableModel(random_table(len(LETTERS), seed), way) for seed, way in enumerate(Direction))
    return Pair(forward, backward, Tokens(tokenizer, 0), "tables")


def sound_and_broken(numbers: random.Random) -> tuple[str, str, tuple[int, int]]:
    """A text of letters in sound steps, the same with a wrong step in it, and where that is."""
    letters = [numbers.randrange(8)]
    for _ in range(numbers.randrange(6, 12)):
        letters.append((letters[-1] + numbers.choice(STEPS)) % 8)
    place = numbers.randrange(1, len(letters))
    wrong = [*letters[:place], *((letter + 1) % 8 for letter in letters[place:])]
    if (wrong[place] - wrong[place - 1]) % 8 in STEPS:
        wrong[place:] = [(letter + 1) % 8 for letter in wrong[place:]]
    texts = [" ".join(LETTERS[letter] for letter in listed) for listed in (letters, wrong)]
    return texts[0], texts[1], (2 * place - 2, 2 * place + 1)


def random_probe(width: int) -> Probe:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Probe(width, expected=5, met=3, hidden=7).eval().requires_grad_(False)


def test_a_probe_finds_what_it_was_trained_to_find_and_where(tables: Pair) -> None:
    numbers = random.Random(0)
    made = [sound_and_broken(numbers) for _ in range(500)]
    sound = read_texts(tables, [one for one, _, _ in made], [None] * len(made))
    faulty = read_texts(tables, [two for _, two, _ in made], [span for _, _, span in made])
    settings = ProbeSettings(expected=8, met=8, hidden=16, epochs=40, dropout=0.0)
    probe = train_probe(sound[:400], faulty[:400], settings)
    good, bad = odds_of(probe, sound[400:]), odds_of(probe, faulty[400:])
    assert (good < 0).mean() > 0.9
    assert (bad > 0).mean() > 0.9
    judged = run(tables_with(tables, probe), alone(tables_with(tables, probe), ids_of(tables, [made[400][1]])))[0]
    assert judged.broken == pytest.approx(bad[0], abs=1e-3)
    assert judged.faults is not None
    assert int(judged.faults.argmax()) == int(faulty[400].at_fault.argmax())


def tables_with(pair: Pair, probe: Probe) -> Pair:
    return replace(pair, probe=probe)


def ids_of(pair: Pair, texts: list[str]) -> list[list[int]]:
    return [pair.tokens.encode(text) for text in texts]


def test_the_same_data_and_seed_give_the_same_probe(tables: Pair) -> None:
    made = [sound_and_broken(random.Random(number)) for number in range(60)]
    sound = read_texts(tables, [one for one, _, _ in made], [None] * len(made))
    faulty = read_texts(tables, [two for _, two, _ in made], [span for _, _, span in made])
    first, again = (train_probe(sound, faulty, ProbeSettings(epochs=2)).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], again[name]) for name in first)


def test_a_text_is_judged_alike_in_any_company(small_pair: Path) -> None:
    pair = load_pair(small_pair, device="cpu", precision="float32")
    pair = replace(pair, probe=random_probe(pair.forward.cost.width))
    ids = ids_of(pair, [*SENTENCES[:7], "Why?", SENTENCES[8] + " " + SENTENCES[9]])
    together = run(pair, alone(pair, ids))
    for text, beside in zip(ids, together, strict=True):
        (own,) = run(pair, alone(pair, [text]))
        assert own.faults is not None
        assert beside.faults is not None
        assert len(own.faults) == len(text) - 1
        assert torch.allclose(own.faults, beside.faults, atol=1e-4)
        assert own.broken == pytest.approx(beside.broken, abs=1e-4)
        assert torch.allclose(own.forward, beside.forward, atol=1e-4)
        assert torch.allclose(own.backward, beside.backward, atol=1e-4)


def test_texts_that_are_asked_for_at_the_same_time_share_passes_and_keep_their_values(tables: Pair) -> None:
    pair = tables_with(tables, random_probe(8))
    texts = ids_of(pair, ["a b c d", "h g f", "c c c c c c"])
    jobs = list(run_all(pair, (alone(pair, [text]) for text in texts), at_once=3))
    for (own,), beside in zip(jobs, run(pair, alone(pair, texts)), strict=True):
        assert own.broken == pytest.approx(beside.broken, abs=1e-5)


def test_log_probabilities_are_what_the_tables_say_with_a_probe_and_without(tables: Pair) -> None:
    assert isinstance(tables.forward, TableModel)
    assert isinstance(tables.backward, TableModel)
    ids = ids_of(tables, ["a c h b", "d d"])
    ahead = [-1, *ids[0][:-1]]
    back = [-1, *ids[0][:0:-1]]
    for pair in (tables, tables_with(tables, random_probe(8))):
        (forward, backward), _ = run(pair, own_both(pair, ids))
        assert torch.allclose(forward, tables.forward.table.log()[ahead, ids[0]], atol=1e-6)
        assert torch.allclose(backward, tables.backward.table.log()[back, ids[0][::-1]], atol=1e-6)
        assert torch.equal(run(pair, own_logprobs(pair.forward, ids))[0], forward)


def test_without_a_probe_nothing_is_said_of_grammar(tables: Pair) -> None:
    (text,) = run(tables, alone(tables, ids_of(tables, ["a b c"])))
    assert text.faults is None
    assert text.broken is None


@pytest.mark.parametrize("beside", [[], ["b c d"]])
def test_a_text_of_one_token_is_not_broken(tables: Pair, beside: list[str]) -> None:
    pair = tables_with(tables, random_probe(8))
    text, *_ = run(pair, alone(pair, ids_of(pair, ["a", *beside])))
    assert text.faults is not None
    assert len(text.faults) == 0
    assert text.broken is not None
    assert text.broken < -10


def test_a_text_is_broken_if_any_place_is() -> None:
    places = torch.tensor([[-30.0, -30.0, 4.0], [0.0, -30.0, 0.0], [-30.0, -30.0, -torch.inf]]).double()
    odds = log_odds(places)
    assert float(odds[0]) == pytest.approx(4.0, abs=1e-6)
    assert float(odds[1]) == pytest.approx(torch.tensor(3.0).log().item(), abs=1e-6)  # sound with a chance of 1/4
    assert float(odds[2]) < -10


def test_places_of_a_fault_have_both_tokens_in_it() -> None:
    covered = [(0, 3), (3, 8), (8, 9), (9, 14), (14, 18)]
    assert places_within(covered, (4, 14)).tolist() == [0, 1, 1, 0]
    assert places_within(covered, None).tolist() == [0, 0, 0, 0]


def test_a_probe_beside_a_pair_is_loaded_and_is_none_of_its_weights(small_pair: Path, tmp_path: Path) -> None:
    home = tmp_path / "pair"
    shutil.copytree(small_pair, home)
    without = load_pair(home, device="cpu")
    assert without.probe is None
    probe = random_probe(without.forward.cost.width)
    save_probe(probe, home / PROBE_FILE)
    pair = load_pair(home, device="cpu")
    assert pair.probe is not None
    assert pair.name != without.name
    ids = ids_of(pair, SENTENCES[:3])
    for one, other in zip(run(pair, alone(pair, ids)), run(pair, alone(replace(pair, probe=probe), ids)), strict=True):
        assert one.broken == pytest.approx(other.broken, abs=0.02)  # stored in float16


def damaged(tensors: dict[str, torch.Tensor], how: str) -> dict[str, torch.Tensor]:
    if how == "lacks a tensor":
        return {name: tensor for name, tensor in tensors.items() if name != "tell.weight"}
    if how == "has another one":
        return tensors | {"other": torch.zeros(3)}
    if how == "has another shape":
        return tensors | {"join.weight": torch.zeros(7, 4, 3)}
    if how == "is not finite":
        return tensors | {"tell.bias": torch.tensor([torch.nan])}
    return {"weight": torch.zeros(2, 2)}


@pytest.mark.parametrize(
    "how", ["lacks a tensor", "has another one", "has another shape", "is not finite", "is another net", "is cut off"]
)
def test_a_damaged_probe_is_refused(tables: Pair, tmp_path: Path, how: str) -> None:
    path = tmp_path / PROBE_FILE
    save_probe(random_probe(8), path)
    load_probe(path, tables.forward, tables.backward)
    if how == "is cut off":
        path.write_bytes(path.read_bytes()[:200])
    else:
        save_file(damaged(load_file(path), how), path)
    with pytest.raises(ModelError, match=r"The probe .* Fetch the pair again\."):
        load_probe(path, tables.forward, tables.backward)


def test_the_probe_of_another_pair_is_refused(tables: Pair, tmp_path: Path) -> None:
    save_probe(random_probe(9), tmp_path / PROBE_FILE)
    with pytest.raises(ModelError, match="for models of width 9, and the forward model has 8"):
        load_probe(tmp_path / PROBE_FILE, tables.forward, tables.backward)


def test_a_probe_is_made_from_plain_text(small_pair: Path, tmp_path: Path) -> None:
    text = write_training_text(str(tmp_path / "text.txt"))
    pair = load_pair(small_pair, device="cpu")
    made = make_probe(pair, Corpus.at([Path(text)]), ProbeSettings(pairs=60, epochs=2))
    assert len(made.kinds) == len(made.sound) == len(made.broken) >= 5
    save_probe(made.probe, tmp_path / PROBE_FILE)
    kept = load_probe(tmp_path / PROBE_FILE, pair.forward, pair.backward).state_dict()
    assert all(torch.equal(tensor, kept[name]) for name, tensor in made.probe.state_dict().items())


def test_too_little_text_makes_no_probe(small_pair: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("There is one sentence of eight words in here.\n")
    with pytest.raises(InputError, match="plain sentences of 8 to 30 words; a probe needs thousands"):
        make_probe(load_pair(small_pair, device="cpu"), Corpus.at([tmp_path / "text.txt"]), ProbeSettings())
