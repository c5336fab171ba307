"""Round-trip translation: into another language and back, by translation models that the user has.

Mallinson et al. (2017) and Wieting and Gimpel (2018) made paraphrases so. Several translations are brought back, so a
text has several proposals. Each sentence goes by itself, as translation models are trained.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from refdec.baselines.method import Proposal, own_signature
from refdec.baselines.translator import Languages, Translator, load_translator
from refdec.errors import ModelError, SettingsError
from refdec.lm.device import choose_device
from refdec.settings import Settings, documented, setting
from refdec.text.sentences import split_sentences

AT_ONCE = {"cuda": 16}
"""Texts that a kind of device translates together; a CPU takes one."""


@documented
@dataclass(frozen=True, slots=True)
class TranslateSettings(Settings):
    """How widely translations are searched; and the languages, for models that know many."""

    task: ClassVar[str] = "translate"

    beams: int = setting(5, "beams, there and back", low=2, high=1_000)
    there: int = setting(4, "translations of a sentence that are brought back", low=1, high=1_000)
    back: int = setting(4, "ways back from each", low=1, high=1_000)
    language: str = setting("", "code of the texts' language, where the model has codes")
    through: str = setting("", "code of the other language, where the model has codes")

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        for name in ("there", "back"):
            if getattr(self, name) > self.beams:
                raise SettingsError(f"{name} is {getattr(self, name)}; it cannot be above beams, {self.beams}.")


@dataclass(frozen=True)
class RoundTrip:
    """A translator there and one back, which may be the same."""

    settings: TranslateSettings
    there: Translator
    back: Translator
    ways: tuple[Languages, Languages]

    @classmethod
    def load(cls, settings: TranslateSettings, place: str, device: str | None = None) -> RoundTrip:
        """The models of a place: THERE+BACK, or one name where a model knows both ways."""
        names = _two_names(place)
        where = choose_device(device)
        models = {name: load_translator(name, where) for name in dict.fromkeys(names)}
        there, back = (models[name] for name in names)
        language, through = settings.language, settings.through
        ways = there.languages(language, through), back.languages(through, language)
        if there is back and ways[0] == ways[1]:
            raise ModelError(
                f"{place} is one model, so it translates one way only, or has to be told the languages. Name two "
                "(translate:THERE+BACK), or both codes (language=en,through=fr)."
            )
        return cls(settings, there, back, ways)

    @property
    def signature(self) -> str:
        names = dict.fromkeys((self.there.name, self.back.name))
        return own_signature(self.settings, "+".join(names), str(self.there.model.device))

    def paraphrase_all(self, sources: Iterable[str]) -> Iterator[list[Proposal]]:
        texts, size = iter(sources), AT_ONCE.get(self.there.model.device.type, 1)
        while group := list(itertools.islice(texts, size)):
            parts = [[part.strip() for part in split_sentences(source)] for source in group]
            returned = iter(self._returned([part for sentences in parts for part in sentences]))
            for source, sentences in zip(group, parts, strict=True):
                yield _joined([next(returned) for _ in sentences]) or [Proposal(source, 0.0)]

    def _returned(self, sentences: Sequence[str]) -> list[list[Proposal]]:
        """What comes back of each sentence, best first: by the scores of both ways together."""
        beams = self.settings.beams
        gone = self.there.translations(sentences, self.ways[0], beams, self.settings.there)
        pivots = list(dict.fromkeys(one.text for translations in gone for one in translations))
        backs = self.back.translations(pivots, self.ways[1], beams, self.settings.back) if pivots else []
        ways_back = dict(zip(pivots, backs, strict=True))
        result = []
        for translations in gone:
            best: dict[str, float] = {}
            for one in translations:
                for other in ways_back[one.text]:
                    best[other.text] = max(best.get(other.text, float("-inf")), one.score + other.score)
            ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
            result.append([Proposal(text, score) for text, score in ranked])
        return result


def _two_names(place: str) -> tuple[str, str]:
    there, *others = place.split("+")
    if len(others) > 1 or not all((there, *others)):
        raise SettingsError(f"{place!r} does not name a model there and one back. Write translate:THERE+BACK.")
    return (there, others[0]) if others else (there, there)


def _joined(sentences: Sequence[Sequence[Proposal]]) -> list[Proposal]:
    """The best of all sentences as a text, then the second best, and so on; a sentence with fewer repeats its last."""
    if not all(sentences):
        return []
    result: dict[str, float] = {}
    for rank in range(max(map(len, sentences))):
        chosen = [ways[min(rank, len(ways) - 1)] for ways in sentences]
        text = " ".join(item.text for item in chosen)
        result.setdefault(text, sum(item.score for item in chosen) / len(chosen))
    return [Proposal(text, score) for text, score in result.items()]
