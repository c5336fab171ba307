"""METEOR 1.5 for English (Denkowski and Lavie 2014): words matched by form, stem, synonym and paraphrase.

Runs the authors' program as the package `pycocoevalcap` carries it (its README says that pooling over a corpus was
mended there), with the paraphrase table, in one Java process that ends with the call. The program tokenizes and
lower-cases (`-norm`), takes the best reference of each item and pools the counts of the whole corpus. From 0 to
100. NLTK's `meteor_score` is another metric.

`meteor_statistics` asks it for its counts, and `meteor_of` makes the program's own figure of their sums, so that rows
can be drawn again.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from refdec.errors import InputError, ModelError
from refdec.metrics.bootstrap import Numbers
from refdec.metrics.packages import MissingPackageError

PACKAGE = "pycocoevalcap"
JAR = "pycocoevalcap/meteor/meteor-1.5.jar"

SIGNATURE = "meteor-1.5-wo-en-norm-0.85_0.2_0.6_0.75-ex_st_sy_pa-1.0_0.6_0.8_0.6"
"""What the program calls this way of running it: language, tokens, parameters, kinds of matches and their weights."""

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75  # weight of recall, shape and size of the penalty, content words
WEIGHTS = np.array([1.0, 0.6, 0.8, 0.6])  # matches by form, stem, synonym, paraphrase


def meteor_statistics(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Numbers:
    """What METEOR sums over rows: weighted matches and words of text and reference, chunks, matched words."""
    printed = _run(candidates, references)
    try:
        rows = [line.split() for line in printed.splitlines()]
        counts = np.array(rows, dtype=np.float64).reshape(len(candidates), 23)
    except ValueError:
        raise ModelError(f"METEOR gave no counts: {printed.strip()[-300:]}") from None
    lengths, functions = counts[:, :2], counts[:, 2:4]  # of the text and of the reference
    matched = counts[:, 4:20].reshape(-1, 4, 2, 2)  # (rows, kinds, content or function words, text or reference)
    weighted = np.einsum("k,c,rkct->rt", WEIGHTS, np.array([DELTA, 1 - DELTA]), matched)
    words = DELTA * (lengths - functions) + (1 - DELTA) * functions
    chunks, matches = counts[:, 20], counts[:, 21:]
    whole = (matches == lengths).all(1) & (chunks == 1)  # a text that is its reference gets no penalty for order
    return np.column_stack([weighted, words, np.where(whole, 0, chunks), matches.mean(1)])


def meteor_of(pooled: Numbers) -> Numbers:
    """METEOR of summed statistics, (..., 6) to (...): F-mean of precision and recall, less a penalty for order."""
    weighted, words, chunks, matches = pooled[..., :2], pooled[..., 2:4], pooled[..., 4], pooled[..., 5]
    some = weighted.min(-1) > 0
    precision, recall = np.moveaxis(np.where(some[..., None], weighted, 1) / np.where(words > 0, words, 1), -1, 0)
    mean = 1 / ((1 - ALPHA) / precision + ALPHA / recall)
    penalty = GAMMA * (chunks / np.where(some, matches, 1)) ** BETA
    return np.where(some, 100 * np.maximum(mean * (1 - penalty), 0), 0)


def check_meteor() -> None:
    """Refuses where the program or Java is missing, before anything is computed."""
    _java(), _jar()


def _run(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> str:
    if not candidates or not all(references):
        raise InputError("METEOR needs at least one text, and at least one reference for each.")
    if len(candidates) != len(references):
        raise InputError(f"METEOR got {len(candidates)} texts and the references of {len(references)}.")
    java, jar = _java(), _jar()
    most = max(len(group) for group in references)
    with tempfile.TemporaryDirectory() as folder:
        texts, others = Path(folder, "texts"), Path(folder, "references")
        _write(texts, candidates)
        # The program wants the same number of references everywhere. One given twice changes no maximum.
        _write(others, (group[min(place, len(group) - 1)] for group in references for place in range(most)))
        # Plain files give the same score as its -stdio dialogue, and "|||" in a text means nothing there.
        command = [java, "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", str(jar), str(texts), str(others)]
        command += ["-l", "en", "-norm", "-ssOut", "-r", str(most)]
        finished = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace")
    if finished.returncode:
        printed = (finished.stderr or finished.stdout).strip()[-300:]
        raise ModelError(f"METEOR ended with exit status {finished.returncode}: {printed}")
    return finished.stdout


def _write(path: Path, texts: Iterable[str]) -> None:
    lines = (" ".join(text.split()) + "\n" for text in texts)  # one text per line, whatever breaks it has inside
    path.write_text("".join(lines), encoding="utf-8", errors="replace", newline="\n")


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        raise ModelError("METEOR is a Java program and there is no java on the PATH. Install a Java runtime.")
    return java


def _jar() -> Path:
    try:
        jar = Path(str(importlib.metadata.distribution(PACKAGE).locate_file(JAR)))
    except importlib.metadata.PackageNotFoundError:
        raise MissingPackageError("METEOR", PACKAGE) from None
    if not jar.exists():
        raise ModelError(f"METEOR's program is not where its package has it: {jar}. Install {PACKAGE} again.")
    return jar
