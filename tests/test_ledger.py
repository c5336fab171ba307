"""The ledger: every word of two texts accounted for, whole and while one of them is written.

`ledger_pairs.tsv` has rewordings and sentences broken on purpose. The rules were tuned on them, so they hold what was
reached; they do not measure how well the ledger does on sentences it has not seen.
"""

from __future__ import annotations

import math
from functools import _lru_cache_wrapper
from itertools import pairwise
from pathlib import Path

import pytest

import refdec
from refdec.ledger import account, comparison, grammar, language, lexicon, reading, relations, wellformed
from refdec.ledger.account import Account
from refdec.ledger.comparison import compare, faithful_cost
from refdec.ledger.language import is_english
from refdec.ledger.reading import read

PAIRS = [
    line.split("\t") for line in Path(__file__).with_name("ledger_pairs.tsv").read_text(encoding="utf-8").splitlines()
]
GOOD = [(source, text) for kind, source, text in PAIRS if kind == "good"]
BROKEN = [(source, text) for kind, source, text in PAIRS if kind != "good"]
BROKEN_WORDS = [
    (source, text) for kind, source, text in PAIRS if kind == "broken"
]  # "whole": only a whole text shows it
SOURCES = sorted({source for _, source, _ in PAIRS})


def test_breaks_are_found() -> None:
    missed = [pair for pair in BROKEN if compare(*pair).faithful]
    assert len(missed) <= 0.02 * len(BROKEN), missed


def test_rewordings_pass() -> None:
    refused = [(*pair, compare(*pair).reasons) for pair in GOOD if not compare(*pair).faithful]
    assert len(refused) <= 0.08 * len(GOOD), refused


@pytest.mark.parametrize("source", SOURCES)
def test_a_copy_costs_nothing(source: str) -> None:
    assert compare(source, source).cost == 0
    assert {change.kind for change in compare(source, source).changes} == {"kept"}


REASONS = [
    ("The band published an album.", "The band released an album.", "published → released"),
    ("The band sold an album in May.", "The band sold in May.", "lost: album"),
    ("The shop closed.", "The shop closed two weeks ago.", "new: two weeks ago"),
    ("It is not late.", "It is late.", "not → (nothing)"),
    ("She didn't go.", "She did go.", "not → (nothing)"),
    ("It cost 5 euros.", "It cost 6 euros.", "5 euros → 6 euros"),
    ("He must pay.", "He may pay.", "must → may"),
    ("The bridge was closed.", "The bridge is closed.", "was closed → is closed"),
    ("The rifles were sold.", "The rifle was sold.", "rifles → rifle"),
    ("The flight left before noon.", "The flight left after noon.", "before → after"),
    ("Anna sued Ben.", "Ben sued Anna.", "Anna … Ben → Ben … Anna"),
    ("Sales rose by 12 percent.", "Sales rose to 12 percent.", "by → to"),
]


@pytest.mark.parametrize(("source", "text", "reason"), REASONS)
def test_reasons_name_what_changed(source: str, text: str, reason: str) -> None:
    assert reason in compare(source, text).reasons


SAME = [
    ("Sales rose 12 percent.", "Sales rose twelve per cent."),
    ("It cost $1.5 million.", "It cost 1.5 million dollars."),
    ("She hasn't seen it.", "She has not seen it."),
    ("The colour of the theatre", "The color of the theater"),
    ("He lives in the U.S.", "He lives in the United States."),
    ("The World Health Organization met.", "The WHO met."),
    ("Twenty-five men came.", "25 men came."),
    ("Anna sued Ben.", "Ben was sued by Anna."),
    ("Meet me at 9 p.m. on Jan. 5.", "Meet me at 9 pm on January 5."),
    ("It takes 2 hours and 30 minutes.", "It takes two and a half hours."),
    ("He is 1.8 metres tall.", "He is 180 cm tall."),
    ("Two thirds of the men left.", "2/3 of the men left."),
    ("They've left, and he'd seen them.", "They have left, and he had seen them."),
    ("The road's closed.", "The road is closed."),
]


@pytest.mark.parametrize(("source", "text"), SAME)
def test_the_same_in_another_spelling_or_voice_costs_nothing(source: str, text: str) -> None:
    assert compare(source, text).cost == 0, compare(source, text).reasons


ORDERED = [
    ("The firm said so.", "The firm says so.", "tense"),
    ("Was it far?", "It was far.", "question"),
    ("I know.", "You know.", "person"),
    ("Come if you can.", "Come, you can.", "condition"),
    ("Tea or milk is here.", "Tea and milk is here.", "connective"),
    ("He is not happy.", "He is unhappy.", "synonym"),
    ("Ann is older than Bo.", "Bo is younger than Ann.", "converse"),
    ("A big dog saw a cat.", "A dog saw a big cat.", "moved"),
    ("The men had gone home.", "The men had went home.", "grammar"),
    ("Ada from Leeds met Vera from Turku.", "Ada from Turku met Vera from Leeds.", "roles"),
]


@pytest.mark.parametrize(("source", "text", "kind"), ORDERED)
def test_changes_have_their_kind(source: str, text: str, kind: str) -> None:
    assert kind in {change.kind for change in compare(source, text).changes}


@pytest.mark.parametrize(("source", "text"), [*GOOD, *BROKEN])
def test_places_point_at_the_words(source: str, text: str) -> None:
    for change in compare(source, text).changes:
        for words, place, whole in (
            (change.source, change.source_place, source),
            (change.text, change.text_place, text),
        ):
            if place:
                there = whole[slice(*place)]
                assert there.startswith(words.split(" …")[0].split()[0][:3]) or "'" in there


WELL_FORMED = [
    "He can swim, and so can she.",
    "The means of transport is a bus.",
    "What is the United Nations?",
    "Did the old men who left come back?",
    "A sales manager was hired.",
    "The people they met were kind.",
    "It was paid for by the firm.",
    "The number of jobs is small.",
    "When the sun rises, where do bats go?",
    "Where in the house is it?",
    "Why the long face?",
    "An hour later a European and an MP met on a one-way street.",
    "A unanimous vote followed an x-ray.",
]


@pytest.mark.parametrize("text", WELL_FORMED)
def test_good_grammar_has_no_fault(text: str) -> None:
    assert not [*wellformed.faults(read(text))]


def test_a_comparison_as_data_has_all_that_it_says() -> None:
    result = refdec.compare("It is late.", "It is not late.")
    data = result.to_dict()
    assert isinstance(result, refdec.Comparison)
    assert (data["cost"], data["faithful"], data["reasons"]) == (6.0, False, ["(nothing) → not"])
    assert data["changes"][-1] == {
        "kind": "negation", "source": "", "text": "not", "source_place": None, "text_place": [6, 9], "cost": 6.0,
    }  # fmt: skip


LANGUAGES = [
    ("How do I learn to cook?", True),
    ("Ann sued Bo.", True),
    ("Hello!", True),
    ("El perro come carne todos los días.", False),
    ("Der Hund schläft im Garten und träumt.", False),
    ("Le chat dort sur la table.", False),
    ("def f(x): return x + 1;", False),
    ("asdf qwer zxcv uiop hjkl", False),
    ("12 34", False),
]


@pytest.mark.parametrize(("text", "english"), LANGUAGES)
def test_english_is_told_from_other_languages_code_and_gibberish(text: str, english: bool) -> None:
    assert is_english(text) is english
    assert bool(compare(text, text).note) is not english


def test_other_languages_are_compared_by_words_and_stems() -> None:
    result = compare("El perro come carne.", "El gato come carne.")
    assert result.reasons == ("perro → gato",)
    assert "words and stems" in result.note


@pytest.mark.parametrize(("source", "text"), [*GOOD, *BROKEN])
def test_the_cost_of_a_faithful_text_is_that_of_the_comparison(source: str, text: str) -> None:
    whole = compare(source, text)
    assert faithful_cost(source, text) == (whole.cost if whole.faithful else math.inf)


@pytest.mark.parametrize("text", ["It cost 5 % more.", "Ann's late, he'd said so.", "Well, two and a half hours."])
def test_parts_have_the_words_of_the_whole_text(text: str) -> None:
    chunks = text.split(" ")
    words, alone = read(text).words, reading.read_part(chunks).words
    assert words == alone
    assert [text[: word.start].count(" ") for word in words] == [word.start for word in alone]


def spent(source: str, text: str, backward: bool) -> float:
    """What an account charges for a whole text, and for what it lacks."""
    ledger = Account(source, backward)
    state, total = ledger.start, 0.0
    chunks = text.split()
    for chunk in reversed(chunks) if backward else chunks:
        charge, state = ledger.write(state, chunk)
        hash(state)
        total += charge
    return total + ledger.missing(state)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("source", SOURCES)
def test_a_copy_is_free_word_by_word(source: str, backward: bool) -> None:
    assert spent(source, source, backward) == pytest.approx(0)


@pytest.mark.parametrize("backward", [False, True])
def test_an_account_tells_rewordings_from_breaks(backward: bool) -> None:
    good = [spent(*pair, backward) for pair in GOOD]
    broken = [spent(*pair, backward) for pair in BROKEN_WORDS]
    assert sum(cost <= 1.5 for cost in good) >= 0.75 * len(good)
    assert sum(cost > 1 for cost in broken) >= 0.75 * len(broken)


def test_nothing_written_misses_everything() -> None:
    ledger = Account("Yesterday Anna did not sell 12 apples.")
    assert ledger.missing(ledger.start) == pytest.approx(2 + 4 + 6 + 2 + 6 + 2)


def test_a_phrase_is_refunded_when_it_is_whole() -> None:
    ledger = Account("The show happened in May.")
    charge, state = ledger.write(ledger.start, "took")
    refund, _ = ledger.write(state, "place")
    assert charge > 0 > refund
    assert charge + refund == pytest.approx(compare("It happened.", "It took place.").cost)


def test_the_lexicon_is_small_and_sorted() -> None:
    table = Path(lexicon.__file__).with_name("lexicon.txt").read_bytes()
    keys = [line.partition(b"\t")[0] for line in table.split(b"\n")[1:-1]]
    assert len(table) < 3_000_000
    assert all(one < two for one, two in pairwise(keys))
    for key in (keys[0], keys[-1], b"zebra"):
        assert lexicon.group(key[1:].decode()) if key.startswith(b"#") else lexicon.entry(key.decode())
    assert lexicon.entry("notaword") is None


FORMS = [
    ("went", ("go", "v")),
    ("stopped", ("stop", "v")),
    ("cities", ("city", "n")),
    ("children", ("child", "n")),
    ("bigger", ("big", "a")),
    ("making", ("make", "v")),
]


@pytest.mark.parametrize(("form", "base"), FORMS)
def test_forms_have_their_base(form: str, base: tuple[str, str]) -> None:
    assert base in lexicon.lemmas(form)


NUMBERS = [
    ("1,200", "1200"),
    ("two hundred", "200"),
    ("twenty-first", "21."),
    ("$3bn", "3000000000 dollar"),
    ("12%", "12 percent"),
    ("5 million euros", "5000000 euro"),
]


@pytest.mark.parametrize(("text", "value"), NUMBERS)
def test_numbers_have_one_value_in_words_and_figures(text: str, value: str) -> None:
    assert [word.value for word in read(text).words] == [value]


def test_caches_are_bounded() -> None:
    modules = (account, comparison, grammar, language, lexicon, reading, relations)
    caches = {
        name: item for module in modules for name, item in vars(module).items() if isinstance(item, _lru_cache_wrapper)
    }
    without_arguments = {"_table", "own_groups"}
    assert len(caches) > 8
    assert not [
        name for name, cache in caches.items() if cache.cache_info().maxsize is None and name not in without_arguments
    ]


SAYS_SOMETHING_ELSE = [
    ("Is it rude not to finish the meal?", "Is it not rude to finish the meal?"),
    ("He decided not to sell the farm.", "He did not decide to sell the farm."),
    ("When should a baby start to talk?", "When does a baby start to talk?"),
    ("A herd of cows crossing a road.", "A herd of cows crossed a road."),
    ("The women are waiting.", "The woman is waiting."),
    ("How can I become famous here?", "What can I become famous here?"),
    ("Some events happened in May.", "The events happened in May."),
    ("Why do married men have affairs?", "Why do men get married with affairs?"),
    ("John Paul Stevens is the judge.", "Paul John Stevens is the judge."),
    ("John Paul Lee (born May 2) is Chief Justice of Ohio.", "Paul John Lee (born May 2) is Chief Justice of Ohio."),
    ("What are the best games for a child?", "What is the best game for a child?"),
    ("What are skateboard wheels made of?", "What are the skateboard wheels made of?"),
    ("What causes razor burns?", "What is causing razor burns?"),
    ("What are moral values?", "What are your moral values?"),
    ("Trees grow in some valleys.", "Trees grow in valleys."),
    ("What are some of the first things you do?", "What is the first thing you do?"),
    ("How should I celebrate it?", "How can I celebrate it?"),
    ("Do men love women with old dogs?", "Do women with old dogs love men?"),
    ("Then it turns the head down.", "It turns the head down."),
    ("An adult can re-learn the alphabet.", "An adult can learn the alphabet."),
    ("A cat watching what it likes.", "A cat was watching what it likes."),
    ("Site Finder was visited often.", "Sites Finder was visited often."),
    ("The index fell 2.52 to 410.23.", "The index fell 2.52 percent to 410.23."),
    ("He is older.", "He is old."),
    ("It was the greatest tragedy.", "It was the great tragedy."),
    ("She ran faster.", "She ran fast."),
    ("Who owns Remington Arms?", "Who owns Remington Arm?"),
    ("Do things change?", "Can things change?"),
    ("Why do so many people like it?", "Why do people like it so much?"),
    ("How do you fix a cleaner?", "How do you make a cleaner?"),
    ("He asked how the bags are made.", "He asked the bags are made."),
    ("Making his return is Gary Orr.", "His return is Gary Orr."),
    ("Does coffee make you not tired?", "Does coffee not make you tired?"),
    ("Which car is better, Opel or Fiat?", "Which is the better car for Opel or Fiat?"),
    ("What was your first question?", "What were your first questions?"),
    ("Before he left, he said that he had met Ann.", "He said that he had met Ann before he left."),
    ("The head of the firm was arrested in Germany.", "The head of the firm in Germany was arrested."),
    ("They won in the State Parliament.", "They won in Parliament."),
    ("This event is his first Scottish appearance.", "This Scottish event is his first appearance."),
    ("He was digging at the mine near Leeds.", "He was digging at the mine in Leeds."),
    ("Books help too little.", "These books help too little."),
    ("Milk is made by Humana Milchunion.", "Milk is made by Humana Milch Union."),
    ("How is Quora different?", "How different is Quora?"),
    ("What will be the best way?", "What is the best way?"),
    ("Have you ever had a cat?", "Do you ever have a cat?"),
    ("Why is it in such bad state?", "Why is it in bad state?"),
    ("Here are some of the aspects of it.", "Here are the aspects of it."),
    ("What goes well with crab?", "What goes best with crab?"),
    ("How will he be president?", "How will he become president?"),
    ("What is bad design?", "What is the bad design?"),
    ("What ideas do you have?", "What do you have?"),
    ("Can I do it with a link alone?", "Can I do it alone with a link?"),
    ("What can I do with a laptop?", "What can I do with this laptop?"),
    ("Could they have won?", "Could they win?"),
    ("What do call centers do?", "What is a call center?"),
    ("In fact, the town had a bad year.", "The town had a bad year in fact."),
    (
        "In London, Farah is eyeing a double victory in the 5000 and 10000 metres for a fifth title in a row.",
        "Farah is eyeing a double victory in the 5000 and 10000 metres for a fifth title in a row in London.",
    ),
]


@pytest.mark.parametrize(("source", "text"), SAYS_SOMETHING_ELSE)
def test_a_small_change_that_says_something_else_is_not_faithful(source: str, text: str) -> None:
    assert not compare(source, text).faithful


SAYS_NEARLY_THE_SAME = [
    ("She does not want to go.", "She wants not to go."),
    ("How should I clean it?", "How do I clean it?"),
    ("How can a child learn it?", "How does a child learn it?"),
    ("Police said so, adding that he fell.", "Police said so and added that he fell."),
    ("Prices rose by 5 to 6 percent.", "Prices rose by 5 percent to 6 percent."),
    ("Sales of cars fell.", "Car sales fell."),
    ("Half of the shops are closed.", "50% of the shops are closed."),
    ("Nobody knows who wrote it.", "No one knows who wrote it."),
    ("They have found a frog.", "A frog has been found by them."),
    ("How can I learn it?", "What can I do to learn it?"),
    ("How do you call this fish?", "What do you call this fish?"),
    ("Do cats eat mice?", "Does a cat eat mice?"),
    ("A man stands by a road.", "A man is standing by a road."),
    ("Speaking in Rome, he said no.", "He was speaking in Rome and said no."),
    ("Will I be rich if I work?", "If I work, will I be rich?"),
    ("She is older than Bo.", "Bo is not as old as she."),
    ("This is a greater risk.", "This is a more great risk."),
    ("He bought a wooden table.", "He bought a wood table."),
    ("An atomic bomb fell.", "An atom bomb fell."),
    ("He showed how it works.", "He showed the way it works."),
    ("He likes to run and swim.", "He likes running and swimming."),
    ("Making a decision is hard.", "It is hard to make a decision."),
    ("Will it rain?", "Is it going to rain?"),
    ("It does not make sense.", "It makes no sense."),
    ("Which car is better, Opel or Fiat?", "Which is the better car, Opel or Fiat?"),
    ("People living here earn more.", "People who live here earn more."),
    ("A broken window was found.", "A window was found broken."),
    ("On Monday, he went to Rome.", "He went to Rome on Monday."),
    ("After all that work, it is ready to be sold.", "It is ready to be sold after all that work."),
    ("He used a sledgehammer.", "He used a sledge hammer."),
    ("How much does it cost to build a robot?", "What does it cost to build a robot?"),
    ("How will I know?", "How do I know?"),
    ("How do I know if I have it?", "How can I tell if I have it?"),
    ("What is the capital of Mali?", "Which city is the capital of Mali?"),
    ("What does it mean?", "What is meant by it?"),
    ("The firm was weaker.", "The firm became weaker."),
    ("The pups, which are born white, cannot swim.", "The pups are born white and cannot swim."),
]


@pytest.mark.parametrize(("source", "text"), SAYS_NEARLY_THE_SAME)
def test_a_small_change_that_says_the_same_is_faithful(source: str, text: str) -> None:
    assert compare(source, text).faithful


def test_an_article_that_points_at_something_new_costs_more_than_one_that_does_not() -> None:
    pointing = compare("He walks past a house.", "He walks past the house.").cost
    counted = compare("Three men are here.", "The three men are here.").cost
    general = compare("Analysts expect more cuts.", "The analysts expect more cuts.").cost
    assert pointing > counted == general > compare("The prices rose.", "Prices rose.").cost > 0


BADLY_FORMED = [
    ("Is it rude to smoke in China?", "Is it rude to smoke in Chinese?"),
    ("Why was Pluto left out?", "Why Pluto was left out?"),
    ("Smith is an English name.", "Smith is a English name."),
    ("Which tool does Ann use?", "Which tool do Ann use?"),
    ("How can I become a writer?", "How can I do to become a writer?"),
    ("Is the idol in the temple old?", "The idol in the temple is old?"),
    ("Why does it come and go?", "Why does it coming and going?"),
    ("Does a laptop use less power?", "Does a laptop uses less power?"),
    ("Do court orders expire?", "Do court orders expired?"),
    ("Why doesn't bread go stale?", "Why don't bread go stale?"),
    ("Why doesn't bread go stale?", "Why don't bread get stale?"),
    ("What are the oldest places in Delhi?", "What is the oldest places in Delhi?"),
    ("The economic service is new.", "The economy service is new."),
    ("What will be the future of Swift?", "What will the future be of Swift?"),
    ("Papuan calls for peace grow.", "Papuan's calls for peace grow."),
    ("He takes care and delivers food.", "He takes care and delivering food."),
    ("What are the best collapsed answers?", "What are the best collapse answers?"),
    ("Where can I watch the archived games?", "Where can I watch the games archived?"),
    ("On the moon men feel lighter.", "On the moon men feeling lighter."),
    ("There is little time, but working with kids is fun.", "There is little time, but working with kids are fun."),
    ("It hums in low gear, which is ploughing the field.", "It hums in low gear is ploughing the field."),
    ("In IPL what salary do they get?", "In IPLWhat salary do they get?"),
    ("Why do people hate India?", "Why do people hate Indians?"),
    ("Was the Polish Air Force there?", "Was the Poland Air Force there?"),
    ("How is CGPA calculated?", "How is the CGPA calculation?"),
    ("What is figurative language?", "What is a figurative language?"),
    ("Why is Ann not on Quora?", "Why is Ann not Quora?"),
    ("What does market fit mean?", "What is market fit mean?"),
    ("Why is it a tragedy?", "Why does it is a tragedy?"),
    ("The others are Chile, the Dominican Republic and Malta.", "The others are Chile, Dominican Republic and Malta."),
    ("It has two eyes, of which one is red and one is blue.", "It has two eyes, one is red and one is blue."),
]


@pytest.mark.parametrize(("source", "text"), BADLY_FORMED)
def test_bad_grammar_that_the_source_does_not_have_is_told(source: str, text: str) -> None:
    assert "grammar" in {change.kind for change in compare(source, text).changes}


def test_a_passive_that_becomes_active_with_the_same_subject_says_something_else() -> None:
    source = "The site has been visited 65 million times since May."
    assert not compare(source, "The site has visited 65 million times since May.").faithful
    assert compare(
        "The guide showed the guests the old bridge.", "The guests were shown the old bridge by the guide."
    ).faithful


@pytest.mark.parametrize("text", ["?", "Not.", "the", "a", "then", "Why?", "do", "not to"])
def test_the_shortest_texts_can_be_compared(text: str) -> None:
    for source in ("Is it late?", "Then it rained.", "It is rude not to go.", "Does a car use fuel?"):
        assert compare(source, text).cost > 0
        assert compare(text, source).cost > 0
