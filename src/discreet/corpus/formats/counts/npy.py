"""``.npy``: a dense matrix of counts, documents x words, as ``numpy.save`` writes it. Nothing is unpickled."""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from discreet.corpus.check import canonical_counts
from discreet.corpus.files import PathLike, refuse_emptiness_of
from discreet.corpus.formats.array_header import read_header
from discreet.corpus.formats.counts.counted import Counted, CountReading
from discreet.corpus.unpack import is_damage
from discreet.errors import CorpusError

__all__ = ["read"]


def read(path: PathLike, told: CountReading) -> Counted:
    """Read a dense matrix of whole numbers from 0, as integers or floats."""
    del told
    name = os.fspath(path)
    refuse_emptiness_of(path, "a matrix of numpy.save")
    matrix: Any = None
    fault = ""
    try:
        with Path(path).open("rb") as raw:
            shape, kind = read_header(raw)
            left = Path(path).stat().st_size - raw.tell()
            # Before memory is asked for: a few bytes may promise gigabytes.
            # Without documents or words there is nothing to hold against the size, and either may be endless.
            if (
                len(shape) != 2
                or kind.kind not in "iufb"
                or not left
                or math.prod(shape) * kind.itemsize != left
            ):
                raise ValueError
            raw.seek(0)
            matrix = np.lib.format.read_array(raw, allow_pickle=False)
    except Exception as error:  # a damaged header fails in many ways
        if not is_damage(error):
            raise
        fault = type(error).__name__
    if matrix is None:
        raise CorpusError(
            f"{name} is not a whole matrix of numbers, documents x words, of numpy.save ({fault}); write it with that."
        )
    try:
        return Counted(canonical_counts(matrix.astype(matrix.dtype.newbyteorder("="), copy=False)))
    except CorpusError as error:
        raise CorpusError(f"{name}: {error}") from None
