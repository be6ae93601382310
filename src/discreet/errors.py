"""The small tree of exceptions.

Every message says what was expected, what came, and the next call to make. All of them are also
``ValueError``, so code written for scikit-learn's errors keeps working.

A message is made of parts: text, parameters at fault, and values proposed for parameters. They are written in one
sentence: a name in backquotes is a parameter at fault, with ``=`` behind it a proposal, and with a value its value:
"`n_topics` is 7; `allow_unlearnable=True` goes on". In Python they read as the parameters are called there; a front
that calls them otherwise, as the command line does, asks for :meth:`told`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """A parameter at fault, named in a message."""

    name: str

    def __str__(self) -> str:
        return self.name


class Proposal(NamedTuple):
    """A parameter that a message proposes to set; ``...`` leaves its value open."""

    name: str
    value: Any = ...

    def __str__(self) -> str:
        return f"{self.name}=" if self.value is ... else f"{self.name}={self.value!r}"


Part = str | Parameter | Proposal
_MARKED = re.compile(r"(?<!`)`([A-Za-z_]\w*)(?:=([^`]*))?`(?!`)")


def _parts_of(given: Part) -> Iterator[Part]:
    """Yield the parts of a message in which parameters and proposals are marked."""
    if not isinstance(given, str):
        yield given
        return
    end = 0
    for mark in _MARKED.finditer(given):
        name, value = mark.groups()
        try:
            proposed = ast.literal_eval(value) if value else ...
        except (SyntaxError, ValueError):  # not written by us: it stays text
            continue
        yield from filter(None, [given[end : mark.start()]])
        yield Parameter(name) if value is None else Proposal(name, proposed)
        end = mark.end()
    yield from filter(None, [given[end:]])


class DiscreetError(ValueError):
    """Base of every error that this library raises on purpose.

    Parameters
    ----------
    *parts : str, Parameter or Proposal
        The message, from left to right; text may hold marks of both (see the module).
    """

    args: tuple[Part, ...]

    def __init__(self, *parts: Part) -> None:
        super().__init__(*(part for given in parts for part in _parts_of(given)))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters at fault, in the order of the message."""
        return tuple(dict.fromkeys(part.name for part in self.args if isinstance(part, Parameter)))

    def told(self, name: Callable[[Parameter | Proposal], str]) -> str:
        """Return the message with each parameter called as ``name`` calls it."""
        return "".join(part if isinstance(part, str) else name(part) for part in self.args)

    def __str__(self) -> str:
        return self.told(str)


class ParameterError(DiscreetError):
    """A parameter that has nothing to do with privacy is out of range."""


class PrivacyError(DiscreetError):
    """The promise would be void, or cannot be stated: the library refuses."""


class BudgetExceeded(PrivacyError):  # noqa: N818  (a name other code relies on)
    """A ledger has less left than was asked for, and nothing of that was booked."""


class CorpusError(DiscreetError):
    """A corpus, or a file that should hold one, is not what was expected."""


class EngineError(DiscreetError):
    """Shards cannot be worked on: a cluster is gone or of another version, or a scratch disk is full."""


class ReleaseError(DiscreetError):
    """A release cannot be written, or a file that should hold one cannot be trusted."""


class DiscreetWarning(UserWarning):
    """Base of every warning that this library gives on purpose."""


class CorpusWarning(DiscreetWarning):
    """What whoever holds the texts should know before anything is spent on them.

    It is exact, so no promise covers it: neither its text nor whether a run stopped on it may be logged or published.
    Its first part is the fault, an error that names parameters; what only Python can do about it follows.
    """

    def __str__(self) -> str:
        return "".join(map(str, self.args))


class LargeDeltaWarning(DiscreetWarning):
    """Numbers were released with a delta above 1 over the noisy number of units, which promises hardly anything."""


class WeakForecastWarning(DiscreetWarning):
    """Topics about to be trained of which little is to be expected; the message says what would change that."""


class WordVectorsWarning(DiscreetWarning):
    """Word vectors that know few of the words of a fit, or none of them."""


class SeparateBudgetsWarning(DiscreetWarning):
    """Several fits on one text in one process, each on a ledger of its own."""
