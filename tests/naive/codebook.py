"""The channel of whole documents, slow and obvious: every codeword, every document, exact fractions."""

from fractions import Fraction
from hashlib import sha256

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20


def signs(question, what, n):
    """n signs from a key stream, bit after bit."""
    key = sha256(b"discreet codebook" + question + what).digest()
    raw = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(n // 8))
    return [-1 if raw[t // 8] >> (t % 8) & 1 else 1 for t in range(n)]


def hadamard(j, t):
    return -1 if (j & t).bit_count() % 2 else 1


def length(dimension, n_codewords):
    n = 1024
    while n < dimension or n < n_codewords:
        n *= 2
    return n


def codeword(index, dimension, n_codewords, question, nonce):
    """The N signs of one codeword."""
    n = length(dimension, n_codewords)
    return [s * hadamard(index, t) for t, s in enumerate(signs(question, nonce, n))]


def turned(vector, n_codewords, question):
    """y = H (sigma o g)."""
    n = length(len(vector), n_codewords)
    sigma = signs(question, b"turn", n)
    return [sum(hadamard(t, v) * sigma[v] * int(x) for v, x in enumerate(vector)) for t in range(n)]


def scores(vector, n_codewords, question, nonce):
    y = turned(vector, n_codewords, question)
    return [
        sum(a * b for a, b in zip(codeword(i, len(vector), n_codewords, question, nonce), y, strict=True))
        for i in range(n_codewords)
    ]


def order(found, two_sided):
    """Numbers of codewords, the best first; of equal ones the lower number."""
    return sorted(range(len(found)), key=lambda i: (-abs(found[i]) if two_sided else -found[i], i))


def law(found, n_chosen, member, other, two_sided=False):
    """P(i) for all codewords, given the scores."""
    best = set(order(found, two_sided)[:n_chosen])
    weights = [member if i in best else other for i in range(len(found))]
    return [Fraction(weight, sum(weights)) for weight in weights]


def report(found, n_chosen, member, other, numbers, two_sided=False):
    """Follow the description of the client word for word; ``numbers`` is an iterator of 32-bit numbers."""
    total = n_chosen * member + (len(found) - n_chosen) * other
    while True:
        drawn = (next(numbers) >> 11) * 2**32 + next(numbers)
        if drawn < 2**53 - 2**53 % total:
            break
    drawn %= total
    for rank, i in enumerate(order(found, two_sided)):
        drawn -= member if rank < n_chosen else other
        if drawn < 0:
            return i
    raise AssertionError


def worst_ratio(laws):
    """Largest P(y | x) / P(y | x') over all pairs of documents and all answers."""
    return max(a / b for one in laws for two in laws for a, b in zip(one, two, strict=True) if a)
