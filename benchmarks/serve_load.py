"""Many clients at a server: whether every answer is right, how long it takes, and what the engine alone would do.

    python -m benchmarks.serve_load --seconds 180
    python -m benchmarks.serve_load --seconds 60 --embedded --device cuda --preset paper

Starts `refdec serve` in a process of its own, with a pair of toy models unless `--embedded` says otherwise. Clients
send requests of all tasks, one after the other, and compare each answer with that of the same call in Python: equal on
a CPU; on a GPU, where texts that are computed together round differently, the best text must be the same. Between the
loads the same calls are made in Python by themselves. Then more clients come than may wait, and after them as many as
before.

Prints a table and, last, a JSON line; ends with 1 where something did not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from tests.small_pair import make_small_pair, small_texts

from refdec import Reflector, compare, load_pair
from refdec.settings import PRESETS
from refdec.tasks.choice import Wanted, choose, choose_fillings

KINDS = 8
"""Requests of each task."""

SETTINGS = {"contexts": 16, "context_tokens": 16, "kept_contexts": 3, "samples": 10}
"""With these a text takes a tenth of a second with toy models."""

WAITING = 64
"""Texts that may wait at the server."""

CROWD = 4
"""Times as many clients as may wait, to go past its capacity."""

GROWTH_MB = 50.0
"""The resident memory may grow by this after the warm-up."""

ENGLISH = (
    "How do I learn to play the guitar?", "The train was late again because of the snow.",
    "Is it hard to learn a new language?", "My brother lives in a small house near the sea.",
    "What should I eat before a long run?", "The library opens at nine in the morning.",
    "Why do cats sleep so much during the day?", "She sold her car and bought a bicycle instead.",
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One request with the answer that Python gives."""

    task: str
    body: bytes
    source: str  # a text that no other request has
    expected: Any = None

    def head(self, host: str) -> bytes:
        return (
            f"POST /v1/{self.task} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(self.body)}\r\n\r\n"
        ).encode()


@dataclass
class Counts:
    """What came of the requests of a load."""

    seconds: list[float] = field(default_factory=list)  # of each right or wrong answer
    equal: int = 0
    other: int = 0  # that differ, but are of the right text
    mixed_up: int = 0  # that are of another text
    lost: int = 0  # without an answer, or with another status
    refused: list[float] = field(default_factory=list)  # seconds until 429 with Retry-After

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


class Direct:
    """The same calls in Python."""

    def __init__(self, reflector: Reflector, options: argparse.Namespace) -> None:
        self._reflector = reflector
        own: dict[str, Any] = {} if options.embedded else SETTINGS
        described = {name: value for name, value in own.items() if name != "samples"}
        self._sampled, self._described = {"settings": options.preset, **own}, {"settings": options.preset, **described}
        if options.preset not in PRESETS["infill"]:
            raise SystemExit(f"The preset {options.preset} is not one of all tasks. Name fast or paper.")
        texts = ENGLISH if options.embedded else small_texts(KINDS)
        self.texts = [f"{text} {number}" if options.embedded else text for number, text in enumerate(texts)]
        self._made: dict[str, Callable[[Sequence[str]], list[Any]]] = {
            "paraphrase": self._paraphrases, "infill": self._fillings, "rewrite": self._rewritings,
            "score": self._scores, "diff": self._differences,
        }  # fmt: skip

    def calls(self) -> list[Call]:
        """All requests with the answers to them, tasks mixed."""
        requests: dict[str, list[tuple[str, dict[str, Any]]]] = {
            "paraphrase": [(text, {"text": text}) for text in self.texts],
            "infill": [(text, {"left": text, "right": self._beside}) for text in self.texts],
            "rewrite": [(text, {"span": text, "left": self._beside, "right": self._beside}) for text in self.texts],
            "score": [(text, {"reference": text, "candidates": [self._beside]}) for text in self.texts],
            "diff": [(text, {"a": text, "b": self._beside}) for text in self.texts],
        }
        by_task = []
        for task, listed in requests.items():
            options = self._sampled if task in ("paraphrase", "infill", "rewrite") else self._described
            asked = {"preset": options["settings"], "settings": {**options}} if task != "diff" else {}
            asked.get("settings", {}).pop("settings", None)
            expected = self._made[task](self.texts)
            by_task.append(
                [
                    Call(task, json.dumps(request | asked).encode(), source, content)
                    for (source, request), content in zip(listed, expected, strict=True)
                ]
            )
        return [call for mixed in zip(*by_task, strict=True) for call in mixed]

    def rate(self, seconds: float) -> tuple[int, float]:
        """Calls that were made, and the seconds that they took: whole rounds of all of them, in long lists."""
        count, began = 0, time.monotonic()
        while time.monotonic() - began < seconds:
            count += sum(len(make(self.texts * 2)) for make in self._made.values())
        return count, time.monotonic() - began

    _beside = "Anna waited at the station."

    def _paraphrases(self, texts: Sequence[str]) -> list[Any]:
        results = self._reflector.paraphrase(list(texts), **self._sampled)
        return [_ranked(result) for result in results]

    def _rewritings(self, texts: Sequence[str]) -> list[Any]:
        spots = [{"span": text, "left": self._beside, "right": self._beside} for text in texts]
        return [_ranked(result) for result in self._reflector.rewrite_all(spots, **self._sampled)]

    def _fillings(self, texts: Sequence[str]) -> list[Any]:
        contents = []
        for result in self._reflector.infill_all([(text, self._beside) for text in texts], **self._sampled):
            chosen, note = choose_fillings(result, Wanted())
            contents.append(result.to_dict(chosen) | {"filled": result.filled} | ({"note": note} if note else {}))
        return contents

    def _scores(self, texts: Sequence[str]) -> list[Any]:
        groups = [(text, [self._beside]) for text in texts]
        return [scores[0].to_dict() for scores in self._reflector.score_all(groups, **self._described)]

    def _differences(self, texts: Sequence[str]) -> list[Any]:
        return [
            {"reference": text, "candidate": self._beside, **compare(text, self._beside).to_dict()} for text in texts
        ]


def _ranked(result: Any) -> Any:
    chosen, note = choose(result, Wanted())
    return result.to_dict(chosen) | ({"note": note} if note else {})


def is_alike(call: Call, content: Any) -> bool:
    """Whether an answer has the same best text, or nearly the same score: what rounding leaves alone."""
    if call.task == "score":
        return bool(abs(content["scaled"] - call.expected["scaled"]) <= 1.0)
    best = [(answer.get("results") or [{}])[0].get("text") for answer in (content, call.expected)]
    return bool(best[0] == best[1])


@dataclass(frozen=True)
class Load:
    """Clients that send the calls, each the next one as soon as it has an answer."""

    host: str
    port: int
    calls: Sequence[Call]
    exact: bool

    async def run(self, clients: int, seconds: float, once: bool = False) -> Counts:
        counts, numbers = Counts(), itertools.count()
        until = time.monotonic() + seconds
        await asyncio.gather(*(self._client(counts, numbers, until, once) for _ in range(clients)))
        return counts

    async def _client(self, counts: Counts, numbers: Iterator[int], until: float, once: bool) -> None:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            while time.monotonic() < until:
                call = self.calls[next(numbers) % len(self.calls)]
                began = time.monotonic()
                try:
                    writer.write(call.head(self.host) + call.body)
                    status, headers, body = await _answer(reader)
                except (OSError, EOFError):
                    counts.lost += 1
                    return
                self._judge(counts, call, status, headers, body, time.monotonic() - began)
                if once:
                    return
        finally:
            writer.close()

    def _judge(self, counts: Counts, call: Call, status: int, headers: bytes, body: bytes, seconds: float) -> None:
        if status == 429 and b"retry-after" in headers.lower():
            counts.refused.append(seconds)
            return
        if status != 200:
            counts.lost += 1
            return
        counts.seconds.append(seconds)
        (content,) = json.loads(body)["results"]
        if content == call.expected:
            counts.equal += 1
        elif call.source not in [content.get(name) for name in ("source", "left", "reference")]:
            counts.mixed_up += 1
        elif not self.exact and is_alike(call, content):
            counts.equal += 1
        else:
            counts.other += 1

    async def memory(self) -> float:
        """The resident memory of the server, in MB."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(f"GET /metrics HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
        _, _, body = await _answer(reader)
        writer.close()
        found = re.search(rb"^process_resident_memory_bytes (\S+)$", body, re.M)
        return float(found.group(1)) / 1e6 if found else float("nan")


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes, bytes]:
    headers = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"^content-length: (\d+)", headers, re.M | re.I)
    return int(headers.split()[1]), headers, await reader.readexactly(int(length.group(1)) if length else 0)


@contextmanager
def serving(pair: Path | None, options: argparse.Namespace, folder: Path) -> Iterator[int]:
    """The port of a server in a process of its own."""
    command = [sys.executable, "-m", "refdec", "serve", "--port", "0", "--device", options.device]
    command += [f"--waiting={WAITING}", *([] if pair is None else ["--forward", str(pair)])]
    log = folder / "log"
    with log.open("w") as said:
        server = subprocess.Popen(command, stderr=said)
    try:
        while not (address := re.search(r"http://127\.0\.0\.1:(\d+)/", log.read_text())):
            if server.poll() is not None:
                raise SystemExit(f"The server did not start: {log.read_text()}")
            time.sleep(0.05)
        yield int(address.group(1))
    finally:
        server.terminate()
        server.wait()


async def measure(load: Load, direct: Direct, options: argparse.Namespace) -> dict[str, Any]:
    """Warm-up, loads with the engine alone between them, a crowd, and recovery."""
    slices = max(1, round(options.seconds / 30))
    each = options.seconds / slices
    warm = await load.run(options.clients, max(2.0, min(20.0, each / 3)))
    before = await load.memory()
    total, seconds, alone, alone_seconds = Counts(), 0.0, 0, 0.0
    for _ in range(slices):
        calls, took = direct.rate(each / 3)
        alone, alone_seconds = alone + calls, alone_seconds + took
        began = time.monotonic()
        counts = await load.run(options.clients, each)
        seconds += time.monotonic() - began
        _add(total, counts)
    calls, took = direct.rate(each / 3)
    alone, alone_seconds = alone + calls, alone_seconds + took
    after = await load.memory()
    crowd = await load.run(CROWD * WAITING, 1.0, once=True)
    recovery = await load.run(options.clients, max(2.0, each / 10))
    rate, direct_rate = len(total.seconds) / seconds, alone / alone_seconds
    return {
        "clients": options.clients,
        "seconds": round(seconds, 1),
        "answers": len(total.seconds),
        "equal": total.equal,
        "other": total.other,
        "mixed_up": total.mixed_up,
        "lost": total.lost + warm.lost + recovery.lost,
        "refused_below_capacity": len(total.refused) + len(recovery.refused),
        "p50_ms": round(1000 * total.percentile(0.5)),
        "p95_ms": round(1000 * total.percentile(0.95)),
        "p99_ms": round(1000 * total.percentile(0.99)),
        "per_second": round(rate, 2),
        "direct_per_second": round(direct_rate, 2),
        "share": round(rate / direct_rate, 3),
        "memory_mb": round(before),
        "growth_mb": round(after - before, 1),
        "crowd": CROWD * WAITING,
        "crowd_answered": len(crowd.seconds),
        "crowd_refused": len(crowd.refused),
        "crowd_wrong": crowd.other + crowd.mixed_up + crowd.lost,
        "crowd_refused_ms": round(1000 * max(crowd.refused, default=0.0)),
        "recovered": len(recovery.seconds),
        "recovered_wrong": recovery.other + recovery.mixed_up,
    }


def _add(total: Counts, counts: Counts) -> None:
    for name in ("seconds", "refused"):
        getattr(total, name).extend(getattr(counts, name))
    for name in ("equal", "other", "mixed_up", "lost"):
        setattr(total, name, getattr(total, name) + getattr(counts, name))


def faults(figures: dict[str, Any], least_equal: float, least_share: float) -> list[str]:
    """What did not hold, in words."""
    answers = figures["answers"]
    wanted = {
        "no answer is lost": figures["lost"] == 0 < answers,
        "no answer is of another text": figures["mixed_up"] == 0,
        f"{least_equal:.0%} of the answers are those of Python": figures["equal"] >= least_equal * answers,
        "nobody is refused below capacity": figures["refused_below_capacity"] == 0,
        "past capacity some are refused": figures["crowd_refused"] > 0 < figures["crowd_answered"],
        "those who are not refused get right answers": figures["crowd_wrong"] <= (1 - least_equal) * figures["crowd"],
        f"memory grows by less than {GROWTH_MB:g} MB": figures["growth_mb"] < GROWTH_MB,
        "the server recovers": figures["recovered"] > 0 and figures["recovered_wrong"] <= figures["recovered"] // 20,
        f"it does {least_share:.0%} of what the engine does alone": figures["share"] >= least_share,
    }
    return [words for words, holds in wanted.items() if not holds]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--embedded", action="store_true", help="the embedded pair instead of toy models")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--preset", default="fast", help="of all tasks but diff")
    parser.add_argument("--least-share", type=float, default=0.85, help="of the rate of the engine alone")
    options = parser.parse_args(arguments)
    on_gpu = options.device != "cpu"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pair = None if options.embedded else make_small_pair(folder / "pair")
        with serving(pair, options, folder) as port:
            direct = Direct(Reflector(load_pair(pair, device=options.device)), options)
            load = Load("127.0.0.1", port, direct.calls(), exact=not on_gpu)
            figures = asyncio.run(measure(load, direct, options))
    wrong = faults(figures, 0.95 if on_gpu else 1.0, options.least_share)
    for label, value in figures.items():
        print(f"{label.replace('_', ' '):24} {value:>10}")
    for words in wrong:
        print(f"did not hold: {words}")
    device = torch.cuda.get_device_name() if on_gpu else f"{os.cpu_count()} cores, {platform.machine()}"
    print(json.dumps(figures | {"device": device, "did_not_hold": wrong}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
