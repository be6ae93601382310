"""What ``help()`` shows of public names: signatures that can be read, parameters and attributes that are described."""

import importlib
import inspect
import re

import pytest
from tests.test_api import CLASSES
from tests.test_reference import PUBLIC, documented

import discreet

#: Characters of one annotation, as ``help()`` writes it; all of numpy's ``ArrayLike``, written out, has 300.
LONGEST = 90


def functions_of(thing):
    """Yield the class or function itself, and the public methods that a class has from this library."""
    yield thing.__name__, thing
    for home in thing.__mro__ if inspect.isclass(thing) else ():
        if home.__module__.startswith("discreet"):
            for name, value in vars(home).items():
                method = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                if inspect.isfunction(method) and not name.startswith("_"):
                    yield f"{thing.__name__}.{name}", method


def annotations(function):
    try:
        signature = inspect.signature(function)
    except ValueError:  # exceptions built in C
        return
    for annotation in (
        *(one.annotation for one in signature.parameters.values()),
        signature.return_annotation,
    ):
        if annotation is not inspect.Signature.empty:
            yield inspect.formatannotation(annotation)


def unreadable(thing):
    return [
        f"{name}: {text[:LONGEST]}"
        for name, function in functions_of(thing)
        for text in annotations(function)
        if len(text) > LONGEST or "numpy." in text
    ]


@pytest.mark.parametrize("module", sorted({module for module, _ in PUBLIC}))
def test_no_signature_writes_out_what_an_alias_stands_for(module):
    things = [getattr(importlib.import_module(module), name) for found, name in PUBLIC if found == module]
    assert [text for thing in things if callable(thing) for text in unreadable(thing)] == [], (
        "put `from __future__ import annotations` into the module"
    )


def test_written_out_unions_are_found():
    from numpy.typing import ArrayLike, NDArray

    class Thing:
        def one(self, table: ArrayLike) -> int: ...

        @classmethod
        def two(cls) -> NDArray: ...

        def three(self, table: "ArrayLike") -> None: ...

    Thing.__module__ = "discreet"
    assert [text.split(":")[0] for text in unreadable(Thing)] == ["Thing.one", "Thing.two"]


def bare(docstring, section):
    """Return the entries of a numpydoc section that no line describes."""
    body = re.search(rf"^{section}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}\n|\Z)", docstring, re.M | re.S)
    # Heads in a row share the description that follows the last.
    return re.findall(r"^(\S.*)\n(?=\n|\Z)", body.group(1), re.M) if body else []


@pytest.mark.parametrize("thing", [*CLASSES.values(), discreet.fit_topics], ids=lambda thing: thing.__name__)
def test_parameters_and_attributes_are_described(thing):
    text = inspect.getdoc(thing) + "\n"
    assert bare(text, "Parameters") + bare(text, "Attributes") == []
    alone = re.findall(r"^(\w+ : .*)\n(?=\S+ : )", text, re.M)
    assert alone == []


@pytest.mark.parametrize("name", CLASSES)
def test_what_a_class_shows_of_itself_is_described(name):
    known = documented(inspect.getdoc(CLASSES[name]), ("Parameters", "Attributes"))
    for one in inspect.classify_class_attrs(CLASSES[name]):
        if one.kind in ("data", "property") and not one.name.startswith("_"):
            assert one.name in known
            assert one.kind == "data" or inspect.getdoc(one.object)


#: What users of the library of mechanisms see as Any, and why.
UNTYPED = {"Ledger.to_frame": "a frame of pandas, polars or pyarrow, whichever is installed"}


def untyped(thing):
    return {
        name
        for name, function in functions_of(thing)
        for text in annotations(function)
        if re.search(r"(?<!NDArray\[)\bAny\b", text)
    }


def test_the_library_of_mechanisms_says_what_it_takes_and_returns():
    from discreet import privacy

    things = [*(getattr(privacy, name) for name in privacy.__all__ if name != "events")]
    made = privacy.events.__name__
    things += [
        thing
        for name, thing in vars(privacy.events).items()
        if not name.startswith("_") and getattr(thing, "__module__", made) == made
    ]
    found = [untyped(thing) for thing in things if inspect.isclass(thing) or inspect.isfunction(thing)]
    assert set().union(*found) == set(UNTYPED)
    assert len(found) > 30
