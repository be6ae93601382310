r"""How many topics, chosen on private text: every candidate is trained privately, and the best is reported with noise.

:func:`discreet.evaluate.choose_n_topics` compares exact figures, for public text. Here about a tenth of the units is
held out, and each number of topics K gets a :class:`~discreet.PrivateLDA` of its own, trained on all others. Each
document held out then scores each candidate by its gain a token over the frequencies of words (see
:mod:`discreet.central.private_fit`: each half of the document is guessed from the other), which are the same for all
candidates: the mean of what they released. Gains are cut to [-b, b] and mapped to [0, 1]; and report noisy max
(:mod:`discreet.privacy.noisy_max`) names the candidate with the largest sum.

*Fewer topics where nothing speaks for more*: a candidate has to be ahead of the next smaller one by .01 nat a token,
which is 1 % of perplexity, and by one standard deviation of the noise. Both are public, the one in each unit's scores,
the other in the sums. Without them chance would decide between candidates on small corpora;
``experiments/choose_topics/private.py`` counts how often it still does.

Guarantee
---------
*Unit, neighbours*: a document, or all documents of a person, added or removed. *Released*: the topics of all
candidates, and which is the best. *Sensitivity*: that of :class:`~discreet.PrivateLDA` for each candidate, and a row of
scores in [0, 1] for the choice. *Events*: one Gaussian event for each candidate, and one draw of randomised response
for the choice.

*Who is held out* is read off a hash of a document's own counts, of a person off the sum of those of their documents:
a function of the unit alone. So a unit that comes or goes moves no other across the border. The documents to train on
differ by that unit or not at all, and so do those to score on: each step sees neighbours, or one and the same data, and
its own proof applies. Scores are functions of the unit and of released topics; a person's are the mean of those of
their documents, so they lie in [0, 1] as well, and the proof of noisy max applies whatever the topics are: it is one
more step that may look at what was released before. Where columns were chosen privately, that was such a step, too. All
are booked as one plan before a document is read, so they are composed exactly: c candidates of precision
:math:`\mu_c^2` each cost what one Gaussian release of :math:`c\,\mu_c^2` does. That no unit is both trained and scored
on is not made use of: training and choice add up, as if each read everything.

What it costs: c candidates have :math:`\sqrt c` times the noise that one alone would have, so try few; and a tenth of
the units is not trained on. With m units held out the noise of the choice is about :math:`2 b / (m \epsilon_s)` of mean
gain: candidates that lie closer are told apart by chance.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.persons import knows_persons
from discreet._base.progress import Callback, steps
from discreet._base.validate import declared, faults_of, is_number, number, refuse, rules, whole
from discreet.central.base import check_data, fit_booked, read_public, take_words
from discreet.central.private_fit import document_marks, frequencies, gains, means_by_person
from discreet.central.private_lda import PrivateLDA
from discreet.errors import CorpusError, DiscreetError, ParameterError
from discreet.privacy.accounting.curves import gdp_epsilon, gdp_mu
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.noisy_max import NoisyMax
from discreet.release.private_estimator import (
    DELTA,
    Plan,
    PrivateEstimator,
    book_together,
    faults_of_call,
    faults_of_estimator,
    ledger_of_choices,
)
from discreet.release.release import Release

# A margin larger than the bound would leave no choice.
_OWN = rules(selection_share=number(above=0, below=1), contribution_bound=number(least=0.1, most=100))
_FEWEST = 2
_PARTS = 10
#: By how much a candidate has to beat the next smaller one: nats a token, and standard deviations of the noise.
_MARGIN, _LEAD = 0.01, 1.0


class ChosenTopics(NamedTuple):
    """What was chosen, and all that was released on the way.

    Attributes
    ----------
    n_topics : int
    release : Release
        The topics of the candidate that was chosen, trained on about nine tenths of the units.
    candidates : tuple of int
    releases : tuple of Release
        Those of all candidates, which were paid for as well.
    """

    n_topics: int
    release: Release
    candidates: tuple[int, ...]
    releases: tuple[Release, ...]


@declared
@dataclass(eq=False, repr=False)
class _Choice(PrivateEstimator):
    """The choice as something that can be booked together with training."""

    _: KW_ONLY
    epsilon: float
    delta: float
    privacy_unit: str
    n_candidates: Annotated[int, whole(_FEWEST)]
    random_state: int | None = None
    ledger: Ledger | None = None

    def _plan(self) -> Plan:
        mechanism = NoisyMax(float(self.epsilon), privacy_unit=self.privacy_unit)
        return Plan(mechanism.event(), mechanism)

    def _purpose(self) -> tuple[str, Sequence[str]]:
        return "number of topics", [f"the best of {self.n_candidates}"]

    notice = PrivateEstimator._notice  # of all of the text: training sees a part of it


def choose_n_topics_privately(
    X: Any,
    candidates: Sequence[int],
    *,
    epsilon: float,
    delta: float | None = None,
    privacy_unit: str | None = None,
    persons: Any = None,
    selection_share: float = 0.1,
    contribution_bound: float = 1.0,
    random_state: int | None = None,
    n_jobs: int | None = None,
    ledger: Ledger | None = None,
    callback: Callback | None = None,
    **of_topics: Any,
) -> ChosenTopics:
    """Train several numbers of topics privately, and choose the best of them privately; all together cost ``epsilon``.

    About a tenth of the units is held out to choose by: which, depends on each unit alone.

    Parameters
    ----------
    X : Corpus, data frame, or matrix of shape (n_documents, n_words)
        As for :meth:`discreet.PrivateLDA.fit`; words must be public, or their choice booked on ``ledger``.
    candidates : sequence of int
        Numbers of topics, two or more; each costs.
    epsilon : float
        The promise of everything that is released.
    delta : float, optional
        By default that of the ledger, or 1e-6.
    privacy_unit : {"document", "person"}, optional
        By default the person, where it is known whose the documents are.
    persons : array-like of shape (n_documents,), optional
    selection_share : float, default 0.1
        Share of epsilon for the choice; the candidates get the largest equal part that all together leaves.
    contribution_bound : float, default 1.0
        b, in nats a token, from 0.1 to 100: gains and losses above it count as that much.
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
        Where X is not what was expected, or no document is left to train on. The cost stays booked.

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
    refuse(faults_of({"selection_share": selection_share, "contribution_bound": contribution_bound}, _OWN))
    if privacy_unit is None:
        privacy_unit = "person" if persons is not None or knows_persons(X) else "document"
    book = ledger or ledger_of_choices(X)
    delta = float(getattr(book, "delta", DELTA) if delta is None else delta)
    common: dict[str, Any] = {"delta": delta, "privacy_unit": privacy_unit, "random_state": random_state}
    of_topics |= {"n_jobs": n_jobs, "epsilon": epsilon, "ledger": ledger, **common}
    models = [PrivateLDA(n, **of_topics) for n in numbers]
    share = selection_share * epsilon if is_number(epsilon) else epsilon
    choice = _Choice(epsilon=share, n_candidates=len(numbers), **common)
    words, faults = take_words(models[0], X, None, False)
    refuse([*faults_of_estimator(models[0]), *faults_of_call(models[0], X, persons), *faults])
    each = _epsilon_of_each(choice, len(models), epsilon, delta)
    book = book or Ledger(epsilon, delta, privacy_unit=privacy_unit)
    for model in models:
        model.epsilon = each
    public = [read_public(model, words.words) for model in models]
    *booked, of_choice = book_together(book, *models, choice)
    # From here on X may be read: the cost is booked.
    counts, people, _ = check_data(X, persons, words.words, privacy_unit)
    if words.origin.kind != "chosen":  # whoever chose them has noticed
        choice.notice(of_choice, counts)
    held_out = _held_out(counts, people)
    if held_out.all():
        raise CorpusError(
            "too few documents: a tenth is held out to choose by, and none is left to train on."
        )
    learnt, writers = counts[~held_out], None if people is None else people[~held_out]
    releases: list[Release] = []
    for one in steps(callback, "training candidates", len(models)):
        releases.append(fit_booked(models[one], booked[one], learnt, writers, public[one], words))
    scores = _scores(releases, counts[held_out], contribution_bound, n_jobs)
    rows = _by_unit(scores, None if people is None else people[held_out])
    stream = SecureStream(random_state).spawn("number of topics")
    best = of_choice.plan.how.choose(rows, stream, of_choice.reservation, lead=_LEAD)
    return ChosenTopics(numbers[best], releases[best], numbers, tuple(releases))


def _held_out(counts: Any, people: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Return which documents to score on: those of about a tenth of the units, each by a rule that sees it alone."""
    marks = document_marks(counts)
    if people is not None:
        _, person = np.unique(people, return_inverse=True)
        of_people = np.zeros(len(marks), np.uint64)
        np.add.at(of_people, person, marks)
        marks = of_people[person]
    return marks % np.uint64(_PARTS) == 0


def _scores(
    releases: Sequence[Release], counts: Any, bound: float, n_jobs: int | None
) -> NDArray[np.float64]:
    """Return what each document says of each candidate, from 0 for a loss of ``bound`` to 1 for a gain of it."""
    # Each over its own noisy frequencies, the candidate with the worst of these would seem to gain most.
    plain = np.mean([frequencies(release) for release in releases], axis=0)
    both = [[gains(each, counts, plain, swapped, n_jobs) for each in releases] for swapped in (False, True)]
    found = np.mean(both, axis=0).T
    scores = (np.clip(found / bound, -1.0, 1.0) - _MARGIN / bound * np.arange(len(releases)) + 1.0) / 2.0
    return np.clip(scores, 0.0, 1.0)


def _by_unit(scores: NDArray[np.float64], people: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return a row of scores from 0 to 1 for each unit: the mean of what its documents say."""
    scores = np.clip(scores, 0.0, 1.0)
    if people is None:
        return scores
    return means_by_person(scores, people, np.ones(len(people), np.bool_))


def _epsilon_of_each(choice: _Choice, n_candidates: int, epsilon: float, delta: float) -> float:
    """Return the epsilon of each candidate with which all of them and the choice cost what was asked for."""
    if math.isinf(epsilon):
        return epsilon
    together = Ledger(epsilon, delta).remaining(choice.planned_event(), together=True).epsilon
    return gdp_epsilon(gdp_mu(together, delta) / math.sqrt(n_candidates), delta)


def _check_candidates(candidates: Any) -> tuple[int, ...]:
    fault: DiscreetError = ParameterError(
        "`candidates` must be two or more numbers of topics, each at least 1, such as [10, 20, 50]."
    )
    try:
        listed = list(candidates)
    except TypeError:
        raise fault from None
    if not all(map(whole().holds, listed)) or len(set(listed)) < _FEWEST:
        raise fault
    return tuple(sorted({int(n) for n in listed}))
