"""Random numbers that belong to an example, not to a batch.

Every draw is addressed by seed, text, purpose, row and step. So the same example gets the same numbers
whatever else is in its batch, and asking for more rows leaves the earlier ones unchanged.
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch


def uniforms(seed: int, text: str, purpose: str, rows: int, steps: int) -> torch.Tensor:
    """Uniform numbers in [0, 1), (rows, steps), float64."""
    address = "\x1f".join((str(seed), purpose, str(steps), text))
    key = hashlib.blake2b(address.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    generator = np.random.Generator(np.random.Philox(key=np.frombuffer(key, dtype=np.uint64)))
    return torch.from_numpy(generator.random((rows, steps)))
