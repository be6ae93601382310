r"""PrivateMomentLDA: one private release of which words go together in a whole corpus, and topics fitted to it.

An experiment's baseline: what a curator, or secure aggregation over one silo, makes of the moments that `FederatedLDA`
releases of several. Where the texts are at hand, `PrivateLDA` learns more at the same epsilon.

Each unit (a document, or all documents of a person) adds two vectors to two sums, each scaled to L2 norm 1 (up as
well as down) and placed on the integer lattice: the square roots of its word counts, and the strict upper triangle
of the outer product of its presence vector :math:`x` (which words it has), summed over its documents. With
documents of l words each that is, up to scale,

.. math:: u \propto E[x / \sqrt l], \qquad C_{ij} \propto E[x_i x_j / l] \quad (i \ne j),

which a topic model explains as :math:`m^\top \Phi` and :math:`\Phi^\top S \Phi` with its own m and S: the fit of
:mod:`discreet.lda.moments.fit`. Scales are matched to rates of presence, so that the fit starts where it
does for reports.

Guarantee
---------
*Unit, neighbours*: a document, or all documents of a person, added or removed. *Released*: the number of units, u and
C with noise, and whatever is computed from them. *Sensitivity*: 1 in L2 for each, because a unit's vector is a
function of that unit's documents alone, with norm at most 1 (see :mod:`discreet.central.sums.units`). *Event*:
one Gaussian event of noise multiplier :math:`\sigma`, of whose precision the three releases use shares that add up
to 1.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet._base.progress import Callback, telling
from discreet._base.validate import (
    CALLBACK,
    DOC_TOPIC_PRIOR,
    ENGINE,
    FLAG,
    SEED,
    THREADS,
    rules,
    whole,
)
from discreet.central.base import Data, Fitted, PrivateTopicModel
from discreet.central.sums.units import (
    ShardedUnits,
    Units,
    cooccurrence_sum,
    count_sum,
    unigram_sum,
    units_of,
)
from discreet.engines import Engine
from discreet.errors import ParameterError
from discreet.lda.moments.estimates import SHARES, NoisyMoments, moments_of_sums
from discreet.lda.moments.learn import learn_topics
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.mechanism import SharedGaussian
from discreet.privacy.noise.stream import SecureStream
from discreet.release.private_estimator import Booking, Plan

__all__ = ["PrivateMomentLDA", "release_moments"]

_LARGEST_TABLE = 2**31
_START = 0


def release_moments(units: Units | ShardedUnits, gate: SharedGaussian) -> NoisyMoments:
    """Release the number of units, the unigram and all pairs; every unit must hold zeros and ones only.

    Parameters
    ----------
    units : Units or ShardedUnits
        Of presences.
    gate : SharedGaussian
        Its reservation is used up.
    """
    n_words = units.n_words
    count = gate.release(count_sum(units), SHARES["count"], "count").values[0]
    n = max(float(count), 1.0)
    first = gate.release(unigram_sum(units, gate.n_jobs), SHARES["unigram"], "unigram")
    triangle = gate.release(
        cooccurrence_sum(units, np.arange(n_words), np.ones(n_words), gate.n_jobs),
        SHARES["pairs"],
        "co-occurrence",
    )
    return moments_of_sums(n, first.values, triangle.values, first.noise, triangle.noise)


def _of_presence(units: Units | ShardedUnits) -> Units | ShardedUnits:
    """Return the units with every count read as 1."""
    if isinstance(units, Units):
        return _at_most_one(units)
    units.read = partial(_read_at_most_one, units.read)
    return units


def _at_most_one(units: Units) -> Units:
    return units._replace(counts=np.minimum(units.counts, 1))


def _read_at_most_one(read: Callable[[Any], Units], shard: Any) -> Units:
    return _at_most_one(read(shard))


class PrivateMomentLDA(PrivateTopicModel):
    r"""Topics from a single private release of word co-occurrence, as a curator or secure aggregation can make it.

    Only sums over documents are ever needed, so that no one has to hold the texts together: whoever adds up (a
    curator, an aggregation protocol) sees each document's bounded integers or their sum, and noise is added once.
    Where the texts are at hand, :class:`~discreet.central.PrivateLDA` learns more at the same epsilon.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    epsilon, delta : float, default 1.0 and 1e-6
        The promise. ``epsilon = inf`` is the non-private twin.
    privacy_unit : {"document", "person"}, default "document"
        Whose presence is hidden. "person" needs ``persons``.
    doc_topic_prior : float, default 0.1
        For ``transform``.
    allow_unlearnable : bool, default False
        Fit even where only the words' frequencies stand above the noise.
    allow_large_delta : bool, default False
        Train even where delta is above 1 over the noisy number of units, so that some might be published as they are.
    random_state : int, optional
        None: noise from the operating system. An int: reproducible, and the release says "not for release".
    n_jobs : int, optional
        Threads, as in scikit-learn. The result is the same bytes for any number.
    ledger : Ledger, optional
        Where the cost is booked.
    callback : callable, optional
        ``callback(stage, done, total)`` is called as work goes on.
    engine : Engine, optional
        What goes through the shards, where ``X`` is a :class:`~discreet.corpus.ShardedCorpus`.

    Attributes
    ----------
    release_ : Release
        Everything that may be published, with its guarantee.
    topic_word_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    components_ : array of shape (n_topics, n_words)
        The same, under scikit-learn's name.
    learnable_ : int
        Directions above the noise.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : array of str of shape (n_words,)
        The words of the columns, where somebody named them.
    neighboring : str
        "add_or_remove_one": the relation that the promise is about.

    Notes
    -----
    *Guarantee*: (epsilon, delta) for adding or removing one unit; booked before X is read. How often a word stands in
    a document is not used, only whether. Memory: about 16 n_words^2 bytes; more than 2^31 are refused.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.random((3000, 40)) < np.where(np.arange(40) // 20 == rng.integers(2, size=(3000, 1)), 0.4, 0.02)
    >>> model = PrivateMomentLDA(2, epsilon=2.0, random_state=0).fit(counts.astype(int))
    >>> model.components_.shape
    (2, 40)
    """

    _algorithm = "moments under the central Gaussian"
    _in_shards = True
    _published = ("n_topics", "doc_topic_prior")
    _constraints = rules(
        n_topics=whole(),
        doc_topic_prior=DOC_TOPIC_PRIOR,
        allow_unlearnable=FLAG,
        allow_large_delta=FLAG,
        random_state=SEED,
        n_jobs=THREADS,
        callback=CALLBACK,
        engine=ENGINE,
    )

    def __init__(
        self,
        n_topics: int = 20,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        privacy_unit: str = "document",
        doc_topic_prior: float = 0.1,
        allow_unlearnable: bool = False,
        allow_large_delta: bool = False,
        random_state: int | None = None,
        n_jobs: int | None = None,
        ledger: Ledger | None = None,
        callback: Callback | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.epsilon = epsilon
        self.delta = delta
        self.privacy_unit = privacy_unit
        self.doc_topic_prior = doc_topic_prior
        self.allow_unlearnable = allow_unlearnable
        self.allow_large_delta = allow_large_delta
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.callback = callback
        self.engine = engine

    def _plan(self) -> Plan:
        if math.isinf(self.epsilon):
            return Plan(events.non_private(), 0.0)
        noise = noise_multiplier_for(self.epsilon, self.delta)
        return Plan(events.gaussian(noise), noise)

    def _purpose(self) -> tuple[str, list[str]]:
        return "moments for topics", [f"{self.n_topics} topics"]

    def _train(self, data: Data, booking: Booking) -> Fitted:
        needed = 16 * len(data.words) ** 2
        if needed > _LARGEST_TABLE:
            raise ParameterError(
                f"the moments of {len(data.words)} words need {needed:,} bytes, which is more than "
                f"{_LARGEST_TABLE:,}: take fewer words, or PrivateLDA."
            )
        stream = SecureStream(self.random_state).spawn("moments")
        gate = SharedGaussian(booking.reservation, booking.plan.how, self.privacy_unit, stream, self.n_jobs)
        units_in = units_of(data.counts, data.people, self.engine, self.n_jobs)
        with telling(self.callback, "releasing moments"), units_in as units:
            moments = release_moments(_of_presence(units), gate)
        self._check_delta(moments.n_documents, booking)
        topics = learn_topics(
            moments,
            self.n_topics,
            _START,  # one for all: without noise, the release must not depend on the seed
            what="the released moments",
            advice="The cost stays booked; take more documents, fewer words or a larger epsilon;",
            allow_unlearnable=self.allow_unlearnable,
            callback=self.callback,
        )
        return Fitted(
            topic_word=topics.topic_word,
            topic_weight=topics.topic_weight,
            word_weight=topics.unigram / topics.unigram.sum(),
            n_units_noisy=moments.n_documents,
            settings={"learnable": topics.learnable},
            attributes={"learnable_": topics.learnable},
        )
