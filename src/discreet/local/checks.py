"""What the local estimators check: parameters, all faults in one message, and the words of the bits."""

import math
import numbers
from typing import Any

import numpy as np

from discreet._threads import count_threads
from discreet.errors import CorpusError, DiscreetError, ParameterError

__all__ = ["check_settings", "check_words", "faults_of"]

_COUNTS = ("n_topics", "n_sweeps")
_POSITIVE = ("doc_topic_prior", "topic_word_prior")


def check_settings(model: Any) -> None:
    """Raise a ``ParameterError`` that names every parameter out of range."""
    faults = faults_of(model)
    if faults:
        raise ParameterError(" ".join(faults))


def faults_of(model: Any) -> list[str]:
    """Return a sentence for each parameter that is out of range."""
    faults: list[str] = []
    for name in _COUNTS:
        value: Any = getattr(model, name)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or int(value) < 1:
            faults.append(f"{name} must be a positive whole number, but is {value!r}.")
    for name in _POSITIVE:
        if not _between(getattr(model, name), 0, math.inf):
            faults.append(f"{name} must be positive and finite, but is {getattr(model, name)!r}.")
    for name, low in (("forgetting", 0), ("learning_rate", 0), ("prior_weight", -1)):
        value = getattr(model, name, 1.0)  # not all estimators have them
        if not (_is_real(value) and low < float(value) <= 1 and float(value) >= 0):
            rule = "from 0 to 1" if low < 0 else "above 0 and at most 1"
            faults.append(f"{name} must be {rule}, but is {value!r}.")
    deviation = getattr(model, "count_deviation", None)
    if deviation is not None and not _between(deviation, 0, math.inf):
        faults.append(f"count_deviation must be None or positive and finite, but is {deviation!r}.")
    if model.inference not in ("moments", "reconstruct"):
        faults.append(f'inference must be "moments" or "reconstruct", but is {model.inference!r}.')
    refine = getattr(model, "refine", False)
    if not (isinstance(refine, bool | np.bool_) or refine == "auto"):
        faults.append(f'refine must be "auto", True or False, but is {refine!r}.')
    faults += _faults_of_channel(model.channel)
    try:
        count_threads(model.n_jobs)
    except (DiscreetError, TypeError) as error:
        faults.append(str(error))
    return faults


def _faults_of_channel(channel: Any) -> list[str]:
    try:
        p, q = float(channel.p), float(channel.q)
    except (AttributeError, TypeError, ValueError):
        return [f"channel must have numbers p and q (a BitChannel), but is a {type(channel).__name__}."]
    if not 0 <= q < p <= 1:
        return [
            f"the channel must have 0 <= q < p <= 1 (a flip f strictly between 0 and 1), but p = {p} and q = {q}."
        ]
    return []


def _between(value: Any, low: float, high: float) -> bool:
    return _is_real(value) and low < float(value) < high


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_words(X: Any, vocabulary: Any, *, packed: bool) -> tuple[str, ...]:
    """Return the word of each bit."""
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    if len(shape) != 2:
        raise CorpusError(f"reports must be rows of bits, but have shape {tuple(shape)}.")
    if shape[1] == 0:
        raise CorpusError(f"0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is required.")
    if vocabulary is None:
        if packed:
            raise CorpusError("packed reports do not tell how many words they have; pass vocabulary=.")
        names = getattr(X, "columns", None)
        vocabulary = [f"word_{column}" for column in range(shape[1])] if names is None else list(names)
    words = tuple(str(word) for word in vocabulary)
    width = -(-len(words) // 8) if packed else len(words)
    if width != shape[1]:
        raise CorpusError(
            f"the vocabulary has {len(words)} words, but the reports have {shape[1]} "
            f"{'bytes' if packed else 'bits'}; they must agree."
        )
    if len(set(words)) != len(words):
        raise CorpusError("the words of the vocabulary must be distinct, but some are repeated.")
    return words
