"""Folders of shards, for the commands that read and write them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet._progress import Callback
from discreet.corpus.formats.table import FORMATS
from discreet.errors import CorpusError, ParameterError

if TYPE_CHECKING:
    from discreet.corpus import ShardedCorpus

__all__ = ["open_shards", "write_as_shards"]

#: Options that mean something where counts, or raw text, are streamed.
_OF_COUNTS = ("vocabulary", "persons", "labels", "encoding")
_STREAMED = (
    "vocabulary",
    "text",
    "person",
    "tokenizer",
    "label",
    "delimiter",
    "encoding",
    "skip_empty",
)


def open_shards(source: Path, known: str, **options: Any) -> tuple["ShardedCorpus", list[Path]]:
    """Open a folder of shards; like ``load``, but nothing of it is read, and no option says how."""
    from discreet.corpus import ShardedCorpus

    del known
    given = [name for name, value in options.items() if value is not None]
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ParameterError(
            f"{flags}: shards hold counts with their words and persons; say it when they are written."
        )
    return ShardedCorpus(source), []


def write_as_shards(
    sources: Sequence[Path],
    out: Path,
    known: str,
    shard_documents: int,
    options: Mapping[str, Any],
    read_counts: Callable[..., Any],
    declare: Callable[[Any], Any] | None,
    callback: Callback,
) -> "ShardedCorpus":
    """Write files of one format as one folder of shards: a stream of texts or counts, other counts by way of memory.

    ``read_counts(read)`` reads counts, by ``read`` where that is given, and ``declare`` says that words are public.
    """
    from discreet.corpus import read_into_shards, write_shards
    from discreet.corpus.shards.counts import STREAMED_COUNTS

    given = {name: value for name, value in options.items() if value is not None}
    row = FORMATS.get(known)
    how: dict[str, Any] = {"shard_documents": shard_documents, "callback": callback}
    streamed: dict[str, Any] = how | {"words_are_public": declare is not None}
    if row is None or row.holds == "counts":
        if len(sources) > 1:
            raise CorpusError(
                "several files can become one corpus only if they hold raw text; convert counts one by one."
            )
        if known in STREAMED_COUNTS and set(given) <= set(_OF_COUNTS):

            def read(path: Path, name: str, **told: Any) -> Any:
                if declare is not None and "vocabulary" not in given and "vocabulary" in told:
                    _refuse_words_beside(path, told["vocabulary"])
                return read_into_shards(path, out, name, **told, **streamed)

            return _declared(read_counts(read))
        corpus = read_counts()
        return write_shards(corpus if declare is None else declare(corpus), out, **how)
    wrong = sorted(set(given) - set(_STREAMED))
    if wrong:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in wrong)
        raise ParameterError(f"{flags} cannot be used where raw text is written as shards.")
    return _declared(read_into_shards(sources, out, known, **streamed, **given))


def _refuse_words_beside(source: Path, vocabulary: Path) -> None:
    """Refuse to call words public that lie beside counts, where it is known that they are not."""
    from discreet.corpus import load_vocabulary
    from discreet.corpus.words.origin import UNKNOWN, refuse_public
    from discreet.corpus.write import read_word_origin

    refuse_public(read_word_origin(source, load_vocabulary(vocabulary)) or UNKNOWN)


def _declared(shards: "ShardedCorpus") -> "ShardedCorpus":
    """Name the command where it was the command that said that words are public."""
    from discreet.corpus import ShardedCorpus
    from discreet.corpus.shards.manifest import write_manifest

    manifest = shards.manifest
    if not manifest.origin.declared_by.endswith("in read_into_shards"):
        return shards
    origin = manifest.origin.public_by("--vocabulary-is-public of discreet convert")
    write_manifest(shards.folder, manifest._replace(origin=origin))
    return ShardedCorpus(shards.folder)
