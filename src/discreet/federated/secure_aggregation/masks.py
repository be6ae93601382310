r"""Sums that nobody sees the parts of: pairwise masks modulo 2^64, which survive silos that drop out.

Silo u sends

.. math:: y_u = x_u + \mathrm{PRG}(b_u) + \sum_{v > u} \mathrm{PRG}(s_{uv}) - \sum_{v < u} \mathrm{PRG}(s_{uv})
          \pmod{2^{64}},

:math:`s_{uv}` agreed from u's secret number :math:`s_u` and v's public point :math:`s_v G`, :math:`b_u` its own. Masks
between two silos that both sent cancel. :math:`s_u` and :math:`b_u` are shared out among all, so that afterwards any
``threshold`` of them can remove what is left: b of a silo that sent, the pairwise masks of one that did not.

Messages of a silo (:class:`~discreet.federated.secure_aggregation.masker.Masker`), in this order and once each: its
keys, and the points that its shares are checked against; the sealed shares; whose shares are right; its masked vector,
once it was told who goes on; that it was told these senders; shares that remove masks.

Keys of two honest silos are unknown to all others, whatever these announce
----------------------------------------------------------------------------
The key of :math:`s_{uv}` is derived (HKDF, taken as a random oracle) from the numbers of u and v, their two points,
:math:`s_u s_v G`, and the digest of who takes part; that of :math:`b_u` from u's number, its point and :math:`b_u`;
keys for sealed messages likewise, with their purpose. So no two keys are derived from the same input. A copied point, a
negative one or a sum of points gives no key that equals another or cancels one, and an honest silo's key is as good as
random to whoever never asks the oracle for its very input. To ask it for that of honest u and v is to find
:math:`s_u s_v G` from :math:`s_u G` and :math:`s_v G`. All else that hangs on :math:`s_u` can be simulated without it:
fewer than ``threshold`` shares (drawn at random; the points of the coefficients follow from them and
:math:`s_u G`), proofs, and keys with points that liars announced, for which the oracle's answers have to be consistent
only: an algorithm that tells right guesses from wrong ones is enough for that (so the assumption is gap
Diffie-Hellman); and as each liar proved that it knows its secret, that secret would do, too.

Proofs (:mod:`~discreet.federated.secure_aggregation.hellos`) are asked for besides: then nobody announces a
point whose secret he does not know, for this silo number, these terms and this message. Before there were proofs, and
keys hung on the points alone, one liar that announced another's point had all silos between the two numbers add and
take away one and the same mask.

What is promised
----------------
Let n be the number of silos, t the threshold (n less the tolerated), c how many are in league with the server.

* *A server that follows the protocol* learns the sum and nothing else, where c < t.
* *A server that lies*, in any message, learns one sum of t - c honest silos at least, and nothing else, where
  2 t > n + c and the keys it shows are those of n different silos (compare the roster's digest and the numbers).
  *Proof.* A silo vouches for one pair only, (M: who goes on, S: who sent), in which it is itself and t others; and it
  gives shares only under a pair for which t silos, itself among them, vouched to it. Two such pairs would take 2 t
  vouchers, and the n - c honest silos give one each, the others two: 2 t > n + c. So all honest silos that give shares
  do so under one (M, S), and of each silo either b or s becomes known, s only of those in M that are not in S. Let
  H be the honest ones that vouched for (M, S): t - c or more, all in S. Let the server take the masks off the sum of
  the vectors of some honest silos U. Each is in S, or its b is unknown; and whoever u in U went on with is in U, where
  masks cancel, or in league, or not in S. If one of U is in H, it went on with M, so all honest silos of S are in U:
  the one sum. If none is, the t - c honest silos that u went on with are in U or not in S, so not in H: 2 (t - c)
  honest silos, of n - c, against 2 t > n + c.
* *A silo that lies* about its shares is found by those who hold them, before any vector is sent. One that lies in its
  vector spoils the sum and learns no more by it.
* Where each vector has all the noise that the promise takes, nothing hangs on masks.

Masks are the output of ChaCha20 under keys used once. int64 sums are taken modulo 2^64 and read as signed
numbers, which is exact while the true sum lies in int64: silos hold each entry below :math:`2^{62} / n`.

Reference
---------
Bonawitz et al., "Practical secure aggregation for privacy-preserving machine learning", CCS 2017,
doi:10.1145/3133956.3133982.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from discreet.federated.secure_aggregation.channels import Owner, agreed_key, roster_digest
from discreet.federated.secure_aggregation.hellos import read_hello
from discreet.federated.secure_aggregation.public_points import point_of, write_point
from discreet.federated.secure_aggregation.secret_shares import is_share, join

__all__ = ["Sums", "expand", "own_key", "pair_key", "unmask"]

Sums = NDArray[np.int64]


def unmask(
    terms: bytes,
    hellos: Mapping[int, bytes],
    members: Iterable[int],
    vectors: Mapping[int, Sums],
    shares: Mapping[int, Mapping[int, bytes]],
    threshold: int,
) -> Sums:
    """Return the sum of the vectors that came, without their masks.

    Parameters
    ----------
    terms : bytes
    hellos : mapping of silo to its first message
    members : silos under whose masks vectors were put
    vectors : mapping of silo to masked vector
    shares : mapping of silo to (mapping of member to share)
        The last messages. Wrong ones are left out, as long as ``threshold`` right ones came.
    threshold : int

    Raises
    ------
    PrivacyError
        Where too few right shares came.
    """
    roster = roster_digest(terms, hellos)
    read = {silo: read_hello(hellos[silo], threshold) for silo in members}
    total = np.zeros(len(next(iter(vectors.values()))), np.uint64)
    for vector in vectors.values():
        total = total + vector.view(np.uint64)
    for member, hello in read.items():
        assert hello is not None
        points = hello.own if member in vectors else hello.mask
        right = {
            giver: given[member]
            for giver, given in shares.items()
            if member in given and is_share(given[member], giver, points)
        }
        secret = join(right, threshold)
        if member in vectors:
            total = total - expand(own_key(secret, member, roster), len(total))
            continue
        for other in vectors:  # what `other` added for `member` is taken back
            theirs = read[other]
            assert theirs is not None
            key = pair_key(secret, (member, hello.mask[0]), (other, theirs.mask[0]), roster)
            mask = expand(key, len(total))
            total = total - mask if member > other else total + mask
    return total.view(np.int64)


def pair_key(secret: int, mine: Owner, theirs: Owner, roster: bytes) -> bytes:
    """Return the key of the mask between two silos, from one's number and both their points."""
    return agreed_key(secret, mine, theirs, "mask", roster)


def own_key(secret: int, silo: int, roster: bytes) -> bytes:
    """Return the key of a silo's own mask."""
    context = b"discreet secure aggregation, own mask" + silo.to_bytes(4) + write_point(point_of(secret))
    return HKDF(SHA256(), 32, roster, context).derive(secret.to_bytes(32))


def expand(key: bytes, n: int) -> NDArray[np.uint64]:
    """Return n words of ChaCha20 under a key that is used for nothing else."""
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * n)), dtype="<u8")
