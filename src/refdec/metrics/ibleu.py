"""iBLEU (Sun and Zhou 2012): BLEU against the references less a part of BLEU against the source.

With the paper's BLEU and alpha 0.9, so that a text copied from its source has 0.9 BLEU - 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refdec.metrics.bleu import bleu_of, bleu_statistics
from refdec.metrics.bootstrap import Numbers

ALPHA = 0.9


def ibleu_statistics(sources: Sequence[str], candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Numbers:
    """The statistics of BLEU against the references, then those against the source."""
    of_source = bleu_statistics(candidates, [[source] for source in sources])
    return np.concatenate([bleu_statistics(candidates, references), of_source], axis=1)


def ibleu_of(pooled: Numbers) -> Numbers:
    good, copied = np.split(pooled, 2, axis=-1)
    return ALPHA * bleu_of(good) - (1 - ALPHA) * bleu_of(copied)
