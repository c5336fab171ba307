"""The functions of `plain.py` as Triton kernels: one launch each, nothing read back, fit for a CUDA graph.

Imported only if Triton and a GPU are present. The last dimension of every tensor is contiguous. The first call with a
new combination of types and sizes compiles the kernel, so it must come before a capture.
"""
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# ruff: noqa: N803
# Annotations are evaluated here, not kept as text: older versions of Triton look for tl.constexpr itself.

import math

import torch
import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch import Tensor

from refdec.lm import plain
from refdec.lm.prefix_cache import Prefix, Tail

LARGEST_ROW = 65536
"""The largest vocabulary that a draw holds in one program; from larger ones, `plain.draw` draws."""

SHORT_ROW = 16384
"""The largest vocabulary that a program holds in its registers. Of a longer one it would have to spill most."""

PART = 1024
"""Tokens of a longer one that are looked at together."""

FEW_QUERIES = {"BLOCK_KEYS": 32, "num_warps": 1, "num_stages": 2}
"""How the few queries of a step are computed: small programs, of which many run side by side and wait for memory."""

FEW = 2048
"""Tokens of a longer one that may be in the nucleus. Where there are more, the whole row is taken after all."""


@triton.jit
def _add_norm(
    stream,
    delta,
    weight,
    result,
    stream_row,
    delta_row,
    width,
    epsilon,
    ADDED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    places = tl.arange(0, BLOCK)
    inside = places < width
    x = tl.load(stream + row * stream_row + places, mask=inside, other=0.0)
    if ADDED:
        x += tl.load(delta + row * delta_row + places, mask=inside, other=0.0).to(tl.float32)
        tl.store(stream + row * stream_row + places, x, mask=inside)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / width + epsilon)
    x = x * scale * tl.load(weight + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(result + row * width + places, x.to(result.dtype.element_ty), mask=inside)


def add_norm(stream: Tensor, delta: Tensor | None, weight: Tensor, epsilon: float, dtype: torch.dtype) -> Tensor:
    rows, width = stream.shape
    result = torch.empty(rows, width, dtype=dtype, device=stream.device)
    added = stream if delta is None else delta
    block = triton.next_power_of_2(width)
    _add_norm[(rows,)](
        stream,
        added,
        weight,
        result,
        stream.stride(0),
        added.stride(0),
        width,
        epsilon,
        ADDED=delta is not None,
        BLOCK=block,
        num_warps=8 if block > 2048 else 4,
    )
    return result


@triton.jit
def _rotate(
    qkv,
    positions,
    cosine,
    sine,
    tail_keys,
    tail_values,
    place,
    keys_row,
    keys_head,
    keys_place,
    values_row,
    values_head,
    values_place,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    HALF: tl.constexpr,
    KEPT: tl.constexpr,
    BLOCK_HEADS: tl.constexpr,
    BLOCK_HALF: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    heads = (tl.program_id(1) * BLOCK_HEADS + tl.arange(0, BLOCK_HEADS))[:, None]
    half = tl.arange(0, BLOCK_HALF)
    inside = half < HALF
    angle = tl.load(positions + row).to(tl.int64) * HALF + half
    # Values are not turned.
    turns = heads < HEADS + KV_HEADS
    cos = tl.where(turns, tl.load(cosine + angle, mask=inside, other=1.0)[None, :], 1.0)
    sin = tl.where(turns, tl.load(sine + angle, mask=inside, other=0.0)[None, :], 0.0)
    present = (heads < HEADS + 2 * KV_HEADS) & inside[None, :]
    source = qkv + row * ((HEADS + 2 * KV_HEADS) * 2 * HALF) + heads * (2 * HALF) + half[None, :]
    first = tl.load(source, mask=present, other=0.0)
    second = tl.load(source + HALF, mask=present, other=0.0)
    turned_first = (first * cos - second * sin).to(first.dtype)
    turned_second = (second * cos + first * sin).to(first.dtype)
    tl.store(source, turned_first, mask=present & turns)
    tl.store(source + HALF, turned_second, mask=present & turns)
    if KEPT:
        at = tl.load(place).to(tl.int64)
        is_key = present & turns & (heads >= HEADS)
        target = tail_keys + row * keys_row + (heads - HEADS) * keys_head + at * keys_place + half[None, :]
        tl.store(target, turned_first.to(tail_keys.dtype.element_ty), mask=is_key)
        tl.store(target + HALF, turned_second.to(tail_keys.dtype.element_ty), mask=is_key)
        is_value = present & (heads >= HEADS + KV_HEADS)
        target = tail_values + row * values_row + (heads - HEADS - KV_HEADS) * values_head
        target = target + at * values_place + half[None, :]
        tl.store(target, first.to(tail_values.dtype.element_ty), mask=is_value)
        tl.store(target + HALF, second.to(tail_values.dtype.element_ty), mask=is_value)


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
    kept = tail is not None and place is not None
    keys, values = tail if tail is not None else (qkv[:, None, None], qkv[:, None, None])
    block_heads = 8
    _rotate[(len(qkv), triton.cdiv(heads + (2 if kept else 1) * kv_heads, block_heads))](
        qkv,
        positions,
        cosine,
        sine,
        keys,
        values,
        place if place is not None else positions,
        *keys.stride()[:3],
        *values.stride()[:3],
        HEADS=heads,
        KV_HEADS=kv_heads,
        HALF=head_size // 2,
        KEPT=kept,
        BLOCK_HEADS=block_heads,
        BLOCK_HALF=triton.next_power_of_2(head_size // 2),
        num_warps=2,
    )


@triton.jit
def _sweep(
    queries,
    keys,
    values,
    key_place,
    value_place,
    bound,
    last,
    greatest,
    total,
    mixture,
    scale,
    SIZE: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    BLOCK_KEYS: tl.constexpr,
):
    """Let the queries see keys before `bound`, each query those up to its `last`, by online softmax in base two."""
    dims = tl.arange(0, BLOCK_SIZE)
    for start in range(0, bound, BLOCK_KEYS):
        places = start + tl.arange(0, BLOCK_KEYS)
        there = (places < bound)[:, None] & (dims < SIZE)[None, :]
        k = tl.load(keys + places[:, None] * key_place + dims[None, :], mask=there, other=0.0)
        v = tl.load(values + places[:, None] * value_place + dims[None, :], mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(k), input_precision="ieee") * scale
        visible = (places[None, :] <= last[:, None]) & (places < bound)[None, :]
        scores = tl.where(visible, scores, -float("inf"))
        higher = tl.maximum(greatest, tl.max(scores, axis=1))
        weights = tl.exp2(scores - higher[:, None])
        shrink = tl.exp2(greatest - higher)
        total = total * shrink + tl.sum(weights, axis=1)
        mixture = mixture * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        greatest = higher
    return greatest, total, mixture


@triton.jit(do_not_specialize=["n", "filled"])
def _attend(
    q,
    prefix_keys,
    prefix_values,
    index,
    lengths,
    tail_keys,
    tail_values,
    filled,
    result,
    n,
    scale,
    q_row,
    q_query,
    q_head,
    prefix_keys_row,
    prefix_keys_head,
    prefix_keys_place,
    prefix_values_row,
    prefix_values_head,
    prefix_values_place,
    tail_keys_row,
    tail_keys_head,
    tail_keys_place,
    tail_values_row,
    tail_values_head,
    tail_values_place,
    SHARED: tl.constexpr,
    FILLED_ON_DEVICE: tl.constexpr,
    HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    BLOCK_QUERIES: tl.constexpr,
    BLOCK_KEYS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1)
    # The query heads of a key head count as further queries, so that its keys are read once.
    place = tl.program_id(2) * BLOCK_QUERIES + tl.arange(0, BLOCK_QUERIES)
    query = place // GROUP
    head = kv_head * GROUP + place % GROUP
    dims = tl.arange(0, BLOCK_SIZE)
    inside = (query < n)[:, None] & (dims < SIZE)[None, :]
    source = q + row * q_row + query[:, None] * q_query + head[:, None] * q_head + dims[None, :]
    queries = tl.load(source, mask=inside, other=0.0)

    # A finite start keeps the difference of two greatest scores defined where nothing is visible.
    greatest = tl.full([BLOCK_QUERIES], -1e30, tl.float32)
    total = tl.zeros([BLOCK_QUERIES], tl.float32)
    mixture = tl.zeros([BLOCK_QUERIES, BLOCK_SIZE], tl.float32)
    if SHARED:
        shared = tl.load(index + row).to(tl.int64)
        length = tl.load(lengths + shared).to(tl.int32)
        greatest, total, mixture = _sweep(
            queries,
            prefix_keys + shared * prefix_keys_row + kv_head * prefix_keys_head,
            prefix_values + shared * prefix_values_row + kv_head * prefix_values_head,
            prefix_keys_place,
            prefix_values_place,
            length,
            query * 0 + length,
            greatest,
            total,
            mixture,
            scale,
            SIZE,
            BLOCK_SIZE,
            BLOCK_KEYS,
        )
    count = tl.load(filled).to(tl.int32) if FILLED_ON_DEVICE else filled
    last_of_block = ((tl.program_id(2) + 1) * BLOCK_QUERIES - 1) // GROUP
    greatest, total, mixture = _sweep(
        queries,
        tail_keys + row * tail_keys_row + kv_head * tail_keys_head,
        tail_values + row * tail_values_row + kv_head * tail_values_head,
        tail_keys_place,
        tail_values_place,
        tl.minimum(count, count - n + last_of_block + 1),
        count - n + query,
        greatest,
        total,
        mixture,
        scale,
        SIZE,
        BLOCK_SIZE,
        BLOCK_KEYS,
    )
    mixture = mixture / total[:, None]
    target = result + (row * n + query[:, None]) * (HEADS * SIZE) + head[:, None] * SIZE + dims[None, :]
    tl.store(target, mixture.to(result.dtype.element_ty), mask=inside)


@triton.jit
def _sweep_one(
    query,
    keys,
    values,
    key_place,
    value_place,
    bound,
    greatest,
    total,
    mixture,
    SIZE: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    BLOCK_KEYS: tl.constexpr,
):
    """Let one query see the keys before `bound`, by online softmax in base two."""
    dims = tl.arange(0, BLOCK_SIZE)
    for start in range(0, bound, BLOCK_KEYS):
        places = start + tl.arange(0, BLOCK_KEYS)
        there = (places < bound)[:, None] & (dims < SIZE)[None, :]
        k = tl.load(keys + places[:, None] * key_place + dims[None, :], mask=there, other=0.0).to(tl.float32)
        v = tl.load(values + places[:, None] * value_place + dims[None, :], mask=there, other=0.0).to(tl.float32)
        scores = tl.where(places < bound, tl.sum(k * query[None, :], axis=1), -float("inf"))
        higher = tl.maximum(greatest, tl.max(scores, axis=0))
        weights = tl.exp2(scores - higher)
        shrink = tl.exp2(greatest - higher)
        total = total * shrink + tl.sum(weights, axis=0)
        mixture = mixture * shrink + tl.sum(weights[:, None] * v, axis=0)
        greatest = higher
    return greatest, total, mixture


@triton.jit(do_not_specialize=["filled"])
def _attend_one(
    q,
    prefix_keys,
    prefix_values,
    index,
    lengths,
    tail_keys,
    tail_values,
    filled,
    result,
    scale,
    q_row,
    q_head,
    prefix_keys_row,
    prefix_keys_head,
    prefix_keys_place,
    prefix_values_row,
    prefix_values_head,
    prefix_values_place,
    tail_keys_row,
    tail_keys_head,
    tail_keys_place,
    tail_values_row,
    tail_values_head,
    tail_values_place,
    SHARED: tl.constexpr,
    FILLED_ON_DEVICE: tl.constexpr,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    BLOCK_KEYS: tl.constexpr,
):
    """One query per row and head: too little for the matrix units; many programs run side by side instead."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    dims = tl.arange(0, BLOCK_SIZE)
    query = tl.load(q + row * q_row + head * q_head + dims, mask=dims < SIZE, other=0.0).to(tl.float32) * scale
    greatest = -1e30
    total = 0.0
    mixture = tl.zeros([BLOCK_SIZE], tl.float32)
    if SHARED:
        shared = tl.load(index + row).to(tl.int64)
        greatest, total, mixture = _sweep_one(
            query,
            prefix_keys + shared * prefix_keys_row + head * prefix_keys_head,
            prefix_values + shared * prefix_values_row + head * prefix_values_head,
            prefix_keys_place,
            prefix_values_place,
            tl.load(lengths + shared).to(tl.int32),
            greatest,
            total,
            mixture,
            SIZE,
            BLOCK_SIZE,
            BLOCK_KEYS,
        )
    count = tl.load(filled).to(tl.int32) if FILLED_ON_DEVICE else filled
    greatest, total, mixture = _sweep_one(
        query,
        tail_keys + row * tail_keys_row + head * tail_keys_head,
        tail_values + row * tail_values_row + head * tail_values_head,
        tail_keys_place,
        tail_values_place,
        count,
        greatest,
        total,
        mixture,
        SIZE,
        BLOCK_SIZE,
        BLOCK_KEYS,
    )
    target = result + row * (HEADS * SIZE) + head * SIZE + dims
    tl.store(target, (mixture / total).to(result.dtype.element_ty), mask=dims < SIZE)


def attend(q: Tensor, prefix: Prefix | None, tail: Tail, scale: float) -> Tensor:
    rows, n, heads, size = q.shape
    kv_heads = tail.keys.shape[1]
    group = heads // kv_heads
    result = torch.empty(rows, n, heads * size, dtype=q.dtype, device=q.device)
    keys, values, shared = prefix if prefix is not None else (tail.keys, tail.values, None)
    index, lengths = (q, q) if shared is None else (shared.index, shared.lengths)
    inputs = (q, keys, values, index, lengths, *tail, result)
    strides = [step for part in (keys, values, tail.keys, tail.values) for step in part.stride()[:3]]
    block_size = max(16, triton.next_power_of_2(size))
    sizes = {
        "SHARED": shared is not None,
        "FILLED_ON_DEVICE": isinstance(tail.filled, Tensor),
        "HEADS": heads,
        "SIZE": size,
        "BLOCK_SIZE": block_size,
    }
    scale *= math.log2(math.e)
    if n == group == 1:
        one = (*inputs, scale, q.stride(0), q.stride(2), *strides)
        _attend_one[(rows, heads)](*one, **sizes, BLOCK_KEYS=16, num_warps=1)
        return result
    small = block_size * q.element_size() <= 256  # larger tiles than this fill the shared memory of smaller GPUs
    few = n * group <= 16
    block_queries = 16 if few else 64 if small else 32
    blocks = FEW_QUERIES if few else {"BLOCK_KEYS": 64 if small else 32, "num_warps": 4, "num_stages": 2}
    _attend[(rows, kv_heads, triton.cdiv(n * group, block_queries))](
        *(*inputs, n, scale, *q.stride()[:3], *strides),
        **sizes,
        GROUP=group,
        BLOCK_QUERIES=block_queries,
        **blocks,
    )
    return result


@triton.jit
def _gated(gate_up, result, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    places = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = places < width
    gate = tl.load(gate_up + row * 2 * width + places, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * width + width + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(result + row * width + places, (gate * tl.sigmoid(gate) * up).to(result.dtype.element_ty), mask=inside)


def gated(gate_up: Tensor) -> Tensor:
    rows, width = len(gate_up), gate_up.shape[1] // 2
    result = torch.empty(rows, width, dtype=gate_up.dtype, device=gate_up.device)
    _gated[(rows, triton.cdiv(width, 1024))](gate_up, result, width, BLOCK=1024, num_warps=4)
    return result


@triton.jit
def _chosen(logits, tokens, result, logits_row, vocabulary, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    source = logits + row * logits_row
    places = tl.arange(0, BLOCK)
    greatest = tl.full([BLOCK], -1e30, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, vocabulary, BLOCK):
        x = tl.load(source + start + places, mask=start + places < vocabulary, other=-float("inf"))
        higher = tl.maximum(greatest, x)
        total = total * tl.exp(greatest - higher) + tl.exp(x - higher)
        greatest = higher
    most = tl.max(greatest, axis=0)
    whole = tl.sum(total * tl.exp(greatest - most), axis=0)
    logit = tl.load(source + tl.load(tokens + row))
    tl.store(result + row, logit - most - tl.log(whole))


def chosen(logits: Tensor, tokens: Tensor) -> Tensor:
    result = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
    _chosen[(len(logits),)](logits, tokens, result, logits.stride(0), logits.shape[1], BLOCK=1024, num_warps=4)
    return result


@triton.jit
def _search(mass, ids, whole, top_p, uniform):
    """The id at a uniform number in the nucleus of tokens with these masses, zero where there is none.

    whole is the mass of all tokens, also of those that are not here because they are outside of the nucleus.
    """
    # The bits of a float that is not negative, read as an integer, keep its order.
    bits = mass.to(tl.int32, bitcast=True)
    greatest = tl.max(bits, axis=0)
    needed = top_p * whole

    # The least mass in the nucleus: the greatest at which the tokens not below it hold enough.
    least = tl.minimum(greatest, 1)
    beyond = greatest + 1
    while beyond - least > 1:
        middle = least + (beyond - least) // 2
        enough = tl.sum(tl.where(bits >= middle, mass, 0.0), axis=0) >= needed
        least = tl.where(enough, middle, least)
        beyond = tl.where(enough, beyond, middle)
    value = least.to(tl.float32, bitcast=True)
    above = tl.sum(tl.where(bits > least, mass, 0.0), axis=0)
    # Of equally probable tokens at the edge, only as many as it takes.
    at_edge = tl.sum((bits == least).to(tl.int32), axis=0)
    taken = tl.minimum(tl.maximum(tl.ceil((needed - above) / value), 1.0), at_edge.to(tl.float32))
    target = uniform * (above + taken * value)

    # The mass of the drawn token: the greatest at which the tokens not below it exceed the target. A target close to
    # the whole nucleus may be rounded up to it; then no token counts that does not change the sum.
    inside = tl.sum(tl.where(bits >= least, mass, 0.0), axis=0)
    drawn = least
    beyond = greatest + 1
    while beyond - drawn > 1:
        middle = drawn + (beyond - drawn) // 2
        held = tl.sum(tl.where(bits >= middle, mass, 0.0), axis=0)
        enough = (held > target) | (held >= inside)
        drawn = tl.where(enough, middle, drawn)
        beyond = tl.where(enough, beyond, middle)
    value = drawn.to(tl.float32, bitcast=True)
    above = tl.sum(tl.where(bits > drawn, mass, 0.0), axis=0)
    alike = bits == drawn
    most = tl.where(drawn == least, taken, tl.sum(alike.to(tl.int32), axis=0).to(tl.float32))
    before = tl.minimum(tl.maximum(tl.floor((target - above) / value), 0.0), most - 1.0).to(tl.int32)

    # Among equals, the one with `before` lower ids; nearly always the first.
    first = tl.min(tl.where(alike, ids, 2147483647), axis=0)
    last = tl.max(tl.where(alike, ids, -1), axis=0)
    low = first - 1
    token = tl.where(before <= 0, first, last)
    while token - low > 1:
        middle = low + (token - low) // 2
        reached = tl.sum((alike & (ids <= middle)).to(tl.int32), axis=0) > before
        token = tl.where(reached, middle, token)
        low = tl.where(reached, low, middle)
    return token.to(tl.int64)


@triton.jit
def _draw(
    logits,
    allowed,
    which,
    top_p,
    uniform,
    result,
    logits_row,
    allowed_row,
    vocabulary,
    REST: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Draws with a whole row in one program; of the rest, only rows that were not drawn before."""
    row = tl.program_id(0).to(tl.int64)
    wanted = True
    if REST:
        wanted = tl.load(result + row) < 0
    if wanted:
        ids = tl.arange(0, BLOCK)
        inside = ids < vocabulary
        mask = tl.load(which + row).to(tl.int64)
        use = tl.load(allowed + mask * allowed_row + ids, mask=inside, other=0) != 0
        x = tl.load(logits + row * logits_row + ids, mask=inside & use, other=-float("inf"))
        mass = tl.exp(x - tl.max(x, axis=0))
        share = tl.load(top_p + row).to(tl.float32)
        token = _search(mass, ids, tl.sum(mass, axis=0), share, tl.load(uniform + row).to(tl.float32))
        tl.store(result + row, token)


@triton.jit
def _offered(logits, allowed, start, vocabulary, BLOCK: tl.constexpr):
    """The ids of a part of a row, and their logits, minus infinity where they are not allowed."""
    ids = start + tl.arange(0, BLOCK)
    inside = ids < vocabulary
    use = tl.load(allowed + ids, mask=inside, other=0) != 0
    return ids, tl.load(logits + ids, mask=inside & use, other=-float("inf"))


@triton.jit
def _draw_from_few(
    logits,
    allowed,
    which,
    top_p,
    uniform,
    few_mass,
    few_ids,
    result,
    logits_row,
    allowed_row,
    vocabulary,
    BLOCK: tl.constexpr,
    ROOM: tl.constexpr,
):
    """Draws from a long row in parts: those tokens that can be in its nucleus are gathered, and searched.

    Where there are more of them than there is room, the result is -1.
    """
    row = tl.program_id(0).to(tl.int64)
    logits += row * logits_row
    allowed += tl.load(which + row).to(tl.int64) * allowed_row
    greatest = tl.full([BLOCK], -1e30, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, vocabulary, BLOCK):
        _, x = _offered(logits, allowed, start, vocabulary, BLOCK)
        higher = tl.maximum(greatest, x)
        total = total * tl.exp(greatest - higher) + tl.exp(x - higher)
        greatest = higher
    most = tl.max(greatest, axis=0)
    whole = tl.sum(total * tl.exp(greatest - most), axis=0)
    share = tl.load(top_p + row).to(tl.float32)

    # The highest of a few thresholds above which there is enough mass, with something to spare for rounding.
    one, two, three, four = total * 0, total * 0, total * 0, total * 0
    five, six, seven = total * 0, total * 0, total * 0
    for start in range(0, vocabulary, BLOCK):
        _, x = _offered(logits, allowed, start, vocabulary, BLOCK)
        below = x - most
        mass = tl.exp(below)
        one += tl.where(below >= -2.0, mass, 0.0)
        two += tl.where(below >= -4.0, mass, 0.0)
        three += tl.where(below >= -6.0, mass, 0.0)
        four += tl.where(below >= -8.0, mass, 0.0)
        five += tl.where(below >= -10.0, mass, 0.0)
        six += tl.where(below >= -12.0, mass, 0.0)
        seven += tl.where(below >= -14.0, mass, 0.0)
    needed = share * whole * (1 + 1e-4)
    threshold = tl.where(tl.sum(seven, axis=0) >= needed, -14.0, -1e30)
    threshold = tl.where(tl.sum(six, axis=0) >= needed, -12.0, threshold)
    threshold = tl.where(tl.sum(five, axis=0) >= needed, -10.0, threshold)
    threshold = tl.where(tl.sum(four, axis=0) >= needed, -8.0, threshold)
    threshold = tl.where(tl.sum(three, axis=0) >= needed, -6.0, threshold)
    threshold = tl.where(tl.sum(two, axis=0) >= needed, -4.0, threshold)
    threshold = tl.where(tl.sum(one, axis=0) >= needed, -2.0, threshold)

    few_mass += row * ROOM
    few_ids += row * ROOM
    count = 0
    for start in range(0, vocabulary, BLOCK):
        ids, x = _offered(logits, allowed, start, vocabulary, BLOCK)
        below = x - most
        kept = below >= threshold
        number = tl.sum(kept.to(tl.int32), axis=0)
        if number > 0:
            place = count + tl.cumsum(kept.to(tl.int32), axis=0) - 1
            tl.store(few_mass + place, tl.exp(below), mask=kept & (place < ROOM))
            tl.store(few_ids + place, ids, mask=kept & (place < ROOM))
        count += number
    tl.debug_barrier()
    if count <= ROOM:
        place = tl.arange(0, ROOM)
        mass = tl.load(few_mass + place, mask=place < count, other=0.0)
        ids = tl.load(few_ids + place, mask=place < count, other=0)
        tl.store(result + row, _search(mass, ids, whole, share, tl.load(uniform + row).to(tl.float32)))
    else:
        tl.store(result + row, -1)


def draw(logits: Tensor, allowed: Tensor, which: Tensor, top_p: Tensor, uniform: Tensor) -> Tensor:
    rows, vocabulary = logits.shape
    block = triton.next_power_of_2(vocabulary)
    if block > LARGEST_ROW:
        return plain.draw(logits, allowed, which, top_p, uniform)
    result = torch.empty(rows, dtype=torch.int64, device=logits.device)
    inputs = (logits, allowed, which, top_p, uniform)
    sizes = (logits.stride(0), allowed.stride(0), vocabulary)
    long = block > SHORT_ROW
    if long:
        few_mass = torch.empty(rows, FEW, dtype=torch.float32, device=logits.device)
        few_ids = torch.empty(rows, FEW, dtype=torch.int32, device=logits.device)
        _draw_from_few[(rows,)](*inputs, few_mass, few_ids, result, *sizes, BLOCK=PART, ROOM=FEW, num_warps=8)
    warps = 16 if block > 8192 else 8 if block > 1024 else 4
    _draw[(rows,)](*inputs, result, *sizes, REST=long, BLOCK=block, num_warps=warps)
    return result
