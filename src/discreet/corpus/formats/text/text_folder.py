"""A folder, or a zip archive, of texts: one document a file."""

import io
import os
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from discreet._validate import is_there, path_shown
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, as_text, read_text
from discreet.corpus.formats.text.records import Reading, Record, choose_fields, gather
from discreet.corpus.unpack import archive_members, kind_of, open_member
from discreet.errors import CorpusError

__all__ = ["field_names", "read"]

_FIELDS = ("text", "file", "folder")
_KNOWN = (".txt", ".txt.gz")


class _Texts(NamedTuple):
    """Names of the documents, below the folder, and what reads the one of a number."""

    names: list[str]
    text: Callable[[int], str]


def field_names(path: PathLike, encoding: str) -> list[str]:
    """Return the fields that a file has."""
    del path, encoding
    return list(_FIELDS)


def read(path: PathLike, reading: Reading) -> Corpus:
    """Read every ``.txt`` and ``.txt.gz`` file of a folder, or of an archive, in the order of their paths.

    Where there is none, every file is a document, as in the folders of 20 Newsgroups and of Enron; hidden ones aside. A
    zip archive is not unpacked to the disk. The fields of a file are ``text``, ``file`` (its path below the folder) and
    ``folder`` (the folder it lies in), so that ``person="folder"`` is a folder for each person.
    """
    name = os.fspath(path)
    if not is_there(path):
        raise CorpusError(f"{path_shown(path)} does not exist; check the path.")
    choose_fields(reading, _FIELDS, name)
    with _texts(Path(path), reading.encoding) as texts:
        names = texts.names
        if not names:
            raise CorpusError(f"{name} holds no .txt file, nor any other; expected one document per file.")
        done = [0]

        def records() -> Iterator[Record]:
            for number, file in enumerate(names):
                folder = PurePosixPath(file).parent.as_posix()
                values = {
                    "text": texts.text(number),
                    "file": file,
                    "folder": "" if folder == "." else folder,
                }
                done[0] = number
                text, person, label = reading.fields
                yield Record(
                    number,
                    values[text],
                    None if person is None else values[person],
                    None if label is None else values[label],
                )

        return gather(
            records(),
            reading,
            Problems(name),
            place=lambda number: names[number],
            progress=lambda: (done[0], len(names)),
        )


@contextmanager
def _texts(path: Path, encoding: str) -> Generator[_Texts]:
    if path.is_dir():
        below = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
        names = _documents(below)

        def text_of(number: int) -> str:
            return read_text(below[names[number]], encoding)

        yield _Texts(names, text_of)
        return
    with path.open("rb") as raw:
        if kind_of(raw.read(4)) != "zip":
            raise CorpusError(
                f'{path} is a file; format="txt" reads a folder of .txt files, format="lines" a document a line.'
            )
        size = path.stat().st_size
        members = {member.filename: member for member in archive_members(raw, os.fspath(path))}
        names = _documents(members)
        with zipfile.ZipFile(raw) as archive:

            def text(number: int) -> str:
                where = f"{path}, {names[number]}"
                with open_member(archive, members[names[number]], where, size) as stream:
                    content = io.BytesIO()
                    while block := stream.read(1 << 20):
                        content.write(block)
                return as_text(content.getvalue(), where, encoding)

            yield _Texts(names, text)


def _documents(names: Iterable[str]) -> list[str]:
    found = sorted(names)
    texts = [name for name in found if name.endswith(_KNOWN)]
    if texts:
        return texts
    return [name for name in found if not any(part.startswith(".") for part in name.split("/"))]
