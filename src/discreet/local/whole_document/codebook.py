r"""The channel of whole documents: one codeword of a public codebook, sent with exact coins.

**The codebook**: random directions that writer and server both make from a public number, and neither sends. A
*nonce* (16 random bytes, public) and a *question* (32 bytes, public) give M codewords of N signs each,

.. math:: u_i = s \circ H_{i, \cdot}, \qquad i = 0, \dots, M - 1, \qquad H_{jt} = (-1)^{|j \wedge t|} ,

with s N random signs (ChaCha20 under the key SHA-256(question, nonce)), H the Hadamard matrix of Sylvester and N the
least power of two that is at least 1,024, M and the dimension D of the vectors. A vector g of D integers is first
turned, :math:`y = H (\sigma \circ g)` with public signs :math:`\sigma` of the question, so that even a document of one
word points along no axis. Its score with :math:`u_i` is :math:`\langle u_i, y \rangle`: whole numbers throughout, so
that every machine and every language finds the same scores, and fast, because M scores are one transform.

Over random nonces a score is close to normal with variance :math:`N |g|^2` (a sum of N random signs, times numbers none
of which stands out), and scores of different codewords are uncorrelated. Turned back,
:math:`v = \sigma \circ H u / \sqrt N`, a codeword is close to a standard normal vector, coordinate by coordinate.

Nothing here is private, and nothing here must be trusted for privacy: whatever the codewords are, the promise of
:class:`CodebookChannel` holds. They decide how well answers can be read.

**The channel.** A document is turned into a vector of whole numbers, whatever they are, and a public nonce, drawn
without looking at the document, gives M codewords. The m of highest score with the vector (ties: the lower number) form
a set T. A member of T is sent with weight R, any other codeword with weight Q, both whole numbers:

.. math:: P(i \mid x) = \frac{R \text{ if } i \in T(x) \text{ else } Q}{m R + (M - m) Q} .

*Unit*: one writer's whole document. *Neighbours*: any two documents (replace one). *Released*: the nonce and i.
*Loss*: pure, :math:`\epsilon = \ln R / Q`, where Q = 2^20 and R is rounded down.

Proof. T has exactly m members whatever the document is, so the denominator is the same for all documents and all
nonces. For two documents x, x' and any i, :math:`P(i \mid x) / P(i \mid x') \in \{Q/R, 1, R/Q\}`, given the nonce;
the nonce's law is the same for both, so the ratio of the pair (nonce, i) is the same. Nothing else is sent. No
property of vectors, scores or codewords was used: a wrong, rounded or hostile codebook changes which set a document
has, which can spoil an answer but not the promise. The coin is one whole number, uniform below
:math:`m R + (M - m) Q < 2^{53}` by rejection from 53 random bits: no floating point is involved.

Not covered: how long a device takes to answer, which depends on how many words its document has.

The event is pure, and nothing is composed: a second report of the same document, to this or another question, costs
the same again. So each client answers one question, once, and keeps the answer (:class:`discreet.local.ReportMemo`).

What can be read: with :math:`x_{(1)} > \dots > x_{(M)}` ordered normal numbers, the sent codeword's score has mean

.. math:: \kappa = \frac{(R - Q)\, E \sum_{i \le m} x_{(i)}}{m R + (M - m) Q}

in standard deviations, so that the mean of codewords over reports, divided by :math:`\kappa`, estimates the mean of
g / |g| with standard deviation :math:`1 / (\kappa \sqrt n)` a coordinate. Bias is of order 1/M and 1/N of the signal.
Two-sided (T has the highest *absolute* scores), :math:`E\, v v^\top = I + \kappa_2\, g g^\top / |g|^2`, with
:math:`x^2` in the place of x. As M grows it becomes PrivUnit, which is optimal for unit vectors; its deviation
is .660 at epsilon 4 and .365 at 8, and here .661 (M = 1,024) and .366 (M = 4,096).

References
----------
Feldman, Talwar, "Lossless compression of efficient private local randomizers", ICML 2021, arXiv:2102.12099. Shah, Chen,
Balle, Kairouz, Theis, "Optimal compression of locally differentially private mechanisms", AISTATS 2022,
arXiv:2111.00092. Asi et al., "Fast optimal locally private mean estimation via random projections", NeurIPS 2023,
arXiv:2306.04444 (Hadamard transforms). Bhowmick et al., "Protection against reconstruction and its applications in
private federated learning", arXiv:1812.00984 (PrivUnit). Asi, Feldman, Talwar, "Optimal algorithms for mean estimation
under local differential privacy", ICML 2022, arXiv:2205.02466. Ye, Barg, "Optimal schemes for discrete distribution
estimation under locally differential privacy", IEEE Trans. Inf. Theory 2018, doi:10.1109/TIT.2018.2809790 (subset
selection).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import ArrayLike, NDArray

from discreet._base.kernels import kernel
from discreet._base.validate import shown, whole
from discreet.errors import ParameterError
from discreet.privacy.bit_channel import ReadWords, log_up
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.units import check_epsilon


@kernel()
def _transform(values: NDArray[np.int64]) -> None:
    """Multiply by the Hadamard matrix, in place."""
    half = 1
    while half < len(values):
        for start in range(0, len(values), 2 * half):
            for i in range(start, start + half):
                a, b = values[i], values[i + half]
                values[i], values[i + half] = a + b, a - b
        half *= 2


@kernel()
def _scores(turned: NDArray[np.int64], signs: NDArray[np.uint8], n_codewords: int) -> NDArray[np.int64]:
    """Return <u_i, y>: row i of the matrix sees only the low digits of a place, so places fold first."""
    out = np.zeros(n_codewords, np.int64)
    for t in range(len(turned)):
        sign = 1 - 2 * np.int64((signs[t >> 3] >> (t & 7)) & 1)
        out[t & (n_codewords - 1)] += sign * turned[t]
    _transform(out)
    return out


def _of_rank(values: NDArray[np.int64], rank: int) -> int:
    """Return which score has that rank, 0 the highest; of equal ones the first comes first."""
    place = len(values) - 1 - rank
    value = np.partition(values, place)[place]
    return int(np.flatnonzero(values == value)[rank - np.count_nonzero(values > value)])


@kernel()
def _add(words: NDArray[np.int64], signs: NDArray[np.uint8], index: int, n_codewords: int) -> None:
    """Add one codeword's signs."""
    row = np.zeros(n_codewords, np.int64)
    row[index] = 1
    _transform(row)
    for t in range(len(words)):
        sign = 1 - 2 * np.int64((signs[t >> 3] >> (t & 7)) & 1)
        words[t] += sign * row[t & (n_codewords - 1)]


NONCE_BYTES, QUESTION_BYTES = 16, 32
MOST_CODEWORDS = 2**16
_LEAST_SIGNS = 2**10
MOST_SIGNS = 2**20
#: Scores stay below it: what a number of JavaScript holds exactly.
LARGEST_SCORE = 2**53
#: Bytes of signs that are held at once.
_BLOCK = 2**24


class Codebook:
    """The codewords of all nonces for one question.

    Parameters
    ----------
    dimension : int
        D, of the vectors.
    n_codewords : int
        M, a power of two.
    question : bytes of length 32
        What is asked, as a digest: other questions have unrelated codewords.

    Attributes
    ----------
    n_signs : int
        N, of a codeword.
    """

    def __init__(self, dimension: int, n_codewords: int, question: bytes) -> None:
        if not whole(1, MOST_SIGNS).holds(dimension):
            raise ParameterError(f"dimension must be from 1 to {MOST_SIGNS}, but is {shown(dimension)}.")
        if not whole(2, MOST_CODEWORDS).holds(n_codewords) or n_codewords & (n_codewords - 1):
            raise ParameterError(
                f"n_codewords must be a power of two from 2 to {MOST_CODEWORDS}, but is {shown(n_codewords)}."
            )
        if not isinstance(question, bytes) or len(question) != QUESTION_BYTES:
            raise ParameterError(f"a question is named by {QUESTION_BYTES} bytes; give its digest.")
        self.dimension, self.n_codewords, self.question = dimension, n_codewords, question
        self.n_signs = max(_LEAST_SIGNS, n_codewords, 1 << (dimension - 1).bit_length())
        self._turn = np.unpackbits(self._expand(b"turn"), bitorder="little")[:dimension].astype(np.int64)
        self._turn = 1 - 2 * self._turn

    def scores(self, vector: ArrayLike, nonce: bytes) -> NDArray[np.int64]:
        """Return the M scores of one vector of D whole numbers."""
        rows = self._rows(np.asarray(vector)[None])
        return _scores(self._turned(rows[0]), self._signs([nonce])[0], self.n_codewords)

    def choose(
        self, vectors: ArrayLike, nonces: Sequence[bytes], ranks: NDArray[np.int64], *, two_sided: bool
    ) -> NDArray[np.int64]:
        """Return for each vector the codeword of the given rank.

        Parameters
        ----------
        vectors : array of shape (n, D) of whole numbers
        nonces : sequence of n bytes
        ranks : array of shape (n,)
            0 is the highest score. Ties go to the lower number.
        two_sided : bool
            Rank by absolute score.
        """
        rows = self._rows(vectors)
        found = np.empty(len(rows), np.int64)
        for part in self._blocks(len(rows)):
            signs = self._signs(nonces[part])
            for i, (row, sign) in enumerate(zip(rows[part], signs, strict=True), part.start):
                scores = _scores(self._turned(row), sign, self.n_codewords)
                found[i] = _of_rank(np.abs(scores) if two_sided else scores, int(ranks[i]))
        return found

    def codewords(self, nonces: Sequence[bytes], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return v of shape (n, D), one codeword of each nonce, turned back; coordinates of variance 1."""
        out = np.empty((len(nonces), self.dimension))
        for part in self._blocks(len(nonces)):
            words = np.zeros(self.n_signs, np.int64)
            for i, sign in enumerate(self._signs(nonces[part]), part.start):
                words[:] = 0
                _add(words, sign, int(indices[i]), self.n_codewords)
                out[i] = self._back(words)
        return out

    def total(self, nonces: Sequence[bytes], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sum of :meth:`codewords` over all nonces, of shape (D,); signs are added exactly."""
        words = np.zeros(self.n_signs, np.int64)
        for part in self._blocks(len(nonces)):
            for sign, index in zip(self._signs(nonces[part]), indices[part], strict=True):
                _add(words, sign, int(index), self.n_codewords)
        return self._back(words)

    def _turned(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        out = np.zeros(self.n_signs, np.int64)
        out[: self.dimension] = row * self._turn
        _transform(out)
        return out

    def _back(self, words: NDArray[np.int64]) -> NDArray[np.float64]:
        out = words.copy()
        _transform(out)
        return out[: self.dimension] * self._turn / np.sqrt(self.n_signs)

    def _rows(self, vectors: ArrayLike) -> NDArray[np.int64]:
        rows = np.asarray(vectors)
        if rows.dtype.kind not in "iub" or rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise ParameterError(
                f"expected rows of {self.dimension} whole numbers, the answers to this question."
            )
        rows = rows.astype(np.int64)
        # No document may be told by an error: too large a vector is made shorter, which leaves its direction.
        most = np.abs(rows.astype(np.float64)).sum(1) * self.n_signs
        for row in np.flatnonzero(most >= LARGEST_SCORE / 2):
            rows[row] //= 2 ** int(np.ceil(np.log2(most[row] / LARGEST_SCORE)) + 2)
        return rows

    def _blocks(self, n: int) -> list[slice]:
        size = max(1, _BLOCK // (self.n_signs // 8))
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def _signs(self, nonces: Sequence[bytes]) -> NDArray[np.uint8]:
        """Return N bits a nonce, packed, lowest first; 1 stands for -1."""
        if any(len(nonce) != NONCE_BYTES for nonce in nonces):
            raise ParameterError(f"a nonce has {NONCE_BYTES} bytes.")
        return np.array([self._expand(nonce) for nonce in nonces], np.uint8).reshape(-1, self.n_signs // 8)

    def _expand(self, what: bytes) -> NDArray[np.uint8]:
        key = sha256(b"discreet codebook" + self.question + what).digest()
        raw = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(self.n_signs // 8))
        return np.frombuffer(raw, np.uint8)


_OTHERS = 2**20
#: Codewords that lose nothing to speak of up to epsilon 5, and above.
_FEW, _MANY, _MANY_ABOVE = 1024, 4096, 5.0
_RANDOM_BITS = 53
_MOST_EPSILON = 20.0


@dataclass(frozen=True)
class CodebookChannel:
    """One codeword of M: one of the m that suit a document best with higher odds than one of the others.

    Made by :meth:`for_document` rather than from its numbers.

    Parameters
    ----------
    n_codewords : int
        M, a power of two.
    n_chosen : int
        m, from 1 to M - 1.
    member_weight, other_weight : int
        R and Q, 0 < Q < R.
    two_sided : bool, default False
        Whether absolute scores count: for squares of vectors.
    reproducible : bool, default False
        Whether reports are known to have been made with a seed; as :class:`discreet.local.BitChannel`.
    """

    n_codewords: int
    n_chosen: int
    member_weight: int
    other_weight: int = _OTHERS
    two_sided: bool = False
    reproducible: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        numbers = (self.n_codewords, self.n_chosen, self.member_weight, self.other_weight)
        if any(not isinstance(number, int) or isinstance(number, bool) for number in numbers):
            raise ParameterError("a channel's numbers must be whole numbers.")
        n, m = self.n_codewords, self.n_chosen
        if not 2 <= n <= MOST_CODEWORDS or n & (n - 1) or not 1 <= m < n:
            raise ParameterError(
                f"a channel needs a power of two of codewords, from 2 to {MOST_CODEWORDS}, of which it chooses at "
                f"least one and not all, but has {shown(n)}, of which it chooses {shown(m)}."
            )
        member, other = self.member_weight, self.other_weight
        if not 0 < other < min(member, 2**32) or self.total_weight >= 2**_RANDOM_BITS:
            raise ParameterError(
                "a member must weigh more than another codeword, which weighs less than 2^32, and all together less "
                f"than 2^53, but they weigh {shown(member)} and {shown(other)}; give another epsilon."
            )
        if self.epsilon > _MOST_EPSILON:
            raise ParameterError(
                f"a channel may lose {_MOST_EPSILON:g} at most, but this one loses {self.epsilon:.4g}; lower epsilon."
            )

    @property
    def total_weight(self) -> int:
        """Denominator of all probabilities: the same whatever the document is."""
        return self.n_chosen * self.member_weight + (self.n_codewords - self.n_chosen) * self.other_weight

    @property
    def odds(self) -> Fraction:
        """e^epsilon, exactly: the largest ratio of two probabilities."""
        return Fraction(self.member_weight, self.other_weight)

    @property
    def epsilon(self) -> float:
        """Pure loss of a whole document, rounded up."""
        return log_up(self.odds)

    @property
    def gain(self) -> float:
        """kappa: how far the sent codeword leans towards the document, in standard deviations of a score."""
        return _gain(self.n_codewords, self.n_chosen, float(self.odds), self.two_sided)

    @property
    def deviation(self) -> float:
        """Standard deviation that one report adds to a coordinate of the estimated mean of unit vectors.

        Two-sided, to a cell off the diagonal of the mean of their squares.
        """
        return 1 / self.gain

    @classmethod
    def for_document(
        cls, epsilon: float, *, n_codewords: int | None = None, two_sided: bool = False
    ) -> CodebookChannel:
        """Return the channel of least deviation that costs ``epsilon`` for a whole document.

        Parameters
        ----------
        epsilon : float
            Pure; for any document replaced by any other.
        n_codewords : int, optional
            By default 1,024 up to epsilon 5 and 4,096 above: 10 or 12 bits a report.
        two_sided : bool, default False
        """
        epsilon = check_epsilon(epsilon)
        if not epsilon <= _MOST_EPSILON:
            raise ParameterError(
                f"epsilon of a document must be {_MOST_EPSILON:g} at most, but is {shown(epsilon)}."
            )
        member = math.floor(math.exp(epsilon) * _OTHERS)
        while log_up(Fraction(member, _OTHERS)) > epsilon and member > _OTHERS:
            member -= 1
        if member <= _OTHERS:
            raise ParameterError(
                f"epsilon = {shown(epsilon)} is below what these coins can tell; give a larger one."
            )
        n = n_codewords or (_FEW if epsilon <= _MANY_ABOVE else _MANY)
        return cls(n, _best_number(n, member / _OTHERS, two_sided), member, _OTHERS, two_sided)

    def codebook(self, dimension: int, question: bytes) -> Codebook:
        """Return the codewords for vectors of that dimension and a question, named by 32 bytes."""
        return Codebook(dimension, self.n_codewords, question)

    def report(self, vector: ArrayLike, nonce: bytes, codebook: Codebook, stream: SecureStream) -> int:
        """Answer for one document.

        Parameters
        ----------
        vector : array of shape (D,) of whole numbers
            What the document says; its length does not matter.
        nonce : bytes of length 16
            Drawn without looking at the document, and sent along.
        codebook : Codebook
            Of :meth:`codebook`.
        stream : SecureStream
            Source of randomness; one key is taken from it.

        Returns
        -------
        int
            From 0 to M - 1. Ask once for each document, whatever the question, and keep the answer.
        """
        source = stream.spawn("report")
        return self.report_from(vector, nonce, codebook, lambda n: source.words((n + 1) // 2).view("<u4")[:n])

    def report_from(self, vector: ArrayLike, nonce: bytes, codebook: Codebook, read: ReadWords) -> int:
        """Answer with given uniform 32-bit numbers: two a try, the first one's upper 21 bits above the second."""
        self._check(codebook)
        last = 2**_RANDOM_BITS - 2**_RANDOM_BITS % self.total_weight
        while True:
            high, low = (int(word) for word in read(2))
            drawn = (high >> 11 << 32) | low
            if drawn < last:
                break
        ranks = self._ranks(np.array([drawn % self.total_weight]))
        return int(codebook.choose(np.asarray(vector)[None], [nonce], ranks, two_sided=self.two_sided)[0])

    def reports(
        self, vectors: ArrayLike, nonces: Sequence[bytes], codebook: Codebook, stream: SecureStream
    ) -> NDArray[np.int64]:
        """Answer for many documents, each with coins of its own: for simulations.

        Returns
        -------
        array of shape (n,)
        """
        self._check(codebook)
        ranks = self.ranks(len(nonces), stream)
        return codebook.choose(vectors, nonces, ranks, two_sided=self.two_sided)

    def ranks(self, n: int, stream: SecureStream) -> NDArray[np.int64]:
        """Draw which rank, 0 the best, each of ``n`` reports has: no document has a say in it."""
        last = 2**_RANDOM_BITS - 2**_RANDOM_BITS % self.total_weight
        source, found = stream.spawn("report"), np.empty(0, np.uint64)
        while len(found) < n:
            drawn = source.words(n - len(found)) >> np.uint64(64 - _RANDOM_BITS)
            found = np.concatenate([found, drawn[drawn < np.uint64(last)]])
        return self._ranks((found % np.uint64(self.total_weight)).astype(np.int64))

    def _ranks(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        members = self.n_chosen * self.member_weight
        return np.where(
            drawn < members,
            drawn // self.member_weight,
            self.n_chosen + np.maximum(drawn - members, 0) // self.other_weight,
        )

    def mean(self, total: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """Estimate the mean of unit vectors from the sum of ``n`` codewords (:meth:`Codebook.total`)."""
        return total / (max(n, 1) * self.gain)

    def mean_square(self, codewords: NDArray[np.float64]) -> NDArray[np.float64]:
        """Estimate the mean of g g' / |g|^2, of shape (D, D), from codewords of shape (n, D); two-sided channels."""
        n, dimension = codewords.shape
        return (codewords.T @ codewords / max(n, 1) - np.eye(dimension)) / self.gain

    def _check(self, codebook: Codebook) -> None:
        if codebook.n_codewords != self.n_codewords:
            raise ParameterError(
                f"this channel sends one of {self.n_codewords} codewords, but the codebook has "
                f"{codebook.n_codewords}; make it by the channel's codebook()."
            )


@cache
def _best_number(n_codewords: int, odds: float, two_sided: bool) -> int:
    """Return the m of largest gain, by Blom's scores; the promise does not depend on it."""
    from scipy.special import ndtri

    places = np.arange(1, n_codewords + 1)
    if two_sided:
        scores = ndtri(1 - (places - 0.375) / (n_codewords + 0.25) / 2) ** 2
    else:
        scores = -ndtri((places - 0.375) / (n_codewords + 0.25))
    number = places[:-1]
    gains = (odds - 1) * np.cumsum(scores - scores.mean())[:-1] / (number * (odds - 1) + n_codewords)
    return int(number[np.argmax(gains)])


@cache
def _gain(n_codewords: int, n_chosen: int, odds: float, two_sided: bool) -> float:
    r"""Return kappa: :math:`E \sum_{i \le m} x_{(i)} = M \int x\, \varphi(x) P(\mathrm{Bin}(M - 1, Q(x)) < m)\, dx`."""
    from scipy.special import bdtr, ndtr

    grid = np.linspace(-10, 10, 8001)
    above = np.clip(2 * ndtr(-np.abs(grid)) if two_sided else ndtr(-grid), 0.0, 1.0)
    score = grid**2 - 1 if two_sided else grid
    density = np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi)
    member = bdtr(n_chosen - 1, n_codewords - 1, above)
    top = n_codewords * float(np.sum(score * density * member)) * (grid[1] - grid[0])
    return (odds - 1) * top / (n_chosen * (odds - 1) + n_codewords)
