"""Opening what may be broken: gzip or not, text or not, and errors that name the file and the line.

Messages hold names of files and fields and numbers of lines, never a piece of the text: the text is private,
and messages end up in logs.
"""

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from discreet.errors import CorpusError, Proposal

__all__ = [
    "PathLike",
    "Problems",
    "Source",
    "decoded",
    "first_few",
    "open_source",
    "open_text",
    "read_lines",
    "read_text",
]

PathLike = str | os.PathLike[str]
_GZIP_MAGIC = b"\x1f\x8b"
_SHOWN = 5
_MOST_PROBLEMS = 100


def first_few(items: Iterable[object], shown: int = _SHOWN) -> str:
    """Join the first few items with commas and say how many more there are."""
    listed = list(items)
    text = ", ".join(str(item) for item in listed[:shown])
    return text if len(listed) <= shown else f"{text} and {len(listed) - shown} more"


class Problems:
    """Collects what is wrong with one file, so that one call reports all of it.

    Parameters
    ----------
    name : str
        The file.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.found: list[str] = []

    def add(self, where: str, what: str) -> None:
        """Note one problem; gives up after 100, because then the file is not what it should be."""
        self.found.append(f"{where}: {what}")
        if len(self.found) >= _MOST_PROBLEMS:
            self.check()

    def check(self) -> None:
        """Raise one ``CorpusError`` for all problems found, if any."""
        if not self.found:
            return
        if len(self.found) == 1:
            raise CorpusError(f"{self.name}, {self.found[0]}.")
        count = "at least 100" if len(self.found) >= _MOST_PROBLEMS else str(len(self.found))
        more = "" if len(self.found) <= _SHOWN else f"; and {len(self.found) - _SHOWN} more"
        raise CorpusError(f"{self.name}: {count} problems: {'; '.join(self.found[:_SHOWN])}{more}.")


@contextmanager
def _reading(path: PathLike) -> Generator[None]:
    """Turn errors of the system and of gzip into one of ours, with the file's name."""
    name = os.fspath(path)
    what: str | None = None
    try:
        yield
    except FileNotFoundError:
        what = "does not exist; check the path"
    except IsADirectoryError:
        what = 'is a folder, expected a file; a folder of .txt files is read with format="txt"'
    except PermissionError:
        what = "may not be read; check its permissions"
    except EOFError:
        what = "is cut short: the gzip data end too early; copy or download it again"
    except (gzip.BadGzipFile, zlib.error):
        what = "is damaged: its gzip data do not decompress; copy or download it again"
    except OSError as error:
        what = f"cannot be read: {error.strerror or type(error).__name__}"
    if what is not None:
        raise CorpusError(f"{name} {what}.")


class Source(NamedTuple):
    """An open file, and how far it has been read (bytes on disk, so compressed ones for gzip)."""

    raw: IO[bytes]
    progress: Callable[[], tuple[int, int]]


@contextmanager
def open_source(path: PathLike) -> Generator[Source]:
    """Open a file for reading bytes; gzip is recognised by its content, not its name."""
    with _reading(path), Path(path).open("rb") as raw:
        size = os.fstat(raw.fileno()).st_size
        zipped = raw.read(2) == _GZIP_MAGIC
        raw.seek(0)

        def progress() -> tuple[int, int]:
            return min(raw.tell(), size), size

        if zipped:
            with (
                gzip.GzipFile(fileobj=raw) as unzipped,
                io.BufferedReader(_Unzipped(unzipped), 1 << 18) as buffered,
            ):
                yield Source(buffered, progress)
        else:
            yield Source(raw, progress)


class _Unzipped(io.RawIOBase):
    """Hands a gzip stream to a larger buffer than its own, which makes reading lines faster."""

    def __init__(self, source: gzip.GzipFile) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        return self._source.readinto(buffer)


@contextmanager
def decoded(
    source: Source, path: PathLike, encoding: str = "utf-8", *, newline: str | None = "\n"
) -> Generator[IO[str]]:
    r"""Read an open file as text; what is not text, or not in this encoding, is an error that names the line.

    Parameters
    ----------
    source : Source
        The open file.
    path : path
        Its name, for errors and to find the place of one.
    encoding : str
        Any encoding Python knows. A byte order mark at the start is dropped from UTF-8.
    newline : str or None
        As in ``open``; lines end at ``"\n"`` only by default, so that line numbers are those of the file.
    """
    codec = _codec(encoding)
    if b"\0" in _peek(source.raw) and not codec.startswith(("utf-16", "utf-32")):
        raise CorpusError(
            f"{os.fspath(path)} looks like a binary file (it holds zero bytes), expected text; "
            "check the path and ",
            Proposal("format"),
            ".",
        )
    codec = "utf-8-sig" if codec == "utf-8" else codec
    text = io.TextIOWrapper(source.raw, encoding=codec, errors="strict", newline=newline)
    failed = False
    try:
        yield text
    except UnicodeError:
        failed = True
    finally:
        text.detach()
    if failed:
        raise _undecodable(path, codec)


@contextmanager
def open_text(path: PathLike, encoding: str = "utf-8", *, newline: str | None = "\n") -> Generator[IO[str]]:
    """Open a text file: :func:`open_source` and :func:`decoded` in one."""
    with open_source(path) as source, decoded(source, path, encoding, newline=newline) as text:
        yield text


def _codec(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        pass
    raise CorpusError(
        f'encoding {encoding!r} is not known to Python; "utf-8", "latin-1" and "cp1252" are common.'
    )


def _peek(raw: IO[bytes], size: int = 4096) -> bytes:
    return raw.peek(size)[:size] if isinstance(raw, io.BufferedReader) else b""


def _undecodable(path: PathLike, codec: str) -> CorpusError:
    """Find where decoding fails, by a second pass; this is slow and happens once."""
    decoder = codecs.getincrementaldecoder(codec)("strict")
    offset, lines, held = 0, 1, 0
    with open_source(path) as source:
        while True:
            block = source.raw.read(1 << 20)
            try:
                decoder.decode(block, final=not block)
            except UnicodeError as error:
                # The decoder saw the bytes it held back, then this block; count from there.
                start = (error.start if isinstance(error, UnicodeDecodeError) else held) - held
                offset += start
                lines += block.count(b"\n", 0, max(start, 0))
                break
            if not block:
                break
            held = len(decoder.getstate()[0])
            offset += len(block)
            lines += block.count(b"\n")
    name = codec.removesuffix("-sig")
    others = '"latin-1" or "cp1252"' if name == "utf-8" else '"utf-8"'
    said = f"{os.fspath(path)}, line {lines}: not {name} text at byte {offset}; give "
    return CorpusError(said, Proposal("encoding"), f", for example {others}.")


def read_lines(path: PathLike, encoding: str = "utf-8") -> list[str]:
    """Read a small text file as a list of lines, ends included."""
    with open_text(path, encoding) as file:
        return list(file)


def read_text(path: PathLike, encoding: str = "utf-8") -> str:
    """Read a whole text file."""
    with open_text(path, encoding) as file:
        return file.read()
