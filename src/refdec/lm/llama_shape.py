"""The sizes of a Llama-shaped model, as its config.json states them, and of every tensor that it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from refdec.errors import ModelError
from refdec.lm.cost import Sizes

SIZES = (
    "num_attention_heads",
    "hidden_size",
    "num_hidden_layers",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
)


@dataclass(frozen=True, slots=True)
class LlamaShape(Sizes):
    """The sizes and constants in config.json."""

    window: int
    epsilon: float
    theta: float
    tied: bool = False  # the output matrix is that of the embeddings

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> LlamaShape | None:
        """The shape, or None if the configuration needs something that this engine does not have."""
        usual = config.get("model_type") == "llama" and config.get("hidden_act", "silu") == "silu"
        rotary = config.get("rope_parameters") or config.get("rope_scaling") or {}
        plain_rotary = rotary.get("rope_type", rotary.get("type", "default")) == "default"
        if not usual or not plain_rotary or config.get("attention_bias") or config.get("mlp_bias"):
            return None
        for name in SIZES:
            if not isinstance(config.get(name), int):
                raise ModelError(
                    f"config.json of a llama model says that {name} is {config.get(name)!r}, which should be a whole "
                    "number. Fetch the model again."
                )
        heads, width = int(config["num_attention_heads"]), int(config["hidden_size"])
        return cls(
            layers=int(config["num_hidden_layers"]),
            width=width,
            inner=int(config["intermediate_size"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_size=int(config.get("head_dim") or width // heads),
            vocabulary=int(config["vocab_size"]),
            window=int(config["max_position_embeddings"]),
            epsilon=float(config.get("rms_norm_eps", 1e-6)),
            theta=float(rotary.get("rope_theta") or config.get("rope_theta") or 10000.0),
            tied=bool(config.get("tie_word_embeddings")),
        )

    def lacking(self, shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
        """Names of the tensors of this shape that are missing or have another size."""
        return [name for name, size in self.sizes.items() if shapes.get(name) != size]

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The size of every tensor, by its name."""
        width, inner = self.width, self.inner
        queries, keys = self.heads * self.head_size, self.kv_heads * self.head_size
        each = {
            "input_layernorm": (width,),
            "self_attn.q_proj": (queries, width),
            "self_attn.k_proj": (keys, width),
            "self_attn.v_proj": (keys, width),
            "self_attn.o_proj": (width, queries),
            "post_attention_layernorm": (width,),
            "mlp.gate_proj": (inner, width),
            "mlp.up_proj": (inner, width),
            "mlp.down_proj": (width, inner),
        }
        sizes: dict[str, tuple[int, ...]] = {
            f"model.layers.{number}.{name}.weight": size for number in range(self.layers) for name, size in each.items()
        }
        sizes |= {"model.embed_tokens.weight": (self.vocabulary, width), "model.norm.weight": (width,)}
        if not self.tied:
            sizes["lm_head.weight"] = (self.vocabulary, width)
        return sizes
