"""What strict readers call wrong costs more than a faithful rewording may; what an editor may do costs less.

Short sentences, one fault or one freedom each, grouped by the promise that they hold.
"""

from __future__ import annotations

import pytest

from refdec.ledger.comparison import compare


def _pairs(text: str) -> list[tuple[str, str]]:
    lines = [line.split(" | ") for line in text.strip().splitlines()]
    return [(source, other) for source, other in lines]


def _unfaithful(source: str, text: str) -> None:
    verdict = compare(source, text)
    assert not verdict.faithful, verdict.changes
    assert compare(source, source).cost == 0


def _faithful(source: str, text: str) -> None:
    verdict = compare(source, text)
    assert verdict.faithful, verdict.reasons


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
Ann Lee bought a red car and a blue house. | Ann Lee bought a car and a red blue house.
The young actor married a rich singer. | The actor married a young rich singer.
The heavy rain damaged the wooden bridge. | The rain damaged the heavy wooden bridge.
The French team beat the young Danish side. | The young French team beat the Danish side.
"""),
)
def test_a_modifier_stays_with_its_noun(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
The rain stopped and the match began. | The rain stopped, the match began.
The bank closed and the workers went home. | The bank closed, the workers went home.
The price fell and sales rose sharply. | The price fell, sales rose sharply.
"""),
)
def test_a_comma_does_not_join_two_sentences(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
The mayor, who was born in Oslo, resigned on Friday. | The mayor who was born in Oslo and resigned on Friday.
The factory was closed and 200 workers lost jobs. | The factory, which was closed and 200 workers lost jobs.
A storm that hit Cuba killed five people. | A storm that hit Cuba and killed five people.
The company sold its shares. | The company which sold its shares.
"""),
)
def test_a_relative_clause_does_not_swallow_the_main_verb(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
Anna Berg won the prize. | Berg won the prize.
John Paul Miller met Anna Berg in Rome. | Paul Miller met Anna in Rome.
The New York Times reported the story. | The York Times reported the story.
"""),
)
def test_a_name_keeps_all_its_parts(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
He signed a contract for the bridge. | He signed a contract of the bridge.
The demand for steel fell. | The demand of steel fell.
He gave a speech to workers. | He gave a speech for workers.
A letter from the bank arrived. | A letter to the bank arrived.
"""),
)
def test_a_noun_keeps_its_preposition(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
The man bought a car. | The man bought cars.
Two men carried a box. | Two men carried boxes.
Police found the gun in the house. | Police found the guns in the house.
The companies agreed on a price. | The company agreed on a price.
"""),
)
def test_one_stays_one_and_several_stay_several(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
The team plays in Rome. | The team played in Rome.
In 1923 Elsa Roth moved to Lisbon. | Elsa Roth is moving to Lisbon in 1923.
How many countries did Ada Stone visit? | How many countries will Ada Stone visit?
He is waiting for the bus. | He was waiting for the bus.
Prices rise every year. | Prices rose every year.
"""),
)
def test_the_main_verb_keeps_its_tense(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
Only two shops were open. | Two shops were open.
The firm also makes tyres. | The firm makes tyres.
She still lives in Leeds. | She lives in Leeds.
About a third of the town was flooded. | A third of the town was flooded.
"""),
)
def test_only_also_still_and_about_stay(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
Prices will rise, Lena Holm said. | Prices will rise, the bank said.
The talks have failed, said Mr Olsen. | The talks have failed, he told Mr Olsen.
The mayor said the police had lied. | The police said the mayor had lied.
"""),
)
def test_nobody_else_says_it(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
Who did Ann marry? | Who married Ann?
Who hit Tom? | Who did Tom hit?
Students who teachers admire work hard. | Students who admire teachers work hard.
Mary gave her brother a watch. | Her brother gave Mary a watch.
The mother of the boy called the police. | The boy called the mother of the police.
The doctor deleted it after the patient complained. | It was deleted by the patient after the doctor complained.
"""),
)
def test_the_doer_stays_the_doer(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
More people use trains than buses. | More people use buses than trains.
Cats are faster than dogs. | Dogs are faster than cats.
Are the exams in India harder than those in Peru? | Are exams easier in India than in Peru?
Your phone was cheaper than mine. | My phone was cheaper than yours.
The number rose from 10 to 20 last year. | The number rose from 20 to 10 last year.
"""),
)
def test_a_comparison_and_a_span_keep_their_sides(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
The shop will close unless sales improve. | The shop will close if sales do not improve.
He no longer works here. | He does not work here any more.
Had I known, I would have stayed. | If I had known, I would have stayed.
She was too tired to walk. | She was so tired that she could not walk.
They moved there so that she could study law. | They moved there to study law.
The engine cannot be repaired. | It is impossible to repair the engine.
How tall is Mount Elbrus? | What is the height of Mount Elbrus?
Could you tell me when the bus leaves? | Do you know when the bus leaves?
"""),
)
def test_words_far_apart_may_say_the_same(source: str, text: str) -> None:
    _faithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
The shop will close unless sales improve. | The shop will close if sales improve.
He no longer works here. | He works here any more.
She was too tired to walk. | She was so tired that she could walk.
The engine cannot be repaired. | It is possible to repair the engine.
"""),
)
def test_all_words_of_a_frame_must_be_there(source: str, text: str) -> None:
    _unfaithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
Bob is not as tall as Ann. | Ann is taller than Bob.
The lake is deeper than the river. | The river is not as deep as the lake.
My phone was cheaper than yours. | Your phone was more expensive than mine.
"""),
)
def test_a_comparison_may_be_turned_round(source: str, text: str) -> None:
    _faithful(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    _pairs("""
"I will not resign," Mr Dahl said on Monday. | Mr Dahl said on Monday that he would not resign.
A sledge hammer was found. | A sledgehammer was found.
They met in a café. | They met in a cafe.
They covertly agreed to stop the exercise. | They secretly agreed to halt the exercise.
A plate of food sits on the table. | There is a plate of food on the table.
The box contains ten pens. | There are ten pens in the box.
The drug, approved in 2019, helps many. | The drug, which was approved in 2019, helps many.
The company's profits fell by 12 percent. | The firm's profits dropped by 12 percent.
"""),
)
def test_an_editor_may_retell_and_rename(source: str, text: str) -> None:
    _faithful(source, text)
