"""What speaks for and against a candidate besides its contexts, and that the race counts it too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from refdec import Pair, ParaphraseSettings, Reflector
from refdec.lm.tokens import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.schedule import run
from refdec.reflect.scoring import own_logprobs
from refdec.reflect.side import both_sides
from refdec.results import Flow
from refdec.tasks.ranking import Standing, race, ranked_paraphrases, standings, worst_window

SOURCE = "Did Ann Lee pay 300 dollars in Boston?"
FULL = "Were 300 dollars paid by Ann Lee in Boston?"
NO_NUMBER = "Did Ann Lee pay in Boston?"
NOTHING = "Did she pay?"
TEXTS = [SOURCE, FULL, NO_NUMBER, NOTHING]
NEUTRAL = Standing(0.0, (), 0.0)


def stand(pair: Pair, prior: float = 0.0, loss: float = 0.0) -> dict[str, Standing]:
    ids = {text: pair.tokens.encode(text) for text in TEXTS}
    return run(pair, standings(pair, ids, ParaphraseSettings(prior=prior, loss=loss)))


def own(pair: Pair, text: str) -> float:
    """Log-probability of a text, read alone; the mean of both directions."""
    ids, total = pair.tokens.encode(text), 0.0
    for model in (pair.forward, pair.backward):
        (row,) = run(pair, own_logprobs(model, [model.direction.arrange(ids)]))
        total += float(row.double().sum()) / 2
    return total


def test_the_prior_is_the_weighted_gain_in_log_probability_over_the_source(untrained: Reflector) -> None:
    found = stand(untrained.pair, prior=0.25)
    assert found[SOURCE] == replace(NEUTRAL, flow=Flow(0.0, 0.0))
    for text in TEXTS[1:]:
        expected = 0.25 * (own(untrained.pair, text) - own(untrained.pair, SOURCE))
        assert found[text].prior == pytest.approx(expected, abs=1e-3)  # sums of float32, padded and not
        assert abs(found[text].prior) > 0.1


def test_without_weight_no_text_has_a_prior(untrained: Reflector) -> None:
    assert [standing.prior for standing in stand(untrained.pair, loss=5.0).values()] == [0.0] * len(TEXTS)


def test_a_text_that_lacks_numbers_or_names_of_the_source_loses_once(untrained: Reflector) -> None:
    found = {text: replace(item, flow=NEUTRAL.flow) for text, item in stand(untrained.pair, loss=5.0).items()}
    assert found[SOURCE] == found[FULL] == NEUTRAL
    assert found[NO_NUMBER] == Standing(0.0, ("300",), 5.0)
    assert set(found[NOTHING].lost) == {"Ann Lee", "300", "Boston"}
    assert found[NOTHING].offset == -5.0


def test_what_is_lost_is_told_also_where_it_costs_nothing(untrained: Reflector) -> None:
    assert replace(stand(untrained.pair)[NO_NUMBER], flow=NEUTRAL.flow) == Standing(0.0, ("300",), 0.0)


def test_the_worst_window_is_of_five_neighbours() -> None:
    assert worst_window(torch.tensor([0.0, -5, 0, 0, 0, -5, -5, 0, 0, 0])) == -2
    assert worst_window(torch.tensor([-1.0, -3])) == -2


def test_relative_is_fits_and_prior_less_loss() -> None:
    standing = {SOURCE: NEUTRAL, FULL: Standing(2.0, (), 0.0), NO_NUMBER: Standing(3.0, ("300",), 5.0)}
    fits = [torch.tensor([[-8.0, -2.0], [-9.0, -3.0], [-8.0, -4.0]]), torch.tensor([[-5.0], [-5.0], [-3.0]])]
    totals = [-10.0, -11.0, -9.0]  # means of each side, added
    found = ranked_paraphrases(list(standing), totals, standing, fits, {FULL: "left", NO_NUMBER: "both"})
    assert [item.text for item in found] == [FULL, NO_NUMBER]  # the other way round by the fits alone
    assert [item.score for item in found] == [-9.0, -11.0]
    assert [item.relative for item in found] == [1.0, -1.0]
    assert [(item.prior, item.lost) for item in found] == [(2.0, ()), (3.0, ("300",))]
    assert found[0].fits == (-1.0, -1.0, 0.0)  # against those of the source


def test_the_race_counts_what_stands_for_and_against_a_text(pair: Pair) -> None:
    texts = [SOURCE, *(f"w{number} x y z" for number in range(20))]  # one as novel as the other
    ensembles = [Ensemble(side, ((1,), (2,)), torch.ones(2) / 2, (), 1.0, 0.0, 0.0) for side in both_sides(pair)]

    async def fit(ensemble: Ensemble, contexts: Sequence[Ids], texts: Sequence[str]) -> torch.Tensor:
        """Half a nat less on each side for each next text."""
        assert ensemble in ensembles
        places = [0.0 if text == SOURCE else float(text.split()[0][1:]) for text in texts]
        return torch.tensor([[-place / 2] * len(contexts) for place in places])

    def stay(changed: dict[str, Standing]) -> list[str]:
        standing = dict.fromkeys(texts, NEUTRAL) | changed
        left, fits = run(pair, race(texts, standing, ensembles, fit, exact=False))
        assert [len(side) for side in fits] == [len(left)] * 2
        return left

    assert stay({}) == texts[:9]
    assert stay({texts[20]: Standing(30.0, (), 0.0)}) == [*texts[:8], texts[20]]
    assert stay({texts[1]: Standing(0.0, ("300",), 30.0)}) == [SOURCE, *texts[2:10]]
