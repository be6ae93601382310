"""Shards, what each is made into where it is read, and who goes through them: what callers of an engine share."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.engines.beside import Beside
from discreet.engines.engine import Engine, Piece
from discreet.engines.process import ProcessEngine

__all__ = ["Through"]

Sum = Callable[..., NDArray[np.int64]]


class Through:
    """Goes through shards, each read in the same way. Functions are known by their names in their modules.

    Parameters
    ----------
    shards : sequence of Piece
    read : callable
        ``read(shard)`` is what functions get of a shard.
    engine : Engine, optional
        By default threads of this process, each with one shard in memory.
    n_jobs : int, optional
        So many.
    """

    def __init__(
        self,
        shards: Sequence[Piece],
        read: Callable[[Any], Any],
        engine: Engine | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.shards, self.read = shards, read
        self.engine: Engine = engine or ProcessEngine(n_jobs)
        self._started: list[Beside] = []

    def sum(self, function: Sum, *public: Any) -> NDArray[np.int64]:
        """Return the sum over shards of ``function(read(shard), *public)``."""
        return self.engine.map_sum(partial(_on_read, function, self.read), self.shards, *public)

    def map(self, function: Callable[..., Any], *public: Any) -> Iterator[Any]:
        """Yield ``function(read(shard), *public)`` for each shard, in their order."""
        return self.engine.map(partial(_on_read, function, self.read), self.shards, *public)

    def start(self, function: Callable[..., Any], *public: Any) -> Beside:
        """Say what stays beside each shard: at first ``function(read(shard), *public)``."""
        self._started.append(Beside(partial(_start, function, self.read, public)))
        return self._started[-1]

    def step(self, beside: Beside, function: Sum, *public: Any) -> NDArray[np.int64]:
        """Return the sum of ``function(read(shard), state, *public)``, which changes the states in place.

        One function for all steps: it is what makes a lost state anew.
        """
        return self.engine.map_sum(partial(_step, function, self.read), self.shards, *public, beside=beside)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        """Drop what lies beside the shards, also where the end is a fault."""
        forget: Callable[[Beside], None] = getattr(self.engine, "forget", _keep)
        for beside in self._started:
            forget(beside)


def _keep(beside: Beside) -> None:
    """Do nothing: an engine that somebody else wrote may have no ``forget``."""


def _on_read(function: Callable[..., Any], read: Callable[[Any], Any], shard: Any, *public: Any) -> Any:
    return function(read(shard), *public)


def _start(
    function: Callable[..., Any], read: Callable[[Any], Any], public: tuple[Any, ...], shard: Any
) -> NDArray[Any]:
    return function(read(shard), *public)


def _step(
    function: Sum, read: Callable[[Any], Any], shard: Any, state: NDArray[Any], *public: Any
) -> NDArray[np.int64]:
    return function(read(shard), state, *public)
