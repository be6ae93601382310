"""Write docs/reference/command-line.md from the command itself: python docs/_make/command_line.py"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from discreet.cli.app import app

PAGE = Path(__file__).parents[1] / "reference" / "command-line.md"
INTRODUCTION = """\
# The command line

Written from the command itself: what `discreet COMMAND --help` says. Exit codes: 0 where it is done, 2 where input
is bad or something is refused (one line says why, and what to do), 3 where an audit proves more than was promised,
4 where `discreet answer` has nothing to send, because it is no document's turn: no file is written, nothing is wrong.
"""
NEXT = "Next: [quick start](../quick-start.md) · [file formats](file-formats.md) · [the API](index.md)\n"


def commands(group: Any, prefix: str = "discreet") -> Iterator[tuple[str, Callable[..., Any]]]:
    for command in group.registered_commands:
        name = command.name or command.callback.__name__.replace("_", "-")
        yield f"{prefix} {name}", command.callback
    for inner in group.registered_groups:
        yield from commands(inner.typer_instance, f"{prefix} {inner.name}")


def kind_of(annotation: Any) -> tuple[type, bool]:
    """Return the type of a value, and whether it can be given several times."""
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(one for one in get_args(annotation) if one is not NoneType)
    if get_origin(annotation) is list:
        return get_args(annotation)[0], True
    return annotation, False


def parameters(command: Callable[..., Any]) -> Iterator[tuple[str, Any, Any, Any]]:
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        annotation, *extras = get_args(hints[name])
        info = next(one for one in extras if isinstance(one, (ArgumentInfo, OptionInfo)))
        yield name, annotation, info, parameter.default


def spelt(name: str, kind: Any, info: Any) -> str:
    """Return how an option is written, and what its value is."""
    long = name.strip("_").replace("_", "-")
    # In an annotation the first name takes the place of a default.
    names = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str)]
    declared = [one for one in names if one.startswith("-")]
    given = declared or ([f"--{long}", f"--no-{long}"] if kind is bool else [f"--{long}"])
    shown = ", ".join(f"`{one}`" for one in re.split(r"[ /]+", " ".join(given)))
    return shown if kind is bool else f"{shown} *{info.metavar or kind.__name__.lower()}*"


def told(info: Any, default: Any, several: bool) -> str:
    parts = [" ".join((info.help or "").split())]
    if info.min is not None:
        parts.append(f"At least {info.min}.")
    if several and not re.search("repeat|several", parts[0], re.IGNORECASE):
        parts.append("Can be given several times.")
    if default is inspect.Parameter.empty:
        parts.append("Required.")
    elif not isinstance(default, bool) and default not in (None, [], ()):
        parts.append(f"Default: {default}.")
    return re.sub(r"([<>|*])", r"\\\1", " ".join(filter(None, parts)))


def rows(command: Callable[..., Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return arguments and options, each with what is said of it."""
    arguments, options = {}, {}
    for key, annotation, info, default in parameters(command):
        kind, several = kind_of(annotation)
        if info.hidden:
            continue
        if isinstance(info, ArgumentInfo):
            arguments[f"`{(info.metavar or key).strip('_').upper()}`"] = told(info, default, several)
        else:
            options[spelt(key, kind, info)] = told(info, default, several)
    return arguments, options


def section(name: str, command: Callable[..., Any], known: dict[str, str]) -> str:
    """Describe a command; of options that are the same for ``discreet fit``, ``known``, only their names."""
    arguments, options = rows(command)
    alike = [spelling for spelling, help_ in options.items() if known.get(spelling) == help_]
    own = {spelling: help_ for spelling, help_ in (arguments | options).items() if spelling not in alike}
    usage = " ".join([name, "[OPTIONS]", *(label.strip("`") for label in arguments)])
    lines = [f"## {name}", "", f"```\n{usage}\n```", "", paragraphs(command), ""]
    if own:
        lines += ["| | |", "| --- | --- |", *(f"| {spelling} | {help_} |" for spelling, help_ in own.items())]
    if own and alike:
        lines += [""]
    if alike:
        names = ", ".join(spelling.partition(" *")[0] for spelling in alike)
        lines += [f"As for [discreet fit](#discreet-fit): {names}."]
    return "\n".join(lines) + "\n"


def paragraphs(command: Callable[..., Any]) -> str:
    text = inspect.cleandoc(command.__doc__ or "").replace("\f", "")
    parts = re.split(r"\n\s*\n", text)
    return "\n\n".join(
        part if part.startswith(" ") else textwrap.fill(" ".join(part.replace("\b", "").split()), 130)
        for part in parts
    )


def page() -> str:
    (first, fit), *others = commands(app)
    assert first == "discreet fit"
    _, known = rows(fit)
    sections = [section(first, fit, {}), *(section(*command, known) for command in others)]
    return "\n".join([INTRODUCTION, *sections, NEXT])


if __name__ == "__main__":
    PAGE.write_text(page())
