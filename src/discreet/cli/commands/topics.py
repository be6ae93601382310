"""`discreet topics`: the topics of a release, on the terminal or as JSON."""

from typing import Annotated, Literal

import typer

from discreet.cli.options import Model, Words
from discreet.errors import ReleaseError

__all__ = ["topics"]


def topics(
    model: Model,
    words: Words = 10,
    by: Annotated[
        str, typer.Option(help="Order of the words: probability, or lift (words rare elsewhere move up).")
    ] = "probability",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print the topics of a release, and its guarantee."""
    from rich.console import Console

    from discreet.cli.display import print_json, print_topics, whole_words
    from discreet.release import Release

    if by not in ("probability", "lift"):
        raise ReleaseError(f"--by must be probability or lift, but is {by!r}.")
    order: Literal["probability", "lift"] = "lift" if by == "lift" else "probability"
    release = Release.load(model)
    if as_json:
        answer = {"guarantee": release.guarantee, "topics": release.top_words(words, by=order)}
        print_json(answer)
        return
    out = whole_words(Console(highlight=False))
    print_topics(release, words, out, by=order)
    out.print()
    out.print(release.guarantee, markup=False)
