"""Whether threads that share a `Reflector` get the results that one thread gets: on a GPU this needs a real one.

    python -m benchmarks.threads --data DIR/quora/dev.jsonl --inputs 4 --threads 8 --preset fast
    python -m benchmarks.threads --data DIR/quora/dev.jsonl --inputs 16 --threads 8 --preset paper --device cuda

Each thread paraphrases texts of its own, one call per text, while the others do the same. One JSON line comes last; the
exit code is 1 where a result differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.outputs import changes, load_reflector, model_arguments, read_rows
from refdec import ParaphraseSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--inputs", type=int, default=4, help="texts per thread")
    parser.add_argument("--threads", type=int, default=8)
    model_arguments(parser)
    arguments = parser.parse_args()
    reflector = load_reflector(arguments)
    settings = reflector.settings(ParaphraseSettings, arguments.preset, changes(arguments))
    texts = [row["source"] for row in read_rows(arguments.data, arguments.inputs * arguments.threads)]
    parts = [texts[number :: arguments.threads] for number in range(arguments.threads)]

    def work(part: list[str]) -> list[dict[str, object]]:
        return [reflector.paraphrase(text, settings).to_dict() for text in part]

    began = time.perf_counter()
    alone = [work(part) for part in parts]
    between = time.perf_counter()
    with ThreadPoolExecutor(arguments.threads) as pool:
        threaded = list(pool.map(work, parts))
    seconds = time.perf_counter() - between
    pairs = [pair for one, other in zip(alone, threaded, strict=True) for pair in zip(one, other, strict=True)]
    differ = sum(one != other for one, other in pairs)
    figures = {"texts": len(texts), "threads": arguments.threads, "differ": differ, "alone": between - began}
    print(json.dumps({**figures, "threaded": seconds, "device": str(reflector.pair.forward.device)}))
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
