"""Checks of a vectorizer's parameters, all at once, before anything is booked or read."""

import math
import numbers
from typing import Any

import numpy as np

from discreet._threads import count_threads
from discreet.central.vocabulary.documents import check_kind
from discreet.corpus import Corpus, Tokenizer, load_vocabulary
from discreet.errors import DiscreetError, ParameterError, PrivacyError
from discreet.privacy.ledger.ledger import Ledger

__all__ = ["METHODS", "check_settings", "public_words"]

METHODS = ("greedy", "weighted_gaussian", "policy_gaussian", "sips")
_MOST_WORDS_PER_UNIT = 2**16


def check_settings(estimator: Any, X: Any, owners: Any) -> Tokenizer:
    """Check all parameters of a vectorizer before anything is booked or read.

    Parameters
    ----------
    estimator : PrivateCountVectorizer
    X, owners
        As for its ``fit``; asked for their kind only.

    Returns
    -------
    Tokenizer

    Raises
    ------
    PrivacyError, ParameterError
        One error that names all that is wrong; ``PrivacyError`` where the promise could not be stated.
    CorpusError
        Where X is neither texts nor a corpus.
    """
    check_kind(X)
    private, other = _faults_of_the_promise(estimator, X, owners), _faults(estimator)
    tokenizer = None
    tokenizer: Tokenizer | None = None
    try:
        tokenizer = estimator._tokenizer()
    except (DiscreetError, TypeError) as error:
        other.append(str(error).rstrip("."))
    if estimator.vocabulary is not None:
        private = []  # nothing is promised, because nothing is used
    if private or other or tokenizer is None:
        kind = PrivacyError if private else ParameterError
        raise kind("; ".join([*private, *other]) + ".")
    return tokenizer


def _faults_of_the_promise(estimator: Any, X: Any, owners: Any) -> list[str]:
    faults: list[str] = []
    if not (_is_real(estimator.epsilon) and estimator.epsilon > 0):
        faults.append(f"epsilon must be a positive number or inf, but is {estimator.epsilon!r}")
    ledger: Any = estimator.ledger
    if ledger is not None and not isinstance(ledger, Ledger):
        faults.append(f"ledger must be a Ledger or None, but is {type(ledger).__name__}")
    elif estimator.delta is None or _is_real(estimator.delta):
        delta = estimator._delta()
        if not 0 < delta < 1:
            faults.append(f"delta must be between 0 and 1 (a threshold needs some), but is {delta!r}")
    else:
        faults.append(f"delta must be a number or None, but is {estimator.delta!r}")
    if estimator.privacy_unit not in ("document", "author"):
        faults.append(f'privacy_unit must be "document" or "author", but is {estimator.privacy_unit!r}')
    elif isinstance(estimator.ledger, Ledger):
        stated = (estimator.ledger.privacy_unit, estimator.ledger.neighboring)
        if stated != (estimator.privacy_unit, "add_or_remove_one"):
            faults.append(
                f"the ledger protects {stated}, but this vocabulary would protect "
                f"{(estimator.privacy_unit, 'add_or_remove_one')}; use one unit and relation for both"
            )
    if (
        estimator.privacy_unit == "author"
        and owners is None
        and not (isinstance(X, Corpus) and X.owners is not None)
    ):
        faults.append('privacy_unit="author" needs to know the authors; pass owners= to fit')
    return faults


def _faults(estimator: Any) -> list[str]:
    faults: list[str] = []
    if estimator.method not in METHODS:
        faults.append(f"method must be one of {', '.join(METHODS)}, but is {estimator.method!r}")
    if not (
        _is_int(estimator.max_words_per_unit) and 1 <= estimator.max_words_per_unit <= _MOST_WORDS_PER_UNIT
    ):
        faults.append(
            f"max_words_per_unit must be an int from 1 to {_MOST_WORDS_PER_UNIT}, "
            f"but is {estimator.max_words_per_unit!r}"
        )
    if estimator.max_words is not None and not (_is_int(estimator.max_words) and estimator.max_words >= 1):
        faults.append(f"max_words must be a positive int or None, but is {estimator.max_words!r}")
    if estimator.threshold not in ("corrected", "published"):
        faults.append(f'threshold must be "corrected" or "published", but is {estimator.threshold!r}')
    elif estimator.threshold == "published" and estimator.method != "greedy":
        faults.append('threshold="published" is a variant of method="greedy" only')
    if estimator.random_state is not None and not (
        _is_int(estimator.random_state) and estimator.random_state >= 0
    ):
        faults.append(f"random_state must be a non-negative int or None, but is {estimator.random_state!r}")
    try:
        count_threads(estimator.n_jobs)
    except (DiscreetError, TypeError) as error:
        faults.append(str(error).rstrip("."))
    return faults


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not _is_bool(value) and not math.isnan(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not _is_bool(value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def public_words(vocabulary: Any) -> tuple[str, ...]:
    """Return a public list of words in the order of the columns."""
    if isinstance(vocabulary, dict):
        columns: dict[Any, Any] = dict(vocabulary)
        words = sorted(columns, key=columns.__getitem__)
        if [columns[word] for word in words] != list(range(len(words))):
            raise ParameterError("the columns in vocabulary must be 0, 1, 2, ... without gaps or repeats.")
        return load_vocabulary(words)
    if isinstance(vocabulary, set | frozenset):
        return load_vocabulary(sorted(vocabulary))  # sets have no order of their own
    words = load_vocabulary(vocabulary)
    if not words:
        raise ParameterError("vocabulary must hold at least one word; None chooses words privately.")
    return words
