"""A translation model of `transformers`: texts in, the best translations by beam search out.

MarianMT, M2M100, NLLB, mBART and every other sequence-to-sequence model in a directory or on the hub, from safetensors
and without code of its own. Knows nothing of paraphrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError

from refdec.errors import InputError, ModelError
from refdec.lm.model_files import locate, quietly, refuse_unsafe, verify_checksums
from refdec.lm.pair import weights_digest

if TYPE_CHECKING:  # importing transformers takes seconds
    from transformers import PreTrainedModel

ROOM = 20
"""A translation may have twice as many tokens as its source, and so many more."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A text in another language.

    Attributes:
        text: the words
        score: mean log-probability of its tokens, as the model's own beam search ranks it
    """

    text: str
    score: float


@dataclass(frozen=True)
class Translator:
    """A loaded model with its tokenizer."""

    name: str  # tells weights apart
    model: PreTrainedModel
    tokenizer: Any
    home: Path

    def languages(self, source: str, target: str) -> Languages:
        """How this model is told from which language to translate and into which.

        Models for two languages take no codes. Marian models for several put the target before the text (`>>fr<<`);
        M2M100, NLLB and mBART begin the translation with it.
        """
        many = hasattr(self.tokenizer, "src_lang")
        if many and not (source and target):
            raise ModelError(
                f"The model in {self.home} knows many languages. Name both as it does, for example "
                "language=en,through=fr for M2M100 and language=eng_Latn,through=fra_Latn for NLLB."
            )
        for code in (source, target) if many else ():
            if self._first(code) is None:
                raise ModelError(f"The model in {self.home} knows no language {code!r}. Its page names its codes.")
        before = f">>{target}<<"
        if self.tokenizer.convert_tokens_to_ids(before) not in (None, self.tokenizer.unk_token_id):
            return Languages(source, before=f"{before} ")
        return Languages(source, first=self._first(target))

    def _first(self, code: str) -> int | None:
        """The token with which a text in the language of this code begins; None where the model has no such token."""
        added = self.tokenizer.get_added_vocab() | getattr(self.tokenizer, "lang_code_to_id", {})
        return next((int(added[mark]) for mark in (f"__{code}__", code) if code and mark in added), None)

    @torch.inference_mode()
    def translations(
        self, texts: Sequence[str], languages: Languages, beams: int, keep: int
    ) -> list[list[Translation]]:
        """The best translations of each text, best first; those that are equal in words once."""
        if languages.source and hasattr(self.tokenizer, "src_lang"):
            self.tokenizer.src_lang = languages.source
        encoded = self.tokenizer([languages.before + text for text in texts], padding=True, return_tensors="pt")
        inputs = {name: encoded[name].to(self.model.device) for name in ("input_ids", "attention_mask")}
        self._refuse_long(texts, inputs["attention_mask"])
        with quietly():
            made = self.model.generate(
                **inputs,
                num_beams=beams,
                num_return_sequences=keep,
                do_sample=False,
                length_penalty=1.0,
                max_length=None,
                max_new_tokens=min(2 * inputs["input_ids"].shape[1] + ROOM, self._limit - 1),
                return_dict_in_generate=True,
                output_scores=True,
                **({} if languages.first is None else {"forced_bos_token_id": languages.first}),
            )
        words = [" ".join(text.split()) for text in self._decoded(made.sequences)]
        scored = list(zip(words, made.sequences_scores.tolist(), strict=True))
        result = []
        for start in range(0, len(scored), keep):
            best: dict[str, float] = {}
            for text, score in scored[start : start + keep]:
                if text:
                    best.setdefault(text, score)
            result.append([Translation(text, score) for text, score in best.items()])
        return result

    @cached_property
    def _limit(self) -> int:
        """Tokens that the model reads or writes at once."""
        limits = (getattr(self.model.config, "max_position_embeddings", None), self.tokenizer.model_max_length)
        return int(min(limit for limit in limits if limit))

    def _decoded(self, rows: torch.Tensor) -> list[str]:
        return list(self.tokenizer.batch_decode(rows, skip_special_tokens=True))

    def _refuse_long(self, texts: Sequence[str], mask: torch.Tensor) -> None:
        for text, size in zip(texts, mask.sum(1).tolist(), strict=True):
            if size > self._limit:
                raise InputError(
                    f"A sentence has {size} tokens, and the model in {self.home} reads {self._limit} at once: "
                    f"{text[:40]!r}... Shorten it."
                )


@dataclass(frozen=True, slots=True)
class Languages:
    """What a model is told of a direction.

    Attributes:
        source: the code of the language of the texts, for tokenizers that mark it
        before: what stands before each text
        first: the token that each translation begins with
    """

    source: str = ""
    before: str = ""
    first: int | None = None


def load_translator(name: str, device: torch.device) -> Translator:
    """The translation model in a directory, or of a hub id."""
    home = locate(name)
    refuse_unsafe(home)
    verify_checksums(home)
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    own = {"local_files_only": True, "trust_remote_code": False}
    try:
        with quietly():
            tokenizer = AutoTokenizer.from_pretrained(str(home), **own)
            model = AutoModelForSeq2SeqLM.from_pretrained(
                str(home), use_safetensors=True, dtype=torch.float32, **own
            ).eval()
    except ImportError as error:
        raise ModelError(
            f"The tokenizer in {home} needs a package that is not installed: pip install sentencepiece."
        ) from error
    except (SafetensorError, OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ModelError(
            f"The model in {home} cannot be used for translation ({reason}). Name one that transformers loads as a "
            "sequence-to-sequence model, such as MarianMT."
        ) from error
    return Translator(f"{home.name}:{weights_digest(home)}", model.to(device), tokenizer, home)
