"""Prompting: the forward model asked in plain words, on a model whose answers are known and on the real one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

from refdec import InputError, Pair, Reflector, SettingsError
from refdec.baselines.method import ProposedParaphrases, paraphrases
from refdec.baselines.prompt import OWN_EXAMPLES, Prompting, PromptSettings
from refdec.lm.direction import Direction
from refdec.lm.examples import Examples
from refdec.lm.tokens import Tokens
from tests.table_model import TableModel

FEW = Examples((("A dog.", "The dog."),), " Or: ")


def letters() -> Tokens:
    """A tokenizer with an entry for every byte, and one for the start."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(BPE({letter: number for number, letter in enumerate(["<start>", *alphabet])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return Tokens(tokenizer, start=0)


def pair_saying(shares: dict[str, float], window: int = 200) -> Pair:
    """After a quote it says the first letter of one of some texts, by their shares, and then its other letters."""
    tokens = letters()
    table = torch.full((tokens.vocabulary + 1, tokens.vocabulary), 1e-30)

    def put(before: str, after: str, share: float) -> None:
        (first,), (second,) = tokens.encode(before), tokens.encode(after)
        table[first, second] = share

    put(":", " ", 1.0)
    put(",", " ", 1.0)
    put(" ", '"', 1.0)
    for text, share in shares.items():
        put('"', text[0], share)
        for one, other in zip(text, text[1:] + '"', strict=True):
            put(one, other, 1.0)
    models = [TableModel(table, direction, window) for direction in Direction]
    return Pair(models[0], models[1], tokens, "letters", FEW)


def ask(pair: Pair, *sources: str, **changes: Any) -> list[ProposedParaphrases]:
    settings = PromptSettings(temperature=1.0, top_p=1.0).replace(**changes)
    return list(paraphrases(Prompting(pair, settings), sources))


def test_proposals_are_ranked_by_their_mean_log_probability_and_copies_come_last() -> None:
    pair = pair_saying({"a-bc!": 0.6, "g+hi!": 0.3, "x=yzuvw!": 0.1})
    (result,) = ask(pair, "a-bc!", samples=60)
    assert [item.text for item in result.proposals] == ["g+hi!", "x=yzuvw!", "a-bc!"]
    # two quotes, a space and the letters of each; all but the first letter are certain
    expected = [math.log(0.3) / 8, math.log(0.1) / 11, math.log(0.6) / 8]
    assert [item.score for item in result.proposals] == pytest.approx(expected, abs=1e-4)


def test_temperature_sharpens_and_flattens() -> None:
    pair = pair_saying({"a-bc!": 0.7, "g+hi!": 0.299, "x=yz!": 0.001})
    texts = [
        {item.text for item in ask(pair, "cab!", temperature=heat, samples=100)[0].proposals} for heat in (0.05, 1, 3)
    ]
    assert texts[0] == {"a-bc!"}
    assert texts[1] == {"a-bc!", "g+hi!"}
    assert "x=yz!" in texts[2]


def test_where_the_model_says_nothing_whole_the_source_stands() -> None:
    (result,) = ask(pair_saying({"!?": 1.0}), "cab!")
    assert [item.text for item in result.proposals] == ["cab!"]
    assert math.isfinite(result.proposals[0].score)


def test_only_as_many_examples_as_the_window_holds() -> None:
    pair = replace(pair_saying({"a-bc!": 0.6, "g+hi!": 0.4}, window=150), examples=OWN_EXAMPLES)
    assert [item.text for item in ask(pair, "cab!")[0].proposals] == ["a-bc!", "g+hi!"]
    with pytest.raises(InputError, match=r"The text has 60 tokens, too many to be asked for: this model reads 150"):
        ask(pair, "cab " * 14 + "cab!")


def test_pairs_without_examples_are_asked_with_ours_and_the_signature_tells() -> None:
    pair = pair_saying({"a-bc!": 1.0})
    own = Prompting(replace(pair, examples=None), PromptSettings()).signature
    assert own.endswith(f"|prompt:{OWN_EXAMPLES.digest}")
    assert Prompting(pair, PromptSettings()).signature.endswith(f"|prompt:{FEW.digest}")
    assert "|task:prompt|" in own


def test_odd_texts_are_asked_for_like_others() -> None:
    pair = pair_saying({"a-bc!": 0.5, "g+hi!": 0.5})
    for source in ("🙂", 'He said "x" and left.', "Two\nlines.", '"'):
        assert {item.text for item in ask(pair, source)[0].proposals} == {"a-bc!", "g+hi!"}
    with pytest.raises(InputError, match="has 900,000 characters"):
        ask(pair, "a" * 900_000)
    with pytest.raises(SettingsError, match=r"temperature is 0; it must be a number from 0\.05 to 5"):
        PromptSettings(temperature=0)


def test_the_same_text_and_seed_give_the_same_alone_and_in_a_list(untrained: Reflector) -> None:
    sources = ["It rained.", "We left.", "It rained."]
    method = Prompting(untrained.pair, PromptSettings(samples=3, top_p=0.1))
    alone = [next(paraphrases(method, [text])).proposals for text in sources]
    assert [item.proposals for item in paraphrases(method, sources)] == alone


def test_other_seeds_draw_other_texts() -> None:
    pair = pair_saying({letter * 2 + "!": 1 / 20 for letter in "abcdefghijklmnopqrst"})
    first, second = (ask(pair, "zz!", samples=4, seed=seed)[0].proposals for seed in (0, 1))
    assert first != second


def test_the_embedded_pair_answers_in_other_words(int8_pair: Pair) -> None:
    (result,) = paraphrases(Prompting(int8_pair, PromptSettings(samples=6)), ["How do I hire great employees?"])
    assert len(result.top(3)) == 3
    assert sum("employees" in item.text for item in result.proposals) >= len(result.proposals) / 2
    scores = [item.score for item in result.top(9)]
    assert scores == sorted(scores, reverse=True)
