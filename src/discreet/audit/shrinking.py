r"""Variances from few values, steadied by those of all other documents.

A document's variance :math:`s_j^2`, estimated with :math:`d` degrees of freedom, is drawn towards a common one:

.. math:: \tilde s_j^2 = \frac{d_0 s_0^2 + d s_j^2}{d_0 + d}.

:math:`d_0` and :math:`s_0^2` are what mean and variance of :math:`\ln s_j^2` over documents say, if true variances
follow a scaled inverse chi-square distribution: with :math:`\psi` the digamma function and
:math:`e_j = \ln s_j^2 - \psi(d/2) + \ln(d/2)`,

.. math:: \psi'(d_0/2) = \mathrm{Var}(e) - \psi'(d/2), \qquad
          \ln s_0^2 = \bar e + \psi(d_0/2) - \ln(d_0/2).

With two values for a document the common variance decides; with many, its own.

Nothing is promised: this is a part of an attack, for whoever holds the text. It reads shadow models only, so that a
bound on epsilon that rests on the target's coins stays proved.

Reference
---------
Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
experiments", Statistical Applications in Genetics and Molecular Biology 3(1), 2004, section 6.2.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from discreet.errors import ParameterError

__all__ = ["shrink_variances"]

# Half of d_0 is looked for between these.
_LOWEST, _HIGHEST = 1e-6, 1e8


def shrink_variances(variances: ArrayLike, freedom: ArrayLike) -> NDArray[np.float64]:
    """Draw variances towards a common one, as strongly as their own scatter suggests.

    Parameters
    ----------
    variances : array of shape (n_documents,)
        Positive.
    freedom : float or array of shape (n_documents,)
        Degrees of freedom of each: number of values less 1. Positive.

    Returns
    -------
    array of shape (n_documents,)

    Raises
    ------
    ParameterError
        If a variance or its freedom is not positive and finite.

    Examples
    --------
    >>> shrink_variances([1.0, 1.0, 1.0, 8.0], 1).round(2).tolist()
    [5.99, 5.99, 5.99, 5.99]
    """
    own = np.asarray(variances, dtype=np.float64)
    freedom = np.broadcast_to(np.asarray(freedom, dtype=np.float64), own.shape)
    for name, values in (("variances", own), ("freedom", freedom)):
        if own.ndim != 1 or not (np.isfinite(values).all() and (values > 0).all()):
            raise ParameterError(f"{name} must be positive and finite, one per document.")
    if len(own) < 2:
        return own.copy()
    logs = np.log(own) - digamma(freedom / 2) + np.log(freedom / 2)
    scatter = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    half = _half_freedom(scatter)
    if math.isinf(half):  # no more scatter than chance: one variance for all
        return np.full_like(own, math.exp(logs.mean()))
    common = math.exp(float(logs.mean() + digamma(half)) - math.log(half))
    return (2 * half * common + freedom * own) / (2 * half + freedom)


def _half_freedom(scatter: float) -> float:
    """Return where the trigamma function has this value; infinity where it is not positive."""

    def excess(log: float) -> float:
        return float(polygamma(1, math.exp(log))) - scatter

    low, high = math.log(_LOWEST), math.log(_HIGHEST)
    if excess(high) >= 0:
        return math.inf
    if excess(low) <= 0:
        return math.exp(low)
    root: Any = brentq(excess, low, high, xtol=1e-12)
    return math.exp(root)
