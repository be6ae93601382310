"""Corpora in shards, for rooms that must not know those of shards and engines."""

from typing import Any, TypeGuard

from discreet._lazy import later

__all__ = ["is_sharded", "run_over_shards"]

#: ``run_over_shards(shards, read, engine, n_jobs)``: :class:`discreet.engines.process.ShardRunner`.
run_over_shards = later("discreet.engines.process", "ShardRunner")


def is_sharded(X: Any) -> TypeGuard[Any]:
    """Whether documents lie in shards: known by what their class has, for a frame has any column."""
    return hasattr(type(X), "shards")
