"""Everything refdec refuses, as one small family of exceptions.

Each message is one sentence or two for a person: what happened, where, and what to do about it.
"""

from __future__ import annotations


class RefdecError(Exception):
    """The parent of every error that refdec raises on purpose."""


class InputError(RefdecError):
    """The text cannot be worked on: blank, too long, or not text at all."""


class SettingsError(RefdecError):
    """A setting is out of its range or does not exist."""


class ModelError(RefdecError):
    """A model cannot be loaded, or two models do not make a pair."""


class OutOfMemory(ModelError):  # noqa: N818
    """The memory of the machine or of its GPU was too small at this moment; the same call may succeed later."""
