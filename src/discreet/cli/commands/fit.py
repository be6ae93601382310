"""`discreet fit`: from private text to a release."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.details import Contact, OtherSpending, Owner, Period, Title, today, with_details
from discreet.cli.engine import Scheduler, TlsFolder, Workers, engine_for, show_shards
from discreet.cli.groups import (
    End,
    Every,
    Groups,
    PrivateGroups,
    Start,
    Unlisted,
    check_field,
    fields_of,
    labels_of,
    shares_of,
)
from discreet.cli.ledgers import name_of_unit, open_ledger
from discreet.cli.options import (
    AllowUnlearnable,
    Delta,
    Epsilon,
    Force,
    NewFolder,
    Person,
    Quiet,
    ReportFile,
    Seed,
    Threads,
    TopicCount,
    UnitName,
    Vocabulary,
    VocabularyIsPublic,
    VocabularyShare,
    WordVectorFile,
    ZeroBased,
    check_output_file,
    check_output_folder,
)
from discreet.cli.text_options import NOTHING_SAID, TextOptions, reads_texts
from discreet.errors import CorpusError, ParameterError

if TYPE_CHECKING:
    from discreet.corpus import Corpus
    from discreet.privacy import Ledger

__all__ = ["fit"]

_SHOWN = 12


@reads_texts()
def fit(
    corpus: Annotated[Path, typer.Argument(help="File or folder that holds the documents.")],
    out: NewFolder,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    topics: TopicCount = 20,
    person: Person = None,
    each_document: Annotated[
        bool,
        typer.Option(
            "--each-document", help="Protect each document on its own, even though its owner is known."
        ),
    ] = False,
    unit_name: UnitName = None,
    how: TextOptions = NOTHING_SAID,
    zero_based: ZeroBased = None,
    vocabulary: Vocabulary = None,
    vocabulary_is_public: VocabularyIsPublic = False,
    max_words: Annotated[int, typer.Option(min=2, help="Most words to choose privately.")] = 2000,
    vocabulary_share: VocabularyShare = 0.25,
    vocabulary_method: Annotated[
        str, typer.Option(help="weighted_gaussian, greedy, policy_gaussian or sips.")
    ] = "weighted_gaussian",
    ledger: Annotated[
        Path | None,
        typer.Option(help="File that keeps the budget over several runs; made with this budget if absent."),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Epsilon of a new --ledger, for several runs; by default this run's.")
    ] = None,
    doc_topic_prior: Annotated[float, typer.Option(help="Dirichlet prior of topics in a document.")] = 0.1,
    sampling_rate: Annotated[float, typer.Option(help="Below 1: Poisson-sampled rounds (DP-SVI).")] = 1.0,
    rounds: Annotated[int | None, typer.Option(help="Rounds of training; by default chosen for you.")] = None,
    word_vectors: WordVectorFile = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            help="Public lower bound on documents or persons: what cannot work is refused before it costs."
        ),
    ] = None,
    report: ReportFile = None,
    title: Title = None,
    owner: Owner = None,
    contact: Contact = None,
    period: Period = None,
    other_spending: OtherSpending = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Also release the share of each topic in each group: the field that names the group."
        ),
    ] = None,
    by_share: Annotated[float, typer.Option(help="Share of epsilon spent on that.")] = 0.2,
    shares: Annotated[Path | None, typer.Option(help="New file for those shares: .json.")] = None,
    groups: Groups = None,
    every: Every = None,
    start: Start = None,
    end: End = None,
    private_groups: PrivateGroups = False,
    unlisted: Unlisted = None,
    seed: Seed = None,
    threads: Threads = -1,
    workers: Workers = None,
    scheduler: Scheduler = None,
    tls: TlsFolder = None,
    allow_unlearnable: AllowUnlearnable = False,
    allow_large_delta: Annotated[
        bool,
        typer.Option(
            "--allow-large-delta", help="Train even where delta is above 1 over the number of units."
        ),
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Train a private topic model of CORPUS and write it to a folder that may be published.

    Words are chosen privately, unless the list of words is public. Words and persons in files beside counts, as
    `discreet convert` writes them, are used.
    """
    from discreet.central import fit_topics
    from discreet.central._fit_topics import estimators
    from discreet.central.prevalence.estimator import check_labels
    from discreet.cli.commands.convert import declare_public, load, say_skipped
    from discreet.cli.commands.perturb import say_unreachable
    from discreet.cli.display import console, hand_over, progress
    from discreet.cli.shards import open_shards
    from discreet.cli.shares_shown import show_shares
    from discreet.cli.small_releases import check_release_file, save_with_card
    from discreet.corpus import ShardedCorpus
    from discreet.corpus.formats.records import is_field_name
    from discreet.corpus.formats.table import FORMATS
    from discreet.corpus.words.word_vectors import check_vector_file
    from discreet.privacy.units import check_unit_name
    from discreet.release.booking.booked_choices import ledger_of_choices
    from discreet.report.noisy_topics import forecast_told, weak_verdict

    say = console(quiet=quiet)
    check_output_folder(out)
    if report is not None:
        check_output_file(report, option="--report", force=force)
    settings: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "n_topics": topics,
        "privacy_unit": "document" if person is None else "person",
        "vocabulary_share": vocabulary_share,
        "vocabulary_method": vocabulary_method,
        "max_words": max_words,
        "doc_topic_prior": doc_topic_prior,
        "sampling_rate": sampling_rate,
        "n_rounds": rounds,
        "n_units_lower_bound": at_least,
        "word_vectors": word_vectors,
        "allow_unlearnable": allow_unlearnable,
        "allow_large_delta": allow_large_delta,
        "random_state": seed,
        "n_jobs": threads,
    }
    if each_document and person is not None:
        raise ParameterError("--person protects persons, --each-document does not; give one of them.")
    estimators(**settings)  # refuses what is out of range
    check_unit_name(unit_name, "person")  # whether persons are known is seen when the file is read
    if (by is None) != (shares is None):
        raise ParameterError(
            "shares of topics in groups need both --by FIELD, which names the groups, and --shares FILE, a new file."
        )
    idle = {
        "--groups": groups,
        "--every": every,
        "--from": start,
        "--to": end,
        "--private-groups": private_groups or None,
        "--unlisted": unlisted,
    }
    idle = [option for option, value in idle.items() if value is not None]
    if by is None and idle:
        raise ParameterError(
            f"{', '.join(idle)}: groups need the field that names them, --by FIELD, and a new file, --shares FILE."
            + (" If the format of the input was meant: --format." if start in FORMATS else "")
        )
    if not 0 < by_share < 1:
        raise ParameterError(f"--by-share must be above 0 and below 1, but is {by_share:g}.")
    prevalence = None
    if shares is not None:
        check_release_file(shares, option="--shares", force=force)
        prevalence = shares_of(
            None,
            groups,
            every,
            private_groups,
            epsilon=by_share * epsilon,
            delta=delta,
            privacy_unit=settings["privacy_unit"],
            start=start,
            end=end,
            unlisted=unlisted,
            random_state=seed,
            n_jobs=threads,
        )
    if word_vectors is not None:
        check_vector_file(word_vectors)
    # Parsing comes first, so that a broken file costs no budget; no statistic is computed from it yet.
    say.print("reading ...")
    known = how.format_of(corpus)
    fields: tuple[str, ...] = ("",)
    if by is not None:
        check_field(corpus, known, by)
        fields = fields_of(by, groups, every)
    options: dict[str, Any] = {
        **how.options(known),
        "person": person,
        "label": None if by is None or known == "shards" else fields[0],
        "vocabulary": vocabulary,
        "zero_based": zero_based,
    }
    read: Any = open_shards if known == "shards" else load
    documents, beside = read(corpus, known, **options)
    if known != "shards":
        say_skipped(documents, say)
    if vocabulary is not None:
        say_unreachable(options.get("tokenizer"), documents.vocabulary, say, public=vocabulary_is_public)
    for file in beside:
        say.print(f"used {file}", markup=False)
    documents = documents.without_persons() if each_document else documents
    if vocabulary_is_public:
        documents = declare_public(documents, "fit", listed=vocabulary is not None)
    _refuse_numbers_for_words(documents)
    settings["privacy_unit"] = "document" if documents.persons is None else "person"
    check_unit_name(unit_name, settings["privacy_unit"])
    fields_seen = [] if known == "shards" else list(documents.fields)
    seen = [name for name in fields_seen if is_field_name(name)]
    n_others = len(fields_seen) - len(seen)
    say.print(_promise(settings, seen, n_others, person, unit_name), markup=False)
    say.print(_words(documents, vocabulary, settings), markup=False)
    labels: Any = None
    if prevalence is not None:
        labels = labels_of(documents, fields, corpus, known, how.options(known))
        check_labels(prevalence, documents, labels)
    book = _open_ledger(ledger, epsilon, delta, settings["privacy_unit"], budget, unit_name)
    carried = ledger_of_choices(documents)  # has its own name for a unit, as a file has
    if book is None and carried is None and math.isfinite(epsilon):
        say.print(
            "No --ledger was named, so nothing remembers what this run costs: further runs on these texts add to it."
        )
    sharded = isinstance(documents, ShardedCorpus)
    with engine_for(workers, scheduler, tls, sharded=sharded) as engine, progress(quiet=quiet) as callback:
        going = show_shards(engine, threads, callback, sharded=sharded)
        named = (
            name_of_unit(settings["privacy_unit"], unit_name)
            if book is None and carried is None
            else unit_name
        )
        given: dict[str, Any] = {"unit_name": named}
        if prevalence is not None:
            prevalence.set_params(engine=going)
            given |= {"prevalence": prevalence, "by": labels}
        release = fit_topics(documents, ledger=book, engine=going, callback=callback, **given, **settings)
    if not documents.word_origin.is_public:
        n_words = len(release.vocabulary)
        say.print(
            f"{n_words:,} word{'s were' if n_words != 1 else ' was'} chosen privately; the topics know no others."
        )
    used = release.configuration.get("word_vectors_used")
    if used is not None:
        known, name = (release.configuration[f"word_vectors{what}"] for what in ("_coverage", ""))
        say.print(f"Word vectors of {name}, for {known}: used {used}.", markup=False)
    warned = weak_verdict(release) is not None and not allow_unlearnable
    forecast = forecast_told(release, again=not warned)
    if forecast is not None:
        say.print(forecast, markup=False)
    about = {
        "owner": owner,
        "contact": contact,
        "period": period,
        "date": today() if seed is None else None,  # a seeded run gives the same bytes on any day
        "other_spending": other_spending,
    }
    release = with_details(release, title=title, **about)
    hand_over(release, out, report, say)
    if prevalence is not None and shares is not None:
        made = with_details(prevalence.release_, **about)
        written = save_with_card(made, shares, force=force)
        show_shares(made, say)
        say.print(f"wrote {', '.join(map(str, written))}; a page or a table of it, at no cost:", markup=False)
        say.print(f"  discreet report {shares} --out shares.html --table shares.csv", markup=False)
        console().print(
            "They name topics by their first words, which nobody has reviewed. Publish neither before the review:\n"
            f"  discreet review {out} --shares {shares} --shares-out reviewed-{shares.name} --out reviewed",
            markup=False,
        )


def _promise(
    settings: dict[str, Any], seen: list[str], n_others: int, field: str | None, called: str | None
) -> str:
    """Say in one line whom this run protects, before it does anything."""
    budget = f"epsilon = {settings['epsilon']:g}, delta = {settings['delta']:g}"
    shown = ", ".join(seen[:_SHOWN]) + (f" and {len(seen) - _SHOWN} more" if len(seen) > _SHOWN else "")
    if n_others:  # not shown: they may be text of a file without a header
        shown += f" and {n_others} with {'another name' if n_others == 1 else 'other names'}"
    fields = f" Fields seen: {shown}." if seen else ""
    if settings["privacy_unit"] == "person":
        known_by = "the file's persons" if field is None else f"field {field!r}"
        return (
            f"Protecting each {called or 'person'} ({known_by}), with all that they wrote: {budget}.{fields}"
        )
    advice = (
        "Use --person FIELD if one person may have written several documents."
        if seen
        else "If one person may have written several, say whose they are."
    )
    return f"Protecting each document: {budget}.{fields} {advice}"


def _words(documents: "Corpus", vocabulary: Path | None, settings: dict[str, Any]) -> str:
    """Say where the words come from."""
    origin = documents.word_origin
    if origin.is_public:
        return f"Words: public, as declared by {origin.declared_by}; all of epsilon goes to the topics."
    source = "the words of the texts" if vocabulary is None else f"the words of {vocabulary}"
    flag = (
        ""
        if origin.kind == "from text"
        else " (if they were not made from these texts: --vocabulary-is-public)"
    )
    said = f"Words: chosen privately from {source}, with {settings['vocabulary_share']:g} of epsilon{flag}."
    few = settings["n_topics"]
    if few < 2 or settings["allow_unlearnable"]:
        return said
    return (
        f"{said} Where fewer than {few:,} pass, which only the choice can tell, no topics are trained, and its cost "
        f"stays booked; `discreet budget --epsilon {settings['epsilon']:g}` says how many must share a word."
    )


def _refuse_numbers_for_words(documents: "Corpus") -> None:
    """Refuse counts whose columns have no words: budget would be spent on a choice of column numbers."""
    if documents.word_origin.kind == "numbered":
        raise CorpusError(
            "these are counts without words; name the list of words, one per line: --vocabulary."
        )


def _open_ledger(
    path: Path | None,
    epsilon: float,
    delta: float,
    privacy_unit: str,
    budget: float | None,
    unit_name: str | None,
) -> "Ledger | None":
    """Return the ledger kept in a file, or None for one that lasts as long as this run.

    A new file gets ``budget`` as its epsilon, or that of this run; one that exists keeps its own.
    """
    if path is None:
        if budget is not None:
            raise ParameterError(
                f"--budget {budget:g} is for several runs; name the file that keeps it: --ledger."
            )
        return None
    total = epsilon if budget is None else budget
    ledger = open_ledger(path, total, delta, privacy_unit, unit_name)
    if budget is not None and ledger.epsilon != budget:
        raise ParameterError(
            f"--budget is {budget:g}, but the ledger {path} was made with {ledger.epsilon:g}; leave --budget out."
        )
    return ledger
