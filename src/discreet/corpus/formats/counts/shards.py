"""A folder of shards, read into memory whole."""

from pathlib import Path

from discreet.corpus.files import PathLike
from discreet.corpus.formats.counts.counted import Counted, CountReading
from discreet.corpus.shards.sharded_corpus import ShardedCorpus

__all__ = ["read"]


def read(path: PathLike, told: CountReading) -> Counted:
    """Read all shards of a folder.

    Raises
    ------
    CorpusError
        Where the folder was not written to its end, or a shard is not the one that was written.
    """
    del told
    corpus = ShardedCorpus(Path(path)).to_corpus()
    return Counted(
        corpus.counts, corpus.vocabulary, corpus.persons, corpus.labels, corpus.word_origin, corpus.cut
    )
