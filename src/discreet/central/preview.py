r"""What a fit of these texts would do, for whoever holds them: exact, so private, and nothing is spent.

Words: a word of weight w, the sum of what units give it (:mod:`~discreet.central.vocabulary.methods`), is
chosen with probability :math:`\Phi((w - \rho) / \sigma)`; their sum, at most ``max_words``, is how many to expect.
What is learned of them is the forecast (:mod:`discreet.central.forecast`) of the exact number of units. No promise
covers any of it: it is shown to nobody but the holder, and no release has it.

A fit ends without topics where too few words are chosen, or the noisy number of units says that the topics would be
noise. Where it would end so for certain, but for one chance in a million, it is refused before anything is
booked: to end there tells hardly more than the fit would have told. Words are counted as if their number were Poisson
(it spreads less); the number of units has the noise that its share of the budget leaves. Where it may end so, whoever
holds the texts is warned, and the fit goes on: to end there would tell of the texts.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr, pdtrc

from discreet._base.callers import warn_caller
from discreet.central.forecast import HOPELESS, WORDS_A_TOPIC, Learnability, learnability
from discreet.central.plan import COUNT_SHARE
from discreet.central.private_lda import PrivateLDA
from discreet.central.vocabulary.methods import SHARE, GaussianChoice, even_weights
from discreet.central.vocabulary.units import fault_of_language, rank_words
from discreet.central.vocabulary.vectorizer import FEW_TEXTS, PrivateCountVectorizer
from discreet.corpus import Corpus
from discreet.corpus.languages import language_shares
from discreet.errors import CorpusError, CorpusWarning, Parameter, ParameterError, Proposal
from discreet.privacy.accounting.curves import gdp_mu
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.units import large_delta, plural
from discreet.release.private_estimator import PrivateEstimator

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

#: At which epsilons it is also told how many words would be chosen, and how many times more or less than asked for.
_EPSILONS, _FAR = (1.0, 2.0, 4.0, 8.0), 8.0
#: Where so many words of a text are numbers, it is a date or a code.
_OF_NUMBERS = 0.9
_NO_WORD = "no document has a word of the list: expected texts in its language, and `text` their field."
#: Where a fit ends without topics but for so small a chance, it is refused; where that is as likely, it is warned of.
_CERTAIN, _LIKELY = 1e-6, 0.05
#: What goes on where a fit would end.
_GO_ON = {"n_topics": "`allow_unlearnable=True`", "delta": "`allow_large_delta=True`"}
_GOES_ON = (
    " It goes on, as to end here would tell of the texts: check_topics looks before, and spends nothing; "
    'warnings.simplefilter("error", CorpusWarning) ends it.'
)


class Preview(NamedTuple):
    """What is in a corpus, and what a fit would make of it. Private."""

    #: Documents, those without a counted word, persons (or documents), and the documents of the one who has most.
    n_documents: int
    n_empty: int
    n_units: int
    most_documents: int
    #: What one unit is called.
    called: str
    #: Words that are to be expected; those of a public list.
    n_words: float
    #: Languages, and the share of the counted text that stands on their lists of stop words.
    languages: tuple[tuple[str, float], ...]
    forecast: Learnability
    #: What is wrong with delta for so many units.
    delta: str | None
    #: Share of numbers in the counted text.
    numbers: float
    #: Words that are to be expected at other epsilons, and at this one.
    words_at: tuple[tuple[float, float], ...]
    #: And at this one where half of it goes to the choice of words.
    words_at_half: float
    #: What it was told to go on with, whatever the texts are.
    told: frozenset[str]
    #: The probability that any word is chosen, that enough are, and that enough units are counted to train topics.
    any_word: float
    enough_words: float
    enough_units: float
    #: The probability that delta is small enough for the number of units that is counted.
    small_delta: float

    def __str__(self) -> str:
        return "\n".join(self.in_words(str))

    __repr__ = __str__

    @property
    def ends(self) -> dict[str, str]:
        """Return what would end a fit without topics for certain, and what goes on all the same, if anything does."""
        enough = min(self.enough_words, self.enough_units)
        chances = {"words": self.any_word, "n_topics": enough, "delta": self.small_delta}
        return {about: _GO_ON.get(about, "") for about, chance in chances.items() if chance < _CERTAIN}

    @property
    def few_words(self) -> bool:
        """Whether so many words cannot tell the topics apart, whatever the noise."""
        return round(self.n_words) < _least_words(self.forecast.n_topics)

    def faults(self) -> list[tuple[str, ParameterError]]:
        """Return what would make the fit hopeless, with what would help, and the parameter that each is about."""
        told: list[tuple[str, ParameterError]] = []
        strange = fault_of_language(self.languages)
        if strange is not None:
            told.append(("stop_words", strange))
        if self.numbers >= _OF_NUMBERS:
            said = (
                f"{100 * self.numbers:.0f} % of the words that count are numbers, as in dates and codes: is `text` the "
                "field of the texts?"
            )
            told.append(("text", ParameterError(said)))
        if self.called != "document" and self.n_units == self.n_documents > 1:
            said = (
                f"Each document has a {self.called} of its own. Where `person` is a row number, hardly anybody's texts "
                f"are protected together: name the field that is the same in all documents of a {self.called}."
            )
            told.append(("person", ParameterError(said)))
        elif self.n_units > 1 and 2 * self.most_documents > self.n_documents:
            said = (
                f"One {self.called} has {self.most_documents:,} of {self.n_documents:,} documents, which count as "
                "those of one. Where that entry of `person` stands for several, or for nobody known, leave them out."
            )
            told.append(("person", ParameterError(said)))
        topics, words = self.forecast.n_topics, round(self.n_words)
        listed = self.forecast.covered is None
        if self.few_words:
            most = words // WORDS_A_TOPIC
            ask = f"ask for at most `n_topics={most}`, or " if most > 1 and strange is None else ""
            half = "a larger share of it (`vocabulary_share=0.5`), " * (self.words_at_half > 2 * self.n_words)
            more = (
                f"let more words be chosen, by a larger epsilon, {half}more texts or a public list of words. "
                f"{FEW_TEXTS}"
            )
            among = ", stop words among them" if words and strange is not None else ""
            few = (
                f"{words} word{'s' * (words != 1)} would be chosen from {self._whose('the texts of ')}{among}"
            )
            apart = f", too few to tell {topics} topics apart" * (topics > 1)
            said = f"About {few}{apart}: "
            if listed:
                said = f"The list has {words} words, too few to tell {topics} topics apart: "
                more = "take a longer one."
            # No word is no matter of how many topics there are.
            none = "words" in self.ends or (not (words or listed) and "n_topics" in self.told)
            told.append(("words" if none else "n_topics", ParameterError(said + ask + more)))
        if self.enough_units < 1 - _LIKELY and self.enough_words >= _CERTAIN:
            chance = math.ceil(100 * (1 - self.enough_units))
            said = (
                "The topics would be noise, and nothing would be trained"
                + f", with a probability of at least {chance} %, although all would be booked"
                * (chance < 100)
                + ": ask for fewer topics, spend a larger epsilon, or bring topics of public text and release their "
                "shares alone."
            )
            told.append(("n_topics", ParameterError(said)))
        if listed and "words" in self.ends:
            told.append(("words", ParameterError(_NO_WORD)))
        if self.delta is not None:
            told.append(("delta", ParameterError(f"`delta` {self.delta}")))
        return [(about, fault) for about, fault in told if about not in self.told]

    def _whose(self, texts_of: str = "") -> str:
        return f"{texts_of * (self.called != 'document')}{self.n_units:,} {plural(self.called)}"

    def in_words(self, name: Callable[[Parameter | Proposal], str]) -> list[str]:
        """Return what is to be known, a line each, warnings last; ``name`` says how parameters are called."""
        whose = f"{self.n_documents:,} documents"
        if self.called != "document":
            whose += f" of {self._whose()}, at most {self.most_documents:,} of one"
        empty = f"; {self.n_empty:,} without a word that counts" if self.n_empty else ""
        lines = [f"{whose}{empty}."]
        if not self.few_words:  # of which a warning says all
            many = f"About {self.n_words:,.0f} words would be chosen. " * (self.forecast.covered is not None)
            lines.append(f"{many}{self.forecast.in_words()}")
        if len(self.words_at) > 1:
            epsilons = ", ".join(f"{epsilon:g}" for epsilon, _ in self.words_at)
            numbers = ", ".join(f"{words:,.0f}" for _, words in self.words_at)
            lines.append(f"At epsilon {epsilons}: about {numbers} words.")
            if round(self.words_at_half) > round(self.n_words):
                half = name(Proposal("vocabulary_share", 0.5))
                lines.append(
                    f"With half of epsilon for the words ({half}): about {self.words_at_half:,.0f} words."
                )
        for about, fault in self.faults():
            lines.append(f"{'Refused' if about in self.ends else 'Warning'}: {fault.told(name)}")
        return lines

    def refuse(self) -> None:
        """Refuse a fit that would end without topics for certain, unless it was told to go on."""
        told = [(about, fault) for about, fault in self.faults() if about in self.ends]
        if any(about == "words" and self.forecast.covered is None for about, _ in told):
            raise CorpusError(_NO_WORD)
        if told:
            parts = [part for _, fault in told for part in (*fault.args, " ")]
            ways = [self.ends[about] for about, _ in told if self.ends[about]]
            go_on = f"; {' and '.join(ways)} goes on all the same" * ("words" not in self.ends)
            raise ParameterError(
                "For you alone, because it is exact: ", *parts, f"Nothing was booked{go_on}."
            )


def _least_words(n_topics: int) -> int:
    return WORDS_A_TOPIC * n_topics if n_topics > 1 else 1


def preview(
    corpus: Corpus,
    words: PrivateCountVectorizer,
    topics: PrivateLDA,
    book: Ledger,
    where: Sequence[PrivateEstimator] = (),
) -> Preview:
    """Look at texts as a fit would, with its settings; nothing is booked, and nothing may leave.

    ``words`` and ``topics``: as :func:`~discreet.central._fit_topics.estimators` makes them; ``book``: the ledger,
    which says what a unit is called and at which delta releases are told; ``where``: what else is booked with them.
    """
    topics, called = copy.copy(topics), book.called
    free = math.isinf(topics.epsilon)
    go_on = {
        "person": free,
        "n_topics": free or topics.allow_unlearnable,
        "delta": free or topics.allow_large_delta,
    }
    persons = corpus.persons if topics.privacy_unit == "person" else None
    # The order of words that a unit has equally often is drawn for a fit, as here.
    order = np.random.default_rng(0).permutation(corpus.n_words).astype(np.uint64)
    units = rank_words(corpus.counts, persons, order)
    n_units, expected, chosen = len(units.sizes), float(corpus.n_words), np.ones(corpus.n_words, np.bool_)
    words_at: list[tuple[float, float]] = []
    half, least = 0.0, _least_words(topics.n_topics)
    any_word, enough_words = float(corpus.counts.nnz > 0), float(expected >= least)
    given = corpus.words_are_public or corpus.word_origin.kind == "chosen"
    if not given and math.isfinite(topics.epsilon):
        asked = topics.epsilon
        _, method = bookings(words, topics, where)
        most, bound = method.max_words, method.bound
        weights = even_weights(most, bound.bits)
        total = units.even_weights(most, weights)
        held = np.flatnonzero(total)
        weight: Any = total[held] * bound.step
        # Whatever the order: each unit gives each of its words at most this.
        of_units = np.repeat(weights[np.minimum(units.sizes, most)], units.sizes)
        largest = np.bincount(units.words, of_units, corpus.n_words) * bound.step

        def number(epsilon: float, weight: Any = weight) -> float:
            noise, threshold = replace(method, epsilon=epsilon).rounds[-1]
            chance = float(ndtr((weight - threshold) / noise).sum())
            return min(chance, float(words.max_words or chance))

        near = {epsilon for epsilon in _EPSILONS if asked / _FAR <= epsilon <= asked * _FAR}
        words_at = [(each, number(method.epsilon * each / asked)) for each in sorted(near | {asked})]
        expected, half = dict(words_at)[asked], number(asked / 2)
        at_most = number(method.epsilon, largest)
        any_word, enough_words = float(pdtrc(0, at_most)), float(pdtrc(least - 1, at_most))
        if words.method != "weighted_gaussian":  # of several rounds there is no law
            any_word = enough_words = 1.0
        if (largest > 0).sum() < least:
            enough_words = 0.0
        chosen[:] = False
        chosen[held[np.argsort(-weight, kind="stable")[: math.ceil(expected)]]] = True
    elif where:
        topics.epsilon = left_for_topics(where, topics)
    tokens = np.asarray(corpus.counts.sum(0)).ravel()
    # Of a list that was given the rest of the text was not counted.
    covered = None if given else float(tokens[chosen].sum() / max(tokens.sum(), 1))
    words_in = np.bincount(np.repeat(np.arange(n_units), units.sizes), chosen[units.words], n_units)
    n_reached, mu = int((words_in > 0).sum()), gdp_mu(topics.epsilon, topics.delta)
    forecast = learnability(
        max(round(expected), 1),
        topics.n_topics,
        n_reached,
        mu,
        delta=topics.delta,
        covered=covered,
        algorithm="PrivateLDA" if topics.word_vectors is None else "PrivateLDA with word vectors",
        words_a_unit=max(float(words_in.sum()) / max(n_reached, 1), 1.0),
    )
    # By which the topics are no noise, for as few words as may be chosen.
    fewest = forecast.n_words if given else max(expected - 6 * math.sqrt(expected), least)
    over = n_units * mu - fewest * topics.n_topics / HOPELESS
    return Preview(
        corpus.n_documents,
        int((np.diff(corpus.counts.indptr) == 0).sum()),
        n_units,
        1 if persons is None else int(np.unique(persons, return_counts=True)[1].max(initial=0)),
        called,
        expected,
        language_shares(corpus.vocabulary, tokens),
        forecast,
        large_delta(book.delta, n_units, called),
        float(tokens[[word.isdecimal() for word in corpus.vocabulary]].sum() / max(tokens.sum(), 1)),
        tuple(words_at),
        half,
        frozenset(about for about, goes_on in go_on.items() if goes_on),
        any_word,
        enough_words,
        float(ndtr(over * math.sqrt(COUNT_SHARE))) if math.isfinite(mu) else 1.0,
        float(ndtr((1 / book.delta - n_units) * mu * math.sqrt(COUNT_SHARE))) if math.isfinite(mu) else 1.0,
    )


def look_at(seen: Preview) -> None:
    """Refuse a fit that would end without topics for certain, and warn of what else is wrong, before it spends."""
    seen.refuse()
    for about, fault in seen.faults():
        before = "Before anything is spent, and for you alone, because it is exact: "
        costs = " If it ends at too few words, what is booked by then stays booked." * (about == "n_topics")
        warn_caller(CorpusWarning(ParameterError(before, *fault.args, costs * seen.few_words), _GOES_ON))


def bookings(
    words: PrivateCountVectorizer, topics: PrivateLDA, where: Sequence[PrivateEstimator] = ()
) -> tuple[list["Event"], GaussianChoice]:
    """Return the events of private words and topics that :func:`fit_topics` would book, and how it would choose the
    words.

    It must choose them. The method's ``group_failure(size)`` bounds the probability that a word is listed which only so
    many units of one person hold.
    """
    topics.epsilon = left_for_topics([words, *where], topics)
    event = words.planned_event()
    assert event is not None  # a public vocabulary takes another way
    most, unit = words.max_words_per_unit, words.privacy_unit
    method = GaussianChoice(words.epsilon, words.delta or 0.0, most, unit, coverage_share=SHARE)
    return [event, topics.planned_event()], method


def left_for_topics(
    others: Sequence[PrivateEstimator], topics: PrivateLDA, book: Ledger | None = None
) -> float:
    """Return the largest epsilon of the topics with which all cost what the topics were to cost alone.

    With ``book`` they are booked there after the others; otherwise together with them.
    """
    epsilon, delta = topics.epsilon, topics.delta
    planned = [other.planned_event() for other in others]
    if math.isinf(epsilon):
        return epsilon
    if book is not None:
        # The first booking of a ledger may set some of delta aside for failures of later ones.
        share = 0.0 if book.entries else book.failure_share
        left = Ledger(epsilon, delta, failure_share=share).remaining(*planned).epsilon
    else:
        left = Ledger(epsilon, delta).remaining(*planned, together=True).epsilon
    if left <= 0:
        raise ParameterError("nothing of `epsilon` is left for the topics: spend less on shares of them.")
    return left
