r"""The likelihood-ratio attack: whether the target explains a document as models that saw it do.

Shadow models (:mod:`discreet.audit.shadows`) give each document a normal distribution of
:math:`\zeta(\Phi, d) = \max_\theta \sum_w n_w \ln \sum_k \theta_k \Phi_{kw}` with it and one without. Online:

.. math:: \ln N(\zeta; \mu_{in}, s_{in}) - \ln N(\zeta; \mu_{out}, s_{out})

Offline, where no shadow may see the document: :math:`\Phi((\zeta - \mu_{out})/s_{out})`. Scores here are its argument,
which puts documents in the same order and does not round to 1 far out. Larger means member in both.

:math:`s` is a document's own standard deviation over the shadows (divided by their number less 1, at least
rounding). Of few shadows it is mostly chance, and a document whose spread came out near 0 sets the threshold for
all: ``spread="shrunk"`` draws variances towards a common one first (:mod:`discreet.audit.shrinking`).

The attack is not private and promises nothing: it is for whoever holds the text.

References
----------
Carlini et al., "Membership inference attacks from first principles", arXiv:2112.03570. Manzonelli, Zhang,
Vadhan, "Membership inference attacks and privacy in topic modeling", arXiv:2403.04451.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._numbers import as_array
from discreet._progress import Callback
from discreet._validate import check, choice, formerly
from discreet.audit.arguments import (
    Noise,
    check_noise,
    check_promise,
    check_seed,
    check_statistics,
    check_train,
    check_whole,
)
from discreet.audit.attack_report import AuditReport, Coins
from discreet.audit.relative_likelihood import relative_likelihood_scores
from discreet.audit.shadows import Statistic, Train, draw_halves, train_statistics
from discreet.audit.shadows import statistic as model_statistic
from discreet.audit.shrinking import shrink_variances
from discreet.corpus import check_counts
from discreet.errors import ParameterError

__all__ = ["likelihood_ratio_scores", "lira"]

# Spread below this share of the mean is rounding.
_ROUNDING = 1e-9

Spread = Literal["own", "shrunk"]
Attack = Literal["lira", "rmia"]


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
        statistics, shadow_statistics, shadow_members, least=2, online=online
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


@formerly(progress="callback")
def lira(
    train: Train,
    corpus: Any,
    *,
    n_shadows: int = 64,
    target: tuple[ArrayLike, ArrayLike] | Literal["pool"] | None = None,
    online: bool = True,
    spread: Spread = "own",
    random_state: int | None = None,
    n_jobs: int | None = None,
    n_targets: int = 1,
    epsilon: float | None = None,
    delta: float | None = None,
    folder: str | Path | None = None,
    settings: str | None = None,
    callback: Callback | None = None,
    noise: Noise = "any",
    attack: Attack = "lira",
    statistic: Statistic = "likelihood",
    shadow_train: Train | None = None,
) -> AuditReport:
    """Attack a way of training, or one model, by the likelihood ratio of shadow models.

    Parameters
    ----------
    train : callable
        ``train(counts, seed) -> topic_word``. Deterministic given both, safe in threads.
    corpus : Corpus, sparse or dense matrix of shape (n_documents, n_words)
    n_shadows : int, default 64
        Even, at least 4 (6 with "pool").
    target : None, (topic_word, members) or "pool"
        None trains ``n_targets`` models on documents drawn by fair coins, for which a bound on epsilon is proved.
        A model with an array of n_documents booleans is attacked as it is, without a bound. "pool" trains shadows
        only and takes ``n_targets`` of them as target in turn; model and complement are left out of its shadows.
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
    folder, settings : optional
        Keep finished models there, see :func:`discreet.audit.shadows.train_statistics`; needs ``random_state``.
    callback : callable, optional
        ``callback(stage, done, total)``, stages "shadows" and "targets".
    noise : {"any", "gaussian"}, default "any"
        "gaussian" where the promise rests on Gaussian noise alone, with everybody in every round, as that of
        :class:`~discreet.PrivateLDA` on public words: the same guesses prove more then. It needs ``delta``.
    attack : {"lira", "rmia"}, default "lira"
        How documents are scored by the shadows: :func:`likelihood_ratio_scores`, or against all other documents,
        :func:`relative_likelihood_scores`, which has no ``spread``.
    statistic : {"likelihood", "max", "std", "entropy"}, default "likelihood"
        What the attack looks at: the document's largest log-likelihood, or how clear-cut its mixture is (as
        :func:`simple_attacks`). The others find less (docs/membership.md). RMIA is about likelihoods.
    shadow_train : callable, optional
        Trains the shadows where ``train`` is slow: a chain of fewer sweeps, say. Shadows that do not look like the
        target find less (docs/membership.md), so that it pays where it allows many more of them. ``settings`` has to
        name it, too. Not with "pool", whose targets are shadows.

    Returns
    -------
    AuditReport

    Raises
    ------
    ParameterError
        If a number is out of range, ``train`` or the target returns no topics over the corpus's words, or the
        target's members are not booleans of both kinds. All but the topics of ``train`` is found before training.
    """
    check_train(train)
    if shadow_train is not None:
        check_train(shadow_train, "shadow_train")
    n_shadows, n_targets = check_whole("n_shadows", n_shadows, 4), check_whole("n_targets", n_targets, 1)
    check_promise(epsilon, delta)
    check_noise(noise, delta)
    check_seed(random_state)
    counts = check_counts(corpus)
    if folder is not None and random_state is None:
        raise ParameterError("a folder of shadows is of use only with a seed: pass random_state=0.")
    pooled = isinstance(target, str)
    if pooled and (target != "pool" or n_shadows < 6 or n_targets > n_shadows):
        raise ParameterError(
            "target 'pool' needs n_shadows of at least 6 and at least n_targets; otherwise target is None or "
            "(topic_word, members)."
        )
    if pooled and shadow_train is not None:
        raise ParameterError("with target 'pool' the shadows are the targets: leave out shadow_train.")
    given = None if target is None or isinstance(target, str) else _given(target, counts, statistic)
    if given is not None and n_targets != 1:
        raise ParameterError(f"a target that is given is one: leave out n_targets, but got {n_targets}.")
    check(
        spread=(spread, choice(*get_args(Spread))),
        attack=(attack, choice(*get_args(Attack))),
        statistic=(statistic, choice(*get_args(Statistic))),
    )
    if attack == "rmia" and statistic != "likelihood":
        raise ParameterError('attack="rmia" compares likelihoods: leave out statistic.')
    score = relative_likelihood_scores if attack == "rmia" else likelihood_ratio_scores
    how: dict[str, Any] = {"online": online} | ({"spread": spread} if attack == "lira" else {})
    source = np.random.SeedSequence(random_state)
    halves, coins, shadow_seeds, target_seeds = source.spawn(4)
    inside = draw_halves(counts.shape[0], n_shadows, np.random.default_rng(halves))

    def run(
        members: NDArray[np.bool_],
        seeds: np.random.SeedSequence,
        stage: str,
        train: Train,
        settings: str | None,
    ) -> NDArray[np.float64]:
        drawn = np.random.default_rng(seeds).integers(2**31 - 1, size=len(members)).tolist()
        more: dict[str, Any] = {
            "n_jobs": n_jobs,
            "folder": folder,
            "settings": settings,
            "callback": callback,
            "stage": stage,
            "kind": statistic,
        }
        return train_statistics(train, counts, members, drawn, **more)

    if shadow_train is None:
        values = run(inside, shadow_seeds, "shadows", train, settings)
    else:
        values = run(
            inside, shadow_seeds, "shadows", shadow_train, settings and f"{settings}, shadows of their own"
        )
    drawn_by: Coins = "independent"
    if given is not None:
        found, members, drawn_by = given[0], given[1], "unknown"
        scores = score(found, values, inside, **how)
    elif pooled:
        members, drawn_by = inside[:n_targets], "half" if n_targets == 1 else "shared halves"
        # The complement goes too: it would tell who is in, and leave each document in unequally many.
        others = [np.arange(n_shadows) // 2 != row // 2 for row in range(n_targets)]
        scores = np.array(
            [score(values[row], values[rest], inside[rest], **how) for row, rest in enumerate(others)]
        )
    else:
        members = np.random.default_rng(coins).random((n_targets, counts.shape[0])) < 0.5
        found = run(members, target_seeds, "targets", train, settings)
        scores = score(found, values, inside, **how)
    meta: dict[str, Any] = {
        "n_shadows": n_shadows,
        "seed": random_state,
        "settings": settings,
        "spread": spread,
    }
    if statistic != "likelihood":
        meta["statistic"] = statistic
    if shadow_train is not None:
        meta["shadows"] = "trained in a way of their own"
    name = f"{'RMIA' if attack == 'rmia' else 'LiRA'}, {'online' if online else 'offline'}"
    return AuditReport(scores, members, name, epsilon, delta, drawn_by, meta, noise)


def _given(target: Any, counts: Any, kind: Statistic) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Check a target that is already trained."""
    try:
        topic_word, members = target
    except (TypeError, ValueError):
        raise ParameterError("target must be None, 'pool' or a pair (topic_word, members).") from None
    members = as_array(members, "the target's members")
    if members.shape != (counts.shape[0],) or members.dtype != np.bool_:
        raise ParameterError(
            f"the target's members must be {counts.shape[0]} booleans, one for each document of the corpus."
        )
    if members.all() or not members.any():
        raise ParameterError(
            "the target's members must be some of the corpus's documents, neither all nor none."
        )
    return model_statistic(topic_word, counts, "the target must have", kind=kind), members
