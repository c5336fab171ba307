"""Make the pictures of these pages.

    python docs/make_pictures.py explain
    python docs/make_pictures.py quality outputs/*.jsonl

The first is a real run of `refdec paraphrase --explain`; the second plots files that `benchmarks.quality` wrote.
"""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

from rich.console import Console

from refdec import Reflector
from refdec.cli.explain import show_explanation
from refdec.cli.render import show_results

HERE = Path(__file__).parent
SOURCE = "Is it worth learning a second language?"
FLOORS = (None, 10, 20, 30, 40, 50)


def explain() -> None:
    """The terminal, as an SVG that needs no font from elsewhere."""
    console = Console(record=True, width=104, force_terminal=True, file=io.StringIO(), highlight=False)
    result = Reflector().paraphrase(SOURCE, explain=4)
    assert result.explanation is not None
    show_results(console, result, result.candidates[:4], "")
    show_explanation(console, result.explanation)
    svg = console.export_svg(title=f'refdec paraphrase --explain --top 4 "{SOURCE}"')
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S).replace("Fira Code,", "ui-monospace,")
    (HERE / "explain.svg").write_text(svg)


def quality(paths: list[Path]) -> None:
    """Similarity to the source against Novelty, one curve a setting: the whole trade-off."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "refdec"
    from benchmarks.quality import figures
    from matplotlib import pyplot

    plot, axes = pyplot.subplots(figsize=(7, 4.4))
    for path in paths:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        points = [figures(rows, floor) for floor in FLOORS]
        axes.plot([p["novelty"] for p in points], [p["similarity"] for p in points], marker="o", label=path.stem)
    axes.set_xlabel("Novelty of the best-ranked at or above a floor of 0, 10, …, 50")
    axes.set_ylabel("similarity to the source")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    plot.tight_layout()
    plot.savefig(HERE / "quality.svg", metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1:2] == ["explain"]:
        explain()
    elif sys.argv[1:2] == ["quality"] and len(sys.argv) > 2:
        quality([Path(name) for name in sys.argv[2:]])
    else:
        sys.exit(__doc__)
