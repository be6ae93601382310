"""PrivateCountVectorizer in use: scikit-learn's manners, the ledger, golden numbers, hostile input."""

import contextlib
import inspect
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet import Corpus, Ledger, PrivateCountVectorizer, PrivateLDA
from discreet.errors import BudgetExceeded, CorpusError, ParameterError, PrivacyError
from discreet.privacy import composed_epsilon, noise_multiplier_for
from discreet.privacy.accounting.events import FailureDpEvent, gaussian, leaves
from discreet.privacy.mechanism import GaussianMechanism

METHODS = ("weighted_gaussian", "sips")


def make_texts(n=300, seed=0):
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, 201)
    words = np.array([f"word{i:03d}" for i in range(200)])
    return [" ".join(rng.choice(words, 8, p=chances / chances.sum())) for _ in range(n)]


TEXTS = make_texts()


def state(estimator):
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}


# ---- the manners of scikit-learn


@pytest.mark.parametrize("method", METHODS)
def test_counts_are_those_of_count_vectorizer_with_the_chosen_words(method):
    ours = PrivateCountVectorizer(epsilon=3.0, delta=1e-4, method=method, random_state=1)
    counts = ours.fit_transform(TEXTS)
    assert isinstance(counts, Corpus)
    assert 5 < counts.shape[1] < 200
    names = ours.get_feature_names_out()
    theirs = CountVectorizer(vocabulary=list(names)).fit_transform(TEXTS)
    assert (counts.counts != theirs).nnz == 0
    assert (ours.transform(TEXTS).counts != counts.counts).nnz == 0
    assert counts.vocabulary == tuple(names) == tuple(sorted(names))
    assert ours.vocabulary_ == {word: i for i, word in enumerate(names)}
    assert ours.word_weights_.shape == (len(names),)
    assert names.dtype == object


def test_parameters_clone_and_repr():
    ledger = Ledger(40.0, 1e-5)
    ours = PrivateCountVectorizer(epsilon=30.0, ledger=ledger, ngram_range=(1, 2), stop_words="english")
    again = clone(ours)
    assert again.get_params().keys() == set(inspect.signature(PrivateCountVectorizer).parameters)
    assert again.ledger is ledger  # a copy would give away the budget twice
    assert again.set_params(epsilon=2.0).epsilon == 2.0
    assert ours.epsilon == 30.0
    assert "epsilon=30.0" in repr(ours)
    before = dict(vars(ours))
    ours.fit([text + " common pair" for text in TEXTS])
    assert {name: vars(ours)[name] for name in before} == before  # fit changes no parameter
    assert any(" " in word for word in ours.vocabulary_)


def test_set_output_keeps_its_default_and_refuses_frames_of_sparse_counts():
    ours = PrivateCountVectorizer(epsilon=5.0, random_state=0).set_output(transform="default")
    assert isinstance(ours.fit_transform(TEXTS), Corpus)
    with pytest.raises(ParameterError, match=r"sparse.*pipeline\[-1\]"):
        ours.set_output(transform="pandas")
    pipe = make_pipeline(ours, PrivateLDA(2, epsilon=4.0))
    with pytest.raises(ParameterError, match="sparse"):
        pipe.set_output(transform="pandas")
    assert isinstance(pipe[0].transform(TEXTS), Corpus)  # nothing is spoilt
    assert pipe[-1].set_output(transform="pandas") is pipe[-1]


def test_constructor_checks_nothing_and_fit_checks_everything_at_once():
    broken = PrivateCountVectorizer(
        epsilon=-1,
        delta=2.0,
        method="magic",
        max_words_per_unit=0,
        privacy_unit="word",
        ngram_range=(2, 1),
        max_words=0,
        random_state=-1,
        n_jobs=0,
    )
    with pytest.raises(PrivacyError) as caught:
        broken.fit(TEXTS)
    message = str(caught.value)
    for name in (
        "epsilon",
        "delta",
        "method",
        "max_words_per_unit",
        "privacy_unit",
        "ngram_range",
        "max_words must",
        "random_state",
        "n_jobs",
    ):
        assert name in message
    assert "\n" not in message
    assert not state(broken)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"epsilon": 0}, PrivacyError),
        ({"epsilon": math.nan}, PrivacyError),
        ({"epsilon": "1"}, PrivacyError),
        ({"epsilon": True}, PrivacyError),
        ({"delta": 0}, PrivacyError),
        ({"delta": 1}, PrivacyError),
        ({"delta": "x"}, PrivacyError),
        ({"privacy_unit": "person"}, PrivacyError),
        ({"ledger": "book"}, PrivacyError),
        ({"method": None}, ParameterError),
        ({"max_words_per_unit": 2.5}, ParameterError),
        ({"max_words_per_unit": 10**9}, ParameterError),
        ({"token_pattern": "("}, ParameterError),
        ({"stop_words": 3}, ParameterError),
        ({"random_state": np.random.default_rng(0)}, ParameterError),
    ],
)
def test_one_wrong_parameter(wrong, error):
    with pytest.raises(error):
        PrivateCountVectorizer(**{"epsilon": 1.0, **wrong}).fit(TEXTS)


def test_not_fitted():
    for call in (lambda v: v.transform(TEXTS), lambda v: v.get_feature_names_out(), lambda v: v.guarantee):
        with pytest.raises(NotFittedError):
            call(PrivateCountVectorizer(epsilon=1.0))


def test_a_pipeline_passes_the_words_on():
    seen = []

    def look(counts):
        seen.append(counts.vocabulary)
        return counts

    words = PrivateCountVectorizer(epsilon=2.0, delta=1e-4, random_state=0)
    pipe = make_pipeline(words, FunctionTransformer(look))
    counts = pipe.fit_transform(TEXTS)
    assert counts.vocabulary == seen[0] == tuple(pipe[0].vocabulary_)
    assert pipe.transform(TEXTS[:3]).vocabulary == counts.vocabulary


# ---- words and units


def test_a_public_vocabulary_costs_nothing_and_reads_nothing():
    ledger = Ledger(1.0, 1e-6)

    class Untouchable:
        def __iter__(self):
            raise AssertionError("read")

    listed = ["word007", "word001"]
    ours = PrivateCountVectorizer(epsilon=1.0, vocabulary=listed, words_are_public=True, ledger=ledger).fit(
        Untouchable()
    )
    assert not ledger.entries
    assert list(ours.get_feature_names_out()) == listed  # the order of the list
    assert (
        ours.fit_transform(TEXTS).counts != CountVectorizer(vocabulary=listed).fit_transform(TEXTS)
    ).nnz == 0
    assert ours.word_weights_ is None
    for same in ({"word007": 0, "word001": 1}, np.array(listed), iter(listed)):
        assert (
            list(
                PrivateCountVectorizer(epsilon=1.0, vocabulary=same, words_are_public=True)
                .fit(TEXTS)
                .vocabulary_
            )
            == listed
        )
    as_set = PrivateCountVectorizer(epsilon=1.0, vocabulary=set(listed), words_are_public=True).fit(TEXTS)
    assert list(as_set.vocabulary_) == sorted(listed)
    assert as_set.ledger_ is None
    assert "public" in as_set.guarantee
    for wrong, error in (({"a": 1}, CorpusError), (["a", "a"], CorpusError), ([], CorpusError)):
        with pytest.raises(error):
            PrivateCountVectorizer(epsilon=1.0, vocabulary=wrong, words_are_public=True).fit(TEXTS)


@pytest.mark.parametrize("method", METHODS)
def test_words_of_one_document_stay_out_and_shared_words_come_in(method):
    secret = " ".join(f"secret{i}" for i in range(60))
    texts = [*["shared words of everybody"] * 300, secret]
    for seed in range(20):
        words = PrivateCountVectorizer(epsilon=1.0, delta=1e-6, method=method, random_state=seed).fit(texts)
        assert set(words.vocabulary_) <= {"shared", "words", "of", "everybody"}
        assert len(words.vocabulary_) >= 1


@pytest.mark.parametrize("method", METHODS)
def test_a_person_with_many_documents_counts_once(method):
    """Whoever writes a word 300 times is still one person; counted by document, the word would pass."""
    texts = ["repeated nonsense"] * 300 + ["shared"] * 300
    persons = [0] * 300 + list(range(1, 301))
    common = {"epsilon": 1.0, "delta": 1e-6, "method": method, "random_state": 0}
    by_person = PrivateCountVectorizer(**common, privacy_unit="person").fit(texts, persons=persons)
    assert set(by_person.vocabulary_) == {"shared"}
    by_document = PrivateCountVectorizer(**common).fit(texts)
    assert "nonsense" in by_document.vocabulary_ or "repeated" in by_document.vocabulary_


def test_a_corpus_brings_its_persons_and_carries_them_on():
    corpus = Corpus.from_texts(TEXTS, persons=np.arange(300) // 2)
    common = {"epsilon": 2.0, "delta": 1e-4, "random_state": 3}
    ours = PrivateCountVectorizer(**common, privacy_unit="person")
    counts = ours.fit_transform(corpus)
    assert np.array_equal(counts.persons, corpus.persons)
    same = PrivateCountVectorizer(**common, privacy_unit="person").fit(
        TEXTS, persons=[str(i // 2) for i in range(300)]
    )
    assert same.vocabulary_ == ours.vocabulary_
    assert np.array_equal(ours.word_weights_, same.word_weights_)
    assert (ours.transform(TEXTS).counts != counts.counts).nnz == 0
    shuffled = Corpus(corpus.counts[:, ::-1], corpus.vocabulary[::-1], corpus.persons)
    again = PrivateCountVectorizer(**common, privacy_unit="person").fit(shuffled)
    assert list(again.vocabulary_) == sorted(again.vocabulary_)


@pytest.mark.parametrize("method", METHODS)
def test_epsilon_inf_names_every_word(method):
    ours = PrivateCountVectorizer(epsilon=math.inf, method=method).fit(TEXTS)
    assert list(ours.vocabulary_) == list(CountVectorizer().fit(TEXTS).get_feature_names_out())
    capped = {"epsilon": math.inf, "method": method, "max_words_per_unit": 1, "random_state": 0}
    some = PrivateCountVectorizer(**capped).fit(["aa bb cc dd ee"] * 5)
    assert len(some.vocabulary_) == (3 if method == "sips" else 1)  # one word a round


def test_weights_without_noise_are_exact():
    ours = PrivateCountVectorizer(epsilon=math.inf, method="weighted_gaussian").fit(
        ["aa bb cc dd", "aa", "aa bb"]
    )
    assert ours.word_weights_ == pytest.approx([0.5 + 1 + 0.5**0.5, 0.5 + 0.5**0.5, 0.5, 0.5], abs=2**-12)


def test_max_words_keeps_the_heaviest():
    common = {"epsilon": 3.0, "delta": 1e-4, "method": "weighted_gaussian", "random_state": 0}
    everything = PrivateCountVectorizer(**common).fit(TEXTS)
    few = PrivateCountVectorizer(**common, max_words=5).fit(TEXTS)
    names, weights = everything.get_feature_names_out(), everything.word_weights_
    assert set(few.vocabulary_) == set(names[np.argsort(weights)[-5:]])
    assert list(few.vocabulary_) == sorted(few.vocabulary_)
    assert set(few.word_weights_) <= set(weights)


def test_words_that_no_file_could_hold_are_left_out():
    texts = ["good bad\u2028word bro\ud800ken"] * 200
    words = PrivateCountVectorizer(
        epsilon=5.0, token_pattern="[^ ]+", random_state=0, max_words_per_unit=3
    ).fit(texts)
    assert set(words.vocabulary_) <= {"good"}


def test_hostile_input_is_refused_in_one_line():
    for wrong in ("one text", b"bytes", sp.eye(3).tocsr(), np.eye(3), 7):
        ledger = Ledger(1.0, 1e-6)
        with pytest.raises(CorpusError) as caught:
            PrivateCountVectorizer(epsilon=0.5, ledger=ledger).fit(wrong)
        assert "\n" not in str(caught.value)
        assert not ledger.entries
    with pytest.raises(CorpusError, match="text 2"):
        PrivateCountVectorizer(epsilon=1.0).fit(["fine", None])
    with pytest.raises(CorpusError, match="persons"):
        PrivateCountVectorizer(epsilon=1.0, privacy_unit="person").fit(TEXTS, persons=[1, 2])


@pytest.mark.parametrize("texts", [[""], ["alone"], ["", "   ", "!!"]])
@pytest.mark.parametrize("method", METHODS)
def test_no_words_is_one_refusal_whatever_the_reason(texts, method):
    """Texts without a word and such whose words stay hidden must look the same."""
    estimator = PrivateCountVectorizer(epsilon=1.0, method=method, random_state=0)
    with pytest.raises(PrivacyError, match="no word was chosen: too few documents"):
        estimator.fit(texts)
    assert not state(estimator)


# ---- the promise


class Spy:
    """Texts that note what the ledger said when they were first read."""

    def __init__(self, ledger):
        self.ledger, self.entries_when_read = ledger, None

    def __iter__(self):
        self.entries_when_read = len(self.ledger.entries)
        return iter(TEXTS)


@pytest.mark.parametrize("method", METHODS)
def test_the_cost_is_booked_before_the_first_read(method):
    ledger = Ledger(2.0, 1e-5)
    spy = Spy(ledger)
    PrivateCountVectorizer(epsilon=1.0, method=method, ledger=ledger).fit(spy)
    assert spy.entries_when_read == 1
    assert len(ledger.entries) == 1


def test_a_short_budget_leaves_everything_as_it_was():
    ledger = Ledger(1.0, 1e-5)
    estimator = PrivateCountVectorizer(epsilon=0.95, ledger=ledger, random_state=0).fit(TEXTS)
    before, booked = state(estimator), len(ledger.entries)
    spy = Spy(ledger)
    with pytest.raises(BudgetExceeded):
        estimator.fit(spy)
    assert spy.entries_when_read is None
    assert state(estimator) == before
    assert len(ledger.entries) == booked


@pytest.mark.parametrize("broken", [5, None, ["a", "text"]])
def test_a_broken_text_costs_nothing_where_texts_are_held(broken):
    ledger = Ledger(2.0, 1e-5)
    words = PrivateCountVectorizer(epsilon=1.0, ledger=ledger)
    with pytest.raises(CorpusError, match="expected str") as caught:
        words.fit([*TEXTS, broken])
    assert not ledger.entries
    assert ("Corpus.from_tokens" in str(caught.value)) == isinstance(broken, list)
    with pytest.raises(CorpusError, match="expected str"):
        words.fit(iter([*TEXTS, broken]))
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("method", METHODS)
def test_own_ledger_says_what_was_asked_for(method):
    ours = PrivateCountVectorizer(epsilon=1.5, delta=1e-5, method=method).fit(TEXTS)
    guarantee = ours.ledger_.guarantee()
    assert guarantee.epsilon <= 1.5 * (1 + 1e-9)
    assert guarantee.epsilon == pytest.approx(1.5, rel=0.001)
    assert guarantee.delta == 1e-5
    assert math.isinf(ours.ledger_.epsilon)
    asked = composed_epsilon([ours.planned_event()], 1e-5).epsilon
    assert asked <= 1.5 * (1 + 1e-9)
    assert asked == pytest.approx(1.5, rel=0.05)
    assert guarantee.privacy_unit == "document"
    assert "document" in ours.guarantee


@pytest.mark.parametrize("method", METHODS)
def test_the_failure_of_the_threshold_is_booked(method):
    ours = PrivateCountVectorizer(epsilon=1.0, delta=1e-5, method=method, random_state=0).fit(TEXTS)
    (entry,) = ours.ledger_.entries
    booked = [leaf.event.delta for leaf in leaves(entry.event) if isinstance(leaf.event, FailureDpEvent)]
    assert booked == [0.5e-5]


def test_delta_falls_to_a_tenth_of_the_ledgers():
    ledger = Ledger(2.0, 1e-5)
    PrivateCountVectorizer(epsilon=0.5, ledger=ledger).fit(TEXTS)
    assert ledger.spent().epsilon <= 0.5 * (1 + 1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("share", "total"), [(0.5, 2.0), (0.25, 1.0), (1.0, 5.0), (0.02, 0.1)])
def test_words_and_training_fit_one_ledger_at_the_sum_of_their_epsilons(method, share, total):
    """Also where training is calibrated to all of the ledger's delta."""
    ledger = Ledger(total, 1e-6)
    chooser = PrivateCountVectorizer(epsilon=share, method=method, ledger=ledger, random_state=0)
    with contextlib.suppress(PrivacyError):  # too little to choose a word: booked all the same
        chooser.fit(TEXTS)
    assert len(ledger.entries) == 1
    ledger.reserve(gaussian(noise_multiplier_for(total - share, 1e-6)), "training")
    assert ledger.spent().epsilon <= total
    if total == 2.0:
        assert ledger.spent().epsilon == pytest.approx(1.591, abs=0.01)


def test_ledger_of_another_promise_is_refused():
    ledger = Ledger(2.0, 1e-6, privacy_unit="person")
    with pytest.raises(PrivacyError, match=r"say whose each document is .*, or a ledger of the same unit"):
        PrivateCountVectorizer(epsilon=1.0, privacy_unit="document", ledger=ledger).fit(TEXTS)
    with pytest.raises(PrivacyError, match="needs to know the people; pass persons= to fit"):
        PrivateCountVectorizer(epsilon=1.0, ledger=ledger).fit(TEXTS)
    assert not ledger.entries


def test_a_seed_is_told_to_the_ledger():
    seeded = PrivateCountVectorizer(epsilon=1.0, random_state=7).fit(TEXTS)
    assert "reproducible, not for release" in str(seeded.ledger_.entries)
    secure = PrivateCountVectorizer(epsilon=1.0).fit(TEXTS)
    assert "reproducible" not in str(secure.ledger_.entries)


@pytest.mark.parametrize("method", METHODS)
def test_noise_is_added_once(method, monkeypatch):
    """Each key of the noise is drawn once a round, and the released weights are sum plus that draw."""
    calls = []
    original = GaussianMechanism.release

    def release(self, total, *rest, **named):
        noisy = original(self, total, *rest, **named)
        calls.append(noisy - total.values)
        return noisy

    monkeypatch.setattr(GaussianMechanism, "release", release)
    PrivateCountVectorizer(epsilon=1.0, delta=1e-4, method=method, random_state=0).fit(TEXTS)
    assert (
        len(calls) == {"sips": 4, "weighted_gaussian": 2}[method]
    )  # the last: how much of the text they make up
    assert all(noise.std() > 0 for noise in calls)


# ---- determinism

SCRIPT = """
import sys
from discreet import PrivateCountVectorizer
texts = [f"word{i % 7} word{i % 11} word{i % 13} word{i % 17}" for i in range(400)]
for method in ("weighted_gaussian", "sips"):
    v = PrivateCountVectorizer(epsilon=1.0, delta=1e-4, method=method, random_state=5)
    v.set_params(n_jobs=int(sys.argv[1]))
    v.fit(texts)
    print(method, list(v.vocabulary_), v.word_weights_.tobytes().hex())
"""


@pytest.mark.integration
def test_same_bytes_for_any_hash_seed_and_any_number_of_threads():
    answers = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, threads],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, threads in (("1", "1"), ("77", "4"))
    }
    assert len(answers) == 1
    assert answers.pop().count("word") > 20


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_documents_does_not_matter(method):
    """So neither does sharding, and the order of appearance cannot leak."""
    common = {"epsilon": 1.0, "delta": 1e-4, "method": method, "random_state": 2}
    one = PrivateCountVectorizer(**common).fit(TEXTS)
    other = PrivateCountVectorizer(**common).fit(TEXTS[::-1])
    assert list(one.vocabulary_) == list(other.vocabulary_)
    assert np.array_equal(one.word_weights_, other.word_weights_)


def test_secure_noise_differs_every_time():
    fits = [PrivateCountVectorizer(epsilon=1.0, delta=1e-4).fit(TEXTS) for _ in range(2)]
    assert fits[0].word_weights_.tolist() != fits[1].word_weights_.tolist()


def test_nothing_private_stays_on_the_estimator():
    canary = "canary" + "x" * 20
    ours = PrivateCountVectorizer(epsilon=1.0, delta=1e-6, random_state=0).fit([*TEXTS, canary])
    assert set(state(ours)) == {"vocabulary_", "word_weights_", "ledger_", "word_origin_"}
    assert canary.encode() not in pickle.dumps((ours.vocabulary_, ours.word_weights_, ours.ledger_.to_json()))


def test_every_method_is_named_where_none_of_that_name_is():
    with pytest.raises(ParameterError) as caught:
        PrivateCountVectorizer(epsilon=1.0, method="magic").fit(TEXTS)
    for method in METHODS:
        assert f'"{method}"' in str(caught.value)


class OtherEachTime:
    """Texts that are others when they are read again."""

    def __init__(self):
        self.times = 0

    def __iter__(self):
        self.times += 1
        return iter(TEXTS if self.times == 1 else ["a secret"] * len(TEXTS))


def test_texts_are_read_once_so_others_cannot_be_counted_than_words_were_chosen_from():
    texts, how = OtherEachTime(), {"epsilon": 4.0, "random_state": 0}
    counts = PrivateCountVectorizer(**how).fit_transform(texts)
    assert texts.times == 1
    expected = PrivateCountVectorizer(**how).fit_transform(TEXTS)
    assert counts.vocabulary == expected.vocabulary
    assert (counts.counts != expected.counts).nnz == 0


def test_texts_that_grow_while_they_are_read_have_no_persons_for_the_rest():
    class Growing:
        def __iter__(self):
            yield from TEXTS
            yield "somebody else"

    ledger = Ledger(9.0, 1e-5, privacy_unit="person")
    words = PrivateCountVectorizer(epsilon=4.0, privacy_unit="person", ledger=ledger)
    with pytest.raises(CorpusError, match="one for each document"):
        words.fit(Growing(), persons=range(len(TEXTS)))
    assert len(ledger.entries) == 1  # what was read stays paid for
