"""The release as a record: checked, closed, read-only, comparable."""

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from tests.report.report_cases import release

from discreet.corpus import Corpus
from discreet.errors import CorpusError, CorpusWarning, PrivacyError, ReleaseError
from discreet.privacy import Ledger
from discreet.privacy.accounting import events
from discreet.release import Release


def parts(**changes):
    """Everything a small release is made of, with some of it replaced."""
    ledger = Ledger(2.0, 1e-6)
    ledger.reserve(events.gaussian(5.0), "topics")
    whole = {
        "topic_word": np.array([[0.5, 0.25, 0.25], [0.0, 0.125, 0.875]]),
        "vocabulary": ("a", "b", "c"),
        "ledger": ledger,
        "configuration": {"n_topics": 2, "doc_topic_prior": 0.1},
        "reproducible": False,
        "topic_weight": np.array([0.75, 0.25]),
        "word_weight": np.array([0.5, 0.25, 0.25]),
        "topic_word_noise": np.full((2, 3), 0.01),
        "n_units_noisy": 12.5,
    }
    return {**whole, **changes}


def test_arrays_are_copies_that_cannot_be_written():
    mine = np.array([[0.5, 0.5]])
    made = Release(mine, ["a", "b"], Ledger(1, 1e-6))
    mine[0, 0] = 9
    assert made.topic_word.tolist() == [[0.5, 0.5]]
    for name in ("topic_word", "topic_weight", "word_weight", "topic_word_noise"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(Release(**parts()), name)[0] = 1
    with pytest.raises(AttributeError, match="cannot assign"):
        made.reproducible = True
    with pytest.raises(TypeError, match="does not support item assignment"):
        made.configuration["a"] = 1


def test_numbers_become_float64_and_lists_become_arrays():
    made = Release([[1, 0], [0, 1]], np.array(["a", "b"]), Ledger(1, 1e-6), n_units_noisy=np.int64(3))
    assert made.topic_word.dtype == np.float64
    assert made.topic_word.flags.c_contiguous
    assert made.vocabulary == ("a", "b")
    assert {type(word) for word in made.vocabulary} == {str}
    assert type(made.n_units_noisy) is float


def test_there_is_one_zero():
    made = Release([[1.0, -0.0]], ["a", "b"], Ledger(1, 1e-6))
    assert not np.signbit(made.topic_word).any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"topic_word": np.ones(3) / 3}, "topic_word must have shape"),
        ({"topic_word": np.ones((0, 3))}, "topic_word must have shape"),
        ({"topic_word": np.ones((2, 3))}, "topic_word must hold probabilities that sum to 1"),
        ({"topic_word": [[0.5, 0.5, 1e-8], [1, 0, 0]]}, "topic_word must hold probabilities that sum to 1"),
        ({"topic_word": [[1.5, -0.5, 0], [1, 0, 0]]}, "topic_word must hold finite numbers that are not neg"),
        ({"topic_word": [[math.nan, 1, 0], [1, 0, 0]]}, "topic_word must hold finite numbers"),
        ({"topic_word": [[math.inf, 1, 0], [1, 0, 0]]}, "topic_word must hold finite numbers"),
        ({"topic_word": "abc"}, "topic_word must be an array of numbers"),
        ({"topic_word": [["1", "0", "0"], ["1", "0", "0"]]}, "topic_word must be an array of numbers"),
        ({"topic_word": np.eye(2, 3) + 0j}, "topic_word must be an array of numbers"),
        ({"topic_word": sp.csr_matrix(np.eye(2, 3))}, "topic_word must be an array of numbers"),
        ({"topic_word": [[1, 0], [1]]}, "topic_word must be an array of numbers"),
        ({"topic_weight": np.ones(3) / 3}, "topic_weight must have shape"),
        ({"topic_weight": [0.5, 0.4]}, "topic_weight must hold probabilities"),
        ({"word_weight": [1.0]}, "word_weight must have shape"),
        ({"word_weight": [1.0, 1.0, 1.0]}, "word_weight must hold probabilities"),
        ({"topic_word_noise": np.ones((3, 2))}, "topic_word_noise must have shape"),
        ({"topic_word_noise": -np.ones((2, 3))}, "topic_word_noise must hold finite numbers"),
        ({"vocabulary": ("a", "b")}, "must have 3 words, one for each column, but has 2"),
        ({"vocabulary": ("a", "b", "a")}, "must be distinct"),
        ({"vocabulary": ("a", "b", 3)}, "sequence of words"),
        ({"vocabulary": "abc"}, "sequence of words"),
        ({"vocabulary": None}, "sequence of words"),
        ({"ledger": None}, "needs the ledger that its cost was booked on"),
        ({"ledger": {"epsilon": 1}}, "needs the ledger that its cost was booked on, but got a dict"),
        ({"configuration": [("a", 1)]}, "must be a mapping"),
        ({"configuration": {"a": [1]}}, r"'a' is \[1\]"),
        ({"configuration": {"a": None}}, "'a' is None"),
        ({"configuration": {1: "a"}}, "1 is 'a'"),
        ({"configuration": {"a": math.nan}}, "that JSON can hold"),
        ({"configuration": {"a": 10**30}}, "that JSON can hold"),
        ({"configuration": {"random_state": 3}}, "a seed is secret"),
        ({"configuration": {"seed": 3}}, "a seed is secret"),
        ({"n_units_noisy": -math.inf}, "n_units_noisy must be finite, or None"),
        ({"n_units_noisy": math.inf}, "n_units_noisy must be finite, or None"),
        ({"n_units_noisy": 10**400}, "n_units_noisy must be finite, or None"),
        ({"n_units_noisy": "12"}, "n_units_noisy must be finite, or None"),
        ({"n_units_noisy": True}, "n_units_noisy must be finite, or None"),
    ],
)
def test_what_is_no_release_is_refused(changes, message):
    Release(**parts())
    with pytest.raises(ReleaseError, match=message):
        Release(**parts(**changes))


def test_the_ledger_is_a_closed_copy():
    whole = parts()
    made = Release(**whole)
    with pytest.raises(PrivacyError, match="closed record"):
        made.ledger.reserve(events.gaussian(50.0), "more")
    whole["ledger"].reserve(events.gaussian(50.0), "more")
    assert len(made.ledger.entries) == 1
    assert made.ledger.path is None


def test_a_ledgers_file_cannot_be_reached(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.json", 2.0, 1e-6)
    ledger.reserve(events.gaussian(5.0), "topics")
    made = Release(**parts(ledger=ledger))
    assert made.ledger.path is None
    assert str(tmp_path).encode() not in pickle.dumps(made)


def test_the_guarantee_names_everything():
    made = Release(**parts())
    for part in ("epsilon = ", "delta = 1e-06", "unit: document", "add_or_remove_one"):
        assert part in made.guarantee
    assert made.promise == made.ledger.guarantee()
    assert made.determinism == "secure"
    assert "seed" not in made.guarantee
    seeded = Release(**parts(reproducible=True))
    assert seeded.determinism == "reproducible, not for release"
    assert "reproducible, not for release" in seeded.guarantee


def test_one_seeded_booking_marks_the_release():
    ledger = Ledger(2.0, 1e-6)
    ledger.reserve(events.gaussian(5.0), "vocabulary (sips, reproducible, not for release)")
    assert Release(**parts(ledger=ledger)).reproducible


def test_top_words_are_those_of_a_sort():
    made = release(n_topics=4, n_words=50)
    for row, found in zip(made.topic_word, made.top_words(7), strict=True):
        expected = sorted(range(50), key=lambda word: (-row[word], word))[:7]
        assert found == [made.vocabulary[word] for word in expected]
    assert Release(**parts()).top_words(3) == [["a", "b", "c"], ["c", "b", "a"]]  # ties in their order
    assert [len(words) for words in Release(**parts()).top_words(99)] == [3, 3]
    with pytest.raises(ReleaseError, match="at least 1, but is 0"):
        made.top_words(0)


def test_equality_is_by_content():
    assert Release(**parts()) == Release(**parts())
    others = {
        "topic_word": [[0.5, 0.25, 0.25], [0.0, 0.25, 0.75]],
        "vocabulary": ("a", "c", "b"),
        "ledger": Ledger(2.0, 1e-6),
        "configuration": {"n_topics": 2.0, "doc_topic_prior": 0.1},
        "reproducible": True,
        "topic_weight": None,
        "word_weight": [0.25, 0.5, 0.25],
        "topic_word_noise": None,
        "n_units_noisy": None,
    }
    assert set(others) == set(parts())
    for name, other in others.items():
        assert Release(**parts()) != Release(**parts(**{name: other})), name
        assert Release(**parts(**{name: other})) != Release(**parts()), name
    assert Release(**parts()) != "a release"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Release(**parts()))


def test_copies_and_pickles_are_equal():
    made = Release(**parts(reproducible=True))
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):  # noqa: S301
        assert other == made
        assert not other.topic_word.flags.writeable
        assert other.ledger.closed


def test_a_release_says_briefly_what_it_is():
    assert repr(Release(**parts())).startswith("<Release: 2 topics, 3 words, secure; Ledger(epsilon=2,")
    assert len(repr(release(n_topics=20, n_words=1000))) < 200


def test_settings_can_be_added():
    made = Release(**parts())
    more = made.with_settings(token_pattern=r"\w+")
    assert more.configuration == {"n_topics": 2, "doc_topic_prior": 0.1, "token_pattern": r"\w+"}
    assert "token_pattern" not in made.configuration
    assert more.with_settings() == more
    assert Release(**{**parts(), "configuration": more.configuration}) == more


@pytest.mark.parametrize("documents", [["hissen", ""], np.zeros((2, 3), int)])
def test_documents_without_a_known_word_are_told_of(documents):
    """All rows were equal shares, in silence."""
    made = Release(**parts(vocabulary=("lift", "stairs", "bicycle")))
    with pytest.warns(CorpusWarning, match="none of 2 documents has a word of the release, so each is said"):
        found = made.transform(documents)
    np.testing.assert_array_equal(found, np.full((2, 2), 0.5))
    made.transform(["lift", ""])


def test_transform_folds_in_under_the_released_topics():
    from discreet.lda import fold_in

    made = release(n_topics=3, n_words=30)
    counts = np.random.default_rng(1).poisson(2.0, (6, 30))
    found = made.transform(counts)
    assert found.shape == (6, 3)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-12)
    np.testing.assert_array_equal(
        found, fold_in(made.topic_word, sp.csr_matrix(counts.astype(np.int32)), doc_topic_prior=0.1)
    )
    prior = made.with_settings(doc_topic_prior=5.0).transform(counts)
    assert np.abs(prior - 1 / 3).max() < np.abs(found - 1 / 3).max()
    with pytest.raises(CorpusError, match="30 words are expected"):
        made.transform(counts[:, :20])


def test_counts_of_other_words_are_not_taken_for_these():
    made = release(n_topics=3, n_words=30)
    counts = sp.csr_matrix(np.random.default_rng(1).poisson(2.0, (6, 30)).astype(np.int32))
    right = Corpus(counts, made.vocabulary)
    np.testing.assert_array_equal(made.transform(right), made.transform(counts))
    turned = Corpus(counts, made.vocabulary[::-1])
    assert not np.allclose(made.transform(turned), made.transform(counts))
    np.testing.assert_array_equal(made.transform(turned), made.transform(counts[:, ::-1]))
    with pytest.raises(CorpusError, match="of its 30 words 1 are missing, and of the 30 given 1 are unknown"):
        made.transform(Corpus(counts, [*made.vocabulary[:-1], "strange"]))


def test_nothing_of_the_documents_is_in_a_fitted_release():
    """Its size does not depend on their number, and canaries planted in them are not found in it."""
    from discreet import PrivateLDA

    rng = np.random.default_rng(4)
    sizes = []
    for n_documents in (200, 1000):
        counts = rng.poisson(0.5, (n_documents, 12)).astype(np.int32)
        counts[7, 3] = 1_234_567  # a document that would be recognised
        model = PrivateLDA(n_topics=2, epsilon=math.inf).fit(
            counts, vocabulary=list("abcdefghijkl"), words_are_public=True
        )
        made = model.release_
        raw = pickle.dumps(Release(**{**_public(made), "n_units_noisy": 1.0, "configuration": {}}))
        sizes.append(len(raw))
        assert b"1234567" not in raw
        assert np.int32(1_234_567).tobytes() not in raw
        assert np.float64(1_234_567).tobytes() not in raw
    assert sizes[0] == sizes[1]


def _public(made):
    return {name: getattr(made, name) for name in parts()}


def test_top_words_by_probability_or_by_lift():
    topics = [[0.5, 0.3, 0.2, 0.0], [0.5, 0.1, 0.1, 0.3]]
    shares = np.array([0.7, 0.25, 0.05, 0.0])
    made = Release(
        **parts(topic_word=topics, vocabulary=tuple("abcd"), word_weight=shares, topic_word_noise=None)
    )
    assert made.top_words(2) == [["a", "b"], ["a", "d"]]
    # p(w|k)^1.5 p(w)^-0.5: .42 .33 .40 0; .42 .06 .14 .73 (a share of zero counts as the smallest)
    assert made.top_words(4, by="lift") == [["a", "c", "b", "d"], ["d", "a", "c", "b"]]
    with pytest.raises(ReleaseError, match='"probability" or "lift", but is \'relevance\''):
        made.top_words(by="relevance")
    with pytest.raises(ReleaseError, match="no word_weight"):
        Release(**parts(word_weight=None)).top_words(by="lift")
