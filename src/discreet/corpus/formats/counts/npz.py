"""``.npz``: a scipy sparse matrix, with vocabulary, persons and labels where :func:`write_corpus` put them.

scipy's ``load_npz`` reads these files too; it ignores what it does not know. Nothing is unpickled.
"""

import json
import math
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, refuse_emptiness_of
from discreet.corpus.formats.array_header import read_header
from discreet.corpus.formats.counts.counted import Counted, CountReading
from discreet.corpus.unpack import archive_members, is_damage
from discreet.corpus.words.origin import WordOrigin
from discreet.corpus.words.vocabulary import check_words
from discreet.errors import CorpusError

__all__ = ["read", "write"]

#: Members of the archive beside scipy's own: words, where they come from, and labels are UTF-8 JSON as bytes, persons
#: an array.
VOCABULARY = "discreet.vocabulary"
PERSONS = "discreet.persons"
LABELS = "discreet.labels"
ORIGIN = "discreet.word_origin"


def read(path: PathLike, told: CountReading) -> Counted:
    """Read what ``scipy.sparse.save_npz`` or :func:`write_corpus` wrote, and the extras if there are any."""
    del told
    name = os.fspath(path)
    fault: str | None = None
    refuse_emptiness_of(path, "a sparse matrix of scipy.sparse.save_npz")
    if zipfile.is_zipfile(path):
        with Path(path).open("rb") as raw:
            archive_members(raw, name)  # which refuses what grows to more than counts do
    try:
        _refuse_promises(path)
        with Path(path).open("rb") as raw:  # ours to close: numpy leaves it open where the archive is damaged
            with np.load(raw, allow_pickle=False) as file:
                extras: dict[str, Any] = {}
                for member in (VOCABULARY, LABELS):
                    if member in file:
                        extras[member.removeprefix("discreet.")] = _list(file[member])
                if PERSONS in file:
                    extras["persons"] = file[PERSONS]
                if ORIGIN in file and "vocabulary" in extras:
                    words = check_words(extras["vocabulary"], "word")
                    extras["vocabulary"] = words
                    extras["word_origin"] = WordOrigin.from_json(json.loads(file[ORIGIN].tobytes()), words)
            raw.seek(0)
            return Counted(sp.load_npz(raw), **extras)
    except Exception as error:  # a damaged archive fails in many ways, deep in zipfile, zlib, numpy and json
        if not is_damage(error):
            raise
        fault = type(error).__name__
    raise CorpusError(
        f"{name} is not a sparse matrix of scipy.sparse.save_npz ({fault}); write it with that."
    )


def write(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write everything that a corpus is."""
    del target
    counts = corpus.counts
    arrays: dict[str, Any] = {
        "indices": counts.indices,
        "indptr": counts.indptr,
        "format": np.array(b"csr"),
        "shape": np.array(counts.shape),
        "data": counts.data,
        VOCABULARY: _json(corpus.vocabulary),
        ORIGIN: _json(corpus.word_origin.to_json(corpus.vocabulary)),
    }
    if corpus.persons is not None:
        arrays[PERSONS] = corpus.persons
    if corpus.labels is not None:
        arrays[LABELS] = _json(corpus.labels.tolist())
    np.savez_compressed(file, **arrays)


def _refuse_promises(path: PathLike) -> None:
    """Refuse arrays that say they are larger than what is packed, before memory is asked for."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as stream:
                shape, kind = read_header(stream)
            if math.prod(shape) * kind.itemsize > member.file_size:
                raise ValueError


def _list(member: Any) -> list[Any]:
    value = json.loads(member.tobytes())
    if not isinstance(value, list):
        raise TypeError
    return list[Any](value)


def _json(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), np.uint8)
