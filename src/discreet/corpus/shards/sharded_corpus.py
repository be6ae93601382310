"""A corpus that lies on disk in shards and never has to be in memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.arrays import Csr
from discreet.corpus.corpus import Corpus, Documents
from discreet.corpus.files import PathLike
from discreet.corpus.shards.shard_file import Manifest, Rows, Shard, read_manifest
from discreet.corpus.vocabulary import WordOrigin


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ShardedCorpus(Documents):
    """A folder of shards that :func:`write_shards` wrote. As private as the text.

    Estimators that go through shards (see ``docs/scale.md``) read one after the other and keep none; others take
    ``counts``, which is all of it in memory.

    Parameters
    ----------
    folder : path
        With a manifest. Shards are read, and checked against their digests, when they are needed.

    Attributes
    ----------
    folder : pathlib.Path
    manifest : Manifest
        What the manifest says.
    shards : tuple of Shard
        In which the documents lie; all documents of a person in one.
    unit : {"document", "person"}
        "person" where it is known whose the documents are.
    vocabulary : tuple of str
    word_origin : WordOrigin
    words_are_public : bool
    shape : tuple of int
        Documents and words.
    n_documents, n_words, n_tokens, n_units : int
        Exact, hence private.
    cut : mapping
        As of :class:`Corpus`: how the texts were cut into words.
    counts, persons, labels
        As of :class:`Corpus`, read into memory on each access.

    Raises
    ------
    CorpusError
        Where the folder was not written to its end or is damaged, or somebody's documents lie in two shards.
    """

    folder: Path
    manifest: Manifest

    def __init__(self, folder: PathLike) -> None:
        object.__setattr__(self, "folder", Path(folder).absolute())
        object.__setattr__(self, "manifest", read_manifest(self.folder))

    def _with(self, **changes: Any) -> "ShardedCorpus":
        corpus = object.__new__(ShardedCorpus)
        object.__setattr__(corpus, "folder", self.folder)
        object.__setattr__(corpus, "manifest", self.manifest._replace(**changes))
        return corpus

    @property
    def unit(self) -> str:
        """Whose presence a promise about these shards can hide."""
        return self.manifest.unit

    @property
    def shards(self) -> tuple[Shard, ...]:
        """The shards, as something small that can be sent to whoever reads them."""
        owned = self.unit == "person"
        folder, n_words = str(self.folder), self.n_words
        found: list[Shard] = []
        first_unit = 0
        for entry in self.manifest.entries:
            found.append(Shard(folder, entry, n_words, owned, first_unit))
            first_unit += entry.n_units if owned else entry.n_documents
        return tuple(found)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The word of each column."""
        return self.manifest.words

    @property
    def word_origin(self) -> WordOrigin:
        """Where the words come from, and who says so."""
        return self.manifest.word_origin

    @property
    def cut(self) -> Mapping[str, Any]:
        """How the texts were cut into words, as ``Tokenizer.settings()`` says it; empty where that is not known."""
        return self.manifest.cut

    @property
    def n_documents(self) -> int:
        """Number of documents, empty ones too."""
        return self.manifest.total("n_documents")

    @property
    def n_tokens(self) -> int:
        """Sum of all counts."""
        return self.manifest.total("n_tokens")

    @property
    def n_units(self) -> int:
        """Number of persons, or of documents where there are no persons."""
        return self.manifest.total("n_units") if self.unit == "person" else self.n_documents

    def __repr__(self) -> str:
        persons = f"{self.n_units} persons" if self.unit == "person" else "no persons"
        sizes = f"{self.n_documents} documents, {self.n_words} words, {self.n_tokens} tokens, {persons}"
        return f"ShardedCorpus({sizes}, in {len(self.manifest.entries)} shards)"

    def __iter__(self) -> Iterator[Corpus]:
        """Give each shard as a corpus."""
        return (self._corpus(shard.read()) for shard in self.shards)

    def _rows(self) -> Rows:
        return Rows.join([shard.read() for shard in self.shards])

    @property
    def counts(self) -> Csr:
        """All counts, in memory; documents in the order of the shards."""
        return self._rows().counts

    @property
    def persons(self) -> NDArray[np.int64] | None:
        """Whose document each row is, in memory, or None; ``unit`` says which, and reads nothing."""
        return None if self.unit == "document" else self._rows().persons

    @property
    def labels(self) -> NDArray[Any] | None:
        """The label of each document, in memory, or None."""
        return self._rows().labels

    def _corpus(self, rows: Rows) -> Corpus:
        part = Corpus(rows.counts, self.vocabulary, rows.persons, rows.labels)
        return part.with_word_origin(self.word_origin).read_as(cut=self.cut)

    def to_corpus(self) -> Corpus:
        """Return the same corpus in memory."""
        return self._corpus(self._rows())

    def without_persons(self) -> "ShardedCorpus":
        """Return the same documents, each for itself: nobody is known to have written several."""
        return self._with(unit="document")
