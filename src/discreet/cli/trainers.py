"""Ways of training that `discreet audit` can put to the test: ``train(counts, seed) -> topic_word``."""

import sys
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError

__all__ = ["TRAINERS", "find_trainer", "load_function", "trainer_version"]

TRAINERS = ("private", "variational", "gibbs", "sklearn")


def find_trainer(name: str, topics: int, epsilon: float | None, delta: float) -> Callable[[Any, int], Any]:
    """Return a trainer by its name.

    Parameters
    ----------
    name : str
        One of ``TRAINERS``, or ``module:function`` for ``function(counts, seed)`` of one's own.
    topics : int
    epsilon : float, optional
        "private" trains with it.
    delta : float

    Returns
    -------
    callable
    """
    if ":" in name:
        return load_function(name, "counts and seed")
    if name == "private":
        if epsilon is None:
            raise ParameterError("the trainer 'private' needs --epsilon: the promise to train with.")
        return lambda counts, seed: _private(counts, seed, topics, epsilon, delta)
    if name == "variational":
        return lambda counts, seed: _variational(counts, seed, topics)
    if name == "gibbs":
        return lambda counts, seed: _gibbs(counts, seed, topics)
    if name == "sklearn":
        return lambda counts, seed: _sklearn(counts, seed, topics)
    raise ParameterError(
        f"--trainer must be one of {', '.join(TRAINERS)} or module:function, but is {name!r}."
    )


def trainer_version(name: str) -> str:
    """Return what tells this trainer from an earlier one of the same name, so that no model of that one is taken.

    Parameters
    ----------
    name : str
        As for :func:`find_trainer`, which has found it.

    Returns
    -------
    str
        A version; of a function of one's own the digest of the file it stands in, not of what that file imports.
    """
    if ":" in name:
        source = getattr(sys.modules[name.partition(":")[0]], "__file__", None)
        return "" if source is None else sha256(Path(source).read_bytes()).hexdigest()
    return version("scikit-learn" if name == "sklearn" else "discreet")


def load_function(name: str, takes: str) -> Callable[..., Any]:
    """Return ``function`` of ``module:function``, which lies where the command is called from or is installed."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # an installed command does not look where it is called from
        sys.path.append(here)
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(f"--trainer {name}: {error}.") from None
    if not callable(found):
        raise ParameterError(f"--trainer {name} must name a function of {takes}.")
    return found


def _private(counts: Any, seed: int, topics: int, epsilon: float, delta: float) -> Any:
    from discreet.central import PrivateLDA

    model = PrivateLDA(topics, epsilon=epsilon, delta=delta, random_state=seed, allow_unlearnable=True)
    return model.fit(counts).components_


def _variational(counts: Any, seed: int, topics: int) -> Any:
    from discreet.lda import VariationalLDA

    return VariationalLDA(topics, random_state=seed).fit(counts).components_


def _gibbs(counts: Any, seed: int, topics: int) -> Any:
    from discreet.lda import GibbsLDA

    return GibbsLDA(topics, random_state=seed).fit(counts).components_


def _sklearn(counts: Any, seed: int, topics: int) -> Any:
    from sklearn.decomposition import LatentDirichletAllocation

    return LatentDirichletAllocation(topics, random_state=seed).fit(counts).components_
