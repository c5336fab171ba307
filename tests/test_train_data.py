"""Text becomes token files: every document once, the same bytes however they were made, and nothing half made."""

from __future__ import annotations

import contextlib
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tokenizers import Tokenizer, normalizers

from refdec.errors import InputError, ModelError, RefdecError, SettingsError
from refdec.lm.tokens import Tokens
from refdec.train import corpus as corpus_module
from refdec.train.cleaning import Counts, Exclusion, Seen, clean_document, digests_of
from refdec.train.corpus import LANES, Corpus, CorpusSettings
from refdec.train.token_files import HELD_OUT, INDEX, TRAIN, TokenFiles, write_token_files
from refdec.train.tokenizer import ALPHABET, PLAIN, QuickEncoder, load_tokenizer, train_tokenizer

NAMES = ["Nina", "Omar", "the baker", "a tall man", "my aunt", "Björn", "the captain"]
DEEDS = [
    "walked to the river",
    "sold 12 apples",
    "didn't answer",
    "waited until 10:45",
    "sang “Ave Maria”",
    "左に曲がった",
]
HELD = CorpusSettings(held_out=0.1)
PATIENCE = 600  # seconds until a test gives up: far more than a busy machine takes


def story(number: int) -> str:
    """A document that no other is equal to."""
    deeds = [f"{NAMES[(number + place) % 7]} {DEEDS[(number * place) % 6]}." for place in range(1 + number % 9)]
    return f"Story {number}. " + " ".join(deeds)


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train_tokenizer(map(story, range(300)), 500)


@pytest.fixture(scope="session")
def tokens(tokenizer: Tokenizer) -> Tokens:
    return Tokens(tokenizer, 0)


def documents_of(corpus: Corpus) -> Iterator[str]:
    """All documents that are kept, the held-out ones too: what the token files must hold."""
    seen = Seen()
    for chunk in corpus.chunks():
        texts = [text for text, _ in map(corpus.prepare, chunk.texts) if text]
        new = seen.add(digests_of(text.encode() for text in texts))
        yield from (text for text, is_new in zip(texts, new, strict=True) if is_new)


def write_jsonl(path: Path, texts: list[str]) -> Path:
    content = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts).encode()
    pack: dict[str, Callable[[bytes], bytes]] = {".xz": lzma.compress, ".gz": gzip.compress}
    path.write_bytes(pack.get(path.suffix, bytes)(content))
    return path


def many_files(folder: Path, files: int = LANES + 2, documents: int = 400) -> Path:
    """Files of different sizes, with documents that occur twice."""
    folder.mkdir()
    for file in range(files):
        texts = [story(number) for number in range(file * 100, file * 100 + documents // (file + 1))]
        write_jsonl(folder / f"part-{file}.jsonl{('', '.xz', '.gz')[file % 3]}", texts)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in (TRAIN, HELD_OUT, INDEX)}


def texts_of(ids: Any, tokenizer: Tokenizer) -> list[str]:
    """The documents of a stream."""
    assert ids[0] == 0
    parts = np.split(np.asarray(ids), np.flatnonzero(ids == 0)[1:])
    return [tokenizer.decode(part[1:].tolist()) for part in parts]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "CHUNK", 2_000)


# Documents


def _text(path: Path, texts: list[str]) -> None:
    path.write_text("\n\n \n".join(texts) + "\n")


def _jsonl(path: Path, texts: list[str]) -> None:
    write_jsonl(path, texts)


def _csv(path: Path, texts: list[str]) -> None:
    path.write_text("id,text\n" + "".join('{},"{}"\n'.format(*row) for row in enumerate(texts)))


def _parquet(path: Path, texts: list[str]) -> None:
    parquet.write_table(pa.table({"id": range(len(texts)), "text": texts}), path)


WAYS: dict[str, Callable[[Path, list[str]], None]] = {
    "a.txt": _text, "a.jsonl": _jsonl, "a.jsonl.xz": _jsonl, "a.csv": _csv, "a.parquet": _parquet,
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_every_format_has_the_same_documents(name: str, tmp_path: Path) -> None:
    texts = [*map(story, range(20)), "A first line of many.\nAnd a second one."]
    WAYS[name](tmp_path / name, texts)
    assert list(documents_of(Corpus.at([tmp_path / name]))) == texts


def test_a_paragraph_without_end_is_cut_at_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "LONGEST", 30)
    (tmp_path / "a.txt").write_text("".join(f"This is line number {number}.\n" for number in range(4)))
    documents = list(documents_of(Corpus.at([tmp_path])))
    assert documents == [
        "This is line number 0.\nThis is line number 1.",
        "This is line number 2.\nThis is line number 3.",
    ]


def test_a_corpus_is_the_same_however_it_is_named(tmp_path: Path) -> None:
    folder = many_files(tmp_path / "corpus", files=3, documents=3)
    (folder / "deeper").mkdir()
    write_jsonl(folder / "deeper" / "b.jsonl", ["Another document, in a folder."])
    for other in (".hidden.txt", "README.md", "picture.png"):
        (folder / other).write_text("This is no part of the corpus.")
    whole = Corpus.at([folder])
    assert len(whole.paths) == 4
    assert Corpus.at([*reversed(whole.paths), folder / "deeper"]) == whole


def test_documents_stream(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl.xz", [story(number) * 20 for number in range(1_500)])
    path.write_bytes(path.read_bytes()[:-200])
    documents = documents_of(Corpus.at([path]))
    assert next(documents).startswith("Story 0.")  # long before the place where the file is cut off
    with pytest.raises(InputError, match=r"cannot be unpacked after line 1,\d{3}"):
        list(documents)


def test_a_sample_is_taken_from_every_file(tmp_path: Path) -> None:
    for name, size in (("a", 1_000), ("b", 5), ("c", 1_000)):
        write_jsonl(tmp_path / f"{name}.jsonl", [f"{name}: {story(number)}" for number in range(size)])
    sample = list(Corpus.at([tmp_path], HELD).sample(20_000))
    share = {name: sum(len(text) for text in sample if text.startswith(name)) for name in "abc"}
    assert sum(share.values()) == pytest.approx(20_000, rel=0.05)
    assert share["b"] > 100
    assert share["a"] == pytest.approx(share["c"], rel=0.1)


def test_a_sample_has_nothing_that_is_held_out(tmp_path: Path, tokenizer: Tokenizer, tokens: Tokens) -> None:
    corpus = Corpus.at([write_jsonl(tmp_path / "a.jsonl", list(map(story, range(300))))], HELD)
    token_files = write_token_files(corpus, tokens, tmp_path / "tokens")
    assert sorted(corpus.sample(10**9)) == sorted(texts_of(token_files.train, tokenizer))


# What is wrong with a corpus


def test_a_row_that_is_not_a_document_is_skipped_counted_and_reported(tmp_path: Path, tokens: Tokens) -> None:
    rows = [json.dumps({"text": story(number)}) for number in range(60)]
    rows[10:10] = ["{no JSON", '{"text": 7}', '{"body": "x"}', '{"text": null}', '{"text": ""}', '{"text": "short"}']
    rows += ["["] * 10
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    counts = write_token_files(Corpus.at([tmp_path], HELD), tokens, tmp_path / "tokens").counts
    assert (counts.documents, counts.kept, counts.dropped, counts.bad_rows) == (62, 60, 2, 13)
    assert len(counts.first_bad) == 5
    assert counts.first_bad[0].startswith(f"{tmp_path / 'a.jsonl'}, line 11: It is not JSON")
    assert [told.partition(": ")[2] for told in counts.first_bad[1:3]] == [
        'Its "text" is not text.',
        'It has no "text".',
    ]


def test_a_line_that_is_not_text_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"A line of good text.\nbad \xff bytes\nAnother line.\n")
    (chunk,) = Corpus.at([tmp_path]).chunks()
    assert chunk.texts == ["A line of good text.\nAnother line."]
    assert chunk.bad_rows == 1
    assert "line 2: It is not UTF-8" in chunk.first_bad[0]


def test_a_corpus_without_text_is_refused(tmp_path: Path, tokens: Tokens) -> None:
    with pytest.raises(InputError, match="No text was named"):
        Corpus.at([])
    with pytest.raises(InputError, match="There is no file"):
        Corpus.at([tmp_path / "missing.txt"])
    with pytest.raises(InputError, match=r"There are no text files in .*Their names end in \.txt"):
        Corpus.at([tmp_path])
    (tmp_path / "notes.doc").write_text("x")
    with pytest.raises(InputError, match=r"format of .*notes\.doc"):
        Corpus.at([tmp_path / "notes.doc"])
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match=r"There is no text in .*empty\.txt: none of 0 documents is kept"):
        write_token_files(Corpus.at([tmp_path]), tokens, tmp_path / "tokens")
    with pytest.raises(InputError, match="no text to learn a tokenizer from"):
        train_tokenizer(documents_of(Corpus.at([tmp_path])), 300)
    (tmp_path / "empty.txt").write_bytes(b"\xff\n")
    with pytest.raises(InputError, match=r"1 rows are not text; the first: .*line 1: It is not UTF-8"):
        write_token_files(Corpus.at([tmp_path]), tokens, tmp_path / "tokens")
    assert not list((tmp_path / "tokens").glob("*.bin"))


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_missing_column_is_refused_with_the_existing_ones(name: str, tmp_path: Path) -> None:
    WAYS[name](tmp_path / name, ["A text that stands in another column."])
    corpus = Corpus.at([tmp_path], column="texts")
    with pytest.raises(InputError, match=r"has no column 'texts' \(did you mean 'text'\?\)\. Its columns: .*text"):
        list(documents_of(corpus))
    with pytest.raises(InputError, match="has no column 'texts'"):  # through a library that calls back
        train_tokenizer(documents_of(corpus), 300)


def test_a_corpus_too_small_to_hold_anything_out_is_refused(tmp_path: Path, tokens: Tokens) -> None:
    corpus = Corpus.at([write_jsonl(tmp_path / "a.jsonl", [story(1), story(2)])], CorpusSettings(held_out=1e-6))
    with pytest.raises(InputError, match=r"No document is held out: the corpus has 2, .* a higher --held-out"):
        write_token_files(corpus, tokens, tmp_path / "tokens")


def test_settings_out_of_range_are_refused(tmp_path: Path, tokenizer: Tokenizer, tokens: Tokens) -> None:
    with pytest.raises(SettingsError, match=r"held_out is 0\.9; it must be a number from"):
        CorpusSettings(held_out=0.9)
    corpus = Corpus.at([write_jsonl(tmp_path / "a.jsonl", [story(1)])])
    with pytest.raises(SettingsError, match="workers is 0"):
        write_token_files(corpus, tokens, tmp_path / "tokens", workers=0)
    size = tokenizer.get_vocab_size()
    with pytest.raises(SettingsError, match=f"start is {size}; it must be an id of the tokenizer, below {size}"):
        write_token_files(corpus, Tokens(tokenizer, size), tmp_path / "tokens")


# Cleaning


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("  two  spaces \t and\u00a0tabs ", "two spaces and tabs"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("a \n \n\n\n b", "a\n\nb"),
        ("nul\x00 bell\x07 soft\u00adhyphen \ufeffmark", "nul bell softhyphen mark"),
        ("cafe\u0301", "café"),
        ("a family 👩\u200d👩\u200d👧 stays", "a family 👩\u200d👩\u200d👧 stays"),
        (" \n\t", None),
        ("", None),
    ],
)
def test_cleaning(text: str, clean: str | None) -> None:
    assert clean_document(text) == clean


def test_short_documents_are_dropped() -> None:
    assert clean_document("  just  ten. ", least=9) == "just ten."
    assert clean_document("  just  ten. ", least=10) is None


@given(st.text(st.sampled_from("ab.\n\n  \té\x01")))
def test_what_is_clean_stays_so(text: str) -> None:
    clean = clean_document(text)
    if clean is not None:
        assert clean_document(clean) == clean
        assert clean_document("\u00ad" + clean) == clean  # the thorough way finds nothing either


@given(st.lists(st.lists(st.integers(0, 50), max_size=30), max_size=12))
def test_a_digest_is_new_once(batches: list[list[int]]) -> None:
    seen, before = Seen(), set[int]()
    for batch in batches:
        expected = []
        for digest in batch:
            expected.append(digest not in before)
            before.add(digest)
        assert seen.add(np.array(batch, np.uint64)).tolist() == expected


def test_a_million_digests_take_eight_megabytes() -> None:
    seen = Seen()
    for start in range(0, 1_000_000, 1_000):
        seen.add(np.arange(start, start + 1_000, dtype=np.uint64) * np.uint64(2654435761))
    assert sum(run.nbytes for run in seen._runs) == 8_000_000
    assert len(seen._runs) < 12


def test_counts_add_up() -> None:
    one = Counts(documents=2, kept=1, dropped=1, bad_rows=4, first_bad=("a", "b", "c", "d"))
    both = one + one
    assert (both.documents, both.bad_rows, both.first_bad) == (4, 8, ("a", "b", "c", "d", "a"))


# Evaluation texts


@pytest.fixture
def exclusion(tmp_path: Path) -> Exclusion:
    write_jsonl(tmp_path / "one.jsonl", ["Where can I buy good bread?"])
    (tmp_path / "two.tsv").write_text(
        '1\tHe met Dr. Smith at noon. Then "they talked.\tyes\nno\ta heading of four words\t0\n'
    )
    (tmp_path / "three.txt").write_text("The last train left early.\n\nYes.\n")
    with (tmp_path / "one.jsonl").open("a") as file:
        file.write(json.dumps({"all": [{"nested": "Deep down there is a text."}, 3], "text": "今日は天気がいいです。"}))
    return Exclusion.of([tmp_path / "one.jsonl", tmp_path / "two.tsv", tmp_path / "three.txt"])


@pytest.mark.parametrize(
    ("text", "left", "removed"),
    [
        ("Nothing is in here. Yes.", "Nothing is in here. Yes.", 0),
        ("I ask. where can  i buy GOOD bread? He knew.", "I ask. He knew.", 1),
        ("The last train left early.", "", 1),
        ("First.\nA heading of four words\nThe text goes on", "First.\nThe text goes on", 1),
        ("So. He met Dr. Smith at noon. Then \"they talked. Home.", "So. Home.", 1),
        ("Wrapped: yes. The last train\nleft early. Done. Deep down there is a text.", "Wrapped: yes. Done. ", 2),
        ("He met Dr. Smith at noon. Then nothing.", "He met Dr. Smith at noon. Then nothing.", 0),
        ("昨日は雨でした。今日は天気がいいです。明日は？", "昨日は雨でした。明日は？", 1),
    ],
)  # fmt: skip
def test_texts_of_evaluations_are_removed(exclusion: Exclusion, text: str, left: str, removed: int) -> None:
    assert exclusion.without(text) == (left, removed)


def test_removed_lines_are_counted_and_gone(tmp_path: Path, exclusion: Exclusion, tokens: Tokens) -> None:
    texts = [*map(story, range(50)), "The last train left early.", f"{story(51)} Where can I buy good bread?"]
    write_jsonl(tmp_path / "corpus.jsonl", texts)
    corpus = Corpus.at([tmp_path / "corpus.jsonl"], HELD, exclusion=exclusion)
    assert list(documents_of(corpus)) == [*map(story, range(50)), story(51)]
    counts = write_token_files(corpus, tokens, tmp_path / "tokens").counts
    assert (counts.documents, counts.kept, counts.dropped, counts.removed_lines) == (52, 51, 1, 2)


def test_an_evaluation_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for name in ("missing.jsonl", "missing.parquet", "missing.tsv"):
        with pytest.raises(InputError, match=r"missing\.\w+ cannot be read \(No such file"):
            Exclusion.of([tmp_path / name])


# Tokenizer


def test_a_tokenizer_takes_digits_one_by_one_and_starts_with_the_mark_and_all_bytes(tmp_path: Path) -> None:
    made = json.loads(train_tokenizer(map(story, range(200)), 400).to_str())
    assert made["normalizer"] == {"type": "NFC"}
    assert {"type": "Digits", "individual_digits": True} in made["pre_tokenizer"]["pretokenizers"]
    assert made["decoder"]["type"] == "ByteLevel"
    vocabulary = made["model"]["vocab"]
    entries = sorted(vocabulary, key=vocabulary.get)
    assert entries[:257] == ["<|endoftext|>", *ALPHABET]
    (tmp_path / "tokenizer.json").write_text(json.dumps(made))
    for place in (tmp_path, tmp_path / "tokenizer.json"):
        tokens = Tokens(load_tokenizer(place), 0)
        assert tokens.special == {0}
        assert tokens.text(0) == "<|endoftext|>"
        assert [tokens.text(token) for token in tokens.encode("2026")] == ["2", "0", "2", "6"]


@given(text=st.text())
def test_every_text_comes_back(tokenizer: Tokenizer, text: str) -> None:
    tokens = Tokens(tokenizer, 0)
    assert tokens.decode(tokens.encode(text)) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("size", [257, 258, 300])
def test_a_tokenizer_may_be_small(size: int) -> None:
    found = train_tokenizer(map(story, range(100)), size)
    assert found.get_vocab_size() == size
    assert Tokens(found, 0).decode(Tokens(found, 0).encode("naïve 東京 🐝")) == "naïve 東京 🐝"


def test_a_tokenizer_has_every_byte() -> None:
    with pytest.raises(SettingsError, match="256 entries is too small; it has at least 257"):
        train_tokenizer(["text"], 256)


def test_the_same_documents_give_the_same_tokenizer(tokenizer: Tokenizer) -> None:
    code = "from tests.test_train_data import *; print(train_tokenizer(map(story, range(300)), 500).to_str(), end='')"
    environment = os.environ | {"TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "1"}
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment)
    assert again.stdout.decode() == tokenizer.to_str()


def test_a_file_that_is_not_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"There is no file .*tokenizer\.json\. Name a tokenizer\.json"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="is damaged or not a tokenizer"):
        load_tokenizer(tmp_path)


def test_a_loaded_tokenizer_cuts_nothing_off(tmp_path: Path, tokenizer: Tokenizer) -> None:
    cutting = Tokenizer.from_str(tokenizer.to_str())
    cutting.enable_truncation(3)
    cutting.enable_padding(length=8)
    cutting.save(str(tmp_path / "tokenizer.json"))
    loaded = load_tokenizer(tmp_path)
    assert loaded.encode(story(5)).ids == tokenizer.encode(story(5)).ids


def library_ids(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    plain = Tokenizer.from_str(tokenizer.to_str())
    plain.encode_special_tokens = True
    return [encoding.ids for encoding in plain.encode_batch(texts, add_special_tokens=False)]


def quick_ids(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    quick = QuickEncoder(tokenizer.to_str(), "<u2")
    return [np.frombuffer(ids, "<u2").tolist() for ids in quick(texts)]


PIECES = [
    *" \t\n\r\xa0'’\"“”.,-_!?…€$ 0123½²٣七",
    "  ",
    "'s",
    "'LL",
    "'ll",
    "can't",
    "a",
    "Zoë",
    "ж",
    "Ωμέγα",
    "e\u0301",
    "ﬁ",
]
PIECES += [
    "\x0b",
    "\x1c",
    "\x85",
    "\u3000",
    "\u2003",
    "\u200b",
    "<|endoftext|>",
    "中文",
    "🐝",
    "\u0000",
    "ǅ",
    "ª",
    "\u0345",
]


@given(texts=st.lists(st.lists(st.sampled_from(PIECES)).map("".join), max_size=4))
def test_the_quick_way_gives_the_ids_of_the_library(tokenizer: Tokenizer, texts: list[str]) -> None:
    assert quick_ids(tokenizer, texts) == library_ids(tokenizer, texts)


def test_every_plain_character_is_cut_as_the_library_cuts_it(tokenizer: Tokenizer) -> None:
    plain = [character for character in map(chr, range(0x2100)) if PLAIN.fullmatch(character)]
    assert len(plain) > 700
    assert all(unicodedata.is_normalized("NFC", a + b) for a in plain for b in "eи'\u2010")
    texts = [f"a{one}b 1{one}2  {one} {one}{one}" for one in plain]
    assert quick_ids(tokenizer, texts) == library_ids(tokenizer, texts)


def test_a_tokenizer_that_cuts_otherwise_is_left_to_the_library(tokenizer: Tokenizer) -> None:
    other = Tokenizer.from_str(tokenizer.to_str())
    other.normalizer = normalizers.Lowercase()
    named = Tokenizer.from_str(tokenizer.to_str())
    named.add_tokens(["Nina and Omar"])
    for one in (other, named):
        texts = ["Nina and Omar SANG.", story(3)]
        assert quick_ids(one, texts) == library_ids(one, texts) != quick_ids(tokenizer, texts)


# TokenFiles


def test_every_document_is_in_the_token_files_once(tmp_path: Path, tokenizer: Tokenizer, tokens: Tokens) -> None:
    folder = many_files(tmp_path / "corpus")
    corpus = Corpus.at([folder], HELD)
    told: list[Counts] = []
    token_files = write_token_files(corpus, tokens, tmp_path / "tokens", step=told.append)
    documents = list(documents_of(corpus))
    assert len(set(documents)) == len(documents)
    held_out = corpus.is_held_out(digests_of(text.encode() for text in documents))
    assert texts_of(token_files.train, tokenizer) == [
        text for text, held in zip(documents, held_out, strict=True) if not held
    ]
    measured = [text for text, held in zip(documents, held_out, strict=True) if held]
    assert texts_of(token_files.held_out, tokenizer) == measured
    assert 0.05 < len(measured) / len(documents) < 0.15
    assert token_files.bytes_per_token == sum(len(text.encode()) for text in measured) / len(token_files.held_out)
    counts = token_files.counts
    assert counts == told[-1]
    assert counts.documents == counts.kept + counts.duplicates + counts.dropped
    assert counts.duplicates > 0
    assert counts.kept == len(documents) == token_files.train_part.documents + token_files.held_out_part.documents
    assert counts.bytes == sum(len(text.encode()) for text in documents)
    assert counts.characters == sum(map(len, documents))


def test_copies_of_a_document_are_all_held_out_or_none(tmp_path: Path, tokenizer: Tokenizer, tokens: Tokens) -> None:
    write_jsonl(tmp_path / "a.jsonl", [story(number % 50) for number in range(200)])
    corpus = Corpus.at([tmp_path], CorpusSettings(deduplicate=False, held_out=0.2))
    token_files = write_token_files(corpus, tokens, tmp_path / "tokens")
    assert token_files.counts.kept == 200
    assert not set(texts_of(token_files.train, tokenizer)) & set(texts_of(token_files.held_out, tokenizer))


def test_the_same_documents_are_held_out_for_every_tokenizer(tmp_path: Path, tokenizer: Tokenizer) -> None:
    corpus = Corpus.at([write_jsonl(tmp_path / "a.jsonl", list(map(story, range(200))))], HELD)
    bytewise = train_tokenizer(["nothing"], 257)
    one, other = (
        write_token_files(corpus, Tokens(by, 0), tmp_path / f"{by.get_vocab_size()}") for by in (tokenizer, bytewise)
    )
    assert texts_of(one.held_out, tokenizer) == texts_of(other.held_out, bytewise)
    assert one.held_out_part.bytes == other.held_out_part.bytes
    assert one.bytes_per_token > 2 > 1 > other.bytes_per_token > 0.9


def test_a_quoted_separator_is_text(tmp_path: Path, tokens: Tokens) -> None:
    texts = [*map(story, range(30)), "Somebody writes <|endoftext|> here."]
    corpus = Corpus.at([write_jsonl(tmp_path / "a.jsonl", texts)], HELD)
    token_files = write_token_files(corpus, tokens, tmp_path / "tokens")
    assert np.sum(token_files.train == 0) + np.sum(token_files.held_out == 0) == 31


def test_large_vocabularies_take_four_bytes(tmp_path: Path, tokenizer: Tokenizer) -> None:
    large = Tokenizer.from_str(tokenizer.to_str())
    large.add_tokens([f"<entry {number}>" for number in range(1 << 16)])
    corpus = Corpus.at([write_jsonl(tmp_path / "a.jsonl", [*map(story, range(30)), "An <entry 65500> for me."])], HELD)
    last = large.get_vocab_size() - 1
    token_files = write_token_files(corpus, Tokens(large, last), tmp_path / "tokens")
    assert token_files.train.dtype == np.uint32
    assert token_files.train[0] == token_files.held_out[0] == last
    high = large.token_to_id("<entry 65500>")
    assert high is not None
    assert high > 1 << 16
    assert high in [*token_files.train, *token_files.held_out]


@pytest.mark.usefixtures("small_chunks")
def test_small_chunks_change_only_the_order(tmp_path: Path, tokenizer: Tokenizer, tokens: Tokens) -> None:
    corpus = Corpus.at([many_files(tmp_path / "corpus")], HELD)
    small = write_token_files(corpus, tokens, tmp_path / "small")
    assert texts_of(small.train, tokenizer) == [
        text for text in documents_of(corpus) if not corpus.is_held_out(digests_of([text.encode()]))[0]
    ]


@pytest.mark.processes
def test_the_same_bytes_whatever_the_number_of_workers(tmp_path: Path, tokens: Tokens) -> None:
    folder = many_files(tmp_path / "corpus", documents=12_000)
    corpus = Corpus.at([folder], HELD)
    assert len(list(corpus.chunks())) > 2 * LANES
    expected = write_token_files(corpus, tokens, tmp_path / "1", workers=1)
    shared = write_token_files(corpus, tokens, tmp_path / "3", workers=3)
    assert contents(shared.folder) == contents(expected.folder)


@dataclass(frozen=True)
class Refusing(Corpus):
    """A corpus that a worker cannot prepare."""

    def prepare(self, text: str) -> tuple[str, int]:
        if "Story 777." in text:
            raise ModelError("Story 777 is not told.")
        return super().prepare(text)


@dataclass(frozen=True)
class Ending(Corpus):
    """A corpus that ends the process that prepares it."""

    def prepare(self, text: str) -> tuple[str, int]:  # noqa: ARG002
        os._exit(3)


@pytest.mark.processes
def test_what_goes_wrong_in_a_process_reaches_the_caller(tmp_path: Path, tokens: Tokens) -> None:
    path = write_jsonl(tmp_path / "a.jsonl.xz", list(map(story, range(2_000))))
    with pytest.raises(ModelError, match=r"^Story 777 is not told\.$"):
        write_token_files(Refusing((path,)), tokens, tmp_path / "tokens", workers=2)
    with pytest.raises(RefdecError, match="ended unexpectedly"):
        write_token_files(Ending((path,)), tokens, tmp_path / "tokens", workers=2)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"a\.jsonl\.xz cannot be unpacked after line"):
        write_token_files(Corpus((path,)), tokens, tmp_path / "tokens", workers=2)
    assert not list((tmp_path / "tokens").glob("*.*"))


SCRIPT = """
import sys
import time
from pathlib import Path
from refdec.lm.tokens import Tokens
from refdec.train.corpus import Corpus, CorpusSettings
from refdec.train.token_files import write_token_files
from refdec.train.tokenizer import load_tokenizer

def main():
    corpus = Corpus.at([Path(sys.argv[1])], CorpusSettings(held_out=0.1))
    tokens = Tokens(load_tokenizer(Path(sys.argv[2])), 0)
    write_token_files(corpus, tokens, Path(sys.argv[3]), workers=2, step=step)

def step(counts):
    print(counts.kept, flush=True)
    while counts.kept and not Path("go").exists():  # it does not end before somebody wants it to
        time.sleep(0.01)

if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.fixture
def script(tmp_path: Path, tokenizer: Tokenizer) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Makes token files as a console script does, in a process group of its own."""
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "script").write_text(SCRIPT)
    many_files(tmp_path / "corpus", documents=6_000)
    command = [sys.executable, "script", "corpus", "tokenizer.json", "tokens"]
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stdout=-1, stderr=-1)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def members(group: int) -> list[str]:
    """The commands of the processes of a group that have not ended."""
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, _, pgid = (process / "stat").read_text().rpartition(")")[2].split()[:3]
            if pgid == str(group) and state not in "ZX":
                commands.append((process / "cmdline").read_text().replace("\0", " "))
    return commands


def wait_until_gone(group: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while members(group):
        assert time.monotonic() < deadline, members(group)
        time.sleep(0.05)


def wait_for_children(process: subprocess.Popen[bytes]) -> None:
    """Wait for the first child processes, which are still importing."""
    while not any("spawn_main" in command for command in members(process.pid)):
        assert process.poll() is None
        time.sleep(0.01)


def wait_until_some_are_kept(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip().isdigit():
            return


def test_a_killed_run_leaves_nothing_that_looks_whole_nor_any_process(
    tmp_path: Path, tokens: Tokens, script: Callable[[], subprocess.Popen[bytes]]
) -> None:
    killed = script()
    wait_until_some_are_kept(killed)
    killed.kill()
    killed.wait()
    wait_until_gone(killed.pid)
    with pytest.raises(InputError, match=r"There are no token files in .*interrupted"):
        TokenFiles.open(tmp_path / "tokens")
    (tmp_path / "go").touch()
    again = script()
    assert again.communicate()[1] == b""
    assert again.returncode == 0
    whole = write_token_files(Corpus.at([tmp_path / "corpus"], HELD), tokens, tmp_path / "whole", workers=1)
    assert contents(tmp_path / "tokens") == contents(whole.folder)


@pytest.mark.parametrize("moment", [wait_for_children, wait_until_some_are_kept])
def test_ctrl_c_stops_everything_and_leaves_nothing(
    tmp_path: Path, script: Callable[[], subprocess.Popen[bytes]], moment: Callable[[subprocess.Popen[bytes]], None]
) -> None:
    process = script()
    moment(process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    wait_until_gone(process.pid)
    assert process.returncode != 0
    assert err.decode().count("Traceback") == 1  # of the script itself, which does not catch it
    assert err.decode().rstrip().endswith("KeyboardInterrupt")
    assert not list((tmp_path / "tokens").glob("*.*"))


@pytest.fixture
def token_files(tmp_path: Path, tokens: Tokens) -> TokenFiles:
    corpus = Corpus.at([write_jsonl(tmp_path / "a.jsonl", list(map(story, range(200))))], HELD)
    return write_token_files(corpus, tokens, tmp_path / "tokens")


def test_token_files_know_what_they_were_made_from(
    tmp_path: Path, token_files: TokenFiles, tokenizer: Tokenizer, tokens: Tokens
) -> None:
    corpus = Corpus.at([tmp_path / "a.jsonl"], HELD)
    found = TokenFiles.open(token_files.folder)
    assert found == token_files
    assert found.are_of(corpus, tokens)
    assert not found.are_of(corpus, Tokens(train_tokenizer(["nothing"], 257), 0))
    assert not found.are_of(corpus, Tokens(tokenizer, 1))
    assert not found.are_of(Corpus.at([tmp_path / "a.jsonl"]), tokens)
    assert not found.are_of(Corpus.at([tmp_path / "a.jsonl"], HELD, exclusion=Exclusion.of([])), tokens)
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write("\n")
    assert not found.are_of(corpus, tokens)


def test_damaged_token_files_are_refused(token_files: TokenFiles) -> None:
    index = token_files.folder / INDEX
    whole = index.read_text()
    for damage in ("", "[]", "{", whole.replace('"version": 1', '"version": 2'), whole.replace('"dtype"', '"type"')):
        index.write_text(damage)
        with pytest.raises(InputError, match=r"Tokenise the text again\.$"):
            TokenFiles.open(token_files.folder)
    index.write_text(whole)
    with (token_files.folder / TRAIN).open("ab") as file:
        file.write(b"\0\0")
    with pytest.raises(InputError, match=r"train\.bin is missing or not as long as"):
        TokenFiles.open(token_files.folder)


def test_token_files_in_use_outlive_new_ones(tmp_path: Path, token_files: TokenFiles, tokens: Tokens) -> None:
    before = token_files.train.copy()
    other = Corpus.at([write_jsonl(tmp_path / "b.jsonl", list(map(story, range(300, 340))))], HELD)
    assert len(write_token_files(other, tokens, token_files.folder).train) < len(before)
    assert np.array_equal(token_files.train, before)


def test_a_folder_is_written_by_one_at_a_time(tmp_path: Path, tokens: Tokens) -> None:
    corpus = Corpus.at([write_jsonl(tmp_path / "a.jsonl", list(map(story, range(50))))], HELD)

    def meanwhile(_: Counts) -> None:
        with pytest.raises(InputError, match="is in use"):
            write_token_files(corpus, tokens, tmp_path / "tokens")

    write_token_files(corpus, tokens, tmp_path / "tokens", step=meanwhile)


def test_a_full_disk_is_reported(tmp_path: Path, tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.at([write_jsonl(tmp_path / "a.jsonl", list(map(story, range(50))))], HELD)
    with pytest.raises(InputError, match=r"a\.jsonl.* cannot be written"):
        write_token_files(corpus, tokens, tmp_path / "a.jsonl" / "token_files")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"train\.bin cannot be written \(No space left on device\)"):
        write_token_files(corpus, tokens, tmp_path / "tokens")
    assert not list((tmp_path / "tokens").glob("*.*"))
