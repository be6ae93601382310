"""The channel of whole documents: its loss enumerated exactly, its coins, how well its answers can be read."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.naive import codebook as naive

from discreet.errors import ParameterError, PrivacyError
from discreet.local import CodebookChannel
from discreet.privacy import SecureStream

QUESTION = bytes(range(32))
NONCES = [bytes([n]) * 16 for n in range(3)]
#: Every set of three words, and vectors that no document has.
DOCUMENTS = [*itertools.product((0, 1), repeat=3), (5, -3, 2), (-1, 0, 0)]
SMALL = [(8, 2, 5, 2, False), (8, 3, 7, 1, True), (4, 3, 3, 2, False), (2, 1, 3, 1, True)]


def feed(drawn):
    """32-bit numbers of which a client makes that draw."""
    high, low = drawn >> 32, drawn & 0xFFFFFFFF
    return lambda n: np.array([high << 11, low], np.uint32)


def law_of(channel, vector, nonce):
    """The law of what the client really sends: every value of its coin, one after the other."""
    book = channel.codebook(len(vector), QUESTION)
    sent = [channel.report_from(np.array(vector), nonce, book, feed(x)) for x in range(channel.total_weight)]
    return [Fraction(sent.count(i), len(sent)) for i in range(channel.n_codewords)]


@pytest.mark.parametrize(("n", "m", "member", "other", "two_sided"), SMALL)
def test_every_answer_of_every_pair_of_documents_is_within_the_odds(n, m, member, other, two_sided):
    channel = CodebookChannel(n, m, member, other, two_sided)
    for nonce in NONCES:
        laws = [law_of(channel, vector, nonce) for vector in DOCUMENTS]
        expected = [
            naive.law(naive.scores(vector, n, QUESTION, nonce), m, member, other, two_sided)
            for vector in DOCUMENTS
        ]
        assert laws == expected
        assert all(sum(law) == 1 for law in laws)
        assert naive.worst_ratio(laws) == Fraction(member, other) == channel.odds
    assert math.log(member / other) <= channel.epsilon <= math.log(member / other) + 1e-12


class SizeByData(CodebookChannel):
    """Planted: the set is all codewords that point the document's way, so its size tells."""

    def report_from(self, vector, nonce, codebook, read):
        scores = codebook.scores(vector, nonce)
        m = int(np.clip((scores > 0).sum(), 1, self.n_codewords - 1))
        return CodebookChannel(self.n_codewords, m, self.member_weight, self.other_weight).report_from(
            vector, nonce, codebook, read
        )


class OneMoreOnTies(CodebookChannel):
    """Planted: whatever ties with the last member is a member too."""

    def report_from(self, vector, nonce, codebook, read):
        scores = np.sort(codebook.scores(vector, nonce))[::-1]
        m = int((scores >= scores[self.n_chosen - 1]).sum())
        m = min(m, self.n_chosen + 1)
        return CodebookChannel(self.n_codewords, m, self.member_weight, self.other_weight).report_from(
            vector, nonce, codebook, read
        )


@pytest.mark.parametrize("faulty", [SizeByData, OneMoreOnTies])
def test_a_set_whose_size_depends_on_the_document_is_caught(faulty):
    worst = 0
    for nonce in NONCES:
        laws = []
        for vector in DOCUMENTS:
            channel = faulty(8, 2, 5, 2)
            book = channel.codebook(3, QUESTION)
            # Members are sent with weights that add up to different totals: count over a multiple of all of them.
            scores = book.scores(vector, nonce)
            if faulty is SizeByData:
                m = int(np.clip((scores > 0).sum(), 1, 7))
            else:
                ordered = np.sort(scores)[::-1]
                m = min(int((ordered >= ordered[1]).sum()), 3)
            total = m * 5 + (8 - m) * 2
            sent = [channel.report_from(np.array(vector), nonce, book, feed(x)) for x in range(total)]
            laws.append([Fraction(sent.count(i), total) for i in range(8)])
        worst = max(worst, naive.worst_ratio(laws))
    assert worst > CodebookChannel(8, 2, 5, 2).odds


def test_a_float_coin_is_caught():
    """A coin of floats, tossed before the choice: its odds are not the promised ones, for some channels above."""
    worse = 0
    for m in range(1, 64):
        chance = Fraction(m * 3.0 / (m * 3.0 + (64 - m) * 1.0))  # what 53 random bits compare with
        worse += chance / m / ((1 - chance) / (64 - m)) > 3
        member, other = Fraction(3, 3 * m + 64 - m), Fraction(1, 3 * m + 64 - m)
        channel = CodebookChannel(64, m, 3, 1)
        assert Fraction(channel.member_weight, channel.total_weight) == member
        assert Fraction(channel.other_weight, channel.total_weight) == other
    assert worse > 10


def test_a_codebook_that_depends_on_the_document_is_caught():
    """The pair of nonce and answer is what is sent: of nonces chosen to suit the document it tells everything."""
    channel = CodebookChannel(8, 2, 5, 2)
    book = channel.codebook(3, QUESTION)

    def law(vector, choose):
        out = {}
        chosen = choose(vector)
        for nonce in chosen:
            for i, chance in enumerate(law_of(channel, vector, nonce)):
                out[nonce, i] = chance / len(chosen)
        return [out.get((nonce, i), Fraction(0)) for nonce in NONCES for i in range(8)]

    fair = [law(vector, lambda vector: NONCES) for vector in DOCUMENTS]
    assert naive.worst_ratio(fair) == channel.odds
    suits = [law(v, lambda v: [max(NONCES, key=lambda n: book.scores(v, n).max())]) for v in DOCUMENTS]
    assert any(a > 0 and b == 0 for one in suits for two in suits for a, b in zip(one, two, strict=True))


def test_two_answers_of_one_document_lose_twice_as_much():
    """Why a client keeps its answer: fresh coins, for the same nonce or for another question."""
    channel = CodebookChannel(8, 2, 5, 2)
    for second in (NONCES[0], NONCES[1]):
        laws = []
        for vector in DOCUMENTS:
            one, two = law_of(channel, vector, NONCES[0]), law_of(channel, vector, second)
            laws.append([a * b for a in one for b in two])
        assert naive.worst_ratio(laws) > channel.odds
    assert (
        naive.worst_ratio([[a * a for a in law_of(channel, v, NONCES[0])] for v in DOCUMENTS])
        == channel.odds**2
    )


@pytest.mark.parametrize(("dimension", "n"), [(5, 16), (5, 2048), (1500, 8)])
def test_codebook_is_the_naive_one(dimension, n):
    rng = np.random.default_rng(dimension + n)
    channel = CodebookChannel(n, n // 4, 5, 2)
    book = channel.codebook(dimension, QUESTION)
    vector = np.where(rng.random(dimension) < 5 / dimension, rng.integers(-9, 9, dimension), 0)
    nonce = rng.bytes(16)
    some = rng.integers(n, size=3)
    words = np.array([naive.codeword(int(i), dimension, n, QUESTION, nonce) for i in some])
    sigma = naive.signs(QUESTION, b"turn", book.n_signs)
    turned = {
        v: [naive.hadamard(t, v) * sigma[v] for t in range(book.n_signs)]
        for v in (*range(5), *np.flatnonzero(vector))
    }
    y = sum(
        (int(vector[v]) * np.array(turned[v]) for v in np.flatnonzero(vector)), np.zeros(book.n_signs, int)
    )
    np.testing.assert_array_equal(book.scores(vector, nonce)[some], words @ y)
    if dimension < 10:
        np.testing.assert_array_equal(y, naive.turned(vector, n, QUESTION))
    back = np.array([turned[v] for v in range(5)]) @ words.T / math.sqrt(book.n_signs)
    np.testing.assert_allclose(book.codewords([nonce] * 3, some)[:, :5], back.T, atol=1e-12)
    np.testing.assert_allclose(
        book.total([nonce] * 3, some), book.codewords([nonce] * 3, some).sum(0), atol=1e-10
    )


def test_report_is_the_naive_one():
    rng = np.random.default_rng(3)
    channel = CodebookChannel(16, 3, 2**50 + 7, 2**32 - 5)  # one try of four is refused
    book = channel.codebook(4, QUESTION)
    for _ in range(20):
        vector, nonce = rng.integers(-3, 4, 4), rng.bytes(16)
        numbers = rng.integers(2**32, size=400, dtype=np.uint64).astype(np.uint32)
        for two_sided in (False, True):
            asked = CodebookChannel(16, 3, 2**50 + 7, 2**32 - 5, two_sided)
            left = iter(numbers)
            found = asked.report_from(
                vector, nonce, book, lambda n, left=left: [next(left) for _ in range(n)]
            )
            expected = naive.report(
                naive.scores(vector, 16, QUESTION, nonce),
                3,
                2**50 + 7,
                2**32 - 5,
                iter(numbers.tolist()),
                two_sided,
            )
            assert found == expected


def test_many_reports_have_the_law_of_one():
    channel = CodebookChannel(8, 2, 5, 2)
    book, n = channel.codebook(3, QUESTION), 20_000
    found = channel.reports(np.tile((1, 0, 1), (n, 1)), [NONCES[1]] * n, book, SecureStream(1))
    expected = np.array([float(p) for p in law_of(channel, (1, 0, 1), NONCES[1])])
    p = stats.chisquare(np.bincount(found, minlength=8), n * expected).pvalue
    assert p > 1e-3
    uniform = stats.chisquare(np.bincount(found, minlength=8)).pvalue
    assert uniform < 1e-9


@pytest.mark.parametrize(
    ("epsilon", "deviation", "square"),
    [(1, 2.52, None), (2, 1.27, 0.75), (4, 0.66, 0.296), (8, 0.366, 0.113)],
)
def test_deviation(epsilon, deviation, square):
    channel = CodebookChannel.for_document(epsilon)
    assert channel.n_codewords == (4096 if epsilon == 8 else 1024)
    assert channel.deviation == pytest.approx(deviation, rel=0.005)
    assert epsilon - 1e-6 < channel.epsilon <= epsilon
    if square:
        assert CodebookChannel.for_document(epsilon, two_sided=True).deviation == pytest.approx(
            square, rel=0.005
        )


def answers(words, epsilon, n, *, two_sided=False, dimension=200, seed=0):
    """n clients with one document: the estimate along it, and what lies across, times the root of n."""
    rng = np.random.default_rng(seed)
    g = np.zeros(dimension, np.int64)
    g[rng.permutation(dimension)[:words]] = rng.integers(1, 4, words)
    channel = CodebookChannel.for_document(epsilon, two_sided=two_sided)
    book, nonces = channel.codebook(dimension, QUESTION), [rng.bytes(16) for _ in range(n)]
    found = channel.reports(np.tile(g, (n, 1)), nonces, book, SecureStream(seed))
    return channel, g / np.linalg.norm(g), book, nonces, found


@pytest.mark.parametrize("words", [1, 2, 40])
def test_mean_is_unbiased_and_spreads_as_told(words):
    n = 6000
    channel, g, book, nonces, found = answers(words, 4.0, n)
    mean = channel.mean(book.total(nonces, found), n)
    along, across = mean @ g, np.linalg.norm(mean - (mean @ g) * g) * math.sqrt(n / (len(g) - 1))
    error = channel.deviation / math.sqrt(n)
    assert abs(along - 1) < 4 * error
    assert across == pytest.approx(channel.deviation, rel=0.2)
    wrong = CodebookChannel(channel.n_codewords, channel.n_chosen + 200, channel.member_weight)
    assert abs(wrong.mean(book.total(nonces, found), n) @ g - 1) > 4 * error  # another channel's gain is seen


def test_mean_square_is_unbiased_and_spreads_as_told():
    n = 6000
    channel, g, book, nonces, found = answers(20, 4.0, n, two_sided=True, dimension=20)
    square = channel.mean_square(book.codewords(nonces, found))
    off = ~np.eye(20, dtype=bool)
    assert abs(g @ square @ g - 1) < 4 * 1.6 * channel.deviation / math.sqrt(n)
    assert (square - np.outer(g, g))[off].std() * math.sqrt(n) == pytest.approx(channel.deviation, rel=0.25)


def test_documents_without_an_answer_add_nothing():
    n, rng = 6000, np.random.default_rng(5)
    channel = CodebookChannel.for_document(4.0)
    book, nonces = channel.codebook(30, QUESTION), [rng.bytes(16) for _ in range(n)]
    found = channel.reports(np.zeros((n, 30), int), nonces, book, SecureStream(2))
    mean = channel.mean(book.total(nonces, found), n)
    assert np.abs(mean).max() < 4.5 * channel.deviation / math.sqrt(n)


@pytest.mark.integration
def test_a_nonce_reused_by_all_is_seen_in_the_spread():
    """It costs no privacy, but the answers' errors no longer cancel."""
    n = 16_000
    channel, g, book, nonces, _ = answers(40, 1.0, n)
    same = [nonces[0]] * n
    found = channel.reports(np.tile(np.rint(g * 1000).astype(int), (n, 1)), same, book, SecureStream(0))
    mean = channel.mean(book.total(same, found), n)
    across = np.linalg.norm(mean - (mean @ g) * g) * math.sqrt(n / (len(g) - 1))
    assert across > 3 * channel.deviation


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: CodebookChannel(8, 8, 5, 2), "chooses"),
        (lambda: CodebookChannel(8, 0, 5, 2), "chooses"),
        (lambda: CodebookChannel(6, 2, 5, 2), "power of two"),
        (lambda: CodebookChannel(8, 2, 2, 2), "weigh"),
        (lambda: CodebookChannel(8, 2, 2**53, 2), "2\\^53"),
        (lambda: CodebookChannel(8, 2, 5.0, 2), "whole numbers"),
        (lambda: CodebookChannel.for_document(0), "epsilon"),
        (lambda: CodebookChannel.for_document(math.inf), "20 at most"),
        (lambda: CodebookChannel.for_document(1e-9), "larger"),
        (lambda: CodebookChannel.for_document(1, n_codewords=1000), "power of two"),
        (lambda: CodebookChannel.for_document(1).codebook(0, QUESTION), "dimension"),
        (lambda: CodebookChannel.for_document(1).codebook(4, b"x"), "32 bytes"),
        (lambda: CodebookChannel.for_document(1).codebook(4, QUESTION).scores([0.5] * 4, NONCES[0]), "whole"),
        (
            lambda: CodebookChannel.for_document(1).codebook(4, QUESTION).scores([1] * 5, NONCES[0]),
            "rows of 4",
        ),
        (lambda: CodebookChannel.for_document(1).codebook(4, QUESTION).scores([1] * 4, b"x"), "nonce"),
        (
            lambda: CodebookChannel.for_document(1).report(
                [1] * 4, NONCES[0], CodebookChannel.for_document(8).codebook(4, QUESTION), SecureStream(0)
            ),
            "1024 codewords",
        ),
    ],
)
def test_refusals(make, told):
    with pytest.raises((ParameterError, PrivacyError), match=told):
        make()
