"""The tokenizer of a trained method: byte-level, with four special entries first; every text begins with a space."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tokenizers import Tokenizer

from refdec.baselines.seq2seq import END, MASK, PAD, START
from refdec.lm.tokens import Ids
from refdec.train.tokenizer import END_OF_TEXT

SPECIALS = (END_OF_TEXT, "<|pad|>", "<|start|>", "<|mask|>")
"""In the order of END, PAD, START and MASK."""

assert tuple(range(len(SPECIALS))) == (END, PAD, START, MASK)


class OwnTokens:
    """Ids of texts, and texts of ids. A word has the same ids wherever it stands: texts begin with a space."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # a text that quotes a special entry is still text
        self._tokenizer = tokenizer

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str) -> Ids:
        return tuple(self._tokenizer.encode(f" {text}", add_special_tokens=False).ids)

    def encode_all(self, texts: Sequence[str]) -> list[Ids]:
        spaced = [f" {text}" for text in texts]
        return [tuple(item.ids) for item in self._tokenizer.encode_batch_fast(spaced, add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True)).strip()

    @cached_property
    def definition(self) -> str:
        return str(self._tokenizer.to_str())
