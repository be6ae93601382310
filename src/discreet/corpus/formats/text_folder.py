"""A folder of .txt files, one document each."""

import os
from collections.abc import Iterator
from pathlib import Path

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, read_text
from discreet.corpus.formats.records import Reading, Record, choose_fields, gather
from discreet.errors import CorpusError

__all__ = ["read"]


def read(path: PathLike, reading: Reading) -> Corpus:
    """Read every ``.txt`` and ``.txt.gz`` file below a folder as one document, in the order of their paths.

    Parameters
    ----------
    path : path
        The folder.
    reading : Reading
        The fields of a file are ``text``, ``file`` (its path below the folder) and ``folder`` (the folder it
        lies in, below ``path``), so that ``author="folder"`` is a folder for each author.

    Returns
    -------
    Corpus

    Raises
    ------
    CorpusError
        Names the file that is not text.
    """
    root = Path(path)
    name = os.fspath(path)
    if not root.exists():
        raise CorpusError(f"{name} does not exist; check the path.")
    if not root.is_dir():
        raise CorpusError(
            f'{name} is a file; format="txt" reads a folder of .txt files, format="lines" a document a line.'
        )
    choose_fields(reading, ["text", "file", "folder"], name)
    files = sorted(
        (file for pattern in ("*.txt", "*.txt.gz") for file in root.rglob(pattern) if file.is_file()),
        key=lambda file: file.relative_to(root).as_posix(),
    )
    if not files:
        raise CorpusError(f"{name} holds no .txt file; expected one document a file.")
    done = [0]

    def records() -> Iterator[Record]:
        for number, file in enumerate(files):
            below = file.relative_to(root)
            folder = below.parent.as_posix()
            values = {
                "text": read_text(file, reading.encoding),
                "file": below.as_posix(),
                "folder": "" if folder == "." else folder,
            }
            done[0] = number
            text, owner, label = reading.fields
            yield Record(
                number,
                values[text],
                None if owner is None else values[owner],
                None if label is None else values[label],
            )

    return gather(
        records(),
        reading,
        Problems(name),
        place=lambda number: files[number].relative_to(root).as_posix(),
        progress=lambda: (done[0], len(files)),
    )
