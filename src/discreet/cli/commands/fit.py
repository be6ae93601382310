"""`discreet fit`: from private text to a release."""

import inspect
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import discreet
from discreet.cli import files
from discreet.cli.options import (
    PAGE,
    PRIVATE,
    About,
    Count,
    Table,
    check_output_file,
    check_output_folder,
    named_values,
    options_of,
    today,
)
from discreet.errors import CorpusError, CorpusWarning, ParameterError

#: What fit_topics takes that an option says, or a file.
_SAID = frozenset((
    "texts_or_corpus", "epsilon", "delta", "n_topics", "text", "person", "skip_empty", "unit_name", "persons",
    "encoding", "delimiter", "sheet",
    "vocabulary", "stop_words", "words_are_public", "token_pattern", "tokenizer", "ngram_range",
    "word_vectors", "random_state", "engine", "ledger", "callback", "prevalence", "by",
))  # fmt: skip


_GOES_ON = " It goes on all the same, as to end here would tell of the texts: stop it, or run `discreet check` first."


def _fit(
    checks: bool,
    /,
    corpus: Path,
    out: Path,
    *,
    epsilon: float = 1.0,
    delta: float | None = None,
    topics: Count = 20,
    person: str | None = None,
    ledger: Path | None = None,
    report: Path | None = None,
    quiet: bool = False,
    how: Table,
    vocabulary: Path | None = None,
    vocabulary_is_public: bool = False,
    stop_words: list[str] | None = None,
    word_vectors: Path | None = None,
    budget: float | None = None,
    unit_name: str | None = None,
    set_: list[str] | None = None,
    seed: int | None = None,
    details: About,
    yes: bool = False,
) -> None:
    """Fit, or only say what would come of it.

    --ledger: File that keeps the budget over several runs; made with this budget if absent.
    --yes -y: Do not ask on a terminal before it spends.

    [The file and its words] --sheet --skip-empty --read --vocabulary --vocabulary-is-public --stop-words --word-vectors
    [The run] --set --seed
    [Ledger and card] --budget --unit-name --about
    """
    from discreet.central._fit_topics import estimators, ready
    from discreet.cli import display
    from discreet.cli.app import as_option
    from discreet.engines import ProcessEngine
    from discreet.privacy.units import check_unit_name
    from discreet.release.private_estimator import ledger_of_choices

    if stop_words is not None:
        how.given["stop_words"] = stop_words
    say = display.console(quiet=quiet)
    if not checks:
        check_output_folder(out, ledger)
    check_output_file(report, PAGE, option="--report", apart={"--ledger": ledger})
    files.check_budget(budget, ledger, epsilon)
    others = [name for name in inspect.signature(discreet.fit_topics).parameters if name not in _SAID]
    given: dict[str, Any] = {
        "privacy_unit": None,
        "epsilon": epsilon,
        "delta": delta,
        "n_topics": topics,
        "word_vectors": word_vectors,
        "random_state": seed,
        "n_jobs": -1,
    } | named_values(set_, others, "--set")
    each_document = given["privacy_unit"] == "document"
    # What is out of range is refused before a large file is read, or a ledger made.
    estimators(**(given | {"privacy_unit": "document" if person is None else "person"}))
    if each_document and person is not None:
        raise ParameterError(
            "--person protects persons, --set privacy_unit=document does not; give one of them."
        )
    known = how.format_of(corpus)
    options: dict[str, Any] = {**how.options(known), "person": person, "vocabulary": vocabulary}
    read: Any = files.open_shards if known == "shards" else files.load
    # Parsing comes first, so that a broken file costs no budget; no statistic is computed from it yet.
    say.print("reading ...")
    documents, beside = read(corpus, known, **options)
    documents = documents.without_persons() if each_document else documents
    if vocabulary_is_public:
        documents = files.declare_public(documents, "fit", listed=vocabulary is not None)
    if documents.word_origin.kind == "numbered":  # budget would be spent on a choice of column numbers
        raise CorpusError(
            "these are counts without words; name the list of words, one per line: --vocabulary."
        )
    given["privacy_unit"] = documents.unit
    # Whom the run protects, by which words, before it does anything.
    sharded, cut = known == "shards", options.get("tokenizer")
    if not sharded:
        files.say_skipped(documents, say)
    for file in beside:
        say.print(f"used {file}")
    check_unit_name(unit_name, given["privacy_unit"])
    book = files.open_ledger(ledger, epsilon, delta, given["privacy_unit"], unit_name, budget=budget)
    carried = ledger_of_choices(documents)  # has its own name for a unit, as a file has
    given["delta"] = files.delta_on(book or carried, delta)
    say.print(_promise(given, () if sharded else documents.fields, person, unit_name))
    say.print(_words(documents, vocabulary, given))
    if cut is not None and cut.stop_word_lists:
        usual = "" if "stop_words" in how.given else " (the default; --stop-words names other languages)"
        say.print(f"Stop words: {', '.join(cut.stop_word_lists)}{usual}.")
    asks = not checks and display.asks_before(yes, quiet)
    if checks or asks:  # what is in the texts, and what a fit would do: every line says that it is private
        if sharded:
            raise ParameterError(
                "shards are not looked at as a whole: check a file of the texts, or pass --yes."
            )
        shown = display.console() if asks else display.console_of_results()
        run = ready(**given | {"texts_or_corpus": documents, "ledger": book, "unit_name": unit_name})
        seen = run.preview()
        for line in seen.in_words(as_option("fit")):
            shown.print(PRIVATE + line)
        if checks:
            shown.print(PRIVATE + _frequent(documents))
        run.booked(run.book.rehearsal())
        if checks:
            return
        seen.refuse()
    if asks:
        display.ask_to_spend(epsilon, book, say)
    if book is None and carried is None and math.isfinite(epsilon):
        say.print(files.UNREMEMBERED)
    if not _compiled_before():
        say.print("Compiling for this machine, once; that takes up to a minute.")
    with display.progress(quiet=quiet) as callback, warnings.catch_warnings():
        engine = ProcessEngine(given["n_jobs"], callback=callback) if sharded else None
        warnings.showwarning = _for_the_holder(asks, warnings.showwarning)
        release = discreet.fit_topics(
            documents, ledger=book, engine=engine, callback=callback, unit_name=unit_name, **given
        )
    _say_what_came(release, say, chosen=not documents.word_origin.is_public)
    # A seeded run gives the same bytes on any day.
    display.hand_over(details.with_details(release, today() if seed is None else None), out, report, say)


@options_of(_fit)
def fit(**given: Any) -> None:
    """Train a private topic model of CORPUS and write it to a folder that may be published.

    Words are chosen privately, unless the list of words is public. Words and persons in files beside counts, as
    `discreet convert` writes them, are used. On a terminal it says what would come of it, and asks before it spends.
    """
    _fit(False, **given)


@options_of(_fit, "corpus", "text", "person", "epsilon", "topics", "stop_words", "skip_empty")
def check(**given: Any) -> None:
    """Say what is in CORPUS, and what `discreet fit` with the same options would do: free, and for your eyes only.

    It takes all options of `discreet fit`; `discreet fit --help` lists the others.

    It prints documents, persons, empty documents, the language as far as stop
    words tell, about how many words would be chosen, whether the topics can be learned, and the most frequent words:
    exact, so as private as the texts, and marked so in each line. Nothing is booked or written.
    """
    _fit(True, **given)


def _for_the_holder(told: bool, usual: Any) -> Callable[..., None]:
    """Return what shows a warning: of the texts themselves as private, and not where that was ``told`` before.

    Those are shown to who is quiet, too: they say that a budget is about to be wasted.
    """
    from discreet.cli.app import as_option
    from discreet.cli.display import console

    def show(message: Warning | str, *where: Any) -> None:
        if not isinstance(message, CorpusWarning):
            usual(message, *where)
        elif not told:
            of_the_fit = any(message.args[1:])
            console().print(PRIVATE + message.args[0].told(as_option("fit")) + _GOES_ON * of_the_fit)

    return show


def _say_what_came(release: "discreet.Release", say: Any, *, chosen: bool) -> None:
    """Say how many words were chosen, what vectors did, and what is to be expected of the topics."""
    from discreet.report.wording import forecast_told, weak_verdict

    if chosen:
        say.print(
            f"Words that were chosen privately: {len(release.vocabulary):,}; the topics know no others."
        )
    used = release.configuration.get("word_vectors_used")
    if used is not None:
        known, name = (release.configuration[f"word_vectors{what}"] for what in ("_coverage", ""))
        say.print(f"Word vectors of {name}, for {known}: used {used}.")
    warned = weak_verdict(release) is not None and not release.configuration.get("allow_unlearnable")
    forecast = forecast_told(release, again=not warned)
    if forecast is not None:
        say.print(forecast)


def _promise(settings: dict[str, Any], fields: tuple[str, ...], field: str | None, called: str | None) -> str:
    """Say in one line whom this run protects, before it does anything."""
    from discreet.corpus.formats.records import show_fields

    budget = f"epsilon = {settings['epsilon']:g}, delta = {settings['delta']:g}"
    told = f" Fields seen: {show_fields(fields)}." if fields else ""
    if settings["privacy_unit"] == "person":
        known_by = "the file's persons" if field is None else f"field {field!r}"
        return f"Protecting each {called or 'person'} ({known_by}), with all that they wrote: {budget}.{told}"
    advice = "Use --person FIELD if one person may have written several documents."
    return f"Protecting each document: {budget}.{told} {advice}"


def _words(documents: "discreet.Corpus", vocabulary: Path | None, settings: dict[str, Any]) -> str:
    """Say where the words come from."""
    origin = documents.word_origin
    if origin.is_public:
        return f"Words: public, as declared by {origin.declared_by}; all of epsilon goes to the topics."
    source = "the words of the texts" if vocabulary is None else f"the words of {vocabulary}"
    flag = " (if they were not made from these texts: --vocabulary-is-public)" * (origin.kind != "from text")
    spent = f"{100 * settings.get('vocabulary_share', 0.25):g} % of epsilon"
    return f"Words: chosen privately from {source}, with {spent}{flag}; fewer than two a topic end the run."


def _frequent(documents: "discreet.Corpus") -> str:
    """Say which words fill the texts: a wrong field, encoding or list of stop words shows there."""
    import numpy as np

    from discreet.report.wording import shown

    totals = np.asarray(documents.counts.sum(0)).ravel()
    first = [documents.vocabulary[word] for word in np.argsort(-totals, kind="stable")[:10] if totals[word]]
    return f"Most frequent of the words that count: {', '.join(map(shown, first)) or 'none'}."


def _compiled_before() -> bool:
    """Whether a kernel that every fit needs has machine code on the disk, or needs none."""
    from discreet.central.sums.em_round import match_moments

    place = getattr(getattr(match_moments, "stats", None), "cache_path", None)
    return place is None or any(Path(place).glob("*.match_moments-*.nbi"))
