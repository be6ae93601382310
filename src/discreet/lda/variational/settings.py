"""Checks of VariationalLDA's parameters, all faults in one message, and the choice of its seed."""

import secrets
from typing import Any

import numpy as np

from discreet._threads import count_threads
from discreet.errors import ParameterError
from discreet.lda.documents import check_prior

__all__ = ["check_parameters", "choose_seed"]


def check_parameters(estimator: Any) -> None:
    """Raise a ParameterError that names every parameter out of range."""
    faults: list[str] = []

    def check(holds: bool, name: str, rule: str) -> None:
        if not holds:
            faults.append(f"{name} must be {rule}, but is {getattr(estimator, name)!r}")

    for name in ("n_topics", "max_iter", "max_doc_update_iter"):
        check(_is_count(getattr(estimator, name)), name, "a positive whole number")
    for name in ("batch_size", "total_documents"):
        value = getattr(estimator, name)
        check(value is None or _is_count(value), name, "None or a positive whole number")
    eta = estimator.topic_word_prior
    check(bool(np.isfinite(eta)) and eta > 0, "topic_word_prior", "positive")
    for name in ("tol", "mean_change_tol", "learning_offset"):
        check(getattr(estimator, name) >= 0, name, "at least 0")
    check(
        0.5 < estimator.learning_decay <= 1,
        "learning_decay",
        "over 0.5 and at most 1, or it would not settle",
    )
    check(not isinstance(estimator.init, str) or estimator.init == "random", "init", '"random" or an array')
    if faults:
        raise ParameterError("; ".join(faults) + ".")
    check_prior("doc_topic_prior", estimator.doc_topic_prior, estimator.n_topics)
    count_threads(estimator.n_jobs)


def choose_seed(random_state: Any) -> int:
    """Turn scikit-learn's ``random_state`` into a seed; None draws one from the operating system."""
    if random_state is None:
        return secrets.randbits(63)
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    raise ParameterError(
        f"random_state must be None, an int from 0, or a generator, but is {random_state!r}."
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1
