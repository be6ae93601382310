"""`discreet answer`: answer a question about whole documents on the writer's own device."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.commands.perturb import document_names, read_documents, say_unreachable
from discreet.cli.options import Force, Quiet, check_output_file
from discreet.cli.text_options import NOTHING_SAID, TextOptions, reads_texts
from discreet.errors import ParameterError

__all__ = ["answer"]


@reads_texts()
def answer(
    documents: Annotated[
        Path, typer.Argument(help="File or folder with one or more documents of one writer.")
    ],
    question: Annotated[Path, typer.Option(help="The question, as GET /question of a collector tells it.")],
    epsilon: Annotated[
        float,
        typer.Option(
            help="Most that an answer may lose, for a whole document: a question for more is refused."
        ),
    ],
    memory: Annotated[
        Path,
        typer.Option(help="File of this device that keeps answers: a document answers one question, once."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File of answers to write.")],
    budget: Annotated[
        float | None,
        typer.Option(
            help="Loss that each document may spend over all its reports; by default its first one's."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Field that names each document: a text that changes then gets no second answer."),
    ] = None,
    how: TextOptions = NOTHING_SAID,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Answer a published question about each document of DOCUMENTS whose turn it is.

    Which question of a course is a document's own was decided by coins before the first one was looked at; --memory
    keeps that, and the answer. An answer is the number of one codeword, purely epsilon-private for the whole document.
    """
    from discreet.cli.commands.convert import say_skipped
    from discreet.cli.display import console
    from discreet.local import PublishedQuestion, ReportMemo, write_reports
    from discreet.privacy import SecureStream

    check_output_file(out, force=force)
    # Judged before any document is looked at.
    asked = PublishedQuestion.read(question)
    if asked.channel.epsilon > epsilon:
        raise ParameterError(
            f"the question asks for an answer that loses {asked.channel.epsilon:.4g}, above --epsilon {epsilon:g}; "
            "answer only if the writer agrees to lose more."
        )
    words = asked.question.vocabulary
    corpus, cut = read_documents(documents, words, name, how)
    names, counts = document_names(corpus, name), corpus.counts
    memo, stream = ReportMemo(memory, budget=budget), SecureStream()
    found = [
        memo.answer(
            asked.channel,
            asked.question,
            counts.indices[counts.indptr[d] : counts.indptr[d + 1]],
            stream,
            shares=asked.shares,
            name=names[d],
        )
        for d in range(corpus.n_documents)
    ]
    memo.save()  # before anything may be sent
    reports = [report for report in found if report is not None]
    say, always = console(quiet=quiet), console()
    say_skipped(corpus, say)
    say_unreachable(cut, words, say)
    if not reports:
        say.print(
            f"none of {len(found)} documents is asked this question: there is nothing to send", markup=False
        )
        return
    write_reports(out, reports)
    say.print(f"wrote {out}: answers of {len(reports)} of {len(found)} documents", markup=False)
    say.print(asked.guarantee, markup=False)
    if len(found) > 1:
        always.print("Losses are per document: for whoever writes several, they add up.")
