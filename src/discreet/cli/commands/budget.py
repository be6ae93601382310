"""`discreet budget`: what an epsilon and a delta mean, before anything is spent."""

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from discreet.central.vocabulary.methods import GaussianChoice


def budget(
    epsilon: float = 1.0,
    delta: float = 1e-6,
    unit: str = "document",
    unit_name: str | None = None,
    documents: int | None = None,
    topics: int | None = None,
    words: int | None = None,
    words_a_document: float | None = None,
    vocabulary_is_public: bool = False,
    with_word_vectors: bool = False,
    ledger: Annotated[Path | None, {"exists": True}] = None,
    json_: bool = False,
) -> None:
    """Explain a budget as `discreet fit` would spend it: what an attacker could do, and what could be learned.

    --unit: What is protected: document or person.
    --unit-name: What one person is called, such as patient; as for fit.
    --documents: Documents (or persons) you expect.
    --topics: Topics you want.
    --words: Words of the vocabulary.
    --words-a-document: Different words that a document (or person) has, about; for a better forecast.
    --vocabulary-is-public: No epsilon is needed to choose words.
    --with-word-vectors: With public word vectors: what training adds to them.
    --ledger: Only list what was booked in this file, and say what is left.
    --json: Print JSON instead of words.
    """
    if ledger is not None:
        _show_ledger(ledger, json_)
        return
    from discreet.central.forecast import beside_public_vectors, check_sizes, learnability
    from discreet.privacy import explain_budget
    from discreet.privacy.units import plural

    enough = check_sizes(
        n_documents=documents,
        n_topics=topics,
        n_words=words,
        words_a_document=words_a_document,
        word_vectors=with_word_vectors,
    )
    method, bookings = (None, {}) if vocabulary_is_public else _of_fit(epsilon, delta, unit)
    explanation = explain_budget(
        epsilon, delta, privacy_unit=unit, unit_name=unit_name, n_documents=documents, **bookings
    )
    # Of the topics alone, where words cost something, too.
    mu = 1 / bookings["events"][-1].noise_multiplier if bookings else explanation.mu
    forecast = beside = None
    if enough and words is not None and topics is not None and documents is not None:
        algorithm = "PrivateLDA with word vectors" if with_word_vectors else "PrivateLDA"
        how: dict[str, Any] = {"delta": delta, "algorithm": algorithm, "words_a_unit": words_a_document}
        forecast = learnability(words, topics, documents, mu, **how)
    if with_word_vectors and documents is not None:
        beside = beside_public_vectors(documents, mu, forecast)
    if json_:
        told = dataclasses.asdict(explanation)
        told["forecast"] = None if forecast is None else dataclasses.asdict(forecast)
        told["public_vectors"] = beside
        typer.echo(json.dumps(told, indent=1))
    else:
        typer.echo(explanation.in_words())
        learned = [said for said in (forecast and forecast.in_words(), beside) if said]
        if learned:
            typer.echo("\n".join(["", *learned]))
        if method is not None:
            typer.echo(_needed(method, plural(explanation.guarantee.called)))


def _show_ledger(path: Path, as_json: bool) -> None:
    """Print what was booked, what is spent, and what is left."""
    from discreet.cli.display import console_of_results, print_json, print_table
    from discreet.privacy import Ledger
    from discreet.privacy.accounting.events import in_words
    from discreet.release.private_estimator import spent_and_left

    book = Ledger.open(path)
    if as_json:
        print_json({"left": book.remaining().epsilon, "ledger": book.to_json()})
        return
    rows = [(str(entry.booking), entry.purpose, in_words(entry.event)) for entry in book.entries]
    print_table(console_of_results(), (">booking", "for", "as"), rows)
    typer.echo(f"{spent_and_left(book)} Each {book.called} is protected, at delta = {book.delta:g}.")


def _needed(method: "GaussianChoice", units: str) -> str:
    """Say how many units must share a word for it to be chosen: with k words each it weighs 1 / sqrt(k) a unit."""
    counts = {k: math.ceil(method.threshold * math.sqrt(k)) for k in (10, 30, method.max_words)}
    told = ", ".join(f"{count:,} with {k}" for k, count in counts.items())
    return (
        f"\nWords are chosen from those that many {units} share. How many must have a word for an even chance depends "
        f"on how many different words each has: {told}. Words that fewer have are mostly left out, and the topics know "
        "nothing of them. A public list of words needs no choice; `discreet fit --set vocabulary_share=` spends more "
        "on it."
    )


def _of_fit(epsilon: float, delta: float, unit: str) -> tuple["GaussianChoice | None", dict[str, Any]]:
    """Return how `discreet fit` would choose words, and what it would book for words and topics."""
    from discreet.central._fit_topics import estimators
    from discreet.central.preview import bookings

    if unit not in ("document", "person") or math.isinf(epsilon):
        return None, {}  # nothing is chosen privately there
    # What is booked depends neither on topics nor on words.
    large = {"allow_large_epsilon": True, "allow_large_delta": True}
    events, method = bookings(*estimators(epsilon=epsilon, delta=delta, privacy_unit=unit, **large))
    return method, {"events": events, "group_failure": method.group_failure}
