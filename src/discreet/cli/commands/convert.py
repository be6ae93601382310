"""`discreet convert`: a corpus from one format into another, whole or not at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.cli.files import declare_public, load, say_skipped
from discreet.cli.options import CountOrNone, Texts, all_but, called, check_output_file, refuse_given
from discreet.corpus import ShardedCorpus, read_into_shards, write_corpus, write_shards
from discreet.corpus.formats.table import FORMATS, WRITABLE_FORMATS, find_writable_format, listed
from discreet.errors import CorpusError

SIDES = ("vocab", "persons", "labels", "origin")


class _OfConvert(Texts):
    names = all_but("format")


def convert(
    in_: list[Path],
    out: Path,
    *,
    from_: str | None = None,
    to: str | None = None,
    vocabulary: Path | None = None,
    vocabulary_is_public: bool = False,
    how: _OfConvert,
    person: str | None = None,
    label: str | None = None,
    shard_documents: CountOrNone = None,
    quiet: bool = False,
) -> None:
    """Write the corpus IN as OUT, in another format.

    The formats are found from the names. Words, persons and labels that IN has in files beside it (vocab.x.txt for
    docword.x.txt, x.vocab.txt for x.mtx) are used unless others are named; OUT gets the same, and a note of who says
    that the words are public. What is written is as private as what was read.

    With --shard-documents, OUT is a folder of shards, for what is larger than memory; a person's documents share one.

    IN...: File or folder of any format that can be read; several for shards.
    OUT: File to write, or a new folder for shards.
    --from: @READ.
    --to: @WRITTEN.
    --person: Field that says whose document it is (raw text).
    --shard-documents: Write a folder of shards with this many documents each; texts are streamed.
    """
    from discreet.cli.display import console, progress

    say, source = console(quiet=quiet), in_[0]
    known = from_ or how.format_of(source)
    if shard_documents is None:
        if len(in_) > 1:
            raise CorpusError(
                "several files can become one corpus only as shards: pass --shard-documents 100000."
            )
        _check(source, out, to)
    options: dict[str, Any] = {"vocabulary": vocabulary, "person": person, "label": label}
    options |= how.options(known, stop_words=None)

    if shard_documents is not None:
        with progress(quiet=quiet) as callback:
            written: dict[str, Any] = {"shard_documents": shard_documents, "callback": callback}
            found = _as_shards(in_, out, known, options, public=vocabulary_is_public, **written)
        say.print(f"wrote {out}")
    else:
        with progress(quiet=quiet) as callback:
            found, beside = load(source, known, callback=callback, **options)
        if vocabulary_is_public:
            found = declare_public(found, "convert", listed=vocabulary is not None)
        for file in beside:
            say.print(f"used {file}")
        say_skipped(found, say)
        say.print(f"wrote {', '.join(map(str, write_corpus(found, out, to)))}")
    say.print(repr(found))
    if shard_documents is not None and FORMATS[known].holds == "text" and "stop_words" not in how.given:
        say.print(
            "No stop words were left out, nor does fit of shards: --read stop_words=english does it here."
        )


convert.__doc__ = (
    str(convert.__doc__).replace("@READ", listed()).replace("@WRITTEN", listed(WRITABLE_FORMATS))
)


def _check(source: Path, out: Path, target_format: str | None) -> None:
    """Refuse what cannot work before a large file is read."""
    from discreet.corpus.read import side_file

    wanted = target_format or find_writable_format(out)
    if wanted not in WRITABLE_FORMATS:
        why = "holds raw text, which counts are not" if wanted in FORMATS else "is not known"
        raise CorpusError(f"--to {wanted}: this format {why}; choose one of {listed(WRITABLE_FORMATS)}.")
    check_output_file(out, option="OUT", apart={"IN": source})
    if out.exists():  # empty, or no file
        raise CorpusError(f"{out} exists; name another file.")
    if not FORMATS[wanted].whole:
        for beside in (side_file(out, side) for side in SIDES):
            if beside.exists():  # persons of another corpus, say, or its words
                raise CorpusError(
                    f"{beside} exists, and would be read with {out.name}; move it away, or name another OUT."
                )


#: Options that mean something where raw text is streamed.
_STREAMED = {"vocabulary", "text", "person", "tokenizer", "label", "delimiter", "encoding", "skip_empty"}


def _as_shards(
    sources: Sequence[Path], out: Path, known: str, options: Mapping[str, Any], *, public: bool, **how: Any
) -> ShardedCorpus:
    """Write files of one format as one folder of shards: a stream of texts, or counts by way of memory."""
    given = {name: value for name, value in options.items() if value is not None}
    if known in FORMATS and FORMATS[known].holds == "text":
        wrong = {called(name): value for name, value in sorted(given.items()) if name not in _STREAMED}
        refuse_given(wrong, "cannot be used where raw text is written as shards.")
        return read_into_shards(sources, out, known, words_are_public=public, **how, **given)
    if len(sources) > 1:
        raise CorpusError(
            "several files can become one corpus only if they hold raw text; convert counts one by one."
        )
    corpus: Any = ShardedCorpus(sources[0]) if known == "shards" else load(sources[0], known, **given)[0]
    if public:
        corpus = declare_public(corpus, "convert", listed="vocabulary" in given)
    return write_shards(corpus, out, **how)
