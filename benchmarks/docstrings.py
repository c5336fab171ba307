"""A domain that every machine has: the docstrings of Python's standard library, one document per module.

python -m benchmarks.docstrings docs.jsonl
"""

from __future__ import annotations

import argparse
import ast
import json
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

APART = {"test", "tests", "idlelib", "site-packages", "dist-packages"}
"""Directories without text for readers."""

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def documents(library: Path) -> Iterator[str]:
    """The docstrings of each module together, outer ones first."""
    for path in sorted(library.rglob("*.py")):
        if APART.isdisjoint(path.relative_to(library).parts):
            with warnings.catch_warnings(action="ignore"):  # of odd escapes in strings
                tree = ast.parse(path.read_bytes())
            texts = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, DOCUMENTED)]
            if any(texts):
                yield "\n\n".join(text for text in texts if text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    lines = [json.dumps({"text": text}) for text in documents(Path(sysconfig.get_path("stdlib")))]
    given.file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines):,} modules, {given.file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
