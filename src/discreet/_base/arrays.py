"""One gate before anything becomes an array: text where numbers are expected is refused, and nothing is shown.

NumPy's own errors show what they could not convert, and that may be a whole note. So no foreign value is
converted before its kind is known, and no foreign exception goes on: it may hold the text, too.

A sparse matrix passes a gate of its own: compiled code, scipy's too, reads and writes wherever its index arrays point.
And one rule for documents counted with the words of a model in another order: they are put in its order, by name.
"""

from collections.abc import Iterable, Iterator, Mapping, MappingView, Sequence, Set
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from discreet._base.validate import is_whole, shown
from discreet.errors import CorpusError, DiscreetError

#: What to do with text where counts of words were expected.
COUNT_THE_WORDS = (
    "fit_topics takes texts, a file or a frame as it is; or choose its words privately and count them with "
    "PrivateCountVectorizer(epsilon=...).fit_transform(texts), or "
    "count public words with Corpus.from_texts(texts, vocabulary=words, words_are_public=True)"
)
#: The same where the words are those of a release.
COUNT_ITS_WORDS = (
    "count the words of the release: Corpus.from_texts(texts, vocabulary=release.vocabulary), or of a file or a frame "
    "read_corpus(frame, text=..., vocabulary=release.vocabulary)"
)
_TEXT = (str, bytes, bytearray)
_NUMBERS = (bool, int, float, complex, np.bool_, np.number, Decimal, type(None))
_LISTS = (list, tuple, np.ndarray)
#: By these an object is known that gives its rows piece by piece; none of their libraries is needed to look.
_IN_PIECES = ("to_batches", "partitions", "collect_batches")
_KINDS = {"M": "dates", "m": "lengths of time", "V": "records"}


def as_numbers(values: Any, what: str = "X", advice: str = COUNT_THE_WORDS) -> NDArray[Any]:
    """Return an array of bool, int, float or complex numbers, in the byte order of the machine.

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
    return array.astype(array.dtype.newbyteorder("="), copy=False)  # scipy knows no other order


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
        item = array.item()
        cure = ": pass a list" if isinstance(item, Iterator) else ""
        held = next((f": pass its {name}" for name in (what, f"{what}_") if hasattr(item, name)), cure)
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


#: A ``scipy.sparse.csr_matrix``. scipy ships no types, and what a checker infers from its source is wrong.
Csr = Any
#: What users may give where a table of numbers is expected; frames are array-like.
Matrix = ArrayLike | sp.sparray | sp.spmatrix


def as_csr(X: Any, advice: str = COUNT_THE_WORDS) -> Csr:
    """Return a matrix of numbers, of whatever kind, as CSR whose index arrays point inside its shape.

    ``CorpusError`` where it is none; ``advice``: what to do where it holds text.
    """
    values = X if sp.issparse(X) else as_numbers(X, advice=advice)
    if values.dtype.kind == "c":
        raise CorpusError("Complex data not supported: counts are real numbers.")
    if len(values.shape) != 2:
        raise no_matrix(values.shape)
    if sp.issparse(X):
        return inside_its_shape(X)
    if values.dtype.char in "eg":  # scipy has no half precision, and none above double
        values = values.astype(np.float64)
    return sp.csr_matrix(values)  # stores what is not zero: NaN too


def no_matrix(shape: tuple[int, ...], if_texts: str = "") -> CorpusError:
    """Say that this is no matrix of documents by words."""
    return CorpusError(
        f"Expected 2D array (documents x words), got an array of shape {shape} instead. {if_texts}Reshape your data: "
        "X.reshape(1, -1) is one document."
    )


def refuse_nothing(n_documents: int, n_words: int) -> None:
    """Refuse documents where there are none, or no words."""
    for found, what in ((n_words, "feature"), (n_documents, "sample")):
        if found == 0:
            shape = (n_documents, n_words)
            raise CorpusError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def inside_its_shape(X: Any) -> Csr:
    """Return a sparse matrix of any format as CSR whose index arrays point inside its shape.

    Parameters
    ----------
    X : scipy.sparse matrix or array, two-dimensional
        Of numbers; objects that are text are refused.

    Raises
    ------
    CorpusError, TypeError
        Where it points elsewhere, or holds no numbers (see :func:`discreet._base.arrays.as_numbers`).
    """
    if X.dtype.kind not in "biufc":
        as_numbers(X.data if X.format != "dok" else list(X.values()), "X")
    try:
        given = X if X.format in ("csr", "csc") else _triples(X)
        if not _is_broken(given):
            return _without_spare_room(given.tocsr())
    except Exception:  # foreign arrays of any type and length
        pass
    raise CorpusError(
        "the sparse matrix is broken: its index arrays point outside its shape; build it again."
    )


def _without_spare_room(counts: Csr) -> Csr:
    """Leave out entries behind the last row: room for more, which holds no counts."""
    n_stored = int(counts.indptr[-1])
    if n_stored == len(counts.data) == len(counts.indices):
        return counts
    parts = (counts.data[:n_stored], counts.indices[:n_stored], counts.indptr)
    return sp.csr_matrix(parts, shape=counts.shape)


def _triples(X: Any) -> Any:
    """Return a matrix of another format by its rows, columns and values: no compiled code follows these blindly."""
    if X.format == "lil":
        lengths = [len(row) for row in X.rows]
        if lengths != [len(values) for values in X.data] or {*map(type, X.rows), *map(type, X.data)} > {list}:
            raise ValueError
        row, column = np.repeat(np.arange(X.shape[0]), lengths), list(chain.from_iterable(X.rows))
        return sp.coo_matrix((list(chain.from_iterable(X.data)), (row, column)), X.shape)
    if X.format == "dia":
        inside = (-X.shape[0] < X.offsets) & (X.offsets < X.shape[1])
        if not inside.all() or not len(np.unique(X.offsets)) == len(X.offsets) == len(X.data):
            raise ValueError
    return X.tocoo()


def _is_broken(X: Any) -> bool:
    """Whether CSR, CSC or triples point outside their shape."""
    if X.format == "coo":
        pairs = [(X.row, X.shape[0]), (X.col, X.shape[1])]
        broken = not len(X.row) == len(X.col) == len(X.data)
    else:
        n_lines, n_places = X.shape if X.format == "csr" else X.shape[::-1]
        indptr, pairs = X.indptr, [(X.indices, n_places)]
        broken = (
            len(indptr) != n_lines + 1
            or int(indptr[0]) != 0
            or int(indptr[-1]) > min(len(X.indices), len(X.data))
            or bool((indptr[1:] < indptr[:-1]).any())
        )
    outside = (len(at) > 0 and (int(at.min()) < 0 or int(at.max()) >= limit) for at, limit in pairs)
    return broken or any(outside)


def carried(X: Any, name: str) -> Any:
    """Return what X carries by this name, or None. Only what its class declares: a frame may have any column."""
    return getattr(X, name) if hasattr(type(X), name) else None


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the words of the columns of a Corpus or frame; None where nobody names them."""
    # The columns of pyarrow are what stands in them.
    found = (carried(X, name) for name in ("vocabulary", "column_names", "columns"))
    names: tuple[Any, ...] = tuple(next((words for words in found if words is not None), ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def column_words(n_words: int) -> tuple[str, ...]:
    """Return stand-ins for words nobody gave: ``word_0``, ``word_1``, ..."""
    return tuple(f"word_{column}" for column in range(n_words))


def known_words(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return words, or None where they only stand in for words nobody gave."""
    return None if words == column_words(len(words)) else words


def listed_texts(values: Any) -> list[str] | None:
    """Return texts in the order in which they are given; None for anything else, and for what gives them no order.

    A text is not taken for its letters, nor a mapping, one of its views or a set for a list.
    """
    if isinstance(values, str | bytes | Mapping | MappingView | Set) or not isinstance(values, Iterable):
        return None
    if isinstance(values, np.ndarray) and values.ndim != 1:
        return None
    try:
        items: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)  # type: ignore[reportUnknownArgumentType]
    except TypeError:  # iterable by its type alone, as an array of another library without dimensions
        return None
    return items if all(isinstance(item, str) for item in items) else None


def in_order(X: Any, words: tuple[str, ...] | None, *told: str, drop_others: bool = False) -> Any:
    """Return documents with their columns in the order of ``words``; further ones are refused, or dropped.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, Corpus of shape (n_documents, n_words)
    words : tuple of str, optional
        The words of a model, distinct; None where it knows none.
    *told : str
        For errors: what X is, and what to do where its words are others.

    Returns
    -------
    X itself where the order is right, or where one of the two has no names; else a matrix without names.

    Raises
    ------
    CorpusError
        Where X is of other words.
    """
    order = column_order(X, words, *told, drop_others=drop_others)
    if order is None:
        return X
    counts = None if carried(X, "vocabulary") is None else carried(X, "counts")
    matrix = X if counts is None else counts
    return inside_its_shape(matrix)[:, order] if sp.issparse(matrix) else as_numbers(matrix)[:, order]


def column_order(
    X: Any,
    words: tuple[str, ...] | None,
    what: str = "counts",
    advice: str = COUNT_ITS_WORDS,
    *,
    drop_others: bool = False,
) -> list[int] | None:
    """Return the column of X that holds each of ``words``, as :func:`in_order`; None where the order is right.

    ``drop_others``: X may have further words.
    """
    found = names_of(X)
    if words is None or found is None or found == words:
        return None
    if not set(words) <= set(found) or (len(found) != len(words) and not drop_others):
        known, given = set(words), set(found)
        what = "columns of this frame" if what == "counts" and is_frame(X) else what
        raise CorpusError(  # which words is not told: a model that is not private may hold private ones
            f"the {what} are of other words than the model: of its {len(known)} words {len(known - given)} are "
            f"missing, and of the {len(found)} given {len(given - known)} are unknown to it; {advice}."
        )
    column_of = {word: column for column, word in enumerate(found)}
    return [column_of[word] for word in words]


def is_frame(source: Any) -> bool:
    """Whether this is a table in memory, whoever's, or gives its rows piece by piece."""
    # Its class is asked: a lazy frame would compute its columns.
    return any(hasattr(type(source), name) for name in ("columns", "column_names", *_IN_PIECES))


def holds_text(source: Any) -> bool:
    """Whether this is a frame with columns of text, in whatever row it begins."""
    may = is_frame(source) and np.asarray(source[:0]).dtype.kind in "OUT"  # numbers are not copied
    return may and any(isinstance(one, str) for one in np.asarray(source).ravel())


def first_words(
    topic_word: Any,
    words: Sequence[str],
    word_weight: Any,
    n: int,
    by: str,
    refusal: type[DiscreetError],
) -> list[list[str]]:
    """Return the first words of each topic; ties in order of the vocabulary.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
        Probabilities.
    words : sequence of str
    word_weight : array of shape (n_words,) or None
        How frequent words are, in any unit; only "lift" needs it.
    n : int
        Of each topic; at least 1.
    by : {"probability", "lift"}
        "lift": the order of p(w|k) (p(w|k) / p(w))^(1/2).
    refusal : type
        Of the error where one of them is something else.
    """
    if not is_whole(n) or n < 1:
        raise refusal(f"the number of words must be at least 1, but is {shown(n)}.")
    if by not in ("probability", "lift"):
        raise refusal(f'`by` must be "probability" or "lift", but is {shown(by)}.')
    rank = topic_word
    if by == "lift":
        if word_weight is None:
            raise refusal('this release has no word_weight to compare with; take by="probability".')
        shares = np.maximum(word_weight, np.min(word_weight[word_weight > 0]))
        rank = topic_word**1.5 / np.sqrt(shares)
    order: list[list[int]] = np.argsort(-rank, axis=1, kind="stable")[:, :n].tolist()
    return [[words[word] for word in row] for row in order]
