r"""Public word vectors from anywhere, matched to a vocabulary.

Vectors are public knowledge: they must not have been trained on the private text, because no ledger covers what
they tell of it. A vocabulary that is handed in here is public, or was released.

Files of them are text of word2vec (a first line with the numbers of words and dimensions), GloVe's text, where words
may hold spaces, fastText's ``.vec``, and ``.npz`` with arrays ``words`` and ``vectors``. Text is read line by line.
What else than ``.npz`` a file is, is seen from its content. Nothing is unpickled. The binary format of word2vec is
refused with the line of gensim that makes text of it.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Mapping, MappingView, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.arrays import is_frame, listed_texts
from discreet._base.callers import warn_caller
from discreet._base.validate import is_there, kind_of
from discreet.corpus.files import PathLike, open_source, unless_damaged
from discreet.errors import CorpusError, ParameterError, WordVectorsWarning

MOST_DIMENSIONS = 4096
_TOO_LARGE = float(np.finfo(np.float32).max)


class _Table:
    """The vectors of the words somebody waits for, as they come in; the first of each spelling counts."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self._wanted = set(words)
        self._folded = {_folded(word) for word in words}
        self.with_spaces = any(" " in word for word in self._folded)
        self._exact: dict[str, NDArray[np.float32]] = {}
        self._respelt: dict[str, NDArray[np.float32]] = {}

    def wants(self, word: str) -> bool:
        return word in self._wanted or _folded(word) in self._folded

    def add(self, word: str, vector: NDArray[np.float32]) -> None:
        if word in self._wanted:
            self._exact.setdefault(word, vector)
        folded = _folded(word)
        if folded in self._folded:
            self._respelt.setdefault(folded, vector)

    def close(self, n_dimensions: int, name: str, digest: str | None) -> WordVectors:
        vectors = np.full((len(self.words), n_dimensions), np.nan)
        found = respelt = 0
        for row, word in enumerate(self.words):
            vector = self._exact.get(word, self._respelt.get(_folded(word)))
            if vector is not None:
                vectors[row] = vector
                found += 1
                respelt += word not in self._exact
        return WordVectors(vectors, name, digest or self._digest(vectors), found, respelt, tuple(self.words))

    def _digest(self, vectors: NDArray[np.float64]) -> str:
        hashed = hashlib.sha256()
        for word, vector in zip(self.words, vectors, strict=True):
            if not np.isnan(vector).any():
                hashed.update(word.encode() + b"\0" + vector.astype("<f4").tobytes())
        return hashed.hexdigest()


class _Every(_Table):
    """Wants every word, so that all numbers are looked at; keeps none, where no words are given."""

    def wants(self, word: str) -> bool:
        return True


def _folded(word: str) -> str:
    """One spelling for all that mean the same word."""
    form = word if word.isascii() else unicodedata.normalize("NFC", word)
    return form.casefold().replace("_", " ")


def _read_file(path: PathLike, table: _Table) -> int:
    """Put the vectors of a file into a table; return the number of dimensions.

    Raises
    ------
    CorpusError
        Where it is no such file, or is damaged or cut short; names the line.
    """
    name = os.fspath(path)
    if is_there(name) and Path(path).is_fifo():
        raise CorpusError(f"{name} is a pipe, but vectors are read twice: write them to a file.")
    if name.lower().endswith(".npz"):
        return _read_npz(path, name, table)
    with open_source(path) as source:
        first = source.raw.readline()
        if not first:
            raise CorpusError(f"{name} is empty; expected word vectors.")
        sizes = first.split()
        headed = len(sizes) == 2 and all(size.isdigit() and len(size) < 12 for size in sizes)
        n_dimensions = int(sizes[1]) if headed else len(sizes) - 1
        if not headed and (n_dimensions < 2 or _numbers(sizes[1:]) is None):
            raise CorpusError(
                f"{name}, line 1: expected a word and its numbers, or the numbers of words and dimensions; the formats "
                "of word2vec (text), GloVe and fastText (.vec) are known, and .npz with words and vectors."
            )
        _check_dimensions(n_dimensions, name)
        start = source.raw.readline() if headed else first
        if start and not _is_text(start, n_dimensions):
            raise CorpusError(
                f"{name} looks like the binary format of word2vec; gensim makes text of it: KeyedVectors."
                "load_word2vec_format(path, binary=True).save_word2vec_format(new_path)."
            )
        found = _read_lines(chain([start], source.raw), name, 1 + headed, n_dimensions, table)
        if headed and found != int(sizes[0]):
            raise CorpusError(
                f"{name} promises {int(sizes[0]):,} vectors and holds {found:,}; copy or download it again."
            )
        return n_dimensions


def _check_dimensions(n_dimensions: int, name: str) -> None:
    if not 1 <= n_dimensions <= MOST_DIMENSIONS:
        raise CorpusError(
            f"{name}: vectors must have 1 to {MOST_DIMENSIONS} numbers, but have {n_dimensions:,}."
        )


def _numbers(fields: list[bytes]) -> NDArray[np.float32] | None:
    """Return the fields as numbers; None where one is none."""
    try:
        values = np.array(fields, float)
    except ValueError:
        return None
    return values.astype(np.float32) if np.abs(values).max() < _TOO_LARGE else None


def _is_text(line: bytes, n_dimensions: int) -> bool:
    """Whether a line is one of text with a word and that many numbers."""
    fields = line.rsplit(None, n_dimensions)
    return len(fields) == n_dimensions + 1 and _numbers(fields[1:]) is not None


def _read_lines(lines: Iterable[bytes], name: str, first: int, n_dimensions: int, table: _Table) -> int:
    """Hand over the vectors of some lines; return how many vectors there are."""
    found = 0
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        found += 1
        if line.count(b" ") + line.count(b"\t") < n_dimensions:
            raise CorpusError(
                f"{name}, line {number}: expected a word and {n_dimensions} numbers, found fewer fields."
            )
        # Most lines are of no interest: look at the word before anything is parsed.
        if not table.with_spaces and not table.wants(_decoded(line.split(None, 1)[0])):
            continue
        word, *fields = line.rsplit(None, n_dimensions)
        vector = _numbers(fields) if len(fields) == n_dimensions else None
        if vector is None:
            raise CorpusError(f"{name}, line {number}: expected a word and {n_dimensions} finite numbers.")
        spelt = _decoded(word.strip())
        if table.wants(spelt):
            table.add(spelt, vector)
    return found


def _decoded(word: bytes) -> str:
    """Return the word; words that are no UTF-8 (word2vec cuts some) become words that nobody waits for."""
    return word.decode("utf-8", "replace")


def _read_npz(path: PathLike, name: str, table: _Table) -> int:
    damaged = CorpusError(f"{name} is not an .npz with the arrays words and vectors, or is damaged.")
    with unless_damaged(damaged), Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        words: Any = file["words"]
        vectors: Any = file["vectors"]
    if words.ndim != 1 or words.dtype.kind not in "US":
        raise CorpusError(f"{name}: words must be one list of text.")
    if vectors.ndim != 2 or len(vectors) != len(words) or vectors.dtype.kind != "f":
        raise CorpusError(
            f"{name}: vectors must be floats of shape ({len(words):,}, dimensions), but are {vectors.shape}."
        )
    _check_dimensions(vectors.shape[1], name)
    for row, value in enumerate(words.tolist()):
        word = _decoded(value) if isinstance(value, bytes) else value
        if table.wants(word):
            vector = vectors[row].astype(np.float32)
            if not np.isfinite(vector).all():
                raise CorpusError(f"{name}, vector {row + 1}: expected {vectors.shape[1]} finite numbers.")
            table.add(word, vector)
    return int(vectors.shape[1])


#: Vectors of a smaller share of the words are warned of.
_FEW = 0.1
_EXPECTED = (
    "a path, a mapping of words to vectors, gensim's KeyedVectors, (words, array), or an array of shape "
    f"(n_words, n_dimensions) with 1 to {MOST_DIMENSIONS} numbers for each word"
)


class WordVectors(NamedTuple):
    """Vectors of the words of a vocabulary, in its order.

    Attributes
    ----------
    vectors : array of shape (n_words, n_dimensions), float64
        Rows of NaN for words without a vector.
    name : str
        Name of the file without its folder, or what kind of object they came from.
    digest : str
        SHA-256 of the file; of the words found and their vectors where there was no file.
    n_found, n_respelt : int
        Words with a vector, and those of them that were found only in another case or spelling.
    words : tuple of str
        The vocabulary that the rows are of.
    """

    vectors: NDArray[np.float64]
    name: str
    digest: str
    n_found: int
    n_respelt: int
    words: tuple[str, ...]

    @property
    def coverage(self) -> str:
        """How many words have a vector, in words."""
        said = f"{self.n_found:,} of {len(self.vectors):,} words"
        return f"{said} ({self.n_respelt:,} in another case)" if self.n_respelt else said

    def settings(self) -> dict[str, str | int]:
        """Return what a release says of the vectors it was made with."""
        return {
            "word_vectors": self.name,
            "word_vectors_digest": f"sha256:{self.digest}",
            "word_vectors_dimensions": self.vectors.shape[1],
            "word_vectors_coverage": self.coverage,
        }


def match_vectors(source: Any, words: Sequence[str]) -> WordVectors:
    """Find the vector of each word.

    A word that the source does not hold as it is spelt is looked for in another case, in another Unicode form, and
    with underscores for spaces. Files are streamed: memory is that of the words asked for.

    Parameters
    ----------
    source : path, mapping, KeyedVectors, array, pair of words and array, or WordVectors
        A file (GloVe or word2vec text, word2vec binary, fastText ``.vec``, ``.npz`` with ``words`` and ``vectors``;
        gzip too); a mapping of words to vectors; gensim's ``KeyedVectors`` or a model that holds them; an array with
        one row for each of ``words``, in their order; ``(words, array)``; or what was found before for the same words.
    words : sequence of str
        The vocabulary, public or released.

    Raises
    ------
    CorpusError
        Where a file is damaged, or holds none of the words.
    ParameterError
        Where an object is not what was expected.
    """
    found = _match(source, words)
    if not found.n_found:
        raise CorpusError(
            f"{found.name} holds a vector for none of the {len(found.words):,} words; are the vectors of the texts' "
            "language, and is vocabulary= the list of words?"
        )
    return found


def _match(source: Any, words: Sequence[str]) -> WordVectors:
    """Return the vectors of those words that have one, though it be none of them."""
    wanted = listed_texts(words)
    if wanted is None:
        raise ParameterError(
            f"words must be a list of texts, as rows are in its order, but is {kind_of(words)}."
        )
    if isinstance(source, WordVectors):
        if list(source.words) != wanted:  # rows of others would stand for them
            same = sum(one == other for one, other in zip(source.words, wanted, strict=False))
            raise ParameterError(
                f"`word_vectors` were matched to {len(source.words):,} other words: only {same:,} of the "
                f"{len(wanted):,} words stand where the vectors have them. Match them to these: "
                "match_vectors(source, words)."
            )
        return source
    table = _Table(wanted)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return table.close(_read_file(path, table), path.name, file_digest(path))
    kind, n_dimensions = _read_object(source, table)
    return table.close(n_dimensions, kind, None)


def read_vectors(source: Any, words: tuple[str, ...] | None, *, booked: bool = False) -> WordVectors | None:
    """Find the public vectors of the words of the columns.

    Parameters
    ----------
    source : as for :func:`match_vectors`
    words : tuple of str or None
    booked : bool, default False
        That the cost is booked already, as where the words were chosen privately: then vectors of none of them, and
        a file that was changed since :func:`check_vectors` read it, are warned of, and not refused.

    Warns
    -----
    WordVectorsWarning
        Where fewer than a tenth of the words have a vector.
    """
    if words is None:
        raise ParameterError("`word_vectors` needs the word of each column: pass `vocabulary=` to fit.")
    try:
        found = _match(source, words) if booked else match_vectors(source, words)
    except (CorpusError, OSError) as error:
        if not booked:
            raise
        warn_caller(f"{error} Training goes on without vectors.", WordVectorsWarning)
        return None
    if found.n_found < _FEW * len(words):
        many, so = "none", ": training goes on without vectors"
        if found.n_found:
            many, so = f"{found.n_found:,}", ", fewer than a tenth: the others are trained without"
        said = f"{found.name} holds a vector for {many} of the {len(words):,} words{so}"
        warn_caller(f"{said}; are the vectors of the texts' language?", WordVectorsWarning)
    return found


def file_digest(path: PathLike) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_vectors(source: Any) -> None:
    """Read vectors before their words are chosen, and keep nothing: to refuse broken ones before anything is spent.

    All numbers are read, as any word may be chosen: a second for each 100,000 vectors of 100 dimensions.
    """
    if isinstance(source, str | os.PathLike):
        _read_file(source, _Every([]))
        return
    unnamed = isinstance(source, np.ndarray) or (isinstance(source, tuple | list) and _named(source) is None)
    if isinstance(source, WordVectors) or unnamed:
        raise ParameterError(
            "`word_vectors` must name their words where words are chosen from the texts: give a path, a mapping or "
            "(words, array)."
        )
    _read_object(source, _Every([]))


# ---- vectors given as objects


def _read_object(source: Any, table: _Table) -> tuple[str, int]:
    """Put the vectors of an object into a table; return its kind and the number of dimensions."""
    source = getattr(source, "wv", source)  # a gensim model holds its KeyedVectors there
    if hasattr(source, "key_to_index") and hasattr(source, "vectors"):
        places: Mapping[str, int] = source.key_to_index
        kind, words, array = "KeyedVectors", sorted(places, key=places.__getitem__), source.vectors
    elif isinstance(source, Mapping):
        if not source:
            raise ParameterError("word_vectors is an empty mapping; give words and their vectors.")
        kind, words, array = "mapping", [str(word) for word in source], list(source.values())
    elif is_frame(source):
        raise ParameterError(
            "word_vectors must not be a data frame: give its words and its numbers, (list(frame.index), "
            "frame.to_numpy())."
        )
    else:
        named = _named(source) if isinstance(source, tuple | list) else None
        array, words = named or (source, table.words)
        kind = "array"
    matrix = _matrix(array)
    if len(matrix) != len(words):
        raise ParameterError(
            f"word_vectors has {len(matrix)} rows for {len(words)} words; give one row for each word, or "
            "(words, array)."
        )
    given = ~np.isnan(matrix).all(1)  # rows of NaN are words without a vector
    if not (np.abs(matrix[given]) < _TOO_LARGE).all():
        raise ParameterError("word vectors must be finite numbers below 3.4e38, but one is not.")
    for row in np.flatnonzero(given).tolist():
        table.add(words[row], matrix[row].astype(np.float32))
    return kind, matrix.shape[1]


def _named(source: Sequence[Any]) -> tuple[Any, list[str]] | None:
    """Return the array and the words of (words, array), or of (array, words); None for anything else."""
    if len(source) == 2:
        for array, listed in (source[::-1], source):
            words = listed_texts(listed)
            if words:
                return array, words
        for part in source:
            if isinstance(part, Set | MappingView):
                raise ParameterError(
                    "`word_vectors` must be (words, array) with a list of words in the order of the rows, but they are "
                    f"in {kind_of(part)}, which promises no order: give a list."
                )
    return None


def _matrix(array: Any) -> NDArray[Any]:
    try:
        matrix = np.asarray(array)
    except Exception:  # it may show what could not be converted
        matrix = None
    if matrix is None:
        raise ParameterError(
            f"word_vectors must be {_EXPECTED}, but is {kind_of(array)} whose rows differ in length."
        )
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or not 1 <= matrix.shape[1] <= MOST_DIMENSIONS:
        raise ParameterError(
            f"word_vectors must be {_EXPECTED}, but is {kind_of(array)} of shape {matrix.shape} and type "
            f"{'text' if matrix.dtype.kind in 'US' else matrix.dtype.name}."
        )
    return matrix
