"""The lines to reach on blog entries: batch, refined, stream, and LP-LDA beside them."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from experiments.zhao2020.printed_reports import fit_lp
from tests.local.corpora import kos
from tests.local.test_local_lda import channel, reports

from discreet import LocalLDA, StreamingLocalLDA
from discreet.evaluate import completion_perplexity, unigram

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def entries(shared_data):
    train, test = kos(shared_data)
    return train, sp.csr_matrix(test.astype(np.int32))


def perplexity(model, test):
    weight = model.release_.topic_weight
    return min(
        completion_perplexity(0.999 * model.components_ + 1e-6, test, doc_topic_prior=size * weight)
        for size in (5, 10, 20)
    )


def fitted(model, train, of):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(reports(train, of, 7))


@pytest.mark.parametrize(
    ("epsilon", "n_topics", "line"), [(1, 8, 680), (2, 12, 600), (3, 20, 555), (5, 20, 535)]
)
def test_lines_of_reports(entries, epsilon, n_topics, line):
    train, test = entries
    of = channel(epsilon)
    found = perplexity(fitted(LocalLDA(n_topics, channel=of, random_state=0), train, of), test)
    assert found < line
    assert (
        found
        < completion_perplexity(unigram(sp.csr_matrix(train.astype(np.int32)), smoothing=0.5), test) * 0.9
    )


def test_published_way_is_worse_on_the_same_reports(entries):
    train, test = entries
    of = channel(2)
    ours = perplexity(fitted(LocalLDA(12, channel=of, random_state=0), train, of), test)
    topics, weight = fit_lp(reports(train, of, 7), of, 50, n_sweeps=100, random_state=0)
    theirs = SimpleNamespace(components_=topics, release_=SimpleNamespace(topic_weight=weight))
    assert ours < perplexity(theirs, test) - 60


def test_line_of_streams(entries):
    train, test = entries
    of = channel(3)
    model = StreamingLocalLDA(20, channel=of, public=train[:500], refit=False, random_state=0)
    noisy = reports(train[500:], of, 7)
    for start in range(0, len(noisy), 160):
        model.partial_fit(noisy[start : start + 160])
    assert perplexity(model.update(), test) < 565
