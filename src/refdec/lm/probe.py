"""The grammar probe: a small net that tells broken sentences from sound ones by how both models of a pair read them.

Between two tokens of a text, the forward model has read all that is left of them, and the backward model all that is
right. The net sees what each of them expected there and what it met, also at the neighbouring places, and gives the
log-odds that the text is broken at this place. A text is broken if any of its places is. Both models give a sketch of
each token while they read a text for its log-probabilities, so that nothing is read twice.
Knows features and ids; nothing of text. `train/probe.py` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from refdec.errors import ModelError
from refdec.lm.direction import Direction
from refdec.lm.protocol import LanguageModel

SEEN = 3
"""Neighbouring places that the net sees at once."""


class View(nn.Module):
    """What a model that reads in one direction tells of a token: what it expected, what it met, how surprised it was.

    A sketch is a projection of the features before the token, one of its row in the output matrix, and its
    log-probability.
    """

    centre: Tensor
    spread: Tensor

    def __init__(self, width: int, expected: int, met: int) -> None:
        super().__init__()
        self.expected, self.met = nn.Linear(width, expected), nn.Linear(width, met)
        self.register_buffer("centre", torch.zeros(2, width))
        self.register_buffer("spread", torch.ones(2, width))

    def forward(self, features: Tensor, rows: Tensor, logprobs: Tensor) -> Tensor:
        """(..., width), (..., width) and (...) to (..., size of a sketch)."""
        expected = self.expected((features - self.centre[0]) / self.spread[0])
        met = self.met((rows - self.centre[1]) / self.spread[1])
        return torch.cat([expected, met, logprobs[..., None] / 3 + 1], dim=-1)


class Probe(nn.Module):
    """A view for each direction, and the net that joins them."""

    def __init__(self, width: int, expected: int, met: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.views = nn.ModuleList(View(width, expected, met) for _ in Direction)
        self.join = nn.Conv1d(2 * (expected + met + 1), hidden, SEEN, padding=SEEN // 2)
        self.tell = nn.Linear(hidden, 1)
        self.dropout = nn.Dropout(dropout)
        nn.init.constant_(self.tell.bias, -3.0)  # few places are broken

    def view(self, direction: Direction) -> View:
        view = self.views[list(Direction).index(direction)]
        assert isinstance(view, View)
        return view

    def forward(self, forward: Tensor, backward: Tensor, lengths: Tensor) -> Tensor:
        """Log-odds that texts are broken at each place between two tokens: (texts, longest - 1).

        forward, backward: the sketches of both views in text order, (texts, longest, size); lengths: (texts,)
        tokens of each text. Behind the end of a text the log-odds are minus infinity.
        """
        # Before token g stands what the forward model expected of it, and what the backward model expected of g - 1.
        both = torch.cat([forward[:, 1:], backward[:, :-1]], dim=-1)
        is_place = torch.arange(1, forward.shape[1], device=lengths.device) < lengths[:, None]
        both = self.dropout(both * is_place[..., None])
        joined = functional.gelu(self.join(both.transpose(1, 2)).transpose(1, 2))
        told: Tensor = self.tell(self.dropout(joined))[..., 0]
        return told.masked_fill(~is_place, -torch.inf)

    @torch.inference_mode()
    def places(self, sketches: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
        """For each text, given by its two sketches, the log-odds of its places."""
        lengths = torch.tensor([len(one) for one, _ in sketches])
        padded = [nn.utils.rnn.pad_sequence(list(side), batch_first=True) for side in zip(*sketches, strict=True)]
        if padded[0].shape[1] < 2:
            return [torch.empty(0) for _ in sketches]  # a single token has no neighbour
        told = self(*padded, lengths)
        return [row[: int(length) - 1] for row, length in zip(told, lengths, strict=True)]


def log_odds(places: Tensor) -> Tensor:
    """Log-odds that a text is broken anywhere, if its places break independently: (..., places) to (...)."""
    whole = functional.softplus(places).sum(-1)  # minus the log-probability that no place is broken
    return whole + torch.log(-torch.expm1(-whole.clamp(min=1e-6)))


def save_probe(probe: Probe, path: Path) -> None:
    save_file({name: tensor.half().contiguous() for name, tensor in probe.state_dict().items()}, path)


def load_probe(path: Path, forward: LanguageModel, backward: LanguageModel) -> Probe:
    """The probe in a file; each view is where the model is that it belongs to."""
    try:
        tensors = load_file(path)
        expected, width = tensors["views.0.expected.weight"].shape
        probe = Probe(width, expected, len(tensors["views.0.met.bias"]), len(tensors["join.bias"]))
        probe.load_state_dict(tensors)
    except (SafetensorError, OSError, RuntimeError, KeyError, ValueError) as error:
        raise ModelError(f"The probe {path} is damaged or of another kind. Fetch the pair again.") from error
    if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise ModelError(f"The probe {path} has values that are not numbers. Fetch the pair again.")
    for model in (forward, backward):
        if model.cost.width != width:
            raise ModelError(
                f"The probe {path} is for models of width {width}, and the {model.direction.value} model has "
                f"{model.cost.width}. Remove it, or put the one of this pair in its place."
            )
        probe.view(model.direction).to(model.device)
    return probe.eval().requires_grad_(False)
