r"""PrivateFit: how well released topics describe private documents, under differential privacy.

Each document is split in two by a rule that looks at nothing but the document. Its topics are found from the first
half, and the second half is scored: :math:`g_d` is the mean gain, in nats a token, of the topics over the released
frequencies of words, clipped to :math:`[-b, b]`, and :math:`h_d` the mean nats a token under these frequencies alone,
less their entropy and clipped to :math:`[-r, r]`, r = 2. The document contributes :math:`(g_d / b, w h_d / r, c)`,
w = 1/2; one with no token to score contributes nothing, and is not counted. So perplexities are released, too, at
once and for one booking; the third number costs the others 10 % more noise (c = 1/2).

Guarantee
---------
*Unit, neighbours*: a document, or all documents of a person, added or removed. *Released*: the sum over units, with
Gaussian noise. *Sensitivity*: :math:`\sqrt{1 + w^2 + c^2}` in L2: topics, frequencies, b, r, w and c are public, split
and scores are functions of the one document, a person's vector is the mean of their scored documents' (or zero) and
so no longer than the longest, and :class:`~discreet.privacy.Bound` holds each to that norm. *Event*: one Gaussian
event.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.arrays import COUNT_ITS_WORDS, column_order
from discreet._base.kernels import GOLDEN, mixed
from discreet._base.progress import Callback, telling
from discreet._base.validate import CALLBACK, SEED, THREADS, Rule, declared
from discreet.central.base import check_data
from discreet.corpus import check_counts
from discreet.corpus.counting import refuse_texts
from discreet.errors import CorpusError
from discreet.lda import fold_in
from discreet.lda._fold_in import log_likelihood
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.bound import Bound
from discreet.privacy.ledger.ledger import Ledger, Reservation
from discreet.privacy.mechanism import GaussianMechanism
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.row_sums import sum_rows
from discreet.release import numbers
from discreet.release.files import check_ledger
from discreet.release.private_estimator import Plan, PrivateEstimator
from discreet.release.release import Release

_BITS = 20
_RELEASE = Rule("a Release, as fit gives it", lambda value: isinstance(value, Release))


@declared
@dataclass(eq=False, repr=False)
class PrivateFit(PrivateEstimator):
    """How good a release is on private text: one number with an interval, that may leave.

    Parameters
    ----------
    release : Release
        The model to score.
    epsilon : float, default 0.1
        It adds to what the topics cost, and one number needs little: hence not 1.0, as for topics. ``inf`` is the
        non-private twin.
    delta : float, optional
        By default that of the ledger, or 1e-6.
    privacy_unit : {"document", "person"}, optional
        As for :class:`PrivateLDA`.
    contribution_bound : float, default 1.0
        b, in nats a token: gains are clipped to it, on either side.
    count_weight : float, default 0.5
        c: how much of the budget says how many units there are.
    random_state, n_jobs, ledger, callback
        As for :class:`~discreet.PrivateLDA`. Give the ledger that the topics were booked on.

    Attributes
    ----------
    release_ : FitRelease
        ``gain``, ``interval()``, ``perplexity_ratio``, ``ratio_interval()``, ``perplexity``, ``perplexity_interval()``,
        ``unigram_perplexity``, ``unigram_interval()``, ``in_words()``, ``save``.
    neighboring : str
        "add_or_remove_one": the relation that the promise is about.

    Notes
    -----
    On documents that the topics were trained on, the score is a little too good; on others it is fair.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import PrivateFit, PrivateLDA
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.poisson(np.where(np.arange(30) // 15 == rng.integers(2, size=(3000, 1)), 0.8, 0.1))
    >>> release = PrivateLDA(2, epsilon=4.0, random_state=0).fit(counts[:2000]).release_
    >>> PrivateFit(release, epsilon=1.0, random_state=0).fit(counts[2000:]).release_.gain > 0.2
    True
    """

    release: Annotated[Release, _RELEASE]
    _: KW_ONLY
    epsilon: float = 0.1
    delta: Any = None
    privacy_unit: Any = None
    contribution_bound: Annotated[float, numbers.GAIN_BOUND] = 1.0
    count_weight: Annotated[float, numbers.COUNT_WEIGHT] = 0.5
    random_state: Annotated[int | None, SEED] = None
    n_jobs: Annotated[int | None, THREADS] = None
    ledger: Ledger | None = None
    callback: Annotated[Callback | None, CALLBACK] = None

    def fit(self, X: Any, y: Any = None, *, persons: Any = None) -> "PrivateFit":
        """Book the cost, then score the documents.

        Parameters
        ----------
        X : array-like, sparse matrix, Corpus of shape (n_documents, n_words)
            Counts of the words of ``release``, in their order.
        y : None
            Ignored.
        persons : array-like of shape (n_documents,), optional
            Person of each document, where people are the unit.

        Raises
        ------
        ParameterError, PrivacyError, BudgetExceeded
            Before anything is booked.
        CorpusError
            Where X is not what was expected. The cost stays booked, unless X is an array or a sparse matrix.
        """
        return self._take(self._for_units_of(X, persons)._fit(X, persons))

    def _fit(self, X: Any, persons: Any) -> Self:
        refuse_texts(X, COUNT_ITS_WORDS)
        self._check_call(X, persons)
        order = column_order(X, self.release.vocabulary)  # by name, where X names its columns
        self._check_size(getattr(X, "shape", None))
        booking = self._book(X)
        # From here on X may be read: the cost is booked.
        counts, people, _ = check_data(X, persons, None, self.privacy_unit)
        self._notice(booking, counts)
        self._check_size(counts.shape)
        counts = counts if order is None else check_counts(counts[:, order])
        with telling(self.callback, "scoring documents"):
            bound, weight = self.contribution_bound, self.count_weight
            rows = contributions(self.release, counts, bound, weight, self.n_jobs)
        if people is not None:
            rows = means_by_person(rows, people, rows[:, 2] > 0)
        mechanism: GaussianMechanism = booking.plan.how
        stream = SecureStream(self.random_state).spawn("fit")
        summed = sum_rows(rows, mechanism.bound, n_jobs=self.n_jobs)
        noisy = mechanism.release(summed, stream, booking.reservation)
        total, nats, count = (float(value) * mechanism.bound.step for value in noisy.tolist())
        self.release_ = numbers.FitRelease(
            gain_total=total,
            unit_count=count,
            noise=float(mechanism.scale) * mechanism.bound.step,
            count_weight=float(self.count_weight),
            bound=float(self.contribution_bound),
            unigram_total=nats,
            unigram_centre=_entropy(frequencies(self.release)),
            ledger=booking.ledger.snapshot(),
            configuration=self._configuration(),
            reproducible=self.random_state is not None or self.release.reproducible,
        )
        self._notice_delta(self.release_)
        return self

    def _check_size(self, shape: Any) -> None:
        n_words = len(self.release.vocabulary)
        if shape is not None and shape[1:] != (n_words,):
            raise CorpusError(
                f"expected counts of the {n_words} words of the release, in their order; count with its words: "
                "read_corpus(..., vocabulary=release.vocabulary)."
            )

    def _plan(self) -> Plan:
        size = numbers.fit_size(float(self.count_weight))
        bound = Bound("l2", contribution_bound=size, bits=_BITS, privacy_unit=self.privacy_unit)
        noise = 0.0 if math.isinf(self.epsilon) else noise_multiplier_for(self.epsilon, self.delta)
        mechanism = GaussianMechanism(bound, noise)
        return Plan(mechanism.event(), mechanism)

    def _reserve(self, ledger: Ledger, plan: Plan) -> Reservation:
        check_ledger(ledger, plan.event)
        return super()._reserve(ledger, plan)

    def _purpose(self) -> tuple[str, Sequence[str]]:
        return numbers.FitRelease.PURPOSE, []

    def _configuration(self) -> dict[str, Any]:
        return numbers.public_settings(
            type(self).__name__,
            "clipped gain of document completion over the unigram, and nats of the unigram",
            delta=float(self.delta),
            epsilon=float(self.epsilon),
            model=numbers.mark_of(self.release),
            n_topics=len(self.release.topic_word),
            privacy_unit=self.privacy_unit,
        )


def means_by_person(
    rows: NDArray[np.float64], people: NDArray[np.int64], counted: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the sum of each person's rows over how many of them are counted, in the order of the persons' numbers."""
    _, person = np.unique(people, return_inverse=True)
    sums = np.column_stack([np.bincount(person, column) for column in rows.T])
    return sums / np.maximum(np.bincount(person, counted), 1)[:, None]


def gains(
    release: Release, counts: Any, plain: NDArray[np.float64], swapped: bool, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Return each document's gain a token over the unigram, in nats. Private.

    ``plain``: the unigram to gain on; ``swapped``: guess the first half from the second.
    """
    found, alone, _ = _completed(release, counts, plain, swapped, n_jobs)
    return found - alone


def contributions(
    release: Release, counts: Any, bound: float, count_weight: float, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Return what each document adds: its gain, its nats under the unigram, and its count; shape (n, 3). Private.

    Zeros where no token is left to score.
    """
    plain = frequencies(release)
    found, alone, n_scored = _completed(release, counts, plain, False, n_jobs)
    gain = np.clip((found - alone) / bound, -1.0, 1.0)
    nats = np.clip((-alone - _entropy(plain)) / numbers.UNIGRAM_REACH, -1.0, 1.0)
    rows = np.column_stack([gain, numbers.UNIGRAM_WEIGHT * nats, np.full(len(gain), float(count_weight))])
    return rows * (n_scored > 0)[:, None]


def _completed(
    release: Release, counts: Any, plain: NDArray[np.float64], swapped: bool, n_jobs: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the log likelihood a token of each document's second half, under topics and unigram, and its tokens."""
    seen, scored = halves(counts)[:: -1 if swapped else 1]
    doc_topic = fold_in(release.topic_word, seen, doc_topic_prior=release.doc_topic_prior, n_jobs=n_jobs)
    found = log_likelihood(release.topic_word, doc_topic, scored, n_jobs=n_jobs)
    alone = scored @ np.log(np.maximum(plain, 1e-300))
    n_scored = np.asarray(scored.sum(1), dtype=np.float64).ravel()
    tokens = np.maximum(n_scored, 1)
    return found / tokens, alone / tokens, n_scored


def _entropy(weight: NDArray[np.float64]) -> float:
    """Return the entropy of frequencies of words, in nats; a function of what was released."""
    some = weight[weight > 0]
    return max(float(-(some * np.log(some)).sum()), 0.0)


def frequencies(release: Release) -> NDArray[np.float64]:
    """Return the frequencies of words that a release tells or implies, shape (n_words,)."""
    if release.word_weight is not None:
        return release.word_weight
    shares = release.topic_weight
    return release.topic_word.mean(0) if shares is None else shares @ release.topic_word


def halves(counts: Any) -> tuple[Any, Any]:
    """Split each document in two by a public rule that looks at nothing but the document.

    Of a word that stands there 2n times n tokens go to either side; the odd one goes where a hash of the word and of
    the document's own counts says.
    """
    words = _hashed(counts.indices.astype(np.uint64))
    mark_of_token = np.repeat(document_marks(counts), np.diff(counts.indptr))
    coin = (_hashed(words ^ mark_of_token) >> np.uint64(32)) & np.uint64(1)
    first = counts.data // 2 + (counts.data % 2) * coin.astype(counts.data.dtype)
    seen = sp.csr_matrix((first, counts.indices, counts.indptr), shape=counts.shape, copy=True)
    scored = sp.csr_matrix(
        (counts.data - first, counts.indices, counts.indptr), shape=counts.shape, copy=True
    )
    for part in (seen, scored):
        part.eliminate_zeros()  # 0 * ln 0 is not a number
    return seen, scored


def document_marks(counts: Any) -> NDArray[np.uint64]:
    """Return a hash of each document's own counts, by a public rule; shape (n_documents,). Private."""
    words = _hashed(counts.indices.astype(np.uint64))
    row_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    marks = np.zeros(counts.shape[0], np.uint64)
    np.add.at(marks, row_of, words * counts.data.astype(np.uint64))
    return _hashed(marks)


def _hashed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return mixed(values + np.uint64(GOLDEN))
