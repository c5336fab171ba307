"""Training the grammar probe of a pair, without labels: plain sentences against the same ones broken by small edits.

Sentences are read as the program reads its candidates, each as a document of its own, bare or between quotes. Half of
them have other nouns and names first, so that the probe learns grammar and not which words go together; then one is
kept as it is and one is broken. Knows text, features and edits; nothing of commands.
"""

from __future__ import annotations

import hashlib
import heapq
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from refdec.errors import InputError
from refdec.lm.pair import Pair
from refdec.lm.probe import Probe, log_odds
from refdec.lm.protocol import LanguageModel
from refdec.reflect.scoring import in_text_order, read_alone
from refdec.reflect.workers import complete
from refdec.text.sentences import split_sentences
from refdec.train.breaks import Lexicon, broken, harmless, is_plain
from refdec.train.corpus import Corpus

HOLD_OUT = 10
"""One sentence in so many is measured on and never learned from."""

FRAMES = ((' "', '"'), ("", ""))
"""What stands around a sentence: the quotes that the program puts around a text without context, or nothing."""

CHARACTERS_PER_PAIR = 4000
"""Text that is looked through for a sentence: more than one needs, so that sentences come from many documents."""

PLACE_LOSS = 4.0
"""The weight of the loss per place: most places are sound, and say little."""


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """How a probe is made."""

    pairs: int = 12000  # sentences, each sound and broken
    seed: int = 0
    expected: int = 48  # figures of a sketch for what a model expected,
    met: int = 16  # and for what it met
    hidden: int = 64
    dropout: float = 0.1
    epochs: int = 6
    batch: int = 48  # pairs
    rate: float = 2e-3
    decay: float = 0.05


@dataclass(frozen=True, slots=True)
class Contrast:
    """A sound sentence and the same one broken, framed; `span` has the characters where the fault can be seen."""

    sound: str
    broken: str
    kind: str
    span: tuple[int, int]


def contrasts(corpus: Corpus, pairs: int, seed: int) -> list[Contrast]:
    """So many sentences of a corpus with their breaks, from many documents, in an order that the text decides."""
    found = dict.fromkeys(_plain_sentences(corpus, CHARACTERS_PER_PAIR * pairs))
    lexicon = Lexicon.of(found)
    result = []
    for sentence in heapq.nsmallest(pairs, found, key=lambda text: hashlib.sha256(text.encode()).digest()):
        numbers = random.Random(f"{seed}:{sentence}")
        sound = harmless(sentence, numbers, lexicon) if numbers.random() < 0.5 else sentence
        fault = broken(sound, numbers, lexicon)
        if fault is not None:
            before, after = numbers.choice(FRAMES)
            first, last = (len(before) + place for place in fault.span)
            result.append(Contrast(before + sound + after, before + fault.text + after, fault.kind, (first, last)))
    if len(result) < 2 * HOLD_OUT:
        raise InputError(f"The text has {len(result)} plain sentences of 8 to 30 words; a probe needs thousands.")
    return result


def _plain_sentences(corpus: Corpus, characters: int) -> Iterator[str]:
    for document in corpus.sample(characters):
        for line in document.splitlines():
            for sentence in split_sentences(line):
                plain = sentence.strip().replace("’", "'")
                if is_plain(plain):
                    yield plain


@dataclass(frozen=True, eq=False)
class ReadText:
    """A text as both models read it, in text order; `at_fault` says which places between two tokens are broken.

    Of each direction: features before each token and its row in the output matrix, (tokens, 2, width) in float16, and
    its log-probability, (tokens,).
    """

    forward: tuple[Tensor, Tensor]
    backward: tuple[Tensor, Tensor]
    at_fault: Tensor  # (tokens - 1,)


def read_texts(pair: Pair, texts: Sequence[str], spans: Sequence[tuple[int, int] | None]) -> list[ReadText]:
    """Texts read by both models; spans have the characters of each text where a fault can be seen."""
    encoded = [pair.tokens.encode_with_spans(text) for text in texts]
    forward, backward = (_read(model, [ids for ids, _ in encoded]) for model in (pair.forward, pair.backward))
    faults = [places_within(covered, span) for (_, covered), span in zip(encoded, spans, strict=True)]
    return [ReadText(*item) for item in zip(forward, backward, faults, strict=True)]


def _read(model: LanguageModel, texts: Sequence[Sequence[int]]) -> list[tuple[Tensor, Tensor]]:
    arranged = [model.direction.arrange(ids) for ids in texts]
    (read,) = complete(read_alone(model, [(arranged, _kept)]))
    return [(in_text_order(model, features), in_text_order(model, logprobs)) for logprobs, features in read]


def _kept(features: Tensor, rows: Tensor, _: Tensor) -> Tensor:
    return torch.stack([features, rows], dim=-2).half()


def places_within(covered: Sequence[tuple[int, int]], span: tuple[int, int] | None) -> Tensor:
    """Which places between two tokens lie in a span of characters: those whose tokens on both sides do."""
    if span is None:
        return torch.zeros(len(covered) - 1)
    first, last = span
    # A space before the first word and a quote behind the last one belong to it, in their tokens or beside them.
    inside = torch.tensor([begin >= first - 1 and end <= last + 1 for begin, end in covered])
    return (inside[1:] & inside[:-1]).float()


def sketches(probe: Probe, texts: Sequence[ReadText]) -> tuple[Tensor, Tensor, Tensor]:
    """What the probe joins: the sketches of both directions, padded, and how many tokens each text has."""
    views = zip(probe.views, zip(*((text.forward, text.backward) for text in texts), strict=True), strict=True)
    padded = []
    for view, read in views:
        features = pad_sequence([features.float() for features, _ in read], batch_first=True)
        logprobs = pad_sequence([logprobs for _, logprobs in read], batch_first=True)
        padded.append(view(features[..., 0, :], features[..., 1, :], logprobs))
    return padded[0], padded[1], torch.tensor([len(text.at_fault) + 1 for text in texts])


def train_probe(sound: Sequence[ReadText], faulty: Sequence[ReadText], settings: ProbeSettings) -> Probe:
    """A probe that tells each sound text from its broken version."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        width = sound[0].forward[0].shape[-1]
        probe = Probe(width, settings.expected, settings.met, settings.hidden, settings.dropout)
        for view, side in zip(probe.views, ("forward", "backward"), strict=True):
            some = torch.cat([getattr(text, side)[0].float() for text in sound[:2000]])
            view.centre, view.spread = some.mean(0), some.std(0).clamp(min=1e-3)
        optimiser = torch.optim.AdamW(probe.parameters(), lr=settings.rate, weight_decay=settings.decay)
        batch = min(settings.batch, len(sound))
        steps = settings.epochs * (len(sound) // batch)
        slower = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, (step + 1) / 30) * (1 - step / steps))
        for _ in range(settings.epochs):
            order = torch.randperm(len(sound)).tolist()
            for start in range(0, len(order) - batch + 1, batch):
                chosen = order[start : start + batch]
                loss = contrast_loss(probe, [sound[index] for index in chosen], [faulty[index] for index in chosen])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                slower.step()
    return probe.eval().requires_grad_(False)


def contrast_loss(probe: Probe, sound: Sequence[ReadText], faulty: Sequence[ReadText]) -> Tensor:
    """Three logistic losses: sound or broken, which of the two is broken, and where."""
    texts = [*sound, *faulty]
    places = probe(*sketches(probe, texts))
    good, bad = log_odds(places).view(2, -1)
    at_fault = pad_sequence([text.at_fault for text in texts], batch_first=True, padding_value=-1.0)
    where = functional.binary_cross_entropy_with_logits(places[at_fault >= 0], at_fault[at_fault >= 0])
    alone = (functional.softplus(good) + functional.softplus(-bad)).mean() / 2
    return alone + functional.softplus(good - bad).mean() + PLACE_LOSS * where


@torch.inference_mode()
def odds_of(probe: Probe, texts: Sequence[ReadText], batch: int = 64) -> np.ndarray:
    """The log-odds that each text is broken."""
    parts = [texts[start : start + batch] for start in range(0, len(texts), batch)]
    return torch.cat([log_odds(probe(*sketches(probe, part))) for part in parts]).double().numpy()


@dataclass(frozen=True)
class Made:
    """A probe, and what it says of the held-out sentences."""

    probe: Probe
    kinds: tuple[str, ...]  # of each held-out break
    sound: np.ndarray  # log-odds of each held-out sentence
    broken: np.ndarray  # log-odds of its broken version


def make_probe(pair: Pair, corpus: Corpus, settings: ProbeSettings) -> Made:
    """The probe of a pair, from plain text."""
    chosen = contrasts(corpus, settings.pairs, settings.seed)
    sound = read_texts(pair, [item.sound for item in chosen], [None] * len(chosen))
    faulty = read_texts(pair, [item.broken for item in chosen], [item.span for item in chosen])
    held = range(0, len(chosen), HOLD_OUT)
    kept = [index for index in range(len(chosen)) if index not in held]
    probe = train_probe([sound[index] for index in kept], [faulty[index] for index in kept], settings)
    probe.load_state_dict({name: tensor.half() for name, tensor in probe.state_dict().items()})  # as it is stored
    return Made(
        probe,
        tuple(chosen[index].kind for index in held),
        odds_of(probe, [sound[index] for index in held]),
        odds_of(probe, [faulty[index] for index in held]),
    )
