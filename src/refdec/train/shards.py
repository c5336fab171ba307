"""A corpus as ids on disk: one long stream to learn from and one that is held out, both memory-mapped.

They are made by processes: a few read files, one on each core cleans and tokenises, and this one puts what they give
in order. The bytes depend on the corpus and the tokenizer alone. `index.json` is written last: without it, there are
no shards. Knows nothing of directions or of batches.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from refdec.errors import InputError, RefdecError, SettingsError
from refdec.files.lock import locked
from refdec.files.whole import write_whole
from refdec.lm.tokens import Tokens
from refdec.train.cleaning import Counts, Digests, Seen, digests_of
from refdec.train.corpus import Chunk, Corpus, in_turn
from refdec.train.tokenizer import QuickEncoder, start_of

FORMAT, VERSION = "refdec shards", 1
INDEX, TRAIN, HELD_OUT = "index.json", "train.bin", "held-out.bin"
DTYPES = {"uint16": "<u2", "uint32": "<u4"}
SMALL = 4_000_000  # bytes of files for which it does not pay to start processes
AHEAD = 2  # chunks that are under way, for each process

Ids = NDArray[np.uint16] | NDArray[np.uint32]


@dataclass(frozen=True)
class Part:
    """How much is in one of the two streams."""

    tokens: int  # with the separators
    documents: int
    bytes: int  # of text, as UTF-8

    def __add__(self, other: Part) -> Part:
        return Part(self.tokens + other.tokens, self.documents + other.documents, self.bytes + other.bytes)


@dataclass(frozen=True)
class Shards:
    """Ids in text order, each document after a separator."""

    folder: Path
    dtype: str
    vocabulary: int
    separator: int
    tokenizer: str  # its fingerprint, see `Tokens`
    made_from: str  # the digest of the corpus
    train_part: Part
    held_out_part: Part
    counts: Counts

    @classmethod
    def open(cls, folder: Path) -> Shards:
        """Those in a folder, if they are whole."""
        index = folder / INDEX
        try:
            found = json.loads(index.read_bytes())
        except FileNotFoundError:
            raise InputError(f"There are no shards in {folder}, or their making was interrupted. Make them.") from None
        except OSError as error:
            raise InputError(f"{index} cannot be read ({error.strerror}).") from error
        except ValueError:
            raise InputError(f"{index} is damaged. Make the shards again.") from None
        if not isinstance(found, dict) or (found.pop("format", None), found.pop("version", None)) != (FORMAT, VERSION):
            raise InputError(f"{index} is not of this version of refdec. Make the shards again.")
        try:
            for name in ("train_part", "held_out_part"):
                found[name] = Part(**found[name])
            found["counts"] = Counts(**found["counts"] | {"first_bad": tuple(found["counts"]["first_bad"])})
            shards = cls(folder, **found)
            width = np.dtype(DTYPES[shards.dtype]).itemsize
            wanted = {TRAIN: shards.train_part.tokens * width, HELD_OUT: shards.held_out_part.tokens * width}
        except (TypeError, KeyError, AttributeError):
            raise InputError(f"{index} is damaged. Make the shards again.") from None
        for name, size in wanted.items():
            path = folder / name
            if not path.is_file() or path.stat().st_size != size:
                raise InputError(f"{path} is not there or not as long as {INDEX} says. Make the shards again.")
        return shards

    @cached_property
    def train(self) -> Ids:
        return self._mapped(TRAIN)

    @cached_property
    def held_out(self) -> Ids:
        """Documents chosen by their text, whatever the tokenizer."""
        return self._mapped(HELD_OUT)

    @property
    def bytes_per_token(self) -> float:
        """Of the held-out text; separators are tokens and have no bytes."""
        return self.held_out_part.bytes / self.held_out_part.tokens

    def bits(self, nats: float) -> float:
        """A byte, of a loss in nats a token: what can be compared between tokenizers."""
        return nats / self.bytes_per_token / math.log(2)

    def are_of(self, corpus: Corpus, tokenizer: Tokenizer, separator: int | None = None) -> bool:
        """Whether they would come out again: the same tokenizer and settings, files of the same names and sizes."""
        separator = start_of(tokenizer) if separator is None else separator
        fingerprint = Tokens(tokenizer, separator).fingerprint
        return (self.made_from, self.tokenizer, self.separator) == (corpus.digest, fingerprint, separator)

    def _mapped(self, name: str) -> Ids:
        mapped: Ids = np.memmap(self.folder / name, DTYPES[self.dtype], mode="r")
        return mapped


def write_shards(
    corpus: Corpus,
    tokenizer: Tokenizer,
    folder: Path,
    *,
    separator: int | None = None,
    workers: int | None = None,
    step: Callable[[Counts], None] = lambda _: None,
) -> Shards:
    """Tokenise a corpus into a folder, on all cores or on as many as said. `step` is told what is counted so far.

    `separator` is the id before each document; without it, the one that the tokenizer has for that, see `start_of`.
    What was there before is replaced. Scripts call it under `if __name__ == "__main__":`, as all that starts processes.
    """
    if workers is not None and workers < 1:
        raise SettingsError(f"workers is {workers}; it must be 1 or more.")
    vocabulary = int(tokenizer.get_vocab_size(with_added_tokens=True))
    separator = start_of(tokenizer) if separator is None else separator
    if not 0 <= separator < vocabulary:
        raise SettingsError(f"separator is {separator}; it must be an id of the tokenizer, below {vocabulary}.")
    if workers is None:
        workers = 1 if corpus.bytes < SMALL else _cores()
    dtype = "uint16" if vocabulary <= 1 << 16 else "uint32"
    encoder = Encoder(corpus, tokenizer.to_str(), separator, dtype)
    with _emptied(folder) as streams:
        with closing(_encoded(encoder, workers)) as encoded:
            counts = _write(corpus, encoded, streams, step)
        _check(corpus, streams, counts)
        index = {
            "format": FORMAT,
            "version": VERSION,
            "dtype": dtype,
            "vocabulary": vocabulary,
            "separator": separator,
            "tokenizer": Tokens(tokenizer, separator).fingerprint,
            "made_from": corpus.digest,
            "train_part": vars(streams[0].part),
            "held_out_part": vars(streams[1].part),
            "counts": counts.to_dict(),
        }
        for stream in streams:
            stream.finish()
        write_whole(folder / INDEX, json.dumps(index, ensure_ascii=False, indent=1) + "\n")
    return Shards.open(folder)


@dataclass(frozen=True)
class Encoded:
    """The documents of a chunk, without those of which nothing is kept."""

    ids: Ids  # of all, one after the other
    tokens: NDArray[np.int64]  # that each has, its separator too
    bytes: NDArray[np.int64]
    characters: NDArray[np.int64]
    digests: Digests
    counts: Counts  # but for what is counted of documents that are kept


@dataclass(frozen=True)
class Encoder:
    """Chunks in, ids out; made anew in every process."""

    corpus: Corpus
    definition: str  # of the tokenizer
    separator: int
    dtype: str

    @cached_property
    def _ids(self) -> QuickEncoder:
        return QuickEncoder(self.definition, DTYPES[self.dtype])

    def __call__(self, chunk: Chunk) -> Encoded:
        prepared = [self.corpus.prepare(text) for text in chunk.texts]
        texts = [text for text, _ in prepared if text]
        contents = [text.encode() for text in texts]
        separator = np.array(self.separator, DTYPES[self.dtype]).tobytes()
        rows = [separator + ids for ids in self._ids(texts)]
        return Encoded(
            np.frombuffer(b"".join(rows), DTYPES[self.dtype]),
            np.array([len(row) // len(separator) for row in rows], np.int64),
            np.array([len(content) for content in contents], np.int64),
            np.array([len(text) for text in texts], np.int64),
            digests_of(contents),
            Counts(
                documents=len(chunk.texts),
                dropped=len(chunk.texts) - len(texts),
                removed_lines=sum(removed for _, removed in prepared),
                bad_rows=chunk.bad_rows,
                first_bad=chunk.first_bad,
            ),
        )


class Stream:
    """A file of ids that is being written."""

    def __init__(self, path: Path) -> None:
        self.part = Part(0, 0, 0)
        self._path = path
        with self._refusing():
            self._file = path.open("wb")

    def add(self, ids: Ids, documents: int, size: int) -> None:
        with self._refusing():
            self._file.write(ids.data)
        self.part += Part(len(ids), documents, size)

    def finish(self) -> None:
        """When this returns, the disk has it all."""
        with self._refusing():
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def discard(self) -> None:
        with suppress(OSError):
            self._file.close()
        self._path.unlink(missing_ok=True)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"{self._path} cannot be written ({error.strerror}).") from error


@contextmanager
def _emptied(folder: Path) -> Iterator[tuple[Stream, Stream]]:
    """A folder for nobody else, and two new files in it, of which nothing is left where this ends badly."""
    with ExitStack() as opened:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            opened.enter_context(locked(folder))
            for name in (INDEX, TRAIN, HELD_OUT):  # who has mapped the old ones keeps them
                (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{folder} cannot be written ({error.strerror}).") from error
        streams = (Stream(folder / TRAIN), Stream(folder / HELD_OUT))
        try:
            yield streams
        except BaseException:
            for stream in streams:
                stream.discard()
            raise


def _write(
    corpus: Corpus, encoded: Iterable[Encoded], streams: tuple[Stream, Stream], step: Callable[[Counts], None]
) -> Counts:
    """Put every document into its stream, in the order in which they come."""
    seen, counts = Seen(), Counts()
    for chunk in encoded:
        kept = seen.add(chunk.digests) if corpus.settings.deduplicate else np.ones(len(chunk.digests), bool)
        chosen = corpus.is_held_out(chunk.digests)
        for stream, which in zip(streams, (kept & ~chosen, kept & chosen), strict=True):
            ids = chunk.ids if which.all() else chunk.ids[np.repeat(which, chunk.tokens)]
            stream.add(ids, int(which.sum()), int(chunk.bytes[which].sum()))
        counts += chunk.counts + Counts(
            kept=int(kept.sum()),
            duplicates=int((~kept).sum()),
            characters=int(chunk.characters[kept].sum()),
            bytes=int(chunk.bytes[kept].sum()),
        )
        step(counts)
    return counts


def _check(corpus: Corpus, streams: tuple[Stream, Stream], counts: Counts) -> None:
    """Refuse a corpus that nothing can be learned from, or measured on."""
    if not counts.kept:
        found = f"{counts.documents:,} documents were read, of which nothing is kept"
        bad = f", and {counts.bad_rows:,} rows are none. The first: {counts.first_bad[0]}" if counts.bad_rows else "."
        raise InputError(f"There is no text in {corpus.paths[0]}{_others(corpus)}: {found}{bad}")
    for stream, what, change in zip(streams, ("to learn from", "held out"), ("lower", "higher"), strict=True):
        if not stream.part.documents or stream.part.tokens < 2:
            raise InputError(
                f"No document is {what}: the corpus has {counts.kept:,}, and held_out is {corpus.settings.held_out}. "
                f"Give more text, in documents apart from each other, or a {change} share to hold out."
            )


def _others(corpus: Corpus) -> str:
    return f" and {len(corpus.paths) - 1:,} more" if len(corpus.paths) > 1 else ""


def _encoded(encoder: Encoder, workers: int) -> Generator[Encoded, None, None]:
    """All chunks of a corpus in their order, whoever made them."""
    if workers == 1:
        yield from map(encoder, encoder.corpus.chunks())
        return
    context = multiprocessing.get_context("spawn")
    with ExitStack() as ending:
        pool = ProcessPoolExecutor(workers, context, _begin, (encoder,))
        ending.callback(pool.shutdown, cancel_futures=True)
        lanes = [ending.enter_context(_reading(encoder.corpus, lane)) for lane in encoder.corpus.lanes]
        waiting: deque[Future[Encoded]] = deque()
        try:
            for chunk in in_turn(lanes):
                with _deaf_children():  # the first chunk starts the pool
                    waiting.append(pool.submit(_encode, chunk))
                if len(waiting) >= AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise _ended() from error


@contextmanager
def _reading(corpus: Corpus, paths: tuple[Path, ...]) -> Iterator[Iterator[Chunk]]:
    """The documents of files, read by a process that is at most a chunk ahead."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(corpus, paths, theirs), daemon=True)
    with _deaf_children():
        process.start()
    theirs.close()

    def received() -> Iterator[Chunk]:
        while True:
            try:
                found: Chunk | Exception | None = ours.recv()
            except EOFError:
                raise _ended() from None
            if isinstance(found, Exception):
                raise found
            if found is None:
                return
            yield found

    try:
        yield received()
    finally:
        ours.close()
        process.terminate()
        process.join()


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started here do not hear Ctrl-C, not even while they start: it is for the one that started them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # by itself it would start in there, and let signals in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ended() -> RefdecError:
    return RefdecError(
        "A process that reads or tokenises ended unexpectedly; perhaps memory ran out. Use fewer workers; in a script, "
        'start under if __name__ == "__main__".'
    )


def _read(corpus: Corpus, paths: tuple[Path, ...], to: Any) -> None:
    """In a process of its own: hand on chunks, then none, or what went wrong."""
    _follow()
    last: Exception | None = None
    try:
        for chunk in corpus.read(paths):
            to.send(chunk)
    except Exception as error:
        last = error
    with suppress(BrokenPipeError):  # nobody listens any more
        to.send(last)


_encoder: Encoder | None = None  # of this process


def _begin(encoder: Encoder) -> None:
    global _encoder
    _follow()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there is a process on every core already
    _encoder = encoder


def _encode(chunk: Chunk) -> Encoded:
    assert _encoder is not None
    return _encoder(chunk)


def _follow() -> None:
    """Leave Ctrl-C to the process that started this one, and end with it even where it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
