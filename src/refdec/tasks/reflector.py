"""The front door in Python: a loaded pair and the tasks it can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import torch

from refdec.errors import InputError
from refdec.lm.pair import Pair, load_pair
from refdec.results import ParaphraseResult
from refdec.settings import ParaphraseSettings, preset
from refdec.tasks.paraphrase import Stage, paraphrase, prepare


class Reflector:
    """Rewrites text with a pair of language models.

    >>> reflector = Reflector()
    >>> print(reflector.paraphrase("How do I learn to cook?"))  # doctest: +SKIP
    """

    def __init__(self, pair: Pair | None = None, *, device: str | torch.device | None = None) -> None:
        """Without a pair, the one that comes with the package, on a GPU where there is one."""
        self.pair = pair if pair is not None else load_pair(device=device)

    @property
    def default_preset(self) -> str:
        """The preset that suits the machine: a GPU affords many contexts."""
        return "fast" if self.pair.forward.device.type == "cpu" else "wide"

    def settings(self, name: str | None = None, **changes: Any) -> ParaphraseSettings:
        """A preset, the machine's default one if none is named, with some settings changed."""
        return preset(name or self.default_preset).replace(**changes)

    @overload
    def paraphrase(
        self, text: str, settings: ParaphraseSettings | str | None = None, *, stage: Stage = ..., **changes: Any
    ) -> ParaphraseResult: ...

    @overload
    def paraphrase(
        self,
        text: Sequence[str],
        settings: ParaphraseSettings | str | None = None,
        *,
        stage: Stage = ...,
        **changes: Any,
    ) -> list[ParaphraseResult]: ...

    def paraphrase(
        self,
        text: str | Sequence[str],
        settings: ParaphraseSettings | str | None = None,
        *,
        stage: Stage = lambda _: None,
        **changes: Any,
    ) -> ParaphraseResult | list[ParaphraseResult]:
        """Ranked paraphrases of a text, or of each text of a list.

        settings is a `ParaphraseSettings`, the name of a preset, or nothing for the machine's default; single
        settings can be changed by name. stage is called with a few words whenever a new step begins.
        """
        chosen = (
            settings.replace(**changes)
            if isinstance(settings, ParaphraseSettings)
            else self.settings(settings, **changes)
        )
        if isinstance(text, str):
            return paraphrase(self.pair, text, chosen, stage)
        for number, item in enumerate(text, start=1):  # a bad text is told before an hour is spent on the others
            try:
                prepare(self.pair, item, chosen)
            except InputError as error:
                raise InputError(f"Text {number} of {len(text)}: {error}") from error
        return [paraphrase(self.pair, item, chosen, stage) for item in text]
