"""Do intervals hold what they say, over 1,000 runs? 95 % within half a point, whatever the situation.

*Coverage of a cell* is the part of runs in which its interval holds the true number, which stays the same from run to
run: the exact share of the documents at hand (noise is drawn anew), or the share that documents are drawn from
(documents and noise are drawn anew). It is tested cell by cell, as far as 1,000 runs can tell, and averaged over cells.
Documents are of one topic each: then chance is as large as it can be, and intervals are as short as they may be.
"""

import numpy as np
import pytest
from tests.marks import quick
from tests.prevalence.test_page import release as prevalence

from discreet import PrivateLDA, TopicPrevalence
from discreet.release.prevalence.changes import against_rest, compare, differences, growth, moving, trend
from discreet.release.prevalence.shares import Sums, drawn, projected, raw

WEIGHT, RUNS = 0.5, 1000
EPSILON = {0.1: 0.028, 0.25: 0.065, 1: 0.237}
#: Groups, topics, units in a group (surely above 0), epsilon, and how alike groups are: the smaller, the less.
SITUATIONS = {
    "many groups": (20, 20, 760, 0.25, 1.2),
    "groups with topics of their own": (20, 20, 600, 0.25, 0.3),
    "two groups, much noise": (2, 5, 760, 0.1, 1.2),
    "few in a group": (3, 3, 60, 1, 1.2),
    "many groups of few": (40, 10, 60, 1, 1.2),
    "many topics": (6, 50, 3000, 0.1, 1.2),
}


def released(totals, sizes, mu, rng):
    noise = np.sqrt(1 + WEIGHT**2) / mu
    counts = WEIGHT * sizes + rng.normal(0, noise, len(sizes))
    return Sums(totals + rng.normal(0, noise, totals.shape), counts, noise, WEIGHT)


def situation(name, seed=0):
    n_groups, n_topics, n, epsilon, alike = SITUATIONS[name]
    rng = np.random.default_rng(seed)
    shares = rng.gamma(alike, 1.0, (n_groups, n_topics)) * rng.dirichlet(np.full(n_topics, 2.0))
    sizes = rng.integers(int(0.7 * n), int(1.3 * n) + 1, n_groups)
    return shares / shares.sum(1, keepdims=True), sizes, EPSILON[epsilon], rng


def draw(shares, sizes, rng):
    return np.array([rng.multinomial(n, p) for n, p in zip(sizes, shares, strict=True)], float)


def check(inside, least=None):
    """Hold 95 %, on average within half a point, and each cell as far as the number of runs can tell."""
    runs, cells = len(inside), np.mean(inside, 0)
    assert abs(cells.mean() - 0.95) < 0.005
    assert np.abs(cells - 0.95).max() < (least or 5 * np.sqrt(0.95 * 0.05 / runs))


def runs_for(n_cells):
    return max(RUNS, 30_000 // n_cells)  # so that half a point is more than chance where there are few cells


def many(totals, sizes, mu, rng):
    """Return released numbers of a group in many runs, one below the other: a row tells nothing of another."""
    return released(totals, np.full(len(totals), sizes), mu, rng)


@pytest.mark.parametrize("kind", [raw, projected])
@pytest.mark.parametrize("name", SITUATIONS)
def test_intervals_of_shares_hold_the_exact_share_of_each_cell(name, kind):
    shares, sizes, mu, rng = situation(name)
    inside = []
    for share, size in zip(shares, sizes, strict=True):
        found = kind(many(np.tile(share * size, (runs_for(shares.size), 1)), size, mu, rng))
        inside.append((found.low <= share) & (share <= found.high))
    check(np.stack(inside, 1))


@pytest.mark.parametrize("name", SITUATIONS)
def test_projected_shares_lie_in_the_intervals_of_the_raw_ones(name):
    shares, sizes, mu, rng = situation(name)
    for _ in range(20):
        sums = released(shares * sizes[:, None], sizes, mu, rng)
        plain = raw(sums)
        found = projected(sums)
        assert np.array_equal(found.low, plain.low)
        assert np.array_equal(found.high, plain.high)
        assert (found.low <= found.share + 1e-9).all()
        assert (found.share <= found.high + 1e-9).all()
        assert np.allclose(found.share.sum(1), 1)


def test_intervals_beyond_what_can_be_are_cut_in_their_order():
    sums = Sums(np.array([[900.0, -800.0], [-800.0, 900.0]]), np.array([50.0, 50.0]), 5.0, WEIGHT)
    found = compare(sums, 0, 1)
    assert (found.low <= found.high).all()
    assert (np.abs([found.low, found.high]) <= 1).all()


@pytest.mark.parametrize("planted", [0.9, 1.1])
def test_a_tenth_more_or_less_noise_than_there_is_would_be_noticed(planted):
    shares, sizes, mu, rng = situation("many groups")
    inside = []
    for _ in range(300):
        sums = released(shares * sizes[:, None], sizes, mu, rng)
        found = raw(sums._replace(noise=planted * sums.noise))
        inside.append((found.low <= shares) & (shares <= found.high))
    assert abs(np.mean(inside) - 0.95) > 0.015


@pytest.mark.parametrize("name", quick(SITUATIONS, "many groups of few"))
def test_intervals_of_differences_hold_what_documents_are_drawn_from(name):
    shares, sizes, mu, rng = situation(name)
    pair = [
        many(rng.multinomial(size, share, 10 * RUNS).astype(float), size, mu, rng)
        for share, size in zip(shares[:2], sizes, strict=False)
    ]
    true, found = shares[0] - shares[1], differences(*pair)
    check((found.low <= true) & (true <= found.high), 0.02)
    (a, b), first = pair, slice(0, 1)
    two = a._replace(
        topics=np.vstack([a.topics[first], b.topics[first]]), counts=np.r_[a.counts[:1], b.counts[:1]]
    )
    together = differences(
        *(one._replace(topics=one.topics[first], counts=one.counts[first]) for one in pair), together=True
    )
    assert np.allclose(compare(two, 0, 1).low, together.low[0])


@pytest.mark.parametrize("unit", ["document", "person"])
@pytest.mark.integration
def test_intervals_of_releases_hold_the_exact_shares_of_documents_and_of_persons(unit):
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.where(np.arange(24) // 6 == rng.integers(4, size=(900, 1)), 1.0, 0.1))
    topics = PrivateLDA(4, epsilon=8.0, random_state=0).fit(counts).release_
    by, who = rng.choice(["a", "b", "c"], 900), rng.integers(300, size=900)  # in several groups, most of them
    how = {"groups": ["a", "b", "c"], "privacy_unit": unit}
    persons = who if unit == "person" else None

    def shares(epsilon, seed):
        model = TopicPrevalence(topics, epsilon=epsilon, random_state=seed, **how)
        return model.fit(counts, by=by, persons=persons).release_.shares()

    exact, inside = shares(np.inf, None).share, []
    for seed in range(RUNS):
        found = shares(1.0, seed)
        inside.append((found.low <= exact) & (exact <= found.high))
    check(inside)


TRENDS = {
    "flat": lambda rng, n, k: np.tile(rng.dirichlet(np.full(k, 2.0)), (n, 1)),
    "walk": lambda rng, n, k: np.exp(np.cumsum(rng.normal(0, 0.15, (n, k)), 0) + rng.normal(0, 0.7, k)),
    "jump": lambda rng, n, k: np.where(np.arange(n)[:, None] < n // 2, 1.0, rng.uniform(0.3, 4, k)),
    "ramp": lambda rng, n, k: 1 + np.outer(np.linspace(0, 1, n), rng.uniform(-0.7, 3, k)),
    "season": lambda rng, n, k: 1 + 0.6 * np.sin(np.arange(n)[:, None] * np.pi / 6 + rng.uniform(0, 6, k)),
    "one month": lambda rng, n, k: np.where(np.arange(n)[:, None] == n // 2, rng.uniform(0.2, 6, k), 1.0),
}


@pytest.mark.parametrize(
    ("n_periods", "n_topics", "n", "epsilon"),
    quick([(30, 8, 650, 0.25), (3, 4, 650, 0.1), (12, 6, 60, 1)], (12, 6, 60, 1)),
)
@pytest.mark.parametrize("name", quick(TRENDS, "jump", "season"))
def test_bands_of_trends_hold_each_period_whatever_the_trend_does(name, n_periods, n_topics, n, epsilon):
    rng = np.random.default_rng(5)
    shares = TRENDS[name](rng, n_periods, n_topics)
    shares /= shares.sum(1, keepdims=True)
    sizes, inside = rng.integers(int(0.7 * n), int(1.3 * n), n_periods), []
    for _ in range(runs_for(shares.size)):
        found = trend(released(draw(shares, sizes, rng), sizes, EPSILON[epsilon], rng))
        inside.append((found.low <= shares) & (shares <= found.high))
    check(inside)


def test_documents_of_several_topics_are_held_more_often_not_less():
    shares, sizes, _, rng = situation("few in a group")
    inside = []
    for _ in range(300):
        mixed = np.array([rng.dirichlet(p, n).sum(0) for n, p in zip(sizes, shares, strict=True)])
        found = drawn(released(mixed, sizes, 1.0, rng))
        inside.append((found.low <= shares) & (shares <= found.high))
    assert np.mean(inside) > 0.96


def test_bands_without_the_part_of_chance_would_be_noticed():
    shares, sizes, _, rng = situation("few in a group")
    inside = []
    for _ in range(300):
        found = raw(released(draw(shares, sizes, rng), sizes, 1.0, rng))
        inside.append((found.low <= shares) & (shares <= found.high))
    assert np.mean(inside) < 0.9


@pytest.mark.integration
def test_a_period_that_may_be_empty_says_nothing_and_the_others_hold():
    shares, sizes, mu, rng = situation("many groups")
    sizes[3], inside = 0, []
    for _ in range(RUNS):
        found = trend(released(draw(shares, sizes, rng), sizes, mu, rng))
        inside.append((found.low <= shares) & (shares <= found.high))
    inside = np.array(inside)
    assert inside[:, 3].mean() > 0.95
    check(np.delete(inside, 3, 1))


@pytest.mark.parametrize("name", ["many groups", "few in a group", "many groups of few"])
@pytest.mark.integration
def test_at_most_one_in_twenty_runs_calls_something_certain_where_nothing_differs(name):
    shares, sizes, mu, rng = situation(name)
    shares[:] = shares[0]
    alarms = {"moves": 0, "grew": 0, "one group against the rest": 0}
    for run in range(RUNS):
        sums = released(draw(shares, sizes, rng), sizes, mu, rng)
        alarms["moves"] += moving(sums).moves.any()
        if run < RUNS / 4:
            alarms["one group against the rest"] += 4 * against_rest(sums).certain.any()
        alarms["grew"] += growth(sums).certain.any()
    assert max(alarms.values()) <= 0.05 * RUNS + 3 * np.sqrt(0.05 * 0.95 * RUNS)
    assert alarms["moves"] > 5  # the test is not one that never speaks


def test_what_moves_is_told_in_words():
    made = prevalence([[0.9, 0.1], [0.1, 0.9]], groups=["a", "b"])
    first = "The share of \u201cword0 other0\u201d clearly differs between the groups."
    assert made.moving().in_words()[0] == first
    assert prevalence([[0.9, 0.1]]).moving().in_words() == [
        "No topic clearly differs between the groups: noise and chance may explain it all."
    ]


def test_what_moves_is_seen_to():
    shares, sizes, _, rng = situation("many groups")
    shares[:] = shares[0]
    order = np.argsort(shares[0])
    topic = order[[0, -1]]
    shares[7:9, topic] = shares[7:9, topic[::-1]]  # the rarest and the most frequent change places
    seen = np.mean(
        [moving(released(draw(shares, sizes, rng), sizes, EPSILON[1], rng)).moves for _ in range(100)], 0
    )
    assert seen[topic].min() > 0.9
    assert np.delete(seen, topic).max() < 0.1
