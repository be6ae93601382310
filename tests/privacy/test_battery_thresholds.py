"""The battery on what tells of one unit only now and then, or holds it where attributes do not show it."""

import threading
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests.marks import quick
from tests.privacy.small_estimators import PersonTotals, WordTotals, failures
from tests.test_private_battery import texts

from discreet.errors import ParameterError
from discreet.privacy import check_private_estimator
from discreet.privacy.battery.proof_checks import check_all_is_made_of_noisy_sums, threshold_pairs
from discreet.privacy.battery.subject import Subject, all_bytes, leaves_of, planted_counts

MADE_OF, EXACT = "check_all_is_made_of_noisy_sums", "check_nothing_exact_is_kept"
SUMS = "check_sums_keep_to_their_bound"


class Keeps(WordTotals):
    """Keeps something exact beside the noise: what ``of(counts)`` returns."""

    def __init__(self, of=None, epsilon=2.0, delta=1e-6, ledger=None, random_state=None, n_jobs=None):
        super().__init__(epsilon, delta, ledger, random_state, n_jobs)
        self.of = of

    def _total(self, bound, counts):
        self.kept_ = self.of(counts)
        return super()._total(bound, counts)


class KeepsOfPeople(PersonTotals):
    """The same, of what each person wrote."""

    def __init__(self, of=None, epsilon=2.0, delta=1e-6, ledger=None, random_state=None, n_jobs=None):
        super().__init__(epsilon, delta, ledger, random_state, n_jobs)
        self.of = of

    def _total(self, bound, counts):
        of_person = np.zeros((self._persons.max() + 1, counts.shape[1]))
        np.add.at(of_person, self._persons, counts)
        self.kept_ = self.of(of_person)
        return super()._total(bound, counts)


def used(counts):
    return (counts > 0).sum(0)


RULES = {
    **{
        f"in at least {k}": (lambda counts, k=k: np.flatnonzero(used(counts) >= k))
        for k in (1, 2, 3, 5, 10, 20, 25, 50, 100)
    },
    **{f"in more than {k}": (lambda counts, k=k: np.flatnonzero(used(counts) > k)) for k in (1, 5, 10, 100)},
    **{
        f"in at least {share}": (
            lambda counts, share=share: np.flatnonzero(used(counts) >= share * len(counts))
        )
        for share in (0.01, 0.05, 0.1, 0.5)
    },
    **{
        f"in at most {share}": (
            lambda counts, share=share: np.flatnonzero(used(counts) <= share * len(counts))
        )
        for share in (0.1, 0.5, 0.8, 0.9, 0.95)
    },
    **{f"at least {k} times": (lambda counts, k=k: np.flatnonzero(counts.sum(0) >= k)) for k in (2, 5, 10)},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", quick([Keeps, KeepsOfPeople], KeepsOfPeople))
def test_words_chosen_by_exact_counts_are_caught(kind, rule):
    """Which words are kept is told: each rule, of documents and of people, is caught by the check for it."""
    with pytest.raises(AssertionError, match="kept_"):
        check_all_is_made_of_noisy_sums(Subject(kind(RULES[rule]), planted_counts, ("totals_",), True))


class LeavesOutRareWords(WordTotals):
    """Columns that fewer than 5 documents have are not summed: that they are missing tells how many have them."""

    def _total(self, bound, counts):
        return super()._total(bound, counts[:, used(counts) >= 5])


@pytest.mark.integration
def test_rare_words_are_caught_by_their_own_checks():
    assert failures(Keeps(RULES["in at least 5"])) == {MADE_OF, EXACT}
    assert failures(LeavesOutRareWords()) == {SUMS, MADE_OF}
    with pytest.raises(AssertionError, match="are columns kept or left out by what the data show"):
        check_private_estimator(LeavesOutRareWords(), released=("totals_",))


class OfTexts(WordTotals):
    """Counts given words in texts, and keeps which of them ``least`` documents have."""

    least = 10

    def fit(self, X, y=None, persons=None):
        self.words = [f"word{chr(97 + column)}" for column in range(24)]
        try:
            return super().fit(X, y, persons)
        finally:
            del self.words

    def _read(self, X):
        counts = np.array([[text.split().count(word) for word in self.words] for text in X], dtype=float)
        self.kept_ = used(counts) >= self.least
        return counts


class AllOfTexts(OfTexts):
    """The same for all words that occur."""

    least = 1


@pytest.mark.parametrize(("fault", "check"), [(OfTexts, MADE_OF), (AllOfTexts, EXACT)])
@pytest.mark.integration
def test_texts_stand_at_thresholds_too(fault, check):
    with pytest.raises(AssertionError, match=f"{check}.*kept_.*there is a document that has every word at"):
        check_private_estimator(fault(), make=texts, released=("totals_",), takes_counts=False)


ROUNDINGS = {
    "to tens": lambda counts: round(len(counts), -1),
    "to fifties": lambda counts: round(len(counts) / 50) * 50,
    "to hundreds, in words": lambda counts: f"about {round(len(counts), -2)}",
    "to thousands": lambda counts: round(len(counts), -3),
    "to one digit": lambda counts: f"{len(counts):.1g}",
    "to two digits": lambda counts: f"{len(counts):.2g}",
    "down": lambda counts: len(counts) // 100,
    "up": lambda counts: -(-len(counts) // 100),
    "powers of two": lambda counts: len(counts).bit_length(),
    "powers of ten": lambda counts: len(str(len(counts))),
}


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("kind", [Keeps, KeepsOfPeople])
@pytest.mark.integration
def test_rounded_numbers_of_units_are_caught(kind, rounding):
    with pytest.raises(AssertionError, match="kept_ tells whether there is"):
        check_all_is_made_of_noisy_sums(
            Subject(kind(ROUNDINGS[rounding]), planted_counts, ("totals_",), True)
        )


def test_a_rounding_of_another_kind_is_not_seen():
    """The docs say so: what turns over at none of the numbers that are tried."""
    assert failures(Keeps(lambda counts: len(counts) // 777)) == set()


def test_tokens_move_over_thresholds():
    subject = Subject(WordOnly(), planted_counts, ("totals_",), True)
    crossed = set()
    for pair in threshold_pairs(subject):
        before, after = (used(X.toarray()) for X in (pair.with_it, pair.without_it))
        assert abs(pair.with_it - pair.without_it).sum() == 2
        crossed |= {int(max(one, other)) for one, other in zip(before, after, strict=True) if one != other}
    assert {1, 2, 3, 5, 10, 20} <= crossed


class WordOnly(WordTotals):
    privacy_unit, neighboring = "word", "replace_one"


class AFloat(float):
    pass


class ADict(dict):
    pass


class Slots:
    __slots__ = ("inside",)

    def __init__(self, inside):
        self.inside = inside


def a_dict_with(exact):
    made = ADict()
    made.beside = exact
    return made


def deep(exact):
    for _ in range(30):
        exact = [exact]
    return exact


#: Ways to hold a sum.
HOLDERS = {
    "a frame": lambda sums: pd.DataFrame({"n": sums}),
    "the index of a series": lambda sums: pd.Series(0, index=sums),
    "a partial call": lambda sums: partial(np.dot, sums),
    "a bound method": lambda sums: sums.dot,
    "a function": lambda sums: lambda rows: rows @ sums,
    "a default": lambda sums: lambda rows, by=float(sums[2]): rows * by,
    "a kind of float": lambda sums: AFloat(sums[2]),
    "a kind of dict": lambda sums: ADict(n=sums),
    "beside a dict": a_dict_with,
    "slots": Slots,
    "a masked array": lambda sums: np.ma.masked_array(sums, mask=sums > 0),
    "thirty lists": deep,
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.integration
def test_what_attributes_do_not_show_is_looked_into(holder):
    hold = HOLDERS[holder]
    assert failures(Keeps(lambda counts: hold(counts.sum(0)))) == {MADE_OF, EXACT}


class Holds(WordTotals):
    """Honest: all that it holds, in whatever way, is made of the noisy sums."""

    def fit(self, X, y=None, persons=None):
        super().fit(X, y, persons)
        self.held_ = {name: hold(self.totals_) for name, hold in HOLDERS.items()}
        self.lock_ = threading.Lock()
        return self


def test_honest_holders_pass():
    assert failures(Holds()) == set()


class Timed(WordTotals):
    """Honest, and says how long it took."""

    def fit(self, X, y=None, persons=None):
        started = time.perf_counter()
        super().fit(X, y, persons)
        self.fit_time_ = time.perf_counter() - started
        return self


class Unseeded(WordTotals):
    """An exact number under noise of its own, which is right for no budget: it, too, differs in each fit."""

    def _total(self, bound, counts):
        self.n_ = len(counts) + np.random.default_rng().normal()
        return super()._total(bound, counts)


@pytest.mark.integration
def test_times_are_named_and_not_taken_for_noise():
    passed = check_private_estimator(Timed(), released=("totals_",), times=("fit_time_",))
    assert set(passed.values()) == {"passed"}
    for restless, name in ((Timed(), "fit_time_"), (Unseeded(), "n_")):
        with pytest.raises(
            AssertionError, match=rf"{name} differs between two fits of the same data.*name it in times="
        ):
            check_private_estimator(restless, released=("totals_",))


def test_only_single_numbers_that_stay_are_times():
    for times in (("totals_",), ("fit_tme_",), ("held_",)):
        with pytest.raises(ParameterError, match=f"no such attribute {times[0]}"):
            check_private_estimator(Holds(), released=("totals_",), times=times)


def test_leaves_end_and_are_equal_for_equal_values():
    class Endless:
        def __reduce_ex__(self, protocol):
            return Endless, (), {"next": Endless()}

    ring = [1]
    ring.append(ring)
    for value in (Endless(), ring):
        leaves_of(value)
    made = [leaves_of({name: hold(np.arange(9.0)) for name, hold in HOLDERS.items()}) for _ in range(2)]
    assert made[0] == made[1]
    secret = np.array([7.25])
    assert secret.tobytes() in all_bytes({"local": lambda: secret})
