"""`discreet convert`: a corpus from one format into another, whole or not at all."""

import filecmp
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.files import declare_public, load, say_skipped
from discreet.cli.options import (
    NOTHING_SAID,
    Label,
    Quiet,
    TextOptions,
    Vocabulary,
    VocabularyIsPublic,
    called,
    check_output_file,
    reads_texts,
    refuse_given,
)
from discreet.corpus.files import is_standard_input
from discreet.corpus.formats.table import FORMATS, WRITABLE_FORMATS, find_writable_format, listed
from discreet.errors import CorpusError

if TYPE_CHECKING:
    from discreet._base.progress import Callback
    from discreet.corpus import Corpus, ShardedCorpus

SIDES = ("vocab", "persons", "labels", "origin")


@reads_texts("format")
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
    how: TextOptions = NOTHING_SAID,
    person: Annotated[
        str | None,
        typer.Option("--person", help="Field that says whose document it is (raw text)."),
    ] = None,
    label: Label = None,
    shard_documents: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Write a folder of shards with this many documents each; texts, UCI and Matrix Market are streamed.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write the corpus IN as OUT, in another format.

    The formats are found from the names. Words, persons and labels that IN has in files beside it (vocab.x.txt for
    docword.x.txt, x.vocab.txt for x.mtx) are used unless others are named; OUT gets the same, and a note of who says
    that the words are public. What is written is as private as what was read.

    With --shard-documents, OUT is a folder of shards, for what is larger than memory; a person's documents share one.
    """
    from discreet.cli.display import console, progress
    from discreet.corpus.formats.table import TEXT_FORMATS, find_format

    say = console(quiet=quiet)
    source = sources[0]
    known = source_format or find_format(source)
    if shard_documents is None:
        if len(sources) > 1:
            raise CorpusError(
                "several files can become one corpus only as shards: pass --shard-documents 100000."
            )
        _check(source, out, target_format)
    options: dict[str, Any] = {
        "vocabulary": vocabulary,
        "person": person,
        "label": label,
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
            shards = _write_as_shards(
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
                "No stop words were left out, nor does fit of shards: --read stop_words=english does it here.",
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
    written = _write(corpus, out, target_format)
    say.print(f"wrote {', '.join(map(str, written))}", markup=False)
    say.print(repr(corpus), markup=False)


def _check(source: Path, out: Path, target_format: str | None) -> None:
    """Refuse what cannot work before a large file is read."""
    wanted = target_format or find_writable_format(out)
    if wanted not in WRITABLE_FORMATS:
        why = "holds raw text, which counts are not" if wanted in FORMATS else "is not known"
        raise CorpusError(f"--to {wanted}: this format {why}; choose one of {listed(WRITABLE_FORMATS)}.")
    if not is_standard_input(source) and not source.exists():
        raise CorpusError(f"{source} does not exist; check the path.")
    check_output_file(out, option="OUT", apart={"IN": source})
    if out.exists():  # empty, or no file
        raise CorpusError(f"{out} exists; name another file.")


def _write(corpus: "Corpus", out: Path, target_format: str | None) -> list[Path]:
    """Write all files in a folder of their own and move them when they are complete and nothing is in their way."""
    from discreet._base.files import flush_folder
    from discreet.corpus import write_corpus
    from discreet.corpus.read import side_file

    folder = out.absolute().parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{out.name}.") as room:
        new = write_corpus(corpus, Path(room) / out.name, target_format)
        targets = [out.with_name(file.name) for file in new]
        in_the_way = [
            target
            for file, target in zip(new, targets, strict=True)
            if target.exists() and not filecmp.cmp(file, target, shallow=False)
        ]
        if in_the_way:
            raise CorpusError(f"{in_the_way[0]} exists; name another OUT.")
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


#: Options that mean something where counts, or raw text, are streamed.
_OF_COUNTS = ("vocabulary", "persons", "labels", "encoding")
_STREAMED = (
    "vocabulary",
    "text",
    "person",
    "tokenizer",
    "label",
    "delimiter",
    "encoding",
    "skip_empty",
)


def _write_as_shards(
    sources: Sequence[Path],
    out: Path,
    known: str,
    shard_documents: int,
    options: Mapping[str, Any],
    read_counts: Callable[..., Any],
    declare: Callable[[Any], Any] | None,
    callback: "Callback",
) -> "ShardedCorpus":
    """Write files of one format as one folder of shards: a stream of texts or counts, other counts by way of memory.

    ``read_counts(read)`` reads counts, by ``read`` where that is given, and ``declare`` says that words are public.
    """
    from discreet.corpus import read_into_shards, write_shards
    from discreet.corpus.shards.write import STREAMED_COUNTS

    given = {name: value for name, value in options.items() if value is not None}
    row = FORMATS.get(known)
    how: dict[str, Any] = {"shard_documents": shard_documents, "callback": callback}
    streamed: dict[str, Any] = how | {"words_are_public": declare is not None}
    if row is None or row.holds == "counts":
        if len(sources) > 1:
            raise CorpusError(
                "several files can become one corpus only if they hold raw text; convert counts one by one."
            )
        if known in STREAMED_COUNTS and set(given) <= set(_OF_COUNTS):

            def read(path: Path, name: str, **told: Any) -> Any:
                if declare is not None and "vocabulary" not in given and "vocabulary" in told:
                    _refuse_words_beside(path, told["vocabulary"])
                return read_into_shards(path, out, name, **told, **streamed)

            return _declared(read_counts(read))
        corpus = read_counts()
        return write_shards(corpus if declare is None else declare(corpus), out, **how)
    wrong = {called(name): value for name, value in sorted(given.items()) if name not in _STREAMED}
    refuse_given(wrong, "cannot be used where raw text is written as shards.")
    return _declared(read_into_shards(sources, out, known, **streamed, **given))


def _refuse_words_beside(source: Path, vocabulary: Path) -> None:
    """Refuse to call words public that lie beside counts, where it is known that they are not."""
    from discreet.corpus import load_vocabulary
    from discreet.corpus.read import read_word_origin
    from discreet.corpus.vocabulary import UNKNOWN, refuse_public

    refuse_public(read_word_origin(source, load_vocabulary(vocabulary)) or UNKNOWN)


def _declared(shards: "ShardedCorpus") -> "ShardedCorpus":
    """Name the command where it was the command that said that words are public."""
    from discreet.corpus import ShardedCorpus
    from discreet.corpus.shards.shard_file import write_manifest

    manifest = shards.manifest
    if not manifest.origin.declared_by.endswith("in read_into_shards"):
        return shards
    origin = manifest.origin.public_by("--vocabulary-is-public of discreet convert")
    write_manifest(shards.folder, manifest._replace(origin=origin))
    return ShardedCorpus(shards.folder)
