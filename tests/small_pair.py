"""A pair small enough to be trained on the spot: two layers, 400 tokens, a few dozen sentences read in both directions.

It writes hardly any English, but writes it in milliseconds, and differently for every text.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from transformers import LlamaConfig, LlamaForCausalLM

from refdec.lm.direction import Direction
from refdec.lm.pair import PROBE

PLACES = ("house", "garden", "station", "market", "river", "school", "kitchen", "bridge")
PEOPLE = ("Anna", "my brother", "the teacher", "our neighbour", "a friend", "the doctor")
DEEDS = ("walked to", "was late for", "cooked dinner at", "waited at", "talked about", "painted")
SENTENCES = [
    f"{person[0].upper()}{person[1:]} {deed} the {place} in the {when}. {ask} the {place}?"
    for number, person in enumerate(PEOPLE)
    for deed in DEEDS
    for place in PLACES[number % 3 :: 2]
    for when, ask in (("morning", "How do I find"), ("evening", "Why do people like"))
] + [PROBE]

SMALL_SETTINGS = ("--contexts=3", "--context-tokens=6", "--kept-contexts=2")
"""Options of any task with which a row takes milliseconds."""


def make_small_pair(home: Path, steps: int = 120) -> Path:
    """Train a pair and save it in a directory that `load_pair` accepts."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = BpeTrainer(
        vocab_size=400, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    home.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(home / "tokenizer.json"))
    ids = [token for sentence in SENTENCES for token in (0, *tokenizer.encode(f' "{sentence}"').ids)]
    for direction in Direction:
        _train(direction, ids, steps).save_pretrained(home / direction.value)
    return home


def _train(direction: Direction, ids: list[int], steps: int) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=400, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=256, bos_token_id=0, tie_word_embeddings=True,
    )  # fmt: skip
    stream = torch.tensor(direction.arrange(ids))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # with matrices this small, more threads only wait for each other
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = LlamaForCausalLM(config)
        optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
        for _ in range(steps):
            places = torch.randint(len(stream) - 48, (16,)).tolist()
            batch = torch.stack([stream[place : place + 48] for place in places])
            model(input_ids=batch, labels=batch).loss.backward()
            optimiser.step()
            optimiser.zero_grad()
    torch.set_num_threads(threads)
    return model.eval()


def small_texts(count: int) -> list[str]:
    """Texts in the vocabulary of the small pair, all different."""
    return [f"{SENTENCES[number % (len(SENTENCES) - 1)][:40]} {number}" for number in range(count)]


def write_training_text(name: str) -> str:
    """Write 300 documents of three sentences to a file, and return its name."""
    numbers = random.Random(0)
    texts = [" ".join(numbers.choice(SENTENCES) for _ in range(3)) + f" {number}" for number in range(300)]
    Path(name).write_text("\n\n".join(texts))
    return name


def read_config(home: str) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((Path(home) / "config.json").read_text())
    return config
