"""Writing a corpus: all of its files or none.

Every file is written beside its final name and moved there when all are complete, so a crash leaves no half
of one. Files can be read by their owner only (mode 600): counts are as private as the text.

Only ``npz`` holds a whole corpus. With the other formats go small files: the words, and persons and labels
where there are any, one a line, named after the main file (``notes.mtx``: ``notes.vocab.txt``,
``notes.persons.txt``, ``notes.labels.txt``; ``docword.kos.txt``: ``vocab.kos.txt`` and so on). They are given
back as ``vocabulary=``, ``persons=`` and ``labels=``. Persons are always written: without them each
document would be trained on as if it had a person of its own. Where the words come from stands in
``notes.mtx.origin.json``, with a digest of the words and one of the persons: whoever reads the counts without
persons, or with a file beside them that was exchanged, is refused.
"""

import gzip
import json
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from discreet._base.files import Writer, write_files
from discreet._base.validate import rows_shown
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, digest_of
from discreet.corpus.formats.table import MANIFEST, find_writable_format, writer_of
from discreet.corpus.read import side_file
from discreet.errors import CorpusError


def write_corpus(corpus: Corpus, path: PathLike, format: str | None = None) -> list[Path]:  # noqa: A002
    """Write a corpus to a file, and what the format cannot hold to small files beside it.

    Parameters
    ----------
    corpus : Corpus
        What to write.
    path : path
        The main file; one that exists is replaced. With the ending ``.gz`` text formats are compressed.
    format : str, optional
        "npz", "uci" or "mtx"; by default found from the name. Or "shards": a new folder, see
        :func:`write_shards`.

    Returns
    -------
    list of pathlib.Path
        The files written, the main one last.

    Raises
    ------
    CorpusError
        Where the format is unknown or cannot hold these words, the folder cannot be written to, or the same file
        compressed (or not) stands there, with words from somewhere else, or other persons.
    """
    target = Path(path)
    if format == "shards":
        from discreet.corpus.shards.write import write_shards

        write_shards(corpus, target)
        return sorted(target.iterdir(), key=lambda file: (file.name == MANIFEST, file.name))
    row = writer_of(find_writable_format(target) if format is None else format)
    if target.name.lower().endswith(".gz") and row.packed:
        raise CorpusError(f'{target}: "{row.name}" is compressed already; leave out .gz.')
    writers: list[tuple[Path, Writer]] = []
    if not row.whole:
        sides = {"vocab": list(corpus.vocabulary)}
        for kind, values in (("persons", corpus.persons), ("labels", corpus.labels)):
            if values is not None:
                sides[kind] = _lines_of(values, kind)
        told = corpus.word_origin.to_json(corpus.vocabulary)
        if corpus.persons is not None:
            told["persons_sha256"] = digest_of(sides["persons"])
        sides["origin"] = [json.dumps(told)]
        _refuse_twin(target, sides["origin"])
        writers += [(side_file(target, kind), _line_writer(lines)) for kind, lines in sides.items()]
    writers.append((target, lambda file: row.function("write")(corpus, file)))
    try:
        write_files([(file, _zipped(file, writer)) for file, writer in writers])
    except OSError as error:
        raise CorpusError(f"{target} cannot be written: {error.strerror or type(error).__name__}.") from None
    return [file for file, _ in writers]


def _refuse_twin(target: Path, origin: list[str]) -> None:
    """Refuse to speak of another file's words and persons: ``x.mtx`` and ``x.mtx.gz`` share what does."""
    packed = target.name.lower().endswith(".gz")
    twin = target.with_name(target.name[:-3] if packed else f"{target.name}.gz")
    beside = side_file(target, "origin")
    if twin.exists() and (beside.read_bytes().decode().splitlines() if beside.exists() else []) != origin:
        raise CorpusError(
            f"{twin} stands there, and {beside.name} would tell of both what words and persons they have; take another "
            "name."
        )


def _zipped(target: Path, writer: Writer) -> Writer:
    if not target.name.lower().endswith(".gz"):
        return writer

    def write(file: IO[bytes]) -> None:
        # No name and no time in it: the same corpus is the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
            writer(zipped)  # type: ignore[arg-type]  (a GzipFile is a binary file)

    return write


def _lines_of(values: NDArray[Any], kind: str) -> list[str]:
    lines = [str(value) for value in values.tolist()]
    broken = [row for row, line in enumerate(lines) if len(f"{line}.".splitlines()) != 1 or not line]
    if broken:
        raise CorpusError(
            f'{kind} of row {rows_shown(broken)} are empty or hold a line break; only "npz" can hold them.'
        )
    return lines


def _line_writer(lines: list[str]) -> Writer:
    return lambda file: file.write("".join(f"{line}\n" for line in lines).encode())
