"""The one table of formats: what each holds, the names it is known by, and the module that reads and writes it.

Reading, writing, the command's choices, its help and all messages come from here. To add a format, write its row and,
in the module that the row names, these functions:

* ``read_NAME(path, reading) -> Corpus`` of text: ``reading`` (:class:`~discreet.corpus.formats.records.Reading`)
  names the fields and says how words are made. ``path`` is a file, compressed too but where the row says ``packed``.
* ``read_NAME(path, callback) -> Counted`` of counts, of shape (n_documents, n_words).
* ``write_NAME(corpus, file)``, where it can be written, to an open file.

All raise :class:`~discreet.errors.CorpusError`, which names the lines, rows or files that are broken and shows nothing
of what stands in them; a library that is not installed is named, too.

It also needs a row in ``docs/reference/file-formats.md``, its name in the docstring of ``read_corpus``, a run of
``python docs/_make/command_line.py``, and samples in ``tests/corpus/test_fuzz.py`` and ``tests/cli/test_convert.py``.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

from discreet._base.arrays import Csr
from discreet._base.validate import is_folder, is_there, path_shown, shown
from discreet.corpus.files import not_unpacked, without_packing
from discreet.corpus.vocabulary import UNKNOWN, WordOrigin
from discreet.errors import CorpusError


class Counted(NamedTuple):
    """Counts that were read, not checked yet, and whatever else of a corpus the file holds."""

    counts: Csr
    vocabulary: Sequence[str] | None = None
    persons: Any = None
    labels: Any = None
    word_origin: WordOrigin = UNKNOWN
    cut: Mapping[str, Any] | None = None


class Format(NamedTuple):
    """A row of the table.

    Parameters
    ----------
    name : str
        As given for ``format=``.
    holds : "text" or "counts"
    module : str
    read_as : tuple of str
        Endings of files that are taken for this format, in lower case.
    written_as : tuple of str or None
        Endings of files that are written in it; None where it is not written.
    begins : str
        How names of such files begin, beside those with the endings.
    folder : bool
        Whether it is a folder.
    whole : bool
        Whether it holds words, persons and labels itself, so that none lie beside it.
    packed : bool
        Whether it is compressed by itself.
    """

    name: str
    holds: Literal["text", "counts"]
    module: str
    read_as: tuple[str, ...] = ()
    written_as: tuple[str, ...] | None = None
    begins: str | None = None
    folder: bool = False
    whole: bool = False
    packed: bool = False

    def function(self, does: Literal["read", "write"]) -> Callable[..., Any]:
        """Return what reads or writes such a file."""
        return getattr(import_module(f"discreet.corpus.formats.{self.module}"), f"{does}_{self.name}")

    def names(self, file: str, endings: tuple[str, ...] | None) -> bool:
        """Whether a file of this name, without ``.gz`` and the like, is of this format by its ending or beginning."""
        begins = self.begins is not None and file.startswith(self.begins)
        return endings is not None and (begins or file.endswith(endings))


_ROWS = (
    Format("jsonl", "text", "text_files", (".jsonl", ".ndjson")),
    Format("json", "text", "text_files", (".json",)),
    Format("csv", "text", "text_files", (".csv", ".tsv")),
    Format("parquet", "text", "tabular", (".parquet", ".pq"), packed=True),
    Format("xlsx", "text", "tabular", (".xlsx", ".xls", ".xlsb", ".ods"), packed=True),
    Format("txt", "text", "text_files", folder=True),
    Format("lines", "text", "text_files"),
    Format("uci", "counts", "counts", (".uci",), (".uci",), begins="docword."),
    Format("npz", "counts", "counts", (".npz",), (".npz",), whole=True, packed=True),
    Format("shards", "counts", "counts", folder=True, whole=True, packed=True),
    Format("mtx", "counts", "counts", (".mtx", ".mm"), (".mtx", ".mm")),
)
#: Formats that few have: name, endings, and the line of Python that converts them.
_CONVERTED = (
    (
        "arrow",
        (".arrow", ".feather", ".ipc"),
        'from pyarrow.feather import read_table; read_corpus(read_table(path), text="text")',
    ),
    (
        "csv-counts",
        (),
        'import pandas; table = pandas.read_csv(path).pivot_table("count", "document", "word", "sum", 0); '
        "Corpus(table.to_numpy(), list(table.columns))",
    ),
    (
        "ldac",
        (".ldac", ".lda-c"),
        'from gensim.corpora import BleiCorpus, MmCorpus; MmCorpus.serialize("counts.mtx", BleiCorpus(path, words))',
    ),
    (
        "mallet",
        (".mallet",),
        "import pandas, pathlib; rows = [line.split(None, 2) for line in pathlib.Path(path).read_text().splitlines()]; "
        'read_corpus(pandas.DataFrame(rows, columns=["name", "label", "text"]), label="label")',
    ),
    (
        "svmlight",
        (".svmlight", ".libsvm"),
        "from sklearn.datasets import load_svmlight_file; counts, labels = load_svmlight_file(path); "
        "Corpus(counts, vocabulary, labels=labels.astype(int))",
    ),
)
#: Documents of word processors, which a folder of texts may hold beside them.
NOT_READ = (".doc", ".docx", ".odt", ".pdf", ".ppt", ".pptx", ".rtf")
#: The file that makes a folder one of shards.
MANIFEST = "manifest.json"
FORMATS = {row.name: row for row in _ROWS}

#: Formats that hold raw text, with the endings they are known by.
TEXT_FORMATS = {row.name: row.read_as for row in _ROWS if row.holds == "text"}
#: Formats that can be written, with the endings they are known by.
WRITABLE_FORMATS = {row.name: row.written_as for row in _ROWS if row.written_as is not None}


def listed(formats: Iterable[str] = FORMATS) -> str:
    """Return names of formats for a message."""
    return ", ".join(formats)


def find_format(path: str | os.PathLike[str]) -> str:
    """Return the format that a file's name, or a folder, stands for.

    Parameters
    ----------
    path : path

    Raises
    ------
    CorpusError
        Where there is none, or the name does not say; lists the formats.
    """
    file = Path(path)
    if not is_there(file):
        raise CorpusError(f"{path_shown(path)} does not exist; check the path.")
    if is_folder(file):
        return "shards" if (file / MANIFEST).is_file() else "txt"
    plain = without_packing(file.name)
    if found := [row.name for row in _ROWS if row.names(plain, row.read_as)]:
        return found[0]
    _refuse_converted(Path(plain).suffix)
    if file.suffix.lower() == ".zip":
        raise not_unpacked(os.fspath(path), "zip")
    if file.suffix.lower() in NOT_READ:
        raise CorpusError(
            f"{os.fspath(path)}: {file.suffix} files are not read; save each document as .txt, and name the folder."
        )
    raise CorpusError(
        f"{os.fspath(path)}: its name does not say what it is; give `format=`, one of {listed()} (lines: a document a "
        "line; txt: a folder of them)."
    )


def find_writable_format(target: Path) -> str:
    """Return the format that can be written that a file's name stands for."""
    for row in _ROWS:
        if row.names(target.name.lower().removesuffix(".gz"), row.written_as):
            return row.name
    raise CorpusError(
        f"{target}: its name does not say a format; give `format=`, one of {listed(WRITABLE_FORMATS)}."
    )


def reader_of(name: str) -> Format:
    """Return the row of a format to read."""
    _refuse_converted(name)
    if name not in FORMATS:
        raise CorpusError(f"format {shown(name)} is not known; choose one of {listed()}.")
    return FORMATS[name]


def writer_of(name: str) -> Format:
    """Return the row of a format to write."""
    if name not in WRITABLE_FORMATS:
        raise CorpusError(
            f"format {shown(name)} cannot be written; choose one of {listed(WRITABLE_FORMATS)}."
        )
    return FORMATS[name]


def _refuse_converted(name: str) -> None:
    for known, endings, line in _CONVERTED:
        if name == known or name in endings:
            raise CorpusError(f"{known} is not read; one line of Python converts it: {line}.")
