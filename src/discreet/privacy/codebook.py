r"""Codewords that a public number gives: random directions which writer and server both make, neither sends.

A *nonce* (16 random bytes, public) and a *question* (32 bytes, public) give M codewords of N signs each,

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
:class:`~discreet.privacy.codebook_channel.CodebookChannel` holds. They decide how well answers can be read.

References
----------
Feldman, Talwar, "Lossless compression of efficient private local randomizers", ICML 2021, arXiv:2102.12099. Shah, Chen,
Balle, Kairouz, Theis, "Optimal compression of locally differentially private mechanisms", AISTATS 2022,
arXiv:2111.00092. Asi et al., "Fast optimal locally private mean estimation via random projections", NeurIPS 2023,
arXiv:2306.04444 (Hadamard transforms).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import ArrayLike, NDArray

from discreet._base.validate import shown, whole
from discreet.errors import ParameterError

__all__ = ["LARGEST_SCORE", "MOST_CODEWORDS", "MOST_SIGNS", "NONCE_BYTES", "QUESTION_BYTES", "Codebook"]

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
        from discreet.privacy import hadamard  # numba, which a client that sends bits does without

        self._hadamard: Any = hadamard
        self.dimension, self.n_codewords, self.question = dimension, n_codewords, question
        self.n_signs = max(_LEAST_SIGNS, n_codewords, 1 << (dimension - 1).bit_length())
        self._turn = np.unpackbits(self._expand(b"turn"), bitorder="little")[:dimension].astype(np.int64)
        self._turn = 1 - 2 * self._turn

    def scores(self, vector: ArrayLike, nonce: bytes) -> NDArray[np.int64]:
        """Return the M scores of one vector of D whole numbers."""
        rows = self._rows(np.asarray(vector)[None])
        return self._hadamard.scores(self._turned(rows[0]), self._signs([nonce])[0], self.n_codewords)

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
                scores = self._hadamard.scores(self._turned(row), sign, self.n_codewords)
                found[i] = self._hadamard.of_rank(np.abs(scores) if two_sided else scores, int(ranks[i]))
        return found

    def codewords(self, nonces: Sequence[bytes], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return v of shape (n, D), one codeword of each nonce, turned back; coordinates of variance 1."""
        out = np.empty((len(nonces), self.dimension))
        for part in self._blocks(len(nonces)):
            words = np.zeros(self.n_signs, np.int64)
            for i, sign in enumerate(self._signs(nonces[part]), part.start):
                words[:] = 0
                self._hadamard.add(words, sign, int(indices[i]), self.n_codewords)
                out[i] = self._back(words)
        return out

    def total(self, nonces: Sequence[bytes], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sum of :meth:`codewords` over all nonces, of shape (D,); signs are added exactly."""
        words = np.zeros(self.n_signs, np.int64)
        for part in self._blocks(len(nonces)):
            for sign, index in zip(self._signs(nonces[part]), indices[part], strict=True):
                self._hadamard.add(words, sign, int(index), self.n_codewords)
        return self._back(words)

    def _turned(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        out = np.zeros(self.n_signs, np.int64)
        out[: self.dimension] = row * self._turn
        self._hadamard.transform(out)
        return out

    def _back(self, words: NDArray[np.int64]) -> NDArray[np.float64]:
        out = words.copy()
        self._hadamard.transform(out)
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
