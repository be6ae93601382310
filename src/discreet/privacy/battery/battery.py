"""The checks of the battery, each a function that raises ``AssertionError`` with what was expected and what came.

A battery of checks that any private estimator must pass: run it on your own, too
=================================================================================
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
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from discreet._base.validate import is_number, with_article
from discreet.errors import BudgetExceeded, DiscreetError, ParameterError
from discreet.privacy.battery.proof_checks import (
    check_all_is_made_of_noisy_sums,
    check_nothing_exact_is_kept,
    check_sums_keep_to_their_bound,
    replayed,
)
from discreet.privacy.battery.subject import (
    Spy,
    Subject,
    all_bytes,
    arrays_in,
    leaves_of,
    planted_counts,
    recorded_keys,
)

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


_CANARY_COUNT = 1_918_273
_CANARY_PERSON = 6_180_339_887_498_948


def check_input_is_not_changed(subject: Subject) -> None:
    """``fit`` leaves X as it was."""
    X = subject.make(200)
    before = leaves_of(X)
    subject.fit(X, random_state=0)
    assert leaves_of(X) == before, "expected X unchanged after fit, but it was changed."


def check_release_shares_no_memory(subject: Subject) -> None:
    """Nothing released is a view of X, or of another fit's release."""
    X = subject.make(200)
    first, second = subject.fit(X, random_state=0), subject.fit(X, random_state=0)
    mine = list(arrays_in([getattr(first, name) for name in subject.released]))
    others = list(arrays_in([getattr(second, name) for name in subject.released]))
    others += [X.data, X.indices] if sp.issparse(X) else list(arrays_in(X))
    for array in mine:
        assert not any(np.shares_memory(array, other) for other in others), (
            "expected a release of its own arrays, but one shares memory with X or with another fit's release."
        )


def check_infinite_epsilon_adds_no_noise(subject: Subject) -> None:
    """With ``epsilon=inf`` two seeds give the same bytes: no noise is left, and the code is the same."""
    X = subject.make(200)
    runs = {subject.bytes_of(subject.fit(X, epsilon=float("inf"), random_state=seed)) for seed in (1, 2)}
    assert len(runs) == 1, "expected the same release for any seed at epsilon = inf, but noise was added."


def check_noise_is_added(subject: Subject) -> None:
    """At a finite epsilon two seeds differ, one seed repeats itself, and no seed gives something new each time."""
    X = subject.make(400)  # no draw without a seed may lose them all
    one, again, two = (subject.bytes_of(subject.fit(X, random_state=seed)) for seed in (1, 1, 2))
    assert one == again, "expected the same bytes from the same seed, but they differ."
    assert one != two, "expected noise that depends on the seed, but two seeds gave the same bytes."
    free = [subject.bytes_of(subject.fit(X, random_state=None)) for _ in range(2)]
    assert free[0] != free[1], "expected fresh noise without a seed, but two fits gave the same bytes."


def check_threads_change_nothing(subject: Subject) -> None:
    """1, 2 and 4 threads give the same bytes."""
    X = subject.make(200)
    models = (subject.fit(X, random_state=0, **subject.known(n_jobs=jobs)) for jobs in (1, 2, 4))
    runs = {subject.bytes_of(model) for model in models}
    assert len(runs) == 1, "expected the same bytes for 1, 2 and 4 threads, but they differ."


def check_ledger_grows_before_reading(subject: Subject) -> None:
    """At the first read of X, the cost stands in the ledger."""
    ledger = subject.ledger()
    spy = Spy(subject.make(200), lambda: len(ledger.entries))
    # A spy need not be good data; what counts is the ledger at its first read.
    with suppress(DiscreetError, TypeError, ValueError):
        subject.fit(spy, ledger=ledger, random_state=0)
    assert spy.seen, "expected fit to read X, but it never did."
    assert spy.seen[0] > 0, "expected the cost in the ledger before X is read, but X was read first."


def check_short_budget_is_refused(subject: Subject) -> None:
    """A ledger with too little left refuses: X is not read, nothing is booked, the estimator is as it was."""
    ledger = subject.ledger(1e-4)
    model = subject.new(ledger=ledger, random_state=0)
    before = set(vars(model))
    spy = Spy(subject.make(200), lambda: 0)
    with suppress(BudgetExceeded):
        subject.fit_model(model, spy)
        raise AssertionError("expected BudgetExceeded from a ledger with epsilon 1e-4 left, but fit went on.")
    assert not spy.seen, "expected X unread after BudgetExceeded, but it was read."
    assert not ledger.entries, "expected nothing booked after BudgetExceeded, but something was."
    assert set(vars(model)) == before, (
        "expected the estimator unchanged after BudgetExceeded, but it has new attributes."
    )


def check_canaries_are_not_released(subject: Subject) -> None:
    """A planted count and planted person names are found neither in the release, its files, nor the estimator."""
    X = subject.make(200).tolil()
    X[3, 5] = _CANARY_COUNT
    persons = np.full(200, _CANARY_PERSON) + np.arange(200) // 2
    model = subject.fit(X.tocsr(), persons=persons, random_state=0)
    haystack = subject.bytes_of(model) + all_bytes(subject.held(model))
    for needle in (
        str(_CANARY_COUNT).encode(),
        np.int32(_CANARY_COUNT).tobytes(),
        np.float32(_CANARY_COUNT).tobytes(),
        np.float64(_CANARY_COUNT).tobytes(),
        str(_CANARY_PERSON).encode(),
        np.int64(_CANARY_PERSON).tobytes(),
    ):
        assert needle not in haystack, "expected no trace of a planted count or person, but one was found."


def check_size_does_not_depend_on_documents(subject: Subject) -> None:
    """Released bytes, and the fitted estimator's, are as many for 200 documents as for 1,400.

    But for a byte for every three documents more: what a card says of noisy numbers is a sentence or two.
    """
    few, many = (subject.fit(subject.make(n), random_state=0) for n in (200, 1400))
    for sizes in (
        [len(subject.bytes_of(model)) for model in (few, many)],
        [len(all_bytes(subject.held(model))) for model in (few, many)],
    ):
        assert abs(sizes[0] - sizes[1]) < 400, (
            f"expected a size that does not grow with documents, but it is {sizes}."
        )


def check_no_key_is_used_twice(subject: Subject) -> None:
    """No key of random words is used for two arrays of noise, in one fit or in two secure ones."""
    X = subject.make(200)
    with recorded_keys() as keys:
        subject.fit(X, random_state=None)
        subject.fit(X, random_state=None)
    assert keys, "expected noise from a SecureStream, but none was asked for any."
    assert len(set(keys)) == len(keys), "expected a new key for every array of noise, but one was used twice."


def check_neighbours_draw_alike(subject: Subject) -> None:
    """Two neighbouring corpora ask for the same numbers of noise draws, and release the same shapes."""
    X = subject.make(200)
    draws: list[list[Any]] = []
    shapes: list[list[Any]] = []
    for corpus in (X, X[:-1]):
        with replayed() as run:
            model = subject.fit(corpus, random_state=0)
        draws.append(run.draws)
        released = [getattr(model, name) for name in subject.released]
        shapes.append([array.shape for array in arrays_in(released)])
    assert draws[0], "expected draws of noise, but there were none."
    assert draws[0] == draws[1], "expected as many draws of noise for neighbours, but the numbers differ."
    assert shapes[0] == shapes[1], "expected the same shapes for neighbours, but they differ."


def check_bad_counts_are_refused(subject: Subject) -> None:
    """NaN, negative and fractional counts and an empty corpus are refused, naming the row."""
    good = subject.make(200).toarray().astype(float)
    for name, value in (("NaN", np.nan), ("infinite", np.inf), ("negative", -1.0), ("fractional", 0.5)):
        X = good.copy()
        X[17, 3] = value
        message = _refusal(subject, X)
        assert message is not None, f"expected {with_article(name)} count to be refused, but fit went on."
        assert re.search(r"\b1[78]\b", message), (  # counted from 0 or from 1
            f"expected row 17 or 18 in the message about {with_article(name)} count, but it says: {message}"
        )
    assert _refusal(subject, good[:0]) is not None, "expected an empty corpus to be refused, but fit went on."


def check_odd_documents_are_taken(subject: Subject) -> None:
    """Empty documents and a document of a million tokens are taken, and leave topics that are probabilities."""
    X = subject.make(200).tolil()
    X[0, :] = 0
    X[1, 2] = 1_000_000
    subject.fit(X.tocsr(), random_state=0)


def _refusal(subject: Subject, X: Any) -> str | None:
    """Return the message with which ``fit`` refuses X, or None."""
    try:
        subject.fit(X, random_state=0)
    except ValueError as error:
        return str(error)
    return None


CHECKS: tuple[Callable[[Subject], None], ...] = (
    check_input_is_not_changed,
    check_release_shares_no_memory,
    check_infinite_epsilon_adds_no_noise,
    check_noise_is_added,
    check_threads_change_nothing,
    check_ledger_grows_before_reading,
    check_short_budget_is_refused,
    check_canaries_are_not_released,
    check_size_does_not_depend_on_documents,
    check_no_key_is_used_twice,
    check_neighbours_draw_alike,
    check_bad_counts_are_refused,
    check_odd_documents_are_taken,
    check_sums_keep_to_their_bound,
    check_all_is_made_of_noisy_sums,
    check_nothing_exact_is_kept,
)
_FOR_COUNTS = (
    check_canaries_are_not_released,
    check_bad_counts_are_refused,
    check_odd_documents_are_taken,
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
            f"there are no checks named {', '.join(sorted(unknown))}; see discreet.privacy.battery.battery.CHECKS."
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
