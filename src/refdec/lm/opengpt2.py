"""OpenGPT2: the GPT-2 XL pair that was released with the paper, for which `transformers` has no class.

A GPT-2 with norms in other places: one after the embeddings, none before attention, two around the MLP, none at the
end. The released weights count token ids from one, and 0 is padding. That row is dropped on loading, so that ids and
logits are GPT-2's own here as everywhere. Knows nothing of directions, text or files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers import Cache, DynamicCache, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.pytorch_utils import Conv1D

SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings")
"""The sizes that config.json must have."""

ENTRIES = 50257
"""The size of GPT-2's vocabulary; the last entry is <|endoftext|>. Rows beyond it stand for no text and are dropped."""

EPSILON = 1e-5


class OpenGPT2Config(PreTrainedConfig):  # type: ignore[misc]
    model_type = "opengpt2"


class _Attention(nn.Module):
    def __init__(self, config: OpenGPT2Config, layer: int) -> None:
        super().__init__()
        self.layer, self.heads = layer, config.num_attention_heads
        self.c_attn = Conv1D(3 * config.hidden_size, config.hidden_size)
        self.c_proj = Conv1D(config.hidden_size, config.hidden_size)

    def forward(self, hidden: torch.Tensor, cache: Cache | None, visible: torch.Tensor | None) -> torch.Tensor:
        rows, places, width = hidden.shape
        query, key, value = (
            part.view(rows, places, self.heads, -1).transpose(1, 2) for part in self.c_attn(hidden).split(width, dim=-1)
        )
        if cache is not None:
            key, value = cache.update(key, value, self.layer)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        output: torch.Tensor = self.c_proj(mixed.transpose(1, 2).reshape(rows, places, width))
        return output


class _MLP(nn.Module):
    def __init__(self, config: OpenGPT2Config) -> None:
        super().__init__()
        self.ln_0 = nn.LayerNorm(config.hidden_size, eps=EPSILON)
        self.linear_intermediate = nn.Linear(config.hidden_size, config.intermediate_size)
        self.linear_output = nn.Linear(config.intermediate_size, config.hidden_size)
        self.ln_1 = nn.LayerNorm(config.hidden_size, eps=EPSILON)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        inner = functional.gelu(self.linear_intermediate(self.ln_0(hidden)))  # by erf, not GPT-2's tanh
        output: torch.Tensor = self.ln_1(hidden + self.linear_output(inner))
        return output


class _Block(nn.Module):
    def __init__(self, config: OpenGPT2Config, layer: int) -> None:
        super().__init__()
        self.attn = _Attention(config, layer)
        self.mlp = _MLP(config)

    def forward(self, hidden: torch.Tensor, cache: Cache | None, visible: torch.Tensor | None) -> torch.Tensor:
        output: torch.Tensor = self.mlp(hidden + self.attn(hidden, cache, visible))
        return output


class OpenGPT2(PreTrainedModel):  # type: ignore[misc]
    """A causal language model with the interface of those in `transformers`, as far as `TransformersLM` uses it."""

    config_class = OpenGPT2Config
    _supports_sdpa = True

    def __init__(self, config: OpenGPT2Config) -> None:
        super().__init__(config)
        self.wte = nn.Embedding(config.vocab_size, config.hidden_size)
        self.wpe = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.ln_embed = nn.LayerNorm(config.hidden_size, eps=EPSILON)
        self.h = nn.ModuleList(_Block(config, layer) for layer in range(config.num_hidden_layers))

    def forward(self, input_ids: torch.Tensor, logits_to_keep: int = 0, **inputs: Any) -> CausalLMOutputWithPast:
        body = self.hidden(input_ids, **inputs)
        logits = functional.linear(body.last_hidden_state[:, -logits_to_keep:], self.wte.weight)  # -0 keeps all
        return CausalLMOutputWithPast(logits=logits, past_key_values=body.past_key_values)

    def get_output_embeddings(self) -> nn.Embedding:
        return self.wte

    def hidden(
        self,
        input_ids: torch.Tensor,
        past_key_values: Cache | None = None,
        use_cache: bool = False,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
    ) -> BaseModelOutputWithPast:
        """The hidden states that the output matrix is multiplied with."""
        cache = DynamicCache() if use_cache and past_key_values is None else past_key_values
        past = 0 if cache is None else cache.get_seq_length()
        total = past + input_ids.shape[1]
        if position_ids is None:
            position_ids = torch.arange(past, total, device=input_ids.device)[None]
        visible = _visible(past, total, attention_mask, input_ids.device)
        hidden = self.ln_embed(self.wte(input_ids) + self.wpe(position_ids))
        for block in self.h:
            hidden = block(hidden, cache, visible)
        return BaseModelOutputWithPast(last_hidden_state=hidden, past_key_values=cache)


def _visible(past: int, total: int, attention_mask: torch.Tensor | None, device: torch.device) -> torch.Tensor | None:
    """Which places each new one attends to, (new, total) or (rows, 1, new, total); None if to all."""
    if attention_mask is None and total - past == 1:
        return None
    place = torch.arange(total, device=device)
    new = place[past:, None]
    visible = place <= new
    if attention_mask is None:
        return visible
    # Padding attends to itself: attending to nothing is 0 / 0 in some kernels, and would spread from there.
    return (visible & attention_mask.bool()[:, None, None]) | (place == new)


def may_describe(settings: Mapping[str, Any]) -> bool:
    """Whether a config.json may have this layout. The released ones have no model type; the weights decide."""
    kind, classes = settings.get("model_type"), settings.get("architectures")
    if "opengpt2" in f"{kind} {classes}".lower():
        return True
    return kind in (None, "", "gpt2") and all(size in settings for size in SIZES)  # GPT-2 itself says n_embd


def find_prefix(names: Iterable[str]) -> str | None:
    """The prefix that all tensor names of this layout have, often empty; None for names of another layout."""
    tensors = set(names)
    prefixes = (name.removesuffix("ln_embed.weight") for name in tensors if name.endswith("ln_embed.weight"))
    return next((prefix for prefix in prefixes if f"{prefix}h.0.mlp.ln_0.weight" in tensors), None)


def build(settings: Mapping[str, Any], stored: Mapping[str, torch.Tensor]) -> OpenGPT2:
    """The model with released weights, in float32; a ValueError says what is wrong with them."""
    tensors = _arrange(stored)
    config = _configure(settings, tensors)
    with torch.device("meta"):
        model = OpenGPT2(config)
    wanted = model.state_dict()
    for name, place in wanted.items():
        if name not in tensors:
            raise ValueError(f"{name} is missing")
        tensor = tensors[name]
        if tensor.shape != place.shape or not tensor.is_floating_point():
            stored_as = f"{tuple(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"
            raise ValueError(f"{name} is {stored_as} and should be {tuple(place.shape)} in floating point")
    model.to_empty(device="cpu").load_state_dict({name: tensors[name] for name in wanted})
    return model


def _arrange(stored: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors under the model's names: no prefix, no row for padding, one matrix for queries, keys and values."""
    prefix = find_prefix(stored)
    if prefix is None:
        raise ValueError("ln_embed.weight or h.0.mlp.ln_0.weight is missing")
    tensors = {name.removeprefix(prefix): tensor for name, tensor in stored.items()}
    embedding = tensors.get("wte.weight")
    if embedding is None or embedding.dim() != 2 or len(embedding) < 2:
        raise ValueError("wte.weight is missing or not a matrix")
    output = next((tensor for name, tensor in stored.items() if name.endswith("lm_head.weight")), None)
    if output is not None and not torch.equal(output, embedding):
        raise ValueError("lm_head.weight is not wte.weight, though this layout has one matrix for both")
    tensors["wte.weight"] = embedding[1 : 1 + ENTRIES]
    for name in [name for name in tensors if ".attn.c_attn_q." in name]:
        parts = [name.replace("c_attn_q", f"c_attn_{part}") for part in "qkv"]
        lacking = next((part for part in parts if part not in tensors), None)
        if lacking:
            raise ValueError(f"{lacking} is missing")
        tensors[name.replace("c_attn_q", "c_attn")] = torch.cat([tensors.pop(part) for part in parts], dim=-1)
    return tensors


def _configure(settings: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> OpenGPT2Config:
    for size in SIZES:
        value = settings.get(size)
        if not isinstance(value, int) or value < 1:
            raise ValueError(
                f"config.json says {size} is {value!r}" if size in settings else f"config.json has no {size}"
            )
    sizes = {size: settings[size] for size in SIZES}
    width, heads = sizes["hidden_size"], sizes["num_attention_heads"]
    if width % heads:
        raise ValueError(f"config.json says {heads} attention heads, which do not divide a hidden_size of {width}")
    layers = sum(name.endswith(".mlp.ln_0.weight") for name in tensors)
    if layers != sizes["num_hidden_layers"]:
        raise ValueError(f"config.json says {sizes['num_hidden_layers']} layers and the weights have {layers}")
    entries = len(tensors["wte.weight"])
    return OpenGPT2Config(**sizes, vocab_size=entries, bos_token_id=entries - 1, eos_token_id=entries - 1)
