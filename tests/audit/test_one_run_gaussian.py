"""What guesses prove of Gaussian noise: published figures, a twin by linear programming, hundreds of audits."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from tests.marks import quick
from tests.naive import audit as naive

from discreet.audit import AuditReport, one_run, one_run_audit, one_run_bound
from discreet.audit.one_run import one_run_mu_bound
from discreet.errors import ParameterError
from discreet.privacy import gdp_epsilon

DELTA = 1e-5


def gaussian(mu):
    return lambda rate: ndtr(ndtri(1 - rate) - mu)


def approximate(epsilon, delta):
    """Return the trade-off curve of (epsilon, delta)."""
    return lambda a: np.maximum(
        0, np.maximum(1 - delta - np.exp(epsilon) * a, np.exp(-epsilon) * (1 - delta - a))
    )


def largest_chance(right, guesses, trade_off, canaries):
    """Return how probable so many right guesses are at most under a curve, by the recursion of the bound."""
    low, high = 0.0, 1.0
    for _ in range(4):
        chances = np.linspace(low, high, 65)
        needed = one_run._least_total(right, guesses, canaries, chances, lambda true: trade_off(1.0 - true))
        possible = int((needed <= 1.0 + 1e-9).sum())  # needed grows with the chance
        if possible == len(chances):
            return high
        low, high = chances[possible - 1], chances[possible]
    return high


def test_nine_hundred_of_a_thousand_prove_what_the_paper_says():
    # Mahloujifar, Melis and Chaudhuri 2024: epsilon 3.78 at delta = 1e-5, where the earlier bound gives 2.02.
    assert round(gdp_epsilon(one_run_mu_bound(900, 1000), DELTA), 2) == 3.78
    assert round(one_run_bound(900, 1000, 0.95, DELTA), 2) == 2.02


CURVES = {
    "gaussian .3": gaussian(0.3),
    "gaussian 1": gaussian(1.0),
    "gaussian 2.5": gaussian(2.5),
    "epsilon 1, delta .01": approximate(1.0, 0.01),
}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(("guesses", "canaries"), quick([(4, 4), (7, 7), (6, 15), (10, 12)], (4, 4), (6, 15)))
def test_the_recursion_finds_what_linear_programming_finds(curve, guesses, canaries):
    trade_off = CURVES[curve]
    for right in range(guesses // 2, guesses + 1):
        found = largest_chance(right, guesses, trade_off, canaries)
        slow = naive.largest_tail(right, guesses, canaries, lambda a: trade_off(1 - a))
        # Tangents are below the curve, so they allow a little more.
        assert found - 1e-5 <= slow <= found * 1.01 + 2e-3


def test_planted_mistakes_in_the_recursion_are_seen(monkeypatch):
    def shifted(n_correct, n_guesses, n_canaries, chance, least_false):
        total, beyond = chance.copy(), np.zeros_like(chance)
        for i in range(n_correct, 0, -1):
            true = np.minimum((i * total + beyond) / n_canaries, 1.0)
            beyond = beyond + total
            total = np.maximum(total, (n_canaries * least_false(true) + beyond) / (n_guesses - i + 2))
        return total

    def of_guesses(n_correct, n_guesses, n_canaries, chance, least_false, right=one_run._least_total):
        return right(n_correct, n_guesses, n_guesses, chance, least_false)  # wrong where some are passed over

    slow = naive.largest_tail(5, 6, 15, lambda a: CURVES["epsilon 1, delta .01"](1 - a))
    honest = largest_chance(5, 6, CURVES["epsilon 1, delta .01"], 15)
    assert honest == pytest.approx(slow, rel=0.01)
    for mistake in (shifted, of_guesses):
        monkeypatch.setattr(one_run, "_least_total", mistake)
        found = largest_chance(5, 6, CURVES["epsilon 1, delta .01"], 15)
        assert found != pytest.approx(slow, rel=0.01)


def test_the_bound_and_the_p_value_say_the_same():
    for right, guesses, canaries in [(80, 100, 100), (30, 30, 100), (260, 400, 400)]:
        mu = one_run_mu_bound(right, guesses, 0.95, canaries)
        assert largest_chance(right, guesses, gaussian(mu), canaries) <= 0.05 * (1 + 1e-4)
        assert largest_chance(right, guesses, gaussian(mu + 1e-3), canaries) > 0.05


def test_what_must_be_monotone_is():
    bounds = [one_run_mu_bound(right, 100) for right in range(101)]
    assert bounds == sorted(bounds)
    assert bounds[50] == 0.0 < bounds[70]
    assert one_run_mu_bound(90, 100, 0.95, 1000) < one_run_mu_bound(90, 100) < one_run_mu_bound(90, 100, 0.9)
    assert one_run_mu_bound(0, 0) == one_run_mu_bound(0, 10) == 0.0


def audits(mu, canaries, guesses, n_audits, seed=0):
    """Return the bounds of many audits of a mechanism of known mu: each coin, and noise of 1 / mu."""
    rng = np.random.default_rng(seed)
    coins = rng.random((n_audits, canaries)) < 0.5
    seen = coins + rng.standard_normal((n_audits, canaries)) / mu - 0.5
    surest = np.argsort(-np.abs(seen), axis=1)[:, :guesses]
    right = (np.take_along_axis(seen > 0, surest, 1) == np.take_along_axis(coins, surest, 1)).sum(axis=1)
    found = {n: one_run_mu_bound(int(n), guesses, 0.95, canaries) for n in set(right.tolist())}
    return np.array([found[n] for n in right.tolist()]), right


@pytest.mark.parametrize(("mu", "guesses"), [(0.5, 400), (1.0, 100), (2.0, 60)])
@pytest.mark.integration
def test_hundreds_of_audits_keep_below_the_truth_and_prove_more_than_before(mu, guesses):
    bounds, right = audits(mu, 400, guesses, 300)
    assert (bounds > mu).mean() <= 0.05
    assert (
        bounds.mean() > 0.2 * mu
    )  # a quarter or so: the inequality also covers mechanisms that tell all coins or none
    before = np.mean([one_run_bound(int(n), guesses, 0.95, DELTA, 400) for n in right])
    assert np.mean([gdp_epsilon(float(bound), DELTA) for bound in bounds if bound]) > 1.3 * before


def test_a_mechanism_that_tells_all_or_nothing_is_the_hard_case_and_held():
    # With probability d every coin is told, else none: the curve f(a) = 1 - d - a. One audit in 20 may be wrong.
    rng, d = np.random.default_rng(1), 0.04
    told = rng.random(2000) < d
    right = np.where(told, 50, rng.binomial(50, 0.5, 2000))
    chances = {n: largest_chance(n, 50, lambda a: np.maximum(0, 1 - d - a), 50) for n in set(right.tolist())}
    wrong = np.mean([chances[n] <= 0.05 for n in right.tolist()])
    assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)
    # Counting as if coins were told one by one would be wrong nearly whenever all are.
    assert chances[50] >= d


def test_the_same_run_proves_more_where_noise_is_known_to_be_gaussian():
    report = {}
    for noise in ("any", "gaussian"):
        report[noise] = one_run_audit(
            lambda counts, seed: counts,
            np.ones((1, 300), dtype=int),
            n_canaries=300,
            score=lambda released, canaries: np.where(np.arange(300) % 10 == 0, -1.0, 1.0),
            epsilon=1.0,
            delta=DELTA,
            random_state=0,
            noise=noise,
        )
    tried = report["gaussian"].right_guesses()
    proved = [one_run_mu_bound(right, of, 1 - 0.05 / len(tried), 300) for right, of in tried]
    assert report["gaussian"].mu_lower_bound() == max(proved)


def test_a_report_of_gaussian_noise_proves_more_allows_less_and_is_read_again():
    rng = np.random.default_rng(2)
    members = rng.random((1, 2000)) < 0.5
    scores = members + rng.standard_normal((1, 2000))
    promise = {"epsilon": 2.0, "delta": DELTA, "coins": "independent"}
    plain, sharp = (AuditReport(scores, members, noise=noise, **promise) for noise in ("any", "gaussian"))
    assert sharp.epsilon_lower_bound() > 1.2 * plain.epsilon_lower_bound() > 0
    assert sharp.epsilon_lower_bound() == pytest.approx(gdp_epsilon(sharp.mu_lower_bound(), DELTA))
    assert sharp.exceeds_promise()
    assert not plain.exceeds_promise()
    rates = np.array([0.001, 0.01, 0.1, 0.5])
    assert (sharp.ceiling(rates) < plain.ceiling(rates)).all()
    assert "mu" in sharp.in_words()
    assert "mu" not in plain.in_words()
    again = AuditReport.from_json(sharp.to_dict())
    assert (again.noise, again.mu_lower_bound()) == ("gaussian", sharp.mu_lower_bound())


@pytest.mark.parametrize(
    "call",
    [
        lambda: one_run_mu_bound(5, 4),
        lambda: one_run_mu_bound(3, 4, 1.0),
        lambda: one_run_mu_bound(3, 4, 0.95, 3),
        lambda: AuditReport([1.0, 2.0], np.array([True, False]), noise="gaussian"),
        lambda: AuditReport([1.0, 2.0], np.array([True, False]), noise="laplace", delta=DELTA),
        lambda: one_run_audit(lambda counts, seed: counts, np.ones((2, 2), dtype=int), noise="gaussian"),
    ],
)
def test_refusals(call):
    with pytest.raises(ParameterError):
        call()
