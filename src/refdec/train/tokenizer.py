"""The tokenizer of a new pair: byte-level BPE, so that every text has ids and comes back from them.

Like that of the embedded pair: NFC, digits one by one, id 0 is `<|endoftext|>`. For much text there is a quick way to
the same ids, see `QuickEncoder`. Knows nothing of models.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE

from refdec.errors import InputError, ModelError, SettingsError

END_OF_TEXT = "<|endoftext|>"
MARKS = (END_OF_TEXT, "<|begin_of_text|>", "<|startoftext|>", "<s>", "<bos>", "[BOS]", "</s>", "<eos>", "[EOS]")
"""What tokenizers call the entry that parts documents: those that begin one first, for some have two."""

SAMPLE = 200_000_000
"""Characters of a corpus that are enough to learn from: more hardly change the entries."""

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
MOST_KEPT, LONGEST_KEPT = 1 << 18, 64  # words whose ids are kept, and characters of such a word
LEAST = len(ALPHABET) + 1  # entries: one for each byte, and the end of a text


def train_tokenizer(documents: Iterable[str], size: int) -> Tokenizer:
    """Learn the entries of a tokenizer; the same documents give the same ones.

    There may be fewer than `size` where little text is given: an entry occurs at least twice.
    """
    if size < LEAST:
        raise SettingsError(f"A tokenizer of {size} entries is too small; it has at least {LEAST}, one for each byte.")
    tokenizer = _empty()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=ALPHABET,
        show_progress=False,
    )
    texts = iter(documents)
    first = next(texts, None)
    if first is None:
        raise InputError("There is no text to learn a tokenizer from.")
    tokenizer.train_from_iterator(chain([first], texts), trainer)
    return tokenizer


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in a file, or in the tokenizer.json of a directory. It cuts nothing off and adds nothing."""
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ModelError(f"There is no file {file}. Name a tokenizer.json, or a directory that has one.")
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises a bare Exception for a damaged file
        raise ModelError(f"{file} is damaged or no tokenizer ({str(error).splitlines()[0]}).") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def start_of(tokenizer: Tokenizer) -> int:
    """The id that is to stand before a document: that of a special entry with a usual name, or of the only one."""
    added = tokenizer.get_added_tokens_decoder().items()
    special = {str(token.content): int(index) for index, token in added if token.special}
    for mark in MARKS:
        if mark in special:
            return special[mark]
    if len(special) == 1:
        return next(iter(special.values()))
    found = f"its special entries are {', '.join(special)}" if special else "it has no special entries"
    raise ModelError(
        f"No entry of the tokenizer is known to mark the start of a document: {found}. Add {END_OF_TEXT} to its "
        "added_tokens, as a special one."
    )


class QuickEncoder:
    """Ids of many texts, as bytes: those that the library gives, several times as fast.

    A word has the same ids wherever it stands, so it is looked up once it is known. Words are cut here, in texts of the
    letters and marks of `PLAIN`, and for tokenizers that cut words as ours do; all else is left to the library. A text
    that quotes `<|endoftext|>` does not end there. Up to 50 MB are kept.
    """

    def __init__(self, definition: str, dtype: str) -> None:
        self._tokenizer = Tokenizer.from_str(definition)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self._dtype = dtype
        self._words = _Words(self._slowly)
        ours, theirs = json.loads(_empty().to_str()), json.loads(definition)
        self._cuts_alike = all(ours[part] == theirs[part] for part in ("normalizer", "pre_tokenizer"))
        self._cuts_alike &= all(token["special"] for token in theirs["added_tokens"])

    def __call__(self, texts: Sequence[str]) -> list[bytes]:
        quick = [self._cuts_alike and PLAIN.fullmatch(text) is not None for text in texts]
        slow = iter(self._slowly([text for text, is_quick in zip(texts, quick, strict=True) if not is_quick]))
        words = self._words
        words.forget()
        return [
            b"".join(map(words.__getitem__, WORD.findall(text))) if is_quick else next(slow)
            for text, is_quick in zip(texts, quick, strict=True)
        ]

    def _slowly(self, texts: list[str]) -> list[bytes]:
        encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [np.array(encoding.ids, self._dtype).tobytes() for encoding in encodings]


class _Words(dict[str, bytes]):
    """The ids of words that came up before."""

    def __init__(self, encode: Any) -> None:
        self._encode = encode

    def __missing__(self, word: str) -> bytes:
        found: bytes = self._encode([word])[0]
        if len(word) <= LONGEST_KEPT:
            self[word] = found
        return found

    def forget(self) -> None:
        if len(self) > MOST_KEPT:
            self.clear()


def _empty() -> Tokenizer:
    """A tokenizer that has learned nothing."""
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _of_category(first: str) -> str:
    """The plain characters whose category begins so."""
    plain = (character for character in map(chr, range(0x2100)) if PLAIN.fullmatch(character))
    return "".join(character for character in plain if unicodedata.category(character).startswith(first))


PLAIN = re.compile("[\t\n\r -~\xa0-\u024f\u0388-\u03ce\u0400-\u045f\u2010-\u2027\u2030-\u203a\u20ac]*")
"""Latin, Greek, Cyrillic and their marks: NFC as they are, and of one category in every version of Unicode."""

_LETTERS, _DIGITS = _of_category("L"), _of_category("N")
WORD = re.compile(
    rf"'(?:[stmd]|re|ve|ll)| ?[{_LETTERS}]+|[{_DIGITS}]| ?[^\s{_LETTERS}{_DIGITS}]+|\s+(?![^\s{_DIGITS}])|\s+"
)
"""GPT-2's words, where digits are cut out first: spaces before a digit are as those at the end of a text."""
