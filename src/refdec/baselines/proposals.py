"""Words that could stand at a place of a sentence, and how probable the sentence is with each of them.

Candidates are those with the largest product of two probabilities: the forward model's after what stands to the left,
and the backward model's before what stands to the right. A sentence is as probable as the forward model finds it with
the end of its frame. Knows nothing of what an editor wants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from refdec.baselines.vocabulary import Vocabulary
from refdec.baselines.words import Sentence, sentence_of
from refdec.errors import InputError
from refdec.lm.logprobs import chosen_logprobs
from refdec.lm.pair import Pair
from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Ids
from refdec.reflect.memory import parts_within, tokens_at_once
from refdec.reflect.schedule import Ask, together
from refdec.reflect.scoring import token_logprobs
from refdec.reflect.workers import Answering
from refdec.tasks.describe import refuse_endless

FRAMES = {"quoted": (' "', '"'), "line": ("", "\n")}
"""What stands before and after a sentence: the end makes one that breaks off improbable.

A sentence with quotes inside stands on a line by itself.
"""


@dataclass(frozen=True, eq=False)
class Outlook:
    """What a model expects after a prefix.

    Attributes:
        read: log-probability of the prefix itself, without what stands before the sentence
        expected: log-probabilities of some tokens after it
    """

    read: float
    expected: torch.Tensor


@dataclass(frozen=True, eq=False)
class Hole:
    """A sentence from which a word is missing.

    Attributes:
        sentence: without the word
        place: where the word would stand
        words: the candidates, the most expected first
        left: the ids before the place, those before the sentence among them
        left_logprob: log-probability of those that belong to the sentence
    """

    sentence: Sentence
    place: int
    words: tuple[str, ...]
    left: Ids
    left_logprob: float


class Reader:
    """What the models say about the versions of one sentence; each is read once."""

    def __init__(self, pair: Pair, vocabulary: Vocabulary, candidates: int, frame: str = "quoted") -> None:
        self._pair, self._vocabulary, self._candidates = pair, vocabulary, candidates
        self._before, self._after = FRAMES[frame]
        self._pieces: dict[str, Ids] = {}
        self._holes: dict[tuple[Sentence, int], Hole] = {}
        self._logprobs: dict[Sentence, float] = {}

    def source(self, text: str) -> Sentence:
        """A text as a sentence; refused if there is nothing to edit, or if the models cannot read it."""
        refuse_endless(self._pair, text)
        if '"' in text:
            self._before, self._after = FRAMES["line"]
        sentence = sentence_of(text, self._vocabulary.inside)
        if not sentence.words:
            raise InputError(f"There is no word to edit in {text!r}: give a text of at least one word.")
        length = len(self._ids(sentence))
        if length >= self._pair.window:
            raise InputError(
                f"The text has {length} tokens, and to edit it, this pair can read {self._pair.window - 1} at most. "
                "Work on it sentence by sentence."
            )
        return sentence

    async def hole(self, sentence: Sentence, place: int) -> Hole:
        """The most expected words for a place in a sentence that has none there."""
        key = (sentence, place)
        if key not in self._holes:
            self._holes[key] = await self._look(sentence, place)
        return self._holes[key]

    async def logprobs(self, sentences: Sequence[Sentence], hole: Hole | None = None) -> list[float]:
        """Log-probabilities of sentences that differ in one hole, or of any; minus infinity if one is too long."""
        unread = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._logprobs]
        rows = {sentence: self._ids(sentence) for sentence in unread}
        fitting = [sentence for sentence in unread if len(rows[sentence]) <= self._pair.window]
        self._logprobs.update(dict.fromkeys(unread, -math.inf))
        if fitting:
            left, before = (self._encode(self._before), 0.0) if hole is None else (hole.left, hole.left_logprob)
            rest = [rows[sentence][len(left) :] for sentence in fitting]
            longest = max(map(len, rest))
            padded = [(ids + (0,) * longest)[:longest] for ids in rest]  # changes nothing of what was read before it
            (read,) = await token_logprobs(self._pair.forward, [left], padded, [range(len(padded))])
            for sentence, ids, logprobs in zip(fitting, rest, read.double(), strict=True):
                self._logprobs[sentence] = before + float(logprobs[: len(ids)].sum())
        return [self._logprobs[sentence] for sentence in sentences]

    def _ids(self, sentence: Sentence) -> Ids:
        return self._joined(self._parts(sentence))

    def _parts(self, sentence: Sentence) -> list[str]:
        """What stands before the sentence, its pieces, and what stands after it: one piece with the last mark."""
        shown = sentence.shown
        if not sentence.pieces or sentence.pieces[-1].is_word:
            return [self._before, *shown, self._after]
        return [self._before, *shown[:-1], shown[-1] + self._after]

    def _joined(self, parts: Sequence[str]) -> Ids:
        return tuple(index for part in parts for index in self._encode(part))

    def _encode(self, shown: str) -> Ids:
        if shown not in self._pieces:
            self._pieces[shown] = tuple(self._pair.tokens.encode(shown))
        return self._pieces[shown]

    async def _look(self, sentence: Sentence, place: int) -> Hole:
        parts = self._parts(sentence.put(place, "a"))
        left, right = self._joined(parts[: place + 1]), self._joined(parts[place + 2 :])
        start = len(self._encode(self._before))
        places, ids = self._vocabulary.ways(parts[place + 1].startswith(" "), sentence.begins(place))
        chosen = torch.from_numpy(ids)
        after, before = await together(
            _expect(model, model.direction.arrange(text), skipped, chosen)
            for model, text, skipped in ((self._pair.forward, left, start), (self._pair.backward, right, 0))
        )
        joint = after.expected + before.expected
        best = joint.topk(min(self._candidates, len(joint))).indices
        words = tuple(self._vocabulary.words[places[index]] for index in best.tolist())
        return Hole(sentence, place, words, left, after.read)


async def _expect(model: LanguageModel, prefix: Sequence[int], skipped: int, tokens: torch.Tensor) -> Outlook:
    return await Ask("proposals", model, look_all, (prefix, skipped, tokens))


@torch.inference_mode()
def look_all(model: LanguageModel, jobs: Sequence[tuple[Sequence[int], int, torch.Tensor]]) -> Answering[list[Outlook]]:
    """For each prefix what the model expects of some tokens; the prefixes share passes.

    A job is a prefix in the model's reading order, how many of its tokens do not count, and the tokens.
    """
    result: dict[int, Outlook] = {}
    order = sorted(range(len(jobs)), key=lambda number: len(jobs[number][0]))  # so that little of a pass is padding
    sizes = [float(len(jobs[number][0]) + 1) for number in order]
    for part in parts_within(order, sizes, tokens_at_once(model)):
        lengths = [len(jobs[number][0]) for number in part]
        table = torch.zeros(len(part), max(lengths) + 1, dtype=torch.long)
        for row, number in zip(table, part, strict=True):
            row[: len(jobs[number][0])] = torch.tensor(list(jobs[number][0]), dtype=torch.long)
        table = table.to(model.device)
        start = model.read([[]]).select(torch.zeros(len(part), dtype=torch.long, device=model.device))
        features = model.features(start, table)
        read = chosen_logprobs(model, features, table).double()
        last = features[torch.arange(len(part), device=model.device), torch.tensor(lengths, device=model.device)]
        following = model.logits(last).log_softmax(-1)
        expected = [row[jobs[number][2].to(model.device)] for row, number in zip(following, part, strict=True)]
        yield
        for number, length, logprobs, chosen in zip(part, lengths, read.cpu(), expected, strict=True):
            result[number] = Outlook(float(logprobs[jobs[number][1] : length].sum()), chosen.cpu())
    return [result[number] for number in range(len(jobs))]
