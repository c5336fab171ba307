"""The parts of a transformer's layer, and the draw of a token, in plain torch operations.

They run on any device and in any floating-point type, and define what the functions of the same names in `kernels.py`
compute. Rows share prefixes: attention reads the keys of a prefix once for all of its rows. Knows nothing of models.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from refdec.lm.prefix_cache import Prefix, Tail

FIRST_LOOK = 64
"""Tokens that a draw sorts first: most nuclei are smaller, and sorting the whole vocabulary is slow."""


def add_norm(stream: Tensor, delta: Tensor | None, weight: Tensor, epsilon: float, dtype: torch.dtype) -> Tensor:
    """Add delta to the residual stream in place; return the stream over its root mean square, times weight."""
    if delta is not None:
        stream.add_(delta)
    return F.rms_norm(stream, weight.shape, weight.to(stream.dtype), epsilon).to(dtype)


def rotate(
    qkv: Tensor,
    positions: Tensor,
    cosine: Tensor,
    sine: Tensor,
    heads: int,
    kv_heads: int,
    head_size: int,
    tail: tuple[Tensor, Tensor] | None = None,
    place: Tensor | None = None,
) -> None:
    """Turn queries and keys by their rotary angles in place; copy keys and values to one place of each row's tail.

    qkv: (rows, (heads + 2 * kv_heads) * head_size); cosine, sine: (window, head_size / 2); tail: as in `Tail`.
    """
    split = qkv.view(len(qkv), -1, head_size)
    first, second = split[:, : heads + kv_heads].chunk(2, dim=-1)
    cos, sin = cosine[positions][:, None], sine[positions][:, None]
    across = first * sin
    first.mul_(cos).sub_(second * sin)
    second.mul_(cos).add_(across)
    if tail is not None and place is not None:
        keys, values = split[:, heads:].chunk(2, dim=1)
        tail[0].index_copy_(2, place.view(1).long(), keys[:, :, None].to(tail[0].dtype))
        tail[1].index_copy_(2, place.view(1).long(), values[:, :, None].to(tail[1].dtype))


def attend(q: Tensor, prefix: Prefix | None, tail: Tail, scale: float) -> Tensor:
    """Attention of new queries over a shared prefix and over their own row's tail, causal within the tail.

    q: (rows, n, heads, head_size); result: (rows, n, heads * head_size). Query i sees the visible keys of its prefix
    and the places of its tail up to filled - n + i. Query head h reads key head h // (heads // kv_heads).
    """
    rows, n, heads, size = q.shape
    kv_heads, capacity = tail.keys.shape[1:3]
    if prefix is None and capacity == n:  # then the tail is the new tokens alone
        mixed = F.scaled_dot_product_attention(
            q.transpose(1, 2), tail.keys, tail.values, is_causal=True, scale=scale, enable_gqa=heads != kv_heads
        )
        return mixed.transpose(1, 2).reshape(rows, n, -1)
    # (rows, kv_heads, n * heads per key head, head_size): the query heads of a key head count as further queries
    queries = (q * scale).view(rows, n, kv_heads, -1, size).transpose(1, 2).reshape(rows, kv_heads, -1, size)
    keys, values, unseen = _visible_tail(tail, n, queries.shape[2] // n)
    scores = queries @ keys.transpose(-1, -2)
    if unseen is not None:
        scores.masked_fill_(unseen, -torch.inf)
    if prefix is None or prefix.rows.longest == 0:
        mixed = _softmax(scores) @ values
    else:
        shared, length = prefix.rows, prefix.rows.longest
        before = shared.gathered(queries) @ prefix.keys[:, :, :length].transpose(-1, -2)
        if shared.hidden is not None:
            before.masked_fill_(shared.hidden, -torch.inf)
        weights = _softmax(torch.cat([shared.spread(before), scores], dim=-1))
        mixed = shared.spread(shared.gathered(weights[..., :length]) @ prefix.values[:, :, :length])
        mixed = mixed + weights[..., length:] @ values
    return mixed.view(rows, kv_heads, n, -1, size).transpose(1, 2).reshape(rows, n, -1)


def _visible_tail(tail: Tail, n: int, heads: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """The filled keys and values, and which of them each query does not see; None if all queries see all."""
    filled = int(tail.filled)
    keys, values = tail.keys[:, :, :filled], tail.values[:, :, :filled]
    if n == 1:
        return keys, values, None
    last = torch.arange(n, device=keys.device) + (filled - n)
    unseen = torch.arange(keys.shape[2], device=keys.device) > last[:, None]
    return keys, values, unseen.repeat_interleave(heads, dim=0)


def _softmax(scores: Tensor) -> Tensor:
    wide = torch.promote_types(scores.dtype, torch.float32)
    return scores.softmax(-1, dtype=wide).to(scores.dtype)


def gated(gate_up: Tensor) -> Tensor:
    """silu(gate) * up, where each row holds all gates and then all values."""
    gate, up = gate_up.to(torch.promote_types(gate_up.dtype, torch.float32)).chunk(2, dim=-1)
    return F.silu(gate).mul_(up).to(gate_up.dtype)


def chosen(logits: Tensor, tokens: Tensor) -> Tensor:
    """Log-probabilities of one token per row: logits (rows, vocabulary) and ids (rows,) to (rows,)."""
    return logits.log_softmax(-1).gather(1, tokens[:, None])[:, 0]  # on a CPU faster than torch's logsumexp


def draw(logits: Tensor, allowed: Tensor, which: Tensor, top_p: Tensor, uniform: Tensor) -> Tensor:
    """Draw one token per row from the nucleus of the allowed tokens, by inverting its distribution at a uniform number.

    logits: (rows, vocabulary); allowed: (masks, vocabulary); which: (rows,), the mask of each row;
    top_p, uniform: (rows,); result: (rows,) ids. Of equally probable tokens the lower id comes first.
    """
    # On a CPU, adding minus infinity is far cheaper than filling by a mask.
    barred = torch.zeros(allowed.shape, dtype=logits.dtype, device=logits.device).masked_fill_(~allowed, -torch.inf)
    offered = logits + (barred if len(barred) == 1 else barred[which])
    greatest = offered.amax(-1, keepdim=True)
    needed = top_p[:, None].double() * (offered - greatest).exp_().sum(-1, keepdim=True, dtype=torch.float64)
    result = torch.empty(len(logits), dtype=torch.long, device=logits.device)
    left = torch.arange(len(logits), device=logits.device)  # rows whose nucleus was not found yet
    look = FIRST_LOOK
    while len(left):
        tokens, mass, complete = _most_probable(offered, greatest, needed, look)
        cumulative = mass.cumsum(-1)
        size = torch.minimum((cumulative < needed).sum(-1, keepdim=True), (mass > 0).sum(-1, keepdim=True) - 1)
        target = uniform[left, None].double() * cumulative.gather(1, size.clamp_(min=0))
        place = (cumulative <= target).sum(-1, keepdim=True)
        result[left] = tokens.gather(1, torch.minimum(place, size))[:, 0]  # final where complete
        left, offered, greatest, needed = (part[~complete] for part in (left, offered, greatest, needed))
        look *= 8
    return result


def _most_probable(offered: Tensor, greatest: Tensor, needed: Tensor, look: int) -> tuple[Tensor, Tensor, Tensor]:
    """The most probable tokens in order, their mass, and for each row whether they hold the whole nucleus."""
    vocabulary = offered.shape[-1]
    tokens = offered.topk(min(look, vocabulary), dim=-1).indices.sort(-1).values
    values, order = offered.gather(1, tokens).sort(dim=-1, descending=True, stable=True)
    mass = (values - greatest).double().exp()
    # Lower ids with the last value may have been left out, so only tokens above it are certain.
    last = values[:, -1:]
    certain = (mass * (values > last)).sum(-1, keepdim=True)
    complete = ((certain >= needed) & (certain > 0)) | last.isneginf() | (look >= vocabulary)
    return tokens.gather(1, order), mass, complete[:, 0]
