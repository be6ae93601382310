"""What values are made of: every number, word and array that can be reached, under the name by which it is reached."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

# Pickling, as other processes would: only to compare what is inside, never to keep a model.
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.privacy.ledger.ledger import Ledger

__all__ = ["all_bytes", "arrays_in", "frozen", "leaves_of"]

#: Deeper than any honest value; what lies deeper is compared as it would be sent to another process.
_DEEPEST = 60
_CODE = (type, ModuleType)
#: What is raised for locks, local functions, and what else no other process can have.
_NOT_SENT = (TypeError, AttributeError, PicklingError, RecursionError)
_PLAIN = (int, float, complex, bool, str, bytes, type(None))


def leaves_of(value: Any) -> dict[str, bytes]:
    """Return the bytes of all that a value is made of, by name: of two equal values they are equal."""
    return dict(_leaves(value))


def arrays_in(value: Any) -> Iterator[NDArray[Any]]:
    """Yield the arrays that can be reached from a value through its attributes and containers."""
    yield from (part for _, part in _parts(value, "", {}) if isinstance(part, np.ndarray))


def frozen(value: Any) -> bytes:
    """Return the bytes that another process would be sent of ``value``."""
    return bytes(ForkingPickler.dumps(value))


def all_bytes(value: Any) -> bytes:
    """Return all bytes that can be reached from ``value``, also where parts of it cannot be sent."""
    try:
        return frozen(value)
    except _NOT_SENT:
        return b"\0".join(leaves_of(value).values())


def _leaves(value: Any) -> Iterator[tuple[str, bytes]]:
    for name, part in _parts(value, "", {}):
        if isinstance(part, np.ndarray):
            yield name, f"{part.dtype}{part.shape}".encode() + part.tobytes()
        elif isinstance(part, Ledger):
            terms = (part.epsilon, part.delta, part.privacy_unit, part.neighboring)
            yield name, f"{terms}{part.entries}".encode()
        else:
            with suppress(*_NOT_SENT):
                yield name, frozen(part)


def _parts(value: Any, name: str, seen: dict[int, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield what is no container, by name: arrays of numbers and ledgers as they are. Each container once."""
    if isinstance(value, _CODE):
        return
    if type(value) is np.ndarray and not value.dtype.hasobject:
        yield name, value
        return
    inside = None if type(value) in _PLAIN or depth > _DEEPEST else _inside(value)
    if inside is None:
        yield name, value
        return
    if id(value) in seen:
        return
    seen[id(value)] = value  # kept, so that nothing made meanwhile has the same id
    for key, part in inside:
        yield from _parts(part, f"{name}{key}", seen, depth + 1)


def _inside(value: Any) -> list[tuple[str, Any]] | None:
    """Return the parts of a container, by name; None of what is none."""
    if isinstance(value, Ledger | np.generic):
        return None
    if sp.issparse(value):
        return [(f".{name}", getattr(value, name)) for name in ("data", "indices", "indptr", "shape")]
    if type(value) is dict:
        return _items(value)
    if type(value) in (np.ndarray, list, tuple):
        return _numbered(value)
    if type(value) in (set, frozenset):
        return [(f"[{number}]", part) for number, part in enumerate(sorted(value, key=repr))]
    if isinstance(value, FunctionType):
        return _of_function(value)
    return _of_object(value)


def _items(value: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    return [(f"[{key!r}]", part) for key, part in value.items()]


def _numbered(value: Iterable[Any]) -> list[tuple[str, Any]]:
    parts = list(value)
    length = ("'s length", len(parts))  # an empty list is something, too
    return [length, *((f"[{number}]", part) for number, part in enumerate(parts))]


def _of_function(value: FunctionType) -> list[tuple[str, Any]]:
    """Return what a function brings along: the variables around it, and its defaults."""
    found: list[tuple[str, Any]] = []
    for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
        with suppress(ValueError):  # not filled yet
            found.append((f"'s {name}", cell.cell_contents))
    return [
        *found,
        ("'s defaults", value.__defaults__),
        ("'s defaults", value.__kwdefaults__),
        *_attributes(value),
    ]


def _attributes(value: Any) -> list[tuple[str, Any]]:
    return [(f".{key}", part) for key, part in vars(value).items()] if hasattr(value, "__dict__") else []


def _of_object(value: Any) -> list[tuple[str, Any]] | None:
    """Return the attributes of an object, and what it would be made of in another process.

    The second shows what is held in C: the blocks of a data frame, the arguments of a partial call, the number that a
    subclass of float is, the entries of a subclass of dict.
    """
    found = _attributes(value)
    try:
        made = value.__reduce_ex__(4)
    except Exception:  # what the object says of itself may fail in any way: a lock cannot be sent, for one
        if isinstance(value, Mapping):
            found += _items(value)
        return found if hasattr(value, "__dict__") or found else None
    if isinstance(made, str):  # the name of something public
        return found or None
    arguments, state, entries, items = (*made[1:], None, None, None)[:4]
    found += [("'s maker", made[0]), ("'s making", tuple(arguments or ()))]
    for part in state if isinstance(state, tuple) else (state,):
        if isinstance(part, dict):
            known = {name for name, _ in found}
            found += [(f".{key}", one) for key, one in part.items() if f".{key}" not in known]
        elif part is not None:
            found.append(("'s state", part))
    if entries is not None:
        found += _numbered(entries)
    return found if items is None else [*found, *_items(dict(items))]
