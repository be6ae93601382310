"""What an engine is: two methods that go through shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.engines.beside import Beside

__all__ = ["Engine", "Piece"]


class Piece(Protocol):
    """A shard, as far as an engine knows it: small, can be sent, and has a name that no other shard of a run has."""

    @property
    def name(self) -> str:
        """The name."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Goes through shards. Whatever does it, and whatever dies meanwhile, the answers are the same bytes.

    Tasks are functions that can be imported by name where they run. They must be pure: a task may be run again, or
    twice at once, and its answer counts once.
    """

    def map_sum(
        self,
        function: Callable[..., NDArray[np.int64]],
        shards: Sequence[Piece],
        *public: Any,
        beside: Beside | None = None,
    ) -> NDArray[np.int64]:
        """Return the sum over shards of ``function(shard, *public)``.

        Parameters
        ----------
        function : callable
            Returns an integer array, of one shape for all shards. With ``beside`` it is called as
            ``function(shard, state, *public)`` and changes the state in place.
        shards : sequence
            At least one.
        *public : Any
            What goes to every shard; it travels, so it must be public.
        beside : Beside, optional
            What stays beside each shard from step to step.

        Raises
        ------
        EngineError, CorpusError
            Where a shard cannot be read, or nobody is there to work on it.
        """
        ...

    def map(self, function: Callable[..., Any], shards: Sequence[Piece], *public: Any) -> Iterator[Any]:
        """Yield ``function(shard, *public)`` for each shard, in their order. The answers travel."""
        ...
