"""The tokenizer that both models of a pair share, and facts about its entries that the algorithm needs.

From text to ids in text order, and back. Knows nothing of models or tasks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tokenizers import Tokenizer

Ids = tuple[int, ...]
"""Token ids in text order, left to right, whichever way a model reads."""


@dataclass(frozen=True)
class Tokens:
    """A `tokenizers.Tokenizer`, and what refdec asks of it."""

    tokenizer: Tokenizer = field(repr=False)
    start: int  # the id before a document, whichever way it is read
    _containing: dict[str, frozenset[int]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def encode_with_spans(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids, and for each the range of characters that it covers."""
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return list(encoding.ids), [(int(begin), int(end)) for begin, end in encoding.offsets]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def text(self, index: int) -> str:
        """The text of one entry, including the space before it if it has one."""
        return self._texts[index]

    @property
    def vocabulary(self) -> int:
        return int(self.tokenizer.get_vocab_size(with_added_tokens=True))

    def decode_all(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Several texts at once, faster than one by one."""
        return list(self.tokenizer.decode_batch([list(ids) for ids in rows], skip_special_tokens=True))

    def rough_texts(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of the entries joined: right in every ASCII character, and much faster than decoding."""
        texts = self._texts
        return ["".join([texts[index] for index in ids]) for ids in rows]

    def containing(self, characters: str) -> frozenset[int]:
        """The ids whose text contains one of these characters."""
        if characters not in self._containing:
            self._containing[characters] = frozenset(
                index for index, text in enumerate(self._texts) if any(character in text for character in characters)
            )
        return self._containing[characters]

    @cached_property
    def longest(self) -> int:
        """The number of characters of the longest entry."""
        return max(len(text) for text in self._texts)

    @cached_property
    def special(self) -> frozenset[int]:
        """Ids that are marks for the models, not text."""
        added = self.tokenizer.get_added_tokens_decoder()
        return frozenset(index for index, token in added.items() if token.special) | {self.start}

    @cached_property
    def fingerprint(self) -> str:
        """Equal for tokenizers that give every text the same ids."""
        definition = json.loads(self.tokenizer.to_str())
        parts = {name: definition.get(name) for name in ("normalizer", "pre_tokenizer", "model", "added_tokens")}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def _texts(self) -> list[str]:
        return [self.tokenizer.decode([index], skip_special_tokens=False) for index in range(self.vocabulary)]
