"""Opening what may be broken: packed or not, text or not, and errors that name the file and the line.

Messages hold names of files and fields and numbers of lines, never a piece of the text: the text is private,
and messages end up in logs.

gzip, bzip2 and xz are recognised by their first bytes, never by name, and read as streams: nothing is unpacked to
the disk.
"""

import bz2
import codecs
import errno
import gzip
import io
import json
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from discreet._base.validate import path_shown
from discreet.errors import CorpusError

PathLike = str | os.PathLike[str]
_SHOWN = 5
_MOST_PROBLEMS = 100
_PEEKED = 4096
_BEYOND_ASCII = bytes(range(128, 256))
#: Encodings of one byte a character, and where they are usual; of those that suit a file alike, the first are named.
_USUAL = {
    "cp1252": "Western Europe",
    "cp1250": "Central Europe",
    "cp1254": "Turkish",
    "cp1251": "Cyrillic",
    "iso-8859-2": "Latin-2",
}
#: Marks at the beginning of text in two or four bytes a character; the longer ones first.
_WIDE = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"PK\x03\x04": "zip",
}
_STREAMS: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda raw: gzip.GzipFile(fileobj=raw),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}
#: A name of a field is no longer, nor has it more words; of a file without a header, the first document stands there.
_LONGEST_NAME, _MOST_WORDS = 60, 6
#: How pickles of protocol 2 and later begin; no text does.
_PICKLE = re.compile(b"\x80[\x02-\x05]")
#: What to do with those that are not read.
_TO_UNPACK = {
    "Zstandard": "unpack it: zstd -d",
    "zip": "unpack it, and name the file, or the folder where each file is a document",
}
_LONGEST_MAGIC = max(map(len, _MAGIC))
_PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
_DAMAGED = "is damaged: its compressed data cannot be read; copy or download it again"
#: What libraries raise for files that are not what they should be.
_DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, RuntimeError,
    SyntaxError, TypeError, ValueError, lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
#: What is wrong with a file that cannot be read.
_WRONG: dict[type[Exception], str] = {
    FileNotFoundError: "does not exist; check the path",
    IsADirectoryError: 'is a folder, expected a file; a folder of .txt files is read with format="txt"',
    PermissionError: "may not be read; check its permissions",
    EOFError: "is cut short: its compressed data end too early; copy or download it again",
    gzip.BadGzipFile: _DAMAGED,
}
#: Larger than the streams' own, which makes reading lines faster.
_BUFFER = 1 << 18


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
        #: How many there are; those beyond the first 100 are only counted.
        self.count, self.given_up = 0, False
        #: Names of the fields that the file has, where it has some.
        self.fields: list[str] = []
        #: What the reader found by itself, for whoever holds the file.
        self.notes: list[str] = []
        #: What helps, said at the end of the message.
        self.advice = ""

    def add(self, where: str, what: str, *, empty: bool = False) -> None:
        """Note one problem; gives up after 100, because then the file is not what it should be.

        ``empty``: nothing stands there. Of those it is worth knowing how many there are, so all are counted.
        """
        self.count += 1
        if len(self.found) < _MOST_PROBLEMS:
            self.found.append(f"{where}: {what}")
        if self.count >= _MOST_PROBLEMS and not empty:
            self.given_up = True
            self.check()

    def check(self) -> None:
        """Raise one ``CorpusError`` for all problems found, if any."""
        if not self.found:
            return
        if self.count == 1:
            raise CorpusError(f"{self.name}, {self.found[0]}{self.advice}.")
        count = f"{'at least ' * self.given_up}{self.count:,}"
        more = "" if self.count <= _SHOWN else f"; and {self.count - _SHOWN:,} more"
        said = f"{self.name}: {count} problems: {'; '.join(self.found[:_SHOWN])}"
        raise CorpusError(f"{said}{more}{self.advice}.")


@contextmanager
def _reading(path: PathLike) -> Generator[None]:
    """Turn errors of the system, and of damaged packing, into one of ours, with the file's name."""
    try:
        yield
        return
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError) as error:
        what = _WRONG.get(type(error), _DAMAGED)
        # Without a number, an error of the system is what bz2 raises; others are the disk's, or a timer's.
        of_packing = type(error) is OSError and error.errno is None
        if isinstance(error, OSError) and type(error) not in _WRONG and not of_packing:
            what = f"cannot be read: {error.strerror or type(error).__name__}"
    raise CorpusError(f"{path_shown(path)} {what}.")


class Source(NamedTuple):
    """An open file, and how far it has been read (bytes on disk, so compressed ones)."""

    raw: io.BufferedReader
    progress: Callable[[], tuple[int, int]]


@contextmanager
def open_source(path: PathLike) -> Generator[Source]:
    """Open a file for reading bytes; one that is compressed is recognised by its content, not its name."""
    with _reading(path), Path(path).open("rb") as raw, ExitStack() as stack:
        size, seekable = os.fstat(raw.fileno()).st_size, raw.seekable()
        head = raw.peek(_LONGEST_MAGIC)
        kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)

        def progress() -> tuple[int, int]:
            return (min(raw.tell(), size), size) if seekable else (0, 0)

        if kind is None:
            yield Source(raw, progress)
        elif kind not in _STREAMS:
            raise not_unpacked(os.fspath(path), kind)
        else:
            yield Source(stack.enter_context(io.BufferedReader(_STREAMS[kind](raw), _BUFFER)), progress)


def without_packing(name: str) -> str:
    """Return a file's name in lower case without the ending of a compressed file."""
    lower = name.lower()
    return next((lower.removesuffix(ending) for ending in _PACKED_ENDINGS if lower.endswith(ending)), lower)


def not_unpacked(name: str, kind: str) -> CorpusError:
    """Say what to do with a file that is packed in a way that is not read."""
    return CorpusError(f"{name} is packed by {kind}, which is not read; {_TO_UNPACK[kind]}.")


@contextmanager
def unless_damaged(fault: CorpusError, *kinds: type[Exception]) -> Generator[None]:
    """Raise ``fault`` in place of what a library raises for content that is not what it should be.

    Libraries fail in many ways, and their messages may show what they found. Errors of ours pass, and so does what
    comes of a timer, a full memory or a lost disk.

    Parameters
    ----------
    fault : CorpusError
    *kinds : type
        Errors of the library's own.
    """
    try:
        yield
        return
    except CorpusError:
        raise
    except (*_DAMAGE, *kinds):
        pass
    except OSError as error:
        # EINVAL: a place before the file's beginning, where a damaged table of contents leads.
        if type(error) is not OSError or error.errno not in (None, errno.EINVAL):
            raise
    raise fault


@contextmanager
def decoded(
    source: Source, path: PathLike, encoding: str = "utf-8", *, newline: str = "\n", names: Sequence[str] = ()
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
    newline : str
        As in ``open``; lines end at ``"\n"`` only by default, so that line numbers are those of the file.
    names : sequence of str, default ()
        Columns that are looked for. Where the first line has one, it is a header, which may be shown.
    """
    codec = _codec(encoding)
    _refuse_binary(source.raw.peek(_PEEKED)[:_PEEKED], os.fspath(path), codec)
    _refuse_utf8(path, codec)
    codec = "utf-8-sig" if codec == "utf-8" else codec
    text = io.TextIOWrapper(source.raw, encoding=codec, errors="strict", newline=newline)
    try:
        yield text
        return
    except UnicodeError:
        pass
    finally:
        text.detach()
    raise _undecodable(path, codec, names)


def _codec(encoding: str) -> str:
    with suppress(LookupError):
        return codecs.lookup(encoding).name
    raise CorpusError(
        f'encoding {encoding!r} is not known to Python; "utf-8", "latin-1" and "cp1252" are common.'
    )


def _refuse_binary(start: bytes, name: str, codec: str) -> None:
    if _PICKLE.match(start):
        raise CorpusError(
            f"{name} is a pickle, which could run anything, so it is not opened. Where you trust it, open it yourself, "
            "with pandas.read_pickle or gensim's Dictionary.load, and pass what it holds."
        )
    wide = next((name for mark, name in _WIDE.items() if start.startswith(mark)), None)
    if wide is not None and not codec.startswith(wide) and (b"\0" in start or codec == "utf-8"):
        raise CorpusError(
            f"{name} is {wide.upper()} text by its first bytes, as spreadsheets save Unicode text; give "
            f"`encoding={wide!r}`."
        )
    if b"\0" in start and not codec.startswith(("utf-16", "utf-32")):
        raise CorpusError(
            f"{name} looks like a binary file (it holds zero bytes), expected text; check the path and `format=`."
        )


def _refuse_utf8(path: PathLike, codec: str) -> None:
    """Refuse UTF-8 under the name of an encoding of one byte a character, which would read anything, as other letters.

    Text that has such an encoding is told apart at its first letter beyond ASCII, as a rule.
    """
    reads_anything = len(_BEYOND_ASCII.decode(codec, "replace")) == len(_BEYOND_ASCII)
    if codec == "utf-8" or not reads_anything or not Path(path).is_file():  # a pipe is read once
        return
    with open_source(path) as source, suppress(UnicodeDecodeError):
        # All lines are decoded, not those to the first alone.
        if sum(not line.decode().isascii() for line in source.raw):
            raise CorpusError(
                f"{os.fspath(path)} is UTF-8, which {codec} would misread: leave `encoding=` out. Where another file "
                "needs it, save that one as UTF-8."
            )


def _undecodable(path: PathLike, codec: str, names: Sequence[str]) -> CorpusError:
    """Find where decoding fails, by a second pass; this is slow and happens once."""
    name = codec.removesuffix("-sig")
    if not Path(path).is_file():  # a pipe is read once
        return CorpusError(f"{os.fspath(path)} is not {name} text; give `encoding=`.")
    decoder = codecs.getincrementaldecoder(codec)("strict")
    offset = lines = held = 0
    advised = '"utf-8"'
    with open_source(path) as source:
        for line in chain(source.raw, (b"",)):
            try:
                decoder.decode(line, final=not line)
            except UnicodeError as error:
                # The decoder saw the bytes it held back, then this line; count from there.
                offset += (error.start if isinstance(error, UnicodeDecodeError) else held) - held
                if name == "utf-8":
                    content = (line + source.raw.read(_BUFFER))[:_BUFFER]
                    advised = _likely_encodings(content, b"" if lines else line, names)
                break
            held = len(decoder.getstate()[0])
            offset += len(line)
            lines += 1
    said = f"{os.fspath(path)}, line {lines + 1}: not {name} text at byte {offset}; give `encoding=`"
    return CorpusError(f"{said}, for example {advised}.")


def _likely_encodings(content: bytes, header: bytes, wanted: Sequence[str]) -> str:
    """Name the usual encodings under which the fewest words are broken: hold a symbol, or letters of two scripts.

    Of a header that has a column that is wanted, names that differ between these are shown.
    """
    broken = dict[str, int]()
    for encoding in _USUAL:
        text = content.decode(encoding, "replace")
        broken[encoding] = sum(
            not (one.isascii() or one.isalpha() or one == "\u2019")
            or (before.isascii() and "\u0400" <= one <= "\u04ff")
            for before, one, after in zip(text, text[1:], text[2:], strict=False)
            if before.isalpha() and after.isalpha()
        )
    likely = [encoding for encoding, n in broken.items() if n == min(broken.values())][:3]
    read = [re.split("[,;|\t]", header.decode(one, "replace").replace('"', "").strip()) for one in likely]
    shown = all(map(is_field_name, chain(*read))) and not set(wanted).isdisjoint(chain(*read))
    differing = [names for names in zip(*read, strict=True) if shown and len(set(names)) > 1][:3]
    looks = [": " + ", ".join(names) for names in zip(*differing, strict=True)] or [""] * len(likely)
    named = [f'"{one}" ({_USUAL[one]}{look})' for one, look in zip(likely, looks, strict=True)]
    return f"{' or '.join(named)}, as Excel and older programs save it"


def is_field_name(name: str) -> bool:
    """Whether this can be shown as the name of a field, and is no text."""
    return len(name) <= _LONGEST_NAME and name.isprintable() and len(name.split()) <= _MOST_WORDS


def read_text(path: PathLike, encoding: str = "utf-8") -> str:
    """Read a whole text file."""
    with open_source(path) as source, decoded(source, path, encoding) as file:
        return file.read()


def read_lines(path: PathLike, encoding: str = "utf-8") -> list[str]:
    """Read a small text file as a list of lines, without their ends."""
    text = read_text(path, encoding).removesuffix("\n")
    return [line.rstrip("\r") for line in text.split("\n")] if text else []


def refuse_emptiness_of(path: PathLike, expected: str) -> None:
    """Refuse a file without a byte, or none; for formats whose own libraries read them."""
    with _reading(path):
        if Path(path).is_dir():
            raise IsADirectoryError
        if Path(path).stat().st_size:
            with Path(path).open("rb"):
                return
    raise CorpusError(f"{os.fspath(path)} is empty: expected {expected}.")


def digest_of(lines: Sequence[str]) -> str:
    """Return the SHA-256 of what stands in a file one a line: words, or persons."""
    # As JSON, because a word may hold whatever words could be joined by.
    return sha256(json.dumps(list(lines)).encode()).hexdigest()


def one_file(one: Any, other: Any) -> bool:
    """Whether both are paths of a file that is there, and the same."""
    try:
        return Path(one).samefile(other)
    except (OSError, TypeError, ValueError):
        return False
