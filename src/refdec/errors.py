"""The exceptions that refdec raises on purpose. Each message says what happened, where, and what to do about it."""

from __future__ import annotations


class RefdecError(Exception):
    """The parent of all errors of refdec."""


class InputError(RefdecError):
    """An input cannot be worked on: a text is blank, too long or not text, or a file cannot be read."""


class SettingsError(RefdecError):
    """A setting is out of its range or does not exist."""


class ModelError(RefdecError):
    """A model cannot be loaded, or two models do not make a pair."""


class OutOfMemory(ModelError):  # noqa: N818
    """The memory of the machine or of its GPU was too small at this moment; the same call may succeed later."""
