"""The examples in docstrings and in the reference do what they say, and each public name has one."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
WITH_EXAMPLES = sorted(
    ".".join(("discreet", *path.relative_to(SOURCE).with_suffix("").parts))
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text()
)
LONG = ["discreet.local.whole_document.estimator"]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.integration if name in LONG else ()) for name in WITH_EXAMPLES],
)
def test_examples_in_docstrings(name):
    failed, tried = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 0
    assert failed == 0


REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
ENTRY = re.compile(r"^::: (\S+)$", re.MULTILINE)
#: As docs/_make/hooks.py reads them: an example belongs to those of the names right above it that stand in it.
EXAMPLE = re.compile(r"((?:^::: \S+\n+)+)^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IN_REFERENCE = {
    ENTRY.findall(names)[-1]: (ENTRY.findall(names), code)
    for page in sorted(REFERENCE.glob("*.md"))
    for names, code in EXAMPLE.findall(page.read_text())
}
#: Shown elsewhere, or called by no reader.
WITHOUT = {
    "discreet.engines.DaskEngine": "needs a cluster: how-to/cluster.md",
    "discreet.engines.Engine": "a protocol",
    "discreet.engines.StateStore": "what an engine is given",
    "discreet.privacy.check_private_estimator": "takes minutes: battery.md",
}


@pytest.mark.parametrize("name", IN_REFERENCE)
def test_examples_in_the_reference(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(IN_REFERENCE[name][1], {}, name, None, None)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert tried > 0
    assert failed == 0


def test_every_public_name_has_an_example():
    shown = {
        path
        for names, code in IN_REFERENCE.values()
        for path in names
        if re.search(rf"\b{path.rpartition('.')[2]}\b", code)
    }
    entries = {path for page in REFERENCE.glob("*.md") for path in ENTRY.findall(page.read_text())}
    lacking = set()
    for path in entries - shown:
        home, _, name = path.rpartition(".")
        thing = getattr(import_module(home), name)
        # Errors are raised; records, which stand under their modules, are what a call returns.
        record = inspect.isclass(thing) and (home.count(".") > 1 or issubclass(thing, Exception))
        if not record and not has_example(thing):
            lacking.add(path)
    assert lacking == set(WITHOUT)


def has_example(thing):
    """Whether a docstring has one: that of the thing, or that of a public method."""
    methods = [one for name, one in vars(thing).items() if name[0] != "_"] if inspect.isclass(thing) else []
    return any(">>> " in (inspect.getdoc(one) or "") for one in [thing, *methods])
