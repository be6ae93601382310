"""A battery of checks that any private estimator must pass: run it on your own, too.

    from discreet.privacy import check_private_estimator
    check_private_estimator(PrivateLDA(n_topics=2, epsilon=4.0))

An estimator is private in the sense meant here when it has ``fit(X)``, books on a ``ledger=``, draws noise from
``random_state=`` (None: secure), takes ``epsilon=`` (``inf``: the non-private twin), and releases what it learned as
``release_`` (with ``save``), or as the attributes named in ``released``. It says whose data it protects as
``privacy_unit`` and ``neighboring``, by default the document that is added or removed; where that is the person,
``fit`` takes ``persons=``, and all checks tell it who wrote what. Every check is a function of its own that raises
``AssertionError`` with what was expected and what came; together they are listed in :data:`CHECKS`.

The checks find the usual mistakes. They prove nothing, and there is much they cannot see (``docs/battery.md`` says
what): a proof stands in the docstring of a mechanism, and an audit (:mod:`discreet.audit`) looks for evidence
against it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from discreet._articles import with_article
from discreet._validate import is_number
from discreet.errors import ParameterError
from discreet.privacy.testing import checks, proof_checks
from discreet.privacy.testing.subject import Subject, planted_counts

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["CHECKS", "check_private_estimator"]

CHECKS: tuple[Callable[[Subject], None], ...] = (
    checks.check_input_is_not_changed,
    checks.check_release_shares_no_memory,
    checks.check_infinite_epsilon_adds_no_noise,
    checks.check_noise_is_added,
    checks.check_threads_change_nothing,
    checks.check_ledger_grows_before_reading,
    checks.check_short_budget_is_refused,
    checks.check_canaries_are_not_released,
    checks.check_size_does_not_depend_on_documents,
    checks.check_no_key_is_used_twice,
    checks.check_neighbours_draw_alike,
    checks.check_bad_counts_are_refused,
    checks.check_odd_documents_are_taken,
    proof_checks.check_sums_keep_to_their_bound,
    proof_checks.check_all_is_made_of_noisy_sums,
    proof_checks.check_nothing_exact_is_kept,
)
_FOR_COUNTS = (
    checks.check_canaries_are_not_released,
    checks.check_bad_counts_are_refused,
    checks.check_odd_documents_are_taken,
)


def check_private_estimator(
    estimator: BaseEstimator,
    *,
    make: Callable[[int], object] | None = None,
    released: tuple[str, ...] = ("release_",),
    takes_counts: bool = True,
    times: tuple[str, ...] = (),
    expected_failures: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Run every check on an estimator.

    Parameters
    ----------
    estimator : estimator
        With settings under which ``make(200)`` can be learned.
    make : callable, optional
        ``make(n_documents) -> X``. By default counts of 24 words about two themes.
    released : tuple of str, default ("release_",)
        Fitted attributes that leave. All others must follow from what left, too.
    takes_counts : bool, default True
        False for estimators of texts; then ``make`` must be given, and checks about matrices are left out.
    times : tuple of str, optional
        Fitted attributes that hold the time of day, or how long something took: a number, which no seed repeats. They
        are not compared, so whoever names them vouches that nothing else is in them. (How long a fit takes depends on
        its data.)
    expected_failures : mapping of str to str, optional
        Names of checks that this estimator fails, with the reason.

    Returns
    -------
    dict of str to str
        For each check: "passed", "not for texts", or "expected to fail: " and the reason.

    Raises
    ------
    ParameterError, TypeError
        Where there is nothing to check: no such parameters, no such attribute, no noise.
    AssertionError
        From the first check that fails unexpectedly, or that was expected to fail and passes.
    """
    subject = Subject(estimator, make or planted_counts, released, takes_counts, times)
    _check_subject(subject)
    expected = dict(expected_failures or {})
    unknown = set(expected) - {check.__name__ for check in CHECKS}
    if unknown:
        raise ValueError(
            f"there are no checks named {', '.join(sorted(unknown))}; see discreet.privacy.testing.battery.CHECKS."
        )
    outcome: dict[str, str] = {}
    for check in CHECKS:
        name = check.__name__
        if not takes_counts and check in _FOR_COUNTS:
            outcome[name] = "not for texts"
            continue
        try:
            check(subject)
        except AssertionError as error:
            if name not in expected:
                raise AssertionError(f"{name}: {error}") from error
            outcome[name] = f"expected to fail: {expected[name]}"
        else:
            if name in expected:
                raise AssertionError(
                    f"{name} was expected to fail ({expected[name]}), but passed; take it off the list."
                )
            outcome[name] = "passed"
    return outcome


def _check_subject(subject: Subject) -> None:
    """Refuse what the checks cannot be asked of."""
    estimator, name = subject.estimator, type(subject.estimator).__name__
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        what = f"the class {estimator.__name__}" if isinstance(estimator, type) else with_article(name)
        raise TypeError(f"expected an estimator, such as PrivateLDA(epsilon=2.0), but got {what}.")
    parameters = estimator.get_params(deep=False)
    missing = [needed for needed in ("epsilon", "ledger", "random_state") if needed not in parameters]
    if missing:
        raise ParameterError(
            "the checks fit under other values of epsilon (inf: no noise), ledger (what is booked on) and random_state "
            f"(None: secure noise), but {name} has no parameter {' and no '.join(missing)}."
        )
    if is_number(parameters["epsilon"]) and math.isinf(parameters["epsilon"]):
        raise ParameterError("the checks look for noise; give the estimator a finite epsilon.")
    model = subject.fit(subject.make(200), random_state=0)
    absent = [one for one in subject.released if not hasattr(model, one)]
    if absent:
        fitted = ", ".join(one for one in vars(model) if one.endswith("_")) or "none"
        raise ParameterError(
            f"after fit, {name} has no attribute {' and no '.join(absent)}; say what is released, as in "
            f'released=("totals_",). Its fitted attributes are: {fitted}.'
        )
    numbers = [
        one for one in subject.times if one not in subject.released and is_number(getattr(model, one, None))
    ]
    if wrong := sorted(set(subject.times) - set(numbers)):
        raise ParameterError(
            f"times= names fitted attributes that hold one number each and are not released, but {name} has no such "
            f"attribute {' and no '.join(wrong)}."
        )
