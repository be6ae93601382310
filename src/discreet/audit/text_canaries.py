r"""Audits of what is made from texts and groups: a choice of words, a whole pipeline, shares of topics. One run each.

Coins, guesses and the bound are those of :mod:`discreet.audit.canary_run`; new are canaries that such releases can be
caught by.

*Words and pipelines* (:func:`audit_words`). Each canary is a word that nobody else uses. The corpus holds ``copies``
texts of that word, near-duplicates of each other, and a coin adds one more or does not. A list of words tells by one
bit whether a word got over the threshold, so ``copies`` puts all canaries where that bit is decided; it is found
beforehand, by doubling and halving, from releases in which no coin was thrown. Where the release has weights of its
words, or topics, the score is the word's weight or largest probability, otherwise the bit. ``copies=0`` leaves rare
words: a release that lists what one text alone has is caught at once.

*Shares* (:func:`audit_shares`). Each canary is a document in a group of its own, of one topic as far as a document can
be; the score is the noisy sum of that group, along what the document would add to it.

*What is audited*: two corpora that differ by one text, added or removed. Turning a coin does just that, so the bound
holds as it stands, for words, for words and topics together, and for shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.audit.arguments import Noise, check_seed, check_whole
from discreet.audit.canary_run import OneRunReport, check_audit, judge_guesses
from discreet.errors import ParameterError, PrivacyError
from discreet.lda import fold_in

__all__ = ["audit_shares", "audit_words"]

_LETTERS = "bcdfghjklmnpqrstvwxz"
_MOST_COPIES = 2**20
#: Canaries of a release by which the number of copies is found.
_PROBES = 100
#: Tokens of a document whose group gives it away.
_LENGTH = 50


def audit_words(
    release: Callable[[list[str], int], Any],
    texts: Iterable[str] = (),
    *,
    n_canaries: int = 300,
    copies: int | None = None,
    n_guesses: int | Sequence[int] | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    random_state: int | None = None,
    noise: Noise = "any",
) -> OneRunReport:
    """Bound epsilon from below by one release of words, or of words and topics, with canaries in its texts.

    Parameters
    ----------
    release : callable
        ``release(texts, seed)``: what is audited. It returns the words that were chosen, a fitted
        :class:`~discreet.PrivateCountVectorizer`, or a :class:`~discreet.Release` as :func:`~discreet.fit_topics` does.
        It is called once with coins, and where ``copies`` is not given some ten times before without any.
    texts : iterable of str, optional
        All others; they are in.
    n_canaries : int, default 300
        Words made up, each of 12 letters.
    copies : int, optional
        Texts of each canary's word that are in whatever the coin says.
    n_guesses, epsilon, delta, confidence, random_state, noise
        As for :func:`one_run_audit`. A list of words has failures by a threshold besides its noise: leave ``noise``
        at "any".

    Returns
    -------
    OneRunReport
        Its kind is "words".
    """
    tried = check_audit(n_guesses, n_canaries, epsilon, delta, confidence, noise)
    others = list(texts)
    source = np.random.SeedSequence(check_seed(random_state))
    for_coins, for_training, for_ties, for_probes = source.spawn(4)
    words = [f"canary{''.join(letters)}" for letters in islice(product(_LETTERS, repeat=6), n_canaries)]
    if copies is None:
        copies = _find_copies(release, others, words[:_PROBES], np.random.default_rng(for_probes))
    copies = check_whole("copies", copies, 0)
    members = np.random.default_rng(for_coins).random(n_canaries) < 0.5
    made = [word for word, extra in zip(words, members.tolist(), strict=True) for _ in range(copies + extra)]
    found = _told(release([*others, *made], _seed(np.random.default_rng(for_training))))
    scores = np.array([found.get(word, -1.0) for word in words])
    promise: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "confidence": confidence, "noise": noise}
    return judge_guesses(scores, members, tried, np.random.default_rng(for_ties), kind="words", **promise)


def _find_copies(
    release: Callable[[list[str], int], Any], others: list[str], words: list[str], rng: np.random.Generator
) -> int:
    """Return the number of texts at which about half of the words are released."""

    def listed(copies: int) -> bool:
        try:
            told = _told(release([*others, *(word for word in words for _ in range(copies))], _seed(rng)))
        except PrivacyError:  # such as "no word was chosen"
            return False
        return sum(word in told for word in words) * 2 >= len(words)

    low, high = 0, 1
    while not listed(high):
        low, high = high, 2 * high
        if high > _MOST_COPIES:
            raise ParameterError(
                f"no word is released that {_MOST_COPIES:,} texts have: look at what the release returns, or pass "
                "copies."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if listed(middle) else (middle, high)
    return low  # with one more it is released more often than not


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


def _told(released: Any) -> dict[str, float]:
    """Return what a release tells of each of its words."""
    if hasattr(released, "topic_word"):
        values = np.asarray(released.topic_word, np.float64).max(axis=0)
        return dict(zip(released.vocabulary, values.tolist(), strict=True))
    if hasattr(released, "get_feature_names_out"):
        words = [str(word) for word in released.get_feature_names_out()]
        weights = getattr(released, "word_weights_", None)
        return dict.fromkeys(words, 1.0) | (
            {} if weights is None else dict(zip(words, np.asarray(weights).tolist(), strict=True))
        )
    return dict.fromkeys(map(str, released), 1.0)


def audit_shares(
    release: Callable[[sp.csr_matrix, NDArray[Any], list[str], int], Any],
    topics: Any,
    *,
    n_canaries: int = 300,
    n_guesses: int | Sequence[int] | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    random_state: int | None = None,
    noise: Noise = "any",
) -> OneRunReport:
    """Bound epsilon from below by one release of shares of topics, with a canary in each group.

    Parameters
    ----------
    release : callable
        ``release(counts, labels, groups, seed)`` returns a :class:`~discreet.release.PrevalenceRelease` of these
        documents: what is audited, called once. Groups are public, and each label is one of them.
    topics : Release
        The topics, which are public.
    n_canaries : int, default 300
        And as many groups.
    n_guesses, epsilon, delta, confidence, random_state, noise
        As for :func:`one_run_audit`. Public groups have Gaussian noise alone: ``noise="gaussian"`` proves more of them.

    Returns
    -------
    OneRunReport
        Its kind is "shares".
    """
    tried = check_audit(n_guesses, n_canaries, epsilon, delta, confidence, noise)
    source = np.random.SeedSequence(check_seed(random_state))
    for_coins, for_training, for_ties = source.spawn(3)
    members = np.random.default_rng(for_coins).random(n_canaries) < 0.5
    groups = [f"canary {number:06d}" for number in range(n_canaries)]
    topic_word = np.asarray(topics.topic_word, np.float64)
    documents = sp.csr_matrix((len(topic_word), topic_word.shape[1]), dtype=np.int64).tolil()
    for topic, word in enumerate(np.argmax(topic_word / topic_word.sum(axis=0), axis=1).tolist()):
        documents[topic, word] = _LENGTH
    document = sp.csr_matrix(documents)
    mixtures = fold_in(topic_word, document)
    clearest = int(np.argmax((mixtures**2).sum(axis=1)))
    inside = np.flatnonzero(members)
    counts = sp.csr_matrix(document[np.full(len(inside), clearest)])
    made = release(counts, np.array(groups)[inside], groups, _seed(np.random.default_rng(for_training)))
    if tuple(made.groups) != tuple(groups):
        raise ParameterError("release must return shares of the groups that it was given, in their order.")
    # Noise of a group's size is 1 / count_weight times that of its sums: each counts by what it is worth.
    along = made.topic_totals @ mixtures[clearest] + made.count_weight**2 * np.asarray(made.unit_counts)
    promise: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "confidence": confidence, "noise": noise}
    return judge_guesses(along, members, tried, np.random.default_rng(for_ties), kind="shares", **promise)
