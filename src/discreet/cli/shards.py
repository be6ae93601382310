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

#: Options that mean something where raw text is streamed.
_STREAMED = (
    "vocabulary",
    "text",
    "author",
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
            f"{flags}: shards hold counts with their words and owners; say it when they are written."
        )
    return ShardedCorpus(source), []


def write_as_shards(
    sources: Sequence[Path],
    out: Path,
    known: str,
    shard_documents: int,
    options: Mapping[str, Any],
    load_counts: Callable[[], Any],
    declared: bool,
    callback: Callback,
) -> "ShardedCorpus":
    """Write files of one format as one folder of shards: raw text as a stream, counts by way of memory.

    ``load_counts`` reads counts, and says of them what was declared.
    """
    from discreet.corpus import ShardedCorpus, read_into_shards, write_shards
    from discreet.corpus.shards.manifest import read_manifest, write_manifest
    from discreet.corpus.words.origin import FROM_TEXT, refuse_public

    given = {name: value for name, value in options.items() if value is not None}
    row = FORMATS.get(known)
    if row is None or row.holds == "counts":
        if len(sources) > 1:
            raise CorpusError(
                "several files can become one corpus only if they hold raw text; convert counts one by one."
            )
        return write_shards(load_counts(), out, shard_documents=shard_documents, callback=callback)
    wrong = sorted(set(given) - set(_STREAMED))
    if wrong:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in wrong)
        raise ParameterError(f"{flags} cannot be used where raw text is written as shards.")
    if declared:  # before anything is read
        refuse_public(FROM_TEXT, listed="vocabulary" in given)
    shards = read_into_shards(
        sources, out, known, shard_documents=shard_documents, callback=callback, **given
    )
    if not declared:
        return shards
    manifest = read_manifest(out)
    origin = manifest.origin.public_by("--vocabulary-is-public of discreet convert")
    write_manifest(out, manifest._replace(origin=origin))
    return ShardedCorpus(out)
