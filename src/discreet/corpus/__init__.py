"""What enters: counts of words, the words, and whose document each row is.

Names load on first use; nothing here imports numba, and scikit-learn is imported only where its stop-word
list is asked for.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.corpus.check import check_counts
    from discreet.corpus.corpus import Corpus
    from discreet.corpus.formats.table import COUNT_FORMATS, TEXT_FORMATS, WRITABLE_FORMATS, find_format
    from discreet.corpus.formats.tabular import from_frame
    from discreet.corpus.read import read_corpus
    from discreet.corpus.shards.sharded_corpus import ShardedCorpus
    from discreet.corpus.shards.texts import read_into_shards
    from discreet.corpus.shards.write import write_shards
    from discreet.corpus.stop_words import english_stop_words
    from discreet.corpus.tokenizer import DEFAULT_TOKEN_PATTERN, Tokenizer, tokenizer_like
    from discreet.corpus.vocabulary import load_vocabulary
    from discreet.corpus.word_vectors import WordVectors, match_vectors, write_vectors
    from discreet.corpus.write import write_corpus

_HOMES = {
    "discreet.corpus.check": ("check_counts",),
    "discreet.corpus.corpus": ("Corpus",),
    "discreet.corpus.formats.tabular": ("from_frame",),
    "discreet.corpus.formats.table": ("COUNT_FORMATS", "TEXT_FORMATS", "WRITABLE_FORMATS", "find_format"),
    "discreet.corpus.read": ("read_corpus",),
    "discreet.corpus.shards.sharded_corpus": ("ShardedCorpus",),
    "discreet.corpus.shards.texts": ("read_into_shards",),
    "discreet.corpus.shards.write": ("write_shards",),
    "discreet.corpus.stop_words": ("english_stop_words",),
    "discreet.corpus.tokenizer": ("DEFAULT_TOKEN_PATTERN", "Tokenizer", "tokenizer_like"),
    "discreet.corpus.vocabulary": ("load_vocabulary",),
    "discreet.corpus.word_vectors": ("WordVectors", "match_vectors", "write_vectors"),
    "discreet.corpus.write": ("write_corpus",),
}

__all__ = [
    "COUNT_FORMATS",
    "DEFAULT_TOKEN_PATTERN",
    "TEXT_FORMATS",
    "WRITABLE_FORMATS",
    "Corpus",
    "ShardedCorpus",
    "Tokenizer",
    "WordVectors",
    "check_counts",
    "english_stop_words",
    "find_format",
    "from_frame",
    "load_vocabulary",
    "match_vectors",
    "read_corpus",
    "read_into_shards",
    "tokenizer_like",
    "write_corpus",
    "write_shards",
    "write_vectors",
]

__getattr__, __dir__ = lazy_names("discreet.corpus", _HOMES)
