"""What the battery works on: an estimator, how to feed it, and instruments that watch a fit."""

import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

# Pickling, as other processes would: only to look for what must not be inside, never to keep a model.
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.privacy.ledger.ledger import Ledger

__all__ = ["Spy", "Subject", "arrays_in", "frozen", "planted_counts", "recorded_draws", "recorded_keys"]

_WORDS = 24


class Subject(NamedTuple):
    """An estimator, and how to feed it.

    Attributes
    ----------
    estimator : estimator
        Unfitted; it is cloned for every fit.
    make : callable
        ``make(n_documents) -> X``; X[:-1] must be a neighbour of X.
    released : tuple of str
        Fitted attributes that are released.
    takes_counts : bool
        Whether X is a matrix of counts (rather than texts).
    """

    estimator: Any
    make: Callable[[int], Any]
    released: tuple[str, ...]
    takes_counts: bool

    def fit(self, X: Any, *, owners: Any = None, **parameters: Any) -> Any:
        """Fit a clone with other parameters."""
        from sklearn.base import clone

        fresh: Any = clone(self.estimator)
        model = fresh.set_params(**parameters)
        if (
            owners is None or getattr(model, "privacy_unit", "") == "document"
        ):  # owners would be refused, and rightly
            return model.fit(X)
        return model.fit(X, owners=owners)

    def known(self, **parameters: Any) -> dict[str, Any]:
        """Return those of the parameters that the estimator has."""
        own = self.estimator.get_params(deep=False)
        return {name: value for name, value in parameters.items() if name in own}

    def ledger(self, epsilon: float = 1e3, delta: float = 1e-3) -> Ledger:
        """Return a fresh ledger under the estimator's own unit."""
        unit = getattr(self.estimator, "privacy_unit", "document")
        relation = getattr(self.estimator, "neighboring", "add_or_remove_one")
        return Ledger(epsilon, delta, privacy_unit=unit, neighboring=relation)

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


def frozen(value: Any) -> bytes:
    """Return the bytes that another process would be sent of ``value``."""
    return bytes(ForkingPickler.dumps(value))


def arrays_in(value: Any, depth: int = 0) -> Iterator[NDArray[Any]]:
    """Yield the arrays that can be reached from a value through its attributes and containers."""
    if depth > 4:
        return
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from arrays_in(part, depth + 1)
    elif isinstance(value, list | tuple):
        for part in value[:100]:
            yield from arrays_in(part, depth + 1)
    elif hasattr(value, "__dict__") and not isinstance(value, type | Ledger):
        yield from arrays_in(dict(vars(value)), depth + 1)


def _files_of(release: Any) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "release"  # a file or a folder
        release.save(saved)
        return {path.name: path.read_bytes() for path in (saved.iterdir() if saved.is_dir() else [saved])}


class Spy:
    """Data that writes down, at each read, what ``note()`` says at that moment.

    What describes data without reading it (shape, vocabulary, owners) may be asked for freely.
    """

    _FREE = (
        "shape",
        "ndim",
        "dtype",
        "vocabulary",
        "word_origin",
        "words_are_public",
        "ledger",
        "owners",
        "columns",
        "word_weights",
    )

    def __init__(self, data: Any, note: Callable[[], Any]) -> None:
        self._data = data
        self._note = note
        self.seen: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._data, name)
        if name not in self._FREE:
            self.seen.append(self._note())
        return value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        self.seen.append(self._note())
        dense = self._data.toarray() if sp.issparse(self._data) else self._data
        return np.array(dense, dtype=dtype)

    def __iter__(self) -> Iterator[Any]:
        self.seen.append(self._note())
        return iter(self._data)

    def __getitem__(self, key: Any) -> Any:
        self.seen.append(self._note())
        return self._data[key]

    def __len__(self) -> int:
        self.seen.append(self._note())
        return self._data.shape[0] if hasattr(self._data, "shape") else len(self._data)


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


@contextmanager
def recorded_draws() -> Generator[list[Any]]:
    """Collect the sizes of all arrays of noise that are drawn meanwhile."""
    from discreet.privacy.noise import _draws

    sizes: list[Any] = []
    fill: Any = getattr(_draws, "fill")  # noqa: B009  (not exported, and wanted on purpose)

    def recording(size: Any, *arguments: Any, **more: Any) -> Any:
        sizes.append(size)
        return fill(size, *arguments, **more)

    with mock.patch.object(_draws, "fill", recording):
        yield sizes
