"""Words with their articles: as they are spoken, in every message that says what kind of object came."""

import re
from pathlib import Path

import numpy as np
import pytest

from discreet import PrivateLDA
from discreet._base.validate import kind_of, with_article
from discreet.errors import ParameterError

SAID = [
    "a list",
    "an int",
    "a uint8",
    "an ndarray",
    "an object",
    "an Index",
    "a NoneType",
    "a union",
    "an unset",
]


@pytest.mark.parametrize("said", SAID)
def test_words_take_the_article_that_is_spoken(said):
    assert with_article(said.partition(" ")[2]) == said


def test_errors_say_an_int():
    assert [kind_of(value) for value in (7, [], np.ones(2), np.uint8(1))] == [
        "an int",
        "a list",
        "an ndarray",
        "a uint8",
    ]
    with pytest.raises(ParameterError, match="but is an ndarray"):
        PrivateLDA(2, epsilon=1.0, callback=np.ones(2)).fit(np.ones((3, 2), int))


def test_no_message_writes_an_article_before_a_kind():
    """One helper knows articles: a message that puts one before a name in braces would be wrong for half of them."""
    source = Path(__file__).parents[1] / "src" / "discreet"
    wrong = [
        f"{path.name}: {line.strip()}"
        for path in source.rglob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r"\ban? \{(kind|type\(|\w+\.__name__|failure\b|\w+\.unit\})", line)
    ]
    assert not wrong, "\n".join(wrong)
