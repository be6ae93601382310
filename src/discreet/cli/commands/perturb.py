"""`discreet perturb`: randomise documents on the writer's own device."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import discreet
from discreet._base.validate import first_few
from discreet.cli.options import CountOrNone, Texts, all_but, check_output_file
from discreet.errors import BudgetExceeded, CorpusError, ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.local import BitChannel, Report

#: Of documents that have spent their budgets, and of words that cannot be found, to be named; and how long a name may
#: be.
_NAMED, _LONGEST_NAME = 10, 60


class Per(StrEnum):
    """What epsilon is the loss of."""

    WORD = "word"
    REPLACEMENT = "replacement"
    DOCUMENT = "document"


class OneWord(Texts):
    """Of texts of which one word must be one word of the vocabulary.

    A document that is left out for what it says would tell something by its silence. And of a text's runs of two words,
    one word of it changes four, and a token pattern that looks ahead finds such runs.
    """

    names = all_but(*("skip_empty", "ngram_range", "token_pattern", "lowercase", "persons", "labels"))


def perturb(
    documents: Path,
    *,
    vocabulary: Path,
    out: Path,
    epsilon: float,
    per: Per = Per.REPLACEMENT,
    words: CountOrNone = None,
    memory: Path | None = None,
    budget: float | None = None,
    name: str | None = None,
    how: OneWord,
    seed: int | None = None,
    quiet: bool = False,
) -> None:
    """Randomise each document of DOCUMENTS into a report that may leave this device.

    A report says of each public word whether the document has it, with coins that make every answer deniable. What
    the reports promise is printed: all four losses, because none says enough alone.

    DOCUMENTS: File or folder with one or more documents of one writer.
    --vocabulary: The public words, one per line: the same file for all who take part.
    --out -o: File of reports to write.
    --epsilon: Privacy loss of what --per says. Positive.
    --per: One word added or removed, one word replaced, or a whole document.
    --words: Most words kept of a document (--per document), or words expected.
    --memory: File of this device that keeps reports: the same document gets the same report.
    --budget: Loss that --memory lets each document spend, over all channels; by default its first report's.
    --name: Field that names each document: a text that changes, or a collector that asks about other words, then gets
        no second report. --memory needs it for several documents; in a folder of text files each is named by its path
        in it.
    """
    from discreet.cli.display import SEEDED, console
    from discreet.corpus import load_vocabulary
    from discreet.local import ReportMemo, write_reports
    from discreet.privacy import SecureStream

    apart = {"--memory": memory, "DOCUMENTS": documents, "--vocabulary": vocabulary}
    check_output_file(out, apart=apart)
    known = load_vocabulary(vocabulary)
    channel = make_channel(epsilon, per, words, len(known))
    promise = channel.guarantees(len(known))
    if name is not None and memory is None:
        raise ParameterError("--name tells documents apart for --memory; give a file for it.")
    if budget is not None and memory is None:
        raise ParameterError("--budget counts the reports that --memory keeps; give a file for them.")
    memo, stream = ReportMemo(memory, budget=budget), SecureStream(seed)
    corpus, names = read_documents(documents, known, name, how)
    if memory is not None and len(names) > 1 and None in names:
        raise ParameterError(
            f"--memory and {len(names)} documents need --name: without names, documents with the same words "
            "share one report, and show whoever collects that they are alike. Or keep a memory for each document."
        )

    def report(own: Any, called: str | None) -> tuple["Report", float]:
        if memory is None:
            return ReportMemo().report(channel, own, known, stream, name=called), 0.0
        return memo.report(channel, own, known, stream, name=called), memo.loss_of(own, known, name=called)

    reports, losses, spent, refusal = give(report, corpus, names)
    if spent and budget is not None and budget < promise.whole_report:
        raise ParameterError(
            f"--budget {budget:g} is below the {promise.whole_report:.4g} that one report loses: no document could "
            "give it. Report only if the writer agrees to a larger one."
        )
    say, always = console(quiet=quiet), console()
    say_spent(spent, "report", always)
    if not reports:
        raise nothing_written(len(spent), "report", refusal)
    memo.save()  # before anything may be sent
    write_reports(out, reports)
    say.print(f"wrote {out}: {len(reports)} reports of {len(known)} bits")
    say.print(promise.in_words())
    if memory is not None:
        say_recorded(memory, losses, promise.whole_report, "report", say, always)
    if len(reports) > 1:
        always.print("Losses are per report: for whoever writes several documents, they add up.")
    if seed is not None:
        always.print(SEEDED)


def read_documents(
    documents: Path, known: Sequence[str], name: str | None, how: Texts
) -> "tuple[discreet.Corpus, list[str | None]]":
    """Return the documents, counted by public words, and what each is called.

    A missing text is an empty document: whether one is answered for must not depend on what it says. In a folder of
    texts each file has a name, its path. Ways to write a letter with a mark are one (NFC), as in the memory.
    """
    from discreet.corpus.formats.table import TEXT_FORMATS

    file_format = how.format_of(documents)
    field = "file" if name is None and file_format == "txt" else name
    options = how.options(file_format, stop_words=None)
    named = {} if field is None else {"label": field}
    corpus = discreet.read_corpus(
        documents, file_format, vocabulary=known, keep_empty=file_format in TEXT_FORMATS, **named, **options
    )
    many = corpus.n_documents
    if field is None:
        return corpus, [None] * many
    labels = [] if corpus.labels is None else corpus.labels
    names = [unicodedata.normalize("NFC", str(label)) for label in labels]
    if not all(names) or len(set(names)) != many:
        raise CorpusError(
            f'the field "{field}" must give each of {many} documents a name of its own; it has '
            f"{len(set(names) - {''})} different. Give another field."
        )
    return corpus, list[str | None](names)


def give(
    make: "Callable[[Any, str | None], tuple[Any | None, float]]",
    corpus: "discreet.Corpus",
    names: Sequence[str | None],
) -> "tuple[list[Any], list[float], list[str | None], str]":
    """Return what the documents give, what each has lost, those whose budgets were spent, and the last refusal."""
    given, losses, spent, refusal = list[Any](), list[float](), list[str | None](), ""
    counts = corpus.counts
    for d, called in enumerate(names):
        try:
            made, loss = make(counts.indices[counts.indptr[d] : counts.indptr[d + 1]], called)
        except BudgetExceeded as fault:
            refusal = str(fault)
            spent.append(called)
        else:
            given += [] if made is None else [made]
            losses += [] if made is None else [loss]
    return given, losses, spent, refusal


def say_spent(spent: Sequence[str | None], what: str, always: "Console") -> None:
    """Say which documents give no further report, or answer: their budgets went to earlier ones."""
    if not spent:
        return
    who = "document has spent its budget" if len(spent) == 1 else "documents have spent their budgets"
    told = f"{len(spent)} {who} on earlier reports or answers; no further {what} without a larger --budget"
    called = [_line(name) for name in spent if name is not None]
    always.print(f"{told} ({first_few(called, _NAMED)})" if called else told)


def say_recorded(
    memory: Path, losses: Sequence[float], one: float, what: str, say: "Console", always: "Console"
) -> None:
    """Say what the memory holds each document to have lost, whole reports of it added up, and how many lost more."""
    from discreet.privacy.units import round_up

    times = Counter(round_up(loss) for loss in sorted(losses))
    each = [f"{loss} ({n:,} document{'s' * (n > 1)})" for loss, n in times.items()]
    told = ", ".join(each) if len(each) <= _NAMED else f"{each[0]} to {each[-1]}"
    # Whoever lost more than this one has promised less than the lines above say.
    (always if max(losses) > one * (1 + 1e-9) else say).print(
        f"{memory} records what each document has lost in all, with this {what}: {told}"
    )


def nothing_written(n_spent: int, what: str, refusal: str) -> BudgetExceeded:
    """Return what is raised where no document's budget has room; ``refusal`` is what the memory said of the last."""
    many = f"no budget of {n_spent} documents has room for this {what}."
    return BudgetExceeded(f"nothing was written: {many if n_spent > 1 else refusal}")


def _line(name: str) -> str:
    """Return a name as part of one line: nothing in it can move or hide."""
    shown = "".join(each if each.isprintable() else "?" for each in name)
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"


def make_channel(epsilon: float, per: Per, words: int | None, n_words: int) -> "BitChannel":
    """Return the channel that the options ask for: the writers' and the collector's are the same."""
    from discreet.local import BitChannel

    if per is Per.WORD:
        return BitChannel.symmetric(epsilon)
    if words is None:
        raise ParameterError(
            f"--per {per.value} needs --words: how many words a document has, or keeps, at most; a public guess."
        )
    if per is Per.REPLACEMENT:
        return BitChannel.for_replacement(epsilon, min(words / n_words, 0.5))
    if words >= n_words:
        raise ParameterError(
            f"--words must be below {n_words}, the number of words of the vocabulary, but is {words}: of a document so "
            "many are kept."
        )
    return BitChannel.for_document(epsilon, words, n_words)
