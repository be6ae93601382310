"""`discreet review`: look at the words before a release leaves, and write the release as reviewed."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import discreet
from discreet._base.files import list_lines, read_list, write_whole
from discreet.cli.files import check_release_file, save_with_card, written
from discreet.cli.options import About, check_output_file, check_output_folder, today
from discreet.errors import ParameterError, ReleaseError

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.report.suspicion import Suspect

_PAGE = 25


def review(
    model: Path,
    *,
    out: Path | None = None,
    edits: Path | None = None,
    drop: list[str] | None = None,
    write_edits: Path | None = None,
    names: Path | None = None,
    by: str | None = None,
    note: str | None = None,
    details: About,
    shares: Path | None = None,
    shares_out: Path | None = None,
    json_: bool = False,
    quiet: bool = False,
) -> None:
    """List the words of a release by suspicion, remove or rename some, and write the reviewed release.

    Decide from this list and from what you know, not by looking words up in the texts: then it costs no privacy. On a
    terminal it asks; a script says who decided, and what: --by, and --drop or --edits.

    --out: New or empty folder for the reviewed release.
    --edits: File of edits, one per line; --write-edits makes one.
    --drop: Remove this word. Repeat for others.
    --write-edits: Write the words by suspicion to this file, as edits to choose from.
    --names: Public list of names to look for, such as the staff list.
    --by: Who reviewed it, for card and report.
    --note: A sentence of the reviewer, for card and report.
    --shares: Shares of these topics, of `discreet prevalence`: they take the reviewed names and words.
    --shares-out: New file for the reviewed shares: .json.
    --json: Print the words as JSON, topics from 1, and stop.
    """
    from discreet.cli.display import console, print_json
    from discreet.release import PrevalenceRelease
    from discreet.release import edits as editing
    from discreet.report.suspicion import look_alikes, suspicious_words
    from discreet.report.wording import shown

    if out is not None:
        check_output_folder(out)
    check_output_file(write_edits, option="--write-edits")
    if (shares is None) != (shares_out is None):
        raise ParameterError(
            "shares are reviewed from one file into another: --shares FILE and --shares-out NEW.json."
        )
    if shares_out is not None:
        check_release_file(shares_out, option="--shares-out")
    release = discreet.Release.load(model)
    of_groups = None if shares is None else PrevalenceRelease.load(shares)
    if of_groups is not None:  # those of other topics are refused before anybody is asked anything
        editing.reviewed_shares(of_groups, release, editing.EditList(), release)
    lines = [] if edits is None else list_lines(edits, "--edits")
    lines += [f"drop word {editing.word_in_line(word)}" for word in drop or ()]
    suspects = suspicious_words(release, flagged=() if names is None else read_list(names, "--names"))
    if json_:
        print_json(
            [suspect._asdict() | {"topics": [topic + 1 for topic in suspect.topics]} for suspect in suspects]
        )
        return
    say, always = console(quiet=quiet), console()
    if write_edits is not None:
        write_whole(_proposals(release, suspects).encode(), write_edits, "the edits")
        say.print(f"wrote {write_edits}: remove the # from the lines you want")
        return
    decided = edits is not None or drop is not None
    ask = not decided and sys.stdin.isatty() and not quiet
    if not ask and (out is not None or of_groups is not None) and not (decided and by):
        raise ParameterError(
            "a review is somebody's decision: say whose, --by YOU, and what goes, --drop WORD or --edits FILE. "
            f"`discreet review {model} --write-edits FILE` makes one, which as it is removes nothing; on a terminal, "
            "review asks."
        )
    if not decided:
        _show(suspects, say)
    if ask:
        lines += _questions(release, suspects, say)
        by = by or _needed("Who reviewed it (for the card)", "a name")
        out = out or Path(_needed("New folder for the reviewed release", "a folder"))
        check_output_folder(out)
    if out is None and of_groups is None:
        if lines or by is not None or note is not None:
            raise ReleaseError("name a new folder for the reviewed release: --out reviewed.")
        say.print(f"to remove some: discreet review {model} --drop WORD --by YOU --out reviewed")
        return
    edited = editing.parse(lines)
    reviewed = editing.apply(release, edited)
    assert by is not None  # asked for, or refused above
    reviewed = reviewed.with_review(by, on=None if release.reproducible else today(), note=note)
    reviewed = details.with_details(reviewed)
    if of_groups is not None:  # before anything is written: what cannot be done is refused whole
        of_groups = editing.reviewed_shares(of_groups, release, edited, reviewed)
    gone = set(release.vocabulary) - set(reviewed.vocabulary)
    kept = [one.word for one in suspects if "in your list" in one.reasons and one.word not in gone]
    if kept:
        always.print(f"Still among the words, though --names lists them: {', '.join(kept)}.")
    if out is not None:
        out = written(reviewed.save, out)
        say.print(f"wrote {out}: {reviewed.review}")
    holding = list(editing.details_that_hold(reviewed, gone)) if out is not None else []
    if of_groups is not None:
        holding += [f"{name} of {shares_out}" for name in editing.details_that_hold(of_groups, gone)]
    for topic, place in enumerate(editing.places(len(release.topic_word), edited), 1):
        name = edited.named.get(topic) or (release.topic_names[topic - 1] if place else None)
        if name and (place is None or reviewed.topic_names[place - 1] != name):
            always.print(
                f"Look again: topic {topic} is not called {shown(name)}: that holds a word that was removed or "
                "renamed, or the topic was removed, or merged with one that has a name."
            )
    for name in holding:
        always.print(f"Look again: the {name} still holds a word that was removed or renamed.")
    for word, alike in sorted(look_alikes(gone, reviewed.vocabulary).items()):
        # Codes of what is no letter of ASCII tell a word from its look-alike.
        codes = {other: ascii(other)[1:-1] for other in alike}
        still = ", ".join(shown(other) + f" ({code})" * (code != other) for other, code in codes.items())
        always.print(f"Look again: {shown(word)} is gone, but what looks like it is still there: {still}")
    if of_groups is not None and shares_out is not None:
        of_both = save_with_card(of_groups, shares_out)
        say.print(f"wrote {', '.join(map(str, of_both))}: {of_groups.review}")
        say.print(
            f"{shares}, its card, and pages and tables made of it hold the words from before: publish {shares_out} and "
            "what is made of it."
        )
    if out is not None:
        say.print(f"{model} still holds every word: publish {out}, and keep {model} or delete it.")


def _show(suspects: "list[Suspect]", say: "Console", start: int = 0) -> None:
    """Print a page of the list, numbered."""
    from discreet.cli.display import print_table
    from discreet.report.suspicion import knows_general_language
    from discreet.report.wording import many, shown

    if start == 0:
        first = f"; here are the first {_PAGE}" if len(suspects) > _PAGE else ""
        found = f"{many(len(suspects), 'word')} to look at, the most suspicious first{first}"
        blind = ", but rare words were not looked for: pip install 'discreet[review]' (wordfreq)"
        blind = "" if knows_general_language() else blind
        say.print(f"{found if suspects else 'No word looks suspicious'}{blind}.")
    if not suspects:
        return
    rows = [
        (str(number), shown(suspect.word), ", ".join(suspect.reasons), _topics(suspect, " ..."))
        for number, suspect in enumerate(suspects[start : start + _PAGE], start + 1)
    ]
    print_table(say, (">", "word", "why", "first words of topic"), rows)


def _topics(suspect: "Suspect", more: str = "") -> str:
    return ", ".join(str(topic + 1) for topic in suspect.topics[:6]) + more * (len(suspect.topics) > 6)


def _questions(release: "discreet.Release", suspects: "list[Suspect]", say: "Console") -> list[str]:
    """Ask for words and topics, and return the answers as lines of an edit list."""
    from discreet.cli.display import print_topics
    from discreet.release.edits import GRAMMAR, word_in_line

    lines: list[str] = []
    say.print("Numbers of words to remove (1 3 5-7), Enter for the next, q when done.")
    start = 0
    while start < len(suspects):
        answer = _answer("remove")
        if answer.lower() == "q":
            break
        if not answer:
            start += _PAGE
            if start < len(suspects):
                _show(suspects, say, start)
            continue
        chosen = _numbers(answer, len(suspects))
        if chosen is None and not _takes(answer, lines):
            say.print(
                f"not understood; a number from 1 to {len(suspects)} stands before each word of the list above: 1 3 "
                "removes two of them, 5-7 three. Enter keeps the words of this page and shows the next, q goes on with "
                "the topics, and Ctrl-C ends without a reviewed release."
            )
            continue
        lines += [f"drop word {word_in_line(suspects[number - 1].word)}" for number in chosen or ()]
        say.print(f"noted, {len(set(lines))} in all")
    say.print()
    print_topics(release, 10, say)
    say.print(f"Any of these, one per line; Enter when done: {GRAMMAR}")
    while line := _answer("edit"):
        if not _takes(line, lines):
            say.print("not understood; a line is such as: drop word solitude, or: name topic 2 = loneliness")
    return list(dict.fromkeys(lines))


def _takes(line: str, lines: list[str]) -> bool:
    """Add a line of edits to others; say whether it is one."""
    from discreet.release.edits import parse

    try:
        parse([line])
    except ReleaseError:
        return False
    lines.append(line)
    return True


def _needed(question: str, what: str) -> str:
    """Ask until there is an answer."""
    while not (answer := _answer(question)):
        typer.echo(f"{what} is needed; Ctrl-C ends without a reviewed release.", err=True)
    return answer


def _answer(question: str) -> str:
    """Ask; the end of input is no answer, and no interruption either: nobody decided, so nothing is reviewed."""
    try:
        return str(typer.prompt(question, default="", show_default=False, err=True)).strip()
    except typer.Abort as ended:
        if isinstance(ended.__context__, EOFError):
            typer.echo(err=True)
            raise ParameterError(
                "nothing was reviewed: the answers ended before the review did. Run it again on a terminal, or say "
                "who decided and what: --by YOU, and --drop WORD or --edits FILE."
            ) from None
        raise


def _numbers(answer: str, most: int) -> list[int] | None:
    """Return the numbers in "1 3 5-7", or None where it is something else."""
    numbers: list[int] = []
    for part in re.split(r"[\s,]+", answer):
        found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part)
        if found is None:
            return None
        low, high = int(found[1]), int(found[2] or found[1])
        if not 1 <= low <= high <= most:
            return None
        numbers += range(low, high + 1)
    return numbers


def _proposals(release: "discreet.Release", suspects: "list[Suspect]") -> str:
    """Return a list of edits in which nothing is done yet."""
    from discreet.release.edits import GRAMMAR, word_in_line
    from discreet.release.files import printable
    from discreet.report.wording import many, naming

    lines = [
        "# Remove the # from the lines you want, add your own, and then run:",
        "# discreet review model/ --edits THIS_FILE --by YOU --out reviewed/",
        f"# Each line is one of: {GRAMMAR}",
        "",
        f"# {many(len(suspects), 'word')} to look at, the most suspicious first",
    ]
    for suspect in suspects:
        where = f" (topic {_topics(suspect)})" if suspect.topics else ""
        lines += [f"# {', '.join(suspect.reasons)}{where}:", f"# drop word {word_in_line(suspect.word)}"]
    lines += ["", "# topics, as they are called without a name"]
    for topic, called in enumerate(naming(release, 6), 1):
        lines.append(f"# name topic {topic} = {printable(', '.join(called))}")
    return "\n".join(lines) + "\n"
