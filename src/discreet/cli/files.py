"""What commands read and write: documents, folders of shards, ledgers in files, and small releases with their cards."""

import secrets
import shlex
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import discreet
from discreet._base.files import write_whole
from discreet.cli.options import PRIVATE, called, check_output_file, refuse_given
from discreet.corpus import ShardedCorpus, read_corpus
from discreet.corpus.formats.table import FORMATS
from discreet.corpus.read import side_file
from discreet.corpus.vocabulary import choices_of, refuse_public
from discreet.errors import ParameterError, PrivacyError, ReleaseError
from discreet.privacy.units import check_epsilon

if TYPE_CHECKING:
    from discreet.release.numbers import NumbersRelease


def load(source: Path, known: str, **options: Any) -> "tuple[discreet.Corpus, list[Path]]":
    """Read a corpus with the files beside it that ``write_corpus`` would write; return it and those that were found.

    Words are public only where a file beside them says by whom that was said, and is about the same words.
    """
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    beside: dict[str, Any] = {}
    row = FORMATS.get(known)
    if row is not None and row.holds == "counts" and not row.whole:
        for side, option in (("vocab", "vocabulary"), ("persons", "persons"), ("labels", "labels")):
            file = side_file(source, side)
            if option not in given and file.is_file():
                beside[option] = file
    return read_corpus(source, known, **(given | beside)), list(beside.values())


def open_shards(source: Path, _known: str, **options: Any) -> tuple[ShardedCorpus, list[Path]]:
    """Open a folder of shards; like ``load``, but nothing of it is read, and no option says how."""
    given = {called(name): value for name, value in options.items()}
    refuse_given(given, "shards hold counts with their words and persons; say it when they are written.")
    return ShardedCorpus(source), []


def say_skipped(corpus: "discreet.Corpus", say: Any) -> None:
    """Say what the reader found by itself, and how many documents were left out."""
    for note in corpus.notes:
        say.print(note)
    if corpus.n_skipped:
        many, nobody = "" if corpus.n_skipped == 1 else "s", "" if corpus.persons is None else " or person"
        say.print(f"{PRIVATE}left out {corpus.n_skipped} document{many} without text{nobody}")


def declare_public(corpus: "discreet.Corpus", command: str, *, listed: bool) -> "discreet.Corpus":
    """Return the corpus with the words of whoever says ``--vocabulary-is-public`` that its words are public.

    Words that were counted from the texts need a list: ``listed`` says whether ``--vocabulary`` names one.
    """
    refuse_public(corpus.word_origin, listed=listed)
    if corpus.words_are_public:
        return corpus
    declared = corpus.word_origin.public_by(f"--vocabulary-is-public of discreet {command}")
    return corpus.with_word_origin(declared)


# Ledgers in files, and small releases


#: What this run wrote elsewhere than it was asked to; and where all is that it was paid for.
_ELSEWHERE: list[str] = []
_KEPT: list[Path] = []
#: Ledgers in files that this run opened, with what was spent on each before; None for those that it made.
_OPENED: list[tuple["discreet.Ledger", float | None]] = []


def name_of_unit(unit: str, topics: "discreet.Release") -> str | None:
    """Return what the topics call a unit, where they protect units of the same kind."""
    return topics.ledger.unit_name if topics.promise.privacy_unit == unit else None


UNREMEMBERED = (
    "No --ledger was named, so nothing remembers what this run costs: further runs on these texts add to it."
)


def check_budget(budget: float | None, ledger: Path | None, epsilon: float) -> None:
    """Refuse a budget that is none, that no ledger would keep, or that does not cover this run."""
    if budget is None:
        return
    check_epsilon(budget, name="budget")
    if ledger is None:
        raise ParameterError(
            f"--budget {budget:g} is for several runs; name the file that keeps it: --ledger."
        )
    if epsilon > budget:
        raise ParameterError(
            f"--epsilon {epsilon:g} is more than --budget {budget:g}, which is for all runs."
        )


def open_ledger(
    path: Path | None,
    epsilon: float,
    delta: float | None,
    unit: str,
    unit_name: str | None,
    *,
    budget: float | None = None,
) -> "discreet.Ledger | None":
    """Return the ledger kept in a file, made where there is none; one that exists keeps its name of a unit.

    None where no file was named.
    """
    if path is None:
        return None
    new = not path.exists()
    total = (epsilon if budget is None else budget, delta_on(None, delta)) if new else (budget, None)
    ledger = discreet.Ledger.open(path, *total, privacy_unit=unit, unit_name=unit_name)
    _OPENED.append((ledger, None if new else ledger.spent().epsilon))
    return ledger


def ledger_for(
    path: Path | None,
    documents: Any,
    epsilon: float,
    delta: float | None,
    unit: str,
    unit_name: str | None = None,
) -> "discreet.Ledger | None":
    """Return the ledger of a run: that in a file, or one of its own where its units have a name.

    Otherwise the estimator makes one; or, where columns were chosen privately, books where the choice is.
    """
    book = open_ledger(path, epsilon, delta, unit, unit_name)
    if book is not None or unit_name is None or choices_of(documents):
        return book
    return discreet.Ledger(epsilon, delta_on(None, delta), privacy_unit=unit, unit_name=unit_name)


def delta_on(book: "discreet.Ledger | None", delta: float | None) -> float:
    """Return the delta that was said, or that of the ledger of a run, or the usual one."""
    return delta if delta is not None else 1e-6 if book is None else book.delta


def close_ledgers() -> None:
    """End a run: a ledger that it made, and on which nothing was booked, leaves no file, which would fix a unit."""
    for ledger, before in _OPENED:
        if before is None:
            with suppress(PrivacyError):  # somebody else took it away
                ledger.discard_if_unused()
    for of_this_run in (_OPENED, _ELSEWHERE, _KEPT):
        of_this_run.clear()


def written_elsewhere() -> str:
    """Return what to say of files that are not where they were asked for; "" where all are."""
    return " ".join(_ELSEWHERE)


def what_stands() -> str:
    """Say where the result of a run is that fails once it is written, as its report is made; "" where nothing is."""
    from discreet.release.private_estimator import spent_and_left

    if not _KEPT:
        return ""
    booked = "".join(f" {ledger.path}: {spent_and_left(ledger)}" for ledger, _ in _OPENED)
    page = f"`discreet report {shlex.quote(str(_KEPT[-1]))} --out FILE` makes the report"
    return (
        f" The result was written before that, whole, to {' and '.join(map(str, _KEPT))}; no need to run this again. "
        f"{page}, and costs nothing.{booked}"
    )


def after_interruption() -> str:
    """Say what a run that was interrupted has booked, and how to go on."""
    from discreet.release.private_estimator import spent_and_left

    if _KEPT:
        return "interrupted."
    told: list[str] = []
    on = "To go on, run the same command again; it books anew."
    for ledger, spent in _OPENED:
        now, before = ledger.spent().epsilon, spent or 0.0
        if ledger.remaining().epsilon < now - before:
            on = (
                "What is left may not pay for the same again: run it with a smaller --epsilon, or decide on a larger "
                "budget, which is a weaker promise."
            )
        told.append(
            f"{ledger.path} has booked {now - before:.4g} for this run, which stays spent because the texts may have "
            f"been read. {spent_and_left(ledger)}"
            if now > before
            else f"Nothing was booked on {ledger.path}."
        )
    booked = " ".join(told) if told else "No ledger in a file was open, so none has booked anything."
    return f"interrupted: no result was written. {booked} {on}"


def check_release_file(path: Path, ledger: Path | None = None, *, option: str = "--out") -> None:
    """Refuse a file that a release cannot be written to, or its card beside it."""
    check_output_file(path, (".json",), option=option, apart={"--ledger": ledger})
    check_output_file(path.with_suffix(".md"), option=f"the card of {option},")


def written(save: Callable[[Path], None], place: Path) -> Path:
    """Write what was paid for where it was asked for, or else beside it, here, or among temporary files; say where.

    ``save`` writes to the path that it is given, whole or not at all.
    """
    try:
        save(place)
    except (OSError, ReleaseError) as error:
        other = f"{place.stem}-{secrets.token_hex(3)}{place.suffix}"
        for folder in (place.absolute().parent, Path.cwd(), Path(tempfile.gettempdir())):
            with suppress(OSError, ReleaseError):
                save(folder / other)
                reason = str(getattr(error, "strerror", None) or error).removesuffix(".")
                _ELSEWHERE.append(
                    f"{place} could not be written: {reason}. What was paid for is in {folder / other}."
                )
                _KEPT.append(folder / other)
                return folder / other
        raise
    _KEPT.append(place)
    return place


def save_with_card(made: "NumbersRelease", path: Path) -> list[Path]:
    """Write a release and its card, ``wards.md`` beside ``wards.json``; return what was written."""
    path = written(made.save, path)
    card = path.with_suffix(".md")
    write_whole(made.card().encode(), card, "the card")
    return [path, card]
