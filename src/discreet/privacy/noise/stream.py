r"""Secure randomness: a ChaCha20 stream, keyed by the operating system, that never says the same thing twice.

A :class:`SecureStream` holds a 32-byte key and two counters. Nothing is drawn with that key itself; every use
gets a key of its own by keyed hashing,

.. math:: \text{key}_i = \mathrm{BLAKE2b}_{\text{key}}(\,i \,\|\, \text{purpose}\,), \qquad i = 0, 1, 2, \dots

where :math:`i` counts the uses of this parent, so the same purpose asked for twice gives two unrelated
streams, and no key is ever used twice. Under a seed all of it is a function of the seed and of the order of
calls.

A :class:`WordBlocks` is one such key, read at random: word :math:`j` of lane :math:`\ell` of block :math:`b`
is the :math:`j`-th little-endian 32-bit word of the ChaCha20 key stream with nonce :math:`(\ell, b)`. It is a
pure function of the key and of :math:`(b, \ell, j)`: buffers, threads and order of reading cannot change a
bit.

What is promised
----------------
* Key material is ``os.urandom``: if that fails, or returns too little, a ``PrivacyError`` is raised.
* A forked process never repeats a stream. A secure stream takes a new key from the operating system; a seeded
  stream refuses. A fork is noticed by Python's fork hook and, for forks that bypass it, by the process id.
* A stream cannot be pickled or copied.
* Not covered: a virtual machine restored twice from one snapshot, and whoever can read this process's memory.

References
----------
Nir, Langley, "ChaCha20 and Poly1305 for IETF protocols", RFC 8439, doi:10.17487/RFC8439. Aumasson et al.,
"BLAKE2", RFC 7693, doi:10.17487/RFC7693.
"""

from __future__ import annotations

import operator
import os
import threading
from hashlib import blake2b
from typing import NoReturn, SupportsIndex

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from discreet._base.validate import kind_of
from discreet.errors import ParameterError, PrivacyError

_KEY_BYTES = 32
#: 32-bit words in one lane of a WordBlocks: a quarter of ChaCha20's 32-bit block counter.
_LANE_WORDS = 2**34
#: 64-bit words that SecureStream.words takes from one block before it goes on to the next.
_WORDS_A_BLOCK = 2**30
_CHACHA_WORDS = 16

_forks = 0
_rekeying = threading.Lock()


def _note_fork() -> None:
    global _forks, _rekeying  # noqa: PLW0603  (the fork hook has nowhere else to write)
    _forks += 1
    _rekeying = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def _this_process() -> tuple[int, int]:
    return os.getpid(), _forks


def _key_from_system() -> bytes:
    try:
        key = os.urandom(_KEY_BYTES)
    except (OSError, NotImplementedError) as error:
        raise PrivacyError(
            f"the operating system gave no secure randomness ({error}); "
            "no noise can be drawn here: run where os.urandom works."
        ) from error
    if len(key) != _KEY_BYTES or len(set(key)) == 1:
        raise PrivacyError(
            f"expected {_KEY_BYTES} random bytes from the operating system, but os.urandom gave "
            f"{len(key)} bytes{' that are all equal' if len(key) == _KEY_BYTES else ''}; "
            "no noise can be drawn here: run where os.urandom works."
        )
    return key


def _key_from_seed(seed: SupportsIndex) -> bytes:
    if isinstance(seed, bool):
        raise TypeError("seed must be a non-negative integer or None, but is a bool.")
    number = operator.index(seed)
    if number < 0:
        raise ParameterError(f"seed must not be negative, but is {number}: give 0, 1, 2, ... or None.")
    written = number.to_bytes((number.bit_length() + 7) // 8, "little")
    return blake2b(written, digest_size=_KEY_BYTES, person=b"discreet.seed").digest()


def _derive(key: bytes, counter: int, purpose: str, person: bytes) -> bytes:
    message = counter.to_bytes(8, "little") + purpose.encode()
    return blake2b(message, key=key, digest_size=_KEY_BYTES, person=person).digest()


class _Uncopied:
    """What must exist once: no pickle, no copy."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        raise PrivacyError(
            f"{kind_of(self)} cannot be copied or pickled, for its copy would repeat the same noise; "
            'call spawn("purpose") for another stream, or make a new one in the other process.'
        )


class WordBlocks(_Uncopied):
    """One key's words, read at random: what the samplers draw from.

    Parameters
    ----------
    key : bytes of length 32
        Never used anywhere else. Made by :meth:`SecureStream.blocks`.
    """

    __slots__ = ("_home", "_key")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._home = _this_process()

    def read(self, block: int, lane: int, start: int, n: int) -> NDArray[np.uint32]:
        """Return words ``start`` to ``start + n`` of one lane of one block.

        Parameters
        ----------
        block : int
            From 0 to 2**64 - 1.
        lane : int
            From 0 to 2**32 - 1.
        start, n : int
            ``start + n`` is at most 2**34.

        Returns
        -------
        array of shape (n,), uint32

        Raises
        ------
        PrivacyError
            In a process other than the one that made this object, or beyond the end of the lane.
        """
        if self._home != _this_process():
            raise PrivacyError(
                "these random words belong to the process before a fork; make a new SecureStream here."
            )
        if not 0 <= start <= start + n <= _LANE_WORDS:
            raise PrivacyError(f"a lane has {_LANE_WORDS} words, but {start} to {start + n} were asked for.")
        first, offset = divmod(start, _CHACHA_WORDS)
        nonce = first.to_bytes(4, "little") + lane.to_bytes(4, "little") + block.to_bytes(8, "little")
        zeros = bytes(4 * (offset + n))
        out = np.empty(offset + n, dtype="<u4")
        if len(out):
            Cipher(ChaCha20(self._key, nonce), mode=None).encryptor().update_into(zeros, out.data.cast("B"))
        return out[offset:].astype(np.uint32, copy=False)


class SecureStream(_Uncopied):
    """A stream of secure random words that can be divided, but not copied.

    Parameters
    ----------
    seed : int, optional
        Without it, the key comes from the operating system. Any non-negative integer makes the stream, and
        every stream spawned from it, reproducible: for tests and experiments, never for a release, since
        whoever knows the seed can subtract the noise.

    Raises
    ------
    PrivacyError
        Where the operating system gives no randomness.
    ParameterError
        Where the seed is negative.

    Notes
    -----
    Safe to use from several threads (which thread gets which words is then up to the scheduler; give each
    thread a spawned stream where that matters). In a forked process a secure stream takes a new key and a
    seeded stream raises ``PrivacyError``.
    """

    __slots__ = ("_home", "_key", "_lock", "_position", "_reproducible", "_uses")

    def __init__(self, seed: SupportsIndex | None = None) -> None:
        self._start(_key_from_system() if seed is None else _key_from_seed(seed), seed is not None)

    def _start(self, key: bytes, reproducible: bool) -> None:
        self._key = key
        self._reproducible = reproducible
        self._uses = 0
        self._position = 0
        self._lock = threading.Lock()
        self._home = _this_process()

    @property
    def reproducible(self) -> bool:
        """Whether this stream comes from a seed, so that its noise can be drawn again by others."""
        return self._reproducible

    def spawn(self, purpose: str) -> SecureStream:
        """Return a new stream with a key of its own.

        Parameters
        ----------
        purpose : str
            Part of the new key. Each call gives another stream, also for a purpose that was named before.
        """
        child = SecureStream.__new__(SecureStream)
        child._start(self._next_key(purpose, b"discreet.spawn"), self._reproducible)
        return child

    def blocks(self, purpose: str) -> WordBlocks:
        """Return the words of a new key, for one array of noise; each call gives another key."""
        return WordBlocks(self.key(purpose))

    def key(self, purpose: str) -> bytes:
        """Return a new key itself, 32 bytes, for words that several processes of one curator must know."""
        return self._next_key(purpose, b"discreet.blocks")

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return the next ``n`` words of the stream.

        Parameters
        ----------
        n : int
            How many; not negative.

        Returns
        -------
        array of shape (n,), uint64
            Uniform on 0 to 2**64 - 1. Two calls for 3 and 2 words give what one call for 5 would.
        """
        if n < 0:
            raise ParameterError(f"the number of words must not be negative, but is {n}.")
        self._check_process()
        with self._lock:
            source = WordBlocks(_derive(self._key, 0, "", b"discreet.words"))
            start, self._position = self._position, self._position + n
        pieces = [np.zeros(0, dtype=np.uint32)]
        stop = start + n
        while start < stop:
            block, offset = divmod(start, _WORDS_A_BLOCK)
            count = min(stop - start, _WORDS_A_BLOCK - offset)
            pieces.append(source.read(block, 0, 2 * offset, 2 * count))
            start += count
        halves = np.concatenate(pieces).astype(np.uint64).reshape(-1, 2)
        return halves[:, 0] | (halves[:, 1] << np.uint64(32))

    def _next_key(self, purpose: str, person: bytes) -> bytes:
        self._check_process()
        with self._lock:
            counter, self._uses = self._uses, self._uses + 1
            return _derive(self._key, counter, purpose, person)

    def _check_process(self) -> None:
        """Notice a fork, before the lock is touched (another thread may have held it when the fork came)."""
        if self._home == _this_process():
            return
        if self._reproducible:
            raise PrivacyError(
                "a seeded stream cannot be used in a forked process, where it would repeat its parent; "
                "make SecureStream(seed) with another seed there, or SecureStream() for secure noise."
            )
        with _rekeying:
            if self._home != _this_process():
                self._start(_key_from_system(), reproducible=False)

    def __repr__(self) -> str:
        return f"<SecureStream, {'reproducible, not for release' if self._reproducible else 'secure'}>"
