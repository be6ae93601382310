"""What PrivateLDA refuses, when, and in which words."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive.central_checks import random_counts
from tests.naive.private_lda import COUNTS, PERSONS, SAMPLED, make

from discreet import Corpus, Ledger, PrivateCountVectorizer, PrivateLDA, fit_topics
from discreet.central import private_lda as module
from discreet.corpus.vocabulary import FROM_TEXT
from discreet.errors import CorpusError, ParameterError, PrivacyError, WeakForecastWarning
from discreet.privacy.units import large_delta

# ---- refusals


def fails(error, match, X=COUNTS, *, how=None, **changes):
    if "ledger" not in changes:
        changes["ledger"] = Ledger(100, 1e-5, privacy_unit=changes.get("privacy_unit", "document"))
    ledger = changes.pop("ledger")
    with pytest.raises(error, match=match):
        make(ledger=ledger, **changes).fit(X, **(how or {}))
    return len(ledger.entries) if isinstance(ledger, Ledger) else 0


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"epsilon": 0}, PrivacyError, "epsilon"),
        ({"epsilon": -1.0}, PrivacyError, "epsilon"),
        ({"epsilon": math.nan}, PrivacyError, "epsilon"),
        ({"delta": 0.0}, PrivacyError, "delta"),
        ({"delta": 1.0}, PrivacyError, "delta"),
        ({"delta": 0.02, "n_units_lower_bound": 100}, PrivacyError, "delta"),
        ({"n_topics": 0}, ParameterError, "n_topics"),
        ({"n_topics": 2.5}, ParameterError, "n_topics"),
        ({"n_topics": True}, ParameterError, "n_topics"),
        ({"n_rounds": 0}, ParameterError, "n_rounds"),
        ({"doc_topic_prior": 0.0}, ParameterError, "doc_topic_prior"),
        ({"doc_topic_prior": math.nan}, ParameterError, "doc_topic_prior"),
        (
            {"doc_topic_prior": 1e19},
            ParameterError,
            r"doc_topic_prior must be at least 1e-12 and at most 1e\+12",
        ),
        ({"doc_topic_prior": 1e-50}, ParameterError, r"doc_topic_prior must be at least 1e-12"),
        ({**SAMPLED, "doc_topic_prior": 1e39}, ParameterError, r"doc_topic_prior must be at least 1e-12"),
        ({**SAMPLED, "topic_word_prior": -1}, ParameterError, "topic_word_prior"),
        ({**SAMPLED, "contribution_bound": math.inf}, ParameterError, "contribution_bound"),
        ({**SAMPLED, "learning_offset": -0.1}, ParameterError, "learning_offset"),
        ({**SAMPLED, "learning_decay": 0}, ParameterError, "learning_decay"),
        ({"sampling_rate": 0}, ParameterError, "sampling_rate"),
        ({"sampling_rate": 1.01}, ParameterError, "sampling_rate"),
        ({**SAMPLED, "denoise": "magic"}, ParameterError, "denoise"),
        ({"random_state": -1}, ParameterError, "random_state"),
        ({"random_state": 0.5}, ParameterError, "random_state"),
        ({"n_jobs": 0}, ParameterError, "n_jobs"),
        ({"n_units_lower_bound": 0}, ParameterError, "n_units_lower_bound"),
        ({"n_units_lower_bound": "many"}, ParameterError, "n_units_lower_bound"),
        ({"privacy_unit": "person"}, PrivacyError, "persons"),
        ({"ledger": 3}, PrivacyError, "ledger"),
        ({"ledger": Ledger(9, 1e-5, privacy_unit="person")}, PrivacyError, "person"),
        ({"ledger": Ledger(9, 1e-5, neighboring="replace_one")}, PrivacyError, "replace_one"),
    ],
)
def test_parameters_out_of_range_are_refused_before_anything_is_booked(changes, error, match):
    assert fails(error, match, **changes) == 0


@pytest.mark.parametrize("prior", [1e-12, 1e12])
def test_single_precision_holds_the_priors_at_their_bounds(prior):
    """Beyond them (1e20, 1e-50) topics were the unigram, 0.01 from it, or a few words that are 1.7 from it."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(8 * rng.dirichlet([0.3, 0.3], 2000) @ (np.repeat(np.eye(2), 15, axis=1) / 15))
    model = PrivateLDA(2, epsilon=math.inf, doc_topic_prior=prior, random_state=0).fit(counts)
    distance = np.abs(model.components_ - counts.sum(0) / counts.sum()).sum(1)
    assert (distance > 0.3).all()
    assert (distance < 1.2).all()


@pytest.mark.parametrize("unit", ["word", "report", "person"])
def test_units_that_it_cannot_protect_are_refused(unit):
    assert fails(PrivacyError, "privacy_unit", privacy_unit=unit, ledger=Ledger(9, 1e-5)) == 0


def test_all_mistakes_are_named_in_one_message():
    with pytest.raises(PrivacyError) as caught:
        make(epsilon=-1, delta=2, n_topics=0, sampling_rate=7, denoise="x", random_state=-1, n_jobs=0).fit(
            None
        )
    names = ("epsilon", "delta", "n_topics", "sampling_rate", "denoise", "random_state", "n_jobs")
    assert caught.value.parameters == names
    for name in names:
        assert name in str(caught.value)


def test_parameters_of_dp_svi_are_shown_the_way_there():
    for name in (
        "sampling_rate",
        "topic_word_prior",
        "contribution_bound",
        "learning_offset",
        "learning_decay",
    ):
        with pytest.raises(ParameterError, match="PrivateSVILDA") as caught:
            PrivateLDA(2, **{name: 0.5})
        assert caught.value.parameters == (name,)
    with pytest.raises(TypeError, match="unexpected"):
        PrivateLDA(2, magic=True)
    assert "sampling_rate" not in PrivateLDA().get_params()


def with_value(value):
    dense = COUNTS.toarray().astype(float)
    dense[7, 3] = value
    return dense


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (with_value(math.nan), "NaN.*row 8"),
        (with_value(math.inf), "infinity.*row 8"),
        (with_value(-2), "Negative.*row 8"),
        (with_value(0.5), "whole.*row 8"),
        (sp.csr_matrix(with_value(-2)), "Negative.*row 8"),
        (np.zeros((5, 0)), "0 feature"),
    ],
)
def test_bad_counts_are_refused_and_named(X, match):
    assert fails(CorpusError, match, X) == 0


@pytest.mark.parametrize("X", [np.zeros(30), "one text", ["two", "texts"], np.array(["a", "b"])])
def test_what_cannot_be_counts_for_its_kind_alone_costs_nothing(X):
    assert fails(CorpusError, "PrivateCountVectorizer", X) == 0


def test_persons_and_vocabulary_must_fit():
    by_person = {"privacy_unit": "person"}
    for persons in (PERSONS[:-1], PERSONS[:, None], [], 3):
        fails(CorpusError, "persons", how={"persons": persons}, **by_person)
    public = {"words_are_public": True}
    fails(CorpusError, "29 words", how={"vocabulary": [f"w{i}" for i in range(29)], **public})
    assert fails(ParameterError, "same as 0", how={"vocabulary": ["w"] * 30, **public}) == 0
    model = make().fit(COUNTS, vocabulary=[f"w{i}" for i in range(30)], words_are_public=True)
    for X in (COUNTS[:, :29], np.zeros((2, 31))):
        with pytest.raises(CorpusError, match="features"):
            model.transform(X)
    assert model.transform(COUNTS).shape == (400, 2)


def test_words_from_the_private_text_are_refused():
    corpus = Corpus(COUNTS, [f"w{i}" for i in range(30)]).with_word_origin(FROM_TEXT)
    assert fails(PrivacyError, "words_are_public=True.*PrivateCountVectorizer", corpus) == 0


def test_a_hopeless_fit_is_refused_before_booking_where_a_bound_is_public():
    corpus = random_counts(100, 300, 3)
    hopeless = {"n_topics": 50, "epsilon": 1.0, "allow_unlearnable": False}
    assert fails(ParameterError, "Nothing was booked", corpus, n_units_lower_bound=100, **hopeless) == 0
    assert fails(ParameterError, "stays booked", corpus, **hopeless) == 1
    named = Corpus(corpus, [f"w{i}" for i in range(300)], words_are_public=True)
    assert fails(ParameterError, "Nothing was booked", named, n_units_lower_bound=100, **hopeless) == 0
    model = make(**{**hopeless, "allow_unlearnable": True}).fit(corpus)
    assert model.forecast_.difficulty > 30
    assert "mostly noise" in model.release_.configuration["forecast"]


TOO_LARGE = (
    r"delta = 0.01 is too large: there are about [23],\d\d\d documents.* but the cost stays booked; allow_"
)


@pytest.mark.parametrize("kind", [PrivateLDA])
def test_a_delta_above_one_over_the_units_is_refused_before_topics_are_trained(kind):
    corpus, stages = random_counts(3000, 40, 3), []

    def fit(of_ledger, **settings):
        ledger = Ledger(4.0, of_ledger)
        settings = {"epsilon": 2.0, "delta": of_ledger, "random_state": 0} | settings
        model = kind(
            2, ledger=ledger, allow_unlearnable=True, callback=lambda *s: stages.append(s[0]), **settings
        )
        return model, ledger

    model, ledger = fit(0.01)
    with pytest.raises(PrivacyError, match=TOO_LARGE):
        model.fit(corpus)
    assert len(ledger.entries) == 1
    assert not hasattr(model, "release_")
    assert not {"training rounds", "starting topics", "fitting topics"} & set(stages)
    model, ledger = fit(0.01, delta=1e-6)
    with pytest.raises(
        PrivacyError, match=r"It is that of the ledger, not this fit's 1e-06\. Nothing was trained"
    ):
        model.fit(corpus)
    assert "0.01 is too large" in fit(0.01, allow_large_delta=True)[0].fit(corpus).release_.card()
    fit(1e-6)[0].fit(corpus)
    fit(1e-6)[0].fit(corpus[:10])
    fit(0.01, epsilon=math.inf)[0].set_params(ledger=None).fit(corpus)


def test_a_delta_too_large_is_refused_without_a_limit_on_the_ledger_and_with_a_public_bound():
    texts = [f"w{i % 7} w{i % 5} w{i % 3}" for i in range(3000)]
    words = PrivateCountVectorizer(epsilon=2.0, delta=0.01, random_state=0)
    counts = words.fit_transform(texts)  # its own ledger has no limit
    with pytest.raises(PrivacyError, match=r"delta = 0.01 is too large.* but the cost stays booked"):
        make(n_topics=2, epsilon=2.0, delta=0.01).fit(counts)
    sampled = {"n_topics": 2, "epsilon": 2.0, "delta": 0.01, "sampling_rate": 0.5}
    for more in ({}, {"allow_large_delta": True}):
        model = make(**sampled, **more)
        if more:
            model.fit(counts)
        else:
            with pytest.raises(PrivacyError, match=r"about 2,\d\d\d documents.*Nothing was trained"):
                model.fit(counts)
    corpus = random_counts(3000, 40, 3)
    with pytest.raises(PrivacyError, match="1/3000"):
        make(n_units_lower_bound=3000, delta=0.01).fit(corpus)
    make(n_units_lower_bound=3000, delta=0.01, allow_large_delta=True).fit(corpus)


def test_the_delta_proposed_is_below_one_over_the_units():
    assert "such as 1e-06." in large_delta(0.01, 3000, "document")
    assert "such as 1e-08." in large_delta(1e-6, 2e6, "document")


def test_the_limit_of_the_refusal_is_thirty():
    # x = V K / (n mu); n pinned through a public bound.
    mu = module.gdp_mu(1.0, 1e-5)
    n = 1000
    width = int(30 * n * mu / 10)
    model = make(n_topics=10, epsilon=1.0, n_units_lower_bound=n, allow_unlearnable=False)
    model._check_call(sp.csr_matrix((1, width)), None)
    with pytest.raises(ParameterError, match="mostly noise"):
        model._check_call(sp.csr_matrix((1, width + 2)), None)


def test_more_topics_than_words_can_tell_apart_are_refused_while_nothing_is_booked():
    """Fewer words must not mean fewer refusals: 500 topics over 16 words pass the limit of noise, over 200 not."""
    said = r"^16 words cannot tell 500 topics apart.* at most n_topics=8, or for more words\. Nothing was booked; "
    counts, many = random_counts(4000, 16, 3), {"n_topics": 500, "epsilon": 20.0, "allow_unlearnable": False}
    assert fails(ParameterError, said, counts, **many) == 0
    book = Ledger(20.0, 1e-6)
    how = {"epsilon": 20.0, "ledger": book, "random_state": 0, "words_are_public": True}
    with pytest.raises(ParameterError, match=r"16 words cannot tell 9 topics apart.*Nothing was booked"):
        fit_topics(["w1 w2"] * 9, n_topics=9, vocabulary=[f"w{i}" for i in range(16)], **how)
    assert book.entries == ()
    own = Corpus.from_texts(["w1 w2"] * 9, words_are_public=False)  # how many words these have is theirs
    assert make(**many)._faults_of_call(own, None) == []
    make(n_topics=8, epsilon=20.0, allow_unlearnable=False)._check_call(counts, None)
    make(**{**many, "allow_unlearnable": True})._check_call(counts, None)
    make(**{**many, "epsilon": math.inf})._check_call(
        counts, None
    )  # the twin promises nothing and warns of nothing


def test_more_topics_than_the_most_words_that_may_be_chosen_are_refused_while_nothing_is_booked():
    book = Ledger(20.0, 1e-6)
    how = {"epsilon": 20.0, "ledger": book, "random_state": 0, "max_words": 16}
    with pytest.raises(ParameterError, match=r"16 words cannot tell 9 topics apart.*Nothing was booked"):
        fit_topics(["w1 w2"] * 9, n_topics=9, **how)
    assert book.entries == ()


def test_a_refusal_for_a_public_number_of_units_does_not_tell_how_many_words_the_texts_have():
    """Of two corpora that differ in one private word only, both or neither are refused, and with the same words."""
    few = {"n_units_lower_bound": 60, "epsilon": 1.0, "delta": 1e-5, "allow_unlearnable": False}
    told = []
    for words in (4, 5, 400):
        texts = [" ".join(f"w{j}" for j in range(words))] * 9
        own = Corpus.from_texts(texts, words_are_public=False)
        told.append([*map(str, make(n_topics=20, **few)._faults_of_call(own, None))])
        assert make(n_topics=2, **few)._faults_of_call(own, None) == []
        assert str(*make(n_topics=20, **few)._faults_of_call(texts, None)) == told[-1][0]
    assert told[0] == told[1] == told[2]
    assert told[0][0].startswith("With 2 words a topic, which is the best case: Forecast: ")


def test_weak_topics_are_warned_of_before_they_are_trained():
    texts = [" ".join(f"w{(i * j) % 97}" for j in range(1, 12)) for i in range(6000)]
    stages = []
    how = {"epsilon": 8.0, "random_state": 0, "callback": lambda *told: stages.append(told[0])}
    for n_topics in (90, 500):
        said = f"About 97 words .* too few to tell {n_topics} topics apart.* Nothing was booked"
        with pytest.raises(ParameterError, match=said):
            fit_topics(texts, n_topics=n_topics, **how)
    assert "starting topics" not in stages
    assert "training rounds" not in stages
    fit_topics(texts, n_topics=5, **how)
    fit_topics(texts[:2000], n_topics=50, **{**how, "allow_unlearnable": True})


def test_a_forecast_knows_how_much_of_the_text_its_words_make_up():
    rng = np.random.default_rng(0)
    texts = [" ".join([f"w{rng.integers(12)}" for _ in range(8)] + [f"rare{rng.integers(10**6)}" for _ in range(12)])
             for _ in range(4000)]  # fmt: skip
    with pytest.warns(
        WeakForecastWarning,
        match=r"^Forecast: too little of the text.*cover about (39|40|41) % \(±\d points?\) of the text, and",
    ) as told:
        release = fit_topics(texts, n_topics=2, epsilon=4.0, random_state=0)
    assert {one.filename for one in told} == {__file__}
    said = f"cover about {100 * release.configuration['text_covered']:.0f} % (±"
    assert said in release.configuration["forecast"]
    assert said.replace("cover", "The words make up") in release.to_html().split("<main")[0]
    assert said in release.card()


def test_the_twin_without_privacy_is_warned_of_nothing():
    make(n_topics=2, epsilon=math.inf, allow_unlearnable=False).fit(
        random_counts(40, 3, 2)
    )  # warnings are errors
