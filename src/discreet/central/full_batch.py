r"""PrivateLDA's algorithm: a private start, a few full-batch rounds, every noisy number read through a denoiser.

Releases, each a sum over units of a vector of L2 norm at most 1 plus Gaussian noise, each with a share of the
reserved precision (:mod:`discreet.central.plan` has all of them in one table):

0. the number of units n;
1. the unigram: denoised to the distribution p over words;
2. where public word vectors are given, the second moment of the documents in their space: whether the vectors know
   these texts, and which of their directions go together;
3. the co-occurrence of the M most probable words: factorised into starting topics, beside what vectors tell where they
   are believed;
4. in each round, the topic-word statistic: un-weighted, averaged with earlier rounds by precision, denoised to topics;
   its sum over topics is averaged with the unigram.

Guarantee
---------
*Unit, neighbours*: a document, or all documents of a person, added or removed.
*Released*: everything above, and whatever is computed from it (p, topics, sizes, shares). *Sensitivity*: 1 in
L2 for each release, because each unit's vector is a function of that unit's own documents, public settings
and earlier releases, placed on the lattice with norm at most 1; a document's theta, carried from round to
round, is such a function too. A round's statistic is clipped at a bound that follows from the noisy n and the released
unigram, and in units of it the norm is at most 1. *Event*: one Gaussian event with noise multiplier
:math:`1/\mu`, reserved as a whole; release i uses :math:`\sigma_i^{-2} = f_i \mu^2`, :math:`\sum f_i \le 1`. Shares
depend on the noisy n and, with vectors, on the released moment: fully adaptive composition within a fixed total, for
which the reservation is the filter. Vectors are public; they are centred and scaled under the released p.

``mu = inf`` is the non-private twin: the same code, zero noise.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.central import start
from discreet.central.forecast import Structure, structure
from discreet.central.plan import COUNT_SHARE, MOST_WORDS, WORD_POWER, Schedule
from discreet.central.sums.em_round import Contribution, Theta, initial_theta, round_sum
from discreet.central.sums.units import (
    ShardedUnits,
    Units,
    cooccurrence_sum,
    count_sum,
    moment_sum,
    square,
    unigram_sum,
)
from discreet.lda.denoise import UNKNOWN, Joint, read_rates, read_topics
from discreet.lda.questions import square_of
from discreet.lda.vectors import VectorPrior, centred, directions
from discreet.privacy.bound import MAX_BITS
from discreet.privacy.mechanism import BITS, Noisy, SharedGaussian

Floats = NDArray[np.float64]
_DIRECTIONS = 40
#: Steps of a document; expectation propagation is as near its end after fewer.
_STEPS, _STEPS_MATCHED = 8, 2


class Frequencies(NamedTuple):
    """How frequent words are: noisy shares, averaged over releases by precision.

    What a round says of a word over all topics is how frequent the word is. Its noise adds up over the topics, but
    rounds have the largest shares: where the unigram's own is small, they know as much as it does. It is in short
    texts, where words differ most in how frequent they are, that this is felt.
    """

    #: (n_words,): they sum to 1; noisy, so some may be below 0.
    shares: Floats
    #: (n_words,): one over the variance of their noise.
    precision: Floats

    @classmethod
    def of_unigram(cls, noisy: Noisy) -> "Frequencies":
        """Return what the released unigram says; its noise is above 0."""
        mass = max(float(noisy.values.sum()), 1e-9)
        return cls(noisy.values / mass, np.full(noisy.values.shape, (mass / noisy.noise) ** 2))

    def with_round(self, noisy: Noisy, weights: Floats) -> "Frequencies":
        """Return the mean by precision with a round's statistic, (n_words, n_topics), in which words had these
        public weights.
        """
        rows = noisy.values.sum(1) / weights
        mass = max(float(rows.sum()), 1e-9)
        told = (weights * mass / noisy.noise) ** 2 / noisy.values.shape[1]
        precision = self.precision + told
        return Frequencies((self.precision * self.shares + told * rows / mass) / precision, precision)

    def read(self) -> Floats:
        """Return a distribution over words."""
        return _read(self.shares, self.precision**-0.5)


def read_unigram(noisy: Noisy) -> Floats:
    """Read a distribution over words from the noisy unigram."""
    return _read(noisy.values, np.full(noisy.values.shape, noisy.noise))


def _read(level: Floats, deviation: Floats) -> Floats:
    level = read_rates(level, deviation)
    return level / level.sum()


class State(NamedTuple):
    """What the next round needs. ``theta`` is private; everything else is released."""

    #: (n_words, n_topics): topics, columns sum to 1.
    word_topic: Floats
    #: (n_words,): share of each word, as far as releases tell.
    unigram: Floats
    #: What rounds released so far.
    joint: Joint
    #: (n_topics,).
    topic_weight: Floats
    #: (n_documents, n_topics) float32.
    theta: Theta
    round: int
    #: Of each round: what earlier releases left.
    round_share: float
    #: What a unit gives to each round.
    contribution: Contribution
    #: What public word vectors say about the topics.
    prior: VectorPrior | None = None
    #: What ``unigram`` is read from; None without noise.
    frequencies: Frequencies | None = None


class Learned(NamedTuple):
    """What the start tells of the texts; released values only."""

    #: How many different words a unit has: one of L words, each as often, adds root L to the unigram.
    words_a_unit: float
    #: Whether the texts have topics; None where vectors are believed, which says that they have.
    structure: Structure | None
    #: Where public word vectors are used; empty without any.
    vectors_used: str


def count_units(units: Units | ShardedUnits, gate: SharedGaussian) -> float:
    """Release the number of units."""
    return float(gate.release(count_sum(units), COUNT_SHARE, "count").values[0])


def init(
    units: Units | ShardedUnits,
    n_topics: int,
    doc_topic_prior: float,
    schedule: Schedule,
    gate: SharedGaussian,
    n_units: float,
    vectors: Floats | None = None,
) -> tuple[State, Learned]:
    """Release the unigram, what the vectors need and the co-occurrence, and make the starting topics of them.

    ``n_units``: their noisy number, by which it is told whether the texts have topics, and how long units are;
    ``vectors``: public, (n_words, n_dimensions), rows of NaN for words without one.
    """
    noisy = gate.release(unigram_sum(units, gate.n_jobs), schedule.unigram_share, "unigram")
    exact = not noisy.noise
    unigram = read_unigram(noisy)
    mass, n_words = float(noisy.values.sum()), len(unigram)
    prior = start_prior(vectors, unigram, n_topics)
    spent = COUNT_SHARE + schedule.unigram_share
    seen, used, looked = None, "", 0.0
    if vectors is not None and prior is not None:
        used = "not at all: without noise, texts tell their topics by themselves"
        if not exact:
            expected = start.expected_moment(vectors, prior.directions, unigram, n_topics)
            total = moment_sum(units, start.features(prior.directions), gate.n_jobs)
            moment = gate.release(total, schedule.moment_share, "second moment")
            seen = start.look(square_of(moment.values), moment.noise, prior.directions, expected)
            used, looked = seen.used, schedule.moment_share
    believed = seen if seen is not None and seen.believed else None
    # A look that does not speak for the vectors is paid for by the pairs, which feel it less than the rounds.
    share = schedule.pairs_share_beside_vectors if believed else schedule.pairs_share - looked
    topics, shown = _start(units, n_topics, schedule, gate, share, unigram, believed, n_units)
    words = float(np.clip(mass / max(n_units, 1.0), 1.0, math.sqrt(n_words))) ** 2
    state = State(
        word_topic=topics,
        unigram=unigram,
        joint=Joint.nothing(n_words, n_topics),
        topic_weight=np.full(n_topics, 1 / n_topics),
        theta=initial_theta(units, n_topics, doc_topic_prior),
        round=0,
        prior=prior,
        round_share=(1 - spent - looked - share) / schedule.n_rounds,
        contribution=Contribution(
            exponent=schedule.exponent,
            bound=schedule.usual_norms(words) * usual_norm(unigram, words),
            matched=exact,
            bits=MAX_BITS if exact else BITS,
        ),
        frequencies=None if exact else Frequencies.of_unigram(noisy),
    )
    return state, Learned(words, shown, used)


def _start(
    units: Units | ShardedUnits,
    n_topics: int,
    schedule: Schedule,
    gate: SharedGaussian,
    share: float,
    unigram: Floats,
    seen: start.Seen | None,
    n_units: float,
) -> tuple[Floats, Structure | None]:
    """Make topics of pairs of words, and of what was ``seen`` of vectors that are believed.

    Without vectors it is told, too, whether pairs show that the texts have topics; vectors that are believed say it.
    """
    order = np.argsort(-unigram, kind="stable")
    chosen = np.sort(order[: schedule.start_words])
    weights = start.start_weights(unigram, chosen, chosen, schedule.pairs_power)
    pairs = gate.release(cooccurrence_sum(units, chosen, weights, gate.n_jobs), share, "co-occurrence")
    if seen is not None:
        columns = np.r_[chosen, order[schedule.start_words : MOST_WORDS]]
        weights = start.start_weights(unigram, columns, chosen, schedule.pairs_power)
        factors = start.factors_of(seen, unigram, start.Words(columns, weights, len(chosen)), pairs, n_topics)
        return start.on_all_words(factors, unigram, columns, weights), None
    together = square(pairs.values, len(chosen))
    topics = start.starting_topics(together, pairs.noise, unigram, chosen, weights, n_topics)
    return topics, structure(together, weights, n_units, pairs.noise, unigram[chosen])


def step(state: State, units: Units | ShardedUnits, doc_topic_prior: float, gate: SharedGaussian) -> State:
    """Release one round's statistic and read new topics from it. ``state.theta`` is updated in place."""
    weights = _weights_of_rounds(state.unigram)
    how, theta, topics = state.contribution, state.theta, state.word_topic
    n_steps = _STEPS_MATCHED if how.matched and state.round else _STEPS
    total = round_sum(units, theta, topics, weights, doc_topic_prior, n_steps, how, gate.n_jobs)
    noisy = gate.release(total, state.round_share, f"round {state.round}", bits=state.contribution.bits)
    if state.frequencies is not None:
        frequencies = state.frequencies.with_round(noisy, weights)
        state = state._replace(frequencies=frequencies, unigram=frequencies.read())
    return read_round(state, noisy, weights)


def start_prior(vectors: Floats | None, unigram: Floats, n_topics: int) -> VectorPrior | None:
    """See public word vectors through the released unigram; None where there are none, or they do not differ."""
    if vectors is None:
        return None
    found = directions(centred(vectors, unigram), unigram, _DIRECTIONS)
    return VectorPrior.start(found, n_topics) if found.shape[1] else None


def read_round(state: State, noisy: Noisy, weights: Floats) -> State:
    """Average a round's noisy statistic with the earlier ones and read topics from it."""
    joint = state.joint.with_round(noisy.values, noisy.noise, weights, state.unigram)
    found = read_topics(joint, state.unigram, state.prior)
    return state._replace(
        word_topic=found.word_topic,
        joint=joint,
        topic_weight=found.weight,
        round=state.round + 1,
        prior=found.prior,
    )


def _weights_of_rounds(unigram: Floats) -> Floats:
    return (unigram * len(unigram)) ** WORD_POWER


def usual_norm(unigram: Floats, words: float) -> float:
    """Return about the norm of the counts of a unit of so many different words, at the weights of rounds."""
    return math.sqrt(words * float((unigram * _weights_of_rounds(unigram) ** 2).sum()))


def read_out(state: State, last_step: float) -> tuple[Floats, Floats]:
    r"""Return the topics to release, and how far noise alone would have moved them.

    A text says the words of its topics again and again, more than those of all texts. Where there is noise, a round's
    statistic takes powers of counts and hardly sees it, so topics describe new texts better a step m further from the
    unigram p:

    .. math:: \max(\phi_{vk} - m p_v,\ .002\, p_v) / Z_k .

    ``state`` is that after the last round, ``last_step`` m, 0 without noise. Topics are (n_words, n_topics), columns
    sum to 1; the noise, (n_topics, n_words), is its standard deviation in each probability, before denoising.
    """
    noise = np.sqrt(state.joint.variance)[None, :] / state.topic_weight[:, None]
    if last_step == 0:
        return state.word_topic, noise
    base = state.unigram[:, None]
    topics = np.maximum(state.word_topic - last_step * base, UNKNOWN * base)
    return topics / topics.sum(0), noise / (1 - last_step)
