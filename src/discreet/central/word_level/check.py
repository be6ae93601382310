"""What the word-level estimators check before anything is booked or read."""

import math
import numbers
from typing import Any, TypeGuard

from discreet._threads import count_threads
from discreet.errors import DiscreetError, ParameterError, PrivacyError
from discreet.lda.gibbs.state import MOST_TOPICS
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.units import check_delta, check_epsilon

__all__ = ["check_word_level"]


def check_word_level(model: Any, X: Any) -> None:
    """Check everything that can be checked without reading X; one error names all that is wrong.

    Raises
    ------
    PrivacyError
        Where one of the mistakes touches the promise.
    ParameterError
        Otherwise.
    """
    promise, other = _faults_of_the_promise(model, X), _faults(model)
    if promise or other:
        raise (PrivacyError if promise else ParameterError)(" ".join([*promise, *other]))


def _faults_of_the_promise(model: Any, X: Any) -> list[str]:
    faults: list[str] = []
    given = [name for name in ("epsilon", "epsilon_noise") if getattr(model, name, None) is not None]
    if len(given) != 1:
        faults.append(
            f"give either epsilon (of the whole fit) or epsilon_noise (of one table), but {len(given)} are given."
        )
    for name in given:
        try:
            check_epsilon(getattr(model, name))
        except PrivacyError as error:
            faults.append(str(error) if name == "epsilon" else f"{name}: {error}")
    try:
        check_delta(model.delta)
    except PrivacyError as error:
        faults.append(str(error))
    if model.ledger is not None and not isinstance(model.ledger, Ledger):
        faults.append(f"ledger must be a Ledger or None, but is a {type(model.ledger).__name__}.")
    elif model.ledger is not None:
        stated = (model.ledger.privacy_unit, model.ledger.neighboring)
        if stated != ("word", "replace_one"):
            faults.append(
                f"the ledger protects {stated[0]} ({stated[1]}), but this fit would protect word (replace_one); "
                "use one unit and relation for both."
            )
    if getattr(X, "vocabulary_is_public", True) is False:
        faults.append(
            "the words of this corpus were read from the private text itself, so they would leak; choose words with "
            "PrivateCountVectorizer first, or read the corpus with a public vocabulary=."
        )
    return faults


def _faults(model: Any) -> list[str]:
    faults: list[str] = []
    for name in ("n_topics", "n_sweeps"):
        value: Any = getattr(model, name)
        if not (_is_whole(value) and value >= 1):
            faults.append(f"{name} must be a positive whole number, but is {value!r}.")
    if _is_whole(model.n_topics) and model.n_topics > MOST_TOPICS:
        faults.append(f"n_topics must be at most {MOST_TOPICS}, but is {model.n_topics}.")
    for name in ("doc_topic_prior", "topic_word_prior", "clip"):
        value = getattr(model, name, None)
        optional = name != "doc_topic_prior"
        if not (optional and value is None) and not (_is_real(value) and 0 < value < math.inf):
            faults.append(f"{name} must be positive and finite, but is {value!r}.")
    if getattr(model, "noise", "laplace") not in ("laplace", "gaussian"):
        faults.append(f'noise must be "laplace" or "gaussian", but is {model.noise!r}.')
    if getattr(model, "when", "every") not in ("first", "every", "last"):
        faults.append(f'when must be "first", "every" or "last", but is {model.when!r}.')
    if not isinstance(getattr(model, "publish_assignments", True), bool):
        faults.append(f"publish_assignments must be True or False, but is {model.publish_assignments!r}.")
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


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
