"""PrivateLDA in company of scikit-learn's estimators; what it learns, from planted topics and from news."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from tests.naive.central_checks import block_corpus, overlap, random_counts

from discreet import Ledger, PrivateCountVectorizer, PrivateLDA, PrivateSVILDA, Release
from discreet.central import private_svi_lda as dpsvi
from discreet.evaluate import completion_perplexity
from discreet.evaluate import unigram as unigram_model
from discreet.privacy.noise.stream import SecureStream

# ---- in company


def test_clones_keep_the_ledger_itself():
    ledger = Ledger(2, 1e-5)
    model = PrivateLDA(ledger=ledger)
    assert clone(model).ledger is ledger
    assert clone(make_pipeline(model))[-1].ledger is ledger
    fitted = PrivateLDA(2, epsilon=1, delta=1e-5, ledger=ledger, allow_unlearnable=True)
    clone(fitted).fit(random_counts(50, 5, 0))
    assert len(ledger.entries) == 1


def test_before_fit_there_is_nothing():
    model = PrivateLDA()
    assert not hasattr(model, "components_")
    with pytest.raises(NotFittedError):
        model.transform([[1]])


def make_texts(n, seed=0):
    rng = np.random.default_rng(seed)
    blocks = [[f"{topic}{i}" for i in range(12)] for topic in ("sea", "law", "war")]
    return [" ".join(rng.choice(blocks[rng.integers(3)], 20)) for _ in range(n)]


def test_a_pipeline_shares_one_ledger(tmp_path):
    """The example of README.md, with a seed."""
    texts = make_texts(1500)
    ledger = Ledger(epsilon=2, delta=1e-6, privacy_unit="document")
    pipe = make_pipeline(
        PrivateCountVectorizer(epsilon=0.5, ledger=ledger, random_state=0),
        PrivateLDA(n_topics=3, epsilon=1.5, ledger=ledger, random_state=0),
    ).fit(texts)
    release = pipe[-1].release_
    assert release.vocabulary == tuple(pipe[0].get_feature_names_out())
    assert len(ledger.entries) == len(release.ledger.entries) >= 2
    assert ledger.spent().epsilon <= 2
    assert release.ledger.spent() == ledger.spent()
    assert "unit: document" in release.guarantee
    release.save(tmp_path / "model")
    words = Release.load(tmp_path / "model").top_words(5)
    assert words == release.top_words(5)
    for topic in words:  # planted blocks come out
        assert len({word[:3] for word in topic}) == 1
    shares = pipe.transform(texts[:10])
    assert shares.shape == (10, 3)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert pipe[-1].get_feature_names_out().tolist() == ["privatelda0", "privatelda1", "privatelda2"]


def test_set_output_gives_a_frame():
    pandas = pytest.importorskip("pandas")
    counts = random_counts(100, 10, 0)
    model = PrivateLDA(2, epsilon=4, allow_unlearnable=True, random_state=0).set_output(transform="pandas")
    frame = model.fit(counts).transform(counts)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["privatelda0", "privatelda1"]


def test_columns_of_a_frame_are_the_words():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(random_counts(100, 3, 0).toarray(), columns=["b", "a", "c"])
    model = PrivateLDA(2, epsilon=4, allow_unlearnable=True, random_state=0).fit(frame, words_are_public=True)
    assert model.release_.vocabulary == ("b", "a", "c")


# ---- what it learns


@pytest.fixture(scope="module")
def planted():
    return block_corpus(5000, n_topics=5, words_a_topic=30, length=40)


def test_planted_topics_are_found(planted):
    counts, truth = planted
    model = PrivateLDA(5, epsilon=4.0, random_state=0).fit(counts)
    assert overlap(model.components_, truth) > 0.87
    assert set(np.argmax(np.minimum(model.components_[:, None], truth[None]).sum(2), axis=1)) == set(range(5))
    nothing = PrivateLDA(5, epsilon=0.02, random_state=0, allow_unlearnable=True).fit(counts)
    assert overlap(nothing.components_, truth) < 0.6  # the measure can tell


def test_planted_topics_are_found_for_people(planted):
    counts, truth = planted
    model = PrivateLDA(5, epsilon=4.0, privacy_unit="person", random_state=0)
    model.fit(counts, persons=np.arange(5000) // 2)
    assert overlap(model.components_, truth) > 0.85
    assert model.release_.n_units_noisy == pytest.approx(2500, rel=0.1)


def test_dp_svi_improves_on_its_start(planted):
    counts, truth = planted
    settings = {"sampling_rate": 0.2, "n_rounds": 20, "contribution_bound": 10.0}
    model = PrivateSVILDA(5, epsilon=4.0, random_state=0, **settings).fit(counts)
    start = dpsvi.init(150, dpsvi.Settings(5, *[None] * 9), SecureStream(0).spawn("topics")).topics
    start = start.T / start.T.sum(1, keepdims=True)
    assert overlap(model.components_, truth) > overlap(start, truth) + 0.2
    assert completion_perplexity(model.components_, counts) < 0.9 * completion_perplexity(start, counts)


@pytest.mark.integration
def test_topics_of_the_news(shared_data):
    """The figure that the algorithm is held to: nyt, 2,000 words, 20 topics, epsilon = 4."""
    folder = shared_data / "nyt"
    if not folder.is_dir():
        pytest.skip(f"no corpus at {folder}")
    counts = sp.load_npz(folder / "counts.npz").tocsr()
    part = np.array((folder / "split.txt").read_text().split())
    train, test = counts[part == "train"], counts[part == "test"]
    frequency = np.asarray((train > 0).sum(0)).ravel()
    kept = np.sort(np.argsort(-frequency, kind="stable")[:2000])
    train, test = (half[:, kept].tocsr() for half in (train, test))
    train, test = (half[np.asarray(half.sum(1)).ravel() > 5] for half in (train, test))
    model = PrivateLDA(20, epsilon=4.0, delta=1e-5, random_state=0).fit(train)
    line = completion_perplexity(unigram_model(train), test)
    perplexity = completion_perplexity(model.components_, test)
    assert perplexity < 1005 * 1.02
    assert perplexity < 0.82 * line
    assert line == pytest.approx(1295, rel=0.02)
