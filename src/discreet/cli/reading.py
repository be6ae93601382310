"""How commands read documents: with the files beside them, with the words of a release, and folders of shards."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.options import called
from discreet.corpus.files import is_standard_input
from discreet.corpus.formats.table import FORMATS
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.corpus import Corpus, ShardedCorpus
    from discreet.release import Release

__all__ = ["declare_public", "load", "open_shards", "read_for", "say_skipped"]


def load(
    source: Path, known: str, *, read: Callable[..., Any] | None = None, **options: Any
) -> "tuple[Corpus, list[Path]]":
    """Read a corpus, with the files beside it that ``write_corpus`` would write.

    ``read`` does it, by default ``read_corpus``.

    Words are public only where a file beside them says by whom that was said, and is about the same words.

    Returns
    -------
    corpus : Corpus
    beside : list of pathlib.Path
        The files found beside it.
    """
    from discreet.corpus import load_vocabulary, read_corpus
    from discreet.corpus.write import read_word_origin, side_file

    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    beside: dict[str, Any] = {}
    row = FORMATS.get(known)
    if not is_standard_input(source) and row is not None and row.holds == "counts" and not row.whole:
        for side, option in zip(
            ("vocab", "persons", "labels"), ("vocabulary", "persons", "labels"), strict=True
        ):
            file = side_file(source, side)
            if option not in given and file.is_file():
                beside[option] = file
    if "vocabulary" in beside:  # which must not have been exchanged
        words = load_vocabulary(beside["vocabulary"], encoding=given.get("encoding", "utf-8"))
        read_word_origin(source, words)
    corpus = (read or read_corpus)(source, known, **(given | beside))
    return corpus, list(beside.values())


def open_shards(source: Path, known: str, **options: Any) -> tuple["ShardedCorpus", list[Path]]:
    """Open a folder of shards; like ``load``, but nothing of it is read, and no option says how."""
    from discreet.corpus import ShardedCorpus

    del known
    given = [name for name, value in options.items() if value is not None]
    if given:
        flags = ", ".join(called(name) for name in given)
        raise ParameterError(
            f"{flags}: shards hold counts with their words and persons; say it when they are written."
        )
    return ShardedCorpus(source), []


def read_for(
    release: "Release",
    corpus: Path,
    file_format: str | None,
    **options: Any,
) -> "Corpus":
    """Read documents with the words of a release."""
    from discreet.corpus import read_corpus

    options["vocabulary"] = release.vocabulary
    return read_corpus(
        corpus, file_format, **{key: value for key, value in options.items() if value is not None}
    )


def say_skipped(corpus: "Corpus", say: Any) -> None:
    """Say how many documents were left out."""
    if corpus.n_skipped:
        many, nobody = "" if corpus.n_skipped == 1 else "s", "" if corpus.persons is None else " or person"
        say.print(f"left out {corpus.n_skipped} document{many} without text{nobody}", markup=False)


def declare_public(corpus: "Corpus", command: str, *, listed: bool) -> "Corpus":
    """Return the corpus with the words of whoever says ``--vocabulary-is-public`` that its words are public.

    Words that were counted from the texts need a list: ``listed`` says whether ``--vocabulary`` names one.
    """
    from discreet.corpus.vocabulary import refuse_public

    refuse_public(corpus.word_origin, listed=listed)
    if corpus.words_are_public:
        return corpus
    declared = corpus.word_origin.public_by(f"--vocabulary-is-public of discreet {command}")
    return corpus.with_word_origin(declared)
