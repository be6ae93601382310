r"""Random response with a prior (RRP), in the form that keeps its promise.

A secret cell x (a word and the topic drawn for it) is sent as it is with probability :math:`1 - \eta`; otherwise a cell
is drawn from q, which is public and gives every cell something. So

.. math:: P(y \mid x) = (1 - \eta) [y = x] + \eta q_y, \qquad
          \max_{x, x', y} \frac{P(y \mid x)}{P(y \mid x')} = 1 + \frac{1 - \eta}{\eta \, q_{\min}},

which is at most :math:`e^\epsilon` exactly where :math:`\eta \ge 1 / (1 + q_{\min} (e^\epsilon - 1))`. Unbiased for
the number of secret cells y among n is :math:`(n_y - \eta n q_y) / (1 - \eta)`.

Guarantee
---------
*Unit, neighbours*: one secret cell, replaced by any other. *Released*: one report. *Loss*: at most epsilon, pure. Both
eta (rounded up) and q (whole numbers out of 2**40) are rational, and coins and draws are exact.

What does not keep it
---------------------
* :math:`\eta = 1 / (\delta \delta_0 e^{\epsilon + 1})`, as printed, can exceed 1: refused by :class:`PairResponse`.
* "Another cell", q without x, renewed, with :math:`\eta = 1 / (1 + q_{\min} e^\epsilon)`: the noise then moves
  with the secret; a loss of 3.8 where 1 was promised is in the tests.
* Noise drawn from the writer's own topics: what they never draw can only be the truth, so the loss is unbounded.

Reference
---------
Wang, Tong, Shi, "Federated Latent Dirichlet Allocation: A Local Differential Privacy Based Framework", AAAI 2020,
doi:10.1609/aaai.v34i04.6096 (poster and abstract).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._numbers import as_numbers
from discreet._validate import shown
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.noise.bernoulli import bernoulli
from discreet.privacy.noise.stream import SecureStream

__all__ = ["PairResponse", "public_noise", "response_probability"]

_BITS = 40
_TOTAL = 1 << _BITS
_MOST_CELLS = 1 << 30


def response_probability(epsilon: float, q_min: float) -> float:
    """Return eta, the least probability of drawing noise that keeps a report's loss at epsilon.

    Parameters
    ----------
    epsilon : float
        Pure loss of one report; positive.
    q_min : float
        The smallest probability that the noise gives to any cell, above 0 and at most 1.

    Returns
    -------
    float
        In (0, 1]. For the exact rational that is used see :attr:`PairResponse.eta`.
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise PrivacyError(f"epsilon of a report must be positive and finite, but is {shown(epsilon)}.")
    if not 0 < q_min <= 1:
        raise ParameterError(
            f"q_min must be above 0 and at most 1, but is {shown(q_min)}: noise must be able to give every cell."
        )
    return 1 / (1 + q_min * math.expm1(min(epsilon, 600.0)))


def public_noise(topic_word: ArrayLike, *, even: float = 0.5) -> NDArray[np.float64]:
    r"""Return noise over (topic, word) pairs, flattened: :math:`(1 - \lambda) \bar\phi + \lambda / V`, topics even.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
        Public; rows sum to 1. Never a writer's own topics.
    even : float, default 0.5
        lambda, above 0: the share that is even over words.

    Returns
    -------
    array of shape (n_topics * n_words,), sums to 1
    """
    phi = np.asarray(as_numbers(topic_word, "topic_word", ""), dtype=np.float64)
    if not 0 < even <= 1:
        raise ParameterError(f"even must be above 0 and at most 1, but is {shown(even)}.")
    row = (1 - even) * phi.mean(0) + even / phi.shape[1]
    noise = np.tile(row / phi.shape[0], phi.shape[0])
    return noise / noise.sum()


class PairResponse:
    """A randomiser of cells with an exact, rational description.

    Parameters
    ----------
    noise : array of shape (n_cells,)
        Public q; positive. Rounded to whole 2**-40ths, each cell at least one.
    epsilon : float
        Loss of one report.
    eta : float or Fraction, optional
        Probability of noise; by default the least that keeps epsilon. A smaller one, or one outside (0, 1], is
        refused.

    Attributes
    ----------
    weights : array of shape (n_cells,), int64
        q times 2**40; sums to it.
    eta : Fraction
        What the coins really use, never below what epsilon needs.
    """

    def __init__(self, noise: ArrayLike, epsilon: float, *, eta: float | Fraction | None = None) -> None:
        q = np.asarray(as_numbers(noise, "noise", ""), dtype=np.float64)
        if q.ndim != 1 or not 1 < len(q) <= _MOST_CELLS:
            raise ParameterError(
                f"noise must be one row of 2 to {_MOST_CELLS} probabilities, but has shape {q.shape}."
            )
        if not (np.isfinite(q).all() and (q > 0).all()):
            raise PrivacyError(
                "noise must give every cell a positive probability: a report of a cell that noise never gives is "
                "the truth; mix in an even share (public_noise)."
            )
        self.weights = _whole(q)
        self.epsilon = float(epsilon)
        least = self._least_eta()
        self.eta = least if eta is None else Fraction(eta)
        if not 0 < self.eta <= 1:
            raise PrivacyError(
                f"eta must be a probability above 0, but is {float(self.eta):.4g}; the printed "
                "1 / (delta delta0 e^(epsilon + 1)) is not one. Leave eta out."
            )
        if self.eta < least and self.loss() > self.epsilon:
            raise PrivacyError(
                f"eta = {float(self.eta):.6g} is too small for epsilon = {epsilon}: it takes {float(least):.6g}."
            )
        self._thresholds = np.cumsum(self.weights)

    @property
    def q(self) -> NDArray[np.float64]:
        """Probabilities of the noise, shape (n_cells,)."""
        return self.weights / _TOTAL

    def _least_eta(self) -> Fraction:
        q_min = int(self.weights.min()) / _TOTAL
        response_probability(self.epsilon, q_min)  # refuses anything that is not an epsilon
        # 1 / (1 + r), r rounded down: eta is rounded up, and neither it nor 1 - eta loses digits.
        ratio = Fraction(q_min * math.expm1(min(self.epsilon, 600.0)))
        return 1 / (1 + ratio * (1 - Fraction(1, 10**12)))

    def loss(self) -> float:
        """Return the largest loss of one report, never below its true value by more than a rounding."""
        smallest = Fraction(int(self.weights.min()), _TOTAL)
        return math.log1p((1 - self.eta) / (self.eta * smallest))

    def randomise(self, cells: ArrayLike, stream: SecureStream) -> NDArray[np.int64]:
        """Return one report for each secret cell.

        Parameters
        ----------
        cells : array of shape (n,), int
        stream : SecureStream
            Used up by two spawned children.
        """
        secret = np.asarray(cells)
        if secret.ndim != 1 or secret.dtype.kind not in "iu":
            raise ParameterError(f"cells must be one row of whole numbers, but are {secret.dtype}.")
        if len(secret) and not 0 <= secret.min() <= secret.max() < len(self.weights):
            raise ParameterError(f"cells must lie from 0 to {len(self.weights) - 1}.")
        noisy, drawn = self.draw(len(secret), stream)
        return np.where(noisy, drawn, secret).astype(np.int64)

    def draw(self, n: int, stream: SecureStream) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return whether each of n reports is noise, and the cell of the noise."""
        noisy = bernoulli(self.eta, n, stream.spawn("whether noise"))
        words = stream.spawn("which noise").words(n) >> np.uint64(64 - _BITS)
        return noisy, np.searchsorted(self._thresholds, words.astype(np.int64), side="right")

    def debias(self, observed: ArrayLike) -> NDArray[np.float64]:
        """Return unbiased numbers of secret cells from numbers of reports, shape (n_cells,)."""
        seen = np.asarray(observed, dtype=np.float64)
        eta = float(self.eta)
        if self.eta == 1:
            raise ParameterError("reports of pure noise (eta = 1) say nothing; raise epsilon.")
        return (seen - eta * seen.sum() * self.q) / float(1 - self.eta)

    def distribution(self, cell: int) -> list[Fraction]:
        """Return P(y | cell) for all y, exactly; for tests and small alphabets."""
        noise = [self.eta * Fraction(int(weight), _TOTAL) for weight in self.weights]
        noise[cell] += 1 - self.eta
        return noise


def _whole(q: NDArray[np.float64]) -> NDArray[np.int64]:
    """Turn probabilities into whole numbers out of 2**40, each at least 1."""
    weights = np.maximum(np.floor(q / q.sum() * _TOTAL), 1).astype(np.int64)
    weights[int(np.argmax(weights))] += _TOTAL - int(weights.sum())
    if weights.min() < 1:
        raise ParameterError("the noise cannot be written in whole 2**-40ths; make it more even.")
    return weights
