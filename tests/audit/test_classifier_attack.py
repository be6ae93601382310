"""The classifier attack: finds what memorises, finds nothing where nothing is kept, mixes no sides."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from discreet.errors import ParameterError

SCRIPT = Path(__file__).parents[2] / "experiments" / "zhao2020" / "classifier_attack.py"
spec = importlib.util.spec_from_file_location("classifier_attack", SCRIPT)
sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where dataclasses look for it
spec.loader.exec_module(sys.modules[spec.name])
classifier_attack = sys.modules[spec.name].classifier_attack

TOPICS = np.kron(np.eye(4), np.full((1, 15), 1 / 15))


@pytest.fixture(scope="module")
def corpus():
    """Documents of four topics, no two alike, and labels that follow the topics only loosely."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(4), 800)
    counts = sp.csr_matrix(rng.poisson(30 * theta @ TOPICS))
    labels = np.array(["a", "b", "c"])[(theta.argmax(axis=1) + rng.integers(0, 2, 800)) % 3]
    return counts, labels


def fixed(counts, seed):
    return TOPICS


@pytest.mark.integration
def test_a_forest_remembers_its_documents(corpus):
    report = classifier_attack(fixed, *corpus, classifier="forest", n_shadows=3, epsilon=1.0, random_state=0)
    assert report.inside_accuracy > 0.99
    assert report.outside_accuracy < 0.7
    assert report.attack.auc > 0.9
    assert report.accuracy > 0.85
    assert report.precision > 0.8
    assert report.recall > 0.85
    assert report.attack.exceeds_promise()


@pytest.mark.integration
def test_a_linear_classifier_on_public_topics_keeps_little(corpus):
    found = [
        classifier_attack(fixed, *corpus, n_shadows=3, epsilon=1.0, random_state=seed) for seed in range(5)
    ]
    assert abs(np.mean([report.attack.auc for report in found]) - 0.5) < 0.05
    assert not any(report.attack.exceeds_promise() for report in found)


def test_a_classifier_that_learns_nothing_gives_nothing_away(corpus):
    """If the target's members came into the scores by another way than the confidences, it would show here."""
    report = classifier_attack(
        fixed, *corpus, classifier=DummyClassifier(strategy="uniform"), n_shadows=3, random_state=0
    )
    assert abs(report.attack.auc - 0.5) < 0.1
    assert report.attack.epsilon_lower_bound() == 0.0
    # One label, one vector of confidences: one score.
    assert len(np.unique(report.attack.scores)) <= 3


def test_any_estimator_is_taken_and_left_as_it_was(corpus):
    nearest = KNeighborsClassifier(1)
    report = classifier_attack(fixed, *corpus, classifier=nearest, n_shadows=2, random_state=0)
    assert report.attack.auc > 0.7
    assert not hasattr(nearest, "classes_")


def test_target_and_attacker_share_no_document(corpus):
    counts, labels = corpus
    seen = []

    def train(members, seed):
        seen.append({tuple(row) for row in members.toarray().tolist()})
        return TOPICS

    report = classifier_attack(train, counts, labels, n_shadows=4, random_state=1)
    target, *shadows = seen
    assert len(target) == report.attack.members.sum()
    assert all(len(shadow) == 200 and not shadow & target for shadow in shadows)
    assert len(set.union(*shadows)) > 300
    assert len({frozenset(shadow) for shadow in shadows}) == 4
    outside = {tuple(row) for row in counts.toarray().tolist()} - target
    assert len(outside - set.union(*shadows)) >= 400 - len(target)


@pytest.mark.integration
def test_members_are_coins_and_the_seed_decides(corpus):
    def run(seed, n_jobs=None):
        return classifier_attack(fixed, *corpus, n_shadows=2, random_state=seed, n_jobs=n_jobs)

    one, same, other = run(1), run(1, n_jobs=2), run(2)
    assert one.attack.to_dict() == same.attack.to_dict()
    assert (one.attack.members != other.attack.members).any()
    assert one.attack.coins == "independent"
    sizes = [run(seed).attack.members.sum() for seed in range(12)]
    assert len(set(sizes)) > 3


def test_accuracy_precision_and_recall_are_those_of_the_scores(corpus):
    report = classifier_attack(fixed, *corpus, classifier="forest", n_shadows=2, random_state=0)
    says, truth = report.attack.scores[0] > 0.5, report.attack.members[0]
    assert report.accuracy == np.mean(says == truth)
    assert report.precision == (says & truth).sum() / says.sum()
    assert report.recall == (says & truth).sum() / truth.sum()


@pytest.mark.integration
def test_a_rare_label_borrows_the_model_of_all(corpus):
    counts, labels = corpus
    rare = labels.astype(object).copy()
    rare[:6] = "rare"
    report = classifier_attack(
        fixed, counts, rare.astype(str), classifier="forest", n_shadows=2, random_state=0
    )
    assert report.attack.auc > 0.9


@pytest.mark.parametrize(
    "wrong",
    [{"classifier": "tree"}, {"classifier": object()}, {"n_shadows": 0}],
    ids=lambda given: next(iter(given)),
)
def test_refusals(corpus, wrong):
    with pytest.raises(ParameterError):
        classifier_attack(fixed, *corpus, **{"random_state": 0, **wrong})


def test_labels_that_do_not_fit_are_refused(corpus):
    counts, labels = corpus
    with pytest.raises(ParameterError, match="one per document"):
        classifier_attack(fixed, counts, labels[:-1])
    with pytest.raises(ParameterError, match="at least 2 kinds"):
        classifier_attack(fixed, counts, np.zeros(800))
    with pytest.raises(ParameterError, match="fewer than 2 labels"):
        classifier_attack(fixed, counts, (np.arange(800) == 3).astype(int), random_state=0)


def scrambled(counts, seed):
    """Rows of which nothing is left but their words' totals."""
    return np.random.default_rng(seed).permuted(counts.toarray(), axis=0)


def given_mixtures_of(corpus, seen, train=fixed):
    return classifier_attack(train, *corpus, classifier="forest", n_shadows=3, seen=seen, random_state=0)


@pytest.mark.integration
def test_a_forest_that_never_saw_the_documents_remembers_none(corpus):
    report = given_mixtures_of(corpus, scrambled)
    assert abs(report.attack.auc - 0.5) < 0.1
    assert report.attack.epsilon_lower_bound() == 0.0
    assert report.inside_accuracy < 0.5
    # The plausible mistake: topics from what was seen, but the classifier on the exact documents. It shows.
    half_private = given_mixtures_of(corpus, None, lambda counts, seed: fixed(scrambled(counts, seed), seed))
    assert half_private.attack.auc > 0.9


@pytest.mark.integration
def test_to_see_the_documents_themselves_changes_nothing(corpus):
    """Also that the trainer is given what was seen, and both the same seed."""
    calls = []

    def seen(counts, seed):
        calls.append(("seen", counts.toarray().tolist(), seed))
        return counts

    def train(counts, seed):
        calls.append(("train", counts.toarray().tolist(), seed))
        return TOPICS

    report = given_mixtures_of(corpus, seen, train)
    assert report.attack.to_dict() == given_mixtures_of(corpus, None).attack.to_dict()
    assert len(calls) == 2 * 4
    assert sorted(c[1:] for c in calls if c[0] == "seen") == sorted(c[1:] for c in calls if c[0] == "train")


@pytest.mark.parametrize("wrong", [lambda c, s: c[:-1], lambda c, s: c[:, :-1]], ids=["row", "word"])
def test_what_was_seen_has_a_row_a_document(corpus, wrong):
    with pytest.raises(ParameterError, match="seen must return"):
        given_mixtures_of(corpus, wrong)
