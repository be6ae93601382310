"""The model without privacy, which every trust setting reuses: fold-in and the trainers.

Names load on first use: numba is imported by the first kernel, not by ``import discreet.lda``.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.lda._fold_in import fold_in
    from discreet.lda.gibbs.estimator import GibbsLDA
    from discreet.lda.variational_lda import VariationalLDA


__all__ = [
    "GibbsLDA",
    "VariationalLDA",
    "fold_in",
]

__getattr__, __dir__ = lazy_names("discreet.lda")
