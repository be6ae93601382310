"""Reading tables with pyarrow: what all formats that need it share."""

import os
from collections.abc import Iterator
from typing import Any

from discreet.corpus.files import PathLike, refuse_emptiness_of
from discreet.errors import CorpusError, Proposal

__all__ = ["batches", "open_parquet", "pyarrow"]


def pyarrow() -> tuple[Any, Any]:
    """Return the modules ``pyarrow`` and ``pyarrow.parquet``, or say how to install them."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        pass
    else:
        return pa, pq
    raise CorpusError("Parquet needs pyarrow, which is not installed: pip install 'discreet[parquet]'.")


def open_parquet(path: PathLike) -> Any:
    """Open a Parquet file; one that is none is an error of ours."""
    pa, pq = pyarrow()
    name = os.fspath(path)
    refuse_emptiness_of(path, "a Parquet file")
    try:
        file = pq.ParquetFile(path)
        _ = file.schema_arrow.names
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # names of columns need not be UTF-8
        pass
    else:
        return file
    raise CorpusError(
        f"{name} is not a Parquet file, or is damaged; for another format give ", Proposal("format"), "."
    )


def batches(file: Any, columns: list[str], rows: int, name: str) -> Iterator[Any]:
    """Yield some rows of a Parquet file at a time, held against what they should be."""
    pa, _ = pyarrow()
    try:
        for batch in file.iter_batches(batch_size=rows, columns=list(dict.fromkeys(columns))):
            batch.validate(full=True)  # text that is no UTF-8, offsets that lead nowhere
            yield batch
        return
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        pass
    raise CorpusError(f"{name} is damaged: its columns cannot be read; copy or write it again.")
