"""Options that several sub-commands share, so that each has one name, one help text and one check."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from discreet.corpus.formats.table import listed
from discreet.errors import ReleaseError, WeakForecastWarning

__all__ = [
    "AllowUnlearnable",
    "Delimiter",
    "Delta",
    "Encoding",
    "Epsilon",
    "FileFormat",
    "Force",
    "Label",
    "Model",
    "NewFolder",
    "PageFile",
    "Person",
    "PublicWords",
    "Quiet",
    "ReportFile",
    "Seed",
    "Sheet",
    "SkipEmpty",
    "Text",
    "Threads",
    "TopicCount",
    "UnitName",
    "Vocabulary",
    "VocabularyIsPublic",
    "VocabularyShare",
    "WordVectorFile",
    "Words",
    "ZeroBased",
    "check_output_file",
    "check_output_folder",
]

Model = Annotated[Path, typer.Argument(help="Folder of a saved release.")]
Epsilon = Annotated[float, typer.Option(help="Total privacy loss: smaller is more private. Positive.")]
Delta = Annotated[
    float, typer.Option(help="What is allowed beyond exp(epsilon); well below 1 / number of units.")
]
FileFormat = Annotated[
    str | None,
    typer.Option("--format", help=f"Format of the input, by default found from its name: {listed()}."),
]
Text = Annotated[str | None, typer.Option(help="Field or column that holds the text (JSON Lines, CSV).")]
Person = Annotated[
    str | None,
    typer.Option(
        "--person",
        "--person",
        help="Field that says whose document it is: each person is then protected, with all that they wrote.",
    ),
]
UnitName = Annotated[
    str | None,
    typer.Option(
        help="With --person: what one of them is called in ledger, card and report, such as patient. Public."
    ),
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the text, if it is not UTF-8.")]
Seed = Annotated[
    int | None,
    typer.Option(help="Make the run reproducible. The result is then labelled: not for release."),
]
Threads = Annotated[
    int, typer.Option(help="Number of threads; -1: all cores. The result does not depend on it.")
]
WordVectorFile = Annotated[
    Path | None,
    typer.Option(
        "--word-vectors",
        help="Public word vectors (GloVe, word2vec, fastText .vec, .npz); not made from these texts.",
    ),
]
Words = Annotated[int, typer.Option("--words", "-n", min=1, help="Words to show for each topic.")]
Vocabulary = Annotated[
    Path | None,
    typer.Option(help="List of words, one per line: those of the columns (counts), or the words to count."),
]
PublicWords = Annotated[
    Path,
    typer.Option("--vocabulary", help="The public words, one per line: the same file for all who take part."),
]
VocabularyIsPublic = Annotated[
    bool,
    typer.Option(
        "--vocabulary-is-public",
        help="The list of words was not made from these texts: all may be named. For raw text: only with --vocabulary.",
    ),
]
NewFolder = Annotated[Path, typer.Option(help="New folder for the release.")]
TopicCount = Annotated[int, typer.Option(min=1, help="Number of topics.")]
ReportFile = Annotated[Path | None, typer.Option(help="Also write the HTML report here.")]
PageFile = Annotated[Path | None, typer.Option(help="Also write a page to look at: .html.")]
AllowUnlearnable = Annotated[
    bool,
    typer.Option(
        "--allow-unlearnable", help="Train even where topics will be mostly noise, or too many for the words."
    ),
]
Label = Annotated[str | None, typer.Option(help="Field that holds a label (raw text).")]
VocabularyShare = Annotated[float, typer.Option(help="Share of epsilon spent on choosing words.")]
Delimiter = Annotated[str | None, typer.Option(help="Character between the columns of CSV; \\t is a tab.")]
Sheet = Annotated[
    str | None, typer.Option(help="Sheet of a workbook; by default the one with the columns asked for.")
]
SkipEmpty = Annotated[
    bool, typer.Option("--skip-empty", help="Leave out documents whose text is missing or blank.")
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--no-zero-based",
        help="Whether the SVMlight file numbers its words from 0.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


def _hush(quiet: bool) -> bool:
    """Leave out forecasts; what warns that a promise is void, or says less than is so, is told all the same."""
    if quiet:
        warnings.simplefilter("ignore", WeakForecastWarning)  # the command restores the filters when it ends
    return quiet


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        callback=_hush,
        help="Show nothing but errors and what weakens a promise: no progress, no results, no forecasts.",
    ),
]


def check_output_folder(folder: Path) -> None:
    """Refuse a folder that holds something, before any work is done or budget spent."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ReleaseError(f"--out must be a new or empty folder, but {folder} is not; name another one.")
    if not folder.absolute().parent.is_dir():
        raise ReleaseError(f"--out {folder}: its parent folder does not exist; make it first.")


def check_output_file(
    path: Path,
    suffixes: tuple[str, ...] = (),
    *,
    option: str = "--out",
    force: bool = False,
    apart: Mapping[str, Path | None] | None = None,
) -> None:
    """Refuse a file that cannot be written, that somebody may still need, or whose ending says no format we write.

    ``apart`` are files, by what they are called, that it must not be, by whatever name and whatever is forced.
    """
    if path.is_dir():
        raise ReleaseError(f"{option} must be a file, but {path} is a folder; name a file in it.")
    if suffixes and path.suffix.lower() not in suffixes:
        raise ReleaseError(f"{option} must end in one of {', '.join(suffixes)}, but is {path.name}.")
    if not path.absolute().parent.is_dir():
        raise ReleaseError(f"{option} {path}: its folder does not exist; make it first.")
    for called, other in (apart or {}).items():
        both = path.exists() and other is not None and other.exists()
        if other is not None and (path.resolve() == other.resolve() or (both and path.samefile(other))):
            raise ReleaseError(
                f"{option} {path} is the file of {called}, and would replace it; name another."
            )
    if not force and path.is_file() and path.stat().st_size > 0:
        raise ReleaseError(f"{option} {path} exists; name another file, or pass --force to replace it.")
