"""The model without privacy, which every trust setting reuses: fold-in and the trainers.

Names load on first use: numba is imported by the first kernel, not by ``import discreet.lda``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.lda.folding import fold_in, log_likelihood, query_statistic
    from discreet.lda.gibbs_lda import GibbsLDA
    from discreet.lda.variational_lda import VariationalLDA

_HOMES = {
    "GibbsLDA": "gibbs_lda",
    "VariationalLDA": "variational_lda",
    "fold_in": "folding",
    "log_likelihood": "folding",
    "query_statistic": "folding",
}

__all__ = ["GibbsLDA", "VariationalLDA", "fold_in", "log_likelihood", "query_statistic"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"discreet.lda.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'discreet.lda' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
