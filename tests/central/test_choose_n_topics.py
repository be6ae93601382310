"""The number of topics, chosen privately: who is held out, what it costs, finds and refuses, how persons count."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive import held_out as naive

from discreet import Corpus, Ledger, PrivateCountVectorizer, PrivateLDA
from discreet.central import choose_n_topics_privately
from discreet.central.choose_n_topics import _by_unit, _held_out, _scores
from discreet.central.private_fit import frequencies, halves
from discreet.errors import BudgetExceeded, CorpusError, DiscreetError, ParameterError
from discreet.lda import fold_in
from discreet.privacy import composed_epsilon

N = 4000


def corpus(n_topics=4, seed=0):
    rng = np.random.default_rng(seed)
    topic = rng.integers(n_topics, size=(N, 1))
    counts = rng.poisson(np.where(np.arange(40) % n_topics == topic, 1.0, 0.05))
    return Corpus(counts, [f"word{i}" for i in range(40)], words_are_public=True)


def mixed(n_topics, n, seed):
    rng = np.random.default_rng(seed)
    topics, shares = rng.dirichlet(np.full(60, 0.1), n_topics), rng.dirichlet(np.full(n_topics, 0.3), n)
    return np.array([rng.multinomial(20, words) for words in shares @ topics])


@pytest.mark.parametrize("of_persons", [False, True])
def test_who_is_held_out_is_told_by_the_unit_alone(of_persons):
    counts = mixed(3, 3000, seed=1)
    counts[5] = 0
    units = np.random.default_rng(2).integers(900, size=3000) if of_persons else np.arange(3000)
    held_out = _held_out(sp.csr_matrix(counts), units if of_persons else None)
    for unit in np.unique(units)[:300]:
        rows = units == unit
        assert (held_out[rows] == naive.is_held_out(counts[rows])).all()  # all of a unit on one side
    assert 0.07 < held_out.mean() < 0.13
    # One unit less, in the middle or at the front, moves nobody else, and nor does another order.
    for gone in (0, 1, units[1500]):
        rest = np.flatnonzero(units != gone)[::-1]
        found = _held_out(sp.csr_matrix(counts[rest]), units[rest] if of_persons else None)
        assert np.array_equal(found, held_out[rest])


@pytest.mark.parametrize("of_persons", [False, True])
def test_what_is_held_out_is_scored_and_never_trained_on(of_persons):
    counts = mixed(3, 400, seed=3)
    units = np.arange(400) // 2 if of_persons else np.arange(400)
    persons = {"privacy_unit": "person"} if of_persons else {}
    common = {"epsilon": math.inf, "random_state": 0, "allow_unlearnable": True, **persons}
    persons = {"persons": units} if of_persons else {}
    found = choose_n_topics_privately(counts, [1, 3, 9], **common, **persons)
    sides = {unit: naive.is_held_out(counts[units == unit]) for unit in np.unique(units)}
    learnt = np.array([not sides[unit] for unit in units])
    persons = {"persons": units[learnt]} if of_persons else {}
    alone = [PrivateLDA(n, **common).fit(counts[learnt], **persons).release_ for n in (1, 3, 9)]
    for release, other in zip(found.releases, alone, strict=True):
        assert np.array_equal(release.topic_word, other.topic_word)
    plain = sum(frequencies(release) for release in alone) / 3
    total = np.zeros(3)
    for unit in (unit for unit, side in sides.items() if side):
        both = halves(sp.csr_matrix(counts[units == unit]))
        for k, release in enumerate(alone):
            gains = []
            for seen, scored in (both, both[::-1]):
                shares, rows = fold_in(release.topic_word, seen, doc_topic_prior=0.1), scored.toarray()
                told = zip(rows, shares, strict=True)
                gains.append([naive.gain(row, share, release.topic_word, plain) for row, share in told])
            total[k] += naive.score(list(zip(*gains, strict=True)), 1.0, k)
    marks = _scores(found.releases, sp.csr_matrix(counts)[~learnt], 1.0, None)
    rows = _by_unit(marks, units[~learnt] if of_persons else None)
    assert rows.sum(0) == pytest.approx(total, rel=1e-6)
    assert found.n_topics == (1, 3, 9)[int(total.argmax())]


@pytest.mark.parametrize("planted", [2, 3])
@pytest.mark.integration
def test_far_too_many_topics_are_seldom_chosen_where_they_only_learn_by_heart(planted):
    def chosen(n, seed, **how):
        found = choose_n_topics_privately(
            mixed(planted, n, seed), [2, 3, 20], random_state=seed, allow_unlearnable=True, **how
        )
        return found.n_topics

    few = Counter(chosen(150, seed, epsilon=math.inf) for seed in range(12))
    assert few[20] <= 3  # scored on what they were trained on, they win 8 and 11 times of 12
    noisy = Counter(chosen(300, seed, epsilon=4.0) for seed in range(24))
    assert noisy[20] <= 4  # 8 expected where noise alone decides
    many = Counter(chosen(3000, seed, epsilon=4.0) for seed in range(6))
    assert many[20] == 0
    assert many[planted] >= 4


def test_bad_frequencies_of_a_candidate_are_no_gain():
    counts = sp.csr_matrix(mixed(3, 400, seed=3))
    release = PrivateLDA(3, epsilon=math.inf, allow_unlearnable=True, random_state=0).fit(counts).release_
    spoilt = replace(release, word_weight=np.eye(60)[0] * 0.9 + 0.1 / 60)
    first, second = _scores([release, spoilt], counts, 1.0, None).T
    assert np.allclose(
        first - 0.005, second
    )  # half of the hundredth of a nat that a later one has to be ahead by
    assert first.min() >= 0
    assert first.max() <= 1


def test_where_nobody_is_left_to_train_on_it_says_so():
    held = next(row for row in np.eye(60, dtype=int) if naive.is_held_out([row]))
    with pytest.raises(CorpusError, match="none is left to train on"):
        choose_n_topics_privately(np.tile(held, (50, 1)), [1, 2], epsilon=1.0, allow_unlearnable=True)
    other = next(row for row in np.eye(60, dtype=int) if not naive.is_held_out([row]))
    found = choose_n_topics_privately(
        np.tile(other, (50, 1)), [1, 2], epsilon=math.inf, allow_unlearnable=True
    )
    assert found.n_topics == 1  # nobody is held out, and the first of those that tie is chosen


@pytest.mark.parametrize("planted", [3, 5])
def test_the_planted_number_is_found_and_all_of_it_is_paid_for(planted):
    ledger = Ledger(4.0, 1e-6)
    found = choose_n_topics_privately(
        corpus(planted), [2, planted, 1], epsilon=4.0, ledger=ledger, random_state=0
    )
    assert found.n_topics == planted
    assert found.candidates == (1, 2, planted)
    assert [len(release.topic_word) for release in found.releases] == [1, 2, planted]
    assert found.release is found.releases[found.candidates.index(planted)]
    # Three trainings and one choice, one booking; each release states all of it.
    assert [entry.purpose.split(" (")[0] for entry in ledger.entries] == ["topics"] * 3 + ["number of topics"]
    assert {entry.booking for entry in ledger.entries} == {1}
    assert 4.0 * 0.99 < ledger.spent().epsilon <= 4.0
    assert found.release.promise.epsilon == ledger.spent().epsilon
    # What forgot to pay for the candidates that were not chosen, or for the choice, would say much less.
    events = [entry.event for entry in ledger.entries]
    assert composed_epsilon(events[2:], 1e-6).epsilon < 0.75 * 4.0
    assert composed_epsilon(events[:3], 1e-6).epsilon < 0.96 * 4.0
    with pytest.raises(BudgetExceeded):
        choose_n_topics_privately(corpus(planted), [1, 2], epsilon=4.0, ledger=ledger)


def test_without_privacy_it_is_the_exact_choice():
    found = choose_n_topics_privately(corpus(3), [1, 3], epsilon=math.inf, random_state=0)
    assert found.n_topics == 3
    assert math.isinf(found.release.promise.epsilon)


def test_a_person_scores_once_however_much_they_wrote():
    scores = np.array([[0.9, 0.1], [0.5, 3.0], [-2.0, 0.4], [0.2, 0.2]])
    assert _by_unit(scores, None).max() <= 1.0
    rows = _by_unit(scores, np.array([5, 5, 5, 9]))
    assert rows == pytest.approx(np.array([[1.4 / 3, 0.5], [0.2, 0.2]]))
    persons = np.arange(N) // 4
    found = choose_n_topics_privately(
        corpus(), [1, 4], epsilon=6.0, privacy_unit="person", persons=persons, random_state=0
    )
    assert found.n_topics == 4
    assert found.release.promise.privacy_unit == "person"


def test_words_that_were_chosen_privately_stay_on_their_ledger():
    rng = np.random.default_rng(0)
    texts = [
        " ".join(rng.choice(["sea ship wave", "law court judge"][i % 2].split(), 9)) for i in range(3000)
    ]
    counts = PrivateCountVectorizer(epsilon=2.0, random_state=0).fit_transform(texts)
    found = choose_n_topics_privately(counts, [1, 2], epsilon=4.0, random_state=0)
    assert found.n_topics == 2
    assert found.release.ledger.entries[0].purpose.startswith("vocabulary")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": [5]}, "two or more numbers"),
        ({"candidates": [5, 5]}, "two or more numbers"),
        ({"candidates": [0, 5]}, "two or more numbers"),
        ({"candidates": 5}, "two or more numbers"),
        ({"epsilon": -1}, "epsilon must"),
        ({"epsilon": "much"}, "epsilon must"),
        ({"selection_share": 1.0}, "selection_share must"),
        ({"contribution_bound": 0}, "contribution_bound must"),
        ({"privacy_unit": "person"}, "persons"),
        ({"doc_topic_prior": -1}, "doc_topic_prior must"),
    ],
)
def test_bad_calls_book_nothing(change, message):
    ledger = Ledger(4.0, 1e-6, privacy_unit=change.get("privacy_unit", "document"))
    given = {"candidates": [1, 4], "epsilon": 1.0, "ledger": ledger} | change
    with pytest.raises(DiscreetError, match=message):
        choose_n_topics_privately(corpus(), given.pop("candidates"), **given)
    assert not ledger.entries


def test_bad_counts_are_refused_after_booking():
    with pytest.raises(CorpusError):
        choose_n_topics_privately(np.full((5, 3), -1), [1, 2], epsilon=1.0)


@pytest.mark.parametrize("bound", [1e-320, 0.05, 101.0, float("inf")])
def test_a_bound_that_fixes_the_answer_is_refused_before_anything_is_booked(bound):
    ledger = Ledger(1.0, 1e-6)
    with pytest.raises(ParameterError, match=r"bound must be at least 0\.1"):
        choose_n_topics_privately(
            np.ones((20, 6), int), [1, 2], epsilon=0.5, contribution_bound=bound, ledger=ledger
        )
    assert not ledger.entries
