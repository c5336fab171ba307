"""A pair as large as the paper's: two GPT-2 XL with random weights, 1.5 billion parameters each, in bfloat16.

    python -m benchmarks.large --device cuda

Random weights cost as much as trained ones. Scores candidates with contexts, as the last phase of a paraphrase does,
and compares the time with its lower bound; then paraphrases one sentence. Prints a table, and one JSON line last.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict

import torch
from tokenizers import Tokenizer
from transformers import GPT2Config, GPT2LMHeadModel

from benchmarks.ceilings import measure
from refdec import ParaphraseSettings, Reflector
from refdec.lm.direction import Direction
from refdec.lm.pair import EMBEDDED, Pair
from refdec.lm.tokens import Tokens
from refdec.lm.transformers_lm import TransformersLM
from refdec.reflect.scoring import Asked, score_all
from refdec.reflect.workers import complete

SIZES = {"n_embd": 1600, "n_layer": 48, "n_head": 25}
CANDIDATES, CONTEXTS, TOKENS = 60, 6, 50
SOURCE = 20  # tokens of a candidate


def random_model(device: torch.device, direction: Direction) -> TransformersLM:
    config = GPT2Config(**SIZES, activation_function="gelu_pytorch_tanh", bos_token_id=0, eos_token_id=0)
    with torch.device(device):
        model = GPT2LMHeadModel(config)
    return TransformersLM(model.to(torch.bfloat16), direction, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--inputs", type=int, default=4, help="inputs whose candidates are scored together")
    parser.add_argument("--tokenizer", default=str(EMBEDDED / "tokenizer.json"))
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    torch.manual_seed(0)
    ceilings = measure(device)
    models = [random_model(device, direction) for direction in Direction]
    pair = Pair(models[0], models[1], Tokens(Tokenizer.from_file(arguments.tokenizer), 0), "random")
    drawn = torch.randint(1, 50257, (arguments.inputs, CANDIDATES, SOURCE)).tolist()
    contexts = torch.randint(1, 50257, (arguments.inputs, CONTEXTS, TOKENS)).tolist()
    jobs = [Asked(drawn[n], contexts[n], [range(CONTEXTS)] * CANDIDATES) for n in range(arguments.inputs)]
    model = models[0]
    complete(score_all(model, jobs[:1]))
    before = model.work
    torch.cuda.synchronize()
    began = time.perf_counter()
    complete(score_all(model, jobs))
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    work = model.work - before
    floor = model.cost.floor(work, ceilings.flops["bfloat16"], ceilings.bytes_per_second)
    flops = model.cost.flops(work.tokens, work.head_tokens, work.attended)
    used = torch.cuda.max_memory_allocated() / 2**30
    print(f"{model.cost.parameters / 1e9:.2f} G parameters per model, {used:.0f} GiB used")
    print(f"scoring {work.tokens} tokens: {seconds * 1e3:.0f} ms, {flops / seconds / 1e12:.0f} TFLOP/s")
    rate = ceilings.flops["bfloat16"] / 1e12
    print(f"floor {floor * 1e3:.0f} ms at {rate:.0f} TFLOP/s: {floor / seconds:.0%} of it reached")
    reflector, settings = Reflector(pair), ParaphraseSettings()
    text = "How do I learn to cook?"
    reflector.paraphrase(text, settings, contexts=4, samples=2)
    began = time.perf_counter()
    reflector.paraphrase(text, settings)
    whole = time.perf_counter() - began
    print(f"a whole paraphrase at the paper's settings: {whole:.2f} s")
    result = {"benchmark": "large", "seconds": seconds, "floor": floor, "work": work._asdict(), "paraphrase": whole}
    print(json.dumps(result | {"ceilings": asdict(ceilings), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
