"""Versions that must agree everywhere, because the same bytes come of the same code only."""

from collections.abc import Mapping
from typing import Any

from discreet.errors import EngineError

__all__ = ["MUST_AGREE", "refuse_other_versions"]

MUST_AGREE = ("discreet", "numpy", "numba")


def refuse_other_versions(found: Mapping[str, Any]) -> None:
    """Refuse a cluster in which somebody has no discreet, or other versions than the client.

    Parameters
    ----------
    found : mapping
        As ``distributed.Client.get_versions(packages=[...])`` returns it.
    """
    here = found["client"]["packages"]
    faults: list[str] = []
    for where, they in (("the scheduler", found["scheduler"]), *found["workers"].items()):
        theirs = (they or {}).get("packages", {})
        for name in MUST_AGREE:
            if they and theirs.get(name) != here[name]:
                faults.append(f"{where} has {name} {theirs.get(name) or '(none)'}, not {here[name]}")
    if faults:
        raise EngineError(
            f"the same bytes come of the same versions only: {'; '.join(faults[:5])}. Install discreet and what it "
            "stands on in the same versions everywhere."
        )
