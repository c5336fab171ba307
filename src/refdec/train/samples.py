"""What a model says from nothing: a look that tells more than a loss."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer

from refdec.lm.direction import Direction
from refdec.train.model import Llama

TOP_P = 0.9


@torch.no_grad()
def sample(model: Llama, tokenizer: Tokenizer, direction: Direction, tokens: int = 40, seed: int = 0) -> str:
    """One text of so many tokens, or up to where the model ends it, in text order."""
    generator = torch.Generator().manual_seed(seed)
    device, start = model.head.device, model.shape.start
    ids = [start]
    while len(ids) <= min(tokens, model.shape.positions - 1):
        logits = model.logits(torch.tensor([ids], device=device))[0, -1].float().cpu()
        ids.append(_draw(logits, generator))
        if ids[-1] == start:
            ids.pop()
            break
    return " ".join(tokenizer.decode(direction.arrange(ids[1:])).split())


def _draw(logits: torch.Tensor, generator: torch.Generator) -> int:
    """From the fewest entries that hold most of the probability."""
    shares, entries = logits.softmax(0).sort(descending=True)
    kept = shares * (shares.cumsum(0) - shares < TOP_P)
    return int(entries[torch.multinomial(kept, 1, generator=generator)])
