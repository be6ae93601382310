"""Put the sub-commands together, and turn every error on purpose into one line and exit code 2."""

import os
import shlex
import sys
import warnings
from typing import Annotated, Any

import typer

from discreet._version import __version__
from discreet.cli.commands import (
    answer,
    ask,
    audit,
    budget,
    choose_topics,
    collect,
    compare,
    convert,
    demo,
    evaluate,
    fit,
    perturb,
    prevalence,
    read,
    report,
    review,
    silo,
    topics,
    transform,
    vectors,
    warmup,
)
from discreet.errors import (
    DiscreetError,
    LargeDeltaWarning,
    LostChoiceWarning,
    Parameter,
    Proposal,
    SeparateBudgetsWarning,
    WeakForecastWarning,
    WordVectorsWarning,
)

__all__ = ["app", "main", "run"]

# Typer carries its own copy of click since 0.26 and depends on click before; its public names lead to either.
_UsageError: Any = typer.BadParameter.__base__
_ClickException: Any = _UsageError.__base__

#: What parameters of the library are called on the command line, where that is not ``--name``.
_OPTIONS = {
    "person": "--person",
    "division": "--disjoint",
    "end": "--to",
    "freq": "--every",
    "group_selection": "--private-groups",
    "method": "--vocabulary-method",
    "n_documents": "--documents",
    "n_jobs": "--threads",
    "n_rounds": "--rounds",
    "n_shadows": "--shadows",
    "n_targets": "--targets",
    "n_topics": "--topics",
    "n_units_lower_bound": "--at-least",
    "n_words": "--words",
    "ngram_range": "--ngrams",
    "persons": "--person",
    "privacy_unit": "--unit",
    "random_state": "--seed",
    "start": "--from",
    "words_are_public": "--vocabulary-is-public",
}
#: The same in single commands.
_OPTIONS_OF = {
    "answer": {"label": "--name"},
    "audit": {"n_jobs": "--jobs"},
    "convert": {"format": "--from or --to"},
    "fit": {"label": "--by"},
    "perturb": {"label": "--name"},
    "prevalence": {"label": "--by"},
    "transform": {"label": "--id"},
}

#: Commands that protect persons once a field names them.
_OF_PERSONS = frozenset({"choose-topics", "convert", "evaluate", "fit", "prevalence"})

#: Shown as one line, whatever filters are set.
_WARNINGS = (
    LargeDeltaWarning,
    LostChoiceWarning,
    SeparateBudgetsWarning,
    WeakForecastWarning,
    WordVectorsWarning,
)

REFUSED = 2
INTERRUPTED = 130

app = typer.Typer(
    name="discreet",
    help="Topic models of text that must stay private, with a proved guarantee.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its tables cut the names of options at 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (
    fit.fit,
    report.report,
    review.review,
    topics.topics,
    compare.compare,
    transform.transform,
    read.read,
    budget.budget,
    prevalence.prevalence,
    perturb.perturb,
    collect.collect,
    ask.ask,
    answer.answer,
    choose_topics.choose_topics,
    convert.convert,
    vectors.vectors,
    evaluate.evaluate,
    audit.audit,
    demo.demo,
    warmup.warmup,
):
    # The whole first sentence, which would be cut otherwise.
    app.command(short_help=str(_command.__doc__).partition("\n")[0])(_command)
app.add_typer(silo.app, name="silo", short_help=silo.app.info.help)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Topic models of text that must stay private, with a proved guarantee."""


def main() -> None:
    """Run the command. Errors on purpose become one line on standard error, never a traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command with ``arguments`` and return its exit code."""
    with warnings.catch_warnings():
        for category in _WARNINGS:
            warnings.simplefilter("always", category)
        warnings.showwarning = _show_warning
        return _run(arguments)


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    _tell(str(message))


def _run(arguments: list[str]) -> int:
    try:
        code = app(args=arguments, prog_name="discreet", standalone_mode=False)
    except _ClickException as error:
        message = error.format_message()
        if not arguments:  # bare `discreet` shows its help
            typer.echo(message, err=True)
            return REFUSED
        return _refuse(message.rstrip(".?") + _what_came(error, message, arguments))
    except (typer.Abort, KeyboardInterrupt):
        return _refuse("interrupted.", INTERRUPTED)
    except DiscreetError as error:
        return _refuse(_in_options(error, arguments[0]))
    except BrokenPipeError:
        # The reader of our output went away (`discreet topics model | head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        return _refuse(
            f"cannot use{where}: {error.strerror or error}; check the path, and who may read and write it."
        )
    except MemoryError:
        return _refuse("out of memory: use fewer words or topics, or a machine with more memory.")
    return code if isinstance(code, int) else 0


def _in_options(error: DiscreetError, command: str) -> str:
    """Tell an error as the command line calls its parameters."""
    options = _OPTIONS | _OPTIONS_OF.get(command, {})

    def call(part: Parameter | Proposal) -> str:
        option = options.get(part.name, "--" + part.name.replace("_", "-"))
        if part == Proposal("group_selection", "private"):
            return option
        if part == Proposal("privacy_unit", "person") and command in _OF_PERSONS:
            return "--person FIELD"
        if part == Proposal("shares", (1.0,)):
            return f"{option} 1.0 (in a course begun anew)"
        if isinstance(part, Proposal) and part.value is False:
            return f"--no-{option.removeprefix('--')}"
        if isinstance(part, Proposal) and part.value is not ... and part.value is not True:
            return f"{option} {shlex.quote(str(part.value))}"
        return option

    return error.told(call)


def _what_came(error: Any, message: str, arguments: list[str]) -> str:
    """Say which value a mistaken option had, and where its description stands."""
    names = getattr(getattr(error, "param", None), "opts", [])
    values = [
        value
        for option, value in zip(arguments, [*arguments[1:], ""], strict=True)
        if option in names and value
    ] + [
        rest for argument in arguments for name, eq, rest in [argument.partition("=")] if eq and name in names
    ]
    came = f" (it was {values[-1]!r})" if values and repr(values[-1]) not in message else ""
    context = getattr(error, "ctx", None)
    return f"{came}; see `{context.command_path if context else 'discreet'} --help`."


def _refuse(message: str, code: int = REFUSED) -> int:
    _tell(message)
    return code


def _tell(message: str) -> None:
    """Print one line. Names of files in an archive come from strangers, and could write over it on a terminal."""
    from discreet.release.files import clean

    typer.echo(f"discreet: {clean(' '.join(message.split()))}", err=True)
