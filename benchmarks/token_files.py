"""Tokenised text for `benchmarks.recipes`, with a tokenizer that is learned from it or given.

python -m benchmarks.token_files CORPUS tokens-8192 --vocabulary 8192
python -m benchmarks.token_files CORPUS tokens --tokenizer src/refdec/pretrained/pair-v1
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from refdec.lm.tokens import Tokens
from refdec.train.corpus import Corpus, CorpusSettings
from refdec.train.token_files import write_token_files
from refdec.train.tokenizer import SAMPLE, load_tokenizer, start_of, train_tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--vocabulary", type=int)
    wanted.add_argument("--tokenizer", type=Path)
    parser.add_argument("--held-out", type=float, default=CorpusSettings().held_out)
    given = parser.parse_args()
    corpus = Corpus.at([given.corpus], CorpusSettings(held_out=given.held_out))
    if given.tokenizer:
        tokenizer = load_tokenizer(given.tokenizer)
    else:
        tokenizer = train_tokenizer(corpus.sample(SAMPLE), given.vocabulary)
    began = time.monotonic()
    token_files = write_token_files(corpus, Tokens(tokenizer, start_of(tokenizer)), given.folder)
    print(
        f"{token_files.train_part.tokens:,} tokens to learn from, {token_files.held_out_part.tokens:,} held out, "
        f"{token_files.bytes_per_token:.3f} bytes per token, tokenised in {time.monotonic() - began:.1f} s"
    )


if __name__ == "__main__":
    main()
