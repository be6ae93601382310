"""What PrivateLDA checks: parameters before anything is booked, data after."""

import math
import numbers
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from discreet._threads import count_threads
from discreet.corpus import check_counts
from discreet.errors import CorpusError, DiscreetError, ParameterError, PrivacyError
from discreet.privacy.accounting.explain import HOPELESS, learnability
from discreet.privacy.accounting.gdp import gdp_mu
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.units import check_delta, check_epsilon

__all__ = ["check_data", "check_parameters"]


def check_parameters(model: Any, X: Any, owners: Any) -> None:
    """Check everything that can be checked without reading X; one error names all that is wrong.

    Raises
    ------
    PrivacyError
        Where one of the mistakes touches the promise.
    ParameterError
        Otherwise.
    """
    promise = _faults_of_the_promise(model, X, owners)
    other = _faults(model)
    if promise or other:
        raise (PrivacyError if promise else ParameterError)(" ".join([*promise, *other]))
    bound = model.n_units_lower_bound
    if bound is None or model.allow_unlearnable or model.sampling_rate < 1:
        return
    shape = getattr(X, "shape", None) or getattr(getattr(X, "counts", None), "shape", None)
    if shape is not None and len(shape) == 2:
        forecast = learnability(shape[1], model.n_topics, bound, gdp_mu(model.epsilon, model.delta))
        if forecast.difficulty > HOPELESS:
            raise ParameterError(
                f"{forecast.in_words()} Nothing was booked; set allow_unlearnable=True to go on all the same."
            )


def _faults_of_the_promise(model: Any, X: Any, owners: Any) -> list[str]:
    faults: list[str] = []
    # A bound that is no number is told of with the other parameters.
    bound = model.n_units_lower_bound if _is_whole(model.n_units_lower_bound) else None
    for check in (
        lambda: check_epsilon(model.epsilon),
        lambda: check_delta(model.delta, n_units_lower_bound=bound),
    ):
        try:
            check()
        except PrivacyError as error:
            faults.append(str(error))
    if model.privacy_unit not in ("document", "author"):
        faults.append(f'privacy_unit must be "document" or "author", but is {model.privacy_unit!r}.')
    if model.privacy_unit == "author" and owners is None and getattr(X, "owners", None) is None:
        faults.append('privacy_unit="author" needs to know the authors; pass owners= to fit.')
    if model.ledger is not None and not isinstance(model.ledger, Ledger):
        faults.append(f"ledger must be a Ledger or None, but is a {type(model.ledger).__name__}.")
    elif model.ledger is not None:
        stated = (model.ledger.privacy_unit, model.ledger.neighboring)
        if stated != (model.privacy_unit, "add_or_remove_one"):
            faults.append(
                f"the ledger protects {stated[0]} ({stated[1]}), but this fit would protect "
                f"{model.privacy_unit} (add_or_remove_one); use one unit and relation for both."
            )
    if getattr(X, "vocabulary_is_public", True) is False:
        faults.append(
            "the words of this corpus were read from the private text itself, so they would leak; choose words with "
            "PrivateCountVectorizer first, or read the corpus with a public vocabulary=."
        )
    return faults


def _faults(model: Any) -> list[str]:
    faults: list[str] = []
    for name in ("n_topics", "n_rounds", "n_units_lower_bound"):
        value: Any = getattr(model, name)
        if (value is not None or name == "n_topics") and not (_is_whole(value) and value >= 1):
            faults.append(f"{name} must be a positive whole number, but is {value!r}.")
    for name in ("doc_topic_prior", "topic_word_prior", "contribution_bound", "learning_decay"):
        value: Any = getattr(model, name)
        if (value is not None or name != "topic_word_prior") and not (
            _is_real(value) and 0 < value < math.inf
        ):
            faults.append(f"{name} must be positive and finite, but is {value!r}.")
    if not (_is_real(model.learning_offset) and 0 <= model.learning_offset < math.inf):
        faults.append(f"learning_offset must not be negative, but is {model.learning_offset!r}.")
    if not (_is_real(model.sampling_rate) and 0 < model.sampling_rate <= 1):
        faults.append(f"sampling_rate must be above 0 and at most 1, but is {model.sampling_rate!r}.")
    if model.denoise not in ("empirical_bayes", "zero"):
        faults.append(f'denoise must be "empirical_bayes" or "zero", but is {model.denoise!r}.')
    if model.random_state is not None and not (_is_whole(model.random_state) and model.random_state >= 0):
        faults.append(
            f"random_state must be None (secure noise) or a whole number that is not negative, but is "
            f"{model.random_state!r}."
        )
    try:
        count_threads(model.n_jobs)
    except (DiscreetError, TypeError) as error:
        faults.append(str(error))
    return faults


def check_data(
    X: Any, owners: Any, vocabulary: Any, privacy_unit: str
) -> tuple[Any, NDArray[np.int64] | None, tuple[str, ...]]:
    """Read X: counts as canonical CSR, authors where they are the unit, words.

    Raises
    ------
    CorpusError
        Naming the first row, or the lengths, that are wrong.
    """
    counts = check_counts(X)
    authors = None
    if privacy_unit == "author":
        authors = _check_owners(getattr(X, "owners", None) if owners is None else owners, counts.shape[0])
    words = vocabulary if vocabulary is not None else getattr(X, "vocabulary", None)
    if words is None:
        names = getattr(X, "columns", None)
        words = [f"word_{column}" for column in range(counts.shape[1])] if names is None else list(names)
    words = tuple(str(word) for word in words)
    if len(words) != counts.shape[1]:
        raise CorpusError(
            f"the vocabulary has {len(words)} words, but X has {counts.shape[1]} columns; they must agree."
        )
    if len(set(words)) != len(words):
        raise CorpusError("the words of the vocabulary must be distinct, but some are repeated.")
    return counts, authors, words


def _check_owners(owners: Any, n_documents: int) -> NDArray[np.int64]:
    # A list of text and NaN, made an array, would hold the text "nan".
    array = owners if hasattr(owners, "dtype") else np.asarray(owners, dtype=object)
    array = np.asarray(array)
    if array.shape != (n_documents,):
        raise CorpusError(
            f"owners must name one author for each of {n_documents} documents, but has shape {array.shape}."
        )
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    names = [_name(owner) for owner in array.tolist()]
    # Nobody could be anybody: counting all of these as one author, or each as another, would promise protection
    # to people whose other documents stand under their name.
    missing = [row for row, name in enumerate(names) if not name]
    if missing:
        raise CorpusError(
            f"owners must name an author for each document, but {len(missing)} have none (the first in row "
            f"{missing[0]}); name them, or leave those documents out."
        )
    code_of = {name: code for code, name in enumerate(sorted(set(names)))}
    return np.array([code_of[name] for name in names], dtype=np.int64)


def _name(owner: Any) -> str:
    """Write an author down so that equal names are equal: 7, 7.0 and "7" are one author. Nobody is ""."""
    if isinstance(owner, str | int):
        return str(owner)
    if isinstance(owner, numbers.Real) and math.isfinite(owner) and float(owner).is_integer():
        return str(int(float(owner)))
    written = str(owner)
    return "" if written in ("None", "nan", "<NA>", "NaT") else written


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def _is_real(value: Any) -> TypeGuard[float]:
    return (
        isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) and not math.isnan(value)
    )
