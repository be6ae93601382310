r"""The one-run audit: canaries in or out by coins, one training run, guesses, and what they prove about epsilon.

1. Make up :math:`m` canaries; an independent fair coin puts each in or leaves it out.
2. Train once on the corpus and the canaries that are in.
3. Score each canary by how much better the topics explain it than the corpus's word frequencies do:
   :math:`\zeta(\Phi, d) - \sum_w n_w \ln p_w`. Say "in" of the highest, "out" of the lowest, nothing of the rest.

What it audits
--------------
*Neighbours*: two corpora that differ by one document added or removed, each document a unit of its own. *Why the
bound is valid*: turning one canary's coin, with all others fixed, adds or removes one document. Under the promise
each coin can therefore be guessed from what training gave out, and from all other coins, with probability at most
:math:`e^\epsilon/(1+e^\epsilon)` (but for delta), whatever the guesser does; so the number of right guesses is
stochastically dominated as :mod:`discreet.audit.one_run` states. Nothing is assumed of the canaries, the corpus, the
scores, or of how training works, only that none of them saw the coins in any other way. How many guesses are
made is fixed before the run; where several numbers are tried, each has an equal share of what is missing to 1.

Where all of the promised noise is Gaussian and everybody is in every round (``PrivateLDA``), the same guesses prove
more (:mod:`discreet.audit.one_run`): ``noise="gaussian"``.

A low bound proves nothing: one run of a good model is a weak attack, and by construction no audit of r guesses
can prove more than :math:`-\ln((1-c)^{-1/r} - 1)` or so: 3.49 for a hundred guesses.

Canaries: documents as easy to find again as a document can be
----------------------------------------------------------------
* *rare*: words drawn from the rarest of the corpus. No two canaries share a word, as far as there are words. So
  might the document of an outlier look.
* *one_topic*: one word, repeated; each canary has its own. All that the document contributes lies in one row of
  the topic-word statistic, and for any topics its best mixture is the one topic that has most of the word: the
  worst case, in which nothing of the contribution is spread thin.

They depend on the corpus and a seed, never on who is in; that is all that :func:`one_run_audit` asks of them.

Audits of what is made from texts and groups
--------------------------------------------
A choice of words, a whole pipeline, shares of topics: one run each. Coins, guesses and the bound are the same; new are
canaries that such releases can be caught by.

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

References
----------
Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run", arXiv:2305.08846. Mahloujifar, Melis, Chaudhuri,
"Auditing f-differential privacy in one run", arXiv:2410.22235.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_numbers
from discreet._base.validate import check, choice, whole
from discreet.audit.arguments import SEED, TRAIN, Noise, check_promise
from discreet.audit.attack_report import GUESSES, AuditReport
from discreet.audit.shadows import Train, statistic
from discreet.corpus import check_counts
from discreet.errors import CorpusWarning, ParameterError, PrivacyError
from discreet.lda import fold_in

Kind = Literal["rare", "one_topic"]
# How many times more rare words are in the hat than are drawn from it.
_CHOICE = 2


def make_canaries(
    corpus: Any,
    n_canaries: int,
    kind: Kind = "rare",
    *,
    length: int | None = None,
    random_state: int | np.random.SeedSequence | None = None,
) -> sp.csr_matrix:
    """Make up documents whose presence is easy to see, as counts of the corpus's words.

    By default a canary is as long as the corpus's documents on average, at least 8 tokens; "rare" ones have
    ``min(length, 8)`` distinct words.

    Raises
    ------
    ParameterError
        Where the kind is unknown, a number too small, or the vocabulary too small for canaries of their own.
    """
    counts = check_counts(corpus)
    n_words = counts.shape[1]
    if length is None:
        length = max(8, round(counts.sum() / max(1, counts.shape[0])))
    check(kind=(kind, choice(*get_args(Kind))), n_canaries=(n_canaries, whole()), length=(length, whole()))
    own = 1 if kind == "one_topic" else min(length, 8)
    if n_words < max(own, n_canaries if kind == "one_topic" else 0):
        raise ParameterError(
            f"{n_canaries} canaries need more words than the corpus has ({n_words}): make fewer canaries, or "
            "take kind='rare' where it was 'one_topic'."
        )
    rng = np.random.default_rng(random_state)
    holders = np.bincount(counts.indices[counts.data > 0], minlength=n_words)
    # Random order among words that equally many documents have.
    rarest = np.lexsort((rng.random(n_words), holders))
    hat = rarest[: min(n_words, _CHOICE * n_canaries * own)]
    # Whole shuffles of the hat one after the other: no word comes back before every other was used.
    rounds = -(-n_canaries * own // len(hat)) + 1
    drawn = np.concatenate([rng.permutation(hat) for _ in range(rounds)])[: n_canaries * own]
    words = drawn.reshape(n_canaries, own)
    each = np.full((n_canaries, own), length // own) + (np.arange(own) < length % own)
    rows = np.repeat(np.arange(n_canaries), own)
    made = sp.csr_matrix((each.ravel().astype(np.int64), (rows, words.ravel())), shape=(n_canaries, n_words))
    made.sum_duplicates()
    return made


def one_run_audit(
    train: Train | Callable[[Any, int], Any],
    corpus: Any,
    *,
    n_canaries: int = 1000,
    kind: Kind = "rare",
    n_guesses: int | Sequence[int] | None = None,
    length: int | None = None,
    score: Callable[[Any, sp.csr_matrix], ArrayLike] | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    random_state: int | None = None,
    noise: Noise = "any",
) -> AuditReport:
    """Bound epsilon from below by one training run with canaries in it.

    Parameters
    ----------
    train : callable
        ``train(counts, seed) -> topic_word``: what is audited, called once. Anything else may be returned where
        ``score`` reads it.
    corpus : Corpus, sparse or dense matrix of shape (n_documents, n_words)
        The other documents of the training; all of them are in.
    n_canaries : int, default 1000
    kind : {"rare", "one_topic"}, default "rare"
    n_guesses : int or sequence of int, optional
        How many canaries are guessed; the rest is passed over. One number is cheapest; of several the best counts,
        paid for. By default 10, 30, 100, ... up to ``n_canaries``.
    length : int, optional
        Tokens of a canary, see :func:`make_canaries`.
    score : callable, optional
        ``score(released, canaries)``: one number a canary, larger means in. It may know the corpus and the
        canaries, not the coins.
    epsilon : float, optional
        What training promises for a document added or removed.
    delta : float, default 0.0
        The same. Where it is not much below 1 / ``n_canaries``, little can be proved.
    random_state : int, optional
        Seed of canaries, coins and training.
    noise : {"any", "gaussian"}, default "any"
        "gaussian" proves more, of training whose promise rests on Gaussian noise alone, with everybody in every round:
        :class:`~discreet.PrivateLDA` on public words. It needs ``delta``.

    Returns
    -------
    AuditReport
        Larger scores mean in, ``coins`` are independent.

    Raises
    ------
    ParameterError
        If guesses are not from 1 to ``n_canaries``, scores are not one finite number a canary, or the promise is
        none: epsilon below 0, delta below 0 or from 1.

    Notes
    -----
    Documents of one person count as independent units here: where the promise is for people, give ``train`` a way of
    training that makes each canary a person of its own.
    """
    check(train=(train, TRAIN), random_state=(random_state, SEED))
    counts = check_counts(corpus)
    seeds = np.random.SeedSequence(random_state).spawn(4)
    run = _throw(n_canaries, n_guesses, seeds[1:], epsilon=epsilon, delta=delta, noise=noise)
    canaries = make_canaries(counts, n_canaries, kind, length=length, random_state=seeds[0])
    together = sp.csr_matrix(sp.vstack([counts, canaries[run.members]], dtype=counts.dtype))
    released = train(together, run.seed)
    found = score_canaries(released, canaries, counts) if score is None else score(released, canaries)
    scores = np.asarray(as_numbers(found, "the scores", ""), dtype=np.float64)
    if scores.shape != (n_canaries,):
        raise ParameterError(
            f"scores must be {n_canaries} finite numbers, one per canary, but have shape {scores.shape}."
        )
    return run.report(scores, kind)


class _Run(NamedTuple):
    """Coins of canaries, how many guesses are tried, the seed of training, and what it promises."""

    members: NDArray[np.bool_]
    guesses: tuple[int, ...]
    seed: int
    promise: dict[str, Any]

    def report(self, scores: NDArray[np.float64], kind: str) -> AuditReport:
        """Return what the scores of the canaries prove."""
        name, coins = f"one run, {kind} canaries", "independent"
        return AuditReport(scores, self.members, name, coins=coins, guesses=self.guesses, **self.promise)


def _throw(
    n_canaries: int,
    n_guesses: int | Sequence[int] | None,
    seeds: Sequence[np.random.SeedSequence],
    **promise: Any,
) -> _Run:
    """Throw the coins by the first of the seeds, draw the seed of training by the second."""
    check(n_canaries=(n_canaries, whole()))
    check_promise(**promise)
    tried = _numbers(n_guesses, int(n_canaries))
    members = np.random.default_rng(seeds[0]).random(n_canaries) < 0.5
    return _Run(members, tried, _seed(np.random.default_rng(seeds[1])), promise)


def score_canaries(topic_word: ArrayLike, canaries: Any, corpus: Any) -> NDArray[np.float64]:
    """Return how much better topics explain each canary than the corpus's word frequencies, in nats a token.

    The corpus is without canaries; each of its words counts half a token more, so that none has probability 0.
    """
    frequencies = np.asarray(check_counts(corpus).sum(axis=0), dtype=np.float64).ravel() + 0.5
    expected = canaries @ np.log(frequencies / frequencies.sum())
    lengths = np.asarray(canaries.sum(axis=1), dtype=np.float64).ravel()
    return (statistic(topic_word, canaries) - expected) / np.maximum(lengths, 1.0)


def _numbers(n_guesses: int | Sequence[int] | None, n_canaries: int) -> tuple[int, ...]:
    if n_guesses is None:
        return (*(number for number in GUESSES if number < n_canaries), n_canaries)
    tried = list(n_guesses) if isinstance(n_guesses, Sequence | np.ndarray) else [n_guesses]
    if not tried or not all(map(whole(1, n_canaries).holds, tried)):
        raise ParameterError(f"n_guesses must be from 1 to n_canaries={n_canaries}, but got {n_guesses}.")
    return tuple(int(number) for number in tried)


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
    random_state: int | None = None,
    noise: Noise = "any",
) -> AuditReport:
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
    n_guesses, epsilon, delta, random_state, noise
        As for :func:`one_run_audit`. A list of words has failures by a threshold besides its noise: leave ``noise``
        at "any".

    Returns
    -------
    AuditReport
    """
    check(random_state=(random_state, SEED))
    seeds = np.random.SeedSequence(random_state).spawn(4)
    run = _throw(n_canaries, n_guesses, seeds, epsilon=epsilon, delta=delta, noise=noise)
    others = list(texts)
    words = [f"canary{''.join(letters)}" for letters in islice(product(_LETTERS, repeat=6), n_canaries)]
    if copies is None:
        copies = _find_copies(release, others, words[:_PROBES], np.random.default_rng(seeds[3]))
    check(copies=(copies, whole(0)))
    times = (copies + run.members).tolist()
    made = [word for word, n in zip(words, times, strict=True) for _ in range(n)]
    found = _word_scores(release([*others, *made], run.seed))
    return run.report(np.array([found.get(word, -1.0) for word in words]), "words")


def _find_copies(
    release: Callable[[list[str], int], Any], others: list[str], words: list[str], rng: np.random.Generator
) -> int:
    """Return the number of texts at which about half of the words are released."""

    def listed(copies: int) -> bool:
        try:
            made = (word for word in words for _ in range(copies))
            told = _word_scores(release([*others, *made], _seed(rng)))
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


def _word_scores(released: Any) -> dict[str, float]:
    """Return what a release tells of each of its words."""
    if hasattr(released, "topic_word"):
        values = np.asarray(released.topic_word, np.float64).max(axis=0)
        return dict(zip(released.vocabulary, values.tolist(), strict=True))
    if hasattr(released, "get_feature_names_out"):
        words = [str(word) for word in released.get_feature_names_out()]
        weights = getattr(released, "word_weights_", None)
        values = np.ones(len(words)) if weights is None else np.asarray(weights)
        return dict(zip(words, values.tolist(), strict=True))
    return dict.fromkeys(map(str, released), 1.0)


def audit_shares(
    release: Callable[[sp.csr_matrix, NDArray[Any], list[str], int], Any],
    topics: Any,
    *,
    n_canaries: int = 300,
    n_guesses: int | Sequence[int] | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    random_state: int | None = None,
    noise: Noise = "any",
) -> AuditReport:
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
    n_guesses, epsilon, delta, random_state, noise
        As for :func:`one_run_audit`. Public groups have Gaussian noise alone: ``noise="gaussian"`` proves more of them.

    Returns
    -------
    AuditReport
    """
    check(random_state=(random_state, SEED))
    seeds = np.random.SeedSequence(random_state).spawn(3)
    run = _throw(n_canaries, n_guesses, seeds, epsilon=epsilon, delta=delta, noise=noise)
    groups = [f"canary {number:06d}" for number in range(n_canaries)]
    topic_word = np.asarray(topics.topic_word, np.float64)
    words = np.argmax(topic_word / topic_word.sum(axis=0), axis=1)
    entries = np.full(len(words), _LENGTH), (np.arange(len(words)), words)
    document = sp.csr_matrix(entries, shape=topic_word.shape, dtype=np.int64)
    mixtures = fold_in(topic_word, document)
    clearest = int(np.argmax((mixtures**2).sum(axis=1)))
    inside = np.flatnonzero(run.members)
    counts = sp.csr_matrix(document[np.full(len(inside), clearest)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorpusWarning)  # noise hides each canary: it is to
        made = release(counts, np.array(groups)[inside], groups, run.seed)
    if tuple(made.groups) != tuple(groups):
        raise ParameterError("release must return shares of the groups that it was given, in their order.")
    # Noise of a group's size is 1 / count_weight times that of its sums: each counts by what it is worth.
    along = made.topic_totals @ mixtures[clearest] + made.count_weight**2 * np.asarray(made.unit_counts)
    return run.report(along, "shares")
