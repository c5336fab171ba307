"""Your own language: text of a language without any model, a pair trained in ten minutes, and every task tried.

    python -m benchmarks.own_language OUT
    python -m benchmarks.own_language OUT --minutes 2 --size 5m --vocabulary 3072

The language is the small German of `benchmarks.german`. Its grammar writes the corpus and parses the results: each is
either not a sentence, or one whose meaning is known. The sentences to try do not occur in the corpus. Trains with the
command itself, in a separate process; a pair that is already in OUT is used.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.german.grammar import Scene, topics
from benchmarks.german.reader import Reading, readings
from benchmarks.german.writer import Meaning, bound, corpus, held_out_meanings, is_held_out
from refdec import Reflector, load_pair

MEGABYTES = 8.0
RECIPE = ("--size=5m", "--vocabulary=3072", "--positions=128", "--batch-tokens=2048", "--held-out=0.01")
NO_LOSS: dict[str, Any] = {"loss": 0.0}
"""Nouns look like names because of their capitals; paraphrases may use other ones."""


@dataclass(frozen=True)
class Trio:
    """A sentence, another one that says the same, and one about something else."""

    source: str
    same: str
    unrelated: str


@dataclass(frozen=True)
class Passage:
    """Three sentences of a story in a row."""

    left: str
    middle: str
    right: str
    topic: str

    @property
    def document(self) -> str:
        return f"{self.left} [[{self.middle}]] {self.right}"


def trios(count: int, seed: int = 0, only: tuple[str, ...] = ()) -> list[Trio]:
    """Sentences whose meaning occurs in no corpus."""
    random = Random(seed)
    meanings = list(held_out_meanings(random, only))
    made = []
    for number, meaning in enumerate(meanings[:count]):
        tense = random.choice(("present", "past", "perfect"))
        source = meaning.statement(random, tense)
        others = (other for other in meanings[number + 1 :] + meanings if other.event.topic != meaning.event.topic)
        made.append(Trio(source, meaning.statement(random, tense, source), next(others).statement(random, tense)))
    return made


def passages(count: int, seed: int = 0, only: tuple[str, ...] = ()) -> list[Passage]:
    """Parts of stories; no corpus has the middle event with this person."""
    return list(islice(_passages(Random(seed), only), count))


def _passages(random: Random, only: tuple[str, ...]) -> Iterator[Passage]:
    chosen = [topic for topic in topics().values() if not only or topic.name in only]
    while True:
        topic = random.choice(chosen)
        person = random.choice(topic.people)
        first = random.randrange(len(topic.events) - 2)
        events = topic.events[first : first + 3]
        if is_held_out(person, events[1]):
            scene, tense = Scene((person,), bound(topic, random)), random.choice(("present", "past"))
            left, middle, right = (Meaning(event, scene).statement(random, tense) for event in events)
            yield Passage(left, middle, right, topic.name)


def meaning(text: str) -> Reading | None:
    """What a sentence says, None where it is no sentence of the language."""
    return next(iter(readings(text)), None)


def is_sentence(text: str) -> bool:
    """Whether a text is a sentence of the language."""
    return meaning(text) is not None


def is_on_topic(text: str, source: str) -> bool:
    return bool(topics_of(text) & topics_of(source))


def tells_the_event(text: str, source: str) -> bool:
    """Whether a text is a sentence about the same event, perhaps with other people and things."""
    said, given = meaning(text), meaning(source)
    return said is not None and given is not None and said.events == given.events


def says_the_same(text: str, source: str) -> bool:
    """Whether a text is a sentence about the same event with the same people and things."""
    said, given = meaning(text), meaning(source)
    if said is None or given is None or said.events != given.events:
        return False
    chosen = dict(given.chosen)
    return all(chosen.get(name, value) == value for name, value in said.chosen)


def topics_of(text: str) -> set[str]:
    reading = meaning(text)
    return reading.topics if reading else set()


def judged(what: str, rows: Sequence[tuple[str, str]]) -> dict[str, str]:
    """How many texts are sentences, and share the topic, the event and the meaning of their sources."""
    tests = {"on the topic": is_on_topic, "tell the same event": tells_the_event, "say the same": says_the_same}
    sentences = {f"{what} are sentences of the language": share([is_sentence(text) for text, _ in rows])}
    return sentences | {f"{what} {name}": share([test(*row) for row in rows]) for name, test in tests.items()}


def share(found: Sequence[bool]) -> str:
    return f"{sum(found)} of {len(found)} ({sum(found) / max(1, len(found)):.0%})"


def write_corpus(path: Path, megabytes: float) -> str:
    texts = list(corpus(int(megabytes * 1e6)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{text}\n\n" for text in texts), encoding="utf-8")
    words = {word for text in texts for word in text.split()}
    return f"{len(texts):,} stories, {megabytes:g} MB, {len(words):,} different words with their marks"


def train(text: Path, pair: Path, options: Sequence[str]) -> float:
    """Run the command; return its seconds in all."""
    command = [sys.executable, "-m", "refdec", "train", str(text), "-o", str(pair), *options]
    print("$ refdec", *command[3:], flush=True)
    began = time.monotonic()
    subprocess.run(command, check=True)
    return time.monotonic() - began


def try_paraphrases(reflector: Reflector, count: int, shown: int) -> dict[str, Any]:
    print("\nParaphrases (of sentences that are not in the corpus)")
    best: list[tuple[str, str]] = []
    first_three: list[tuple[str, str]] = []
    sources = [trio.source for trio in trios(count)]
    for number, result in enumerate(reflector.paraphrase(iter(sources), **NO_LOSS)):
        changed = [item for item in result if not item.copy]
        best += [(item.text, result.source) for item in changed[:1]]
        first_three += [(item.text, result.source) for item in changed[:3]]
        if number < shown:
            print(f"  {result.source}")
            for item in changed[:3]:
                print(f"    {_mark(item.text, result.source)} {item.relative:+7.2f}  {item.text}")
    same = [says_the_same(str(result.best or ""), result.source) for result in reflector.paraphrase(sources)]
    without = {"sources without any": share([False] * len(best) + [True] * (count - len(best)))}
    kept = {"best says the same where nouns count as names": share(same)}
    return without | judged("best", best) | judged("first three", first_three) | kept


def try_scores(reflector: Reflector, count: int, shown: int) -> dict[str, Any]:
    print("\nScores (of another way to say it, and of something else)")
    above = []
    for number, trio in enumerate(trios(count, seed=1)):
        same, unrelated = reflector.score(trio.source, [trio.same, trio.unrelated])
        above.append(same.relative > unrelated.relative)
        if number < shown:
            print(f"  {trio.source}")
            print(f"    {same.relative:+7.2f}  {same.candidate}\n    {unrelated.relative:+7.2f}  {unrelated.candidate}")
    return {"the same scores above something else": share(above)}


def try_infilling(reflector: Reflector, count: int, shown: int) -> dict[str, Any]:
    print("\nInfilling (between two sentences of a story)")
    given = passages(count, seed=2)
    fillings = []
    for number, passage in enumerate(given):
        result = reflector.infill(passage.left, passage.right)
        fillings.append(str(result))
        if number < shown:
            print(f"  {passage.left} [{result or '-'}] {passage.right}")
    neighbours = [passage.topic for passage in given]
    return {
        "fillings are sentences of the language": share([is_sentence(text) for text in fillings]),
        "fillings on the topic of their gap": share(
            [topic in topics_of(text) for topic, text in zip(neighbours, fillings, strict=True)]
        ),
        "on the topic of the next gap, by chance": share(
            [topic in topics_of(text) for topic, text in zip(neighbours[1:] + neighbours[:1], fillings, strict=True)]
        ),
    }


def try_rewriting(reflector: Reflector, count: int, shown: int) -> dict[str, Any]:
    print("\nRewriting (the sentence in brackets, in its place)")
    rewritten = []
    for number, passage in enumerate(passages(count, seed=3)):
        result = reflector.rewrite(passage.document)
        rewritten.append((str(result), passage.middle))
        if number < shown:
            print(f"  {passage.document}\n    {_mark(str(result), passage.middle)} {result or '-'}")
    return judged("best", rewritten)


def _mark(text: str, source: str) -> str:
    """= says the same, + the same event with others, ~ on the topic, - another sentence, ! not a sentence."""
    marks = {"=": says_the_same, "+": tells_the_event, "~": is_on_topic}
    mark = next((mark for mark, test in marks.items() if test(text, source)), "")
    return mark or ("-" if is_sentence(text) else "!")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=8.5, help="of training; compiling and the rest come on top")
    parser.add_argument("--megabytes", type=float, default=MEGABYTES)
    parser.add_argument("--count", type=int, default=40, help="sentences that each task is tried with")
    parser.add_argument("--shown", type=int, default=5)
    given, options = parser.parse_known_args()
    pair = given.out / "pair"
    if not (pair / "README.md").exists():
        text = given.out / "stories.txt"
        print(write_corpus(text, given.megabytes))
        seconds = train(text, pair, [*RECIPE, f"--minutes={given.minutes:g}", *options])
        print(f"the whole command took {seconds / 60:.1f} minutes")
    reflector = Reflector(load_pair(pair, device="cpu"))
    figures: dict[str, Any] = {}
    for name, attempt in (
        ("paraphrase", try_paraphrases), ("score", try_scores), ("infill", try_infilling), ("rewrite", try_rewriting)
    ):  # fmt: skip
        began = time.monotonic()
        figures[name] = attempt(reflector, given.count, given.shown)
        figures[name]["seconds each"] = round((time.monotonic() - began) / given.count, 2)
    print()
    for task, rows in figures.items():
        for what, value in rows.items():
            print(f"{task:10} {what}: {value}")
    print(json.dumps({"benchmark": "own language", **figures}, ensure_ascii=False))


if __name__ == "__main__":
    main()
