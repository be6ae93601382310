"""For the site: references in docstrings (``:class:`~discreet.Corpus```) become links, or plain code."""

import re
from typing import Any

import griffe

ROLE = re.compile(r":(class|func|meth|mod|attr|exc|data|math):`(~?)([^`]+)`")


class Roles(griffe.Extension):
    """Rewrite the roles of every docstring of the package once it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Begin at the package itself; what is not public is rewritten, too, and shown nowhere."""
        rooms = {
            room: member for room, member in pkg.members.items() if not member.is_alias and member.is_module
        }
        homes = {name: f"{pkg.name}.{name}" for name in exported(pkg) if name not in rooms}
        for room, member in rooms.items():
            homes = {name: f"{pkg.name}.{room}.{name}" for name in exported(member)} | homes
        visit(pkg, homes, set())


def exported(module: Any) -> list[str]:
    return [str(name) for name in module.exports or []]


def visit(member: Any, homes: dict[str, str], seen: set[str]) -> None:
    if member.is_alias or member.path in seen:
        return
    seen.add(member.path)
    if member.docstring:
        member.docstring.value = ROLE.sub(
            lambda found: linked(*found.groups(), homes), member.docstring.value
        )
    for child in member.members.values():
        visit(child, homes, seen)


def linked(kind: str, short: str, target: str, homes: dict[str, str]) -> str:
    name = target.rpartition(".")[2]
    shown = name if short else target
    if kind in ("class", "func", "exc") and name in homes:
        return f"[`{shown}`][{homes[name]}]"
    return f"`{shown}`"
