"""The words of a release as a file: one a line, as JSON text where a word could not stand there as it is."""

import json
import re

from discreet.errors import ReleaseError

__all__ = [
    "LARGEST_VOCABULARY",
    "VOCABULARY",
    "clean",
    "from_line",
    "halves",
    "printable",
    "read_words",
    "to_line",
    "undirected",
    "vocabulary_bytes",
]

VOCABULARY = "vocabulary.txt"
#: In bytes; the same when writing, so that what is written can be read.
LARGEST_VOCABULARY = 256 * 2**20
_RESTORE = "restore it from a copy"
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_DIRECTIONS = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


def halves(text: str) -> bool:
    """Whether text holds halves of characters, which no file can."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def printable(text: str) -> str:
    """Return text without control characters and halves of characters."""
    return _UNPRINTABLE.sub("\ufffd", text)


def undirected(text: str) -> str:
    """Return text without marks that turn the direction of writing, which may show it as what it is not."""
    return _DIRECTIONS.sub("\ufffd", text)


def clean(text: str) -> str:
    """Return text as it may be shown: :func:`printable` and :func:`undirected`."""
    return undirected(printable(text))


def vocabulary_bytes(words: tuple[str, ...]) -> bytes:
    """Return the vocabulary file that holds these words."""
    raw = "".join(to_line(word) + "\n" for word in words).encode()
    if len(raw) > LARGEST_VOCABULARY:
        raise ReleaseError(
            f"the vocabulary would take more than {LARGEST_VOCABULARY >> 20} MiB; use fewer words."
        )
    return raw


def read_words(raw: bytes) -> tuple[str, ...]:
    """Return the words of a vocabulary file; ``ReleaseError`` for anything that discreet does not write."""
    try:
        words = tuple(from_line(line) for line in raw.decode().removesuffix("\n").split("\n"))
    except UnicodeDecodeError:
        raise ReleaseError(f"{VOCABULARY} is not UTF-8; {_RESTORE}.") from None
    if vocabulary_bytes(words) != raw:
        raise ReleaseError(f"{VOCABULARY} is not as discreet writes it; {_RESTORE}.")
    return words


def to_line(word: str) -> str:
    """Write a word as it is, or as JSON where it is empty, has what cannot be printed, or looks like JSON."""
    plain = bool(word) and word.isprintable() and not word.startswith('"')
    return word if plain else json.dumps(word, ensure_ascii=True)


def from_line(line: str) -> str:
    """Read a word as it stands in a line of the vocabulary file."""
    if not line.startswith('"'):
        return line
    try:
        word = json.loads(line)
    except ValueError:
        word = None
    if not isinstance(word, str):
        raise ReleaseError(f"{VOCABULARY} has a line that is not a word; {_RESTORE}.")
    return word
