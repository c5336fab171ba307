"""How well a pair knows text: bits per byte of the documents that `refdec train` would hold out of a corpus.

    python -m benchmarks.held_out CORPUS
    python -m benchmarks.held_out CORPUS --pair DIR --windows 600

Held-out documents are chosen by their text, so pairs with different tokenizers are measured on the same ones. A pair
that was trained on more than this corpus may have read them.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from refdec.lm.device import choose_device
from refdec.lm.direction import Direction
from refdec.lm.pair import EMBEDDED
from refdec.lm.tokens import Tokens
from refdec.train.corpus import Corpus
from refdec.train.export import load_initial
from refdec.train.model import Llama
from refdec.train.token_files import write_token_files
from refdec.train.tokenizer import load_tokenizer, start_of
from refdec.train.windows import Mark, windows_of

ROWS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pair", type=Path, default=EMBEDDED)
    parser.add_argument("--windows", type=int, help="read so many windows per direction, not all")
    parser.add_argument("--device")
    given = parser.parse_args()
    device = choose_device(given.device)
    with tempfile.TemporaryDirectory() as home:
        tokenizer = load_tokenizer(given.pair)
        tokens = Tokens(tokenizer, start_of(tokenizer))
        token_files = write_token_files(Corpus.at([given.corpus]), tokens, Path(home))
        for direction in Direction:
            one_model = (given.pair / "config.json").is_file()  # it reads both ways
            shape, weights = load_initial(given.pair if one_model else given.pair / direction.value)
            model = Llama(shape).to(device)
            model.load_state_dict(weights)
            mark = None
            if shape.backward_start is not None:
                mark = Mark(tokens.start, shape.start if direction is Direction.FORWARD else shape.backward_start)
            windows = windows_of(token_files.held_out, direction, shape.positions, given.windows, mark)
            nats = model.mean_loss(windows, ROWS)
            bits, count = token_files.bits(nats), windows[:, 1:].numel()
            print(f"{direction.value:9} {bits:.4f} bits per byte, {nats:.4f} nats per token, {count:,} tokens")


if __name__ == "__main__":
    main()
