r"""FedLDA made right: topics of tokens are drawn from public topics, and (topic, word) pairs randomised together.

The baseline of run.py, called `rrp` there and in docs/research/silos.md; all silos are simulated in one process.
:func:`fit_fedlda` plays server and silos.

A client finds its documents' topic shares under the server's :math:`\phi` (they stay), draws a topic for each token
that is due, pads the pairs to a multiple of 256 with the cell "nothing", and reports each by :class:`PairResponse`.
The server debiases and shrinks: with :math:`e_{kw} = n_k n_w / n` and noise variance :math:`v_{kw}`, the residual
:math:`n_{kw} - e_{kw}` is multiplied by :math:`\tau^2 e_{kw}^2 / (\tau^2 e_{kw}^2 + v_{kw})`, :math:`\tau^2` by
moments.

Random response with a prior (RRP), in the form that keeps its promise
----------------------------------------------------------------------
A secret cell x (a word and the topic drawn for it) is sent as it is with probability :math:`1 - \eta`; otherwise a cell
is drawn from q, which is public and gives every cell something. So

.. math:: P(y \mid x) = (1 - \eta) [y = x] + \eta q_y, \qquad
          \max_{x, x', y} \frac{P(y \mid x)}{P(y \mid x')} = 1 + \frac{1 - \eta}{\eta \, q_{\min}},

which is at most :math:`e^\epsilon` exactly where :math:`\eta \ge 1 / (1 + q_{\min} (e^\epsilon - 1))`. Unbiased for
the number of secret cells y among n is :math:`(n_y - \eta n q_y) / (1 - \eta)`. Both eta (rounded up) and q (whole
numbers out of 2**40) are rational, and coins and draws are exact.

Guarantee
---------
*Unit, neighbours*: one (topic, word) pair replaced by any other, *given the topics that were drawn for all the
others*. *Released*: all reports. *Loss*: at most :math:`\epsilon` for the reports of that pair together, pure.

That is no promise about a token of a text. To replace its word moves the document's topic shares, and with them
the topics drawn for all the other tokens, which are reported, too. With two topics of which each gives .98 to a
word of its own, and a token of one of these words among 20 of a third word, replacing it by the other changes what is
sent by a factor of e^14.4 at least (e^15.4 where reports come in order), where e^1 is told; the tests enumerate it. In
general a document of n tokens sends n reports (times the number of rounds in which each is reported), and the loss for
any change of it, one word's or the whole's, is as many times epsilon at most.

*Over rounds*: tokens are dealt into ``n_rounds`` classes by a permutation that only the silo knows and that does not
depend on what the tokens are. In round r a silo reports the classes r, ..., r + m - 1 (modulo the number of rounds), so
that after all rounds each token was reported m times. A round is booked where it raises the number of reports of the
most reported class; where it does not, the tokens it reports are others than before, and none pays more than what is
booked.

What does not keep it
---------------------
* :math:`\eta = 1 / (\delta \delta_0 e^{\epsilon + 1})`, as printed, can exceed 1, and is no probability then.
* "Another cell", q without x, renewed, with :math:`\eta = 1 / (1 + q_{\min} e^\epsilon)`: the noise then moves
  with the secret; a loss of 3.8 where 1 was promised is in the tests.
* Noise drawn from the writer's own topics: what they never draw can only be the truth, so the loss is unbounded.

Reference
---------
Wang, Tong, Shi, "Federated Latent Dirichlet Allocation: A Local Differential Privacy Based Framework", AAAI 2020,
doi:10.1609/aaai.v34i04.6096 (poster and abstract).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_numbers
from discreet._base.validate import shown
from discreet.errors import ParameterError, PrivacyError
from discreet.lda import fold_in
from discreet.lda.moments.fit import positive_rates
from discreet.privacy import Ledger, SecureStream
from discreet.privacy.accounting import events
from discreet.privacy.noise.bernoulli import bernoulli

Floats = NDArray[np.float64]
_BITS = 40
_TOTAL = 1 << _BITS
_MOST_CELLS = 1 << 30
_PAD = 256
#: Reports of a silo in a round.
_MOST_REPORTS = 1 << 20
#: Share of earlier rounds' counts that a new round keeps; words' totals keep all, for they do not hang on topics.
_KEEP = 0.9
_PRIOR = 0.1


def response_probability(epsilon: float, q_min: float) -> float:
    """Return eta, the least probability of drawing noise that keeps a report's loss at epsilon.

    Parameters
    ----------
    epsilon : float
        Pure loss of one report; positive.
    q_min : float
        The smallest probability that the noise gives to any cell, above 0 and at most 1.

    Returns
    -------
    float
        In (0, 1]. For the exact rational that is used see :attr:`PairResponse.eta`.
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise PrivacyError(f"epsilon of a report must be positive and finite, but is {shown(epsilon)}.")
    if not 0 < q_min <= 1:
        raise ParameterError(
            f"q_min must be above 0 and at most 1, but is {shown(q_min)}: noise must be able to give every cell."
        )
    return 1 / (1 + q_min * math.expm1(min(epsilon, 600.0)))


class PairResponse:
    """A randomiser of cells with an exact, rational description.

    Parameters
    ----------
    noise : array of shape (n_cells,)
        Public q; positive. Rounded to whole 2**-40ths, each cell at least one.
    epsilon : float
        Loss of one report.

    Attributes
    ----------
    weights : array of shape (n_cells,), int64
        q times 2**40; sums to it.
    eta : Fraction
        Probability of noise: the least that keeps epsilon, rounded up.
    """

    def __init__(self, noise: ArrayLike, epsilon: float) -> None:
        q = np.asarray(as_numbers(noise, "noise", ""), dtype=np.float64)
        if q.ndim != 1 or not 1 < len(q) <= _MOST_CELLS:
            raise ParameterError(
                f"noise must be one row of 2 to {_MOST_CELLS} probabilities, but has shape {q.shape}."
            )
        if not (np.isfinite(q).all() and (q > 0).all()):
            raise PrivacyError(
                "noise must give every cell a positive probability: a report of a cell that noise never gives is "
                "the truth; mix in an even share."
            )
        self.weights = _whole(q)
        self.epsilon = float(epsilon)
        q_min = int(self.weights.min()) / _TOTAL
        response_probability(self.epsilon, q_min)  # refuses anything that is not an epsilon
        # 1 / (1 + r), r rounded down: eta is rounded up, and neither it nor 1 - eta loses digits.
        ratio = Fraction(q_min * math.expm1(min(self.epsilon, 600.0)))
        self.eta = 1 / (1 + ratio * (1 - Fraction(1, 10**12)))
        self._thresholds = np.cumsum(self.weights)

    @property
    def q(self) -> NDArray[np.float64]:
        """Probabilities of the noise, shape (n_cells,)."""
        return self.weights / _TOTAL

    def randomise(self, cells: ArrayLike, stream: SecureStream) -> NDArray[np.int64]:
        """Return one report for each secret cell.

        Parameters
        ----------
        cells : array of shape (n,), int
        stream : SecureStream
            Used up by two spawned children.
        """
        secret = np.asarray(cells)
        if secret.ndim != 1 or secret.dtype.kind not in "iu":
            raise ParameterError(f"cells must be one row of whole numbers, but are {secret.dtype}.")
        if len(secret) and not 0 <= secret.min() <= secret.max() < len(self.weights):
            raise ParameterError(f"cells must lie from 0 to {len(self.weights) - 1}.")
        noisy, drawn = self.draw(len(secret), stream)
        return np.where(noisy, drawn, secret).astype(np.int64)

    def draw(self, n: int, stream: SecureStream) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return whether each of n reports is noise, and the cell of the noise."""
        noisy = bernoulli(self.eta, n, stream.spawn("whether noise"))
        words = stream.spawn("which noise").words(n) >> np.uint64(64 - _BITS)
        return noisy, np.searchsorted(self._thresholds, words.astype(np.int64), side="right")

    def debias(self, observed: ArrayLike) -> NDArray[np.float64]:
        """Return unbiased numbers of secret cells from numbers of reports, shape (n_cells,)."""
        seen = np.asarray(observed, dtype=np.float64)
        eta = float(self.eta)
        if self.eta == 1:
            raise ParameterError("reports of pure noise (eta = 1) say nothing; raise epsilon.")
        return (seen - eta * seen.sum() * self.q) / float(1 - self.eta)


def _whole(q: NDArray[np.float64]) -> NDArray[np.int64]:
    """Turn probabilities into whole numbers out of 2**40, each at least 1."""
    weights = np.maximum(np.floor(q / q.sum() * _TOTAL), 1).astype(np.int64)
    weights[int(np.argmax(weights))] += _TOTAL - int(weights.sum())
    if weights.min() < 1:
        raise ParameterError("the noise cannot be written in whole 2**-40ths; make it more even.")
    return weights


class Sums(NamedTuple):
    """Running estimates of counts of pairs and of words, with the variances of their noise."""

    counts: Floats
    variance: Floats
    words: Floats
    word_variance: Floats


def response_of(n_cells: int, epsilon: float) -> PairResponse | None:
    """Make a round's randomiser, the same at server and silos; None without privacy. Its noise is even."""
    return None if math.isinf(epsilon) else PairResponse(np.ones(n_cells), epsilon)


@dataclass
class Silo:
    """A silo's counts, coins and ledger, and what it has reported."""

    counts: sp.csr_matrix
    stream: SecureStream
    ledger: Ledger
    #: How often each class of tokens was reported, and the class of each token.
    served: NDArray[np.int64]
    dealt: NDArray[np.int64]

    @classmethod
    def of(cls, counts, stream, epsilon: float, n_rounds: int) -> "Silo":
        """Deal the tokens, and open a ledger."""
        counts = sp.csr_matrix(counts, dtype=np.int32)
        ledger = Ledger(epsilon, events.PURE_DELTA, privacy_unit="pair", neighboring="replace_one")
        n_tokens = int(counts.data.sum())
        order = np.argsort(stream.spawn("classes").words(n_tokens), kind="stable")
        return cls(
            counts, stream, ledger, np.zeros(n_rounds, np.int64), (np.arange(n_tokens) % n_rounds)[order]
        )

    def report(self, topic_word: Floats, number: int, per_token: int, epsilon: float) -> NDArray[np.int64]:
        """Return the cells of a round: topic * n_words + word, or n_topics * n_words for "nothing"; booked before."""
        n_topics, n_words = topic_word.shape
        classes = (number + np.arange(per_token)) % len(self.served)
        served = self.served.copy()
        served[classes] += 1
        if served.max() > self.served.max():
            what = "reports of (word, topic) pairs, each at most once in this round"
            self.ledger.reserve(events.pure(epsilon), f"round {number}: {what}")
        self.served = served
        corpus = self.counts
        response = response_of(n_topics * n_words + 1, epsilon)
        documents = np.repeat(np.arange(corpus.shape[0]), np.diff(corpus.indptr))
        documents = np.repeat(documents, corpus.data)
        words = np.repeat(corpus.indices, corpus.data).astype(np.int64)
        due = np.isin(self.dealt, classes)
        shares = fold_in(topic_word, corpus, doc_topic_prior=_PRIOR, max_iter=40, tol=1e-3)
        drawn = self.stream.spawn(f"topics {number}")
        topics = _draw(topic_word, shares, documents[due], words[due], drawn)
        cells = (topics * n_words + words[due])[:_MOST_REPORTS]
        padded = min(-(-max(len(cells), 1) // _PAD) * _PAD, _MOST_REPORTS)
        cells = np.r_[cells, np.full(padded - len(cells), n_topics * n_words)]
        own = self.stream.spawn(f"reports {number}")
        # Which report is padding, and of which document, is not told.
        order = np.argsort(own.words(len(cells)), kind="stable")
        return cells[order] if response is None else response.randomise(cells[order], own)


class Fitted(NamedTuple):
    """Topics of the last round, what each silo booked, and bytes that came in all."""

    topic_word: Floats
    ledgers: list[Ledger]
    bytes_received: int


def fit_fedlda(
    parts, n_topics: int, *, epsilon: float, n_rounds: int = 1, reports_per_token: int = 1, random_state=None
) -> Fitted:
    """Run all rounds.

    Parameters
    ----------
    parts : sequence of count matrices of shape (n_documents, n_words)
        One a silo.
    n_topics : int
    epsilon : float
        For all reports of one (topic, word) pair together, given all drawn topics.
    n_rounds : int
    reports_per_token : int
        In how many rounds each token is reported, each time with ``epsilon / reports_per_token``.
    random_state : int, optional
        None: secure randomness.
    """
    if not 1 <= reports_per_token <= n_rounds:
        raise ParameterError("reports_per_token can be n_rounds at most: a token is reported once per round.")
    root = SecureStream(random_state).spawn("federated")
    silos = [
        Silo.of(part, root.spawn(f"client {client}"), epsilon, n_rounds) for client, part in enumerate(parts)
    ]
    topics = np.random.default_rng(0).gamma(10.0, size=(n_topics, silos[0].counts.shape[1]))
    topics /= topics.sum(1, keepdims=True)
    sums, received = None, 0
    for number in range(n_rounds):
        loss = epsilon / reports_per_token
        came = [silo.report(topics, number, reports_per_token, loss) for silo in silos]
        received += sum(values.nbytes for values in came)
        topics, sums = combine(topics, sums, came, loss)
    return Fitted(topics, [silo.ledger for silo in silos], received)


def _draw(
    topic_word: Floats,
    shares: Floats,
    documents: NDArray[np.int64],
    words: NDArray[np.int64],
    stream: SecureStream,
    block: int = 50_000,
) -> NDArray[np.int64]:
    """Draw a topic for each token, in proportion to share times probability of the word."""
    uniform = (stream.words(len(words)) >> np.uint64(11)) * 2.0**-53
    drawn = np.empty(len(words), np.int64)
    for start in range(0, len(words), block):
        part = slice(start, start + block)
        weights = np.cumsum(shares[documents[part]] * topic_word.T[words[part]], axis=1)
        found = (weights < (uniform[part] * weights[:, -1])[:, None]).sum(1)
        drawn[part] = np.minimum(found, len(topic_word) - 1)
    return drawn


def combine(topic_word: Floats, before: Sums | None, came, epsilon: float) -> tuple[Floats, Sums | None]:
    """Return new topics, and the running sums (estimates, their noise variance) they were made from."""
    n_cells = topic_word.size
    observed = np.zeros(n_cells + 1)
    for values in came:
        observed += np.bincount(values, minlength=n_cells + 1)
    response = response_of(n_cells + 1, epsilon)
    if response is None:
        counts, variance = observed, np.zeros(n_cells + 1)
    else:
        counts = response.debias(observed)
        eta = float(response.eta)
        variance = eta * observed.sum() * response.q / float(1 - response.eta) ** 2
    if not observed.sum():
        return topic_word, before
    counts, variance = counts[:-1].reshape(topic_word.shape), variance[:-1].reshape(topic_word.shape)
    sums = Sums(counts, variance, counts.sum(0), variance.sum(0))
    if before is not None:
        sums = Sums(
            _KEEP * before.counts + counts,
            _KEEP**2 * before.variance + variance,
            before.words + sums.words,
            before.word_variance + sums.word_variance,
        )
    return shrink(sums), sums


def shrink(sums: Sums) -> Floats:
    """Return topics from unbiased, noisy counts; rows sum to 1 and are positive."""
    counts, variance = sums.counts, sums.variance
    total = max(float(counts.sum()), 1.0)
    n_words = max(float(sums.words.sum()), 1.0)
    words = positive_rates(sums.words / n_words, np.sqrt(sums.word_variance) / n_words + 1e-12)
    words = words / words.sum()
    topics = _positive(counts.sum(1), variance.sum(1))
    expected = np.outer(topics / topics.sum(), words) * total
    residual = counts - expected
    # What stands above chance (two standard deviations of a sum of squared noises).
    above = (residual**2 - variance).sum() - 2 * math.sqrt(2 * float((variance**2).sum()))
    signal = max(float(above / (expected**2).sum()), 0.0)
    kept = signal * expected**2 + 1e-300
    smoothed = np.maximum(expected + residual * kept / (kept + variance), 0.02 * expected)
    smoothed += 0.01 * total / smoothed.size
    return smoothed / smoothed.sum(1, keepdims=True)


def _positive(values: Floats, variance: Floats) -> Floats:
    """Shrink noisy totals to their mean, and keep them positive."""
    mean = max(float(values.mean()), 1e-6)
    spread = max(float(((values - mean) ** 2 - variance).mean()), 0.0) + 1e-300
    return np.maximum(mean + (values - mean) * spread / (spread + variance), 0.02 * mean)
