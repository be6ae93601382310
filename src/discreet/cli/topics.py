"""`discreet topics`: the topics of a release, on the terminal or as JSON."""

import json
from typing import Annotated

import typer

from discreet.cli.options import Model, Words

__all__ = ["topics"]


def topics(
    model: Model,
    words: Words = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print the topics of a release, and its guarantee."""
    from rich.console import Console

    from discreet.cli.display import print_topics
    from discreet.release import Release

    release = Release.load(model)
    if as_json:
        answer = {"guarantee": release.guarantee, "topics": release.top_words(words)}
        typer.echo(json.dumps(answer, ensure_ascii=False, indent=1))
        return
    out = Console(highlight=False, soft_wrap=True)
    print_topics(release, words, out)
    out.print()
    out.print(release.guarantee, markup=False)
