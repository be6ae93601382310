"""Slow, obvious twins of the federated room."""

import hashlib
import hmac
import itertools
import math


def mixture(q, eta):
    """Rows of P(y | x) of the mixture form."""
    return [[(1 - eta) * (x == y) + eta * q[y] for y in range(len(q))] for x in range(len(q))]


def another_cell(q, eta):
    """Rows of P(y | x) where noise is drawn from q without x, renewed: the form that fails."""
    return [[1 - eta if x == y else eta * q[y] / (1 - q[x]) for y in range(len(q))] for x in range(len(q))]


def largest_loss(table):
    """The largest log ratio of two rows, over all outcomes."""
    worst = 0.0
    for y in range(len(table[0])):
        column = [row[y] for row in table]
        if max(column) > 0:
            worst = max(worst, math.log(max(column) / min(column)) if min(column) > 0 else math.inf)
    return worst


def slow_debias(seen, eta, q):
    """Unbiased counts, one at a time."""
    n = sum(int(count) for count in seen)
    return [
        (float(count) - float(eta) * n * share) / float(1 - eta) for count, share in zip(seen, q, strict=True)
    ]


def slow_contributions(rows):
    """Sums of one silo, document by document, cell by cell."""
    n_words = len(rows[0])
    count, unigram = 0, [0] * n_words
    pairs = {(i, j): 0 for i in range(n_words) for j in range(i + 1, n_words)}
    for row in rows:
        words = [word for word in range(n_words) if row[word] > 0]
        count += 2**18
        for place, word in enumerate(words):
            unigram[word] += math.floor(math.sqrt(4**18 / len(words)))
            for other in words[place + 1 :]:
                pairs[word, other] += math.floor(math.sqrt(4**18 / (len(words) * (len(words) - 1) / 2)))
    return [count, *unigram, *pairs.values()]


def slow_tail(probability, delta):
    """Rarest first, one at a time, as long as they have at most delta together."""
    total, rare = 0.0, [False] * len(probability)
    for cell in sorted(range(len(probability)), key=lambda c: (probability[c], -c)):
        total += probability[cell]
        if total > delta * sum(probability):
            break
        rare[cell] = True
    return rare


def excluding(q, rare, epsilon):
    """Rows of P(y | x) where noise never gives a rare cell, and eta."""
    kept = sum(share for share, out in zip(q, rare, strict=True) if not out)
    noise = [0.0 if out else share / kept for share, out in zip(q, rare, strict=True)]
    least = min(share for share in noise if share > 0)
    eta = 1 / (1 + least * (math.exp(epsilon) - 1))
    return mixture(noise, eta), eta


def needed_delta(table, epsilon):
    """The least delta with which all pairs of rows are within epsilon."""
    return max(
        sum(max(0, p - math.exp(epsilon) * r) for p, r in zip(one, other, strict=True))
        for one in table
        for other in table
    )


def slow_zipf_edge(delta, gamma):
    """Tail probability of one rank less that of the next."""
    rank = (1 / delta) ** (1 / gamma)
    return rank**-gamma - (rank + 1) ** -gamma


def report_laws(phi, counts, epsilon, shares):
    """P(cell) of one report for each word, for a document with these topic shares; phi and shares are lists.

    Noise is even over all pairs and the padding cell, eta the least that keeps epsilon.
    """
    n_topics, n_words = len(phi), len(phi[0])
    cells = n_topics * n_words + 1
    eta = 1 / (1 + (math.exp(epsilon) - 1) / cells)
    laws = []
    for word in range(n_words):
        weights = [shares[k] * phi[k][word] for k in range(n_topics)]
        law = [eta / cells] * cells
        for k in range(n_topics):
            law[k * n_words + word] += (1 - eta) * weights[k] / sum(weights)
        laws.append(law)
    return laws


def multiset_law(one, others, n):
    """P(how often each cell is reported) by one report drawn from `one` and n drawn from `others`, in no order."""
    found = {}
    for counts in itertools.product(range(n + 2), repeat=len(one)):
        if sum(counts) != n + 1:
            continue
        total = 0.0
        for cell, times in enumerate(counts):
            if not times:
                continue
            rest = [k - (place == cell) for place, k in enumerate(counts)]
            ways = math.factorial(n) / math.prod(math.factorial(k) for k in rest)
            total += one[cell] * ways * math.prod(p**k for p, k in zip(others, rest, strict=True))
        found[counts] = total
    return found


def slow_multiple(point, times, add):
    """Add a point to itself, one at a time."""
    found = None
    for _ in range(times):
        found = add(found, point)
    return found


def slow_join(shares, order):
    """Solve for the constant term by elimination, modulo the order."""
    rows = [
        [pow(number + 1, power, order) for power in range(len(shares))] + [int.from_bytes(value, "big")]
        for number, value in shares.items()
    ]
    for place in range(len(rows)):
        pivot = next(i for i in range(place, len(rows)) if rows[i][place])
        rows[place], rows[pivot] = rows[pivot], rows[place]
        inverse = pow(rows[place][place], -1, order)
        rows[place] = [value * inverse % order for value in rows[place]]
        for other, row in enumerate(rows):
            if other != place:
                rows[other] = [(a - row[place] * b) % order for a, b in zip(row, rows[place], strict=True)]
    return rows[0][-1]


PRIME = 2**256 - 2**224 + 2**192 + 2**96 - 1
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
BASE = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def slow_add(one, other):
    """Add points of P-256 by chord and tangent; None is the neutral one."""
    if one is None:
        return other
    if other is None:
        return one
    if one[0] == other[0] and one[1] != other[1]:
        return None
    above = 3 * one[0] ** 2 - 3 if one == other else other[1] - one[1]
    below = 2 * one[1] if one == other else other[0] - one[0]
    slope = above * pow(below, -1, PRIME) % PRIME
    x = (slope**2 - one[0] - other[0]) % PRIME
    return x, (slope * (one[0] - x) - one[1]) % PRIME


def slow_times(number, point):
    """Return number * point, from the lowest bit up."""
    found = None
    while number:
        if number % 2:
            found = slow_add(found, point)
        point, number = slow_add(point, point), number // 2
    return found


def compressed(point):
    return bytes([2 + point[1] % 2]) + point[0].to_bytes(32, "big")


def slow_challenge(point, commitment, statement):
    """The number that a proof answers: a hash of hashes of its four parts."""
    digests = b""
    for part in (b"discreet secure aggregation, proof", point, commitment, statement):
        digests += hashlib.sha256(part).digest()
    return int(hashlib.sha512(digests).hexdigest(), 16) % ORDER


def slow_is_proved(point, statement, proof):
    """z G = R + c P, with R in the form that it was sent in."""
    z = int.from_bytes(proof[33:], "big")
    c = slow_challenge(compressed(point), proof[:33], statement)
    minus = slow_times(ORDER - c, point)
    return 0 < z < ORDER and compressed(slow_add(slow_times(z, BASE), minus)) == proof[:33]


def slow_hkdf(salt, content, secret):
    """RFC 5869 with SHA-256, one block: 32 bytes."""
    drawn = hmac.new(salt, secret, "sha256").digest()
    return hmac.new(drawn, content + b"\x01", "sha256").digest()


def slow_agreed_key(secret, mine, theirs, purpose, roster):
    """The key of two silos: numbers and points of both, the lower number first, and the x of secret * point."""
    first, second = sorted([mine, theirs])
    content = b"discreet secure aggregation, "
    for number, point in (first, second):
        content += bytes(
            [number // 2**24, number // 2**16 % 256, number // 256 % 256, number % 256]
        ) + compressed(point)
    shared = slow_times(secret, theirs[1])[0].to_bytes(32, "big")
    return slow_hkdf(roster, content + purpose.encode(), shared)


def slow_own_key(secret, silo, roster):
    """The key of a silo's own mask: its number, its point, and the secret itself."""
    content = (
        b"discreet secure aggregation, own mask"
        + silo.to_bytes(4, "big")
        + compressed(slow_times(secret, BASE))
    )
    return slow_hkdf(roster, content, secret.to_bytes(32, "big"))


def slow_answer(row, kind, table, weights, responsibilities):
    """A document's answer, cell by cell; squares as the triangle, off the diagonal times the root of 2."""
    words = [word for word in range(len(row)) if row[word] > 0]
    if kind == "words":
        return [int(row[word] > 0) for word in range(len(row))]
    if kind == "squares":
        d = len(table[0])
        g = [sum(int(table[word][a]) for word in words) for a in range(d)]
        return [g[a] * g[b] * (1 if a == b else math.sqrt(2)) for a in range(d) for b in range(a, d)]
    found = responsibilities(words, table, weights, 0.05, 20) if words else {}
    return [math.floor(found.get((w, k), 0.0) + 0.5) for w in range(len(row)) for k in range(len(table[0]))]


def slow_placed(vector):
    """Scaled to length 2^18 and cut toward zero, one number at a time."""
    norm = math.sqrt(math.fsum(value * value for value in vector))
    return [math.trunc(value / norm * 2**18) if norm else 0 for value in vector]
