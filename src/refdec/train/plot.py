"""The loss curve of both directions as a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from refdec.errors import ModelError
from refdec.lm.direction import Direction
from refdec.train.measuring import TrainingResult

COLOURS = {Direction.FORWARD: "#2a6f97", Direction.BACKWARD: "#c8553d"}
MARKERS = {Direction.FORWARD: ">", Direction.BACKWARD: "<"}


def draw(path: Path, results: Mapping[Direction, TrainingResult], bits: Callable[[float], float]) -> None:
    """Bits per byte of training text against tokens seen; a mark at the end is held-out text."""
    try:
        import matplotlib
    except ImportError:
        raise ModelError("The plot needs matplotlib, which is not installed: pip install 'refdec[train]'.") from None
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "refdec"  # the same curve is the same bytes
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.2))
    together = len(results) > len({id(result.state) for result in results.values()})  # one model reads both ways
    for direction, result in results.items():
        curve = result.state.curve
        tokens = [place / 1e6 for place, _ in curve]
        if not together or direction is Direction.BACKWARD:
            label = "training text" if together else direction.value
            axes.plot(tokens, [bits(loss) for _, loss in curve], color=COLOURS[direction], lw=1, label=label)
        which = f"held-out text, {direction.value}" if together else "held-out text"
        axes.plot(tokens[-1:], [result.bits], MARKERS[direction], color=COLOURS[direction], label=which)
        if result.before is not None:
            label = f"{which}, before"
            axes.plot([0], [result.before], MARKERS[direction], color=COLOURS[direction], fillstyle="none", label=label)
    lows = [result.bits for result in results.values()]
    axes.set(xlabel="tokens seen, millions", ylabel="bits per byte", ylim=(0.8 * min(lows), 2 * max(lows)))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
