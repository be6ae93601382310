"""`discreet answer`: answer a question about whole documents on the writer's own device."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.commands import perturb
from discreet.cli.options import Texts, all_but, check_output_file
from discreet.errors import ParameterError, PrivacyError

if TYPE_CHECKING:
    from discreet.local.whole_document.questions import CodebookReport

#: Exit code where this is no document's question: no file was written, and that is no fault.
NOTHING_TO_SEND = 4


class _OfDocument(Texts):
    """As of `discreet perturb`; an answer is private for the whole document, so that runs of words may count."""

    names = all_but("skip_empty", "lowercase", "persons", "labels")


def answer(
    documents: Path,
    *,
    question: Path,
    epsilon: float,
    memory: Path,
    out: Path,
    budget: float | None = None,
    name: str | None = None,
    how: _OfDocument,
    quiet: bool = False,
) -> None:
    """Answer a published question about each document of DOCUMENTS whose turn it is. Exit code 4: nothing to send.

    Which question of a course is a document's own was decided by coins before the first one was looked at; --memory
    keeps that, and the answer. An answer is the number of one codeword, purely epsilon-private for the whole document.

    DOCUMENTS: File with documents of one writer, or folder of text files (.txt).
    --question: The question, as GET /question of a collector tells it.
    --epsilon: Most that an answer may lose, for a whole document: a question for more is refused.
    --memory: File of this device that keeps answers: a document answers one question, once.
    --out -o: File of answers to write.
    --budget: Loss that each document may spend over all its reports; by default its first one's.
    --name: Field that names each document; the name stays when the text is edited. Needed: but the text files of a
        folder are named by their path in it.
    """
    from discreet.cli.display import console
    from discreet.local import PublishedQuestion, ReportMemo, write_reports
    from discreet.privacy import SecureStream
    from discreet.privacy.units import check_epsilon

    apart = {"--memory": memory, "DOCUMENTS": documents, "--question": question}
    check_output_file(out, apart=apart)
    # Judged before any document is looked at.
    if check_epsilon(epsilon) == math.inf:
        raise PrivacyError("--epsilon must be finite: it is the most that an answer may lose.")
    asked = PublishedQuestion.read(question)
    if budget is not None and check_epsilon(budget, name="budget") < asked.channel.epsilon:
        raise ParameterError(
            f"--budget {budget:g} is below the {asked.channel.epsilon:.4g} that one answer loses: no document could "
            "give it. Answer only if the writer agrees to a larger one."
        )
    if asked.channel.epsilon > epsilon:
        raise ParameterError(
            f"the question asks for an answer that loses {asked.channel.epsilon:.4g}, above --epsilon {epsilon:g}; "
            "answer only if the writer agrees to lose more."
        )
    words = asked.question.vocabulary
    corpus, names = perturb.read_documents(documents, words, name, how)
    if names == [None] and documents.is_file() and how.format_of(documents) == "lines":
        names = [documents.name]
    if None in names:
        raise ParameterError(
            "documents that answer need --name, a field that names each: else answers show which ones are alike."
        )
    memo, stream = ReportMemo(memory, budget=budget), SecureStream()

    def reply(own: Any, called: str | None) -> "tuple[CodebookReport | None, float]":
        made = memo.answer(asked.channel, asked.question, own, stream, shares=asked.shares, name=str(called))
        return made, 0.0 if made is None else memo.loss_of(own, words, name=called)

    # A refusal is by an earlier report: the budget has room for a first one.
    reports, losses, spent, refusal = perturb.give(reply, corpus, names)
    memo.save()  # before anything may be sent
    say, always = console(quiet=quiet), console()
    perturb.say_spent(spent, "answer", always)
    if not reports:
        if len(spent) == len(names):
            raise perturb.nothing_written(len(spent), "answer", refusal)
        left = len(names) - len(spent)
        others = "the other document is not" if left == 1 else f"none of the other {left} documents is"
        told = others if spent else others.replace(" other", "")
        say.print(f"nothing was written: {told} asked this question, so there is nothing to send")
        raise typer.Exit(NOTHING_TO_SEND)
    write_reports(out, reports)
    say.print(f"wrote {out}: answers of {len(reports)} of {len(names)} documents")
    say.print(asked.guarantee)
    perturb.say_recorded(memory, losses, asked.channel.epsilon, "answer", say, always)
    if len(names) > 1:
        always.print("Losses are per document: for whoever writes several, they add up.")
