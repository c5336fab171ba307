"""Does the context of a span change its rewriting for the better? Twenty documents, each rewritten both ways.

    python -m benchmarks.rewrite --outputs outputs/rewrite.jsonl
    python -m benchmarks.rewrite outputs/rewrite.jsonl

The span of each document is rewritten between its neighbours, and paraphrased without them; the best-ranked text that
is no copy is put in the span's place. Two judges: the cosine of the whole document with the original one, by an
embedding that is independent of the pair, and how probable the pair finds the neighbours around the new text.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.outputs import Row, begin, read_rows, write_rows
from refdec import Pair, ParaphraseSettings, RewriteSettings
from refdec.reflect.schedule import run
from refdec.reflect.scoring import fits
from refdec.reflect.side import Side
from refdec.tasks.rewrite import split_document
from refdec.tasks.signature import signature

DOCUMENTS = (
    "He walked along the river for an hour. [[Then he sat down on the bank.]] The water was very calm.",
    "She needed cash for the weekend. [[So she stopped at the bank.]] The queue was long, but the clerk was quick.",
    "The band had practised for months. [[The show was a hit.]] People were still singing when they left the hall.",
    "A hailstone broke the window of my car. [[It was a hard hit.]] The repair took a week.",
    "The referee looked at his watch. [[The match was nearly over.]] Both teams had scored twice.",
    "It was dark and we had no lamp. [[I lit a match.]] For a moment we could see the stairs.",
    "My phone would not turn on this morning. [[The battery was dead.]] I charged it at work.",
    "The cook tasted the soup. [[It needed something.]] A little salt made all the difference.",
    "The pitcher raised his arm. [[He threw the ball very fast.]] The batter missed it.",
    "My grandmother kept her letters in a box. [[She read them every winter.]] Most of them were from her brother.",
    "We planted tomatoes in the spring. [[They grew very well.]] By August we had more than we could eat.",
    "The plane was full. [[I could not sleep at all.]] The man next to me snored the whole way to Boston.",
    "The teacher handed back the tests. [[Most of us did badly.]] She gave us another chance the week after.",
    "The dog heard a noise in the garden. [[It ran outside.]] A cat was sitting on the fence.",
    "The doctor looked at my knee. [[He told me to rest.]] I stayed in bed for three days.",
    "Our train was two hours late. [[We missed the last bus.]] In the end we took a taxi home.",
    "He had never seen snow before. [[He was very happy.]] He built a snowman and threw snowballs at his sister.",
    "The printer in the office is broken again. [[Nobody knows how to fix it.]] We send everything by mail now.",
    "I bought a [[very expensive]] car last year, and I regret it.",
    "The city wants to [[build more]] houses, because the rents are too high.",
)


def in_place(pair: Pair, left: str, texts: list[str], right: str) -> list[float]:
    """Log-probability of both neighbours around each text, nats."""
    before, after = (tuple(pair.tokens.encode(part)) for part in (left.rstrip(), right))
    middles = [tuple(pair.tokens.encode((" " if left else "") + text)) for text in texts]
    totals = [0.0] * len(texts)
    for name, true, held in (
        ("right", after, [before + middle for middle in middles]),
        ("left", before, [middle + after for middle in middles]),
    ):
        if true:
            scored = run(pair, fits(Side(pair, name), [true], held))[:, 0].tolist()
            totals = [total + value for total, value in zip(totals, scored, strict=True)]
    return totals


def report(path: Path) -> None:
    from refdec.metrics.similarity import similarities

    rows = read_rows(path)
    documents = [row["left"] + row["source"] + row["right"] for row in rows]
    table: dict[str, dict[str, float]] = {}
    cosines = {}
    for form in ("rewrite", "paraphrase"):
        cosines[form] = similarities([row["left"] + row[form] + row["right"] for row in rows], documents)
        place = [row[f"{form}_in_place"] - row["source_in_place"] for row in rows]
        table[form] = {
            "similarity": round(sum(cosines[form]) / len(rows), 3),
            "in_place": round(sum(place) / len(rows), 2),
        }
    for number, row in enumerate(rows):
        print(f"{row['left']}[{row['source']}]{row['right']}")
        for form in ("rewrite", "paraphrase"):
            place = row[f"{form}_in_place"] - row["source_in_place"]
            print(f"  {form:10} {cosines[form][number]:.3f} {place:+7.2f}  {row[form]}")
    for form, figures in table.items():
        print(f"{form:10} similarity {figures['similarity']:.3f}, neighbours {figures['in_place']:+.2f} nats")
    wins = {
        "similarity": sum(mine > other for mine, other in zip(cosines["rewrite"], cosines["paraphrase"], strict=True)),
        "in_place": sum(row["rewrite_in_place"] > row["paraphrase_in_place"] for row in rows),
    }
    print(f"of {len(rows)}, context is better in {wins['similarity']} by similarity, {wins['in_place']} by neighbours")
    print(json.dumps({"benchmark": "rewrite", **table, "wins": wins, "signature": rows[0]["signature"]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments, reflector, settings = begin(parser, RewriteSettings, report)
    plain = reflector.settings(ParaphraseSettings, arguments.preset)
    mark = signature("rewrite", reflector.pair, settings)

    def make(row: Row) -> Row:
        left, span, right = split_document(row["document"])
        found = reflector.rewrite(span, settings, left=left, right=right)
        alone = reflector.paraphrase(span, plain)
        texts = [span, str(found) or span, str(alone) or span]
        source, rewritten, paraphrased = in_place(reflector.pair, left, texts, right)
        return {
            "left": left, "source": span, "right": right, "rewrite": texts[1], "paraphrase": texts[2],
            "source_in_place": source, "rewrite_in_place": rewritten, "paraphrase_in_place": paraphrased,
            "all": [item.to_dict() for item in found.candidates[:5]], "signature": mark,
        }  # fmt: skip

    write_rows(arguments.outputs, [{"document": document} for document in DOCUMENTS], make, mark)


if __name__ == "__main__":
    main()
