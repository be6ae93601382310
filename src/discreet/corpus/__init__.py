"""What enters: counts of words, the words, and whose document each row is.

Names load on first use; nothing here imports numba, and scikit-learn is imported only where its stop-word
list is asked for.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.corpus.corpus import Corpus
    from discreet.corpus.counting import check_counts
    from discreet.corpus.read import read_corpus
    from discreet.corpus.shards.sharded_corpus import ShardedCorpus
    from discreet.corpus.shards.write import read_into_shards, write_shards
    from discreet.corpus.tokenizer import Tokenizer, tokenizer_like
    from discreet.corpus.vocabulary import load_vocabulary
    from discreet.corpus.word_vectors import WordVectors, match_vectors
    from discreet.corpus.write import write_corpus


__all__ = [
    "Corpus",
    "ShardedCorpus",
    "Tokenizer",
    "WordVectors",
    "check_counts",
    "load_vocabulary",
    "match_vectors",
    "read_corpus",
    "read_into_shards",
    "tokenizer_like",
    "write_corpus",
    "write_shards",
]

__getattr__, __dir__ = lazy_names("discreet.corpus")
