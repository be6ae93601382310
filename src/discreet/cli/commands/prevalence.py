"""`discreet prevalence`: where and when the topics of a release stand in private documents."""

import math
import warnings
from pathlib import Path
from typing import Any

import discreet
from discreet.cli import files
from discreet.cli.options import PAGE, PRIVATE, About, OfRelease, check_output_file, named_values, today
from discreet.cli.shares import (
    InGroups,
    check_field,
    cost_of_topics,
    expected_of_shares,
    labels_of,
    say_unlisted,
    show_shares,
    write_table,
)
from discreet.errors import CorpusWarning, ParameterError

#: What ``--set`` names.
_OTHERS = ("privacy_unit", "division", "unlisted", "selection_share", "max_groups_per_unit", "count_weight")


def prevalence(
    model: Path,
    corpus: Path,
    *,
    out: Path,
    by: str | None = None,
    where: InGroups,
    epsilon: float = 0.25,
    delta: float | None = None,
    person: str | None = None,
    unit_name: str | None = None,
    how: OfRelease,
    ledger: Path | None = None,
    budget: float | None = None,
    report: Path | None = None,
    table: Path | None = None,
    set_: list[str] | None = None,
    details: About,
    seed: int | None = None,
    yes: bool = False,
    quiet: bool = False,
) -> None:
    """Release the share of each topic of MODEL in private documents: in all, in each group of them, or in each month.

    Groups are public: a list in a file, or the periods of a range; or their names are chosen privately. What is written
    may leave. Topics that you bring in a file cost nothing, and work with a few hundred texts.

    MODEL: Folder of a saved release; or a file of public topics, one a line (food: soup meal canteen).
    --out: New file for the release: .json.
    --by: Field of each document's group, or its date with --every; ward,date: both. Without: one group.
    --epsilon: Privacy loss of the shares: smaller is more private.
    --ledger: File that keeps the budget, such as that of the topics; made with this budget if absent.
    --report: Also write a page to look at: .html.
    --table: Also write the shares as a table: .csv.
    --yes -y: Do not ask on a terminal before it spends.
    """
    from discreet.central.prevalence import brought
    from discreet.central.prevalence.estimator import check_labels, reach_of
    from discreet.cli.display import ask_to_spend, asks_before, console, print_guarantee, progress
    from discreet.engines import ProcessEngine
    from discreet.release.private_estimator import ledger_of_choices

    written_to = {"--ledger": ledger, "--out": out, "its card": out.with_suffix(".md"), "--report": report}
    files.check_release_file(out, ledger)
    check_output_file(report, PAGE, option="--report", apart=written_to | {"--report": None})
    check_output_file(table, (".csv",), option="--table", apart=written_to)
    files.check_budget(budget, ledger, epsilon)
    others = named_values(set_, _OTHERS, "--set")
    known = how.format_of(corpus)
    fields = ("",) if by is None else where.fields_of(by)
    if by is not None:
        check_field(corpus, known, fields)
    elif known == "shards":
        raise ParameterError("shards have labels: give --by label, and the public groups.")
    release = brought.read_topics(model) if model.is_file() else discreet.Release.load(model)
    options: dict[str, Any] = {**how.options(known, stop_words=None, release=release), "person": person}
    documents: Any = files.open_shards(corpus, known, **options)[0] if known == "shards" else None
    owned = person is not None if documents is None else documents.persons is not None
    said = others.pop("privacy_unit", None)
    if said is None and release.promise.privacy_unit == "person" and not owned and math.isfinite(epsilon):
        raise ParameterError(
            "the topics protect persons: name the field that says whose each document is, --person FIELD; --set "
            "privacy_unit=document protects each document on its own."
        )
    unit = said or ("person" if owned else "document")
    called = unit_name or files.name_of_unit(unit, release)
    book = files.open_ledger(ledger, epsilon, delta, unit, called, budget=budget)
    promise: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": files.delta_on(book, delta),
        "privacy_unit": unit,
        "ledger": book,
    }
    shares = where.shares_of(release, whole=by is None, random_state=seed, n_jobs=-1, **promise, **others)
    say = console(quiet=quiet)
    source = "the shards' persons" if person is None else f"field {person!r}"
    named = called if book is None else book.unit_name
    say.print(_promise(release, source if owned else None, named))
    with progress(quiet=quiet) as callback:
        if documents is None:
            options |= {"label": fields[0] or None, "vocabulary": release.vocabulary}
            documents = discreet.read_corpus(corpus, known, callback=callback, **options)
            files.say_skipped(documents, say)
        if book is None:
            if math.isfinite(epsilon) and ledger_of_choices(documents) is None:
                say.print(files.UNREMEMBERED)
            book = files.ledger_for(None, documents, epsilon, delta, unit, called)
        engine = ProcessEngine(-1, callback=callback) if known == "shards" else None
        shares.set_params(callback=callback, engine=engine, ledger=book)
        labels = None
        if by is None:
            labels = brought.labels_of_all(documents)
        elif known != "shards":
            labels = labels_of(documents, fields, corpus, known, options, say)
            say_unlisted(shares, fields[0], labels, say)
        if labels is not None:
            found = reach_of(shares, documents, check_labels(shares, documents, labels))
            if math.isfinite(epsilon):
                say.print(PRIVATE + expected_of_shares(shares, found, called or unit))
        if asks_before(yes, quiet):
            ask_to_spend(epsilon, book, say)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The topics protect persons")  # as was said above
            if labels is not None:
                warnings.simplefilter("ignore", CorpusWarning)
            shares.fit(documents, by=labels)  # where a label is not listed, that costs no budget
    # A seeded run gives the same bytes on any day.
    made = shares.release_ if by is None else shares.release_.with_settings(by=", ".join(fields))
    made = details.with_details(made, today() if seed is None else None)
    written = files.save_with_card(made, out)
    if report is not None:
        made.to_html(report)
        written.append(report)
    if table is not None:
        write_table(made, table)
        written.append(table)
    show_shares(made, say)
    print_guarantee(made, say)
    apart = made.configuration.get("topics_booked_here") is not True
    (console() if apart else say).print(cost_of_topics(made))
    say.print(f"wrote {', '.join(map(str, written))}")


def _promise(release: "discreet.Release", known_by: str | None, called: str | None) -> str:
    """Say in one line whom these shares protect, and where the topics protect more."""
    if known_by is not None:
        return f"Protecting each {called or 'person'} ({known_by}), with all that they wrote."
    if release.promise.privacy_unit == "person":
        return (
            "Protecting each document on its own, though the topics protect persons with all their documents: for the "
            "same here, use --person FIELD."
        )
    return "Protecting each document. Use --person FIELD if one person may have written several documents."
