"""Whole documents: the questions, whose turn it is, what is refused, and what the answers teach."""

import json
import math
import re
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from tests.marks import quick
from tests.naive import whole_document as naive

from discreet import Corpus, Release, WholeDocumentLDA
from discreet.errors import CorpusError, DiscreetError, ParameterError, PrivacyError, WeakForecastWarning
from discreet.lda import questions
from discreet.local import CodebookChannel, read_codebook_reports, write_reports
from discreet.local.whole_document import estimator
from discreet.local.whole_document.estimator import LEAST_STRENGTH
from discreet.local.whole_document.questions import CodebookReport, Question, question_of, thresholds
from discreet.local.wire import vocabulary_digest
from discreet.privacy import SecureStream
from discreet.report.card import card
from discreet.report.page import report as page
from discreet.report.wording import weak_verdict

# Models of few clients; a test of its own asks for the warning.
pytestmark = pytest.mark.filterwarnings("ignore:Learnability. weak")

V, K = 60, 3
WORDS = [f"w{v}" for v in range(V)]
RNG = np.random.default_rng(4)
GROUP = np.arange(V) % K
#: Vectors that know two words of three: the documents know better.
BELIEVED = np.where(RNG.random(V) < 0.67, GROUP, RNG.integers(K, size=V))
VECTORS = np.eye(K)[BELIEVED] + 0.15 * RNG.normal(size=(V, K))
TRUTH = np.where(GROUP[None] == np.arange(K)[:, None], 12.0, 1.0) * (0.3 + RNG.random(V))
TRUTH /= TRUTH.sum(1, keepdims=True)


def documents(n, seed=1):
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(K, 0.15), size=n)
    return sp.csr_matrix((rng.random((n, V)) < 1 - np.exp(-10 * theta @ TRUTH)).astype(np.int32))


def tables():
    topics = RNG.integers(1, 2**20, size=(V, K))
    none, no_weights = np.zeros((V, 0), np.int64), np.zeros(0, np.int64)
    return [
        Question("words", 0, tuple(WORDS), none, no_weights),
        Question("squares", 1, tuple(WORDS), RNG.integers(-900, 900, size=(V, 4)), no_weights),
        Question("topics", 2, tuple(WORDS), topics, RNG.integers(1, 9000, size=V)),
    ]


QUESTIONS = tables()


def distance(model):
    """Mean total variation of each true topic from the one nearest to it."""
    gaps = np.abs(TRUTH[:, None] - model.topic_word_[None]).sum(2) / 2
    return gaps.min(1).mean()


# ---------------------------------------------------------------- questions


def test_answers_are_the_descriptions():
    counts = sp.csr_matrix(documents(6).toarray() * (np.arange(6) != 2)[:, None])
    words, squares, topics = (question.answers(counts) for question in QUESTIONS)
    np.testing.assert_array_equal(words, counts.toarray() > 0)
    np.testing.assert_array_equal(squares, (counts.toarray() > 0) @ QUESTIONS[1].table)
    for d in range(6):
        own = np.flatnonzero(counts.toarray()[d])
        told = naive.responsibilities(
            own.tolist(), QUESTIONS[2].table.tolist(), QUESTIONS[2].weights, 0.05, 20
        )
        row = topics[d].reshape(V, K)
        assert set(zip(*np.nonzero(row), strict=True)) <= set(told)
        for cell, value in told.items():
            assert abs(row[cell] - value) <= 0.5 + 1e-6


def test_counts_beyond_presence_change_no_answer():
    counts = documents(5)
    for question in QUESTIONS:
        np.testing.assert_array_equal(question.answers(counts), question.answers(counts * 7))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
def test_a_question_survives_its_text_and_is_named_by_all_it_asks(question):
    again = Question.of_json(json.loads(json.dumps(question.as_json())))
    assert again.digest == question.digest
    assert again.dimension == question.dimension
    others = [
        Question(question.kind, 5, question.vocabulary, question.table, question.weights),
        Question(question.kind, question.place, ("x", *WORDS[1:]), question.table, question.weights),
    ]
    if question.table.size:
        others.append(
            Question(question.kind, question.place, question.vocabulary, question.table + 1, question.weights)
        )
    if question.weights.size:
        others.append(
            Question(question.kind, question.place, question.vocabulary, question.table, question.weights + 1)
        )
    assert len({question.digest, *(other.digest for other in others)}) == 1 + len(others)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        json.dumps(QUESTIONS[0].as_json()).replace('"words"', '"more"', 1),
        json.dumps(QUESTIONS[1].as_json()).replace('"squares"', '"topics"'),
        json.dumps(QUESTIONS[2].as_json()).replace('"topics"', '"words"'),
        json.dumps(QUESTIONS[2].as_json()).replace('"weights": [', '"weights": [0.5, '),
        json.dumps(QUESTIONS[2].as_json()).replace('"weights": [', '"weights": [-1, '),
        json.dumps(QUESTIONS[1].as_json()).replace('"place": 1', '"place": "1"'),
    ],
)
def test_what_is_no_question_is_refused(text):
    with pytest.raises(CorpusError, match="not a question"):
        Question.of_json(json.loads(text))


def test_a_client_has_one_question_by_its_number_alone():
    shares, rng = (0.4, 0.1, 0.2, 0.3), np.random.default_rng(0)
    ends = thresholds(shares)
    numbers = [rng.bytes(16) for _ in range(8000)]
    found = [question_of(number, ends) for number in numbers]
    assert found == [naive.question_of(number, shares) for number in numbers]
    assert found == [question_of(number, thresholds([4, 1, 2, 3])) for number in numbers]
    gaps = np.bincount(found, minlength=4) / 8000 - shares
    assert np.abs(gaps).max() < 4 * 0.5 / math.sqrt(8000)
    assert ends[-1] == 2**32
    with pytest.raises(ParameterError, match="positive share"):
        thresholds((0.5, 0))


# ---------------------------------------------------------------- the wire


def a_report(**changes):
    channel = CodebookChannel.for_document(4.0, two_sided=True)
    given = {
        "channel": channel,
        "vocabulary": bytes(range(32)),
        "question": bytes(range(32, 64)),
        "number": bytes(range(64, 80)),
        "answer": 777,
    }
    return CodebookReport(**{**given, **changes})


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("two_sided", [False, True])
def test_reports_survive_the_wire(tmp_path, seeded, two_sided):
    report = a_report(
        channel=CodebookChannel(1024, 37, 57250309, 2**20, two_sided, reproducible=seeded), answer=1023
    )
    raw = report.to_bytes()
    again = CodebookReport.from_bytes(raw)
    assert len(raw) == 112
    assert again == report
    assert again.channel.reproducible == seeded
    path = tmp_path / "reports"
    write_reports(path, [report, a_report()])
    assert read_codebook_reports(path) == [report, a_report()]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda raw: raw[:-1], "112 bytes"),
        (lambda raw: raw[:40], "112 bytes"),
        (lambda raw: b"DSCR" + raw[4:], "DSCW"),
        (lambda raw: raw[:4] + b"\2" + raw[5:], "version"),
        (lambda raw: raw[:5] + b"\4" + raw[6:], "marks"),
        (lambda raw: raw[:6] + b"\1" + raw[7:], "version"),
        (lambda raw: raw[:8] + b"\3" + raw[9:], "channel"),
        (lambda raw: raw[:12] + bytes(4) + raw[16:], "channel"),
        (lambda raw: raw[:16] + bytes(8) + raw[24:], "channel"),
        (lambda raw: raw[:28] + (1024).to_bytes(4, "little") + raw[32:], "codewords"),
    ],
)
def test_damaged_reports_are_refused(tmp_path, change, told):
    raw = change(a_report().to_bytes())
    with pytest.raises(CorpusError, match=told):
        CodebookReport.from_bytes(raw)
    path = tmp_path / "reports"
    path.write_bytes(a_report().to_bytes() + raw)
    with pytest.raises(CorpusError, match="report 2"):
        read_codebook_reports(path)


def test_an_empty_file_of_reports_is_refused(tmp_path):
    path = tmp_path / "reports"
    path.write_bytes(b"")
    with pytest.raises(CorpusError, match="empty"):
        read_codebook_reports(path)


# ---------------------------------------------------------------- the estimator


def a_model(**changes):
    given = {
        "n_topics": K,
        "epsilon": 8.0,
        "word_vectors": VECTORS,
        "random_state": 0,
        "allow_unlearnable": True,
    }
    return WholeDocumentLDA(**{**given, **changes})


@pytest.fixture(scope="module")
def learned():
    return fitted(40_000)


@cache
def fitted(n):
    return a_model(allow_unlearnable=n < 30_000).fit(Corpus(documents(n), WORDS))


@pytest.mark.integration
def test_answers_teach_what_vectors_do_not_know():
    learned = fitted(60_000)
    alone = a_model(shares=(1.0,)).fit(documents(5000), vocabulary=WORDS)
    assert distance(learned) < 0.7 * distance(alone)
    assert np.abs(learned.topic_word_.sum(1) - 1).max() < 1e-12
    present = documents(40_000).toarray() > 0
    rows = present / np.maximum(np.linalg.norm(present, axis=1, keepdims=True), 1)
    unigram = rows.mean(0) / rows.mean(0).sum()
    assert np.abs(learned.unigram_ / unigram - 1).mean() < 0.1
    assert learned._state.length == pytest.approx(present.sum(1).mean(), rel=0.15)


@pytest.mark.parametrize("n", quick([800, 40_000], 800))
def test_the_release_says_what_one_report_promises(n, tmp_path):
    learned = fitted(n)
    release = learned.release_
    ledger = release.ledger
    assert (ledger.privacy_unit, ledger.neighboring) == ("report", "replace_one")
    assert 8 - 1e-6 < ledger.epsilon <= 8 + 1e-9
    assert "report" in release.guarantee
    said = release.configuration
    assert said["n_reports"] == n
    assert said["questions"] == "words, squares, topics, topics"
    assert sum(int(n) for n in said["reports_on_each"].split(", ")) == n
    assert said["strength"] == pytest.approx(547 * math.sqrt(n / 40_000), rel=0.005)
    np.testing.assert_array_equal(release.word_weight, learned.unigram_)
    assert said["word_vectors_dimensions"] == K
    assert release.reproducible
    release.save(tmp_path / "topics")
    np.testing.assert_array_equal(Release.load(tmp_path / "topics").topic_word, release.topic_word)
    assert not a_model(random_state=None).fit(documents(400)).release_.reproducible


def test_the_release_says_how_noisy_its_word_frequencies_are():
    """The spread of shares read from the means of fresh answers, with as many clients as the first question had."""
    model = a_model().fit(documents(400), vocabulary=WORDS)
    said = model.release_.configuration["word_weight_noise"]
    n, rng = int(model.release_.configuration["reports_on_each"].split(",")[0]), np.random.default_rng(5)
    mean = model.unigram_ * np.sqrt(model._state.length)
    deviation = model.channel().deviation / np.sqrt(n)
    noisy = mean + deviation * rng.standard_normal((4000, len(mean)))
    shares = noisy / mean.sum()
    assert said == pytest.approx(shares.std(0).mean(), rel=0.02)


def test_a_seed_gives_the_same_bytes():
    one, two, other = (a_model(random_state=seed).fit(documents(800)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.topic_word_, two.topic_word_)
    assert not np.array_equal(one.topic_word_, other.topic_word_)


def test_too_few_clients_are_refused_with_the_number():
    model = a_model(allow_unlearnable=False)
    with pytest.raises(ParameterError, match=r"s = 212,.*27,\d\d\d clients"):
        model.fit(documents(6000))
    assert not hasattr(model, "release_")
    assert model.learnable(30_000) == pytest.approx(math.sqrt(30_000) / 0.366, rel=0.01)
    assert a_model(allow_unlearnable=False, shares=(1.0,)).learnable(10) < 10
    with pytest.raises(ParameterError, match="clients or more"):
        a_model(allow_unlearnable=False, epsilon=1).learnable(10**6)


@pytest.mark.integration
def test_a_fit_that_was_forced_says_so(learned):
    model = a_model()
    with pytest.warns(
        WeakForecastWarning, match=r"about 6,0\d\d whole documents are worth s = 212, and below 450"
    ):
        model.fit(documents(6000))
    for told in (model.release_.configuration["forecast"], card(model.release_), page(model.release_)):
        assert "worth s = 212, and below 450" in " ".join(told.split())
    assert "that they were trained on. `discreet evaluate" in " ".join(
        card(model.release_).split("\n")
    )  # no gap
    enough = learned.release_.configuration["forecast"]
    assert "below 450 there would be nothing to learn" in enough
    assert "not foretold: no law was fitted" in enough
    assert weak_verdict(learned.release_) is None
    assert weak_verdict(model.release_) == "weak"
    alone = a_model(shares=(1.0,)).fit(documents(6000))
    assert "forecast" not in alone.release_.configuration


@pytest.mark.parametrize(
    ("epsilon", "about"), [(1.0, 1_280_000), (2.0, 328_000), (4.0, 88_500), (8.0, 27_100)]
)
def test_the_refusal_ends_exactly_where_it_says(epsilon, about):
    model = a_model(allow_unlearnable=False, epsilon=epsilon)
    with pytest.raises(ParameterError) as caught:
        model.learnable(1000)
    needed = int(re.search(r"ask about ([\d,]+) clients", str(caught.value))[1].replace(",", ""))
    assert needed == pytest.approx(about, rel=0.01)
    assert model.learnable(needed) >= LEAST_STRENGTH
    with pytest.raises(ParameterError, match="clients or more"):
        model.learnable(needed - 1)
    assert model.set_params(allow_unlearnable=True).learnable(needed - 1) < LEAST_STRENGTH


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_learned_depends_on_the_means_alone(place):
    """Answers through the channel, or their means from elsewhere: the same state follows."""
    channel = CodebookChannel.for_document(8.0, two_sided=place == 1)
    state, rng = estimator.questions.begin(WORDS, VECTORS, K, Question), np.random.default_rng(place)
    for done in range(place):
        d = state.question.dimension
        mean = np.eye(d) / d if done else np.full(d, d**-0.5)
        state = estimator.learn(state, mean, 1e-3, 4, 0)
    question = state.question
    numbers, sent = [rng.bytes(16) for _ in range(50)], rng.integers(4096, size=50)
    book = channel.codebook(question.dimension, question.digest)
    words = book.codewords(numbers, sent)
    mean = channel.mean_square(words) if place == 1 else words.mean(0) / channel.gain
    one = estimator.step(state, estimator.Answers(numbers, sent), channel, 4, 0)
    two = estimator.learn(state, mean, channel.deviation / math.sqrt(50), 4, 0)
    assert one.question.kind == two.question.kind == ("squares", "topics", "topics")[place]
    np.testing.assert_allclose(one.topics, two.topics, rtol=1e-6)


def answer(question, counts, model, stream, rng, shares):
    """Clients that come with a number, and answer where it is their turn."""
    channel = model.channel(question)
    if stream.reproducible:
        channel = CodebookChannel(*(getattr(channel, f) for f in ("n_codewords", "n_chosen", "member_weight",
                                  "other_weight", "two_sided")), reproducible=True)  # fmt: skip
    book, out = channel.codebook(question.dimension, question.digest), []
    for d, number in enumerate(rng):
        if question_of(number, thresholds(shares)) == question.place:
            sent = channel.report(question.answers(counts[d])[0], number, book, stream)
            out.append(CodebookReport(channel, vocabulary_digest(WORDS), question.digest, number, sent))
    return out


def test_reports_that_were_collected_are_learned_from():
    counts, shares = documents(600), (0.4, 0.2, 0.4)
    rng = np.random.default_rng(3)
    numbers = [rng.bytes(16) for _ in range(600)]
    model, seen = a_model(shares=shares), []
    question = model.begin(WORDS)
    while question is not None:
        reports = answer(question, counts, model, SecureStream(), numbers, shares)
        seen.append(len(reports))
        question = model.learn([*reports, *reports[:5]])  # a report that comes twice counts once
    assert sum(seen) == 600 == model.release_.configuration["n_reports"]
    assert not model.release_.reproducible
    assert model.release_.configuration["questions"] == "words, squares, topics"
    with pytest.raises(CorpusError, match="no question is open"):
        model.learn([])


def test_reports_made_with_a_seed_mark_the_release():
    counts, rng = documents(100), np.random.default_rng(3)
    model = a_model(shares=(1.0,))
    question = model.begin(WORDS)
    numbers = [rng.bytes(16) for _ in range(100)]
    model.learn(answer(question, counts, model, SecureStream(1), numbers, (1.0,)))
    assert model.release_.reproducible


def test_no_client_answers_two_questions():
    """The server refuses what a client that was led astray, or a wrong collector, would send."""
    counts, rng, shares = documents(40), np.random.default_rng(3), (0.5, 0.5)
    numbers = [rng.bytes(16) for _ in range(40)]
    model = a_model(shares=shares)
    first = model.begin(WORDS)
    good = answer(first, counts, model, SecureStream(1), numbers, shares)
    everybody = answer(first, counts, model, SecureStream(1), numbers, (1.0,))
    other = next(report for report in everybody if question_of(report.number, thresholds(shares)) == 1)
    change = {
        field: getattr(good[0], field) for field in ("channel", "vocabulary", "question", "number", "answer")
    }

    def changed(**what):
        return CodebookReport(**{**change, **what})

    same = changed(answer=(change["answer"] + 1) % 1024)
    seeded = CodebookChannel(**{**vars(good[0].channel), "reproducible": True})
    wrong = [
        other,
        changed(question=bytes(32)),
        changed(vocabulary=bytes(32)),
        changed(channel=CodebookChannel.for_document(7.0)),
        changed(channel=seeded, number=other.number),
    ]
    for report in wrong:
        with pytest.raises(CorpusError, match="no client"):
            model.learn([report])
        assert model.question_ is first  # nothing was learned
    with pytest.raises(CorpusError, match="no client"):
        model.learn([good[0], same])  # which of the two is its own?
    with pytest.raises(CorpusError, match="no client"):
        model.learn([])
    assert model.n_left_out_ == 0
    assert model.learn([*wrong, *good, same, good[0]]).kind == "squares"
    assert model.n_left_out_ == len(wrong) + 1
    clean = a_model(shares=shares)
    clean.begin(WORDS)
    clean.learn(good[1:])
    np.testing.assert_array_equal(clean._state.unigram, model._state.unigram)
    assert clean.n_left_out_ == 0


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 21}, "epsilon"),
        ({"shares": ()}, "shares"),
        ({"shares": (0.5, 0)}, "shares"),
        ({"shares": "0.5"}, "shares"),
        ({"shares": (1,) * 9}, "shares"),
        ({"n_topics": 0}, "n_topics"),
    ],
)
def test_parameters_out_of_range(changes, told):
    model = a_model(**changes)
    for call in (lambda: model.fit(documents(10)), model.planned_event, lambda: model.begin(WORDS)):
        with pytest.raises(ParameterError, match=told):
            call()


def test_data_that_cannot_be_used():
    with pytest.raises(CorpusError, match="vocabulary has 59 words"):
        a_model().fit(documents(10), vocabulary=WORDS[1:])
    with pytest.raises(DiscreetError):
        a_model().fit(["private text"])
    with pytest.raises(DiscreetError):
        a_model(word_vectors=None).fit(documents(10))


def test_columns_that_were_chosen_privately_are_refused():
    from discreet import PrivateCountVectorizer

    texts = ["aa bb cc dd"] * 60
    counts = PrivateCountVectorizer(epsilon=50.0, delta=1e-3, random_state=0).fit_transform(texts)
    with pytest.raises(PrivacyError, match="chosen from the texts"):
        a_model(word_vectors=np.ones((counts.shape[1], 2))).fit(counts)


# ---------------------------------------------------------------- the fit to squares


def test_slopes_are_those_of_the_loss():
    rng = np.random.default_rng(0)
    v, k, d, length, deviation = 9, 3, 2, 5.0, 0.1
    unigram = rng.dirichlet(np.full(v, 3.0))
    along, centre = rng.normal(size=(v, d)), rng.normal(size=(k, d)) * 0.3
    square = rng.normal(size=(d, d))
    square = square + square.T
    parameters = [rng.normal(size=(k, d)) * 0.4, rng.normal(size=(k, k)), np.array([-0.6])]

    def loss(values):
        a, logs, level = values
        shared = np.exp((logs + logs.T) / 2)
        return naive.squares_loss(
            a, shared / shared.sum(), math.exp(level[0]), square, deviation, unigram, along, centre, length,
            questions._MISS, questions._PULL, questions._SCALE,
        )  # fmt: skip

    pull = questions._PULL / (questions._MISS * unigram) ** 2
    slopes = questions._slopes(
        parameters, square, 2 * deviation**2 / 2, unigram, np.log(unigram), along, centre, length, pull
    )
    for which, slope in enumerate(slopes):
        for cell in np.ndindex(slope.shape):
            moved = []
            for step in (1e-5, -1e-5):
                values = [one.copy() for one in parameters]
                values[which][cell] += step
                moved.append(loss(values))
            assert slope[cell] == pytest.approx((moved[0] - moved[1]) / 2e-5, rel=1e-4, abs=1e-6)


def test_fit_to_squares_finds_topics_that_bend_them():
    rng, d = np.random.default_rng(1), 12
    unigram = np.full(V, 1 / V)
    along = np.linalg.qr(rng.normal(size=(V, d)))[0] * math.sqrt(V)
    true = np.zeros((K, d))
    true[:, :2] = [[0.9, 0.1], [-0.6, 0.7], [-0.3, -0.8]]

    def places(coordinates):
        topics = unigram[:, None] * np.exp(along @ coordinates.T)
        return (topics / topics.sum(0)).T @ along

    at = places(true)
    square = 0.06 * (np.eye(d) + 12 * at.T @ at / K)
    found, weight = questions.fit_squares(square, 1e-3, unigram, along, 0.5 * true, 12.0, 0)
    assert weight.sum() == pytest.approx(1)
    found_at, start = places(found), places(0.5 * true)

    def bend(x, share):
        return x.T @ np.diag(share) @ x

    even = np.full(K, 1 / K)
    assert np.linalg.norm(bend(found_at, weight) - bend(at, even)) < 0.2 * np.linalg.norm(
        bend(start, even) - bend(at, even)
    )
    assert np.linalg.norm(found_at - at) < 0.6 * np.linalg.norm(start - at)
