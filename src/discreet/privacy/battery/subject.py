"""What values are made of: every number, word and array that can be reached, under the name by which it is reached.

What the battery works on: an estimator, how to feed it, and instruments that watch a fit
=========================================================================================
"""

import inspect
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from pickle import PicklingError
from types import FunctionType, ModuleType
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.errors import SeparateBudgetsWarning
from discreet.privacy.ledger.ledger import Ledger

# Pickling, as other processes would: only to compare what is inside, never to keep a model.


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
    return _of_function(value) if isinstance(value, FunctionType) else _of_object(value)


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


_WORDS = 24


class Subject(NamedTuple):
    """An estimator, cloned for every fit, and how to feed it: ``make(n_documents)[:-1]`` must be a neighbour.

    ``released`` are fitted attributes that leave; ``times`` those that are vouched to be times, which are not compared.
    """

    estimator: Any
    make: Callable[[int], Any]
    released: tuple[str, ...]
    takes_counts: bool
    times: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What the estimator protects."""
        return getattr(self.estimator, "privacy_unit", None) or "document"

    @property
    def relation(self) -> str:
        """When two data sets are neighbours."""
        return getattr(self.estimator, "neighboring", "add_or_remove_one")

    def new(self, **parameters: Any) -> Any:
        """Return an unfitted clone with other parameters."""
        from sklearn.base import clone

        fresh: Any = clone(self.estimator)
        return fresh.set_params(**parameters)

    def fit(self, X: Any, *, persons: Any = None, **parameters: Any) -> Any:
        """Fit a clone with other parameters."""
        return self.fit_model(self.new(**parameters), X, persons)

    def fit_model(self, model: Any, X: Any, persons: Any = None) -> Any:
        """Fit a model; where people are the unit it is told them, by default two documents for each."""
        with warnings.catch_warnings():
            # Each fit has a ledger of its own, on purpose: none of them is released.
            warnings.simplefilter("ignore", SeparateBudgetsWarning)
            warnings.filterwarnings("ignore", "the columns of X have no words")
            return model.fit(X, **self._told(X, persons))

    def _told(self, X: Any, persons: Any) -> dict[str, Any]:
        """Return what ``fit`` is told of people: nothing where it takes none, or would rightly refuse them."""
        if self.unit != "person" or "persons" not in inspect.signature(self.estimator.fit).parameters:
            return {}
        if persons is None and getattr(X, "persons", None) is None:
            persons = np.arange(_n_rows(X)) // 2
        return {} if persons is None else {"persons": persons}

    def fitted(self, model: Any) -> dict[str, Any]:
        """Return all that a model has and a new one has not: what was learned, released or not."""
        held = self.held(model) | {name: getattr(model, name) for name in self.released}
        left_out = {*self.estimator.get_params(deep=False), *self.times}
        return {name: value for name, value in held.items() if name not in left_out}

    def held(self, model: Any) -> dict[str, Any]:
        """Return all that a model would hold in another process."""
        return dict(model.__getstate__())

    def known(self, **parameters: Any) -> dict[str, Any]:
        """Return those of the parameters that the estimator has."""
        own = self.estimator.get_params(deep=False)
        return {name: value for name, value in parameters.items() if name in own}

    def ledger(self, epsilon: float = 1e3, delta: float = 1e-3) -> Ledger:
        """Return a fresh ledger under the estimator's own unit."""
        return Ledger(epsilon, delta, privacy_unit=self.unit, neighboring=self.relation)

    def bytes_of(self, model: Any) -> bytes:
        """Return everything released, as bytes."""
        parts: list[bytes] = []
        for name in self.released:
            value = getattr(model, name)
            if hasattr(value, "save"):
                parts += [content for _, content in sorted(_files_of(value).items())]
            else:
                parts.append(frozen(value))
        return b"\0".join(parts)


def planted_counts(n_documents: int) -> sp.csr_matrix:
    """Return counts about two themes, the same rows for any number of documents."""
    rows: list[Any] = []
    for row in range(n_documents):
        rng = np.random.default_rng([7, row])
        theme = np.full(_WORDS, 0.1)
        theme[row % 2 :: 2] = 2.0
        rows.append(rng.poisson(theme))
    return sp.csr_matrix(np.array(rows, dtype=np.int32).reshape(-1, _WORDS))


def _n_rows(X: Any) -> int:
    data = X.hidden if isinstance(X, Spy) else X
    return int(data.shape[0]) if hasattr(data, "shape") else len(data)


def _files_of(release: Any) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "release"  # a file or a folder
        release.save(saved)
        return {path.name: path.read_bytes() for path in (saved.iterdir() if saved.is_dir() else [saved])}


class Spy:
    """Data that writes down, at each read, what ``note()`` says at that moment.

    What describes data without reading it (shape, vocabulary, persons) may be asked for freely.
    """

    _FREE = (
        "shape",
        "ndim",
        "dtype",
        "vocabulary",
        "word_origin",
        "words_are_public",
        "ledger",
        "persons",
        "columns",
        "word_weights",
    )

    def __init__(self, data: Any, note: Callable[[], Any]) -> None:
        self._data = data
        self._note = note
        self.seen: list[Any] = []

    @property
    def hidden(self) -> Any:
        """The data, for those who need not be watched."""
        return self._data

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._data, name)  # to ask for what is not there reads nothing
        if name not in self._FREE:
            self._read()
        return value

    def _read(self) -> Any:
        self.seen.append(self._note())
        return self._data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        data = self._read()
        return np.array(data.toarray() if sp.issparse(data) else data, dtype=dtype)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())

    def __getitem__(self, key: Any) -> Any:
        return self._read()[key]

    def __len__(self) -> int:
        return _n_rows(self._read())


@contextmanager
def recorded_keys() -> Generator[list[bytes]]:
    """Collect the keys of all streams and arrays of noise that are made meanwhile."""
    from discreet.privacy.noise import stream

    keys: list[bytes] = []
    derive: Any = getattr(stream, "_derive")  # noqa: B009  (private on purpose, and wanted on purpose)

    def recording(key: bytes, counter: int, purpose: str, person: bytes) -> bytes:
        made: bytes = derive(key, counter, purpose, person)
        if person != b"discreet.words":  # those are read on from where the last read ended
            keys.append(made)
        return made

    with mock.patch.object(stream, "_derive", recording):
        yield keys
