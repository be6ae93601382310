"""What the battery works on: an estimator, how to feed it, and instruments that watch a fit."""

import inspect
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.errors import SeparateBudgetsWarning
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.testing.leaves import frozen

__all__ = ["Spy", "Subject", "planted_counts", "recorded_draws", "recorded_keys"]

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
    times : tuple of str
        Fitted attributes that are vouched to be times, which no seed repeats: they are not compared.
    """

    estimator: Any
    make: Callable[[int], Any]
    released: tuple[str, ...]
    takes_counts: bool
    times: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What the estimator protects."""
        return getattr(self.estimator, "privacy_unit", "document")

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
            return model.fit(X, **self._told(X, persons))

    def _told(self, X: Any, persons: Any) -> dict[str, Any]:
        """Return what ``fit`` is told of people: nothing where it takes none, or would rightly refuse them."""
        if self.unit == "document" or "persons" not in inspect.signature(self.estimator.fit).parameters:
            return {}
        if persons is None and self.unit == "person" and getattr(X, "persons", None) is None:
            return {"persons": np.arange(_n_rows(X)) // 2}
        return {} if persons is None else {"persons": persons}

    def fitted(self, model: Any) -> dict[str, Any]:
        """Return all that a model has and a new one has not: what was learned, released or not."""
        given = self.estimator.get_params(deep=False)
        held = self.held(model) | {name: getattr(model, name) for name in self.released}
        left_out = {*given, *self.times}
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
