"""Files of outputs that a benchmark writes row by row, and goes on with where an earlier run stopped."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from refdec import InputError, Reflector, load_pair
from refdec.settings import AnySettings
from refdec.version import comparable

Row = dict[str, Any]


def read_rows(path: Path, count: int | None = None) -> list[Row]:
    """The first JSON lines of a file, or all."""
    return [json.loads(line) for line in path.read_text().splitlines()[:count]]


def write_rows(path: Path, rows: Sequence[Row], make: Callable[[Row], Row], signature: str) -> None:
    """One line of results per row; rows that the file has already are skipped, other settings are refused."""
    done = read_rows(path) if path.exists() else []
    if done and comparable(done[0]["signature"]) != comparable(signature):
        raise InputError(f"{path} holds outputs of other settings. Name another file.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for number, row in enumerate(rows[len(done) :], start=len(done) + 1):
            began = time.perf_counter()
            line = make(row) | {"seconds": round(time.perf_counter() - began, 3)}
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(f"{number} of {len(rows)}, {line['seconds']:.1f} s", file=sys.stderr)


def model_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that every benchmark with models has."""
    parser.add_argument("--preset", help="a preset of the task; by default the one that suits the machine")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="single settings, as JSON values")
    parser.add_argument("--pair", type=Path, help="a pair directory instead of the embedded one")
    parser.add_argument("--device", help="a torch device")
    parser.add_argument("--precision", help="float32, bfloat16 or int8")


def begin(
    parser: argparse.ArgumentParser, kind: type[AnySettings], report: Callable[[Path], None]
) -> tuple[argparse.Namespace, Reflector, AnySettings]:
    """The beginning of a benchmark that writes a file of outputs; given such a file, it reports on it and ends."""
    parser.add_argument("file", nargs="?", type=Path, help="a file of outputs to report on")
    parser.add_argument("--outputs", type=Path, help="where results go")
    model_arguments(parser)
    arguments = parser.parse_args()
    if arguments.file:
        report(arguments.file)
        sys.exit()
    reflector = load_reflector(arguments)
    return arguments, reflector, reflector.settings(kind, arguments.preset, changes(arguments))


def shard_arguments(parser: argparse.ArgumentParser) -> None:
    """For benchmarks that run as several processes, each with a part of the rows; join the files afterwards."""
    parser.add_argument("--shard", default="0/1", help="which part of how many")


def part_of(rows: Sequence[Any], arguments: argparse.Namespace) -> list[Any]:
    """The rows of a shard."""
    part, parts = map(int, arguments.shard.split("/"))
    return list(rows)[part::parts]


def load_reflector(arguments: argparse.Namespace) -> Reflector:
    return Reflector(load_pair(arguments.pair, device=arguments.device, precision=arguments.precision))


def changes(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings named by --set."""
    pairs: Iterable[tuple[str, str, str]] = (item.partition("=") for item in arguments.set)
    return {name: json.loads(value) for name, _, value in pairs}
