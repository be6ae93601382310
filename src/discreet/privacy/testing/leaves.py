"""What values are made of: every number, word and array that can be reached, under the name by which it is reached."""

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress

# Pickling, as other processes would: only to compare what is inside, never to keep a model.
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.privacy.ledger.ledger import Ledger

__all__ = ["arrays_in", "frozen", "leaves_of"]

_DEEPEST = 8
_CODE = (type, FunctionType, MethodType, ModuleType)


def leaves_of(value: Any) -> dict[str, bytes]:
    """Return the bytes of all that a value is made of, by name: of two equal values they are equal."""
    return dict(_leaves(value))


def arrays_in(value: Any) -> Iterator[NDArray[Any]]:
    """Yield the arrays that can be reached from a value through its attributes and containers."""
    yield from (part for _, part in _parts(value, "", frozenset()) if isinstance(part, np.ndarray))


def frozen(value: Any) -> bytes:
    """Return the bytes that another process would be sent of ``value``."""
    return bytes(ForkingPickler.dumps(value))


def _leaves(value: Any) -> Iterator[tuple[str, bytes]]:
    for name, part in _parts(value, "", frozenset()):
        if isinstance(part, np.ndarray):
            yield name, f"{part.dtype}{part.shape}".encode() + part.tobytes()
        elif isinstance(part, Ledger):
            terms = (part.epsilon, part.delta, part.privacy_unit, part.neighboring)
            yield name, f"{terms}{part.entries}".encode()
        else:
            with suppress(TypeError, PicklingError):  # locks, and what else no other process can have
                yield name, frozen(part)


def _parts(value: Any, name: str, above: frozenset[int]) -> Iterator[tuple[str, Any]]:
    """Yield what is no container, by name: arrays of numbers and ledgers as they are."""
    if id(value) in above or len(above) > _DEEPEST or isinstance(value, _CODE):
        return
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield name, value
        return
    inside = _inside(value)
    if inside is None:
        yield name, value
        return
    for key, part in inside:
        yield from _parts(part, f"{name}{key}", above | {id(value)})


def _inside(value: Any) -> Iterable[tuple[str, Any]] | None:
    """Return the parts of a container, by name; None of what is none."""
    if isinstance(value, Ledger):
        return None
    if sp.issparse(value):
        return [(f".{name}", getattr(value, name)) for name in ("data", "indices", "indptr", "shape")]
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, np.ndarray | list | tuple):
        length = ("'s length", len(value))  # an empty list is something, too
        return [length, *((f"[{number}]", part) for number, part in enumerate(value))]
    if isinstance(value, Set):
        return [(f"[{number}]", part) for number, part in enumerate(sorted(value, key=repr))]
    if hasattr(value, "__dict__"):
        return [(f".{key}", part) for key, part in vars(value).items()]
    return None
