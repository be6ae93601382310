"""How a command is declared, and the options that several share.

A command is a function: its signature says what it takes, and its docstring what that is. A line that begins with the
name of an option, or of an argument in capitals, and a colon is its help; other names of the option, or what its value
is called, stand behind the first. A line that begins with a title in brackets says which options stand under it in the
help::

    MODEL: Folder of a saved release.
    --words -n: Words to show for each topic.
    [The run] --words --seed

What several commands take is described once, in ``SHARED``. What goes together is a class, a :class:`Group`. A
parameter called like a word of Python ends in ``_``: ``from_`` is ``--from``.

A command has options of its own for what most people set. Everything else that a function of the library takes is given
by its name there, NAME=VALUE: ``--read`` for :func:`~discreet.read_corpus` and the tokenizer, ``--set`` for what
trains, ``--about`` for what card and report say. Names and checks are those of the function.
"""

import ast
import functools
import inspect
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

import typer

from discreet.corpus.formats.table import TEXT_FORMATS, find_format
from discreet.errors import ParameterError, ReleaseError, WeakForecastWarning

if TYPE_CHECKING:
    from discreet.release import PrevalenceRelease, Release

Written = TypeVar("Written", "Release", "PrevalenceRelease")
#: Bytes that a release of 100 topics of 2,000 words, with its report, takes.
_ROOM = 8 << 20
#: Endings of a page.
PAGE = (".html", ".htm")
#: What each line begins with that is as private as the texts.
PRIVATE = "PRIVATE | "
#: What ``--about`` names.
_DETAILS = ("title", "owner", "contact", "period", "other_spending")
#: How texts become words, as the tokenizer calls it.
CUTTING = ("token_pattern", "lowercase", "stop_words", "languages", "ngram_range", "keep_links")
#: What ``--read`` names: of the file, and how texts are cut.
READ = ("format", "encoding", "delimiter", "sheet", "skip_empty", "persons", "labels", *CUTTING)


def all_but(*left_out: str) -> tuple[str, ...]:
    """Return what ``--read`` names, less some."""
    return tuple(name for name in READ if name not in left_out)


#: Values that are text whatever they look like.
_TEXTS = {*_DETAILS, *READ[:4], "folder", "token_pattern", "stop_words", "languages"}

#: What parameters of the library are called on the command line, where that is not ``--name``, or ``--topics`` for
#: ``n_topics``.
OPTIONS = {
    "end": "--to",
    "freq": "--every",
    "group_selection": "--private-groups",
    "persons": "--person",
    "privacy_unit": "--unit",
    "random_state": "--seed",
    "start": "--from",
    "words_are_public": "--vocabulary-is-public",
}
#: What options are that several commands take.
SHARED = f"""
MODEL: Folder of a saved release.
CORPUS: File or folder that holds the documents; - for standard input.
--text: Field or column that holds the text; text by default.
--sheet: Sheet of a workbook; by default the one with the columns asked for.
--skip-empty: Leave out documents without text, or without a person where one is asked for.
--read NAME=VALUE: How the file is read and cut into words, as in read_corpus; repeat it. Names: {", ".join(READ)}.
--person: Field that says whose document it is: each person is then protected, with all they wrote.
--label: Field that holds a label (raw text).
--vocabulary: List of words, one per line: those of the columns (counts), or the words to count.
--vocabulary-is-public: The list of words was not made from these texts: all may be named. For raw text: only with
    --vocabulary.
--stop-words: Public stop words: languages or files, separated by commas or repeated (english,names.txt); auto: those of
    the languages of --read languages=, or English; none.
--word-vectors: Public word vectors (GloVe, word2vec, fastText .vec, .npz); not made from these texts.
--epsilon: Total privacy loss: smaller is more private. Positive.
--delta: What is allowed beyond exp(epsilon), well below 1 / number of units; by default that of the ledger, or 1e-6.
--topics: Number of topics.
--budget: Epsilon of a new --ledger, for several runs; by default this run's.
--unit-name: With --person: what one of them is called in ledger, card and report, such as patient. Public.
--groups: The public list of groups, one per line.
--every: decade, year, quarter, month, week or day: groups are periods.
--from: First day or month, such as 2024-01; or 01/12/2024, written as the dates are.
--to: Last day or month, such as 2026-06; or 31/12/2026: a number above 12 shows which is the day.
--private-groups: The names of groups are not public: choose them privately, too.
--set NAME=VALUE: Any other parameter, by its name in Python; repeat it for others.
--seed: Make the run reproducible. The result is then labelled: not for release.
--about NAME=VALUE: What card and report say: {", ".join(_DETAILS)}; repeat it for others.
--out: New or empty folder for the release.
--report: Also write the HTML report here.
--json: Print JSON instead of a table.
--quiet -q: Show nothing but errors and what weakens a promise or wastes a budget: no progress, results or forecasts.
"""

#: A number of things.
Count = Annotated[int, {"min": 1}]
CountOrNone = Annotated[int | None, {"min": 1}]


class Group:
    """Options that go together: a command with a parameter of this kind takes each field of the dataclass."""

    #: Fields that a command does not take.
    without: ClassVar[tuple[str, ...]] = ()


def options_of(
    function: Callable[..., None], *shown: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a command take what a function takes; where some are named, others stand in no help, and may be missing."""

    def mark(command: Callable[..., None]) -> Callable[..., None]:
        command.__dict__["takes"] = (function, shown)
        return command

    return mark


_HELP = re.compile(r"^(-[-\w= ]*\w|[A-Z]+(?:\.\.\.)?): (.+(?:\n {4}.+)*)\n?", re.MULTILINE)
_PANEL = re.compile(r"^\[(.+)\] (.+)\n?", re.MULTILINE)


def _said(text: str) -> dict[str, tuple[list[str], str]]:
    """Return the names and the help of each option that a text describes, by its parameter."""
    found = [(names.split(), " ".join(said.split())) for names, said in _HELP.findall(text)]
    return {_parameter(names[0]): (names, said) for names, said in found}


def _parameter(name: str) -> str:
    return name.strip("-.").replace("-", "_").lower()


def declared(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as Typer takes it."""
    function, shown = command.__dict__.get("takes", (command, ()))
    text = inspect.cleandoc(function.__doc__ or "")
    said = _said(SHARED) | _said(text)
    panels = {_parameter(name): title for title, names in _PANEL.findall(text) for name in names.split()}
    groups: dict[str, type[Group]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:  # what the command itself gives
            continue
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, Group):
            groups[parameter.name] = kind
            hints = get_type_hints(kind, include_extras=True)
            own = [one for one in fields(kind) if one.init and one.name not in kind.without]  # pyright: ignore
            taken = [
                parameter.replace(name=one.name, default=one.default, annotation=hints[one.name])
                for one in own
            ]
        else:
            taken = [parameter]
        parameters += [
            _as_option(one, said[one.name.rstrip("_")], panels.get(one.name.rstrip("_")), shown)
            for one in taken
        ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        # What warns that a promise is void, or says less than is so, is told to who is quiet, too.
        if given.get("quiet"):
            # The command restores the filters when it ends.
            warnings.simplefilter("ignore", WeakForecastWarning)
        for name, kind in groups.items():
            own = [one.name for one in fields(kind) if one.name in given]  # pyright: ignore
            given[name] = kind(**{one: given.pop(one) for one in own})
        if given.get("corpus") == Path("-"):
            given["corpus"] = Path("/dev/stdin")
        command(**given)

    run.__doc__ = _PANEL.sub("", _HELP.sub("", inspect.cleandoc(command.__doc__ or ""))).strip()
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _as_option(
    parameter: inspect.Parameter, said: tuple[list[str], str], panel: str | None, shown: Sequence[str]
) -> inspect.Parameter:
    (names, text), kind = said, parameter.annotation
    more: dict[str, Any] = {}
    if get_origin(kind) is Annotated:
        kind, more = get_args(kind)
    if names[0].startswith("-"):
        flags = [name for name in names if name.startswith("-")]
        more = {"metavar": next((name for name in names if name not in flags), None), **more}
        hides = bool(shown) and parameter.name not in shown
        info = typer.Option(*flags, help=text, rich_help_panel=panel, hidden=hides, **more)
        if hides and parameter.default is parameter.empty:
            parameter = parameter.replace(default=None)
    else:
        info = typer.Argument(metavar=names[0] if names[0].endswith("...") else None, help=text, **more)
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])


def check_output_folder(folder: Path, ledger: Path | None = None) -> None:
    """Refuse a folder that holds something, or would hold the ledger, before any work is done or budget spent."""
    if ledger is not None and folder.resolve() in (ledger.resolve(), *ledger.resolve().parents):
        raise ReleaseError(f"--ledger {ledger} is in the new folder of --out; name another place for it.")
    taken = folder.is_symlink() or (folder.exists() and not folder.is_dir())
    if taken or (folder.is_dir() and any(folder.iterdir())):
        raise ReleaseError(f"--out must be a new or empty folder, no link; {folder} is not: name another.")
    _check_place(folder if folder.is_dir() else folder.absolute().parent, f"--out {folder}")


def check_output_file(
    path: Path | None,
    suffixes: tuple[str, ...] = (),
    *,
    option: str = "--out",
    apart: Mapping[str, Path | None] | None = None,
) -> None:
    """Refuse a file that cannot be written, that somebody may still need, or whose ending says no format we write.

    ``path``: None where nothing is to be written there.
    ``apart`` are files, by what they are called, that it must not be, by whatever name.
    """
    if path is None:
        return
    if path.is_dir():
        raise ReleaseError(f"{option} must be a file, but {path} is a folder; name a file in it.")
    if suffixes and path.suffix.lower() not in suffixes:
        raise ReleaseError(f"{option} must end in one of {', '.join(suffixes)}, but is {path.name}.")
    for called, other in (apart or {}).items():
        both = path.exists() and other is not None and other.exists()
        if other is not None and (path.resolve() == other.resolve() or (both and path.samefile(other))):
            raise ReleaseError(
                f"{option} {path} is the file of {called}, and would replace it; name another."
            )
    if path.is_file() and path.stat().st_size > 0:
        raise ReleaseError(f"{option} {path} exists; name another file.")
    if path.is_file() or not path.exists():  # not a device
        _check_place(path.absolute().parent, f"{option} {path}")


def _check_place(folder: Path, what: str) -> None:
    """Write as much as a large release takes, and take it away again: what is paid for must find room."""
    if not folder.is_dir():
        raise ReleaseError(f"{what}: there is no folder {folder}; make it first.")
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_ROOM))
    except OSError as error:
        raise ReleaseError(
            f"{what} cannot be written: {error.strerror}. Nothing was booked; make room, or name another place."
        ) from None


def named_values(given: Sequence[str] | None, names: Sequence[str], option: str) -> dict[str, Any]:
    """Return what NAME=VALUE options say; a number, a truth value or a pair is written as in Python."""
    values: dict[str, Any] = {}
    for one in given or ():
        written, equals, value = one.partition("=")
        name = written.strip().replace("-", "_")
        if not equals or name not in names:
            wrong = f"{written[:40]!r} is none of them.{_instead(name, names)}"
            raise ParameterError(
                f"{option} takes NAME=VALUE, with one of the names {', '.join(names)}; but "
                + (wrong if equals else "there is no = in it.")
            )
        several = [*values[name], value] if name == "stop_words" and name in values else [value]
        values[name] = several if name == "stop_words" else value if name in _TEXTS else _literal(value)
    return values


def _instead(name: str, names: Sequence[str]) -> str:
    """Return what may have been meant: an option of its own, or the name that is nearest."""
    own = OPTIONS.get(name, f"--{name.removeprefix('n_').replace('_', '-')}")
    if _parameter(own) in _said(SHARED):
        return f" Use the option {own}."
    near = get_close_matches(name, names, 1)
    return f" Did you mean {near[0]}?" if near else ""


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


def today() -> str:
    """Return the date of today."""
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True)
class About(Group):
    """What card and report say; examined when the command begins, as what follows may cost a budget."""

    about: list[str] | None = None
    #: What was said by name.
    details: dict[str, str] = field(default_factory=dict[str, str], init=False)

    def __post_init__(self) -> None:
        from discreet.release.details import checked_text

        for name, text in named_values(self.about, _DETAILS, "--about").items():
            self.details[name] = checked_text(f"--about {name}=", text)

    def with_details(self, release: Written, date: str | None = None) -> Written:
        """Return the release with the details that were given."""
        given = self.details | ({} if date is None else {"date": date})
        return release.with_details(**given) if given else release


# How texts are read


@dataclass(frozen=True)
class Texts(Group):
    """What was said of the file and of its texts; None where nothing was said."""

    text: str | None = None
    sheet: str | None = None
    skip_empty: bool = False
    read: list[str] | None = None
    #: What was said by name.
    given: dict[str, Any] = field(default_factory=dict[str, Any], init=False)

    without: ClassVar = ("sheet", "skip_empty")
    #: What ``--read`` names.
    names: ClassVar[tuple[str, ...]] = READ

    def __post_init__(self) -> None:
        of_rows = {"sheet": self.sheet, "skip_empty": self.skip_empty}
        named = named_values(self.read, self.names, "--read")
        self.given.update(named | {name: value for name, value in of_rows.items() if value})

    def format_of(self, path: Path) -> str:
        """Return the format that was named, or the one that the file's name tells."""
        return self.given.get("format") or find_format(path)

    def options(
        self, known: str, *, stop_words: str | None = "auto", release: "Release | None" = None
    ) -> dict[str, Any]:
        """Return what ``read_corpus`` takes for a file of a format.

        ``stop_words`` are those of raw text where none are named; as for the texts of ``release`` texts must be cut.
        """
        from discreet.corpus import Tokenizer, tokenizer_like

        cutting = {name: value for name, value in self.given.items() if name in CUTTING}
        given = {name: value for name, value in self.given.items() if name not in (*CUTTING, "format")}
        if self.text is not None:
            given["text"] = self.text
        if known in TEXT_FORMATS:
            runs = release is not None and "ngram_range" in release.configuration
            if "stop_words" in cutting:
                cutting["stop_words"] = ",".join(cutting["stop_words"])
            elif not runs:  # which depend on stop words, so that the release says which
                cutting["stop_words"] = stop_words
            if release is not None:
                return given | {"tokenizer": tokenizer_like(release.configuration, **cutting)}
            return given | {"tokenizer": Tokenizer(**cutting)}
        named = {called(name): value for name, value in cutting.items()}
        refuse_given(named, f'cannot be used with format "{known}", which holds counts of words already.')
        return given


class Table(Texts):
    """Of a command that people run over tables."""

    without = ()


class OfRelease(Table):
    """Of texts that are read as those of a release were, which leaves less of a choice."""

    names = all_but("languages", "ngram_range", "keep_links", "lowercase")
