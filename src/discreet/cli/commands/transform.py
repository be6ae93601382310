"""`discreet transform`: the topics of new documents under a release."""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

import discreet
from discreet._base.files import write_file
from discreet.cli.options import PRIVATE, OfRelease, check_output_file
from discreet.errors import ParameterError


def transform(
    model: Path,
    corpus: Path,
    *,
    out: Path,
    how: OfRelease,
    id_: str | None = None,
    quiet: bool = False,
) -> None:
    """Write the topic shares of each document of CORPUS, in its order, to 6 digits.

    Documents are numbered from 0 as they stand in CORPUS, so that rows which --skip-empty leaves out leave a gap.
    Of a folder of shards, each thread holds one at a time; rows are in the order of the shards, which
    need not be that of the files that they were made of. Words that MODEL does not know are left out. The result
    describes the new documents one by one and is as private as they are. Topics count from 1, as `discreet topics`
    lists them.

    --out: File to write: .csv or .jsonl.
    --id: Field that names each document; copied to the output.
    """
    from discreet.cli.display import console
    from discreet.cli.files import open_shards, say_skipped

    check_output_file(out, (".csv", ".jsonl"))
    release = discreet.Release.load(model)
    taken = ["document", *(f"topic_{topic + 1}" for topic in range(len(release.topic_word)))]
    if id_ in taken:
        raise ParameterError(f"--id {id_} is already a column of the output; rename the field.")
    known = how.format_of(corpus)
    options: dict[str, Any] = {**how.options(known, stop_words=None, release=release), "label": id_}
    say = console(quiet=quiet)
    if known == "shards":
        shards, _ = open_shards(corpus, known, **options)
        written = write_shares(release.transform_shards(shards, n_jobs=-1), out)
        say.print("Rows are in the order of the shards, which need not be that of the files before.")
    else:
        documents = discreet.read_corpus(corpus, known, vocabulary=release.vocabulary, **options)
        shares = release.transform(documents.counts, n_jobs=-1)
        known_ones = np.count_nonzero(np.diff(documents.counts.indptr))
        if known_ones < documents.n_documents:
            said = f"{known_ones:,} of {documents.n_documents:,} documents have a word of the topics; the others have"
            say.print(f"{PRIVATE}{said} equal shares of all.")
        identifiers = None if id_ is None or documents.labels is None else (id_, documents.labels.tolist())
        written = write_shares([shares], out, identifiers, documents.rows)
        say_skipped(documents, say)
    say.print(f"wrote {out}: {written} documents, {len(release.topic_word)} topics")
    console().print("These shares describe the new documents; the release's guarantee does not cover them.")


def write_shares(
    parts: Iterable[NDArray[np.float64]],
    out: Path,
    identifiers: tuple[str, list[Any]] | None = None,
    numbers: NDArray[np.int64] | None = None,
) -> int:
    """Write shares to 6 digits, one row a document, all of them or nothing; return how many rows.

    One part is held at a time. ``identifiers``: a column's name, and what stands in it for each document of all parts;
    ``numbers`` are those of the documents, by default 0, 1, ...
    """
    done = 0

    def blocks() -> Iterator[dict[str, list[Any]]]:
        nonlocal done
        for shares in parts:
            rows = range(done, done + len(shares))
            own = list(rows) if numbers is None else numbers[rows.start : rows.stop].tolist()
            columns: dict[str, list[Any]] = {"document": own}
            if identifiers is not None:
                columns[identifiers[0]] = identifiers[1][rows.start : rows.stop]
            rounded = np.round(shares, 6)
            columns |= {f"topic_{topic + 1}": rounded[:, topic].tolist() for topic in range(shares.shape[1])}
            done = rows.stop
            yield columns

    write_file(out, lambda file: _WRITERS[out.suffix.lower()](blocks(), file))
    return done


def _write_csv(blocks: Iterator[dict[str, list[Any]]], raw: IO[bytes]) -> None:
    import io

    from discreet.report.wording import for_spreadsheet

    file = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(file, lineterminator="\n")
    for number, columns in enumerate(blocks):
        if number == 0:
            writer.writerow(map(for_spreadsheet, columns))
        rows = zip(*columns.values(), strict=True)
        writer.writerows(
            [for_spreadsheet(one) if isinstance(one, str) else one for one in row] for row in rows
        )
    file.detach()


def _write_jsonl(blocks: Iterator[dict[str, list[Any]]], raw: IO[bytes]) -> None:
    for columns in blocks:
        for row in zip(*columns.values(), strict=True):
            raw.write(json.dumps(dict(zip(columns, row, strict=True))).encode() + b"\n")


_WRITERS = {".csv": _write_csv, ".jsonl": _write_jsonl}
