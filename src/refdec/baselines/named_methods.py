"""The competing systems by name, and how a user names one: NAME, NAME:DIR or DIR, then settings.

`upsa,steps=50` is UPSA with 50 steps. A method with weights of its own is named by the folder that its training made,
or by both where several methods run on such weights. One that runs on other models of the user's has these behind its
name. Nothing is loaded before it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from refdec.baselines.apertium import Apertium, ApertiumSettings
from refdec.baselines.cgmh import CGMH, CGMHSettings
from refdec.baselines.continuing import Continue, ContinueSettings
from refdec.baselines.copynet import CopyNetSettings, make_copynet, train_copynet
from refdec.baselines.delorean import Delorean, DeloreanSettings
from refdec.baselines.denoise import DenoiseSettings, make_denoise, train_denoise
from refdec.baselines.dips import DipsSettings, make_dips
from refdec.baselines.folder import Card, read_card
from refdec.baselines.ilm import Ilm, IlmSettings
from refdec.baselines.ilm_training import IlmTraining, train_ilm
from refdec.baselines.method import Infiller, Method, Paraphraser
from refdec.baselines.prompt import Prompting, PromptSettings
from refdec.baselines.rvqvae import RvqvaeSettings, make_rvqvae, train_rvqvae
from refdec.baselines.study import Study
from refdec.baselines.translate import RoundTrip, TranslateSettings
from refdec.baselines.upsa import UPSA, UPSASettings
from refdec.errors import SettingsError
from refdec.lm.pair import Pair
from refdec.settings import Settings, named_changes

LoadPair = Callable[[], Pair]
AnyMethod = TypeVar("AnyMethod", bound=Method, covariant=True)


@dataclass(frozen=True, slots=True)
class Means:
    """What a method can be made of.

    Attributes:
        pair: loads the pair, or gives the one that is loaded
        device: where models that are not the pair's run: cpu, cuda, cuda:1; by default a GPU if there is one
        place: the folder of the method's own weights, or the models that the user named; None where it has neither
    """

    pair: LoadPair
    device: str | None = None
    place: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of weights, which `choose_method` has made sure of."""
        assert self.place is not None
        return self.place


@dataclass(frozen=True, slots=True)
class NamedMethod(Generic[AnyMethod]):
    """What is known of a method before it is loaded.

    Attributes:
        title: what it is, in a line
        settings: the class of its settings, whose defaults are its own paper's
        make: gets what there is to make it of, and the settings
        trained: whether it has weights of its own
        models: how a user names the models that it runs on, where these are neither the pair nor its own weights
        train: makes a folder of such weights; None where another method's are used
        training: the class of settings of a method that learns by going on from a pair; None where it does not
    """

    title: str
    settings: type[Settings]
    make: Callable[[Means, Any], AnyMethod]
    trained: bool = False
    models: str = ""
    train: Callable[[Study], Card] | None = None
    training: type[Settings] | None = None


PARAPHRASERS: dict[str, NamedMethod[Paraphraser]] = {
    "cgmh": NamedMethod(
        "word edits, sampled by Metropolis-Hastings (Miao et al. 2019)",
        CGMHSettings,
        lambda means, settings: CGMH(means.pair(), settings),
    ),
    "upsa": NamedMethod(
        "word edits, searched by simulated annealing (Liu et al. 2020)",
        UPSASettings,
        lambda means, settings: UPSA(means.pair(), settings),
    ),
    "rvqvae": NamedMethod(
        "an autoencoder of sentences with discrete codes and a connection around them (Roy and Grangier 2019)",
        RvqvaeSettings,
        lambda means, settings: make_rvqvae(settings, means.folder, means.device),
        trained=True,
        train=train_rvqvae,
    ),
    "prompt": NamedMethod(
        "the forward model asked in plain words after a few examples",
        PromptSettings,
        lambda means, settings: Prompting(means.pair(), settings),
    ),
    "translate": NamedMethod(
        "round-trip translation by models of yours",
        TranslateSettings,
        lambda means, settings: RoundTrip.load(settings, str(means.place), means.device),
        models="THERE+BACK",
    ),
    "apertium": NamedMethod(
        "rule-based round-trip translation by the program apertium",
        ApertiumSettings,
        lambda _, settings: Apertium.installed(settings),
    ),
    "copynet": NamedMethod(
        "a supervised encoder-decoder that can copy (PG-IL's kind, Du and Ji 2019)",
        CopyNetSettings,
        lambda means, settings: make_copynet(settings, means.folder, means.device),
        trained=True,
        train=train_copynet,
    ),
    "dips": NamedMethod(
        "submodular choice of diverse texts in the beam of copynet or denoise (Kumar et al. 2019)",
        DipsSettings,
        lambda means, settings: make_dips(settings, means.folder, means.device),
        trained=True,
    ),
    "denoise": NamedMethod(
        "an encoder-decoder that restored damaged text before it learned pairs (BART's kind, Lewis et al. 2020)",
        DenoiseSettings,
        lambda means, settings: make_denoise(settings, means.folder, means.device),
        trained=True,
        train=train_denoise,
    ),
}
INFILLERS: dict[str, NamedMethod[Infiller]] = {
    "continue": NamedMethod(
        "the forward model alone: it reads both texts and goes on (GPT2-Fixed)",
        ContinueSettings,
        lambda means, settings: Continue(means.pair(), settings),
    ),
    "delorean": NamedMethod(
        "soft tokens, moved by gradients of the text after the gap",
        DeloreanSettings,
        lambda means, settings: Delorean(means.pair(), settings),
    ),
    "ilm": NamedMethod(
        "the forward model, taught to write what is left out of a text",
        IlmSettings,
        lambda means, settings: Ilm.load(means.pair(), settings, means.folder),
        trained=True,
        train=train_ilm,
        training=IlmTraining,
    ),
}


@dataclass(frozen=True, slots=True)
class ChosenMethod(Generic[AnyMethod]):
    """A method as a user named it."""

    name: str
    method: NamedMethod[AnyMethod]
    changes: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    card: Card | None = None

    @property
    def settings(self) -> Settings:
        return self.method.settings(**self.changes)

    @property
    def label(self) -> str:
        """What tables and files of outputs call it: weights of its own are named with their size."""
        size = [] if self.card is None else [f"{self.card.parameters / 1e6:.1f}M"]
        models = [Path(name).name for name in str(self.folder).split("+")] if self.method.models else []
        parts = [self.name, *size, *models, *(f"{name}-{value}" for name, value in self.changes.items())]
        return re.sub(r"[^\w.-]", "_", "-".join(parts))

    def load(self, pair: LoadPair, device: str | None = None) -> AnyMethod:
        return self.method.make(Means(pair, device, self.folder), self.settings)


def choose_method(
    text: str, methods: Mapping[str, NamedMethod[AnyMethod]], changes: Mapping[str, Any] | None = None
) -> ChosenMethod[AnyMethod] | None:
    """The method that a user named, with its settings checked; None where the text names none of these.

    `changes` are settings that were given elsewhere; those behind the name go before them.
    """
    named, *parts = text.split(",")
    name, _, place = named.partition(":")
    folder = Path(place if name in methods else named)
    card = read_card(folder) if name not in methods or place else None
    if name not in methods:
        if card is None:
            return None
        name = card.method
        if name not in methods:
            raise SettingsError(f"{folder} holds {name}, which is for another task. Methods: {', '.join(methods)}.")
    method = methods[name]
    if method.trained and card is None:
        there = f"{folder} holds no trained method" if place else f"{name} has weights of its own"
        raise SettingsError(f"{there}. Train it (refdec method train --help), and name its folder: {name}:DIR.")
    if method.models and not place:
        raise SettingsError(f"{name} runs on models of yours. Name them behind it: {name}:{method.models}.")
    if not method.trained and not method.models and place:
        raise SettingsError(f"{name} has no weights of its own. Name it without a folder: {name}.")
    all_changes = {**(changes or {}), **named_changes(parts, text)}
    chosen = ChosenMethod(name, method, all_changes, folder if card or method.models else None, card)
    chosen.settings  # noqa: B018  refuses what does not exist
    return chosen
