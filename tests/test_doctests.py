"""The examples in docstrings do what they say."""

import doctest
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


def test_the_main_estimators_have_examples():
    names = ("PrivateLDA", "PrivateCountVectorizer", "GibbsLDA", "VariationalLDA", "LocalLDA", "FederatedLDA")
    for name in names:
        assert ">>> " in (getattr(discreet, name).__doc__ or ""), name
