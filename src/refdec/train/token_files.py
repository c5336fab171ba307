"""A corpus as token ids on disk: one stream to learn from and one that is held out, both memory-mapped.

Several processes make them: a few read files, one per core cleans and tokenises, and this one writes the ids in order.
The bytes depend on the corpus and the tokenizer alone. `index.json` is written last: without it, the files are
incomplete. Knows nothing of directions or of windows.
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
from dataclasses import asdict, dataclass
from functools import cached_property
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refdec.errors import InputError, RefdecError, SettingsError
from refdec.files.growing import GrowingFile
from refdec.files.lock import locked
from refdec.files.whole import write_whole, writing
from refdec.lm.tokens import Tokens
from refdec.train.cleaning import Counts, Digests, Seen, digests_of
from refdec.train.corpus import Chunk, Corpus, in_turn
from refdec.train.tokenizer import QuickEncoder

FORMAT, VERSION = "refdec tokens", 1
INDEX, TRAIN, HELD_OUT = "index.json", "train.bin", "held-out.bin"
DTYPES = {"uint16": "<u2", "uint32": "<u4"}
SMALL = 4_000_000  # bytes of text below which starting processes does not pay
AHEAD = 2  # chunks under way per process

TokenArray = NDArray[np.uint16] | NDArray[np.uint32]
"""Token ids as the files hold them."""


@dataclass(frozen=True)
class Part:
    """The size of one of the two streams."""

    tokens: int  # with the separators
    documents: int
    bytes: int  # of UTF-8 text

    def __add__(self, other: Part) -> Part:
        return Part(self.tokens + other.tokens, self.documents + other.documents, self.bytes + other.bytes)


@dataclass(frozen=True)
class TokenFiles:
    """Token ids in text order, each document after a separator."""

    folder: Path
    dtype: str
    vocabulary: int
    separator: int
    tokenizer: str  # fingerprint, see `Tokens`
    made_from: str  # the digest of the corpus
    train_part: Part
    held_out_part: Part
    counts: Counts

    @classmethod
    def open(cls, folder: Path) -> TokenFiles:
        """The token files in a folder, if they are complete."""
        index = folder / INDEX
        try:
            values = json.loads(index.read_bytes())
        except FileNotFoundError:
            raise InputError(f"There are no token files in {folder}, or writing them was interrupted.") from None
        except OSError as error:
            raise InputError(f"{index} cannot be read ({error.strerror}).") from error
        except ValueError:
            values = None
        if isinstance(values, dict) and (values.pop("format", ""), values.pop("version", 0)) != (FORMAT, VERSION):
            raise InputError(f"{index} is of another version of refdec. Tokenise the text again.")
        try:
            for name in ("train_part", "held_out_part"):
                values[name] = Part(**values[name])
            values["counts"] = Counts(**values["counts"] | {"first_bad": tuple(values["counts"]["first_bad"])})
            files = cls(folder, **values)
            width = np.dtype(DTYPES[files.dtype]).itemsize
            sizes = {TRAIN: files.train_part.tokens * width, HELD_OUT: files.held_out_part.tokens * width}
        except (TypeError, KeyError, AttributeError):
            raise InputError(f"{index} is damaged. Tokenise the text again.") from None
        for name, size in sizes.items():
            path = folder / name
            if not path.is_file() or path.stat().st_size != size:
                raise InputError(f"{path} is missing or not as long as {INDEX} says. Tokenise the text again.")
        return files

    @cached_property
    def train(self) -> TokenArray:
        return self._mapped(TRAIN)

    @cached_property
    def held_out(self) -> TokenArray:
        """Documents that are chosen by their text, whatever the tokenizer."""
        return self._mapped(HELD_OUT)

    @property
    def bytes_per_token(self) -> float:
        """Bytes per token of the held-out text; separators are tokens and have no bytes."""
        return self.held_out_part.bytes / self.held_out_part.tokens

    def bits(self, nats: float) -> float:
        """Bits per byte from nats per token: a loss that can be compared between tokenizers."""
        return nats / self.bytes_per_token / math.log(2)

    def are_of(self, corpus: Corpus, tokens: Tokens) -> bool:
        """Whether writing would give the same: equal tokenizer and settings, files of equal names and sizes."""
        return (self.made_from, self.tokenizer, self.separator) == (corpus.digest, tokens.fingerprint, tokens.start)

    def _mapped(self, name: str) -> TokenArray:
        mapped: TokenArray = np.memmap(self.folder / name, DTYPES[self.dtype], mode="r")
        return mapped


def write_token_files(
    corpus: Corpus,
    tokens: Tokens,
    folder: Path,
    *,
    workers: int | None = None,
    step: Callable[[Counts], None] = lambda _: None,
) -> TokenFiles:
    """Tokenise a corpus into a folder, with one process per core or so many workers; earlier files are replaced.

    `step` gets the counts so far. Scripts must call this under `if __name__ == "__main__":`, as it starts processes.
    """
    if workers is not None and workers < 1:
        raise SettingsError(f"workers is {workers}; it must be 1 or more.")
    if not 0 <= tokens.start < tokens.vocabulary:
        raise SettingsError(f"start is {tokens.start}; it must be an id of the tokenizer, below {tokens.vocabulary}.")
    if workers is None:
        workers = 1 if corpus.bytes < SMALL else _cores()
    dtype = "uint16" if tokens.vocabulary <= 1 << 16 else "uint32"
    encoder = Encoder(corpus, tokens.tokenizer.to_str(), tokens.start, dtype)
    with _emptied(folder) as streams:
        with closing(_encoded(encoder, workers)) as encoded:
            counts = _write(corpus, encoded, streams, step)
        _check(corpus, streams, counts)
        files = TokenFiles(
            folder, dtype, tokens.vocabulary, tokens.start, tokens.fingerprint, corpus.digest,
            train_part=streams[0].part, held_out_part=streams[1].part, counts=counts,
        )  # fmt: skip
        index = {"format": FORMAT, "version": VERSION, **asdict(files)}
        del index["folder"]
        for stream in streams:
            stream.close()
        write_whole(folder / INDEX, json.dumps(index, ensure_ascii=False, indent=1) + "\n")
    return TokenFiles.open(folder)


@dataclass(frozen=True)
class Encoded:
    """The documents of a chunk of which something is kept."""

    ids: TokenArray  # of all documents, one after the other
    tokens: NDArray[np.int64]  # per document, with its separator
    bytes: NDArray[np.int64]
    characters: NDArray[np.int64]
    digests: Digests
    counts: Counts  # without the counts of kept documents


@dataclass(frozen=True)
class Encoder:
    """Turns chunks of text into ids; every process that tokenises has one."""

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


@dataclass(frozen=True)
class Reader:
    """Gives the chunks of some files one by one, then None; a process that reads has one."""

    corpus: Corpus
    paths: tuple[Path, ...]

    @cached_property
    def _chunks(self) -> Iterator[Chunk]:
        return self.corpus.read(self.paths)

    def __call__(self) -> Chunk | None:
        return next(self._chunks, None)


class Stream(GrowingFile):
    """A file of ids that is being written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, lock=False)
        self.part = Part(0, 0, 0)

    def write(self, ids: TokenArray, documents: int, size: int) -> None:
        self.add(ids.tobytes())
        self.part += Part(len(ids), documents, size)

    def discard(self) -> None:
        with suppress(InputError):
            self.close()
        self.path.unlink(missing_ok=True)


@contextmanager
def _emptied(folder: Path) -> Iterator[tuple[Stream, Stream]]:
    """Lock a folder and open two new files in it, which are removed if this fails."""
    with ExitStack() as opened:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            opened.enter_context(locked(folder))
            for name in (INDEX, TRAIN, HELD_OUT):  # who has mapped the old ones keeps them
                (folder / name).unlink(missing_ok=True)
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
    """Write every document to its stream, in order."""
    seen, counts = Seen(), Counts()
    for chunk in encoded:
        kept = seen.add(chunk.digests) if corpus.settings.deduplicate else np.ones(len(chunk.digests), bool)
        chosen = corpus.is_held_out(chunk.digests)
        for stream, which in zip(streams, (kept & ~chosen, kept & chosen), strict=True):
            ids = chunk.ids if which.all() else chunk.ids[np.repeat(which, chunk.tokens)]
            stream.write(ids, int(which.sum()), int(chunk.bytes[which].sum()))
        counts += chunk.counts + Counts(
            kept=int(kept.sum()),
            duplicates=int((~kept).sum()),
            characters=int(chunk.characters[kept].sum()),
            bytes=int(chunk.bytes[kept].sum()),
        )
        step(counts)
    return counts


def _check(corpus: Corpus, streams: tuple[Stream, Stream], counts: Counts) -> None:
    """Refuse a corpus with nothing to learn from or to measure on."""
    if not counts.kept:
        others = f" and {len(corpus.paths) - 1:,} more" if len(corpus.paths) > 1 else ""
        bad = f" {counts.bad_rows:,} rows are not text; the first: {counts.first_bad[0]}" if counts.bad_rows else ""
        raise InputError(
            f"There is no text in {corpus.paths[0]}{others}: none of {counts.documents:,} documents is kept.{bad}"
        )
    for stream, what, change in zip(streams, ("left to learn from", "held out"), ("lower", "higher"), strict=True):
        if not stream.part.documents or stream.part.tokens < 2:
            raise InputError(
                f"No document is {what}: the corpus has {counts.kept:,}, and --held-out is {corpus.settings.held_out}. "
                f"Give more text, with a blank line between documents, or a {change} --held-out."
            )


def _encoded(encoder: Encoder, workers: int) -> Generator[Encoded, None, None]:
    """All chunks of a corpus in order, whichever process encoded them."""
    if workers == 1:
        yield from map(encoder, encoder.corpus.chunks())
        return
    with ExitStack() as ending:

        def pool(processes: int, work: Callable[..., Any]) -> ProcessPoolExecutor:
            made = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _begin, (work,))
            ending.callback(made.shutdown, cancel_futures=True)
            return made

        encoders = pool(workers, encoder)
        readers = [pool(1, Reader(encoder.corpus, paths)) for paths in encoder.corpus.lanes]
        lanes = [_received(reader, _submit(reader)) for reader in readers]
        waiting: deque[Future[Encoded]] = deque()
        try:
            for chunk in in_turn(lanes):
                waiting.append(_submit(encoders, chunk))
                if len(waiting) >= AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise RefdecError(
                "A process that reads or tokenises ended unexpectedly; perhaps memory ran out. Use fewer workers; in a "
                'script, call this under if __name__ == "__main__".'
            ) from error


def _received(reader: ProcessPoolExecutor, ahead: Future[Chunk | None]) -> Iterator[Chunk]:
    """The chunks of a process that is at most one chunk ahead."""
    while (chunk := ahead.result()) is not None:
        ahead = _submit(reader)
        yield chunk


def _submit(pool: ProcessPoolExecutor, *arguments: Any) -> Future[Any]:
    with _deaf_children():  # the first call starts the processes
        return pool.submit(_do, *arguments)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started here ignore Ctrl-C, even while they start: it is meant for their parent."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # if it started inside, it would unblock signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_work: Callable[..., Any]  # of this process


def _begin(work: Callable[..., Any]) -> None:
    global _work
    _follow()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there is a process on every core already
    _work = work


def _do(*arguments: Any) -> Any:
    return _work(*arguments)


def _follow() -> None:
    """Leave Ctrl-C to the parent process, and end when it ends, even where it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
