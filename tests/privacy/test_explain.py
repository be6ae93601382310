"""What a budget means: figures against simulated attackers and against the bounds they must keep."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import gdp_epsilon, gdp_mu
from discreet.privacy.accounting.planning import (
    attack_risk_of,
    best_true_positive_rate,
    explain_budget,
    found_at_most,
    largest_posterior,
    percent,
)
from discreet.privacy.ledger.reservation import Entry
from discreet.privacy.units import Guarantee

MU = gdp_mu(2, 1e-6)


def observe(n=1_000_000, mu=MU):
    """What an attacker sees in the two worlds (absent, present), as the log-likelihood ratio."""
    rng = np.random.default_rng(5)
    absent, present = rng.normal(0, 1, n), rng.normal(mu, 1, n)
    return tuple(mu * x - mu * mu / 2 for x in (absent, present))


@pytest.mark.parametrize("alarm", [0.001, 0.01, 0.1])
def test_the_best_attacker_does_as_well_as_stated_and_no_better(alarm):
    absent, present = observe()
    threshold = np.quantile(absent, 1 - alarm)
    found = np.mean(present > threshold)
    stated = best_true_positive_rate(MU, alarm)
    error = 4 * (1 / math.sqrt(alarm * len(absent)) + 1 / math.sqrt(stated * len(present)))
    assert error < 0.4
    assert found == pytest.approx(stated, rel=error)
    assert best_true_positive_rate(1.5 * MU, alarm) > stated * (1 + error)  # a wrong mu would show


@pytest.mark.parametrize("prior", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("failure", [1e-2, 1e-3])
def test_posteriors_stay_below_the_stated_one_but_for_the_failure(prior, failure):
    stated = largest_posterior(MU, prior, failure)
    for world, least in zip(observe(), (0.0, 0.8), strict=True):
        posterior = prior * np.exp(world) / (prior * np.exp(world) + 1 - prior)
        beyond = np.mean(posterior > stated)
        assert beyond <= failure * 1.3
        assert beyond >= failure * least  # exact where the unit is present


def test_edges_of_attacks():
    assert best_true_positive_rate(math.inf, 0.01) == 1
    assert best_true_positive_rate(0.0, 0.01) == pytest.approx(0.01)
    assert largest_posterior(math.inf, 0.01) == 1
    assert largest_posterior(1e-9, 0.1) == pytest.approx(0.1)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.01, 20), st.floats(1e-9, 1e-3))
def test_figures_grow_with_epsilon_and_keep_the_bounds_of_epsilon_delta(epsilon, delta):
    told = explain_budget(epsilon, delta)
    more = explain_budget(1.5 * epsilon, delta)
    for alarm, found in told.true_positive_rates.items():
        assert alarm < found <= min(1, math.exp(epsilon) * alarm + delta) * (1 + 1e-9)
        assert found <= more.true_positive_rates[alarm]
    for prior, after in told.posteriors.items():
        assert prior < after <= more.posteriors[prior] <= 1
    for size, group in told.group_epsilons.items():
        assert group > size * epsilon * 0.9  # never cheaper than it looks, for small deltas
        assert group == gdp_epsilon(size * told.mu, delta)


def test_what_may_fail_is_counted_for_one_unit_and_for_several():
    planned = [events.with_delta(events.gaussian(20.0), 5e-8), events.gaussian(4.6)]
    told = explain_budget(1, 1e-6, events=planned, group_failure=lambda size: 5e-8 * 3**size)
    assert told.mu == pytest.approx(math.hypot(1 / 20, 1 / 4.6), rel=1e-12)
    assert told.failure == 5e-8
    alarm, found = 0.01, told.true_positive_rates[0.01]
    assert found == best_true_positive_rate(told.mu, alarm, 5e-8) > best_true_positive_rate(told.mu, alarm)
    assert told.group_epsilons[2] == gdp_epsilon(2 * told.mu, 1e-6 - 5e-8 * 9)
    assert told.group_epsilons[5] == math.inf
    assert told.group_noise[5] == gdp_epsilon(5 * told.mu, 1e-6)
    assert "5: none at this delta" in told.in_words()
    booked = [Entry(event, "a fit", 1) for event in (*planned, events.pure(1.0))]
    assert attack_risk_of(told.guarantee, booked[:2]).count(f"at most {percent(found)} of") == 1
    assert "whatever the noise" in attack_risk_of(told.guarantee, booked[2:])
    with pytest.raises(ParameterError, match="group_failure is needed"):
        explain_budget(1, 1e-6, events=planned)
    for wrong in (
        [events.gaussian(1.0)],
        [events.pure(2.0)],
        [events.with_delta(events.gaussian(9.0), 1e-6)],
    ):
        with pytest.raises(ParameterError, match="events must be Gaussian noise and failures"):
            explain_budget(1, 1e-6, events=wrong, group_failure=float)


def test_a_failure_tells_the_best_attacker_what_it_says():
    """Everything is told with probability d; otherwise Gaussian noise: the attacker of both, simulated."""
    rng = np.random.default_rng(3)
    n, mu, failure, alarm = 400_000, 1.0, 0.03, 0.05
    absent, present = rng.normal(0, 1, n), rng.normal(mu, 1, n)
    absent[rng.random(n) < failure], present[rng.random(n) < failure] = -np.inf, np.inf
    found = np.mean(present > np.quantile(absent, 1 - alarm))
    assert found == pytest.approx(best_true_positive_rate(mu, alarm, failure), abs=0.004)
    assert abs(found - best_true_positive_rate(mu, alarm)) > 0.008


def test_the_explanation_in_words_and_numbers():
    told = explain_budget(1, 1e-6, privacy_unit="document", n_documents=20_000)
    words = told.in_words()
    for part in (
        "epsilon = 1 and delta = 1e-06",
        "unit: document (add_or_remove_one)",
        "Gaussian",
        "mu = 0.237",
        "with 1 % of false alarms, 1.83 % of true members found",
        "from 1 % to at most 3.1 %",
        "10: epsilon = 13.5",
    ):
        assert part in words, part
    assert "several persons" in explain_budget(1, 1e-6, privacy_unit="person").in_words()
    twin = explain_budget(math.inf, 1e-6, n_documents=10).in_words()
    assert "No privacy" in twin
    assert "false alarms" not in twin
    assert told.guarantee == Guarantee(1, 1e-6, "document", "add_or_remove_one", told.guarantee.accountant)
    assert json.loads(json.dumps(dataclasses.asdict(told)))["guarantee"]["epsilon"] == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        told.mu = 1


@pytest.mark.parametrize(
    ("sizes", "error", "match"),
    [
        ({"n_documents": 0}, ParameterError, "n_documents must be a positive whole number, but is 0"),
        ({"n_documents": 10_000_000}, PrivacyError, "1/10000000"),
        ({"privacy_unit": "sentence"}, PrivacyError, "privacy_unit"),
        ({"neighboring": "sideways"}, PrivacyError, "neighboring"),
    ],
)
def test_explanations_of_nonsense_are_refused(sizes, error, match):
    with pytest.raises(error, match=match):
        explain_budget(1, 1e-6, **sizes)


# ---- the sentence of the privacy label


def test_the_sentence_is_a_bound_for_every_mechanism():
    assert "Nothing limits" in attack_risk_of(Guarantee(math.inf, 1e-6, "document", "replace_one"))
    sentence = attack_risk_of(Guarantee(1.0, 1e-6, "person", "add_or_remove_one"))
    assert "accuses 1 % of outsiders finds at most 2.72 %" in sentence
    assert "unit: person" in sentence
    for epsilon in (0.1, 1, 3, 6, 800):
        words = attack_risk_of(Guarantee(epsilon, 1e-6, "document", "replace_one"))
        share = float(re.split("at most |over ", words)[1].split(" %")[0]) / 100
        assert share >= best_true_positive_rate(gdp_mu(epsilon, 1e-6), 0.01) * 0.995
        # Randomised response, the worst pure mechanism, reaches min(e^eps a, 1 - e^-eps (1 - a)).
        worst = min(math.exp(min(epsilon, 50)) * 0.01, 1 - math.exp(-epsilon) * 0.99)
        assert share == pytest.approx(worst, rel=6e-3)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.01, "1 %"), (0.12345, "12.3 %"), (0.99999, "over 99.99 %"), (1.0, "over 99.99 %"), (1e-5, "0.001 %")],
)
def test_percentages(share, text):
    assert percent(share) == text


def test_percentages_never_claim_more_than_a_smaller_one_and_bounds_are_no_certainties():
    shares = [*np.linspace(0.9, 1.0, 4001), 0.99985, 0.99994, 0.999951, 1 - 1e-9]
    texts = [percent(share) for share in sorted(shares)]
    figures = [float(text.removeprefix("over ").removesuffix(" %")) for text in texts]
    assert figures == sorted(figures)
    first = texts.index("over 99.99 %")
    assert all(text.startswith("over") == (place >= first) for place, text in enumerate(texts))
    assert "100 %" not in texts
    for epsilon in (4.0, 8.0, 9.0, 12.0, 40.0, 300.0):
        guarantee = Guarantee(epsilon, 1e-6, "document", "add_or_remove_one")
        for said in (explain_budget(epsilon, 1e-6).in_words(), attack_risk_of(guarantee)):
            assert "at most over" not in said
            assert "100 %" not in said
    assert "  from 10 % to over 99.99 %" in explain_budget(12.0, 1e-6).in_words()
    assert "may find over 99.99 % of those" in attack_risk_of(guarantee)


def test_the_figure_is_the_one_in_the_sentence():
    for epsilon in (0.5, 2.0, 5.0):
        guarantee = Guarantee(epsilon, 1e-6, "document", "replace_one")
        assert f"at most {percent(found_at_most(guarantee, ()))} of" in attack_risk_of(guarantee)
    assert found_at_most(Guarantee(1.0, 1e-6, "document", "replace_one"), ()) == pytest.approx(
        math.e / 100, abs=2e-6
    )
