"""For the site: references in docstrings become links, or plain code, and each parameter has an entry of its own."""

import re
from typing import Any

import griffe

ROLE = re.compile(r":(class|func|meth|mod|attr|exc|data|math):`(~?)([^`]+)`")
#: What griffe reads wrongly: it gives all names of a group the type and the default of the first, and takes the first
#: of some choices for the default where none is named.
GROUP = re.compile(r"^([a-z_]\w*(?:, [a-z_]\w*)+)(?: : (.+?)(?:, default .*)?)?$((?:\n+ .*)+)", re.MULTILINE)
CHOICES = re.compile(r"^([a-z_]\w* : )\{([^}]*)\}(, optional)?$", re.MULTILINE)


class Roles(griffe.Extension):
    """Rewrite every docstring of the package once it is loaded."""

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
        text = CHOICES.sub(lambda found: found[1] + found[2].replace(", ", " | "), member.docstring.value)
        member.docstring.value = ROLE.sub(
            lambda found: linked(*found.groups(), homes), GROUP.sub(one_by_one, text)
        )
    for child in member.members.values():
        visit(child, homes, seen)


def one_by_one(group: re.Match[str]) -> str:
    """Return an entry for each name of a group; defaults, and types not written, come from the signature."""
    first, *others = group[1].split(", ")
    kind = f" : {group[2]}" if group[2] else ""
    told = [f"{name}{kind}\n    With `{first}`, above." for name in others]
    return "\n".join([f"{first}{kind}{group[3]}", *told])


def linked(kind: str, short: str, target: str, homes: dict[str, str]) -> str:
    name = target.rpartition(".")[2]
    shown = name if short else target
    if kind in ("class", "func", "exc") and name in homes:
        return f"[`{shown}`][{homes[name]}]"
    return f"`{shown}`"
