"""Beam search over an encoder-decoder, for many sources at once; what survives a step can be chosen in another way.

Works on ids. Knows nothing of text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from refdec.baselines.seq2seq import END, START, KeysValues, Memory, Seq2Seq
from refdec.lm.tokens import Ids


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A text, or the beginning of one."""

    ids: Ids
    logprob: float  # of all of it
    is_whole: bool = False

    @property
    def score(self) -> float:
        """Mean log-probability per token, the end included."""
        return self.logprob / max(1, len(self.ids) + self.is_whole)


Choose = Callable[[int, list[Hypothesis]], list[Hypothesis]]
"""Gets the number of a source and its candidates, best first, and gives those that live on."""


@dataclass(frozen=True, slots=True)
class Search:
    """How widely is searched."""

    width: int  # hypotheses that live on
    candidates: int  # hypotheses to choose them from, by probability
    least: int = 1  # tokens of a text, at least
    extra: int = 10  # tokens that a text may be longer than one and a half sources


@dataclass
class _Beam:
    """The search for one source."""

    live: list[Hypothesis]
    whole: list[Hypothesis]
    most: int


@torch.inference_mode()
def search(model: Seq2Seq, memory: Memory, settings: Search, choose: Choose | None = None) -> list[list[Hypothesis]]:
    """For each source whole texts, best first; without `choose` the most probable beginnings live on.

    Where no text comes to its end, beginnings of full length are given.
    """
    lengths = memory.is_text.sum(1).tolist()
    longest = model.shape.positions
    beams = [
        _Beam([Hypothesis((), 0.0)], [], min(longest, length + length // 2 + settings.extra)) for length in lengths
    ]
    rows = torch.arange(len(beams), device=memory.ids.device)
    inputs = torch.full((len(beams), 1), START, device=memory.ids.device)
    before: Sequence[KeysValues] = ()
    for step in range(1, longest + 1):
        states, after = model.decode(inputs, memory, before)
        logprobs = model.logprobs(states, memory)[:, 0]
        if step <= settings.least:
            short = torch.tensor([step <= min(settings.least, length) for length in lengths], device=rows.device)
            logprobs[short[rows], END] = -torch.inf
        values, ids = (part.tolist() for part in logprobs.topk(min(settings.candidates, logprobs.shape[1]), -1))
        parents: list[int] = []
        first = 0
        for number, beam in enumerate(beams):
            extended: list[tuple[Hypothesis, int]] = [
                (_grown(hypothesis, index, hypothesis.logprob + value), first + place)
                for place, hypothesis in enumerate(beam.live)
                for value, index in zip(values[first + place], ids[first + place], strict=True)
                if value > -torch.inf
            ]
            first += len(beam.live)
            extended.sort(key=lambda item: -item[0].logprob)
            _advance(beam, extended, settings, choose, number, step, parents)
        if not parents:
            break
        kept = torch.tensor(parents, device=rows.device)
        rows = rows[kept]
        memory = memory.at(kept)
        before = [(keys[kept], read[kept]) for keys, read in after]
        inputs = torch.tensor([[item.ids[-1]] for beam in beams for item in beam.live], device=rows.device)
    return [sorted(beam.whole or beam.live, key=lambda item: -item.score) for beam in beams]


def _grown(hypothesis: Hypothesis, index: int, logprob: float) -> Hypothesis:
    if index == END:
        return Hypothesis(hypothesis.ids, logprob, is_whole=True)
    return Hypothesis((*hypothesis.ids, index), logprob)


def _advance(
    beam: _Beam,
    extended: list[tuple[Hypothesis, int]],
    settings: Search,
    choose: Choose | None,
    number: int,
    step: int,
    parents: list[int],
) -> None:
    """Choose what lives on; texts that came to an end are put aside. `parents` gets the rows that go on."""
    candidates = extended[: settings.candidates]
    row_of = {id(item): row for item, row in candidates}
    if choose is None:
        survivors = _most_probable([item for item, _ in candidates], settings.width)
    else:
        survivors = choose(number, [item for item, _ in candidates])
    beam.whole += [item for item in survivors if item.is_whole]
    live = [item for item in survivors if not item.is_whole]
    if len(beam.whole) >= settings.width or step >= beam.most:
        if beam.whole:
            live = []
        elif step >= beam.most:
            beam.whole, live = live, []
    beam.live = live
    parents += [row_of[id(item)] for item in live]


def _most_probable(candidates: list[Hypothesis], width: int) -> list[Hypothesis]:
    """Those among the first that came to an end, and so many that go on."""
    chosen: list[Hypothesis] = []
    going_on = 0
    for item in candidates:
        if going_on == width:
            break
        chosen.append(item)
        going_on += not item.is_whole
    return chosen


@torch.inference_mode()
def sample(model: Seq2Seq, memory: Memory, uniforms: torch.Tensor, temperature: float) -> list[Hypothesis]:
    """Draw one text for every row; `uniforms` (rows, steps) decide, and bound its length.

    The log-probability is that of the model itself, whatever the temperature.
    """
    count, steps = uniforms.shape
    drawn: list[list[int]] = [[] for _ in range(count)]
    totals = torch.zeros(count, device=memory.ids.device)
    is_whole = torch.zeros(count, dtype=torch.bool, device=memory.ids.device)
    inputs = torch.full((count, 1), START, device=memory.ids.device)
    before: Sequence[KeysValues] = ()
    for step in range(min(steps, model.shape.positions)):
        states, before = model.decode(inputs, memory, before)
        logprobs = model.logprobs(states, memory)[:, 0].float()
        shares = torch.softmax(logprobs / temperature, -1).cumsum(-1)
        wanted = uniforms[:, step : step + 1].to(shares) * shares[:, -1:]
        chosen = torch.searchsorted(shares, wanted, right=True).clamp(max=shares.shape[1] - 1)
        totals += torch.where(is_whole, 0.0, logprobs.gather(1, chosen)[:, 0])
        for row, (index, over) in enumerate(zip(chosen[:, 0].tolist(), is_whole.tolist(), strict=True)):
            if not over and index != END:
                drawn[row].append(index)
        is_whole |= chosen[:, 0] == END
        if bool(is_whole.all()):
            break
        inputs = chosen
    ends = zip(drawn, totals.tolist(), is_whole.tolist(), strict=True)
    return [Hypothesis(tuple(ids), total, whole) for ids, total, whole in ends]
