"""A cluster that the tests of a module share."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.clusters import local_cluster


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of two workers."""
    with local_cluster(2) as connected:
        yield connected
