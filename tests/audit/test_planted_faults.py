"""Faults of the specification, each planted in a whole fit of this project, and each flagged by an audit.

The attacker of these tests is the strongest there is: they hold both neighbours, see every number that a fit
releases, and know the algorithm. After a fit on one corpus, the algorithm runs again on the other with the numbers
released by the first, so both exact sums behind each release are known and the score is the logarithm of the
likelihood ratio of the whole transcript.
"""

import importlib
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from tests.marks import quick
from tests.naive.central import moment_vector

from discreet import Ledger, PrivateCountVectorizer, PrivateLDA
from discreet.audit import distinguish, lira, one_run_audit
from discreet.central import HybridGibbsLDA, full_batch
from discreet.central.plan import plan
from discreet.central.sums.units import group_units
from discreet.corpus import check_counts
from discreet.privacy import SecureStream, gdp_mu, noise_multiplier_for
from discreet.privacy.accounting import events
from discreet.privacy.mechanism import BITS, SharedGaussian

DELTA = 1e-5
EPSILON = 2.0
MU, NOISE = gdp_mu(EPSILON, DELTA), noise_multiplier_for(EPSILON, DELTA)
SURE = 1e3
HONEST = SharedGaussian.release
STARTING_TOPICS = full_batch.start.starting_topics


def neighbours(n=50):
    """A small crowd, and the same with one document of two words that nobody else has.

    Two words, and often: then every release has a contribution of full length, the co-occurrence too.
    """
    rng = np.random.default_rng(2)
    crowd = np.c_[rng.poisson(1.0, (12, 5)), np.zeros((12, 2), int)]
    return np.r_[crowd, [[0, 0, 0, 0, 0, n, n]]], crowd


#: Vectors of the seven words, where a test gives them.
PUBLIC = {"vectors": None}


def fit(counts, seed):
    """Do what ``PrivateLDA.fit`` does with two topics and two rounds, without its checks."""
    reservation = Ledger(math.inf, DELTA).reserve(events.gaussian(NOISE), "audit")
    gate = SharedGaussian(reservation, NOISE, "document", SecureStream(seed), None)
    units = group_units(check_counts(counts), None)
    n_units = full_batch.count_units(units, gate)
    vectors = PUBLIC["vectors"]
    schedule = plan(n_units, MU, units.n_words, 2, 2)
    state, _ = full_batch.init(units, 2, 0.1, schedule, gate, n_units, vectors)
    for _ in range(2):
        state = full_batch.step(state, units, 0.1, gate)


def score(monkeypatch, sides, which, seed, release):
    """Fit one side with ``release``, replay on the other; return the logarithm of the likelihood ratio."""
    exact, noisy, start = ([], []), [], []

    def remembered(*released):
        # A function of what is released, so the replay would find the same: computed once, to save time.
        if not start:
            start.append(STARTING_TOPICS(*released))
        return start[0]

    def record(self, total, share, purpose, **lattice):
        exact[which].append(total / 2**BITS)
        noisy.append(release(self, total, share, purpose, **lattice))
        return noisy[-1]

    def replay(self, total, share, purpose, **lattice):
        exact[1 - which].append(total / 2**BITS)
        return noisy[len(exact[1 - which]) - 1]

    monkeypatch.setattr(full_batch.start, "starting_topics", remembered)
    monkeypatch.setattr(SharedGaussian, "release", record)
    fit(sides[which], seed)
    monkeypatch.setattr(SharedGaussian, "release", replay)
    fit(sides[1 - which], seed)
    return likelihood(noisy, *exact), noisy, exact


def likelihood(noisy, with_unit, without):
    total = 0.0
    for seen, inside, outside in zip(noisy, with_unit, without, strict=True):
        away, near = ((seen.values - exact) ** 2 for exact in (outside, inside))
        total += float((away - near).sum()) / (2 * seen.noise**2)
        # A release that hits one of the sums in every cell has no noise.
        if not np.array_equal(inside, outside):
            total += SURE * (bool((near == 0).all()) - bool((away == 0).all()))
    return total


def repeated(noisy, with_unit, without):
    """Which of the two explains the difference of the rounds without any noise."""
    change = noisy[-1].values - noisy[-2].values
    off = [np.abs(change - (sums[-1] - sums[-2])).sum() for sums in (without, with_unit)]
    return off[0] - off[1]


def audit(monkeypatch, n_runs, release=HONEST, *, reading=likelihood, sides=None):
    sides = sides or neighbours()
    found = []
    for which in (0, 1):
        runs = (score(monkeypatch, sides, which, 2 * run + which, release) for run in range(n_runs))
        found.append([reading(noisy, *exact) for _, noisy, exact in runs])
    return distinguish(*found, delta=DELTA)


def shown(name, report):
    """Print a row of the table in docs/research/audit.md: bounds beside promises."""
    print(
        f"| {name} | {report.epsilon_lower_bound:.2f} of {EPSILON:g} | "
        f"{report.mu_lower_bound:.2f} of {MU:.2f} |"
    )
    return report


def kept(report):
    return not report.exceeds(EPSILON) and report.mu_lower_bound <= MU


def broken(report):
    return not kept(report)


def with_noise_over(divisor, *, known=False):
    """Divide the noise; ``known`` to the algorithm, as a wrong calibration would be, or not."""

    def release(self, total, share, purpose, **lattice):
        noisy = HONEST(self, total, share, purpose, **lattice)
        exact = total / 2**BITS
        values = exact + (noisy.values - exact) / divisor
        return noisy._replace(values=values, noise=noisy.noise / (divisor if known else 1))

    return release


@pytest.mark.integration
def test_a_whole_fit_is_within_its_promise_and_spends_it(monkeypatch):
    """The transcript is as telling as promised, no more: the signal of all releases together is mu itself."""
    _, noisy, (inside, outside) = score(monkeypatch, neighbours(), 0, 7, HONEST)
    steps = zip(noisy, inside, outside, strict=True)
    spent = math.sqrt(sum(((a - b) ** 2).sum() / seen.noise**2 for seen, a, b in steps))
    assert 0.999 * MU < spent <= MU
    assert kept(shown("no fault", audit(monkeypatch, 200)))


@pytest.mark.slow
def test_many_whole_fits_are_within_their_promise(monkeypatch):
    report = shown("no fault, 2,000 fits", audit(monkeypatch, 2000))
    assert kept(report)
    assert report.mu_lower_bound > 0.2 * MU


@pytest.mark.integration
def test_halved_noise_in_a_whole_fit_is_flagged(monkeypatch):
    report = shown("half the noise", audit(monkeypatch, 300, with_noise_over(2.0)))
    assert report.mu_lower_bound > MU


@pytest.mark.integration
def test_a_clip_after_the_sum_is_flagged(monkeypatch):
    """Each round's sum as a whole is held to the number of documents, and no document to 1."""

    def late(units, theta, topics, weights, *rest):
        out = np.zeros(topics.shape)
        for unit in range(units.n_units):
            entries = slice(units.indptr[unit], units.indptr[unit + 1])
            words = units.words[entries]
            share = theta[unit] * topics[words]
            share /= share.sum(1, keepdims=True)
            out[words] += weights[words, None] * np.sqrt(units.counts[entries])[:, None] * share
        out *= min(1.0, units.n_units / np.linalg.norm(out))
        return np.floor(out * 2**BITS).astype(np.int64)

    honest = full_batch.round_sum
    monkeypatch.setattr(full_batch, "round_sum", late)
    heavy = neighbours(500_000)
    assert broken(shown("clip after the sum", audit(monkeypatch, 100, sides=heavy)))
    monkeypatch.setattr(full_batch, "round_sum", honest)
    assert kept(shown("the same neighbours, no fault", audit(monkeypatch, 100, sides=heavy)))


@pytest.mark.integration
def test_a_moment_that_is_not_normalised_is_flagged(monkeypatch):
    """Documents in the space of public vectors, with pairs of words at their full counts."""
    monkeypatch.setitem(PUBLIC, "vectors", np.random.default_rng(4).normal(size=(7, 4)))
    heavy = neighbours(50)
    assert kept(shown("with vectors, no fault", audit(monkeypatch, 100, sides=heavy)))

    def raw(units, features, n_jobs):
        total = sum(moment_vector([document], features) for document in documents_of(units))
        return np.trunc(total * 2**BITS).astype(np.int64)

    monkeypatch.setattr(full_batch, "moment_sum", raw)
    assert broken(shown("a moment that is not normalised", audit(monkeypatch, 100, sides=heavy)))


def documents_of(units):
    for unit in range(units.n_units):
        entries = slice(units.indptr[unit], units.indptr[unit + 1])
        yield dict(zip(units.words[entries].tolist(), units.counts[entries].tolist(), strict=True))


@pytest.mark.integration
def test_the_same_noise_twice_is_flagged(monkeypatch):
    first = {}

    def release(self, total, share, purpose, **lattice):
        noisy = HONEST(self, total, share, purpose, **lattice)
        exact = total / 2**BITS
        if purpose == "round 0":
            first["noise"] = noisy.values - exact
        return noisy._replace(values=exact + first["noise"]) if purpose == "round 1" else noisy

    assert broken(shown("the same noise twice", audit(monkeypatch, 100, release, reading=repeated)))
    assert kept(shown("the same reading, no fault", audit(monkeypatch, 100, reading=repeated)))


@pytest.mark.integration
def test_exact_word_totals_in_a_whole_fit_are_flagged(monkeypatch):
    def release(self, total, share, purpose, **lattice):
        noisy = HONEST(self, total, share, purpose, **lattice)
        return noisy._replace(values=total / 2**BITS) if purpose == "unigram" else noisy

    assert broken(shown("exact word totals", audit(monkeypatch, 100, release)))


@pytest.mark.parametrize("when", quick(["last", "hybrid"], "last"))
def test_zhus_sampler_is_flagged_by_its_word_totals(when, monkeypatch):
    """One word of one document is replaced. The hybrid sampler, which does promise something, is not flagged."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "experiments" / "zhao2020")
    printed = importlib.import_module("printed_gibbs")
    monkeypatch.setattr(
        printed, "topics_of", lambda by_word, beta: by_word
    )  # the counts from which it reads topics
    inside = np.zeros((6, 6), int)
    inside[:, :4] = 1
    outside = inside.copy()
    inside[0, 4], outside[0, 5] = 1, 1

    def share_of_the_word(counts, seed):
        if when == "last":
            weight = printed.zhu_lda(csr_matrix(counts), 2, 1.0, 0.01, 3, seed, epsilon=0.5).sum(1)
        else:
            model = HybridGibbsLDA(2, epsilon=1.0, n_sweeps=3, random_state=seed)
            weight = model.fit(counts).release_.word_weight
        return weight[4] - weight[5]

    report = distinguish(
        lambda run: share_of_the_word(inside, 2 * run),
        lambda run: share_of_the_word(outside, 2 * run + 1),
        n_runs=150,
        delta=1e-6,
    )
    print(f"| word totals, {when} | {report.epsilon_lower_bound:.2f} of 1 | |")
    assert report.exceeds(1.0) == (when == "last")


@pytest.mark.filterwarnings(
    "ignore:delta = 0.01 is too large"
)  # it is: a word must come through in one of two runs
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.integration
def test_a_vocabulary_read_off_the_text_is_flagged_in_the_release_of_a_fit(private):
    texts = ["rain wind sun", "rain snow sun"] * 40
    sides = [*texts, "orchid orchid"], texts

    def knows(corpus, seed):
        ledger = Ledger(2.0, 1e-2)
        words = PrivateCountVectorizer(epsilon=1.0, delta=5e-3, random_state=seed, ledger=ledger)
        if private:
            counts = words.fit_transform(corpus)
        else:
            known = sorted({word for text in corpus for word in text.split()})
            planted = PrivateCountVectorizer(
                epsilon=1.0, vocabulary=known, words_are_public=True, ledger=ledger
            )
            counts = planted.fit_transform(corpus)
        model = PrivateLDA(
            2,
            epsilon=0.9,
            delta=4e-3,
            random_state=seed,
            allow_unlearnable=True,
            allow_large_delta=True,
            ledger=ledger,
        )
        return float("orchid" in model.fit(counts).release_.vocabulary)

    report = distinguish(
        lambda run: knows(sides[0], 2 * run), lambda run: knows(sides[1], 2 * run + 1), n_runs=120, delta=1e-2
    )
    print(f"| vocabulary, private {private} | {report.epsilon_lower_bound:.2f} of 2 | |")
    assert report.exceeds(2.0) != private


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(600, 0.05), 5)
    return check_counts(rng.poisson(20 * rng.dirichlet(np.ones(5), 400) @ topics))


def train(counts, seed):
    settings = {"epsilon": 1.0, "delta": 1e-6, "n_rounds": 2, "allow_unlearnable": True}
    return PrivateLDA(5, random_state=seed, **settings).fit(counts).components_


@pytest.mark.parametrize("divisor", [1.0, 100.0])
def test_one_run_flags_a_fit_almost_without_noise_by_its_topics_alone(monkeypatch, corpus, divisor):
    monkeypatch.setattr(SharedGaussian, "release", with_noise_over(divisor, known=True))
    report = one_run_audit(
        train,
        corpus,
        n_canaries=200,
        kind="one_topic",
        n_guesses=100,
        epsilon=1.0,
        delta=1e-6,
        random_state=0,
    )
    print(f"| one run, noise / {divisor:g} | {report.epsilon_lower_bound():.2f} of 1 | |")
    assert report.exceeds_promise() == (divisor > 1)


@pytest.mark.parametrize("divisor", [1.0, 100.0])
@pytest.mark.integration
def test_lira_flags_a_fit_almost_without_noise_by_its_topics_alone(monkeypatch, corpus, divisor):
    monkeypatch.setattr(SharedGaussian, "release", with_noise_over(divisor, known=True))
    report = lira(train, corpus, n_shadows=16, epsilon=1.0, delta=1e-6, random_state=0)
    print(f"| LiRA, noise / {divisor:g} | {report.epsilon_lower_bound():.2f} of 1 | |")
    assert report.exceeds_promise() == (divisor > 1)
