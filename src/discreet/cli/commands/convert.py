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
            help="Write a folder of shards with this many documents each; texts are streamed.",
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

    def declare(corpus: Any) -> Any:
        if not vocabulary_is_public:
            return corpus
        return declare_public(corpus, "convert", listed=vocabulary is not None)

    if shard_documents is not None:
        with progress(quiet=quiet) as callback:
            written: dict[str, Any] = {"shard_documents": shard_documents, "callback": callback}
            if known in TEXT_FORMATS:
                written["words_are_public"] = vocabulary_is_public
                shards = _stream_texts(sources, out, known, options, written)
            else:
                shards = _write_counts(sources, out, known, options, written, declare)
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
    corpus = declare(corpus)
    for file in beside:
        say.print(f"used {file}", markup=False)
    say_skipped(corpus, say)
    files = _write(corpus, out, target_format)
    say.print(f"wrote {', '.join(map(str, files))}", markup=False)
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


#: Options that mean something where raw text is streamed.
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


def _write_counts(
    sources: Sequence[Path],
    out: Path,
    known: str,
    options: Mapping[str, Any],
    how: Mapping[str, Any],
    declare: Callable[[Any], Any],
) -> "ShardedCorpus":
    """Write a file of counts, or other shards, as shards, by way of memory; ``declare`` says that words are public."""
    from discreet.corpus import ShardedCorpus, write_shards

    if len(sources) > 1:
        raise CorpusError(
            "several files can become one corpus only if they hold raw text; convert counts one by one."
        )
    corpus = ShardedCorpus(sources[0]) if known == "shards" else load(sources[0], known, **options)[0]
    return write_shards(declare(corpus), out, **how)


def _stream_texts(
    sources: Sequence[Path], out: Path, known: str, options: Mapping[str, Any], how: Mapping[str, Any]
) -> "ShardedCorpus":
    """Write files of raw text, all of one format, as one folder of shards; they are never held."""
    from discreet.corpus import read_into_shards

    given = {name: value for name, value in options.items() if value is not None}
    wrong = {called(name): value for name, value in sorted(given.items()) if name not in _STREAMED}
    refuse_given(wrong, "cannot be used where raw text is written as shards.")
    return _declared(read_into_shards(sources, out, known, **how, **given))


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
