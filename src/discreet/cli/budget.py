"""`discreet budget`: what an epsilon and a delta mean, before anything is spent."""

import dataclasses
import json
from typing import Annotated

import typer

from discreet.cli.options import Delta, Epsilon

__all__ = ["budget"]


def budget(
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    unit: Annotated[str, typer.Option(help="What is protected: document or author.")] = "document",
    documents: Annotated[int | None, typer.Option(help="Documents (or authors) you expect.")] = None,
    topics: Annotated[int | None, typer.Option(help="Topics you want.")] = None,
    words: Annotated[int | None, typer.Option(help="Words of the vocabulary.")] = None,
    word_vectors: Annotated[
        bool, typer.Option("--word-vectors", help="Also say what training adds to public word vectors.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
) -> None:
    """Explain a budget: what an attacker could do, and what could be learned."""
    from discreet.privacy import explain_budget

    explanation = explain_budget(
        epsilon,
        delta,
        privacy_unit=unit,
        n_documents=documents,
        n_topics=topics,
        n_words=words,
        word_vectors=word_vectors,
    )
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(explanation), indent=1))
    else:
        typer.echo(explanation.in_words())
