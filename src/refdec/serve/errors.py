"""Why the engine takes no text at the moment. Knows nothing of models, so that a server without any has it too."""

from __future__ import annotations

from refdec.errors import RefdecError


class Busy(RefdecError):  # noqa: N818
    """As many texts wait as may wait; `seconds` later there may be room."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"The server is busy: as many texts wait as may wait. Try again in {seconds} s.")
        self.seconds = seconds


class Closed(RefdecError):  # noqa: N818
    """The engine has come to its end."""
