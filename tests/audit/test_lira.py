"""The likelihood-ratio attack: signs, the slow twin, trainers that memorise and trainers that do not care."""

import numpy as np
import pytest
from tests.naive import audit as naive

from discreet.audit import AuditReport, likelihood_ratio_scores, lira
from discreet.errors import ParameterError

N, WORDS = 60, 40


def corpus(seed=0):
    return np.random.default_rng(seed).poisson(0.5, (N, WORDS)) + np.eye(N, WORDS, dtype=int)


def memorise(counts, seed):
    """Learn one topic a document."""
    return np.asarray(counts.todense()) + 1e-3


def ignore(counts, seed):
    """Learn from the seed alone."""
    return np.random.default_rng(seed).random((3, WORDS)) + 0.1


def attack(train=memorise, **more):
    return lira(train, corpus(), **{"n_shadows": 8, "random_state": 1, **more})


def gaussian_world(rng, n_shadows=16, n=50, gap=3.0):
    """Statistics that are larger where the document was in."""
    inside = np.argsort(rng.random((n_shadows, n)), axis=0) < n_shadows // 2
    level = rng.normal(-100, 30, n)
    shadows = level + gap * inside + rng.normal(size=inside.shape)
    members = rng.random(n) < 0.5
    return level + gap * members + rng.normal(size=n), members, shadows, inside


@pytest.mark.parametrize("online", [True, False])
def test_larger_means_member(online):
    """The people' own code has the sign of the offline attack inverted."""
    statistics, members, shadows, inside = gaussian_world(np.random.default_rng(0))
    scores = likelihood_ratio_scores(statistics, shadows, inside, online=online)
    assert scores[members].mean() > scores[~members].mean() + 1
    report = attack(online=online)
    assert report.auc > 0.99
    assert report.attack == ("LiRA, online" if online else "LiRA, offline")


def test_scores_are_the_slow_ones():
    statistics, _, shadows, inside = gaussian_world(np.random.default_rng(2))
    online = likelihood_ratio_scores(statistics, shadows, inside)
    offline = likelihood_ratio_scores(statistics, shadows, inside, online=False)
    columns = [(z, shadows[:, d].tolist(), inside[:, d].tolist()) for d, z in enumerate(statistics)]
    np.testing.assert_allclose(online, [naive.online(*c) for c in columns], rtol=1e-8)
    slow = np.array([naive.offline(*c) for c in columns])
    ranked = offline.argsort()
    assert (np.diff(slow[ranked]) >= 0).all()
    assert (slow[offline > 0] > 0.5).all()


@pytest.mark.parametrize("online", [True, False])
def test_steadied_spreads_find_more_by_few_shadows_and_as_much_by_many(online):
    found = {}
    for n_shadows in (4, 64):
        for spread in ("own", "shrunk"):
            rates = []
            for seed in range(20):
                world = gaussian_world(np.random.default_rng(seed), n_shadows, 2000)
                scores = likelihood_ratio_scores(world[0], *world[2:], online=online, spread=spread)
                rates.append(AuditReport(scores, world[1]).tpr_at(0.01))
            found[n_shadows, spread] = np.mean(rates)
    assert found[4, "shrunk"] > 2 * found[4, "own"]
    assert found[64, "shrunk"] > 0.95 * found[64, "own"]


def test_steadied_spreads_leave_the_target_out_of_it():
    """The proved bound needs scores of one document that do not hang on another's coin but through the target."""
    statistics, _, shadows, inside = gaussian_world(np.random.default_rng(4))
    both = likelihood_ratio_scores(np.array([statistics, statistics + 1]), shadows, inside, spread="shrunk")
    np.testing.assert_array_equal(
        both[0], likelihood_ratio_scores(statistics, shadows, inside, spread="shrunk")
    )
    calm = attack(ignore, spread="shrunk", n_targets=4, epsilon=0.1)
    assert not calm.exceeds_promise()
    assert calm.meta["spread"] == "shrunk"
    assert attack(spread="shrunk", n_targets=4, epsilon=1.0).exceeds_promise()


@pytest.mark.parametrize("online", [True, False])
def test_memorising_is_caught_and_indifference_is_not(online):
    caught = attack(online=online, n_targets=4, epsilon=1.0)
    assert caught.exceeds_promise()
    assert caught.tpr_at(0.01) > 0.9
    calm = attack(ignore, online=online, n_targets=4, epsilon=0.1)
    assert not calm.exceeds_promise()
    low, high = calm.auc_interval(0.999)
    assert low < 0.5 < high


def test_a_finished_model_can_be_the_target():
    members = np.arange(N) % 3 == 0
    model = corpus()[members] + 1e-3
    report = attack(target=(model, members))
    assert report.auc > 0.99
    assert report.coins == "unknown"


def test_results_depend_on_the_seed_alone():
    first = attack(n_targets=2)
    again = attack(n_targets=2, n_jobs=3)
    np.testing.assert_array_equal(first.scores, again.scores)
    np.testing.assert_array_equal(first.members, again.members)
    assert (attack(n_targets=2, random_state=2).members != first.members).any()
    assert (attack(random_state=None).members != attack(random_state=None).members).any()


def test_members_are_independent_coins():
    members = attack(ignore, n_targets=40).members
    sizes = members.sum(axis=1)
    assert 2.5 < sizes.std() < 5.5  # exactly half would have none; sqrt(60)/2 = 3.9
    assert abs(members.mean() - 0.5) < 0.05


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_shadows": 5}, "n_shadows"),
        ({"n_targets": 0}, "n_targets"),
        ({"spread": "narrow"}, "spread"),
        ({"target": "model"}, "pair"),
        ({"target": 3}, "pair"),
        ({"target": (np.ones((1, WORDS)), np.ones(3, dtype=bool))}, "booleans"),
    ],
)
def test_refusals(wrong, words):
    with pytest.raises(ParameterError, match=words):
        attack(**wrong)
