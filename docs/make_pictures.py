"""Make the pictures of these pages.

    python -m docs.make_pictures outputs/run-gpu.txt outputs/run-cpu.txt outputs/growth.txt

plots what `benchmarks.run` printed: two runs beside the naive comparator, and one of growing size. `make docs` calls
`explain`, a real run of `refdec paraphrase --explain`. `refdec evaluate` and `refdec train` make their own pictures;
page.png is a browser's view of the page that `refdec infill --html` writes, 1,280 pixels wide.
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
SOURCE = "Is it hard to learn a new language?"


def explain() -> None:
    """The terminal, as an SVG that needs no font from elsewhere."""
    console = Console(record=True, width=104, force_terminal=True, file=io.StringIO(), highlight=False)
    result = Reflector(device="cpu").paraphrase(SOURCE, "fast", explain=4)
    assert result.explanation is not None
    show_results(console, result, result.candidates[:4], "")
    show_explanation(console, result.explanation)
    svg = console.export_svg(title=f'refdec paraphrase --preset fast --explain --top 4 "{SOURCE}"')
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S).replace("Fira Code,", "ui-monospace,")
    (HERE / "explain.svg").write_text(svg)


def performance(paths: list[Path]) -> None:
    """Where the time goes beside the naive comparator and the floor, and how time and memory grow with inputs."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "refdec"
    from matplotlib import pyplot

    *runs, growth = [json.loads(path.read_text().splitlines()[-1]) for path in paths]
    plot, axes = pyplot.subplots(1, 3, figsize=(12, 3.8), width_ratios=(1, 1, 0.8))
    for place, run in zip(axes, runs, strict=False):
        ours, naive = run["ours"], run["naive"]
        names = list(ours["phases"])
        rows = {
            "naive": [naive["phases"][name] for name in names],
            "refdec": [ours["phases"][name]["seconds"] for name in names],
            "floor": [ours["phases"][name]["floor"] for name in names],
        }
        for number, (label, values) in enumerate(rows.items()):
            at = [index + 0.27 * (number - 1) for index in range(len(names))]
            place.bar(at, values, width=0.25, label=label, color=("#b0b0b0", "#2a6fbb", "#8fd18f")[number])
        place.set_yscale("log")
        place.set_xticks(range(len(names)), names)
        place.set_ylim(top=4 * max(rows["naive"]))
        machine = run["signature"].split("|device:")[1].replace("|precision:", ", ")
        place.set_title(f"{machine}, {run['signature'].split('|contexts:')[1].split('|')[0]} contexts", fontsize=9)
        place.set_ylabel("seconds per input")
        place.legend(frameon=False, fontsize=8, ncols=3, loc="upper right")
    sizes = [row["inputs"] for row in growth["growth"]]
    last = axes[-1]
    last.plot(sizes, [row["seconds"] * row["inputs"] for row in growth["growth"]], marker="o", label="seconds in total")
    last.plot(sizes, [row["peak_gib"] for row in growth["growth"]], marker="s", label="peak GiB")
    last.set_xscale("log")
    last.set_yscale("log")
    last.set_xlabel("inputs")
    last.legend(frameon=False, fontsize=8)
    for place in axes:
        for side in ("top", "right"):
            place.spines[side].set_visible(False)
    plot.tight_layout()
    plot.savefig(HERE / "performance.svg", metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    performance([Path(name) for name in sys.argv[1:]])
