"""The limits of a server: what one request may ask for, and how many may wait.

Settings multiply, so each number has a limit of its own, and the work of a whole request has one in FLOPs. The options
of `refdec serve` are made from these. Knows numbers; nothing of HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from refdec.errors import SettingsError
from refdec.settings import Settings, documented, setting

HIGHEST: Mapping[str, float] = {
    "contexts": 2_000,
    "context_tokens": 100,
    "kept_contexts": 64,
    "entropy": 100,
    "samples": 500,
    "extra_tokens": 50,
    "echo_contexts": 16,
    "populations": 16,
    "rounds": 4,
    "tokens": 100,
    "sentences": 10,
    "least_words": 100,
    "most_words": 100,
    "resamples": 10_000,
    "seed": 2**53 - 1,  # the largest whole number that a browser has exactly
}
"""The highest value that a request may ask for, where it is lower than that of the setting itself."""

WORD_PAIRS = 250_000
"""Words of a text times words of another that the ledger compares: half a second at worst, which nobody can cancel."""

TERAFLOPS = {"cpu": 400.0, "cuda": 40_000.0}
"""The work that one request may ask for by default: minutes on two cores, or on a large GPU."""


@documented
@dataclass(frozen=True, slots=True)
class Limits(Settings):
    """What one request may ask for, and how many may wait."""

    task: ClassVar[str] = "serve"

    body_bytes: int = setting(1_000_000, "bytes of a request", low=1_000, high=1_000_000_000)
    body_seconds: float = setting(20.0, "seconds for a request to arrive, or an answer to be read", low=0.1, high=3_600)
    depth: int = setting(16, "brackets inside brackets in a request", low=8, high=500)
    texts: int = setting(50, "texts in a request", low=1, high=100_000)
    characters: int = setting(5_000, "characters of a text", low=10, high=1_000_000)
    phrases: int = setting(50, "words to keep, and to avoid", low=0, high=1_000)
    explain: int = setting(20, "results that are explained", low=0, high=1_000)
    teraflops: float = setting(TERAFLOPS["cpu"], "work of a request in TFLOP, as estimated", low=0, high=1e12)
    seconds: float = setting(300.0, "seconds until a request is given up", low=0.01, high=86_400)
    waiting: int = setting(200, "texts that wait for the models", low=1, high=1_000_000)
    connections: int = setting(512, "connections at the same time", low=1, high=100_000)
    header_bytes: int = setting(16_384, "bytes of the headers of a request", low=1_024, high=1_000_000)
    header_seconds: float = setting(10.0, "seconds for headers to arrive", low=0.1, high=3_600)

    @classmethod
    def on(cls, device_type: str, **changes: Any) -> Limits:
        """The default limits for a kind of device ("cpu", "cuda"), with changes."""
        return cls(**{"teraflops": TERAFLOPS.get(device_type, TERAFLOPS["cpu"])} | changes)

    def check(self, settings: Settings) -> None:
        """Refuse settings above the limits, wherever they come from: a request, a preset or a fingerprint."""
        for name, value in settings.items():
            if name in HIGHEST and value > HIGHEST[name]:
                raise SettingsError(f"{name} is {value}; this server takes at most {HIGHEST[name]:g}.")

    def check_work(self, flops: float) -> None:
        """Refuse a request whose work, as estimated, is above the limit."""
        if flops > self.teraflops * 1e12:
            raise SettingsError(
                f"This request would take about {flops / 1e12:,.0f} TFLOP, and this server allows "
                f"{self.teraflops:,.0f}. Ask for fewer texts, fewer contexts or fewer samples."
            )
