"""Options that several sub-commands share, so that each has one name, one help text and one check.

A command has options of its own for what most people set. Everything else that a function of the library takes is given
by its name there, NAME=VALUE: ``--read`` for :func:`~discreet.read_corpus` and the tokenizer, ``--set`` for what
trains, ``--about`` for what card and report say. Names and checks are
those of the function.
"""

import ast
import copy
import functools
import inspect
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from discreet.errors import ParameterError, ReleaseError, WeakForecastWarning

if TYPE_CHECKING:
    from discreet.release import PrevalenceRelease, Release

Written = TypeVar("Written", "Release", "PrevalenceRelease")
#: Bytes that a release of 100 topics of 2,000 words, with its report, takes.
_ROOM = 8 << 20
#: What each line begins with that is as private as the texts.
PRIVATE = "PRIVATE | "
#: What ``--about`` names.
_DETAILS = ("title", "owner", "contact", "period", "other_spending")
#: How texts become words, as the tokenizer calls it.
CUTTING = ("token_pattern", "lowercase", "stop_words", "languages", "ngram_range", "phrases", "keep_links")
#: What ``--read`` names: of the file, and how texts are cut.
READ = ("format", "encoding", "delimiter", "sheet", "skip_empty", "persons", "labels", *CUTTING)
#: What a release leaves no choice of.
NOT_OF_A_RELEASE = ("languages", "ngram_range", "keep_links", "lowercase")
#: Values that are text whatever they look like.
_TEXTS = {"format", "encoding", "delimiter", "sheet", "token_pattern", "stop_words", "languages", *_DETAILS}

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a saved release.")]
CorpusArgument = Annotated[
    Path,
    typer.Argument(metavar="CORPUS", help="File or folder that holds the documents; - for standard input."),
]
Text = Annotated[str | None, typer.Option(help="Field or column that holds the text; text by default.")]
Person = Annotated[
    str | None,
    typer.Option(
        help="Field that says whose document it is: each person is then protected, with all they wrote."
    ),
]
Label = Annotated[str | None, typer.Option(help="Field that holds a label (raw text).")]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="NAME=VALUE",
        help=f"How the file is read and cut into words, as in read_corpus; repeat it. Names: {', '.join(READ)}.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other parameter, by its name in Python; repeat it for others.",
    ),
]
About = Annotated[
    list[str] | None,
    typer.Option(
        "--about",
        metavar="NAME=VALUE",
        help=f"What card and report say: {', '.join(_DETAILS)}; repeat it for others.",
    ),
]
Sheet = Annotated[
    str | None, typer.Option(help="Sheet of a workbook; by default the one with the columns asked for.")
]
SkipEmpty = Annotated[
    bool,
    typer.Option(
        "--skip-empty", help="Leave out documents without text, or without a person where one is asked for."
    ),
]
StopWords = Annotated[
    list[str] | None,
    typer.Option(
        help="Public stop words: languages or files, separated by commas or repeated (english,names.txt); auto: "
        "those of the languages of --read languages=, or English; none."
    ),
]
Epsilon = Annotated[float, typer.Option(help="Total privacy loss: smaller is more private. Positive.")]
Delta = Annotated[
    float, typer.Option(help="What is allowed beyond exp(epsilon); well below 1 / number of units.")
]
UnitName = Annotated[
    str | None,
    typer.Option(
        help="With --person: what one of them is called in ledger, card and report, such as patient. Public."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Make the run reproducible. The result is then labelled: not for release."),
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
    _check_room(folder if folder.is_dir() else folder.absolute().parent, f"--out {folder}")


def check_output_file(
    path: Path,
    suffixes: tuple[str, ...] = (),
    *,
    option: str = "--out",
    apart: Mapping[str, Path | None] | None = None,
) -> None:
    """Refuse a file that cannot be written, that somebody may still need, or whose ending says no format we write.

    ``apart`` are files, by what they are called, that it must not be, by whatever name.
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
    if path.is_file() and path.stat().st_size > 0:
        raise ReleaseError(f"{option} {path} exists; name another file.")
    if path.is_file() or not path.exists():  # not a device
        _check_room(path.absolute().parent, f"{option} {path}")


def _check_room(folder: Path, what: str) -> None:
    """Write as much as a large release takes, and take it away again: what is paid for must find room."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_ROOM))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise ReleaseError(
            f"{what} cannot be written: {error.strerror}. Nothing was booked; make room, or name another place."
        ) from None


def named_values(given: Sequence[str] | None, names: Sequence[str], option: str) -> dict[str, Any]:
    """Return what NAME=VALUE options say; a number, a truth value or a pair is written as in Python.

    Parameters
    ----------
    given : sequence of str, optional
    names : sequence of str
        What may be named.
    option : str
        For errors.
    """
    values: dict[str, Any] = {}
    for one in given or ():
        written, equals, value = one.partition("=")
        name = written.strip().replace("-", "_")
        if not equals or name not in names:
            raise ParameterError(
                f"{option} takes NAME=VALUE, with one of the names {', '.join(names)}; but "
                + (f"{written[:40]!r} is none of them." if equals else "there is no = in it.")
            )
        several = [*values[name], value] if name == "stop_words" and name in values else [value]
        values[name] = several if name == "stop_words" else value if name in _TEXTS else _literal(value)
    return values


def refuse_given(given: Mapping[str, Any], why: str) -> None:
    """Refuse what was given where it means nothing: by what it is called on the command line, and why."""
    named = [option for option, value in given.items() if value is not None]
    if named:
        raise ParameterError(f"{', '.join(named)}: {why}")


def called(name: str) -> str:
    """Return how what ``read_corpus`` calls so is given."""
    return f"--read {name}=" if name in READ else f"--{name.replace('_', '-')}"


def _literal(value: str) -> Any:
    """Return a number, a truth value or a pair; any other text as it is."""
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    if re.fullmatch(r"0?,\d+|\d+,5", value):
        raise ParameterError(f"a decimal comma was given: {value}; write {value.replace(',', '.')}.")
    return found if isinstance(found, int | float | tuple) else value


def in_panels(**panels: Sequence[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Show options of a command in panels of its help: the name of each with ``_`` for blanks, and its parameters."""
    panel_of = {name: title.replace("_", " ") for title, names in panels.items() for name in names}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        parameters = [
            each.replace(annotation=_in_panel(each.annotation, panel_of[name])) if name in panel_of else each
            for name, each in signature.parameters.items()
        ]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            command(**given)

        run.__dict__["__signature__"] = signature.replace(parameters=parameters)
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _in_panel(annotation: Any, title: str) -> Any:
    (info,) = annotation.__metadata__
    moved = copy.copy(info)
    moved.rich_help_panel = title
    return Annotated[annotation.__origin__, moved]


def hidden(annotation: Any) -> Any:
    """Return an option that is taken, and stands in no help."""
    (info,) = annotation.__metadata__
    other = copy.copy(info)
    other.hidden = True
    return Annotated[annotation.__origin__, other]


def today() -> str:
    """Return the date of today."""
    return datetime.now(UTC).date().isoformat()


def with_details(release: Written, about: Sequence[str] | None, date: str | None = None) -> Written:
    """Return the release with the details that were given."""
    given = named_values(about, _DETAILS, "--about") | ({} if date is None else {"date": date})
    return release.with_details(**given) if given else release


# How texts are read


@dataclass(frozen=True)
class TextOptions:
    """What was said of the file and of its texts; None where nothing was said."""

    text: str | None = None
    read: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def stop_words(self) -> list[str] | None:
        """Stop words that were named."""
        return self.read.get("stop_words")

    def format_of(self, path: Path) -> str:
        """Return the format that was named, or the one that the file's name tells."""
        from discreet.corpus.formats.table import find_format

        return self.read.get("format") or find_format(path)

    def options(
        self, known: str, *, stop_words: str | None = "auto", release: "Release | None" = None
    ) -> dict[str, Any]:
        """Return what ``read_corpus`` takes for a file of a format.

        Parameters
        ----------
        known : str
            The format.
        stop_words : str or None, default "auto"
            Those of raw text where none are named.
        release : Release, optional
            Whose texts were cut as these must be.
        """
        from discreet.corpus import Tokenizer, tokenizer_like
        from discreet.corpus.formats.table import TEXT_FORMATS

        cutting = {name: value for name, value in self.read.items() if name in CUTTING}
        given = {name: value for name, value in self.read.items() if name not in (*CUTTING, "format")}
        if self.text is not None:
            given["text"] = self.text
        if known in TEXT_FORMATS:
            runs = release is not None and "ngram_range" in release.configuration
            if self.stop_words is not None:
                cutting["stop_words"] = _several(self.stop_words)
            elif not runs:  # which depend on stop words, so that the release says which
                cutting["stop_words"] = stop_words
            if release is not None:
                return given | {"tokenizer": tokenizer_like(release.configuration, **cutting)}
            return given | {"tokenizer": Tokenizer(**cutting)}
        named = {called(name): value for name, value in cutting.items()}
        refuse_given(named, f'cannot be used with format "{known}", which holds counts of words already.')
        return given


NOTHING_SAID = TextOptions()


def reads_texts(
    *left_out: str, of_tables: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command ``--text`` and ``--read`` in place of its parameter ``how``.

    Parameters
    ----------
    *left_out : str
        What ``--read`` does not take here.
    of_tables : bool, default False
        Give it ``--sheet`` and ``--skip-empty``, too.
    """
    names = tuple(name for name in READ if name not in left_out)
    of_rows = [("sheet", None, Sheet), ("skip_empty", False, SkipEmpty)] if of_tables else []
    shown: list[tuple[str, Any, Any]] = [("text", None, Text), *of_rows, ("read", None, Read)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, default, annotation in shown
        ]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            text, read = given.pop("text"), named_values(given.pop("read"), names, "--read")
            said = {name: given.pop(name) for name, _, _ in of_rows}
            read |= {name: value for name, value in said.items() if value}
            command(how=TextOptions(text, read), **given)

        parameters = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in signature.parameters.items()
            for each in (shared if name == "how" else [parameter])
        ]
        run.__dict__["__signature__"] = signature.replace(parameters=parameters)
        run.__dict__["takes"] = names
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _several(given: list[str]) -> Any:
    """Return stop words that were named once or several times as the library takes them."""
    entries: list[Any] = [Path(entry) if _is_file(entry) else entry for entry in given]
    if all(isinstance(entry, str) for entry in entries):
        return ",".join(given)
    return entries


def _is_file(entry: str) -> bool:
    from discreet.corpus.languages import LANGUAGES

    return entry not in LANGUAGES.values() and entry not in ("auto", "none") and Path(entry).is_file()
