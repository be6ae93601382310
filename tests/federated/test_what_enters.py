"""What a silo's counts may be: one column for one word of a text, and one entry for one word of a document."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive.bit_channel import law, worst_loss
from tests.naive.federated import slow_contributions

from discreet.central import HybridGibbsLDA
from discreet.corpus import Corpus, Tokenizer
from discreet.corpus.vocabulary import faults_of_runs
from discreet.errors import CorpusError, PrivacyError
from discreet.federated import Account, FederatedLDA, agreed_terms, client_update, init_server, server_step
from discreet.federated.account import check_silo
from discreet.federated.sum_round import parts_of
from discreet.privacy import Ledger, SecureStream
from discreet.privacy.bit_channel import BitChannel
from discreet.privacy.mechanism import BITS

SINGLE = ["aa", "bb", "cc"]
RUNS = [*SINGLE, *(f"{one} {other}" for one in SINGLE for other in SINGLE)]
TEXTS = [" ".join(words) for n in range(1, 4) for words in itertools.product(SINGLE, repeat=n)]


def loss_of_one_word(vocabulary, cut):
    """The largest loss of a report of epsilon 1, over all texts with one word replaced by another; exact."""
    channel = BitChannel.for_replacement(1.0, 0.3)
    p, q = Fraction(channel.p), Fraction(channel.q)
    columns = {text: frozenset(vocabulary.index(w) for w in cut(text) if w in vocabulary) for text in TEXTS}
    pairs = {
        (columns[one], columns[other])
        for one, other in itertools.permutations(TEXTS, 2)
        if len(one) == len(other)
        and sum(a != b for a, b in zip(one.split(), other.split(), strict=True)) == 1
    }
    # Only the columns in which two texts differ make a loss: the others' coins are the same.
    worst = 0.0
    for one, other in pairs:
        differ = sorted(one ^ other)
        laws = {
            text: law({differ.index(c) for c in text & set(differ)}, len(differ), p, q)
            for text in (one, other)
        }
        worst = max(worst, worst_loss(laws, [(one, other)]) if differ else 0.0)
    return worst


def test_one_word_is_one_column_and_loses_what_is_told():
    assert loss_of_one_word(SINGLE, Tokenizer()) <= 1.0 + 1e-12
    assert loss_of_one_word(SINGLE, Tokenizer()) > 0.99


@pytest.mark.parametrize(
    ("vocabulary", "cut", "at_least"),
    [
        (RUNS, Tokenizer(ngram_range=(1, 2)), 2.9),  # a word and two runs, each way
        ([*SINGLE, "a", "b", "c"], Tokenizer(r"(?=(\w+))"), 1.9),  # a word and its end
    ],
)
def test_a_word_in_several_columns_would_lose_more_so_it_is_refused(vocabulary, cut, at_least):
    assert loss_of_one_word(vocabulary, cut) > at_least
    corpus = Corpus.from_texts(TEXTS, tokenizer=cut, vocabulary=vocabulary, words_are_public=True)
    ledger = Ledger(1.0, 1e-6, privacy_unit="word", neighboring="replace_one")
    with pytest.raises(PrivacyError, match="several columns"):
        HybridGibbsLDA(2, n_sweeps=1, ledger=ledger).fit(corpus)
    assert not ledger.entries


RUNS_OF_ONE_CLASS = [
    r"\w+",
    r"(?u)\b\w\w+\b",
    r"\b\w{2,}\b",
    r"[a-z]{3,}",
    r"[a-z][a-z]+",
    r"[\w'-]+",
    r"\S+",
    r"[^\s,]+",
]
OTHER_PATTERNS = [
    r"(?=(\b\w+ \w+\b))",
    r"(?=(\w+))",
    r"\w+(?= (\w+))",
    r"\w+ \w+",
    r"(\w)\w+",
    r"\w+|\w",
    r"\w",
    r"\w+?",
    r"\w{2,3}",
    r"[a-z]\w+",
    r"[\w ]+",
    r"[\w\s]+",
    r"[^,]+",
    "[a-z\u3000]+",
    r"\W+",
    r".+",
    r"(?i)[a-z]+",
    r"(?s:.)+",
]


@pytest.mark.parametrize("pattern", [*RUNS_OF_ONE_CLASS, *OTHER_PATTERNS])
def test_a_token_pattern_finds_longest_runs_of_one_class(pattern):
    faults = faults_of_runs(SINGLE, Tokenizer(pattern).settings())
    assert [type(fault) for fault in faults] == ([] if pattern in RUNS_OF_ONE_CLASS else [PrivacyError])
    assert all("token_pattern" in str(fault) for fault in faults)


@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "\u3000"])
def test_words_with_blanks_are_runs_whoever_counted_them(blank):
    words = ["aa", "bb", f"aa{blank}bb"]
    counts = sp.csr_matrix(np.ones((4, 3), np.int32))
    with pytest.raises(PrivacyError, match="hold a blank"):
        HybridGibbsLDA(2, n_sweeps=1).fit(counts, vocabulary=words, words_are_public=True)
    frame = pytest.importorskip("pandas").DataFrame(np.ones((4, 3), np.int32), columns=words)
    with pytest.raises(PrivacyError, match="hold a blank"):
        HybridGibbsLDA(2, n_sweeps=1).fit(frame, words_are_public=True)


def test_runs_stay_where_whole_documents_are_promised():
    cut = Tokenizer(ngram_range=(1, 2))
    corpus = Corpus.from_texts(TEXTS * 200, tokenizer=cut, vocabulary=RUNS, words_are_public=True)
    model = FederatedLDA(2, epsilon=5.0, allow_unlearnable=True, random_state=0).fit([corpus, corpus])
    assert model.release_.vocabulary == tuple(RUNS)


def account_for(state, client=0):
    return Account(client, Ledger(max(state.epsilon, 5.0), 1e-6), expected=agreed_terms(state))


def spellings(rows):
    """All CSR matrices that say the same: entries in any order, split in two, and zeros stored."""
    n_words = len(rows[0])
    choices = []
    for row in rows:
        entries = [(word, times) for word, times in enumerate(row) if times]
        split = [
            part
            for word, times in entries
            for part in ([(word, 1)] * times if times > 1 else [(word, times)])
        ]
        zeros = [(word, 0) for word in range(n_words) if not row[word]][:1]
        ways = {
            tuple(order)
            for each in (entries, split, entries + zeros)
            for order in itertools.permutations(each)
        }
        choices.append(sorted(ways))
    for chosen in itertools.product(*choices):
        flat = [entry for row in chosen for entry in row]
        ends = np.cumsum([0, *(len(row) for row in chosen)])
        words, times = np.array(flat, np.int32).reshape(-1, 2).T
        yield sp.csr_matrix((times.copy(), words.copy(), ends), shape=(len(rows), n_words))


DOCUMENTS = [[1, 0, 2], [0, 1, 0]]


def test_a_document_weighs_one_in_a_sum_however_its_counts_are_stored():
    """Before: a word in two entries of its row made a document of norm 1.41."""
    other = sp.csr_matrix((0, 3), dtype=np.int32)
    expected = slow_contributions(DOCUMENTS)
    for values in (expected, slow_contributions(DOCUMENTS[:1])):
        assert values[0] in (2 << BITS, 1 << BITS)
    sums = set()
    for counts in spellings(DOCUMENTS):
        state = init_server(
            n_clients=2, n_topics=2, n_words=3, epsilon=math.inf, delta=1e-6, vocabulary=SINGLE
        )
        accounts = [account_for(state, client) for client in range(2)]
        while not state.finished:
            updates = [
                client_update(state, silo, SecureStream(client), account)
                for client, (silo, account) in enumerate(zip((counts, other), accounts, strict=True))
            ]
            state = server_step(state, updates)
        sums.add(tuple(state.sums.values.tolist()))
    assert sums == {tuple(expected)}
    one = np.array(slow_contributions(DOCUMENTS[:1]))
    for part in parts_of(one, {"count": 1, "unigram": 3, "pairs": 3}).values():
        assert np.linalg.norm(part) <= 2**BITS


@pytest.mark.parametrize(
    "bad", [np.array([[-1, 0, 1]]), np.array([[0.5, 0, 1]]), np.array([["a", "b", "c"]])]
)
def test_what_is_no_count_never_leaves(bad):
    with pytest.raises((CorpusError, TypeError)):
        check_silo(bad, 3)
