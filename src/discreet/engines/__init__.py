"""How sums over shards are computed: by threads of this process, or by the workers of a Dask cluster.

An engine has two methods, ``map_sum`` and ``map`` (:class:`Engine`), and knows tasks and shards, but nothing of topics
or of privacy. What comes of it is the same for every engine: sums are integers, and a task is a pure function of its
shard and of public arrays.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.engines.cluster import DaskEngine
    from discreet.engines.engine import Engine, ProcessEngine
    from discreet.engines.state_store import StateStore


__all__ = ["DaskEngine", "Engine", "ProcessEngine", "StateStore"]

__getattr__, __dir__ = lazy_names("discreet.engines")
