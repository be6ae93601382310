r"""PrivateLDA's algorithm: a private start, a few full-batch rounds, every noisy number read through a denoiser.

Releases, each a sum over units of a vector of L2 norm at most 1 plus Gaussian noise, each with a share of the
reserved precision:

0. the number of units n;
1. the unigram: denoised to the distribution p over words; again where vectors are believed and units are few;
2. where public word vectors are given and n is small, the second moment of the documents in their space, roughly, and
   again with less noise where that is promising: whether the vectors know these texts, and which of their directions
   go together;
3. the co-occurrence of the M most probable words: factorised into starting topics, together with what vectors tell
   (left out where vectors are believed and documents are few);
4. in each round, the topic-word statistic: un-weighted, averaged with earlier rounds by precision, denoised to topics;
   its sum over topics is averaged with the unigram.

Guarantee
---------
*Unit, neighbours*: a document, or all documents of a person, added or removed.
*Released*: everything above, and whatever is computed from it (p, topics, sizes, shares). *Sensitivity*: 1 in
L2 for each release, because each unit's vector is a function of that unit's own documents, public settings
and earlier releases, placed on the lattice with norm at most 1; a document's theta, carried from round to
round, is such a function too. A statistic that is clipped in place of scaled has a bound that follows from the noisy n
and the released unigram, and in units of it the norm is at most 1. *Event*: one Gaussian event with noise multiplier
:math:`1/\mu`, reserved as a whole; release i uses :math:`\sigma_i^{-2} = f_i \mu^2`, :math:`\sum f_i \le 1`. Shares
depend on the noisy n and, with vectors, on the released moment: fully adaptive composition within a fixed total, for
which the reservation is the filter. Vectors are public; they are centred and scaled under the released p.

``mu = inf`` is the non-private twin: the same code, zero noise.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.central.rounds.em_round import SCALED, Contribution, Theta, initial_theta, round_sum
from discreet.central.rounds.embedded_moment import moment_sum
from discreet.central.rounds.frequencies import Frequencies, read_unigram
from discreet.central.rounds.schedule import COUNT_SHARE, PAIRS_POWER, Schedule
from discreet.central.rounds.sharded_units import ShardedUnits
from discreet.central.rounds.statistics import cooccurrence_sum, count_sum, square, unigram_sum
from discreet.central.rounds.units import Units
from discreet.central.start.choose_start import Start, where_used
from discreet.central.start.from_vectors import Seen, Words, expected_moment, factors_of, features, look
from discreet.central.start.of_pairs import on_all_words, start_weights, starting_topics
from discreet.central.start.structure import Structure, structure
from discreet.lda.denoise import posterior_mean
from discreet.lda.questions.asked import square_of
from discreet.lda.word_space.directions import centred, directions
from discreet.lda.word_space.vector_prior import VectorPrior, expected_topics, follow
from discreet.privacy.shared_gaussian import Noisy, SharedGaussian

__all__ = ["Info", "State", "count_units", "init", "read_out", "step", "words_a_unit"]

Floats = NDArray[np.float64]
_ROUND_WEIGHT_POWER = -0.25
_LARGEST_WEIGHT = 30.0
#: At least so many words are in a start from vectors.
_SMOOTH_WORDS = 600
#: Of the unigram in each topic, for words of which a round tells nothing: with noise, and without.
_ROUND_UNIGRAM, _EXACT_UNIGRAM = 0.01, 0.002
_SMALLEST_TOPIC = 0.2
#: Steps of a document; expectation propagation is as near its end after fewer.
_STEPS_FIRST, _STEPS_LATER, _STEPS_MATCHED = 20, 8, 2
#: Units of fewer different words, and of fewer of all words, hardly repeat any, and are all about as long.
_SHORT, _FEW_OF_ALL = 10.0, 0.25
#: Of the unigram, what is taken off the topics in the end: at difficulty 1, for ten times more below and above it, and
#: at most; and what is left of it. Found by experiment on news, mail and messages, at difficulties from .4 to 80.
_STEP_BEYOND, _TENFOLD, _LONGEST_STEP = 0.1, (0.05, 0.15), 0.2
_LEAST_LEFT = 0.01


class State(NamedTuple):
    """What the next round needs. ``theta`` is private; everything else is released.

    Attributes
    ----------
    word_topic : array of shape (n_words, n_topics)
        Topics, columns sum to 1.
    unigram : array of shape (n_words,)
        Share of each word, as far as releases tell.
    joint : array of shape (n_words, n_topics)
        Running mean of the noisy joint distribution of words and topics.
    variance : array of shape (n_words,)
        Variance of the noise in each cell of a row of ``joint``.
    precision : array of shape (n_words,)
        Weight of the running mean.
    topic_weight : array of shape (n_topics,)
    theta : array of shape (n_documents, n_topics), float32, or what stays beside shards
    round : int
    prior : VectorPrior, optional
        What public word vectors say about the topics.
    unigram_mass : float
        Sum of the unigram as it was released.
    structure : Structure, optional
        Whether the texts have topics; None where vectors are believed, which says that they have.
    schedule : Schedule, optional
        What the rounds are to do: as planned, or as planned for vectors that are believed.
    vectors_used : str
        Where public word vectors are used; empty without any.
    frequencies : Frequencies, optional
        What ``unigram`` is read from; None without noise.
    """

    word_topic: Floats
    unigram: Floats
    joint: Floats
    variance: Floats
    precision: Floats
    topic_weight: Floats
    theta: Theta
    round: int
    prior: VectorPrior | None = None
    unigram_mass: float = math.nan
    structure: Structure | None = None
    schedule: Schedule | None = None
    vectors_used: str = ""
    frequencies: Frequencies | None = None


class Info(NamedTuple):
    """About one round; released values only."""

    noise_multiplier: float
    change: float


def count_units(units: Units | ShardedUnits, gate: SharedGaussian) -> float:
    """Release the number of units."""
    return float(gate.release(count_sum(units), COUNT_SHARE, "count").values[0])


def init(
    units: Units | ShardedUnits,
    n_topics: int,
    doc_topic_prior: float,
    schedule: Schedule,
    gate: SharedGaussian,
    vectors: Floats | None = None,
    n_units: float = 0.0,
) -> State:
    """Release the unigram, what the vectors need and the co-occurrence, and make the starting topics of them.

    Parameters
    ----------
    vectors : array of shape (n_words, n_dimensions), optional
        Public word vectors, rows of NaN for words without one.
    n_units : float, default 0.0
        Their noisy number, by which it is told whether the texts have topics, and how long units are.

    Returns
    -------
    State
        Its ``schedule`` is the one to go on with.
    """
    total = unigram_sum(units, gate.n_jobs)
    noisy = gate.release(total, schedule.unigram_share, "unigram")
    unigram = read_unigram(noisy)
    mass, n_words = float(noisy.values.sum()), len(unigram)
    if schedule.if_short and are_short(mass, n_units, n_words):
        schedule = schedule.if_short
    frequencies = Frequencies.of_unigram(noisy) if noisy.noise else None
    prior = start_prior(vectors, unigram, n_topics, schedule.n_directions)
    seen = None
    if vectors is not None and prior is not None and schedule.believed and schedule.doubted:
        expected = expected_moment(vectors, prior.directions, unigram, n_topics)
        seen = _look_at(units, gate, schedule, prior.directions, expected)
        if seen.promising:
            schedule = schedule.believed if seen.believed else schedule.doubted
    if frequencies is not None and schedule.closer_unigram_share:
        closer = gate.release(total, schedule.closer_unigram_share, "unigram, closer")
        frequencies = frequencies.with_unigram(closer)
        unigram = frequencies.read()
    start = _start(units, n_topics, schedule, gate, unigram, seen, n_units)
    if seen is not None and seen.refuted and not seen.believed:
        prior = None
    if schedule.usual_norms:
        bound = float(f"{schedule.usual_norms * usual_norm(unigram, mass, n_units):.3g}")
        schedule = schedule._replace(contribution=Contribution(exponent=1.0, bound=bound))
    return State(
        word_topic=start.word_topic,
        unigram=unigram,
        joint=np.zeros((n_words, n_topics)),
        variance=np.zeros(n_words),
        precision=np.zeros(n_words),
        topic_weight=np.full(n_topics, 1 / n_topics),
        theta=initial_theta(units, n_topics, doc_topic_prior),
        round=0,
        prior=prior,
        unigram_mass=mass,
        structure=start.structure,
        schedule=schedule,
        vectors_used=where_used(seen, not noisy.noise) if prior or seen else "",
        frequencies=frequencies,
    )


def _start(
    units: Units | ShardedUnits,
    n_topics: int,
    schedule: Schedule,
    gate: SharedGaussian,
    unigram: Floats,
    seen: Seen | None,
    n_units: float,
) -> Start:
    """Make the start from pairs of words, or from what was seen of the vectors where they are believed."""
    believed = seen is not None and seen.believed
    order = np.argsort(-unigram, kind="stable")
    chosen = np.sort(order[: schedule.start_words])
    weights = start_weights(unigram, chosen, chosen, schedule.pairs_power)
    pairs = None
    if schedule.start_share > 0 or not believed:
        total = cooccurrence_sum(units, chosen, weights, gate.n_jobs)
        pairs = gate.release(total, schedule.start_share, "co-occurrence")
    if seen is None or not believed:
        assert pairs is not None
        together = square(pairs.values, len(chosen))
        topics = starting_topics(together, pairs.noise, unigram, chosen, weights, n_topics)
        usual = start_weights(unigram, chosen, chosen, PAIRS_POWER)
        shown = structure(together, weights, n_units, pairs.noise, usual)
        return Start(topics, shown)
    columns = np.r_[chosen, order[schedule.start_words : _SMOOTH_WORDS]]
    weights = start_weights(unigram, columns, chosen, schedule.pairs_power)
    factors = factors_of(seen, unigram, Words(columns, weights, len(chosen)), pairs, n_topics)
    return Start(on_all_words(factors, unigram, columns, weights), None)


def _look_at(
    units: Units | ShardedUnits,
    gate: SharedGaussian,
    schedule: Schedule,
    along: Floats,
    expected: Floats,
) -> Seen:
    """Release the second moment of the documents along the vectors' directions; again where that is promising.

    The second look is read together with the first, by precision, and is promising whatever it shows.
    """
    total = moment_sum(units, features(along), gate.n_jobs)
    noisy = gate.release(total, schedule.moment_shares[0], "second moment")
    seen = look(square_of(noisy.values), noisy.noise, along, expected)
    if not seen.promising or not schedule.moment_shares[1]:
        return seen
    closer = gate.release(total, schedule.moment_shares[1], "second moment, closer")
    first, second = noisy.noise**-2, closer.noise**-2
    mean = (first * noisy.values + second * closer.values) / (first + second)
    seen = look(square_of(mean), (first + second) ** -0.5, along, expected)
    return seen._replace(promising=True)


def step(
    state: State,
    units: Units | ShardedUnits,
    doc_topic_prior: float,
    schedule: Schedule,
    gate: SharedGaussian,
) -> tuple[State, Info]:
    """Release one round's statistic and read new topics from it. ``state.theta`` is updated in place."""
    weights = _weights_of_rounds(state.unigram)
    later = _STEPS_MATCHED if schedule.contribution.matched else _STEPS_LATER
    total = round_sum(
        units,
        state.theta,
        state.word_topic,
        weights,
        doc_topic_prior,
        later if state.round else _STEPS_FIRST,
        gate.n_jobs,
        schedule.contribution,
    )
    share, purpose = schedule.round_shares[state.round], f"round {state.round}"
    noisy = gate.release(total, share, purpose, bits=schedule.contribution.bits)
    if state.frequencies is not None and schedule.contribution.exponent == SCALED.exponent:
        frequencies = state.frequencies.with_round(noisy, weights)
        state = state._replace(frequencies=frequencies, unigram=frequencies.read())
    after = read_round(state, noisy, weights, schedule.forgetting)
    change = float(np.abs(after.word_topic - state.word_topic).sum() / 2 / after.word_topic.shape[1])
    return after, Info(noisy.noise, change)


def start_prior(
    vectors: Floats | None, unigram: Floats, n_topics: int, n_directions: int
) -> VectorPrior | None:
    """See public word vectors through the released unigram; None where there are none, or they do not differ."""
    if vectors is None:
        return None
    found = directions(centred(vectors, unigram), unigram, n_directions)
    return VectorPrior.start(found, n_topics) if found.shape[1] else None


def read_round(state: State, noisy: Noisy, weights: Floats, forgetting: float) -> State:
    """Average a round's noisy statistic with the earlier ones and denoise it to topics."""
    private = noisy.noise > 0
    level = noisy.values / weights[:, None]
    mass = max(float(level.sum()), 1e-9)
    level = level / mass
    deviation = noisy.noise / weights / mass
    # Precision-weighted mean; what is older counts less, because topics have moved since.
    old = state.precision * forgetting
    new = 1 / deviation**2 if private else np.ones(len(weights))
    precision = old + new
    share = new / precision
    joint = (1 - share)[:, None] * state.joint + share[:, None] * level
    variance = (1 - share) ** 2 * state.variance + share**2 * deviation**2
    topic_weight = np.maximum(joint.sum(0), 0.0)
    topic_weight = np.maximum(topic_weight, _SMALLEST_TOPIC * topic_weight.sum() / len(topic_weight))
    topic_weight = topic_weight / topic_weight.sum() if topic_weight.sum() > 0 else state.topic_weight
    base = state.unigram[:, None] * topic_weight
    prior = state.prior
    if private and prior is not None:
        prior = follow(prior, joint, variance, state.unigram, topic_weight)
        base = expected_topics(prior.directions, prior.coordinates, state.unigram) * topic_weight
    if private:
        read = posterior_mean(joint, base, np.sqrt(variance)[:, None], by_column=True)
    else:
        read = np.maximum(joint, 0.0)
    # A topic in which nothing stands above the noise falls back to the unigram.
    read = np.where(read.sum(0) > 0, read, base)
    unknown = _ROUND_UNIGRAM if private else _EXACT_UNIGRAM
    topics = (1 - unknown) * read / read.sum(0) + unknown * state.unigram[:, None]
    return state._replace(
        word_topic=topics / topics.sum(0),
        joint=joint,
        variance=variance,
        precision=precision,
        topic_weight=topic_weight,
        round=state.round + 1,
        prior=prior,
    )


def _weights_of_rounds(unigram: Floats) -> Floats:
    return np.minimum((unigram * len(unigram)) ** _ROUND_WEIGHT_POWER, _LARGEST_WEIGHT)


def are_short(unigram_mass: float, n_units: float, n_words: int) -> bool:
    """Whether units have few different words, by released numbers."""
    return _usual_root(unigram_mass, n_units, n_words) ** 2 < min(_SHORT, _FEW_OF_ALL * n_words)


def usual_norm(unigram: Floats, unigram_mass: float, n_units: float) -> float:
    """Return about the norm of a unit's counts at the weights of rounds, from released numbers."""
    root = _usual_root(unigram_mass, n_units, len(unigram))
    return root * math.sqrt(float((unigram * _weights_of_rounds(unigram) ** 2).sum()))


def words_a_unit(state: State, n_units: float) -> float:
    """Estimate how many different words a unit has: one of L words, each as often, adds root L to the unigram."""
    return _usual_root(state.unigram_mass, n_units, len(state.unigram)) ** 2


def _usual_root(unigram_mass: float, n_units: float, n_words: int) -> float:
    return float(np.clip(unigram_mass / max(n_units, 1.0), 1.0, math.sqrt(n_words)))


def read_out(state: State, difficulty: float) -> tuple[Floats, Floats]:
    r"""Return the topics to release, and how far noise alone would have moved them.

    A text says the words of its topics again and again, more than those of all texts. A round's statistic takes roots
    of counts and hardly sees it, so topics describe new texts better a step further from the unigram p:

    .. math:: \max(\phi_{vk} - m p_v,\ .01\, p_v) / Z_k, \qquad m = .1 + b \log_{10} x \in [0, .2],

    where x is the difficulty, V K over n mu, and b is .05 below x = 1, .15 above. Without noise m is 0.

    Parameters
    ----------
    state : State
        After the last round.
    difficulty : float
        From the noisy number of units; 0 without noise.

    Returns
    -------
    topics : array of shape (n_words, n_topics)
        Columns sum to 1.
    noise : array of shape (n_topics, n_words)
        Standard deviation of the privacy noise in each probability, before denoising.
    """
    noise = np.sqrt(state.variance)[None, :] / state.topic_weight[:, None]
    tenfold = math.log10(difficulty) if difficulty > 0 else -math.inf
    step = float(np.clip(_STEP_BEYOND + _TENFOLD[tenfold > 0] * tenfold, 0.0, _LONGEST_STEP))
    if step == 0:
        return state.word_topic, noise
    base = state.unigram[:, None]
    topics = np.maximum(state.word_topic - step * base, _LEAST_LEFT * base)
    return topics / topics.sum(0), noise / (1 - step)
