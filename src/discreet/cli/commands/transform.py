"""`discreet transform`: the topics of new documents under a release."""

import csv
import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from discreet._files import write_file
from discreet.cli.options import (
    Delimiter,
    Encoding,
    FileFormat,
    Force,
    Model,
    Quiet,
    SkipEmpty,
    Text,
    Threads,
    check_output_file,
)
from discreet.errors import ParameterError, ReleaseError

if TYPE_CHECKING:
    from discreet.corpus import Corpus
    from discreet.release import Release

__all__ = ["read_for", "transform"]


def transform(
    model: Model,
    corpus: Annotated[Path, typer.Argument(help="File or folder that holds the new documents.")],
    out: Annotated[Path, typer.Option(help="File to write: .parquet, .csv or .jsonl.")],
    text: Text = None,
    file_format: FileFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    skip_empty: SkipEmpty = False,
    identifier: Annotated[
        str | None, typer.Option("--id", help="Field that names each document; stands in the output, too.")
    ] = None,
    token_pattern: Annotated[str | None, typer.Option(help="Regular expression of one token.")] = None,
    threads: Threads = -1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write the topic shares of each document of CORPUS, in its order, to 6 digits.

    The result describes the new documents one by one and is as private as they are.
    """
    from discreet.cli.commands.convert import say_skipped
    from discreet.cli.display import console
    from discreet.release import Release

    check_output_file(out, (".parquet", ".csv", ".jsonl"), force=force)
    release = Release.load(model)
    taken = ["document", *(f"topic_{topic}" for topic in range(len(release.topic_word)))]
    if identifier in taken:
        raise ParameterError(f"--id {identifier} is what a column of the output is called; rename the field.")
    documents = read_for(
        release,
        corpus,
        file_format,
        text=text,
        encoding=encoding,
        token_pattern=token_pattern,
        delimiter=delimiter,
        skip_empty=skip_empty or None,
        label=identifier,
    )
    shares = release.transform(documents.counts, n_jobs=threads)
    named = None if identifier is None or documents.labels is None else documents.labels.tolist()
    write_shares(shares, out, None if named is None else (str(identifier), named))
    say = console(quiet=quiet)
    say_skipped(documents, say)
    say.print(f"wrote {out}: {len(shares)} documents, {shares.shape[1]} topics", markup=False)
    say.print("These shares describe the new documents; the release's guarantee does not cover them.")


def read_for(
    release: "Release",
    corpus: Path,
    file_format: str | None,
    *,
    token_pattern: str | None = None,
    **options: Any,
) -> "Corpus":
    """Read documents with the words of a release, taken apart as in training unless something else is said."""
    from discreet.corpus import read_corpus

    if "tokenizer" not in options:
        options["token_pattern"] = token_pattern or release.configuration.get("token_pattern")
    options["vocabulary"] = release.vocabulary
    return read_corpus(
        corpus, file_format, **{key: value for key, value in options.items() if value is not None}
    )


def write_shares(
    shares: NDArray[np.float64], out: Path, identifiers: tuple[str, list[Any]] | None = None
) -> None:
    """Write the shares to 6 digits, one row a document, all of them or nothing.

    Parameters
    ----------
    shares : array of shape (n_documents, n_topics)
    out : Path
    identifiers : tuple of str and list, optional
        The name of a column, and what stands in it.
    """
    columns: dict[str, list[Any]] = {"document": list(range(len(shares)))}
    if identifiers is not None:
        columns[identifiers[0]] = identifiers[1]
    rounded = np.round(shares, 6)
    columns |= {f"topic_{topic}": rounded[:, topic].tolist() for topic in range(shares.shape[1])}
    writer = _WRITERS[out.suffix.lower()]
    write_file(out, lambda file: writer(columns, file))


def _write_csv(columns: dict[str, list[Any]], raw: IO[bytes]) -> None:
    import io

    file = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    file.detach()


def _write_jsonl(columns: dict[str, list[Any]], raw: IO[bytes]) -> None:
    for row in zip(*columns.values(), strict=True):
        raw.write(json.dumps(dict(zip(columns, row, strict=True))).encode() + b"\n")


def _write_parquet(columns: dict[str, list[Any]], raw: IO[bytes]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ReleaseError(
            "writing Parquet needs pyarrow: pip install 'discreet[parquet]', or write .csv or .jsonl."
        ) from None
    pq.write_table(pa.table(columns), raw)


_WRITERS = {".csv": _write_csv, ".jsonl": _write_jsonl, ".parquet": _write_parquet}
