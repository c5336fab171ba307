"""The closed classes of English: words that hold a sentence together, and words that stand only for themselves."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _in_order(text: str) -> list[str]:
    return text.split()


NEGATIONS = words("not no never none nobody nothing neither nor nowhere without cannot hardly scarcely barely")
MODALS = {
    "will": "will",
    "shall": "will",
    "would": "would",
    "can": "can",
    "could": "could",
    "may": "may",
    "might": "may",
    "must": "must",
    "should": "should",
    "ought": "should",
    "have to": "must",
}
"""Each modal and the one it counts as."""

NEAR_MODALS = frozenset({frozenset(pair.split()) for pair in ("will would", "can could", "may could", "must should")})
"""Modals that reported speech and politeness exchange."""

BE = {
    "am": "present",
    "is": "present",
    "are": "present",
    "was": "past",
    "were": "past",
    "be": "",
    "been": "",
    "being": "",
}
HAVE = {"have": "present", "has": "present", "had": "past", "having": ""}
DO = {"do": "present", "does": "present", "did": "past", "doing": "", "done": ""}
AUXILIARIES = {**BE, **HAVE, **DO}
"""Forms of be, have and do with their tense."""

PERSONS = {
    **dict.fromkeys(words("i me my mine myself"), "I"),
    **dict.fromkeys(words("we us our ours ourselves"), "we"),
    **dict.fromkeys(words("you your yours yourself yourselves"), "you"),
    **dict.fromkeys(words("he him his himself"), "he"),
    **dict.fromkeys(words("she her hers herself"), "she"),
    **dict.fromkeys(words("it its itself"), "it"),
    **dict.fromkeys(words("they them their theirs themselves themself"), "they"),
}
SPEAKERS = frozenset({"I", "we", "you"})

DETERMINERS = words("a an the this that these those such some any")
PREPOSITIONS = words(
    "of in on at by for with from to into onto as than through during against between among per via toward towards "
    "within across along amid despite upon near over under above below beyond behind beside inside outside around "
    "about like since off out beneath underneath amongst alongside throughout"
)
DIRECTIONS = words(
    "from to into for against by with over under above below behind between off out per than since near around outside"
)
"""Prepositions whose exchange changes what is said."""

CONDITIONS = words("if unless whether")
CONNECTIVES = {
    **dict.fromkeys(words("because therefore thus hence consequently so"), "cause"),
    **dict.fromkeys(
        words("although though but however yet nevertheless nonetheless whereas despite while"), "contrast"
    ),
    "or": "or",
    "and": "and",
}
CAUSING = words("cause lead result force due owing thanks reason")
"""Words that give a cause as "because" does."""

ADVISING = words("recommend advise suggest urge propose demand")
"""Verbs that say what should be."""

SUPPORTING = words(
    "receive have make give take hold carry conduct do get put offer show feel provide be become go send say post use "
    "reach come bring undergo suffer launch raise hold issue pay submit"
)
"""Verbs that say little beside a noun: "make a decision"."""

LINKS = words("and or but that which who whom whose when while where as because although though so then there")
QUESTION_WORDS = words("what which who whom whose when where why how")

STRICT = words(
    "before after until till up down last next previous all every each both either several few many much most more "
    "less least fewer only also too still already yet again almost nearly about around approximately always often "
    "sometimes rarely seldom ever even once twice soon later earlier ago early late above below over under inside "
    "outside former latter except instead rather enough"
)
"""Words that no other word may replace, save those of their group in synonyms.txt."""

LIGHT = words(
    "very really quite just actually indeed simply so then there here thing things way ways fact kind sort one ones "
    "make made makes making take takes took taken taking get gets got getting gotten give gives gave given giving go "
    "goes going went gone come comes came have having do doing done let lets use used using people person someone "
    "somebody something anyone anything own able certain well please currently now also too even upon else order same "
    "such spend spends spent spending today wear wears wearing worn located called named known particular various "
    "respectively thereby therein regard regarding terms term else"
)
"""Words that say little by themselves."""

CLASSES = words(
    "country nation state city town village company firm group team club river island man woman newspaper paper month "
    "year university school party"
)
"""Nouns that say what kind of thing a name is."""

PARTICLES = words("up down off out away back over on in along through around about apart together aside")

NUMBER_WORDS = {
    name: value
    for value, name in enumerate(
        _in_order(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen"
        )
    )
} | {
    name: 10 * value
    for value, name in enumerate(_in_order("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
}
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
SCALE_MARKS = {"k": 10**3, "m": 10**6, "mn": 10**6, "mln": 10**6, "bn": 10**9, "b": 10**9, "tn": 10**12}
ORDINALS = {
    name: value
    for value, name in enumerate(
        _in_order(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
            "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
        ),
        start=1,
    )
} | {"thirtieth": 30, "hundredth": 100}
DECADES = {
    name: 10 * value
    for value, name in enumerate(
        _in_order("twenties thirties forties fifties sixties seventies eighties nineties"), start=2
    )
}
MONEY = {
    **dict.fromkeys(words("dollar dollars buck bucks"), "dollar"),
    **dict.fromkeys(words("euro euros"), "euro"),
    **dict.fromkeys(words("pound pounds quid lb lbs"), "pound"),
    "yen": "yen",
}
CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}

CONTRACTED = {
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "unable": ("not", "able"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("is", "not"),
    "let's": ("let", "us"),
    "gonna": ("going", "to"),
    "wanna": ("want", "to"),
    "gotta": ("got", "to"),
    "o'clock": ("o'clock",),
}
ENDINGS = {"n't": "not", "'ll": "will", "'re": "are", "'ve": "have", "'m": "am", "'d": "would"}
TAKE_IS = words("it he she that this there what who where how when why here everything everyone nobody one which")
"""Words after which 's is a verb and no possessive."""

TITLES = words(
    "mr mrs ms dr prof sir president senator sen minister prime governor gov chairman judge king queen captain "
    "general professor doctor spokesman spokeswoman director chief secretary"
)
POSSESSIVES = words("my your his her its our their whose")
TIMES = words(
    "second minute hour day night morning afternoon evening week weekend month year decade century time today "
    "yesterday tomorrow spring summer autumn winter"
)
UNITS = {
    **dict.fromkeys(words("second seconds sec secs"), (1, "second")),
    **dict.fromkeys(words("minute minutes min mins"), (60, "second")),
    **dict.fromkeys(words("hour hours hr hrs"), (3600, "second")),
    **dict.fromkeys(words("day days"), (86400, "second")),
    **dict.fromkeys(words("week weeks"), (7 * 86400, "second")),
    **dict.fromkeys(words("month months"), (1, "month")),
    **dict.fromkeys(words("year years yr yrs"), (12, "month")),
    **dict.fromkeys(words("mm millimeter millimeters millimetre millimetres"), (0.001, "meter")),
    **dict.fromkeys(words("cm centimeter centimeters centimetre centimetres"), (0.01, "meter")),
    **dict.fromkeys(words("m meter meters metre metres"), (1, "meter")),
    **dict.fromkeys(words("km kilometer kilometers kilometre kilometres"), (1000, "meter")),
    **dict.fromkeys(words("mile miles mi"), (1, "mile")),
    **dict.fromkeys(words("foot feet ft"), (1, "foot")),
    **dict.fromkeys(words("inch inches"), (1, "inch")),
    **dict.fromkeys(words("g gram grams gramme grammes"), (1, "gram")),
    **dict.fromkeys(words("kg kilo kilos kilogram kilograms"), (1000, "gram")),
    **dict.fromkeys(words("ton tons tonne tonnes"), (1, "ton")),
    **dict.fromkeys(words("ml milliliter milliliters millilitre millilitres"), (0.001, "liter")),
    **dict.fromkeys(words("l liter liters litre litres"), (1, "liter")),
    **dict.fromkeys(words("gallon gallons"), (1, "gallon")),
    **dict.fromkeys(words("gb gigabyte gigabytes"), (1, "gigabyte")),
    **dict.fromkeys(words("time times"), (1, "time")),
}
"""Measures, each in the smallest one of its kind."""

TIMES_OVER = {"twice": "2 time", "thrice": "3 time"}

DAYS = words("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = words("january february march april may june july august september october november december")
REPORTED = words(
    "say said says tell told ask asked add added announce announced report reported think thought believe believed "
    "know knew hope hoped promise promised predict predicted expect expected claim claimed warn warned"
)
