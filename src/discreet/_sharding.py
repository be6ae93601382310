"""Going through shards, for rooms that must not know those of shards and engines: filled in by the package's root."""

from collections.abc import Callable
from typing import Any, TypeGuard

__all__ = ["is_sharded", "sharding"]


class _Sharding:
    """One function; :mod:`discreet` names it, and loads it when it is first called.

    Attributes
    ----------
    through : callable
        ``through(shards, read, engine, n_jobs)``, as :class:`discreet.engines.process.ShardRunner`.
    """

    through: Callable[..., Any]


sharding = _Sharding()


def is_sharded(X: Any) -> TypeGuard[Any]:
    """Whether documents lie in shards: known by what their class has, for a frame has any column."""
    return hasattr(type(X), "shards")
