"""Which cases of a parametrised test `scripts/test` runs; `scripts/test --integration` runs the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def quick(cases: Iterable[Any], *chosen: Any) -> list[Any]:
    """Mark every case but the chosen ones with `integration`; a tuple is a case of several arguments."""
    cases = list(cases)
    assert all(one in cases for one in chosen), f"no such case among {cases}: {chosen}"
    return [
        case
        if case in chosen
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.integration)
        for case in cases
    ]
