"""The small tree of exceptions.

Every message says what was expected, what came, and the next call to make. All of them are also
``ValueError``, so code written for scikit-learn's errors keeps working.
"""

__all__ = ["BudgetExceeded", "CorpusError", "DiscreetError", "ParameterError", "PrivacyError", "ReleaseError"]


class DiscreetError(ValueError):
    """Base of every error that this library raises on purpose."""


class ParameterError(DiscreetError):
    """A parameter that has nothing to do with privacy is out of range."""


class PrivacyError(DiscreetError):
    """The promise would be void, or cannot be stated: the library refuses."""


class BudgetExceeded(PrivacyError):  # noqa: N818  (a name other code relies on)
    """A ledger has less left than was asked for. Nothing was read, nothing was spent."""


class CorpusError(DiscreetError):
    """A corpus, or a file that should hold one, is not what was expected."""


class ReleaseError(DiscreetError):
    """A release cannot be written, or a file that should hold one cannot be trusted."""
