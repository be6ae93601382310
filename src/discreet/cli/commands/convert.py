"""`discreet convert`: a corpus from one format into another, whole or not at all."""

import filecmp
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import (
    Force,
    Label,
    Quiet,
    Vocabulary,
    VocabularyIsPublic,
    ZeroBased,
)
from discreet.cli.shards import write_as_shards
from discreet.cli.text_options import NOTHING_SAID, TextOptions, reads_texts
from discreet.corpus.files import is_standard_input
from discreet.corpus.formats.table import FORMATS, WRITABLE_FORMATS, find_writable_format, listed
from discreet.errors import CorpusError

if TYPE_CHECKING:
    from discreet.corpus import Corpus

__all__ = ["convert", "declare_public", "load", "say_skipped"]

SIDES = ("vocab", "persons", "labels", "origin")


@reads_texts("file_format")
def convert(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="IN...", help="File or folder of any format that can be read; several for shards."
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write, or a new folder for shards.")],
    source_format: Annotated[str | None, typer.Option("--from", help=f"{listed()}.")] = None,
    target_format: Annotated[str | None, typer.Option("--to", help=f"{listed(WRITABLE_FORMATS)}.")] = None,
    vocabulary: Vocabulary = None,
    vocabulary_is_public: VocabularyIsPublic = False,
    persons: Annotated[
        Path | None, typer.Option(help="Whose document each row is, one per line (counts).")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Label of each row, one per line (counts).")] = None,
    how: TextOptions = NOTHING_SAID,
    person: Annotated[
        str | None,
        typer.Option("--person", help="Field that says whose document it is (raw text)."),
    ] = None,
    label: Label = None,
    zero_based: ZeroBased = None,
    shard_documents: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Write a folder of shards with this many documents each; texts, UCI and Matrix Market are streamed.",
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write the corpus IN as OUT, in another format.

    The formats are found from the names. Words, persons and labels that IN has in files beside it (vocab.x.txt for
    docword.x.txt, x.vocab.txt for x.mtx) are used unless others are named; OUT gets the same, and a note of who says
    that the words are public. What is written is as private as what was read.

    With --shard-documents, OUT is a folder of shards, for what is larger than memory; a person's documents share one.
    """
    from discreet.cli.display import console, progress
    from discreet.corpus import TEXT_FORMATS, find_format

    say = console(quiet=quiet)
    source = sources[0]
    known = source_format or find_format(source)
    if shard_documents is None:
        if len(sources) > 1:
            raise CorpusError(
                "several files can become one corpus only as shards: pass --shard-documents 100000."
            )
        _check(source, out, target_format, force)
    options: dict[str, Any] = {
        "vocabulary": vocabulary,
        "persons": persons,
        "labels": labels,
        "person": person,
        "label": label,
        "zero_based": zero_based,
        **how.options(known, stop_words=None),
    }

    def counts(read: Callable[..., Any] | None = None) -> Any:
        from discreet.corpus import ShardedCorpus

        if known == "shards":
            return ShardedCorpus(source)
        return load(source, known, read=read, **options)[0]

    def declare(corpus: Any) -> Any:
        return declare_public(corpus, "convert", listed=vocabulary is not None)

    if shard_documents is not None:
        with progress(quiet=quiet) as callback:
            shards = write_as_shards(
                sources,
                out,
                known,
                shard_documents,
                options,
                counts,
                declare if vocabulary_is_public else None,
                callback,
            )
        say.print(f"wrote {out}", markup=False)
        say.print(repr(shards), markup=False)
        if known in TEXT_FORMATS and how.stop_words is None:
            say.print(
                "No stop words were left out, and fit of shards leaves none out: --stop-words english does it here.",
                markup=False,
            )
        return
    with progress(quiet=quiet) as callback:
        corpus, beside = load(source, known, callback=callback, **options)
    if vocabulary_is_public:
        corpus = declare_public(corpus, "convert", listed=vocabulary is not None)
    for file in beside:
        say.print(f"used {file}", markup=False)
    say_skipped(corpus, say)
    written = _write(corpus, out, target_format, force)
    say.print(f"wrote {', '.join(map(str, written))}", markup=False)
    say.print(repr(corpus), markup=False)


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
        for side, option in zip(SIDES, ("vocabulary", "persons", "labels"), strict=False):
            file = side_file(source, side)
            if option not in given and file.is_file():
                beside[option] = file
    if "vocabulary" in beside:  # which must not have been exchanged
        words = load_vocabulary(beside["vocabulary"], encoding=given.get("encoding", "utf-8"))
        read_word_origin(source, words)
    corpus = (read or read_corpus)(source, known, **(given | beside))
    return corpus, list(beside.values())


def say_skipped(corpus: "Corpus", say: Any) -> None:
    """Say how many documents without text were left out."""
    if corpus.n_skipped:
        one = corpus.n_skipped == 1
        say.print(f"left out {corpus.n_skipped} document{'' if one else 's'} without text", markup=False)


def declare_public(corpus: "Corpus", command: str, *, listed: bool) -> "Corpus":
    """Return the corpus with the words of whoever says ``--vocabulary-is-public`` that its words are public.

    Words that were counted from the texts need a list: ``listed`` says whether ``--vocabulary`` names one.
    """
    from discreet.corpus.words.origin import refuse_public

    refuse_public(corpus.word_origin, listed=listed)
    if corpus.words_are_public:
        return corpus
    declared = corpus.word_origin.public_by(f"--vocabulary-is-public of discreet {command}")
    return corpus.with_word_origin(declared)


def _check(source: Path, out: Path, target_format: str | None, force: bool) -> None:
    """Refuse what cannot work before a large file is read."""
    wanted = target_format or find_writable_format(out)
    if wanted not in WRITABLE_FORMATS:
        why = "holds raw text, which counts are not" if wanted in FORMATS else "is not known"
        raise CorpusError(f"--to {wanted}: this format {why}; choose one of {listed(WRITABLE_FORMATS)}.")
    if not is_standard_input(source) and not source.exists():
        raise CorpusError(f"{source} does not exist; check the path.")
    if out.is_dir():
        raise CorpusError(f"{out} is a folder; name a file to write.")
    if not out.absolute().parent.is_dir():
        raise CorpusError(f"{out}: its folder does not exist; make it first.")
    if out.exists():
        if source.exists() and source.samefile(out):
            raise CorpusError(f"{out} is the file to read from; write to another one.")
        if not force:
            raise CorpusError(f"{out} exists; name another file, or pass --force to replace it.")


def _write(corpus: "Corpus", out: Path, target_format: str | None, force: bool) -> list[Path]:
    """Write all files in a folder of their own and move them when they are complete and nothing is in their way."""
    from discreet._files import flush_folder
    from discreet.corpus import write_corpus
    from discreet.corpus.write import side_file

    folder = out.absolute().parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{out.name}.") as room:
        new = write_corpus(corpus, Path(room) / out.name, target_format)
        targets = [out.with_name(file.name) for file in new]
        in_the_way = [
            target
            for file, target in zip(new, targets, strict=True)
            if target.exists() and not filecmp.cmp(file, target, shallow=False)
        ]
        if in_the_way and not force:
            raise CorpusError(f"{in_the_way[0]} exists; name another OUT, or pass --force to replace it.")
        # Persons of another corpus, left beside this one, would be read with it the next time.
        if len(new) > 1:
            left = [side_file(out, side) for side in SIDES]
            strangers = [file for file in left if file.exists() and file not in targets]
            if strangers:
                raise CorpusError(
                    f"{strangers[0]} belongs to another corpus and would be read with this one; "
                    "move it away, or name another OUT."
                )
        for file, target in zip(new, targets, strict=True):
            file.replace(target)
        flush_folder(folder)
    return targets
