"""`discreet ask`: the questions of a course about whole documents, and topics from their answers."""

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.options import Count
from discreet.errors import CorpusError, ParameterError

if TYPE_CHECKING:
    from discreet.local import PublishedQuestion
    from discreet.local.whole_document.questions import CodebookReport


def ask(
    course: Path,
    answers: list[str] | None = None,
    vocabulary: Path | None = None,
    epsilon: float | None = None,
    word_vectors: Path | None = None,
    topics: Count = 20,
    shares: str = "0.4,0.1,0.2,0.3",
    allow_unlearnable: bool = False,
    quiet: bool = False,
) -> None:
    """Ask about whole documents, one question after the other, and write topics at the end.

    COURSE gets the file of each question, to be published by `discreet collect --question`, and at last the release,
    in COURSE/topics. What is learned is post-processing of answers, each randomised by its writer.

    COURSE: Folder of the course; made where there is none.
    --answers: Answers to the open question: a store of `discreet collect`, or a file of `discreet answer`.
        Several may be given. Without them the open question is named.
    --vocabulary: Begin a course about these public words, one per line.
    --epsilon: Of one answer, for a whole document; up to 20. To begin a course.
    --topics: Number of topics. To begin a course.
    --shares: Of the clients, for each question. To begin a course.
    --allow-unlearnable: Go on even where the clients are too few to learn more than how frequent words are. To begin a
        course, or later, with --answers; the course keeps it.
    """
    from discreet.cli.display import console, print_guarantee, print_topics
    from discreet.corpus import load_vocabulary
    from discreet.local.shuffling import told_course
    from discreet.local.whole_document.course import Course

    say, had_ended = console(quiet=quiet), False
    if vocabulary is not None:
        if epsilon is None or word_vectors is None:
            raise ParameterError("a course needs --epsilon and --word-vectors beside --vocabulary.")
        if answers:
            raise ParameterError("--answers are of a course that was begun; begin it without them.")
        found = Course.begin(
            course,
            load_vocabulary(vocabulary),
            epsilon=epsilon,
            word_vectors=word_vectors,
            n_topics=topics,
            shares=_shares(shares),
            allow_unlearnable=allow_unlearnable,
        )
    else:
        if epsilon is not None or word_vectors is not None:
            raise ParameterError("--epsilon and --word-vectors begin a course; give --vocabulary, too.")
        had_ended = (course / "topics").exists()
        found = Course(course)
        if (answers or allow_unlearnable) and found.asked is None:
            raise ParameterError(f"this course has ended: its topics are in {found.topics}.")
        if allow_unlearnable:
            found.allow_unlearnable()
        if answers and found.asked is not None:
            before = found.model.n_left_out_
            found.learn([report for where in answers for report in _read(where, found.asked)])
            say.print(f"{found.model.n_left_out_ - before:,} answers left out that do not fit")
    asked = found.asked
    if asked is not None:
        question = asked.question
        say.print(
            f"question {question.place + 1} of {len(asked.ends)}, about {question.kind}: {found.file_of(asked)}\n"
            f"  discreet collect --question {found.file_of(asked)} --store answers-{question.place + 1}.db"
        )
        return
    release, channel = found.model.release_, found.model.channel()
    print_topics(release, 10, say)
    say.print()
    print_guarantee(release, say)
    counts = [int(count) for count in str(release.configuration["reports_on_each"]).split(", ")]
    central, delta = told_course(channel.epsilon, counts)
    if float(central) < 0.95 * channel.epsilon:
        say.print(
            f"Had a shuffler hidden who sent what, towards whoever sees only its output: epsilon {central} at "
            f"delta {delta}, for the {min(counts):,} answers to one question among which one hides."
        )
    wrote = (
        f"the course has ended; its topics are in {found.topics}" if had_ended else f"wrote {found.topics}"
    )
    say.print(f"{wrote}; review the words before you publish: discreet review {found.topics}")


def _shares(given: str) -> list[float]:
    try:
        return [float(part) for part in given.split(",")]
    except ValueError:
        raise ParameterError(f"--shares must be numbers, parted by commas, but is {given!r}.") from None


def _read(where: str, asked: "PublishedQuestion") -> "list[CodebookReport]":
    from discreet.local import read_codebook_reports

    if not Path(where).is_file():
        raise CorpusError(f"there are no answers at {where}; give a store, or a file of answers.")
    with Path(where).open("rb") as file:
        is_store = file.read(15) == b"SQLite format 3"
    if not is_store:
        return read_codebook_reports(where)
    from discreet.local.whole_document.course import collected_answers

    return collected_answers(where, asked)
