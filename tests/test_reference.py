"""The API reference: every public name stands in it, and every parameter of every name is documented."""

import importlib
import inspect
import re
from pathlib import Path

from tests.test_house import ROOMS

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
MODULES = ("discreet", *(f"discreet.{room}" for room in ROOMS))
PUBLIC = [
    (module, name)
    for module in MODULES
    for name in importlib.import_module(module).__all__
    if name not in ROOMS and name != "__version__"
]


def entries() -> list[str]:
    return [
        entry
        for page in REFERENCE.glob("*.md")
        for entry in re.findall(r"^::: (\S+)$", page.read_text(), re.M)
    ]


def test_every_public_name_has_an_entry():
    found = entries()
    assert len(found) == len(set(found))
    homes: dict[int, list[str]] = {}
    for module, name in PUBLIC:
        homes.setdefault(id(getattr(importlib.import_module(module), name)), []).append(f"{module}.{name}")
    missing = [paths for paths in homes.values() if not set(paths) & set(found)]
    assert not missing, "put them into docs/reference, as ::: discreet.room.Name"
    unknown = set(found) - {path for paths in homes.values() for path in paths}
    assert not [path for path in unknown if not record(path)], "these are not public, or no more"
    assert not record("discreet.audit.one_run.one_run_bound")


def record(path: str) -> bool:
    """Whether this is a class that public calls return or take: under its module it may have an entry."""
    module, _, name = path.rpartition(".")
    return module not in MODULES and inspect.isclass(getattr(importlib.import_module(module), name))


def documented(docstring: str, sections: tuple[str, ...]) -> set[str]:
    """Return the names that stand in sections of a numpydoc docstring."""
    names: set[str] = set()
    for section in sections:
        pattern = rf"^{section}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}\n|\Z)"
        for body in re.findall(pattern, docstring, re.MULTILINE | re.DOTALL):
            heads = [line.split(" : ")[0] for line in body.split("\n") if line and not line[0].isspace()]
            names |= {name.strip().lstrip("*") for head in heads for name in head.split(",")}
    return names


def undocumented(thing: object) -> list[str]:
    """Return the parameters of a function, or of a class's constructor, that its docstring does not have."""
    # The fields of a record are its attributes, and said once.
    sections = ("Parameters", "Attributes") if inspect.isclass(thing) else ("Parameters",)
    known = documented(inspect.getdoc(thing) or "", sections)
    return [
        name for name in inspect.signature(thing).parameters if not name.startswith("_") and name not in known
    ]


CALLED = {
    f"{module}.{name}": thing
    for module, name in PUBLIC
    if callable(thing := getattr(importlib.import_module(module), name))
    and not getattr(thing, "_is_protocol", False)
    and not (inspect.isclass(thing) and issubclass(thing, BaseException))
}


def test_every_parameter_is_documented():
    assert [path for path, thing in CALLED.items() if not inspect.getdoc(thing)] == []
    assert {path: lacking for path, thing in CALLED.items() if (lacking := undocumented(thing))} == {}


HEAD = re.compile(r"^([a-z_]\w*(?:, [a-z_]\w*)*) : (.*)$", re.MULTILINE)


def wrong(thing: object) -> list[str]:
    """Return the entries of parameters whose default, or whose type for all of a group, the signature denies."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)",
        inspect.getdoc(thing) or "",
        re.MULTILINE | re.DOTALL,
    )
    known = inspect.signature(thing).parameters
    found = []
    for head in HEAD.finditer(section[1]) if section else ():
        here = [known[name] for name in head[1].split(", ") if name in known]
        kinds = {str(each.annotation).replace(" | None", "") for each in here}
        told = re.search(r"default (.*)$", head[2])
        said = (told[1].split(" and ") if len(here) > 1 else [told[1]]) if told else []
        values = [eval(text.strip("`"), {"__builtins__": {}}) for text in said]
        one_type = len(kinds) < 2 or head[2] == "optional" or " or " in head[2]
        if not one_type or "by default" in head[2] or (told and values != [each.default for each in here]):
            found.append(head[0])
    return found


def test_defaults_and_types_are_those_of_the_signature():
    assert {path: lines for path, thing in CALLED.items() if (lines := wrong(thing))} == {}


def test_a_wrong_default_and_a_wrong_type_are_found():
    def one(first: float = 0.5, second: int = 2, third: float = 1e-6, fourth: float = 1.0, fifth: int = 3):
        """Do.

        Parameters
        ----------
        first : float, default 0.1
            A.
        second : int, default 2
            B.
        third, fourth : float, default 1e-6 and 1.0
            C.
        fourth, fifth : float
            D.
        third, fourth : float, third 1e-6 by default
            E.
        """

    assert wrong(one) == [
        "first : float, default 0.1",
        "fourth, fifth : float",
        "third, fourth : float, third 1e-6 by default",
    ]


def test_what_is_missing_is_found():
    def one(first, second):
        """Do.

        Parameters
        ----------
        first : int

        Returns
        -------
        second : int
        """

    class Two:
        """A thing.

        Parameters
        ----------
        first, second : int

        Attributes
        ----------
        third : int
        """

        def __init__(self, first, second, third, fourth): ...

    assert undocumented(one) == ["second"]
    assert undocumented(Two) == ["fourth"]
