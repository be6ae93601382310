r"""The likelihood-ratio attack: whether the target explains a document as models that saw it do.

Shadow models (:mod:`discreet.audit.shadows`) give each document a normal distribution of
:math:`\zeta(\Phi, d) = \max_\theta \sum_w n_w \ln \sum_k \theta_k \Phi_{kw}` with it and one without. Online:

.. math:: \ln N(\zeta; \mu_{in}, s_{in}) - \ln N(\zeta; \mu_{out}, s_{out})

Offline, where no shadow may see the document: :math:`\Phi((\zeta - \mu_{out})/s_{out})`. Scores here are its argument,
which puts documents in the same order and does not round to 1 far out. Larger means member in both.

:math:`s` is a document's own standard deviation over the shadows (divided by their number less 1, at least
rounding). Of few shadows it is mostly chance, and a document whose spread came out near 0 sets the threshold for
all: ``spread="shrunk"`` draws variances towards a common one first.

The attacks are not private and promise nothing: they are for whoever holds the text.

Variances from few values
-------------------------
A document's variance :math:`s_j^2`, estimated with :math:`d` degrees of freedom, is drawn towards a common one:

.. math:: \tilde s_j^2 = \frac{d_0 s_0^2 + d s_j^2}{d_0 + d}.

:math:`d_0` and :math:`s_0^2` are what mean and variance of :math:`\ln s_j^2` over documents say, if true variances
follow a scaled inverse chi-square distribution: with :math:`\psi` the digamma function and
:math:`e_j = \ln s_j^2 - \psi(d/2) + \ln(d/2)`,

.. math:: \psi'(d_0/2) = \mathrm{Var}(e) - \psi'(d/2), \qquad
          \ln s_0^2 = \bar e + \psi(d_0/2) - \ln(d_0/2).

With two values for a document the common variance decides; with many, its own.

It reads shadow models only, so that a bound on epsilon that rests on the target's coins stays proved.

References
----------
Carlini et al., "Membership inference attacks from first principles", arXiv:2112.03570. Manzonelli, Zhang, Vadhan,
"Membership inference attacks and privacy in topic modeling", arXiv:2403.04451. Smyth, "Linear models and empirical
Bayes methods for assessing differential expression in microarray experiments", Statistical Applications in Genetics and
Molecular Biology 3(1), 2004, section 6.2.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from discreet._base.progress import Callback
from discreet._base.validate import FLAG, check, choice, whole
from discreet.audit.arguments import SEED, TRAIN, Noise, as_members, check_promise, check_statistics
from discreet.audit.attack_report import AuditReport, Coins
from discreet.audit.shadows import Train, draw_halves, statistic, train_statistics
from discreet.corpus import check_counts
from discreet.errors import ParameterError

# Half of d_0 is looked for between these.
_LOWEST, _HIGHEST = 1e-6, 1e8
# Spread below this share of the mean is rounding.
_ROUNDING = 1e-9


def shrink_variances(variances: ArrayLike, freedom: ArrayLike) -> NDArray[np.float64]:
    """Draw positive variances of documents towards a common one, as strongly as their own scatter suggests.

    ``freedom`` are the degrees of freedom of each, or of all: number of values less 1.

    Examples
    --------
    >>> shrink_variances([1.0, 1.0, 1.0, 8.0], 1).round(2).tolist()
    [5.99, 5.99, 5.99, 5.99]
    """
    own = np.asarray(variances, dtype=np.float64)
    freedom = np.broadcast_to(np.asarray(freedom, dtype=np.float64), own.shape)
    for name, values in (("variances", own), ("freedom", freedom)):
        if own.ndim != 1 or not (np.isfinite(values).all() and (values > 0).all()):
            raise ParameterError(f"{name} must be positive and finite, one per document.")
    if len(own) < 2:
        return own.copy()
    logs = np.log(own) - digamma(freedom / 2) + np.log(freedom / 2)
    scatter = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    half = _half_freedom(scatter)
    if math.isinf(half):  # no more scatter than chance: one variance for all
        return np.full_like(own, math.exp(logs.mean()))
    common = math.exp(float(logs.mean() + digamma(half)) - math.log(half))
    return (2 * half * common + freedom * own) / (2 * half + freedom)


def _half_freedom(scatter: float) -> float:
    """Return where the trigamma function has this value; infinity where it is not positive."""

    def excess(log: float) -> float:
        return float(polygamma(1, math.exp(log))) - scatter

    low, high = math.log(_LOWEST), math.log(_HIGHEST)
    if excess(high) >= 0:
        return math.inf
    if excess(low) <= 0:
        return math.exp(low)
    root: Any = brentq(excess, low, high, xtol=1e-12)
    return math.exp(root)


Spread = Literal["own", "shrunk"]


def likelihood_ratio_scores(
    statistics: NDArray[np.float64],
    shadow_statistics: NDArray[np.float64],
    shadow_members: NDArray[np.bool_],
    *,
    online: bool = True,
    spread: Spread = "own",
) -> NDArray[np.float64]:
    """Score documents by how much the target looks like a model that saw them.

    Parameters
    ----------
    statistics : array of shape (n_documents,) or (n_targets, n_documents)
        Of the target.
    shadow_statistics : array of shape (n_shadows, n_documents)
    shadow_members : array of shape (n_shadows, n_documents), bool
        Every document must be in at least 2 of them (online) and out of at least 2.
    online : bool, default True
    spread : {"own", "shrunk"}
        A document's standard deviation: from its own values, or steadied by all documents' (for few shadows).

    Returns
    -------
    array of the shape of ``statistics``
        Larger means member.

    Raises
    ------
    ParameterError
        If shapes do not fit, a statistic is not finite, or a document has fewer than 2 shadows on a side needed.
    """
    check(spread=(spread, choice(*get_args(Spread))))
    statistics, shadow_statistics, shadow_members = check_statistics(
        statistics, shadow_statistics, shadow_members, online=online
    )
    mean_out, spread_out = _normal(shadow_statistics, ~shadow_members, spread)
    away = (statistics - mean_out) / spread_out
    if not online:
        return away
    mean_in, spread_in = _normal(shadow_statistics, shadow_members, spread)
    near = (statistics - mean_in) / spread_in
    return 0.5 * (away**2 - near**2) + np.log(spread_out) - np.log(spread_in)


def _normal(
    values: NDArray[np.float64], chosen: NDArray[np.bool_], spread: Spread
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column over the chosen rows."""
    n = chosen.sum(axis=0)
    mean = np.where(chosen, values, 0.0).sum(axis=0) / n
    variance = np.where(chosen, (values - mean) ** 2, 0.0).sum(axis=0) / (n - 1)
    variance = np.maximum(variance, (_ROUNDING * np.maximum(1.0, np.abs(mean))) ** 2)
    return mean, np.sqrt(shrink_variances(variance, n - 1) if spread == "shrunk" else variance)


def lira(
    train: Train,
    corpus: Any,
    *,
    n_shadows: int = 64,
    target: tuple[ArrayLike, ArrayLike] | None = None,
    online: bool = True,
    spread: Spread = "own",
    random_state: int | None = None,
    n_jobs: int | None = None,
    n_targets: int = 1,
    epsilon: float | None = None,
    delta: float | None = None,
    callback: Callback | None = None,
    noise: Noise = "any",
) -> AuditReport:
    """Attack a way of training, or one model, by the likelihood ratio of shadow models.

    Parameters
    ----------
    train : callable
        ``train(counts, seed) -> topic_word``. Deterministic given both, safe in threads.
    corpus : Corpus, sparse or dense matrix of shape (n_documents, n_words)
    n_shadows : int, default 64
        Even, at least 4.
    target : (topic_word, members), optional
        By default ``n_targets`` models are trained on documents drawn by fair coins, for which a bound on epsilon is
        proved. A model with an array of n_documents booleans is attacked as it is, without a bound.
    online : bool, default True
    spread : {"own", "shrunk"}
        As in :func:`likelihood_ratio_scores`: "shrunk" finds more where there are fewer than some 50 shadows.
    random_state : int, optional
        Seed of everything. None draws one, so the run cannot be repeated.
    n_jobs : int, optional
        Models trained at a time; results do not depend on it.
    n_targets : int, default 1
    epsilon, delta : float, optional
        The promise of ``train`` for one document, for the report.
    callback : callable, optional
        ``callback(stage, done, total)``, stages "shadows" and "targets".
    noise : {"any", "gaussian"}, default "any"
        "gaussian" where the promise rests on Gaussian noise alone, with everybody in every round, as that of
        :class:`~discreet.PrivateLDA` on public words: the same guesses prove more then. It needs ``delta``.

    Returns
    -------
    AuditReport

    Raises
    ------
    ParameterError
        If a number is out of range, ``train`` or the target returns no topics over the corpus's words, or the
        target's members are not booleans of both kinds. All but the topics of ``train`` is found before training.
    """
    check(
        train=(train, TRAIN),
        n_shadows=(n_shadows, whole(4)),
        n_targets=(n_targets, whole()),
        online=(online, FLAG),
        random_state=(random_state, SEED),
        spread=(spread, choice(*get_args(Spread))),
    )
    check_promise(epsilon, delta, noise)
    counts = check_counts(corpus)
    given = None if target is None else _given(target, counts)
    if given is not None and n_targets != 1:
        raise ParameterError(f"a target that is given is one: leave out n_targets, but got {n_targets}.")
    halves, coins, shadow_seeds, target_seeds = np.random.SeedSequence(random_state).spawn(4)
    inside = draw_halves(counts.shape[0], n_shadows, np.random.default_rng(halves))

    def trained(members: NDArray[np.bool_], seeds: np.random.SeedSequence, stage: str) -> NDArray[np.float64]:
        drawn = np.random.default_rng(seeds).integers(2**31 - 1, size=len(members)).tolist()
        return train_statistics(train, counts, members, drawn, stage=stage, n_jobs=n_jobs, callback=callback)

    values = trained(inside, shadow_seeds, "shadows")
    drawn_by: Coins = "independent"
    if given is not None:
        found, members, drawn_by = given[0], given[1], "unknown"
    else:
        members = np.random.default_rng(coins).random((n_targets, counts.shape[0])) < 0.5
        found = trained(members, target_seeds, "targets")
    scores = likelihood_ratio_scores(found, values, inside, online=online, spread=spread)
    meta = {"n_shadows": int(n_shadows), "seed": random_state, "spread": spread}
    name = f"LiRA, {'online' if online else 'offline'}"
    return AuditReport(scores, members, name, epsilon, delta, drawn_by, meta, noise)


def _given(target: Any, counts: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Check a target that is already trained."""
    if not isinstance(target, tuple | list) or len(target) != 2:
        raise ParameterError("target must be None, or a pair (topic_word, members).")
    topic_word, members = target[0], as_members(target[1], (counts.shape[0],), "the target's members")
    if members.all() or not members.any():
        raise ParameterError(
            "the target's members must be some of the corpus's documents, neither all nor none."
        )
    return statistic(topic_word, counts, "the target must have"), members
