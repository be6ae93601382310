"""Writing a corpus: all of its files or none.

Every file is written beside its final name and moved there when all are complete, so a crash leaves no half
of one. Files can be read by their owner only (mode 600): counts are as private as the text.

Only ``npz`` holds a whole corpus. With the other formats go small files: the words, and owners and labels
where there are any, one a line, named after the main file (``notes.mtx``: ``notes.vocab.txt``,
``notes.owners.txt``, ``notes.labels.txt``; ``docword.kos.txt``: ``vocab.kos.txt`` and so on). They are given
back as ``vocabulary=``, ``owners=`` and ``labels=``. Owners are always written: without them each
document would be trained on as if it had an author of its own. Where the words come from, if that is known, stands
in ``notes.origin.json``, with a digest of the words it is about; :func:`read_word_origin` reads it.
"""

import gzip
import json
import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, first_few, read_text
from discreet.corpus.formats.npz import LABELS, ORIGIN, OWNERS, VOCABULARY
from discreet.corpus.words import UNKNOWN, WordOrigin
from discreet.errors import CorpusError, Proposal

__all__ = ["WRITABLE_FORMATS", "format_of", "read_word_origin", "side_file", "write_corpus"]

#: Formats that can be written, with the endings they are known by.
WRITABLE_FORMATS = {
    "npz": (".npz",),
    "uci": (".uci",),
    "ldac": (".ldac", ".lda-c"),
    "mtx": (".mtx", ".mm"),
    "svmlight": (".svmlight", ".libsvm"),
    "mallet": (".mallet",),
    "csv-counts": (".csv", ".tsv"),
    "parquet-counts": (".parquet", ".pq"),
}
_PARQUET_ROWS = 1 << 16
_LARGEST_ORIGIN = 1 << 14


def write_corpus(corpus: Corpus, path: PathLike, format: str | None = None) -> list[Path]:  # noqa: A002
    """Write a corpus to a file, and what the format cannot hold to small files beside it.

    Parameters
    ----------
    corpus : Corpus
        What to write.
    path : path
        The main file; one that exists is replaced. With the ending ``.gz`` text formats are compressed.
    format : str, optional
        "npz", "uci", "ldac", "mtx", "svmlight", "mallet", "csv-counts" or "parquet-counts". By default found
        from the name.

    Returns
    -------
    list of pathlib.Path
        The files written, the main one last.

    Raises
    ------
    CorpusError
        Where the format is unknown or cannot hold these words, or the folder cannot be written to.
    """
    target = Path(path)
    name = format_of(target) if format is None else format
    if name not in WRITABLE_FORMATS:
        raise CorpusError(f"format {name!r} cannot be written; choose one of {', '.join(WRITABLE_FORMATS)}.")
    zipped = target.name.lower().endswith(".gz")
    if zipped and name in ("npz", "parquet-counts"):
        raise CorpusError(f'{target}: "{name}" is compressed already; leave out .gz.')
    if name == "mallet":
        _check_mallet(corpus)
    writers: list[tuple[Path, Callable[[IO[bytes]], None]]] = []
    if name != "npz":
        writers.append((side_file(target, "vocab"), lambda file: _write_lines(corpus.vocabulary, file)))
        for kind, values in (("owners", corpus.owners), ("labels", corpus.labels)):
            if values is not None:
                writers.append((side_file(target, kind), _line_writer(values, kind)))
        if corpus.word_origin.kind not in ("unknown", "numbered"):
            origin = corpus.word_origin.to_json(corpus.vocabulary)
            writers.append(
                (side_file(target, "origin"), lambda file: _write_lines([json.dumps(origin)], file))
            )
    separator = "\t" if ".tsv" in target.suffixes else ","
    writers.append((target, lambda file: _write_main(name, corpus, file, separator)))
    _write_all(writers)
    return [file for file, _ in writers]


def format_of(target: Path) -> str:
    """Return the writable format that a file's name stands for."""
    name = target.name.lower().removesuffix(".gz")
    if name.startswith("docword."):
        return "uci"
    for format_name, endings in WRITABLE_FORMATS.items():
        if name.endswith(endings):
            return format_name
    raise CorpusError(
        f"{target}: its name does not say a format; give ",
        Proposal("format"),
        f", one of {', '.join(WRITABLE_FORMATS)}.",
    )


def side_file(target: Path, kind: str) -> Path:
    """Return where the "vocab", "owners", "labels" or "origin" of a main file are written."""
    name = target.name[:-3] if target.name.lower().endswith(".gz") else target.name
    if name.startswith("docword."):
        beside = f"{kind}.{name.removeprefix('docword.')}"
        return target.with_name(f"{Path(beside).stem}.json" if kind == "origin" else beside)
    return target.with_name(f"{Path(name).stem}.{kind}.{'json' if kind == 'origin' else 'txt'}")


def read_word_origin(target: Path, words: tuple[str, ...]) -> WordOrigin:
    """Return where the words of a file come from, as the file beside it says; unknown where there is none.

    Raises
    ------
    CorpusError
        Where it is damaged, or is about other words: the vocabulary beside it was exchanged.
    """
    file = side_file(target, "origin")
    if not file.is_file():
        return UNKNOWN
    value: Any = None
    if file.stat().st_size <= _LARGEST_ORIGIN:
        text = read_text(file)
        with suppress(ValueError, RecursionError):  # of JSON; the error would show what it found
            value = json.loads(text)
    try:
        return WordOrigin.from_json(value, words)
    except CorpusError as error:
        raise CorpusError(f"{file}: {error} Remove it, or write the corpus again.") from None


def _write_all(writers: list[tuple[Path, Callable[[IO[bytes]], None]]]) -> None:
    written: list[tuple[Path, Path]] = []
    try:
        for target, writer in writers:
            with _temporary(target) as (file, temporary):
                written.append((temporary, target))
                if target.name.lower().endswith(".gz"):
                    # No name and no time in it: the same corpus is the same bytes.
                    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
                        writer(zipped)  # type: ignore[arg-type]  (a GzipFile is a binary file)
                else:
                    writer(file)
        for temporary, target in written:
            temporary.replace(target)
    except OSError as error:
        raise CorpusError(
            f"{writers[-1][0]} cannot be written: {error.strerror or type(error).__name__}."
        ) from None
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)


@contextmanager
def _temporary(target: Path) -> Generator[tuple[IO[bytes], Path]]:
    handle, name = tempfile.mkstemp(dir=target.absolute().parent, prefix=f".{target.name}.")
    with os.fdopen(handle, "wb") as file:
        yield file, Path(name)
        file.flush()
        os.fsync(file.fileno())


def _line_writer(values: NDArray[Any], kind: str) -> Callable[[IO[bytes]], None]:
    lines = [str(value) for value in values.tolist()]
    broken = [row for row, line in enumerate(lines) if len(f"{line}.".splitlines()) != 1 or not line]
    if broken:
        raise CorpusError(
            f'{kind} of row {first_few(broken)} are empty or hold a line break; only "npz" can hold them.'
        )
    return lambda file: _write_lines(lines, file)


def _write_lines(lines: Any, file: IO[bytes]) -> None:
    file.write("".join(f"{line}\n" for line in lines).encode())


def _write_main(name: str, corpus: Corpus, file: IO[bytes], separator: str) -> None:
    if name == "npz":
        _write_npz(corpus, file)
    elif name == "parquet-counts":
        _write_parquet(corpus, file)
    elif name == "csv-counts":
        _write_csv(corpus, file, separator)
    else:
        head, line = {"uci": _uci, "mtx": _mtx, "ldac": _ldac, "svmlight": _svmlight, "mallet": _mallet}[
            name
        ](corpus)
        file.write(head.encode())
        for row, (words, counts) in enumerate(_rows(corpus)):
            file.write(line(row, words, counts).encode())


def _rows(corpus: Corpus) -> Iterator[tuple[list[int], list[int]]]:
    indptr, indices, data = corpus.counts.indptr, corpus.counts.indices, corpus.counts.data
    for row in range(corpus.n_documents):
        part = slice(indptr[row], indptr[row + 1])
        yield indices[part].tolist(), data[part].tolist()


_Line = Callable[[int, list[int], list[int]], str]


def _uci(corpus: Corpus) -> tuple[str, _Line]:
    return f"{corpus.n_documents}\n{corpus.n_words}\n{corpus.counts.nnz}\n", _triples


def _mtx(corpus: Corpus) -> tuple[str, _Line]:
    sizes = f"{corpus.n_documents} {corpus.n_words} {corpus.counts.nnz}\n"
    return "%%MatrixMarket matrix coordinate integer general\n" + sizes, _triples


def _triples(row: int, words: list[int], counts: list[int]) -> str:
    return "".join(f"{row + 1} {word + 1} {count}\n" for word, count in zip(words, counts, strict=True))


def _ldac(corpus: Corpus) -> tuple[str, _Line]:
    del corpus
    return "", lambda row, words, counts: f"{len(words)}{_pairs(words, counts, 0)}\n"


def _svmlight(corpus: Corpus) -> tuple[str, _Line]:
    labels = corpus.labels
    numbers: list[int] | None = labels.tolist() if labels is not None and labels.dtype.kind == "i" else None
    return (
        "",
        lambda row, words, counts: f"{0 if numbers is None else numbers[row]}{_pairs(words, counts, 1)}\n",
    )


def _pairs(words: list[int], counts: list[int], first: int) -> str:
    return "".join(f" {word + first}:{count}" for word, count in zip(words, counts, strict=True))


def _mallet(corpus: Corpus) -> tuple[str, _Line]:
    vocabulary = corpus.vocabulary
    labels = None if corpus.labels is None else corpus.labels.tolist()

    def line(row: int, words: list[int], counts: list[int]) -> str:
        text = "".join(f" {vocabulary[word]}" * count for word, count in zip(words, counts, strict=True))
        return f"{row} {'-' if labels is None else labels[row]}{text}\n"

    return "", line


def _check_mallet(corpus: Corpus) -> None:
    """MALLET separates by blanks, so nothing may hold one."""
    for kind, values in (("word", corpus.vocabulary), ("label of row", corpus.labels)):
        bad = [
            i
            for i, value in enumerate([] if values is None else values)
            if str(value).split() != [str(value)]
        ]
        if bad:
            raise CorpusError(f'{kind} {first_few(bad)}: "mallet" cannot hold blanks; write another format.')


def _write_csv(corpus: Corpus, file: IO[bytes], separator: str) -> None:
    import csv
    import io

    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(["document", "word", "count"])
    for row, (words, counts) in enumerate(_rows(corpus)):
        lines = [(row, corpus.vocabulary[word], count) for word, count in zip(words, counts, strict=True)]
        writer.writerows(lines or [(row, "", 0)])
    text.detach()


def _write_parquet(corpus: Corpus, file: IO[bytes]) -> None:
    from discreet.corpus.formats.parquet import pyarrow

    pa, pq = pyarrow()
    words = pa.array(corpus.vocabulary, pa.string())
    schema = pa.schema(
        [("document", pa.int64()), ("word", pa.dictionary(pa.int32(), pa.string())), ("count", pa.int32())]
    )
    counts = corpus.counts
    with pq.ParquetWriter(file, schema) as writer:
        for start in range(0, corpus.n_documents, _PARQUET_ROWS):
            part = counts[start : start + _PARQUET_ROWS]
            sizes = np.diff(part.indptr)
            held = np.maximum(sizes, 1)  # a document without words takes one row, with no word and count 0
            documents = start + np.repeat(np.arange(len(sizes)), held)
            first = np.cumsum(held) - held
            empty = np.zeros(len(documents), bool)
            empty[first[sizes == 0]] = True
            numbers, amounts = np.zeros(len(documents), np.int32), np.zeros(len(documents), np.int32)
            numbers[~empty], amounts[~empty] = part.indices, part.data
            column = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32(), mask=empty), words)
            writer.write_table(pa.table([pa.array(documents), column, pa.array(amounts)], schema=schema))


def _write_npz(corpus: Corpus, file: IO[bytes]) -> None:
    counts = corpus.counts
    arrays: dict[str, Any] = {
        "indices": counts.indices,
        "indptr": counts.indptr,
        "format": np.array(b"csr"),
        "shape": np.array(counts.shape),
        "data": counts.data,
        VOCABULARY: _json(corpus.vocabulary),
        ORIGIN: _json(corpus.word_origin.to_json(corpus.vocabulary)),
    }
    if corpus.owners is not None:
        arrays[OWNERS] = corpus.owners
    if corpus.labels is not None:
        arrays[LABELS] = _json(corpus.labels.tolist())
    np.savez_compressed(file, **arrays)


def _json(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), np.uint8)
