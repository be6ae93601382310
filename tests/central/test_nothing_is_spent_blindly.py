"""What a fit from Python says before it spends, and what it leaves where words show that the rest is no use."""

import random
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from discreet import (
    BudgetExceeded,
    Corpus,
    Ledger,
    ParameterError,
    PrivacyError,
    PrivateCountVectorizer,
    PrivateLDA,
    TopicPrevalence,
    check_topics,
    fit_topics,
)
from discreet.central import bring_topics, share_topics
from discreet.corpus import write_shards
from discreet.errors import CorpusError, CorpusWarning
from discreet.privacy.accounting import events

WORDS = "ward bed nurse storm coast law".split()
DRAWN = random.Random(0)
TEXTS = [" ".join(DRAWN.choices(WORDS, k=6)) for _ in range(600)]
GERMAN = "die und der nicht ist ein ich das mit es auf Zimmer Essen Schwester Warten".split()


def fit(texts=TEXTS, **how):
    return fit_topics(texts, **({"epsilon": 2.0, "n_topics": 2, "random_state": 0} | how))


def some(n_texts, n_words=60):
    """Texts of six words each: at epsilon 1 about 20 of 60 words are chosen of 2,500, and 0 of 1,000."""
    words = [f"word{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(n_words)]
    draw = random.Random(0)
    return [" ".join(draw.sample(words, 6)) for _ in range(n_texts)]


@pytest.mark.filterwarnings("ignore::discreet.errors.WeakForecastWarning")
@pytest.mark.parametrize("own", [True, False])
def test_more_topics_than_the_chosen_words_tell_apart_cost_no_more_than_the_words(own):
    ledger = None if own else Ledger(1.0)
    said = "About 20 words would be chosen from 2,500 documents, too few to tell 13 topics apart: ask for at most n_to"
    with pytest.warns(CorpusWarning, match=said) as warned, pytest.raises(ParameterError) as caught:
        fit(some(2500), epsilon=1.0, n_topics=13, ledger=ledger)
    assert "If it ends at too few words, what is booked by then stays booked. It goes on" in str(
        warned[0].message
    )
    assert "check_topics looks before, and spends nothing" in str(warned[0].message)
    assert "words cannot tell 13 topics apart, whatever the noise: ask for at most n_topics=" in str(
        caught.value
    )
    assert "Of epsilon 1, 0.2138 is spent; another fit on these texts may spend about 0.9" in str(
        caught.value
    )
    if ledger is not None:
        assert [entry.purpose.split()[0] for entry in ledger.entries] == ["vocabulary"]
        assert fit(some(2500), n_topics=3, epsilon=0.9, ledger=ledger).promise.epsilon <= 1.0 * (1 + 1e-9)


LETTERS = [first + second + "x" for first in "abcdefghijkl" for second in "abcdefghijkl"]
HOPELESS = {
    "no word": (
        TEXTS,
        {"epsilon": 0.1},
        "About 0 words would be chosen from 600 documents, .*how-to/few-texts",
    ),
    "few words": (TEXTS, {"n_topics": 12}, "About 6 words .* ask for at most n_topics=3"),
    "six persons": (
        TEXTS,
        {"persons": ["abcdef"[row % 6] for row in range(600)]},
        "from the texts of 6 persons",
    ),
    "nothing but noise": (
        some(60),
        {
            "vocabulary": [*LETTERS, *some(60)[0].split()],
            "words_are_public": True,
            "epsilon": 0.1,
            "n_topics": 50,
            "stop_words": None,
        },
        "The topics would be noise, and nothing would be trained: ask for fewer topics",
    ),
}


@pytest.mark.parametrize("why", HOPELESS)
def test_a_fit_that_would_end_without_topics_is_refused_before_anything_is_booked(why):
    texts, how, said = HOPELESS[why]
    ledger = Ledger(2.0, privacy_unit="person" if "persons" in how else "document")
    with pytest.raises(ParameterError, match=f"For you alone.*{said}.* Nothing was booked"):
        fit(texts, ledger=ledger, **how)
    assert not ledger.entries
    assert "Refused: " in str(check_topics(texts, **({"epsilon": 2.0, "n_topics": 2} | how)))


@pytest.mark.filterwarnings(
    "ignore::discreet.errors.WeakForecastWarning", "ignore::discreet.errors.CorpusWarning"
)
def test_how_often_fits_end_without_topics_is_foretold():
    """Of sixty texts and public words, fits ended that nothing had been said of."""
    words = some(60)[0].split() + some(60)[1].split()[:3]
    how = {"epsilon": 0.5, "n_topics": 4, "vocabulary": words, "words_are_public": True}
    told = re.search(
        r"nothing would be trained, with a probability of at least (\d+) %",
        str(check_topics(some(60), **how)),
    )
    chance = int(told[1]) / 100
    assert 0.1 < chance < 0.5
    ends = 0
    for seed in range(60):
        try:
            fit(some(60), **how | {"random_state": seed})
        except ParameterError as ended:
            ends += "Nothing was trained" in str(ended)
    assert abs(ends - 60 * chance) < 3 * np.sqrt(60 * chance * (1 - chance))


@pytest.mark.filterwarnings("ignore::discreet.errors.WeakForecastWarning")
def test_a_delta_that_is_too_large_for_certain_costs_nothing():
    texts, ledger = some(8000), Ledger(2.0, 1e-3)
    with pytest.raises(
        ParameterError, match=r"delta = 0.001 is too large.* Nothing was booked; allow_large_delta=True"
    ):
        fit(texts, ledger=ledger)
    assert not ledger.entries
    assert "Refused: delta = 0.001" in str(check_topics(texts, epsilon=2.0, n_topics=2, delta=1e-3))
    assert "Warning: delta = 0.001" in str(check_topics(texts[:1002], epsilon=1.0, n_topics=1, delta=1e-3))
    with pytest.raises(ParameterError, match=r"delta = 0.001 is too large"):
        fit(texts, ledger=ledger, delta=1e-6)  # the ledger tells releases at its own
    assert not ledger.entries
    assert fit(texts, ledger=ledger, allow_large_delta=True).promise.delta == 1e-3


@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_a_fit_takes_the_delta_of_its_ledger(delta):
    """At a delta of its own a fit for epsilon 2 cost 2.6, or used less than it paid for."""
    ledger = Ledger(2.0, delta)
    assert fit(ledger=ledger).promise.epsilon == pytest.approx(2.0, rel=1e-3)
    texts, topics = (
        Corpus.from_texts(TEXTS, vocabulary=WORDS, words_are_public=True),
        bring_topics({"a": WORDS, "b": WORDS}),
    )
    for each in (
        lambda book: PrivateLDA(2, epsilon=1.0, ledger=book).fit(texts),
        lambda book: PrivateCountVectorizer(epsilon=1.0, ledger=book).fit(TEXTS),
        lambda book: share_topics(TEXTS, topics, epsilon=1.0, ledger=book),
    ):
        book = Ledger(4.0, delta)
        each(book)
        assert 0.8 < book.spent().epsilon <= 1.0 + 1e-9
    with pytest.raises(PrivacyError, match=r"delta = 0.0001 is above that of the ledger, .* leave delta out"):
        fit(ledger=Ledger(2.0, delta), delta=1e-4)


def test_a_public_list_without_a_word_of_the_texts_costs_nothing():
    ledger = Ledger(2.0)
    how = {"vocabulary": ["zimmer", "essen", "warten", "schwester"], "words_are_public": True}
    with pytest.raises(
        CorpusError, match="no document has a word of the list: expected texts in its language"
    ):
        fit(ledger=ledger, **how)
    assert not ledger.entries
    fit(["zimmer essen", *TEXTS], ledger=ledger, allow_unlearnable=True, **how)


def test_texts_are_looked_at_in_python_as_by_the_command():
    ledger = Ledger(2.0)
    seen = check_topics(TEXTS, epsilon=2.0, n_topics=2, ledger=ledger)
    assert not ledger.entries
    assert seen.n_documents == 600
    assert round(seen.n_words) == 6
    assert str(seen).startswith("600 documents.\nAbout 6 words would be chosen. Forecast:")
    assert "Warning" not in str(seen)
    german = check_topics([" ".join(GERMAN)] * 300, epsilon=2.0, n_topics=2)
    assert re.search(r"Warning: \d+ % of the words that count stand on the German list", str(german))
    some_more = check_topics(some(2500), epsilon=1.0, n_topics=12)
    assert "With half of epsilon for the words (vocabulary_share=0.5): about 60 words." in str(some_more)
    with pytest.raises(TypeError, match="Did you mean 'n_topics'"):
        check_topics(TEXTS, epsilon=2.0, n_topic=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        check_topics(TEXTS, epsilon=2.0, nonsense=3)
    with pytest.raises(CorpusError, match="only texts that are held can be looked at"):
        check_topics(iter(TEXTS), epsilon=2.0)
    with pytest.raises(PrivacyError, match="epsilon must"):
        check_topics(TEXTS, epsilon=-1.0)


@pytest.mark.parametrize("beside", ["persons", "by"])
def test_what_stands_beside_a_frame_must_have_its_index(beside):
    """A shuffled series was laid beside the rows of a frame by position."""
    frame = pd.DataFrame({"text": TEXTS, "patient": [f"p{row % 40}" for row in range(600)]})
    ledger = Ledger(2.0, privacy_unit="person" if beside == "persons" else "document")
    shuffled = frame.sample(frac=1, random_state=0).patient
    how = {"persons": shuffled}
    if beside == "by":
        groups = sorted(set(shuffled))
        how = {"by": shuffled, "prevalence": TopicPrevalence(None, groups=groups, epsilon=0.5)}
    with pytest.raises(CorpusError, match=f"{beside} has another index than the documents"):
        fit(frame, ledger=ledger, **how)
    with pytest.raises(CorpusError, match="skip_empty= leaves out rows that persons= speaks of"):
        fit(frame, skip_empty=True, persons=list(shuffled))
    assert not ledger.entries


@pytest.mark.parametrize("column", ["pandas", "polars", "numpy"])
def test_a_column_of_texts_is_looked_at_as_a_list_is(column):
    """A series of German texts was fitted without a word about the language."""
    kinds = {"numpy": lambda texts: np.array(texts, object)}
    kinds |= {name: pytest.importorskip(name).Series for name in {column} - {"numpy"}}
    ledger = Ledger(2.0)
    with pytest.raises(CorpusWarning, match="German list of stop words"):
        fit(kinds[column]([" ".join(GERMAN)] * 300), ledger=ledger)
    assert not ledger.entries


def test_a_warning_that_is_an_error_stops_before_anything_is_booked():
    ledger = Ledger(2.0)
    with pytest.raises(CorpusWarning, match="for you alone"):  # as the suite's filters make it
        fit(some(2500), epsilon=1.0, n_topics=13, ledger=ledger)
    assert not ledger.entries


def test_the_language_of_the_texts_is_held_against_the_stop_words():
    texts = [" ".join(DRAWN.choices(GERMAN, k=9)) for _ in range(600)]
    with pytest.warns(CorpusWarning, match=r"German list .* Leave them out: stop_words='german'"):
        fit(texts)
    fit(texts, stop_words="german")
    ledger = Ledger(2.0)
    for held in (texts, Corpus.from_texts(texts)):
        with pytest.raises(CorpusWarning, match=r"German list .* Leave them out: stop_words='german'"):
            PrivateCountVectorizer(epsilon=1.0, stop_words=None, ledger=ledger).fit(held)
    assert not ledger.entries
    PrivateCountVectorizer(epsilon=1.0, stop_words="german", ledger=ledger).fit(texts)
    italian = "la il una da si le ma lui noi che di per non della camera letto notte infermiera".split()
    drawn = [" ".join(DRAWN.choices(italian, k=9)) for _ in range(600)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit(drawn)
    of_lists = [str(one.message) for one in told if "list of stop words" in str(one.message)]
    assert len(of_lists) == 1  # and not of Romanian, whose list shares words
    assert "stop_words='italian'" in of_lists[0]
    fit()  # a warning would be an error


def test_a_pipeline_whose_topics_the_ledger_cannot_pay_pays_for_no_words():
    """The same cell run again booked words a second time, and ended at the topics."""
    ledger = Ledger(2.0)
    words = PrivateCountVectorizer(epsilon=0.5, ledger=ledger, random_state=0)
    topics = PrivateLDA(2, epsilon=1.9, ledger=ledger, random_state=0)
    pipe = make_pipeline(words, topics)
    assert len(pipe.fit(TEXTS)[-1].release_.ledger.entries) == 2
    with pytest.raises(BudgetExceeded, match=r"'vocabulary .* and 'topics .*the total of 4 bookings"):
        pipe.fit(TEXTS)
    assert len(ledger.entries) == 2
    anew = Ledger(2.0)
    pipe.set_params(privatecountvectorizer__ledger=anew, privatelda__ledger=anew, privatelda__n_topics=0)
    with pytest.raises(ParameterError, match="n_topics must"):
        pipe.fit(TEXTS)
    assert not anew.entries
    other = Ledger(2.0)
    pipe.set_params(privatelda__n_topics=2, privatelda__ledger=other)
    with pytest.raises(PrivacyError, match=r"book on several ledgers: .* Nothing was booked"):
        pipe.fit(TEXTS)
    assert not anew.entries
    pipe.set_params(privatelda__ledger=None)  # its words say which ledger
    assert len(pipe.fit(TEXTS)[-1].release_.ledger.entries) == 2


PERSONS = [f"p{row % 300}" for row in range(600)]


def chooser(ledger=None, **how):
    return PrivateCountVectorizer(**({"epsilon": 0.5, "ledger": ledger, "random_state": 0} | how))


def topics(ledger=None, **how):
    return PrivateLDA(2, **({"epsilon": 1.0, "ledger": ledger, "random_state": 0} | how))


LATER = {
    "a seed on one step": (
        lambda book: [chooser(book, random_state=None), topics(book)],
        "has a seed: give",
    ),
    "several ledgers": (lambda book: [chooser(book), topics(Ledger(2.0))], "book on several ledgers"),
    "another unit": (lambda book: [chooser(book), topics(privacy_unit="person")], "protects document"),
    "too many topics": (
        lambda book: [chooser(book, max_words=2), topics(book)],
        "2 words cannot tell 2 topics apart",
    ),
    "too little left": (
        lambda book: [chooser(book), topics(book, epsilon=2.0)],
        "'vocabulary .* and 'topics",
    ),
    "nested": (
        lambda book: [make_pipeline(chooser(book)), topics(book, epsilon=2.0)],
        "'vocabulary .* and 'topics",
    ),
}


@pytest.mark.parametrize("why", LATER)
@pytest.mark.parametrize("memory", [False, True])
def test_what_would_end_a_later_step_ends_a_pipeline_before_its_words_are_booked(why, memory, tmp_path):
    steps, said = LATER[why]
    ledger = Ledger(2.0)
    pipe = make_pipeline(*steps(ledger), memory=str(tmp_path) if memory else None)
    with pytest.raises((ParameterError, PrivacyError, BudgetExceeded), match=said):
        pipe.fit(TEXTS)
    assert not ledger.entries


def test_pipelines_whose_steps_go_together_are_fitted(tmp_path):
    path = tmp_path / "ledger.json"
    handles = [Ledger.open(path, 2.0), Ledger.open(path)]
    make_pipeline(chooser(handles[0]), topics(handles[1])).fit(TEXTS)
    assert len(handles[0].entries) == 2
    public = {"vocabulary": WORDS, "words_are_public": True}
    ledger = Ledger(2.0)
    make_pipeline(chooser(ledger, **public), topics(ledger)).fit(TEXTS)
    assert len(ledger.entries) == 1


def test_a_ledger_that_a_corpus_carries_keeps_its_delta_and_its_seeds():
    ledger = Ledger(4.0, 1e-7)
    counts = chooser(ledger, random_state=None).fit_transform(TEXTS)
    for how, said in (
        ({"delta": 1e-4}, "above that of the ledger"),
        ({"random_state": 0}, "would mark all later"),
    ):
        with pytest.raises(PrivacyError, match=said):
            topics(**({"random_state": None} | how)).fit(counts)
        with pytest.raises(PrivacyError, match=said):
            fit(counts, epsilon=1.0, **({"random_state": None} | how))
    assert len(ledger.entries) == 1
    assert topics(random_state=None).fit(counts).release_.configuration["delta"] == 1e-7


def test_persons_of_a_corpus_go_with_a_ledger_of_persons():
    ledger = Ledger(2.0, privacy_unit="person")
    made = fit(Corpus.from_texts(TEXTS, persons=PERSONS), ledger=ledger)
    assert made.promise.privacy_unit == "person"


def test_the_look_knows_what_is_booked_with_the_topics():
    """Shares took half of epsilon, and topics were foretold as if they had all of it."""
    words = sorted({word for text in some(3000, 300) for word in text.split()})
    how = {"vocabulary": words, "words_are_public": True, "n_topics": 60, "epsilon": 1.0}
    alone = check_topics(some(3000, 300), **how)
    shares = TopicPrevalence(None, groups=["a", "b"], epsilon=0.95)
    beside = {"prevalence": shares, "by": ["a", "b"] * 1500}
    both = check_topics(some(3000, 300), **how, **beside)
    assert both.forecast.difficulty > 2 * alone.forecast.difficulty
    for other, said in (
        ({"delta": 0.01}, "a delta above that of the run"),
        ({"random_state": 3}, "has a seed"),
    ):
        with pytest.raises(PrivacyError, match=said):
            check_topics(some(3000, 300), **how, **beside | {"prevalence": shares.set_params(**other)})
        shares.set_params(delta=None, random_state=None)


def test_a_look_refuses_the_vectors_that_a_fit_refuses(tmp_path):
    """It said nothing of them; the command read their numbers twice."""
    (tmp_path / "bad.vec").write_text("ward 1 2 3\nbed 1 2 3\ncar 1 x 3\n")
    for public in ({}, {"vocabulary": [*WORDS, "car"], "words_are_public": True}):
        with pytest.raises(CorpusError, match="line 3: expected a word and 3 finite numbers"):
            check_topics(TEXTS, epsilon=2.0, n_topics=2, word_vectors=tmp_path / "bad.vec", **public)


def test_where_no_word_is_chosen_nothing_goes_on():
    for how in ({"n_topics": 1}, {"n_topics": 2, "allow_unlearnable": True}):
        ledger = Ledger(2.0)
        with pytest.raises(ParameterError, match=r"About 0 words would be chosen .* Nothing was booked\.$"):
            fit(epsilon=0.02, ledger=ledger, **how)
        assert not ledger.entries
    told = str(check_topics(TEXTS, epsilon=2.0, n_topics=12, allow_unlearnable=True))
    assert "Refused" not in told
    assert "Warning" not in told


@pytest.mark.filterwarnings("ignore::discreet.errors.WeakForecastWarning")
def test_no_fit_is_refused_that_may_work():
    """The look broke ties in the order of the alphabet, and knew nothing of a choice in rounds."""
    own = [" ".join(f"a{row:03}{number:03}" for number in range(110)) for row in range(600)]
    texts = [f"{text} {' '.join(f'zz{letter}z' for letter in 'bcdefghijklm')}" for text in own]
    assert len(fit(texts, epsilon=8.0, stop_words=None).vocabulary) > 6
    often = [
        f"{' '.join(f'often{letter}' for letter in 'abcdefghij')} rare{row % 40:02}x" for row in range(8000)
    ]
    sips = {"vocabulary_method": "sips", "stop_words": None}
    assert "Refused" not in str(check_topics(often, epsilon=1.0, n_topics=20, **sips))


def test_a_seed_does_not_mark_a_ledger_that_had_none():
    """One fit with a seed made all later releases of a ledger unfit to publish, without a word."""
    ledger = Ledger(4.0)
    fit(epsilon=1.0, ledger=ledger, random_state=None)
    with pytest.raises(
        PrivacyError, match=r"random_state would mark all later releases of this ledger .* leave"
    ):
        fit(epsilon=1.0, ledger=ledger)
    assert len(ledger.entries) == 2
    assert not fit(epsilon=1.0, ledger=ledger, random_state=None).reproducible
    seeded = Ledger(4.0)
    for _ in range(2):
        assert fit(epsilon=1.0, ledger=seeded).reproducible


def test_who_goes_on_all_the_same_is_not_warned():
    fit(n_topics=12, allow_unlearnable=True)
    fit(n_topics=12, epsilon=float("inf"))


def test_faults_in_a_list_of_texts_cost_nothing():
    ledger = Ledger(2.0)
    with pytest.raises(ValueError, match="str"):
        fit([*TEXTS, 5], ledger=ledger)
    assert not ledger.entries


def test_a_run_whose_topics_another_run_paid_for_says_that_its_words_are_booked():
    ledger = Ledger(1.05)

    def another(stage, done, total):
        if stage == "choosing words" and len(ledger.entries) == 1:
            ledger.reserve(events.gaussian(6.0), "another run")

    with pytest.raises(BudgetExceeded, match="'topics") as caught:
        fit(epsilon=1.0, ledger=ledger, callback=another)
    assert [entry.purpose.split()[0] for entry in ledger.entries] == ["vocabulary", "another"]
    assert "Nothing was booked" not in str(caught.value)
    assert str(caught.value).endswith("The words stay booked, at epsilon = 0.25.")
    assert ledger.spent().epsilon <= 1.05


def test_a_run_that_stops_after_its_words_leaves_nothing_beside_its_shards(tmp_path):
    shards = write_shards(Corpus.from_texts(TEXTS), tmp_path / "shards")
    with pytest.raises(ParameterError, match="6 words cannot tell 4 topics apart") as caught:
        fit(shards, n_topics=4)
    assert caught.tb is not None  # which holds the frames, so that nothing is collected
    assert [each.name for each in tmp_path.iterdir()] == ["shards"]


def test_a_ledger_grants_the_first_of_two_bookings_only_where_the_second_fits():
    ledger = Ledger(1.0)
    small, large = events.gaussian(20.0), events.gaussian(1.0)
    with pytest.raises(BudgetExceeded, match=r"'first' .* and 'second'"):
        ledger.plan([(small, "first")], then=[(large, "second")])
    assert not ledger.entries
    ledger.plan([(small, "first")], then=[(small, "second")])
    assert [entry.purpose for entry in ledger.entries] == ["first"]


def test_persons_are_looked_at_however_they_are_given(tmp_path):
    """Those beside a file, a frame or a corpus were forgotten: each document had a person of its own."""
    persons = [f"p{row % 40}" for row in range(600)]
    frame = pd.DataFrame({"text": TEXTS, "patient": persons})
    frame.to_csv(tmp_path / "notes.csv", index=False)
    file = tmp_path / "notes.csv"
    by_column, beside = {"person": "patient"}, {"persons": persons}
    ways = [(frame, by_column), (frame, beside), (frame, {"persons": frame["patient"]}), (file, by_column)]
    ways += [(file, beside), (TEXTS, beside), (frame["text"], beside), (Corpus.from_texts(TEXTS), beside)]
    told = []
    for source, whose in ways:
        with pytest.raises(ParameterError) as caught:
            fit(source, epsilon=0.5, **whose)
        told.append(str(caught.value))
    assert "About 0 words would be chosen from the texts of 40 persons" in told[0]
    assert told[1:] == told[:1] * 7


NOTHING = {
    "list": [],
    "tuple": (),
    "series": pd.Series([], dtype=str),
    "array": np.array([], dtype=object),
    "corpus": Corpus.from_texts(TEXTS).take([]),
    "counts": np.zeros((0, 6)),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_nothing_is_booked_where_there_are_no_texts(kind):
    """A file without texts cost nothing, and a list without any what its words cost."""
    nothing, ledger = NOTHING[kind], Ledger(4.0)
    public, topics = {"vocabulary": WORDS, "words_are_public": True}, bring_topics({"a": WORDS, "b": WORDS})
    fits = [
        lambda: fit(nothing, ledger=ledger),
        lambda: fit(nothing, ledger=ledger, **public),
        lambda: PrivateCountVectorizer(ledger=ledger).fit(nothing),
        lambda: share_topics(nothing, topics, epsilon=1.0, ledger=ledger),
    ]
    if kind == "counts":
        fits = [lambda: PrivateLDA(ledger=ledger).fit(nothing, **public)]
    for each in fits:
        with pytest.raises(CorpusError, match="expected at least one document"):
            each()
    assert not ledger.entries
