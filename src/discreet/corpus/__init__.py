"""What enters: counts of words, the words, and whose document each row is.

Names load on first use; nothing here imports numba, and scikit-learn is imported only where its stop-word
list is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.corpus.check import check_counts
    from discreet.corpus.corpus import Corpus
    from discreet.corpus.frames import from_frame
    from discreet.corpus.read import COUNT_FORMATS, TEXT_FORMATS, find_format, read_corpus
    from discreet.corpus.stop_words import english_stop_words
    from discreet.corpus.tokenizer import DEFAULT_TOKEN_PATTERN, Tokenizer
    from discreet.corpus.vocabulary import load_vocabulary
    from discreet.corpus.write import WRITABLE_FORMATS, write_corpus

_HOMES = {
    "COUNT_FORMATS": "read",
    "Corpus": "corpus",
    "DEFAULT_TOKEN_PATTERN": "tokenizer",
    "TEXT_FORMATS": "read",
    "Tokenizer": "tokenizer",
    "WRITABLE_FORMATS": "write",
    "check_counts": "check",
    "english_stop_words": "stop_words",
    "find_format": "read",
    "from_frame": "frames",
    "load_vocabulary": "vocabulary",
    "read_corpus": "read",
    "write_corpus": "write",
}

__all__ = [
    "COUNT_FORMATS",
    "DEFAULT_TOKEN_PATTERN",
    "TEXT_FORMATS",
    "WRITABLE_FORMATS",
    "Corpus",
    "Tokenizer",
    "check_counts",
    "english_stop_words",
    "find_format",
    "from_frame",
    "load_vocabulary",
    "read_corpus",
    "write_corpus",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"discreet.corpus.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'discreet.corpus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
