r"""The distinguishing audit: many runs of a mechanism on two neighbouring corpora, and what they prove about epsilon.

A mechanism that is :math:`(\epsilon, \delta)`-private lets no test tell two neighbours apart better than
:math:`\mathrm{TPR} \le e^\epsilon\,\mathrm{FPR} + \delta`, in either direction. So if a test is seen to do
better, epsilon is larger than was promised. Rates are bounded by Clopper and Pearson's exact intervals; the
threshold of the test is chosen on one part of the runs and judged on the other, so that choosing costs
nothing.

The bound holds with the confidence stated: on a correct mechanism it lies above the promise in at most 1 -
confidence of all audits. A low bound proves nothing: it may be the attack that was weak.

Where more is promised than one pair :math:`(\epsilon, \delta)`, more can be refuted. Full-batch Gaussian releases
are :math:`\mu`-Gaussian private: :math:`\Phi^{-1}(\mathrm{TPR}) - \Phi^{-1}(\mathrm{FPR}) \le \mu` for every test.
Rates in the middle prove as much of that as tails prove of epsilon, with hundreds of runs instead of hundreds of
thousands.

References
----------
Jagielski, Ullman, Oprea, "Auditing differentially private machine learning", arXiv:2006.07709. Nasr et al.,
"Tight auditing of differentially private machine learning", arXiv:2302.07956. Clopper, Pearson, "The use of
confidence or fiducial limits illustrated in the case of the binomial", 1934, doi:10.1093/biomet/26.4.404.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, norm

from discreet._base.arrays import as_numbers
from discreet._base.validate import check, whole
from discreet.audit.arguments import CONFIDENCE, check_promise
from discreet.errors import ParameterError

_FEWEST = 20
Floats = NDArray[np.float64]
#: What a rate of right alarms of at least so much proves beside one of wrong alarms of at most so much.
Prove = Callable[[Any, Any], Floats]


@dataclass(frozen=True)
class DistinguishingReport:
    """What an audit found.

    Attributes
    ----------
    epsilon_lower_bound : float
        Epsilon is at least this, with ``confidence``. 0 where nothing is proved.
    confidence, delta : float
    threshold : float
        Scores above it are taken as "with the unit" (or below, where ``direction`` is "without").
    direction : {"with", "without"}
        Which of the two corpora the test accuses.
    true_positive_rate, false_positive_rate : float
        Of the test, on the runs that judged it.
    n_runs : int
        Runs on each corpus, both parts together.
    mu_lower_bound : float
        If the mechanism is mu-Gaussian private, mu is at least this, with ``confidence`` of its own; by a
        threshold of its own. Compare it with :func:`~discreet.privacy.gdp_mu` of a promise.
    """

    epsilon_lower_bound: float
    confidence: float
    delta: float
    threshold: float
    direction: str
    true_positive_rate: float
    false_positive_rate: float
    n_runs: int
    mu_lower_bound: float

    def exceeds(self, epsilon: float) -> bool:
        """Whether the audit proves more than a promised epsilon."""
        check_promise(epsilon, None)
        return self.epsilon_lower_bound > epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values that ``json.dumps`` takes."""
        return asdict(self)


def epsilon_lower_bound(
    true_positives: int, false_positives: int, n_runs: int, *, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """Return the epsilon that a test's counts prove.

    Parameters
    ----------
    true_positives : int
        Alarms in ``n_runs`` runs on the corpus that the test accuses.
    false_positives : int
        Alarms in ``n_runs`` runs on its neighbour.
    n_runs : int
    delta : float, default 0.0
    confidence : float, default 0.95
        Of both intervals together (each has half of what is missing to 1).

    Returns
    -------
    float
        At least 0.
    """
    check_promise(None, delta)
    return float(_epsilons(*_limits(true_positives, false_positives, n_runs, confidence), delta))


def mu_lower_bound(
    true_positives: int, false_positives: int, n_runs: int, *, confidence: float = 0.95
) -> float:
    """Return the mu of Gaussian differential privacy that a test's counts prove.

    Parameters
    ----------
    true_positives, false_positives, n_runs, confidence
        As for :func:`epsilon_lower_bound`.

    Returns
    -------
    float
        At least 0.
    """
    return float(_mus(*_limits(true_positives, false_positives, n_runs, confidence)))


def _limits(found: Any, wrong: Any, n_runs: int, confidence: float) -> tuple[Any, Any]:
    """Return the least rate of right alarms and the largest of wrong ones, both with ``confidence``."""
    check(confidence=(confidence, CONFIDENCE))
    if not (n_runs > 0 and np.all((np.r_[found, wrong] >= 0) & (np.r_[found, wrong] <= n_runs))):
        raise ParameterError("positives must be from 0 to n_runs, and n_runs must be positive.")
    missing = (1 - confidence) / 2
    return rate_interval(found, n_runs, missing)[0], rate_interval(wrong, n_runs, missing)[1]


def _mus(low: Any, high: Any) -> Floats:
    # ppf is -inf at 0 and inf at 1: a test without a hit, or with nothing but false alarms, proves nothing.
    return np.maximum(norm.ppf(low) - norm.ppf(high), 0.0)


def _epsilons(low: Any, high: Any, delta: float) -> Floats:
    return np.log(np.maximum((low - delta) / high, 1.0))


def rate_interval(found: Any, of: int, missing: float) -> tuple[Any, Any]:
    """Return Clopper and Pearson's limits of rates, each of which the rate is beyond with probability ``missing``."""
    low = np.where(found > 0, beta.ppf(missing, np.maximum(found, 1), of - found + 1), 0.0)
    high = np.where(found < of, beta.ppf(1 - missing, found + 1, np.maximum(of - found, 1)), 1.0)
    return low[()], high[()]


def distinguish(
    with_unit: ArrayLike | Callable[[int], float],
    without_unit: ArrayLike | Callable[[int], float],
    *,
    n_runs: int | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
) -> DistinguishingReport:
    """Bound epsilon from below by telling two neighbouring corpora apart.

    Parameters
    ----------
    with_unit, without_unit : array of shape (n_runs,), or callable
        Scores of independent runs of the mechanism on a corpus and on its neighbour: any function of what the
        mechanism releases, larger where the unit is in. Or ``score(run)``, which runs the mechanism once with
        fresh noise.
    n_runs : int, optional
        Runs on each corpus; needed with callables.
    delta : float, default 0.0
        The delta that was promised.
    confidence : float, default 0.95
        Shared by the two directions that are tried.

    Returns
    -------
    DistinguishingReport

    Raises
    ------
    ParameterError
        If a score is not finite, numbers of runs differ or are below 40, delta is not from 0 and below 1, or
        confidence is not between 0 and 1.
    """
    check_promise(None, delta)
    check(confidence=(confidence, CONFIDENCE))
    inside, outside = (_scores(side, n_runs) for side in (with_unit, without_unit))
    if len(inside) != len(outside):
        raise ParameterError(
            f"expected as many runs on both corpora, but got {len(inside)} and {len(outside)}."
        )
    total, half = len(inside), len(inside) // 2
    if half < _FEWEST:
        raise ParameterError(f"an audit needs at least {2 * _FEWEST} runs on each corpus, but got {total}.")
    # Both directions are one test for mu.
    _, found, wrong = _judge(inside, outside, half, _mus, confidence)
    judged, each = total - half, 1 - (1 - confidence) / 2
    mu = mu_lower_bound(found, wrong, judged, confidence=confidence)
    reports: list[DistinguishingReport] = []
    for direction, sign, sides in (("with", 1, (inside, outside)), ("without", -1, (-outside, -inside))):
        threshold, found, wrong = _judge(*sides, half, partial(_epsilons, delta=delta), 0.95)
        epsilon = epsilon_lower_bound(found, wrong, judged, delta=delta, confidence=each)
        rates = (found / judged, wrong / judged)
        reports.append(
            DistinguishingReport(epsilon, confidence, delta, sign * threshold, direction, *rates, total, mu)
        )
    return max(reports, key=lambda report: report.epsilon_lower_bound)


def _scores(side: ArrayLike | Callable[[int], float], n_runs: int | None) -> NDArray[np.float64]:
    if callable(side):
        if n_runs is None:
            raise ParameterError("n_runs must say how often the mechanism is run.")
        check(n_runs=(n_runs, whole(2 * _FEWEST)))
        side = [side(run) for run in range(n_runs)]
    try:
        scores = np.asarray(as_numbers(side, "the scores", ""), dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("scores must be finite numbers, one per run.") from None
    if scores.ndim != 1 or not np.isfinite(scores).all():
        raise ParameterError("scores must be finite numbers, one per run.")
    return scores


def _judge(
    accused: Floats, neighbour: Floats, half: int, prove: Prove, confidence: float
) -> tuple[float, int, int]:
    """Choose a threshold on the first runs; return it, and the alarms of the others on either side."""
    chosen = _choose(accused[:half], neighbour[:half], prove, confidence)
    found, wrong = (int((side[half:] > chosen).sum()) for side in (accused, neighbour))
    return chosen, found, wrong


def _choose(accused: Floats, neighbour: Floats, prove: Prove, confidence: float) -> float:
    """Choose the threshold whose counts would prove most, among a hundred quantiles."""
    middle = np.quantile(np.r_[accused, neighbour], np.linspace(0.0, 1.0, 101)[1:-1])
    candidates = np.unique(np.r_[middle, np.quantile(accused, [0.995, 0.998, 0.999])])
    found, wrong = (
        len(side) - np.searchsorted(np.sort(side), candidates, side="right") for side in (accused, neighbour)
    )
    return float(candidates[int(np.argmax(prove(*_limits(found, wrong, len(accused), confidence))))])
