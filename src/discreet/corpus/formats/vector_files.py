r"""Files of word vectors: text of word2vec, GloVe's text, fastText's ``.vec``, ``.npz``.

Text is read line by line. What a file is, is seen from its content. Nothing is unpickled. The binary format of word2vec
is refused with the line of gensim that makes text of it.

==================  ==========================================================================
GloVe text          a word and its numbers a line; words may hold spaces
word2vec text       the same after a first line with the numbers of words and dimensions
``.npz``            arrays ``words`` (text) and ``vectors`` (n_words, n_dimensions)
==================  ==========================================================================
"""

import math
import os
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.corpus.files import PathLike, is_zip, open_source, unless_damaged
from discreet.errors import CorpusError

__all__ = ["MOST_DIMENSIONS", "Wanted", "read_vector_file"]

Take = Callable[[str, NDArray[np.float32]], None]

MOST_DIMENSIONS = 4096


class Wanted:
    """The words somebody waits for, as they are spelt and in the one spelling for all that mean the same.

    Parameters
    ----------
    words : list of str
    fold : callable
        From a word to that spelling.
    """

    def __init__(self, words: list[str], fold: Callable[[str], str]) -> None:
        self.exact = set(words)
        self.fold = fold
        self.folded = {fold(word) for word in words}
        self.with_spaces = any(" " in word for word in self.folded)

    def __contains__(self, word: str) -> bool:
        return word in self.exact or self.fold(word) in self.folded


def read_vector_file(path: PathLike, wanted: Wanted, take: Take) -> int:
    """Hand over the vectors of the words that are wanted, as they come; return the number of dimensions.

    Raises
    ------
    CorpusError
        Where it is no such file, or is damaged or cut short; names the line.
    """
    name = os.fspath(path)
    if Path(path).is_file() and is_zip(path) and _holds_arrays(path):
        return _read_npz(path, name, wanted, take)
    with open_source(path) as source:
        first = source.raw.readline()
        if not first:
            raise CorpusError(f"{name} is empty; expected word vectors.")
        sizes = first.split()
        if len(sizes) == 2 and all(size.isdigit() and len(size) < 12 for size in sizes):
            n_rows, n_dimensions = int(sizes[0]), int(sizes[1])
            _check_dimensions(n_dimensions, name)
            lines = source.raw
            second = lines.readline()
            if second and not _is_text(second, n_dimensions):
                raise CorpusError(
                    f"{name} looks like the binary format of word2vec; gensim makes text of it: KeyedVectors."
                    "load_word2vec_format(path, binary=True).save_word2vec_format(new_path)."
                )
            found = _read_lines([second], name, 2, n_dimensions, wanted, take)
            found += _read_lines(lines, name, 3, n_dimensions, wanted, take)
            if found != n_rows:
                raise CorpusError(
                    f"{name} promises {n_rows:,} vectors and holds {found:,}; copy or download it again."
                )
            return n_dimensions
        n_dimensions = len(sizes) - 1
        if n_dimensions < 2 or _numbers(sizes[1:]) is None:
            raise CorpusError(
                f"{name}, line 1: expected a word and its numbers, or the numbers of words and dimensions; the formats "
                "of word2vec (text), GloVe and fastText (.vec) are known, and .npz with words and vectors."
            )
        _check_dimensions(n_dimensions, name)
        _read_lines([first], name, 1, n_dimensions, wanted, take)
        _read_lines(source.raw, name, 2, n_dimensions, wanted, take)
        return n_dimensions


def _check_dimensions(n_dimensions: int, name: str) -> None:
    if not 1 <= n_dimensions <= MOST_DIMENSIONS:
        raise CorpusError(
            f"{name}: vectors must have 1 to {MOST_DIMENSIONS} numbers, but have {n_dimensions:,}."
        )


def _numbers(fields: list[bytes]) -> NDArray[np.float32] | None:
    """Return the fields as numbers; None where one is none."""
    try:
        values = [float(field) for field in fields]
    except ValueError:
        return None
    limit = float(np.finfo(np.float32).max)
    return np.array(values, np.float32) if all(math.isfinite(v) and abs(v) < limit for v in values) else None


def _is_text(line: bytes, n_dimensions: int) -> bool:
    """Whether a line is one of text with a word and that many numbers."""
    fields = line.rsplit(None, n_dimensions)
    return len(fields) == n_dimensions + 1 and _numbers(fields[1:]) is not None


def _read_lines(
    lines: Iterable[bytes], name: str, first: int, n_dimensions: int, wanted: Wanted, take: Take
) -> int:
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
        if not wanted.with_spaces and _decoded(line.split(None, 1)[0]) not in wanted:
            continue
        word, *fields = line.rsplit(None, n_dimensions)
        vector = _numbers(fields) if len(fields) == n_dimensions else None
        if vector is None:
            raise CorpusError(f"{name}, line {number}: expected a word and {n_dimensions} finite numbers.")
        spelt = _decoded(word.strip())
        if spelt in wanted:
            take(spelt, vector)
    return found


def _decoded(word: bytes) -> str:
    """Return the word; words that are no UTF-8 (word2vec cuts some) become words that nobody waits for."""
    return word.decode("utf-8", "replace")


def _holds_arrays(path: PathLike) -> bool:
    """Whether a zip archive is anything else than one text, which is unpacked like other texts."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except Exception:  # a damaged one: let its reader say so
        return True
    return len(names) != 1 or names[0].endswith(".npy")


def _read_npz(path: PathLike, name: str, wanted: Wanted, take: Take) -> int:
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
        if word in wanted:
            vector = vectors[row].astype(np.float32)
            if not np.isfinite(vector).all():
                raise CorpusError(f"{name}, vector {row + 1}: expected {vectors.shape[1]} finite numbers.")
            take(word, vector)
    return int(vectors.shape[1])
