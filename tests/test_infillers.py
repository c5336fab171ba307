"""Competing systems for infilling, on a language in which the right filling is known."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from refdec import InputError, ModelError, Pair, Reflector, SettingsError, load_pair
from refdec.baselines.continuing import Continue, ContinueSettings
from refdec.baselines.delorean import Delorean, DeloreanSettings
from refdec.baselines.folder import read_card
from refdec.baselines.gap import NOTHING, cut_off, first_sentence
from refdec.baselines.ilm import Ilm, IlmSettings, Marks, add_marks, example
from refdec.baselines.ilm_training import IlmTraining
from refdec.baselines.masking import Part, Rates, masked_parts
from refdec.baselines.method import Infiller, fillings
from refdec.baselines.trainable import forward_weights
from refdec.evaluate.experiments.bench import Bench
from refdec.evaluate.experiments.infilling import anlg
from refdec.evaluate.experiments.runs import Runs
from refdec.evaluate.experiments.scoreboard import SECONDS
from refdec.evaluate.reports.report import ReportTable
from refdec.lm.direction import Direction
from refdec.lm.tokens import Tokens
from refdec.train.export import export_models
from refdec.train.model import Llama, Past, Shape
from refdec.train.optimiser import Optimiser
from refdec.train.recipe import Recipe
from refdec.train.tokenizer import train_tokenizer
from tests.conftest import Run, refusal

NAMES = ("Anna", "Tom", "Mary", "Sam")
PLACES = ("box", "drawer", "bag", "oven", "car", "garden", "sink", "tent")
STORIES = [
    f"{name} had a {thing}. {name} put it in the {place}. The {place} was full."
    for name, thing, place in itertools.product(NAMES, ("ball", "book", "hat", "coin"), PLACES)
]
GAPS = [(f"{name} had a ball.", f"The {place} was full.") for name, place in zip(NAMES * 2, PLACES, strict=True)]
STEPS = 150
RIGHT = [f"{name} put it in the {place}." for name, place in zip(NAMES * 2, PLACES, strict=True)]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A pair whose forward model has learned the stories: whatever comes after the second sentence, it cannot know."""
    tokenizer = train_tokenizer(STORIES, 400)
    shape = Shape(layers=2, width=64, heads=2, inner=96, vocabulary=400, positions=128)
    model = Llama(shape)
    model.initialise(torch.Generator().manual_seed(0))
    recipe = Recipe(positions=16, batch_tokens=16, decay=0.9, warm_up=0.0)
    optimiser = Optimiser(model, recipe, bfloat16=False)
    rows = [[0, *tokenizer.encode(f" {story}").ids, 0] for story in STORIES]
    length = min(map(len, rows))
    table = torch.tensor([row[:length] for row in rows])
    numbers = np.random.default_rng(0)
    for step in range(STEPS):
        part = table[numbers.choice(len(table), 32, replace=False)]
        model.loss(part[:, :-1], part[:, 1:]).backward()  # type: ignore[no-untyped-call]
        optimiser.step(step / STEPS)
    home = tmp_path_factory.mktemp("toy") / "pair"
    weights = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    export_models(home, dict.fromkeys(Direction, weights), shape, tokenizer, "", int8=False)
    return load_pair(home, device="cpu", precision="float32")
