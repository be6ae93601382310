"""The options by which raw text becomes words: one list for all commands that read texts, and one check."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import Delimiter, Encoding, FileFormat, Sheet, SkipEmpty, Text
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.release import Release

__all__ = ["NEW_WORDS", "NOTHING_SAID", "TextOptions", "reads_texts"]

#: Options that a release leaves no choice of.
NEW_WORDS = ("languages", "ngrams", "keep_links")

TokenPattern = Annotated[str | None, typer.Option(help="Regular expression of one token.")]
StopWords = Annotated[
    list[str] | None,
    typer.Option(
        help="Public stop words: languages or files, separated by commas or repeated (english,names.txt); auto: "
        "those of --languages, or English; none."
    ),
]
Languages = Annotated[
    str | None, typer.Option(help="Languages of the texts, separated by commas; never guessed from them.")
]
Ngrams = Annotated[
    str | None, typer.Option(help="Shortest and longest run of words to count: 1,2 counts words and pairs.")
]
PhraseFile = Annotated[
    Path | None,
    typer.Option(
        "--phrases",
        help="Public phrases, one per line, that count as one word: heart attack as heart_attack.",
    ),
]
KeepLinks = Annotated[
    bool,
    typer.Option(
        "--keep-links", help="Count the words in web and mail addresses, in handles and HTML entities."
    ),
]
#: How texts are cut; counts of words know nothing of it.
_CUTTING = {
    "token_pattern": TokenPattern,
    "stop_words": StopWords,
    "languages": Languages,
    "ngrams": Ngrams,
    "phrases": PhraseFile,
    "keep_links": KeepLinks,
}
_SHARED = {
    "text": Text,
    "file_format": FileFormat,
    "encoding": Encoding,
    "delimiter": Delimiter,
    "sheet": Sheet,
    "skip_empty": SkipEmpty,
    **_CUTTING,
}


@dataclass(frozen=True)
class TextOptions:
    """What was said of the file and of its texts; None where nothing was said."""

    text: str | None = None
    file_format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    sheet: str | None = None
    skip_empty: bool | None = None
    token_pattern: str | None = None
    stop_words: list[str] | None = None
    languages: str | None = None
    ngrams: str | None = None
    phrases: Path | None = None
    keep_links: bool | None = None

    def format_of(self, path: Path) -> str:
        """Return the format that was named, or the one that the file's name tells."""
        from discreet.corpus import find_format

        return self.file_format or find_format(path)

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
        from discreet.corpus import TEXT_FORMATS, Tokenizer, tokenizer_like

        told: dict[str, Any] = {"text": self.text, "encoding": self.encoding, "delimiter": self.delimiter}
        told |= {"sheet": self.sheet, "skip_empty": self.skip_empty or None}
        given = {name: value for name, value in told.items() if value is not None}
        cutting: dict[str, Any] = {
            name: value
            for name, value in vars(self).items()
            if name in _CUTTING and value not in (None, False)
        }
        if known in TEXT_FORMATS:
            runs = release is not None and "ngram_range" in release.configuration
            if self.stop_words is not None:
                cutting["stop_words"] = _several(self.stop_words)
            elif not runs:  # which depend on stop words, so that the release says which
                cutting["stop_words"] = stop_words
            if release is not None:
                return given | {"tokenizer": tokenizer_like(release.configuration, **cutting)}
            if self.ngrams is not None:
                cutting["ngram_range"] = tuple(cutting.pop("ngrams").split(","))
            return given | {"tokenizer": Tokenizer(**cutting)}
        if cutting:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in cutting)
            raise ParameterError(
                f'{flags} cannot be used with format "{known}": it holds counts of words already.'
            )
        return given


NOTHING_SAID = TextOptions()


def reads_texts(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options in place of its parameter ``how``, but for those left out."""
    names = [field.name for field in fields(TextOptions) if field.name not in left_out]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        shared = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if _SHARED[name] in (SkipEmpty, KeepLinks) else None,
                annotation=_SHARED[name],
            )
            for name in names
        ]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            how = TextOptions(**{name: given.pop(name) for name in names})
            command(how=how, **given)

        listed = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in own.parameters.items()
            for each in (shared if name == "how" else [parameter])
        ]
        run.__dict__["__signature__"] = own.replace(parameters=listed)
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in listed}
        return run

    return decorate


def _several(given: list[str]) -> Any:
    """Return stop words that were named once or several times as the library takes them."""
    entries: list[Any] = [Path(entry) if _is_file(entry) else entry for entry in given]
    if all(isinstance(entry, str) for entry in entries):
        return ",".join(given)
    return entries


def _is_file(entry: str) -> bool:
    from discreet.corpus.tokens.stop_words import LANGUAGES

    return entry not in LANGUAGES.values() and entry not in ("auto", "none") and Path(entry).is_file()
