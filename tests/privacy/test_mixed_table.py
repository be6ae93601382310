"""Mixed lists of events against bounds that share nothing with the accountants (tests/naive/losses.py)."""

import math

import numpy as np
import pytest
from tests.naive import hockey_stick
from tests.naive import losses as naive

from discreet.privacy.accounting import curves, events, pld
from discreet.privacy.accounting.totals import composed_epsilon

# Kind, parameters, how many times. The last two columns: delta, and the step of the naive grid.
COIN, LATTICE, LAPLACE, NOISE, SAMPLED = "coin", "lattice", "laplace", "noise", "sampled"
TABLE = [
    ([(COIN, 0.003, 10_000)], 1e-6, 0.003),
    ([(COIN, 0.003, 10_000)], 1e-4, 0.003),
    ([(COIN, 0.003, 1_000)], 1e-6, 0.003),
    ([(COIN, 0.01, 1_000)], 1e-6, 0.01),
    ([(COIN, 0.0123, 777)], 1e-6, 0.0123),
    ([(COIN, 0.05, 300)], 1e-8, 0.05),
    ([(COIN, 0.1, 20)], 1e-6, 0.1),
    ([(COIN, 0.37, 50)], 1e-6, 0.37),
    ([(COIN, 0.5, 3)], 1e-4, 0.5),
    ([(COIN, 1.0, 12)], 1e-6, 1.0),
    ([(COIN, 0.003, 10_000), (COIN, 0.0047, 10_000)], 1e-6, 0.0001),
    ([(COIN, 0.1, 50), (COIN, 0.07, 50)], 1e-6, 0.01),
    ([(COIN, 0.1, 50), (COIN, 0.0731, 50)], 1e-6, 0.0001),
    ([(COIN, 0.02, 500), (COIN, 0.2, 10), (COIN, 1.0, 1)], 1e-6, 0.02),
    ([(COIN, math.pi / 30, 40), (COIN, math.sqrt(2) / 30, 100)], 1e-6, 1e-5),
    ([(LATTICE, 0.5, 4, 10)], 1e-6, 0.125),
    ([(LATTICE, 0.5, 16, 10)], 1e-6, 0.03125),
    ([(LATTICE, 0.1, 5, 100)], 1e-6, 0.02),
    ([(LATTICE, 0.02, 2, 1_000)], 1e-6, 0.01),
    ([(LATTICE, 1.0, 7, 3)], 1e-5, 1 / 7),
    ([(LATTICE, 0.3, 3, 20), (COIN, 0.25, 20)], 1e-6, 0.05),
    ([(LATTICE, 0.3, 1024, 4)], 1e-6, 0.3 / 1024),
    ([(LATTICE, 0.3, 1024, 4), (COIN, 0.1, 30)], 1e-6, 1e-5),
    ([(LAPLACE, 0.1, 50)], 1e-6, 2e-5),
    ([(LAPLACE, 0.3, 10)], 1e-6, 1e-5),
    ([(LAPLACE, 1.0, 3)], 1e-5, 1e-5),
    ([(LAPLACE, 0.2, 20), (COIN, 0.1, 50)], 1e-6, 1e-5),
    ([(LAPLACE, 0.2, 20), (LAPLACE, 0.33, 5)], 1e-6, 1e-5),
    ([(LAPLACE, 0.1, 10), (LATTICE, 0.5, 16, 5)], 1e-6, 1e-5),
    ([(NOISE, 3.0, 1), (LAPLACE, 0.5, 1)], 1e-6, 2e-5),
    ([(NOISE, 8.0, 4), (LAPLACE, 0.1, 10)], 1e-6, 1e-5),
    ([(NOISE, 5.0, 1), (COIN, 0.1, 20)], 1e-6, 2e-5),
    ([(NOISE, 5.0, 1), (COIN, 0.003, 10_000)], 1e-6, 3e-5),
    ([(NOISE, 2.0, 1), (COIN, 1.0, 2)], 1e-6, 2e-5),
    ([(NOISE, 20.0, 1), (LATTICE, 0.5, 16, 2)], 1e-6, 1e-5),
    ([(NOISE, 3.1, 1), (LATTICE, 0.5, 1024, 1)], 1e-6, 2e-5),
    ([(NOISE, 3.1, 1), (LATTICE, 0.5, 1024, 1), (COIN, 0.1, 5)], 1e-6, 2e-5),
    ([(SAMPLED, 0.05, 1.24, 20)], 1e-4, 1e-5),
    ([(SAMPLED, 0.02, 1.0, 60)], 1e-6, 1e-5),
    ([(SAMPLED, 0.1, 2.0, 50)], 1e-6, 1e-5),
    ([(SAMPLED, 0.05, 1.24, 20), (NOISE, 5.0, 1)], 1e-6, 1e-5),
    ([(SAMPLED, 0.05, 1.24, 20), (COIN, 0.1, 20)], 1e-6, 1e-5),
    ([(SAMPLED, 0.05, 1.24, 20), (LAPLACE, 0.2, 5)], 1e-6, 1e-5),
    ([(SAMPLED, 0.05, 1.24, 10), (SAMPLED, 0.02, 0.8, 10)], 1e-6, 1e-5),
    ([(SAMPLED, 0.1, 2.0, 10), (LATTICE, 0.5, 16, 1), (NOISE, 6.0, 1)], 1e-6, 1e-5),
    ([(SAMPLED, 0.1, 2.0, 10), (LATTICE, 0.5, 16, 1), (NOISE, 6.0, 1), (LAPLACE, 0.1, 3), (COIN, 0.1, 3)], 1e-6, 1e-5),
]  # fmt: skip


def events_of(row):
    for kind, *parameters, times in row:
        make = {
            COIN: lambda epsilon: events.discrete_laplace(epsilon, 1),
            LATTICE: events.discrete_laplace,
            LAPLACE: lambda epsilon: events.discrete_laplace(epsilon, 2**14),
            NOISE: events.gaussian,
            SAMPLED: lambda rate, noise: events.poisson_sampled(rate, events.gaussian(noise)),
        }[kind]
        yield events.composed(make(*parameters), times)


def parts_of(row, remove):
    for kind, *parameters, times in row:
        if kind == NOISE:
            yield naive.gaussian(math.sqrt(times) / parameters[0]), 1
        elif kind == SAMPLED:
            yield naive.sampled_gaussian(parameters[1], parameters[0], remove), times
        else:
            make = {COIN: naive.coin, LATTICE: naive.discrete_laplace, LAPLACE: naive.laplace}[kind]
            yield make(*parameters), times


#: Rows that take long; others have the same kinds and as many together, and the planted mistakes look at 14.
LONG = (14, 38, 39)
QUICK = range(0, 36, 5)


@pytest.mark.parametrize(
    ("row", "delta", "step"),
    [
        pytest.param(
            *row,
            id=str(number),
            marks=pytest.mark.slow if number in LONG else () if number in QUICK else pytest.mark.integration,
        )
        for number, row in enumerate(TABLE)
    ],
)
def test_mixed_lists_lie_between_independent_bounds(row, delta, step):
    directions = [True, False] if any(part[0] == SAMPLED for part in row) else [True]
    low, high = naive.bounds([list(parts_of(row, remove)) for remove in directions], delta, step)
    found = composed_epsilon(events_of(row), delta).epsilon
    assert low <= high <= low * (1 + 2e-3)  # or the bounds say nothing
    assert low * (1 - 1e-7) <= found <= high * (1 + 1e-3)


COINS = [
    *((row, delta) for row, delta, _ in TABLE if len(row) <= 2 and all(part[0] == COIN for part in row)),
    ([(COIN, 0.000581, 6_108)], 1e-8),
    ([(COIN, 0.00287, 8_793)], 1e-7),
    ([(COIN, 0.0134, 12_439)], 1e-7),
    ([(COIN, 2.7, 3)], 1e-4),
    ([(COIN, 0.7, 20), (COIN, 0.31, 40)], 1e-6),
    ([(COIN, 0.011, 900), (COIN, 0.017, 700)], 1e-6),
]


@pytest.mark.parametrize(("row", "delta"), COINS, ids=range(len(COINS)))
def test_coins_cost_what_every_outcome_counted_says(row, delta):
    if math.prod(times for *_, times in row) > 3e7:
        row = [(kind, loss, times // 20) for kind, loss, times in row]
    exact = hockey_stick.coins_epsilon([(loss, times) for _, loss, times in row], delta)
    found = composed_epsilon(events_of(row), delta).epsilon
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 5e-4)


def test_repeated_coins_cost_what_the_binomial_sum_says():
    # A grid that does not divide the loss made this 1.3904.
    many = events.composed(events.discrete_laplace(0.003, 1), 10_000)
    assert composed_epsilon([many], 1e-6).epsilon == pytest.approx(1.2915, abs=5e-5)


@pytest.mark.integration
def test_planted_mistakes_in_the_grid_would_be_seen(monkeypatch):
    row, delta, step = TABLE[14]
    low, high = naive.bounds([list(parts_of(row, remove=True))], delta, step)

    def found(row):
        return pld.pld_epsilon(curves.sort_events(events_of(row)), delta).epsilon

    def rounded(how):
        def on_grid(lattice, sensitivity, step):
            up = 1 / (1 + math.exp(-lattice))
            return how(np.array([-lattice, lattice]) / step).astype(int), np.array([1 - up, up])

        return on_grid

    many = [(COIN, 0.003, 10_000), (COIN, 0.0047123, 10_000)]  # no grid divides both
    honest = found(many)
    assert low * (1 - 1e-7) <= found(row) <= high * (1 + 1e-3)
    monkeypatch.setattr(pld, "_on_grid", rounded(np.floor))
    assert found(row) < low * (1 - 1e-7)
    monkeypatch.setattr(pld, "_on_grid", rounded(np.ceil))  # valid, but far off
    assert found(many) > 1.05 * honest
