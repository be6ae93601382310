"""Compressed files as streams: gzip, bzip2, xz, Zstandard and zip, recognised by their first bytes and never by name.

What is packed may be hostile: a small file can hold an endless text, or ask for gigabytes before the first byte. So
streams are read piece by piece, nothing is unpacked to the disk, and a file that grows to much more than texts and
counts do is refused.
"""

import bz2
import errno
import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from tokenize import TokenError
from typing import IO, Any
from xml.parsers.expat import ExpatError

from discreet.errors import CorpusError

__all__ = [
    "LONGEST_MAGIC",
    "archive_members",
    "is_damage",
    "kind_of",
    "open_member",
    "refuse_bomb",
    "unpacked",
    "without_packing",
]

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"PK\x03\x04": "zip",
}
LONGEST_MAGIC = max(map(len, _MAGIC))
_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
_BUFFER = 1 << 18
#: What may come of a file: this much in any case, and beyond that so many times its size. Text packs to a fifth or a
#: tenth, counts to a thirtieth.
_FREE, _MOST_TIMES = 256 * 2**20, 250
_MOST_XZ_MEMORY = 256 * 2**20
#: What libraries raise for files that are not what they should be. XML that is none is a SyntaxError.
_DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, SyntaxError, TypeError, ValueError,
    ExpatError, lzma.LZMAError, struct.error, TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def without_packing(name: str) -> str:
    """Return a file's name in lower case without the ending of a compressed file."""
    lower = name.lower()
    return next((lower.removesuffix(ending) for ending in _ENDINGS if lower.endswith(ending)), lower)


def kind_of(head: bytes) -> str | None:
    """Return how a file is compressed, from its first bytes."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


@contextmanager
def unpacked(raw: IO[bytes], name: str, kind: str, size: int) -> Generator[IO[bytes]]:
    """Yield a compressed file's content as a stream.

    Parameters
    ----------
    raw : binary file
        At its start.
    name : str
        For errors.
    kind : str
        What :func:`kind_of` says.
    size : int
        Bytes of the compressed file.
    """
    if kind == "zip":
        members = archive_members(raw, name)
        if len(members) != 1:
            raise CorpusError(
                f"{name} is an archive of {len(members)} files, expected one; unpack it and name the file. "
                'An archive of texts, a document a file, is read with format="txt".'
            )
        with zipfile.ZipFile(raw) as archive, open_member(archive, members[0], name, size) as stream:
            yield stream
        return
    with _limited(_stream(raw, kind, name), name, kind, size) as stream:
        yield stream


def _stream(raw: IO[bytes], kind: str, name: str) -> Any:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=raw)
    if kind == "bzip2":
        return _Decompressed(raw, bz2.BZ2Decompressor)
    if kind == "xz":
        return _Decompressed(raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_XZ_MEMORY))
    try:
        from compression import zstd  # pyright: ignore  (Python 3.14)
    except ImportError:
        pass
    else:
        return zstd.ZstdFile(raw)  # pyright: ignore
    try:
        import pyarrow as pa
    except ImportError:
        pass
    else:
        return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))
    raise CorpusError(
        f"{name} is compressed with Zstandard, which needs pyarrow: pip install 'discreet[parquet]', or unpack it."
    )


class _Decompressed(io.RawIOBase):
    """One compressed stream after another, as ``bz2`` and ``xz`` write them; the module's own takes no limit."""

    def __init__(self, raw: IO[bytes], make: Any) -> None:
        self._raw, self._make, self._decompressor, self._held = raw, make, make(), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while True:
            if self._decompressor.eof:
                self._held = (self._decompressor.unused_data or self._raw.read(_BUFFER)).lstrip(b"\0")
                if not self._held:
                    return 0
                self._decompressor = self._make()
            elif self._decompressor.needs_input:
                self._held = self._raw.read(_BUFFER)
                if not self._held:
                    raise EOFError
            data = self._decompressor.decompress(self._held, len(buffer))
            self._held = b""
            if data:
                buffer[: len(data)] = data
                return len(data)


class _Limited(io.RawIOBase):
    """A stream that ends in an error of ours where it is damaged, or grows as no text does."""

    def __init__(self, source: Any, name: str, kind: str, size: int) -> None:
        self._source, self._name, self._kind = source, name, kind
        self._size, self._read = size, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        fault = f"is damaged: its {self._kind} data do not decompress"
        read = -1
        try:
            read = self._source.readinto(buffer)
        except EOFError:
            fault = f"is cut short: the {self._kind} data end too early"
        except OSError as error:
            if error.errno is not None and not isinstance(error, gzip.BadGzipFile):
                raise  # the disk's, not the data's
        except (zlib.error, lzma.LZMAError, zipfile.BadZipFile, ValueError, NotImplementedError):
            pass
        except RuntimeError:
            fault = "is encrypted; unpack it"
        if read < 0:
            raise CorpusError(f"{self._name} {fault}; copy or download it again.")
        self._read += read
        refuse_bomb(self._name, self._size, self._read)
        return read


def is_damage(error: Exception) -> bool:
    """Whether a library's error comes of what a file holds; not of a timer, a full memory or a lost disk."""
    plain = type(error) in (OSError, RuntimeError, NotImplementedError, RecursionError)
    return isinstance(error, _DAMAGE) or (
        plain and getattr(error, "errno", None) in (None, errno.EINVAL)  # a place before the file's beginning
    )


def refuse_bomb(name: str, size: int, grown: int) -> None:
    """Refuse a file of ``size`` bytes that grows to more than texts and counts do."""
    if grown > max(_FREE, _MOST_TIMES * size):
        raise CorpusError(
            f"{name} grows to over {_MOST_TIMES} times its size when it is unpacked: this is no text. "
            "Unpack it yourself if it is."
        )


@contextmanager
def _limited(source: Any, name: str, kind: str, size: int) -> Generator[IO[bytes]]:
    # A larger buffer than the streams' own makes reading lines faster.
    with source, io.BufferedReader(_Limited(source, name, kind, size), _BUFFER) as buffered:
        yield buffered


def archive_members(raw: IO[bytes], name: str) -> list[zipfile.ZipInfo]:
    """Return the files in a zip archive in the order of their names; hidden ones and those of macOS aside.

    Together they may grow to no more than one file may.
    """
    fault, size = False, 0
    members: list[zipfile.ZipInfo] = []
    try:
        with zipfile.ZipFile(raw) as archive:
            members = sorted(archive.infolist(), key=lambda member: member.filename)
        size = raw.seek(0, os.SEEK_END)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, UnicodeDecodeError):
        fault = True
    if fault:
        raise CorpusError(f"{name} is damaged: its zip data do not decompress; copy or download it again.")
    refuse_bomb(
        name, size, sum(member.file_size for member in members)
    )  # zipfile reads no more than that of each
    return [
        member
        for member in members
        if not member.is_dir()
        and not any(part.startswith((".", "__MACOSX")) for part in member.filename.split("/"))
    ]


@contextmanager
def open_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, size: int
) -> Generator[IO[bytes]]:
    """Yield the content of a file in an archive as a stream."""
    source: Any = None
    fault = "is damaged: its zip data do not decompress"
    try:
        source = archive.open(member)
    except RuntimeError:
        fault = "is encrypted; unpack it"
    except Exception as error:
        if not is_damage(error):
            raise
    if source is None:
        raise CorpusError(f"{name} {fault}; copy or download it again.")
    with _limited(source, name, "zip", size) as stream:
        yield stream
