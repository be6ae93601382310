"""Put the sub-commands together, and turn every error on purpose into one line and exit code 2."""

import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from discreet._version import __version__
from discreet.cli.files import after_interruption, close_ledgers, what_stands, written_elsewhere
from discreet.cli.options import OPTIONS, READ, declared
from discreet.errors import DiscreetError, DiscreetWarning, Parameter, Proposal

# Typer carries its own copy of click since 0.26 and depends on click before; its public names lead to either.
_UsageError: Any = typer.BadParameter.__base__
_ClickException: Any = _UsageError.__base__

#: What parameters of the library are called in single commands, other than in all (``OPTIONS``).
_OPTIONS_OF = {
    "answer": {"label": "--name"},
    "convert": {"format": "--from or --to"},
    "perturb": {"label": "--name"},
    "prevalence": {"label": "--by"},
    "transform": {"label": "--id"},
}

#: Commands that protect persons once a field names them.
_OF_PERSONS = frozenset({"check", "choose-topics", "convert", "evaluate", "fit", "prevalence"})

REFUSED = 2
INTERRUPTED = 130


class _Command(TyperCommand):
    """A command whose help lists its options by panels, in plain text: a table cuts their names at 80 columns."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write what a command takes."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                name = getattr(parameter, "rich_help_panel", None) or usual
                panels.setdefault(name, []).append(record)
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


#: Each command, in the order of the help; one that is run loads no module of another.
_COMMANDS = (
    "fit", "check", "report", "review", "topics", "compare", "transform", "read", "budget", "prevalence", "perturb",
    "collect", "ask", "answer", "choose-topics", "convert", "evaluate", "audit", "demo", "silo",
)  # fmt: skip
#: The module of a command, where it is not called so.
_MODULES = {"check": "fit", "report": "look", "topics": "look", "compare": "look"}


def __getattr__(name: str) -> typer.Typer:
    """Return the application with all commands, ``app``."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _application(*_COMMANDS)


@cache
def _application(*names: str) -> typer.Typer:
    made = typer.Typer(
        name="discreet",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # its tables cut the names of options at 80 columns
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(help="Topic models of text that must stay private, with a proved guarantee.")(_options)
    for name in names:
        called = name.replace("-", "_")
        module = import_module(f"discreet.cli.commands.{_MODULES.get(name, called)}")
        if name == "silo":
            made.add_typer(module.app, name=name, short_help=module.app.info.help)
        else:
            command = declared(getattr(module, called))
            # The whole first sentence, which would be cut otherwise.
            made.command(cls=_Command, short_help=str(command.__doc__).partition("\n")[0])(command)
    return made


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command. Errors on purpose become one line on standard error, never a traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command with ``arguments`` and return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DiscreetWarning)  # as one line, whatever filters are set
        warnings.showwarning = _show_warning
        try:
            return _run(arguments)
        finally:
            close_ledgers()


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    _tell(f"warning: {message}")


def _run(arguments: list[str]) -> int:
    known = next((name for name in arguments[:1] if name in _COMMANDS), "")
    try:
        made = _application(*(name for name in _COMMANDS if not known or name == known))
        code = made(args=arguments, prog_name="discreet", standalone_mode=False)
    except _ClickException as error:
        near, typed = (getattr(error, name, None) for name in ("possibilities", "option_name"))
        if near and typed:  # "--to" is no slip of "--topic"
            error.__dict__["possibilities"] = get_close_matches(typed, near, cutoff=0.85)
        message = error.format_message()
        if not arguments:  # bare `discreet` shows its help
            typer.echo(message, err=True)
            return REFUSED
        return _refuse(_what_came(error, message.rstrip("."), arguments))
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except DiscreetError as error:
        return _refuse(error.told(as_option(arguments[0])))
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
    if code == INTERRUPTED:  # typer makes it of Ctrl-C, and says nothing
        return _refuse(after_interruption(), INTERRUPTED)
    if elsewhere := written_elsewhere():
        _tell(elsewhere)
        return REFUSED
    return code if isinstance(code, int) else 0


def as_option(command: str) -> Callable[[Parameter | Proposal], str]:
    """Return what a command calls the parameters of the library."""
    options = OPTIONS | _OPTIONS_OF.get(command, {})
    commands = typer.main.get_command(_application(command)) if command in _COMMANDS else None
    own = getattr(commands, "commands", {}).get(command)
    named = {name for each in getattr(own, "params", ()) for name in each.opts}

    def call(part: Parameter | Proposal) -> str:
        option = options.get(part.name, "--" + part.name.removeprefix("n_").replace("_", "-"))
        value = part.value if isinstance(part, Proposal) else ...
        if part == Proposal("group_selection", "private"):
            return option
        if part == Proposal("privacy_unit", "person") and command in _OF_PERSONS:
            return "--person FIELD"
        if part == Proposal("shares", (1.0,)):
            return f"{option} 1.0 (in a course begun anew)"
        if option.partition(" ")[0] not in named:  # it is given by its name in the library
            how = "--read" if part.name in READ else "--set"
            told = str(value).lower() if isinstance(value, bool) else shlex.quote(str(value))
            return f"{how} {part.name}={'' if value is ... else told}"
        if value is ... or isinstance(value, bool):  # 0 and 1 are values
            return option
        return f"{option} {shlex.quote(str(value))}"

    return call


#: What the library, other commands and other tools call an option.
_ELSEWHERE = OPTIONS | {
    "column": "--text",
    "eps": "--epsilon",
    "format": "--json",
    "o": "--out",
    "sep": "--read delimiter=VALUE",
    "unit": "--person FIELD",
}

#: What Typer says of a value, and what is said instead.
_PLAIN = {
    "Input should be a valid integer.*": "give a whole number",
    "Input should be a valid number.*": "give a number",
    "Input should be greater than or equal to": "give at least",
    "Input should be less than or equal to": "give at most",
}


def _what_came(error: Any, message: str, arguments: list[str]) -> str:
    """Add to a message which value a mistaken option had, and where its description stands."""
    names = getattr(getattr(error, "param", None), "opts", [])
    values = [
        value
        for option, value in zip(arguments, [*arguments[1:], ""], strict=True)
        if option in names and value
    ] + [
        rest for argument in arguments for name, eq, rest in [argument.partition("=")] if eq and name in names
    ]
    for form, said in _PLAIN.items():
        message = re.sub(form, said, message)
    came = f" (it was {values[-1]!r})" if values and repr(values[-1]) not in message else ""
    if values and re.fullmatch(r"[+-]?\d*,\d+", values[-1]):
        message = f"{message.partition(': ')[0]}: write {values[-1].replace(',', '.')}"
    context: Any = getattr(error, "ctx", None)
    near = getattr(error, "possibilities", ())  # one suggestion is enough
    typed = "" if near else str(getattr(error, "option_name", "")).lstrip("-").replace("-", "_")
    takes = getattr(getattr(context, "command", None), "params", ())
    own = [option for each in takes for option in each.opts]
    read = get_close_matches(typed, READ, 1, cutoff=0.9) if "--read" in own else []  # "--language"
    said = "".join(f"--read {name}={'true' if name == 'skip_empty' else 'VALUE'}" for name in read)
    said = said or _ELSEWHERE.get(typed, "")
    if said.partition(" ")[0] in own:
        came += f"; write {said}"
    if "extra argument" in message and ".json)" in message and "--ledger" in own:
        came += "; a ledger is named by --ledger"
    see = " See" if message.endswith("?") and not came else "; see"
    return f"{message}{came}{see} `{context.command_path if context else 'discreet'} --help`."


def _refuse(message: str, code: int = REFUSED) -> int:
    _tell(message + what_stands())
    return code


def _tell(message: str) -> None:
    """Print one line. Names of files in an archive come from strangers, and could write over it on a terminal."""
    from discreet.release.files import clean

    typer.echo(f"discreet: {clean(' '.join(message.split()))}", err=True)
