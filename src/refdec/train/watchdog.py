"""Notices when training goes wrong: a loss that is not finite, or that jumps and stays up. Knows numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass

MEMORY = 0.98  # decay of the running mean and spread
SPREADS, NATS = 6.0, 0.5  # a jump is a loss above the mean by so many spreads and by so many nats
STAYS = 5  # steps that the loss must stay up
FIRST = 50  # steps at the beginning in which no jump is noticed


@dataclass
class Watchdog:
    """Is given the loss of every step; its state is plain numbers."""

    mean: float = math.nan
    spread: float = 0.0
    seen: int = 0
    up: int = 0  # steps since the loss jumped

    def wrong(self, loss: float) -> str:
        """What is wrong, in a few words; empty where nothing is."""
        if not math.isfinite(loss):
            return f"the loss is {loss}"
        self.seen += 1
        if math.isnan(self.mean):
            self.mean = loss
        if self.seen > FIRST and loss > self.mean + max(NATS, SPREADS * self.spread):
            self.up += 1
            return f"the loss rose from {self.mean:.2f} to {loss:.2f} and stayed there" if self.up >= STAYS else ""
        self.up = 0
        self.mean = MEMORY * self.mean + (1 - MEMORY) * loss
        self.spread = MEMORY * self.spread + (1 - MEMORY) * abs(loss - self.mean)
        return ""
