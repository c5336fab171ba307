"""Inflection: nouns with their articles, verbs in their tenses, people in their cases. Knows no sentences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from benchmarks.german.topics import NOUNS

CASES = ("nominative", "accusative", "dative")
ARTICLES = {
    form: (kind, case)
    for kind, forms in (("der", "der den dem"), ("ein", "ein einen einem"), ("sein", "sein seinen seinem"))
    for form, case in zip(forms.split(), CASES, strict=True)
}
"""Masculine form of an article -> its kind and its case."""

_DEFINITE = {"m": "der den dem", "f": "die die der", "n": "das das dem", "p": "die die den"}
_ENDINGS = {"m": " en em", "f": "e e er", "n": "  em", "p": "e e en"}  # of ein, mein, sein ...
_AFTER_DEFINITE = {"m": "e en en", "f": "e e en", "n": "e e en", "p": "en en en"}
_AFTER_INDEFINITE = {"m": "er en en", "f": "e e en", "n": "es es en", "p": "e e en"}
_POSSESSIVES = {"ich": "mein", "wir": "unser", "m": "sein", "n": "sein", "f": "ihr", "p": "ihr"}
_REFLEXIVES = {"ich": "mich", "wir": "uns"}
_PRONOUNS = {
    "ich": "ich mich mir", "wir": "wir uns uns", "m": "er ihn ihm", "f": "sie sie ihr", "n": "es es ihm",
    "p": "sie sie ihnen",
}  # fmt: skip


def _in_case(forms: str, case: str) -> str:
    return forms.split(" ")[CASES.index(case)]


@dataclass(frozen=True)
class Noun:
    word: str
    gender: str  # m, f, n, p for plurals; "" for names, which have no article

    def phrase(self, article: str, adjective: str, owner: str) -> str:
        """With an article, given in its masculine form, and perhaps an adjective; `owner` is whose it is."""
        kind, case = ARTICLES[article]
        gender = "m" if self.gender == "w" else self.gender
        if kind == "der":
            words = _in_case(_DEFINITE[gender], case)
        elif kind == "ein":
            words = "" if gender == "p" else "ein" + _in_case(_ENDINGS[gender], case)
        else:
            words = _POSSESSIVES[owner] + _in_case(_ENDINGS[gender], case)
        if adjective:
            endings = _AFTER_DEFINITE if kind == "der" else _AFTER_INDEFINITE
            words += f" {adjective}{_in_case(endings[gender], case)}"
        return f"{words} {self.declined(case)}".strip()

    def declined(self, case: str) -> str:
        if self.gender == "w" and case != "nominative":
            return self.word + "n"
        return self.word + ("n" if self.gender == "p" and case == "dative" and self.word[-1] not in "ns" else "")


def parse_nouns(text: str) -> tuple[Noun, ...]:
    """`Zug m = Bahn f`: words for the same thing."""
    return tuple(Noun(*word.rsplit(" ", 1)) for word in text.split(" = "))


@cache
def nouns() -> dict[str, tuple[Noun, ...]]:
    """The words for each noun of the tables, by its first word."""
    found = [parse_nouns(" ".join(entry.split())) for entry in NOUNS.split(";")]
    return {same[0].word: same for same in found}


@dataclass(frozen=True)
class Person:
    """A person of a story. `kind` sets the pronoun: m, f, p, ich or wir."""

    name: str
    kind: str

    @property
    def is_speaker(self) -> bool:
        return self.kind in _REFLEXIVES

    def named(self, case: str) -> str:
        if self.is_speaker:
            return self.pronoun(case)
        article, _, rest = self.name.rpartition(" ")
        if article in ("Herr", "Frau") or not article:
            return f"Herrn {rest}" if article == "Herr" and case != "nominative" else self.name
        noun = Noun(rest, "w" if rest.endswith("e") and self.kind == "m" else self.kind)
        if article == "die":
            return noun.phrase(_in_case("der den dem", case), "", "")
        gender = "p" if self.kind == "p" else self.kind
        stem = article if self.kind == "m" else article.removesuffix("e")
        return f"{stem}{_in_case(_ENDINGS[gender], case)} {noun.declined(case)}"

    def pronoun(self, case: str) -> str:
        return pronoun_of(self.kind, case)


def pronoun_of(kind: str, case: str = "nominative") -> str:
    return _in_case(_PRONOUNS[kind], case)


def reflexive(kind: str) -> str:
    return _REFLEXIVES.get(kind, "sich")


NAMES = (
    "Paul m, Jonas m, Emre m, Felix m, Tim m, Oskar m, Ben m, "
    "Anna f, Lena f, Marie f, Sophie f, Clara f, Greta f, Ida f"
)
YOUNG_PEOPLE = (
    f"{NAMES}, mein Bruder m, meine Schwester f, meine Cousine f, die Kinder p, meine Freunde p, ich ich, wir wir"
)
OLDER_PEOPLE = (
    "meine Mutter f, mein Vater m, meine Tante f, mein Onkel m, meine Nachbarin f, mein Kollege m, meine Eltern p, "
    "Herr Weber m, Frau Schmidt f, Frau Yilmaz f, Herr Novak m, die Nachbarn p"
)
OLD_PEOPLE = "meine Oma f, mein Opa m, meine Großeltern p"


def people(text: str) -> tuple[Person, ...]:
    return tuple(Person(*entry.strip().rsplit(" ", 1)) for entry in text.split(","))


_STRONG = """
backen backt backte gebacken; beginnen beginnt begann begonnen; bekommen bekommt bekam bekommen;
beraten berät beriet beraten; beschreiben beschreibt beschrieb beschrieben; bestehen besteht bestand bestanden;
betreten betritt betrat betreten; bitten bittet bat gebeten; blasen bläst blies geblasen;
bleiben bleibt blieb geblieben +; bringen bringt brachte gebracht; denken denkt dachte gedacht;
dürfen darf durfte gedurft; einschlafen schläft schlief geschlafen +; empfehlen empfiehlt empfahl empfohlen;
entscheiden entscheidet entschied entschieden; essen isst aß gegessen; fahren fährt fuhr gefahren +;
fallen fällt fiel gefallen +; fangen fängt fing gefangen; finden findet fand gefunden; fressen frisst fraß gefressen;
geben gibt gab gegeben; gedeihen gedeiht gedieh gediehen +; gehen geht ging gegangen +;
gewinnen gewinnt gewann gewonnen; gießen gießt goss gegossen; graben gräbt grub gegraben; haben hat hatte gehabt;
halten hält hielt gehalten; helfen hilft half geholfen; klettern klettert kletterte geklettert +;
kommen kommt kam gekommen +; können kann konnte gekonnt; laden lädt lud geladen; laufen läuft lief gelaufen +;
leihen leiht lieh geliehen; leiden leidet litt gelitten; lesen liest las gelesen; liegen liegt lag gelegen;
müssen muss musste gemusst; nehmen nimmt nahm genommen; pfeifen pfeift pfiff gepfiffen; reisen reist reiste gereist +;
reißen reißt riss gerissen; rennen rennt rannte gerannt +; riechen riecht roch gerochen; rufen ruft rief gerufen;
scheinen scheint schien geschienen; schieben schiebt schob geschoben; schießen schießt schoss geschossen;
schlafen schläft schlief geschlafen; schlagen schlägt schlug geschlagen; schneiden schneidet schnitt geschnitten;
schreiben schreibt schrieb geschrieben; schwimmen schwimmt schwamm geschwommen +; sehen sieht sah gesehen;
sein ist war gewesen +; singen singt sang gesungen; sitzen sitzt saß gesessen; springen springt sprang gesprungen +;
stehen steht stand gestanden; aufstehen steht stand gestanden +; steigen steigt stieg gestiegen +;
stürzen stürzt stürzte gestürzt +; tragen trägt trug getragen; treffen trifft traf getroffen;
eintreffen trifft traf getroffen +; treten tritt trat getreten +; antreten tritt trat getreten;
trinken trinkt trank getrunken; verbringen verbringt verbrachte verbracht; verlassen verlässt verließ verlassen;
verlieren verliert verlor verloren; verschreiben verschreibt verschrieb verschrieben;
verschwinden verschwindet verschwand verschwunden +; verstehen versteht verstand verstanden;
wachsen wächst wuchs gewachsen +; wandern wandert wanderte gewandert +; waschen wäscht wusch gewaschen;
werden wird wurde geworden +; wollen will wollte gewollt; ziehen zieht zog gezogen
"""
"""Infinitive, third person, past, participle; a plus marks verbs whose perfect takes sein."""

MODALS = ("dürfen", "können", "müssen", "wollen")
PAST_ALONE = (*MODALS, "haben", "sein")
"""Verbs that are rarely used in the perfect."""

_FIRST = {"sein": "bin", "können": "kann", "müssen": "muss", "wollen": "will", "dürfen": "darf"}
_NO_GE = ("be", "ver", "er", "ent", "über", "unter")
_GE_AFTER_ALL = ("ernten",)


@dataclass(frozen=True)
class Verb:
    """One verb; `particle` is the part that separates in main clauses."""

    particle: str
    infinitive: str
    third: str
    past: str
    participle: str
    auxiliary: str

    @classmethod
    def of(cls, written: str) -> Verb:
        """As in the tables: `auf-stehen`, `kochen`."""
        particle, _, base = written.rpartition("-")
        known = _strong()
        found = known.get(particle + base) or known.get(base)
        if found:
            third, past, participle, *with_sein = found
        else:
            third, past, participle = _weak(base)
            with_sein = []
        return cls(particle, base, third, past, participle, "sein" if with_sein else "haben")

    def finite(self, tense: str, kind: str) -> str:
        plural = kind in ("p", "wir")
        if tense == "past":
            return self.past if not plural else self.past + ("n" if self.past.endswith("e") else "en")
        if plural:
            return "sind" if self.infinitive == "sein" else self.infinitive
        return self._first if kind == "ich" else self.third

    @property
    def _first(self) -> str:
        if self.infinitive in _FIRST:
            return _FIRST[self.infinitive]
        if self.infinitive.endswith("eln"):
            return self.infinitive[:-3] + "le"
        return self.infinitive[:-1] + ("e" if self.infinitive.endswith("ern") else "")

    @property
    def joined(self) -> str:
        """The infinitive as it stands at the end of a clause."""
        return self.particle + self.infinitive

    @property
    def perfect(self) -> str:
        return self.particle + self.participle


@cache
def _strong() -> dict[str, list[str]]:
    rows = (entry.split() for entry in _STRONG.split(";"))
    return {row[0]: row[1:] for row in rows}


def _weak(base: str) -> tuple[str, str, str]:
    """Third person, past and participle of a regular verb."""
    stem = base.removesuffix("n") if base.endswith(("eln", "ern")) else base.removesuffix("en")
    link = "e" if stem.endswith(("t", "d", "tm", "ffn", "gn")) else ""
    without = base.startswith(_NO_GE) and base not in _GE_AFTER_ALL
    ge = "" if without or base.endswith("ieren") else "ge"
    return f"{stem}{link}t", f"{stem}{link}te", f"{ge}{stem}{link}t"
