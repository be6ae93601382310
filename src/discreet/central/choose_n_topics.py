r"""How many topics, chosen on private text: every candidate is trained privately, and the best is reported with noise.

:func:`discreet.evaluate.choose_n_topics` compares exact figures, for public text. Here each number of topics K gets a
:class:`~discreet.PrivateLDA` of its own; each document then scores each candidate by the gain a token over the
frequencies of words (see :mod:`discreet.central.private_fit`: half of the document is guessed from the other half), cut
to [0, b] and divided by b; and report noisy max (:mod:`discreet.privacy.noisy_max`) names the candidate with the
largest sum.

Guarantee
---------
*Unit, neighbours*: a document, or all documents of an author, added or removed. *Released*: the topics of all
candidates, and which is the best. *Events*: one Gaussian event for each candidate, and one draw of randomised response
for the choice. A document's scores are functions of itself and of released topics; an author's are the mean of those of
their documents, so they lie in [0, 1] as well, and the proof of noisy max applies whatever the topics are: it is one
more step that may look at what was released before. All are booked as one plan before a document is read, so they are
composed exactly: c candidates of precision :math:`\mu_c^2` each cost what one Gaussian release of
:math:`c\,\mu_c^2` does.

What it costs: c candidates have :math:`\sqrt c` times the noise that one alone would have, so try few. The choice
itself is cheap: with n documents its noise is :math:`b / (n \epsilon_s)` of mean gain.

Candidates are scored on the documents that they were trained on. A held-out part would be fairer to small K, but would
take its documents from the training.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._progress import Callback, tell
from discreet._validate import faults_of, is_number, number, refuse, rules, whole
from discreet.central.base import fit_booked, read_public, take_words
from discreet.central.check_data import check_data
from discreet.central.private_fit import gains
from discreet.central.private_lda import PrivateLDA
from discreet.errors import DiscreetError, Parameter, ParameterError
from discreet.privacy.accounting.totals import gdp_epsilon, gdp_mu
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.noisy_max import NoisyMax
from discreet.release.private_estimator import (
    Plan,
    PrivateEstimator,
    book_together,
    faults_of_call,
    faults_of_estimator,
    ledger_of_choices,
)
from discreet.release.record import Release

__all__ = ["ChosenTopics", "choose_n_topics_privately"]

_OWN = rules(selection_share=number(above=0, below=1), bound=number(above=0))
_FEWEST = 2


class ChosenTopics(NamedTuple):
    """What was chosen, and all that was released on the way.

    Attributes
    ----------
    n_topics : int
    release : Release
        The topics of the candidate that was chosen.
    candidates : tuple of int
    releases : tuple of Release
        Those of all candidates, which were paid for as well.
    """

    n_topics: int
    release: Release
    candidates: tuple[int, ...]
    releases: tuple[Release, ...]


class _Choice(PrivateEstimator):
    """The choice as something that can be booked together with training."""

    _constraints = rules(n_candidates=whole(_FEWEST))

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        privacy_unit: str,
        n_candidates: int,
        random_state: int | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.privacy_unit = privacy_unit
        self.n_candidates = n_candidates
        self.random_state = random_state
        self.ledger = ledger

    def _plan(self) -> Plan:
        mechanism = NoisyMax(float(self.epsilon))
        return Plan(mechanism.event(), mechanism)

    def _purpose(self) -> tuple[str, Sequence[str]]:
        return "number of topics", [f"the best of {self.n_candidates}"]


def choose_n_topics_privately(
    X: Any,
    candidates: Sequence[int],
    *,
    epsilon: float,
    delta: float = 1e-6,
    privacy_unit: str = "document",
    owners: Any = None,
    selection_share: float = 0.1,
    bound: float = 1.0,
    random_state: int | None = None,
    n_jobs: int | None = None,
    ledger: Ledger | None = None,
    callback: Callback | None = None,
    **of_topics: Any,
) -> ChosenTopics:
    """Train several numbers of topics privately, and choose the best of them privately; all together cost ``epsilon``.

    Parameters
    ----------
    X : Corpus, WordCounts, data frame, or matrix of shape (n_documents, n_words)
        As for :meth:`discreet.PrivateLDA.fit`; words must be public, or their choice booked on ``ledger``.
    candidates : sequence of int
        Numbers of topics, two or more; each costs.
    epsilon, delta : float
        The promise of everything that is released.
    privacy_unit : {"document", "author"}, default "document"
    owners : array-like of shape (n_documents,), optional
    selection_share : float, default 0.1
        Share of epsilon for the choice; the candidates get the largest equal part that all together leaves.
    bound : float, default 1.0
        b: gains a token above it, in nats, count as that much; losses count as nothing.
    random_state : int, optional
        None: noise from the operating system. An int: reproducible, and the releases say "not for release".
    n_jobs : int, optional
    ledger : Ledger, optional
        By default one of this budget is made.
    callback : callable, optional
    **of_topics
        Further parameters of :class:`~discreet.PrivateLDA`.

    Returns
    -------
    ChosenTopics

    Raises
    ------
    ParameterError, PrivacyError, BudgetExceeded
        Before X is read or anything booked.
    CorpusError
        Where X is not what was expected. The cost stays booked.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> topic = rng.integers(3, size=(3000, 1))
    >>> counts = rng.poisson(np.where(np.arange(30) // 10 == topic, 0.8, 0.1))
    >>> choose_n_topics_privately(counts, [1, 3], epsilon=4.0, random_state=0).n_topics
    3
    """
    numbers = _check_candidates(candidates)
    refuse(faults_of({"selection_share": selection_share, "bound": bound}, _OWN))
    common: dict[str, Any] = {"delta": delta, "privacy_unit": privacy_unit, "random_state": random_state}
    of_topics |= {"n_jobs": n_jobs, "epsilon": epsilon, "ledger": ledger, **common}
    models = [PrivateLDA(n, **of_topics) for n in numbers]
    choice = _Choice(
        epsilon=selection_share * epsilon if is_number(epsilon) else epsilon,
        n_candidates=len(numbers),
        **common,
    )
    words, faults = take_words(models[0], X, None, False)
    refuse([*faults_of_estimator(models[0]), *faults_of_call(models[0], X, owners), *faults])
    each = _epsilon_of_each(choice, len(models), epsilon, delta)
    book = ledger or ledger_of_choices(X) or Ledger(epsilon, delta, privacy_unit=privacy_unit)
    for model in models:
        model.epsilon = each
    public = [read_public(model, words.words) for model in models]
    *booked, of_choice = book_together(book, *models, choice)
    releases: list[Release] = []
    for done, (model, booking, read) in enumerate(zip(models, booked, public, strict=True)):
        tell(callback, "training candidates", done, len(models))
        releases.append(fit_booked(model, booking, X, owners, read))
    tell(callback, "training candidates", len(models), len(models))
    counts, authors, _ = check_data(X, owners, words.words, privacy_unit)
    scores = np.column_stack([gains(release, counts, n_jobs=n_jobs) for release in releases]) / bound
    stream = SecureStream(random_state).spawn("number of topics")
    best = of_choice.plan.how.choose(_by_unit(scores, authors), stream, of_choice.reservation)
    return ChosenTopics(numbers[best], releases[best], numbers, tuple(releases))


def _by_unit(scores: NDArray[np.float64], authors: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return a row of scores from 0 to 1 for each unit: the mean of what its documents say."""
    scores = np.clip(scores, 0.0, 1.0)
    if authors is None:
        return scores
    _, author, n_documents = np.unique(authors, return_inverse=True, return_counts=True)
    return np.column_stack([np.bincount(author, column) for column in scores.T]) / n_documents[:, None]


def _epsilon_of_each(choice: _Choice, n_candidates: int, epsilon: float, delta: float) -> float:
    """Return the epsilon of each candidate with which all of them and the choice cost what was asked for."""
    if math.isinf(epsilon):
        return epsilon
    together = Ledger(epsilon, delta).remaining(choice.planned_event(), together=True).epsilon
    return gdp_epsilon(gdp_mu(together, delta) / math.sqrt(n_candidates), delta)


def _check_candidates(candidates: Any) -> tuple[int, ...]:
    fault: DiscreetError = ParameterError(
        Parameter("candidates"),
        " must be two or more numbers of topics, each at least 1, such as [10, 20, 50].",
    )
    try:
        listed = list(candidates)
    except TypeError:
        raise fault from None
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1 for n in listed)
    if not whole or len(set(listed)) < _FEWEST:
        raise fault
    return tuple(sorted({int(n) for n in listed}))
