"""A corpus that lies on disk in shards and never has to be in memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.arrays import Csr
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike
from discreet.corpus.shards.shard_file import Manifest, Shard, read_manifest
from discreet.corpus.vocabulary import WordOrigin
from discreet.errors import CorpusError


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ShardedCorpus:
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
        documents = units = tokens = 0
        for entry in self.manifest.entries:
            found.append(Shard(folder, entry, n_words, owned, documents, units, tokens))
            documents += entry.n_documents
            units += entry.n_units if owned else entry.n_documents
            tokens += entry.n_tokens
        return tuple(found)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The word of each column."""
        return self.manifest.words

    @property
    def word_origin(self) -> WordOrigin:
        """Where the words come from, and who says so."""
        return self.manifest.origin

    @property
    def words_are_public(self) -> bool:
        """Whether somebody said that the list of words is the same whatever the texts say."""
        return self.manifest.origin.is_public

    @property
    def cut(self) -> Mapping[str, Any]:
        """How the texts were cut into words, as ``Tokenizer.settings()`` says it; empty where that is not known."""
        return self.manifest.cut

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and words."""
        return self.n_documents, self.n_words

    @property
    def n_documents(self) -> int:
        """Number of documents, empty ones too."""
        return self.manifest.total("n_documents")

    @property
    def n_words(self) -> int:
        """Number of words of the vocabulary."""
        return len(self.manifest.words)

    @property
    def n_tokens(self) -> int:
        """Sum of all counts."""
        return self.manifest.total("n_tokens")

    @property
    def n_units(self) -> int:
        """Number of persons, or of documents where there are no persons."""
        return self.manifest.total("n_units") if self.unit == "person" else self.n_documents

    def __len__(self) -> int:
        return self.n_documents

    def __repr__(self) -> str:
        persons = f"{self.n_units} persons" if self.unit == "person" else "no persons"
        sizes = f"{self.n_documents} documents, {self.n_words} words, {self.n_tokens} tokens, {persons}"
        return f"ShardedCorpus({sizes}, in {len(self.manifest.entries)} shards)"

    def __iter__(self) -> Iterator[Corpus]:
        """Yield each shard as a corpus."""
        for shard in self.shards:
            rows = shard.read()
            part = Corpus(rows.counts, self.vocabulary, rows.persons, rows.labels)
            yield part.with_word_origin(self.word_origin).read_as(cut=self.cut)

    @property
    def counts(self) -> Csr:
        """All counts, in memory; documents in the order of the shards."""
        parts = [shard.read().counts for shard in self.shards]
        return sp.vstack(parts, format="csr") if parts else sp.csr_matrix((0, self.n_words), dtype=np.int32)

    @property
    def persons(self) -> NDArray[np.int64] | None:
        """Whose document each row is, in memory, or None; ``unit`` says which, and reads nothing."""
        if self.unit == "document":
            return None
        parts = [shard.read().persons for shard in self.shards]
        return np.concatenate([part for part in parts if part is not None] or [np.zeros(0, np.int64)])

    @property
    def labels(self) -> NDArray[Any] | None:
        """The label of each document, in memory, or None."""
        parts = [shard.read().labels for shard in self.shards]
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if known and len(known) == len(parts) else None

    def to_corpus(self) -> Corpus:
        """Return the same corpus in memory."""
        corpus = Corpus(self.counts, self.vocabulary, self.persons, self.labels)
        return corpus.with_word_origin(self.word_origin).read_as(cut=self.cut)

    def without_persons(self) -> "ShardedCorpus":
        """Return the same documents, each for itself: nobody is known to have written several."""
        return self._with(unit="document")

    def with_word_origin(self, origin: WordOrigin) -> "ShardedCorpus":
        """Return the same corpus with another statement of where its words come from; private choices stay."""
        if not isinstance(origin, WordOrigin):
            raise CorpusError("where words come from is said by a WordOrigin.")
        origin.check_words(self.vocabulary)
        return self._with(origin=origin.after(self.word_origin.choices))
