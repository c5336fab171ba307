"""The tokenizer of a new pair: byte-level BPE, so that every text can be encoded and decoded.

Text is in NFC, digits are entries of their own, id 0 is `<|endoftext|>`. `QuickEncoder` is a faster way to the same
ids. Knows nothing of models.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE

from refdec.errors import InputError, ModelError, SettingsError

END_OF_TEXT = "<|endoftext|>"
BACKWARD = "<|backward|>"
"""The entry before a document that one model of both directions reads backward."""

MARKS = (END_OF_TEXT, "<|begin_of_text|>", "<|startoftext|>", "<s>", "<bos>", "[BOS]", "</s>", "<eos>", "[EOS]")
"""Usual names of the entry between documents; those that begin one come first, as some tokenizers have two."""

SAMPLE = 200_000_000
"""Characters of a corpus to learn from: more hardly change the entries."""

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
MOST_KEPT, LONGEST_KEPT = 1 << 18, 64  # words whose ids are cached, and characters of such a word


def train_tokenizer(documents: Iterable[str], size: int, specials: Sequence[str] = (END_OF_TEXT,)) -> Tokenizer:
    """Learn the entries of a tokenizer; the same documents give the same ones. The special entries come first.

    Little text may give fewer than `size` entries: an entry must occur at least twice.
    """
    least = len(ALPHABET) + len(specials)
    if size < least:
        raise SettingsError(f"A tokenizer of {size} entries is too small; it has at least {least}, one for each byte.")
    tokenizer = _empty()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=list(specials),
        initial_alphabet=ALPHABET,
        show_progress=False,
    )
    texts = iter(documents)
    first = next(texts, None)
    if first is None:
        raise InputError("There is no text to learn a tokenizer from. Give more text.")
    tokenizer.train_from_iterator(chain([first], texts), trainer)
    return tokenizer


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in a file, or in the tokenizer.json of a directory, without truncation and padding."""
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ModelError(f"There is no file {file}. Name a tokenizer.json, or a directory that has one.")
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises a bare Exception for a damaged file
        raise ModelError(f"{file} is damaged or not a tokenizer ({str(error).splitlines()[0]}).") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def start_of(tokenizer: Tokenizer) -> int:
    """The id to put before a document: that of a special entry with a usual name, or of the only special entry."""
    added = tokenizer.get_added_tokens_decoder().items()
    special = {str(token.content): int(index) for index, token in added if token.special}
    for mark in MARKS:
        if mark in special:
            return special[mark]
    if len(special) == 1:
        return next(iter(special.values()))
    entries = f"its special entries are {', '.join(special)}" if special else "it has no special entries"
    raise ModelError(
        f"The tokenizer has no known mark for the start of a document: {entries}. Add {END_OF_TEXT} to its "
        "added_tokens, as a special entry."
    )


def unused_mark(tokenizer: Tokenizer, used: Collection[int]) -> int:
    """The first special entry that is none of these ids and does not begin or end a document by its name."""
    for index, token in sorted(tokenizer.get_added_tokens_decoder().items()):
        if token.special and index not in used and token.content not in MARKS:
            return int(index)
    raise ModelError(
        "The tokenizer has no unused special entry for documents that are read backward. Name the id of an entry that "
        "no text has with --backward-start."
    )


class QuickEncoder:
    """Ids of many texts, as bytes: the same as the library's, several times as fast.

    A word has the same ids wherever it stands, so its ids are cached. Words are cut here for texts of the characters in
    `PLAIN`, if the tokenizer cuts words as ours does; all else is left to the library. A text that quotes
    `<|endoftext|>` does not end there. The cache takes up to 50 MB.
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
        if len(words) > MOST_KEPT:
            words.clear()
        return [
            b"".join(map(words.__getitem__, WORD.findall(text))) if is_quick else next(slow)
            for text, is_quick in zip(texts, quick, strict=True)
        ]

    def _slowly(self, texts: list[str]) -> list[bytes]:
        encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [np.array(encoding.ids, self._dtype).tobytes() for encoding in encodings]


class _Words(dict[str, bytes]):
    """A cache of the ids of words."""

    def __init__(self, encode: Any) -> None:
        self._encode = encode

    def __missing__(self, word: str) -> bytes:
        ids: bytes = self._encode([word])[0]
        if len(word) <= LONGEST_KEPT:
            self[word] = ids
        return ids


def _empty() -> Tokenizer:
    """A tokenizer that has not learned anything yet."""
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _of_category(first: str) -> str:
    """The plain characters whose Unicode category begins with `first`."""
    plain = (character for character in map(chr, range(0x2100)) if PLAIN.fullmatch(character))
    return "".join(character for character in plain if unicodedata.category(character).startswith(first))


PLAIN = re.compile("[\t\n\r -~\xa0-\u024f\u0388-\u03ce\u0400-\u045f\u2010-\u2027\u2030-\u203a\u20ac]*")
"""Latin, Greek, Cyrillic and punctuation: in NFC already, and of the same category in every version of Unicode."""

_LETTERS, _DIGITS = _of_category("L"), _of_category("N")
WORD = re.compile(
    rf"'(?:[stmd]|re|ve|ll)| ?[{_LETTERS}]+|[{_DIGITS}]| ?[^\s{_LETTERS}{_DIGITS}]+|\s+(?![^\s{_DIGITS}])|\s+"
)
"""GPT-2's words, with digits cut out first: spaces before a digit count as spaces at the end of a text."""
