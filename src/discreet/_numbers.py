"""One gate before anything becomes an array: text where numbers are expected is refused, and nothing is shown.

NumPy's own errors show what they could not convert, and that may be a whole note. So no foreign value is
converted before its kind is known, and no foreign exception goes on: it may hold the text, too.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CorpusError

__all__ = ["COUNT_ITS_WORDS", "COUNT_THE_WORDS", "as_array", "as_labels", "as_numbers", "as_texts"]

#: What to do with text where counts of words were expected.
COUNT_THE_WORDS = (
    "choose its words privately and count them with PrivateCountVectorizer(epsilon=...).fit_transform(texts), or "
    "count public words with Corpus.from_texts(texts, vocabulary=words, words_are_public=True)"
)
#: The same where the words are those of a release.
COUNT_ITS_WORDS = "count the words of the release: Corpus.from_texts(texts, vocabulary=release.vocabulary)"
_TEXT = (str, bytes, bytearray)
_NUMBERS = (bool, int, float, complex, np.bool_, np.number, Decimal, type(None))
_LISTS = (list, tuple, np.ndarray)
_KINDS = {"M": "dates", "m": "lengths of time", "V": "records"}


def as_numbers(values: Any, what: str = "X", advice: str = COUNT_THE_WORDS) -> NDArray[Any]:
    """Return an array of bool, int, float or complex numbers.

    Parameters
    ----------
    values : array-like
        Also of Python objects that are numbers; None is NaN.
    what : str
        Its name, for errors.
    advice : str
        What to do where it holds text.

    Raises
    ------
    CorpusError
        Where it is or holds text or dates, has rows of different lengths or masked entries, or cannot become an
        array for another reason. Never shows what it holds, and is not raised from an error that does.
    TypeError
        Where it holds objects that are neither text nor numbers.
    """
    if _is_text(values):
        raise _text(what, advice)
    array = as_array(values, what)
    if array.dtype.kind == "O":
        return _of_objects(array, what, advice)
    if array.dtype.kind in "US":
        raise _text(what, advice)
    if array.dtype.kind in "MmV":
        raise CorpusError(f"{what} holds {_KINDS[array.dtype.kind]}, but numbers are expected.")
    return array


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Return an array of whatever kind; ``CorpusError``, which shows nothing, where it cannot become one."""
    fault: str | None = None
    try:
        array = np.asarray(values)
        if not (np.ma.isMaskedArray(values) and bool(np.ma.getmaskarray(values).any())):
            return array
        fault = "has masked entries, which are no numbers: fill them, or drop their rows"
    except Exception as error:  # whatever a foreign object raises may hold what the object holds
        fault = f"cannot become an array of numbers ({type(error).__name__}): are its rows of one length?"
    raise CorpusError(f"{what} {fault}.")


def as_labels(values: Any, what: str) -> NDArray[Any]:
    """Return labels, all of them text or all of them numbers; ``CorpusError``, which shows none of them, otherwise."""
    array = as_array(values, what)
    if array.dtype.kind == "O":
        text = {isinstance(value, str) for value in array.ravel()}
        if text == {True}:
            return array.astype(str)
        if len(text) > 1 or not all(isinstance(value, _NUMBERS) for value in array.ravel()):
            raise CorpusError(f"{what} must be all text or all numbers, but are not.")
    if array.dtype.kind in "MmV":
        raise CorpusError(f"{what} must be text or numbers, but are {_KINDS[array.dtype.kind]}.")
    return array


def as_texts(values: Iterable[Any], what: str) -> tuple[str, ...]:
    """Return each value written as text; ``CorpusError``, which shows nothing, where one cannot be."""
    try:
        return tuple(str(value) for value in values)
    except Exception as error:
        fault = type(error).__name__
    raise CorpusError(f"{what} must be text, but something there cannot be written as text ({fault}).")


def _of_objects(array: NDArray[Any], what: str, advice: str) -> NDArray[Any]:
    kinds = {type(value) for value in array.ravel()}
    lists = any(issubclass(kind, _LISTS) for kind in kinds)
    if any(issubclass(kind, _TEXT) for kind in kinds) or (lists and any(map(_is_text, array.ravel()))):
        raise _text(what, advice)
    if lists:
        raise CorpusError(f"{what} has rows of different lengths.")
    foreign = sorted(kind.__name__ for kind in kinds if not issubclass(kind, _NUMBERS))
    if foreign and array.ndim == 0:
        held = next((f": pass its {name}" for name in (what, f"{what}_") if hasattr(array.item(), name)), "")
        raise TypeError(
            f"{what} as an argument must be an array, not a string or one {foreign[0]}, of numbers{held}."
        )
    if foreign:
        raise TypeError(
            f"{what} as an argument must be numbers, not a string or another object that is no number: found "
            f"{', '.join(foreign[:3])}."
        )
    try:
        return array.astype(np.float64)
    except Exception as error:
        fault = type(error).__name__
    raise CorpusError(f"{what} holds numbers that float64 cannot hold ({fault}).")


def _is_text(values: Any, depth: int = 3) -> bool:
    """Whether a value is text, or a list that holds some; looks into Python's own lists only."""
    if isinstance(values, _TEXT):
        return True
    return depth > 0 and isinstance(values, list | tuple) and any(_is_text(x, depth - 1) for x in values)


def _text(what: str, advice: str) -> CorpusError:
    return CorpusError(f"{what} holds text, but numbers are expected{': ' if advice else ''}{advice}.")
