r"""What is said to people about a release: its words and numbers, what a privacy officer asks, which topics are noise.

The questions of a privacy officer, with the answers that a release holds, are the first page of the report. Which
topics are mostly noise is judged from the release alone.

A topic is one because of the words that it has more often than all texts together: by :math:`e_{kw} = (p(w|k) -
p(w))_+`. Take the twenty words where that is largest. The topic is called mostly noise where the standard deviations of
their noise add up to at least half of it, :math:`\sum s_{kw} \ge \frac12 \sum e_{kw}`: on average these words stand
at most two standard deviations above the texts. Words further down do not count: the noise that is told is that of
estimates before they were denoised, which took it away there.

Topics that nobody denoised (word-level ones, and ``denoise="zero"``) are not shrunk, so that noise alone makes its
largest twenty of thousands stand out by more than that. For them the sum goes over all words: noise alone, around the
same frequencies, would show :math:`\sum_w E[(s_{kw} Z)_+] = \sum_w s_{kw} / \sqrt{2 \pi}`, and where that is 0.7 of
what there is, or more, the topic is called mostly noise.

How often this is wrong, beside what it replaced, is measured by ``experiments/noisy_topics/run.py``, against texts
that the fits never saw; docs/research/forecast.md has the table. It is no test with an error rate, and cannot see noise
that training followed from its start on and confirmed round after round: the numbers released last do not tell it.

References
----------
Ponomareva and others, "How to DP-fy ML", JAIR 77 (2023), doi:10.1613/jair.1.14649: what epsilons are called.
Desfontaines, "A list of real-world uses of differential privacy", https://desfontain.es/blog/real-world-differential-privacy.html.
"""

import csv
import io
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.validate import is_whole
from discreet.central.forecast import share_of_text
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import attack_risk_of, found_at_most
from discreet.privacy.units import large_delta, plural, round_up
from discreet.release.details import DETAILS, details, topics_are_public
from discreet.release.files import clean
from discreet.release.numbers import FitRelease, NumbersRelease, Promised
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.release import STANDARD_DEVIATIONS, Release

#: Names that many documents hold can stand among the words of any release (docs/what-leaves.md).
NOT_REVIEWED = "no review recorded: names and numbers that many documents share may be among the words"
#: Of shares: those of topics that were reviewed before have names that were, and know nothing of it.
TOPICS_NOT_REVIEWED = "none recorded here: they are as the topics were when these shares were made"

_LONGEST = 60
#: Relevance of the words that name a topic: its lambda; and more than any two logarithms of probabilities differ.
_TYPICAL, _FAR = 0.6, 1e4
#: What a formula begins with, the minus of typographers too.
_FORMULA = frozenset("=+-@\u2212")
#: Share of members found above which a promise is not called one of "nearly the same".
_HALF = 0.5
#: Settings that hold the exact number of randomised reports, of a collector and of silos.
_REPORTS = ("n_reports", "documents_reported")
#: What figures among the settings mean whose names do not say it.
_MEANINGS = {
    "strength": "one over the standard deviation of the noise in a mean over all documents",
    "learnable": "topics that what was released tells apart through its noise",
}


def shown(word: str) -> str:
    """Return a word as it can be shown: printable, not endless, and not nothing."""
    text = shortened(clean(word), _LONGEST)
    return text if text.strip() else f"\u201c{text}\u201d"


def reports_counted(release: Promised) -> str | None:
    """Say how many randomised reports a release rests on, and who knows; None where it rests on none."""
    for name in _REPORTS:
        count = release.configuration.get(name)
        if is_whole(count):
            return f"{count:,}: exact, known to whoever collected them, and not hidden by the promise"
    return None


def promised(release: Promised) -> str:
    """Say between which two worlds the promise makes a release alike, and what of it is not hidden.

    Where a test may find more than half of those who are in the text, "nearly the same" would be no true word.
    """
    promise = release.promise
    unit, replaced = promise.called, promise.neighboring == "replace_one"
    without = f"with or without any single {unit}"
    if replaced:
        without = f"whatever any single {unit} had {'said' if promise.privacy_unit == 'report' else 'been'}"
    if found_at_most(promise, release.ledger.entries) > _HALF:
        said = (
            f"{without}, the same could have been published, "
            "but epsilon is so large that it may have been far less likely."
        )
    else:
        said = f"{without}, nearly the same would have been published."
    if not replaced:
        return said
    exact = "exact and not hidden" if reports_counted(release) else "not hidden"
    return f"{said} The number of {plural(unit)} is {exact}."


def epsilon_shown(epsilon: float) -> str:
    """Write epsilon with four digits, never below its value (but for rounding in its last bits)."""
    return "\u221e" if math.isinf(epsilon) else round_up(epsilon)


def label_of(release: Release | NumbersRelease) -> dict[str, Any]:
    """Return what pages and cards say of a release: its promise, what stands on its ledger, and what people said."""
    promise = release.promise
    epsilon, delta = epsilon_shown(promise.epsilon), round_up(promise.delta)
    known = release.n_units_noisy if isinstance(release, Release) else release.n_units_in_all
    return {
        "no_privacy": math.isinf(promise.epsilon),
        "reproducible": release.reproducible,
        "determinism": noise_of(release),
        "unit": promise.called,
        "unit_plural": plural(promise.called),
        "relation": promise.neighboring.replace("_", " "),
        "epsilon": epsilon,
        "delta": delta,
        "promise": f"epsilon = {epsilon}, delta = {delta}, for each {promise.called}",
        "accountant": promise.accountant,
        "guarantee": release.guarantee,
        "risk": attack_risk_of(promise, release.ledger.entries),
        "large_delta": large_delta(promise.delta, known, promise.called),
        "entries": [(clean(entry.purpose), events.in_words(entry.event)) for entry in release.ledger.entries],
    }


def said_of(release: Release | NumbersRelease) -> list[tuple[str, str]]:
    """Return what people said of a release, but for its title, each with what it is."""
    return [(DETAILS[name], text) for name, text in details(release).items() if name != "title"]


def noise_of(release: Promised) -> str:
    """Return where the noise came from, or why nothing of this may leave."""
    return "drawn by the operating system" if release.may_leave else release.determinism


def weighed(release: PrevalenceRelease) -> tuple[str, str]:
    """Return what the sizes of groups are, and where a person may count in several, how."""
    unit, units = release.promise.called, plural(release.promise.called)
    if release.promise.privacy_unit == "document" or len(release.groups) == 1:
        return f"{units}, about", ""
    return (
        f"weight in {units}",
        f"Each {unit} with texts in several groups counts in every one of them by the share of their texts.",
    )


def many(count: int, thing: str) -> str:
    """Return a number of things."""
    return f"{count} {thing if count == 1 else plural(thing)}"


def by_share(release: Release) -> list[int]:
    """Return the numbers of topics by share, those that are mostly noise last."""
    noisy, weight = mostly_noise(release), release.topic_weight
    order = range(len(noisy)) if weight is None else (-weight).argsort(kind="stable").tolist()
    return sorted(order, key=lambda topic: bool(noisy[topic]))


def shortened(text: str, longest: int) -> str:
    """Return text of this many characters at most."""
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"


def text_covered(release: Release) -> str | None:
    """Say what share of the text the words make up, where that was released."""
    share = release.configuration.get("text_covered")
    if not isinstance(share, float) or not math.isfinite(share):
        return None
    noise = release.configuration.get("text_covered_noise")
    told = share_of_text(share, noise if isinstance(noise, float) and math.isfinite(noise) else None)
    return told if "±" in told else f"{told} (a noisy number)"


def words_origin(release: Release, escape: Callable[[str], str] = clean) -> str:
    """Say where the words come from, and who says so; what they say is escaped."""
    kind = release.configuration.get("words")
    if topics_are_public(release):
        return "those of public topics that were brought, as declared by whoever made this"
    booked = any(entry.purpose.startswith("vocabulary") for entry in release.ledger.entries)
    if booked and kind in ("chosen", None):
        return "chosen privately; the choice is booked"
    columns = booked and release.configuration.get("columns") == "chosen privately"
    if kind == "public":
        declared = escape(str(release.configuration.get("words_declared_by", "nobody")))
        said = f"a public list, not made from these texts, as declared by: {declared}"
        return (
            f"{said}; only words that were chosen privately were counted, and the choice is booked"
            if columns
            else said
        )
    if kind == "numbered" and columns:
        return "none: columns are numbered; they were chosen privately, and the choice is booked"
    if kind == "numbered":
        return (
            "none: columns are numbered; it is for whoever made this to vouch that their number tells nothing, and "
            "that they were not chosen from the texts"
        )
    return "not stated: ask whoever made this where they come from"


def for_spreadsheet(text: str) -> str:
    """Return text that no spreadsheet runs as a formula: behind an apostrophe where one may begin with it.

    Blanks, marks and joiners before it are passed over, because programs strip them; and fullwidth and small signs
    count as those that they stand for.
    """
    first = next((letter for letter in text if unicodedata.category(letter)[0] not in "CZ"), "")
    runs = text[:1] in ("\t", "\r", "\n") or unicodedata.normalize("NFKC", first)[:1] in _FORMULA
    return f"'{text}" if runs else text


def csv_of(columns: Mapping[str, Iterable[Any]], **how: Any) -> str:
    """Return columns of one length as CSV, below their names; ``how`` as for :func:`csv.writer`."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", **how)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def settings_in_words(release: Promised) -> dict[str, Any]:
    """Return the public settings as people read them: figures with what they mean, the unit with what one is called."""
    told, promise = dict(release.configuration), release.promise
    for name, meaning in _MEANINGS.items():
        if isinstance(told.get(name), int | float):
            told[name] = f"{told[name]:,}: {meaning}"
    if promise.unit_name and told.get("privacy_unit") == promise.privacy_unit:
        told["privacy_unit"] = f"{promise.privacy_unit}: one {promise.called}"
    return told


_WORDS, _MOSTLY = 20, 0.5
_MOSTLY_RAW = 0.7
#: Verdicts of a forecast that promise little, as it writes them.
_WEAK = "too few words|no topics|mostly noise|weak|too little of the text"
#: Nats a token, about 5 % of perplexity.
_HARDLY = 0.05


def noise_share(release: Release) -> NDArray[np.float64] | None:
    """Return the noise of the words that set each topic apart most, beside what sets them apart; None if not told.

    Sum of standard deviations over sum of excess, of twenty words: not negative; may exceed 1.
    """
    noise = release.topic_word_noise
    if noise is None:
        return None
    excess = _excess(release)
    most = np.argsort(-excess, axis=1, kind="stable")[:, :_WORDS]
    apart, deviations = (np.take_along_axis(array, most, axis=1).sum(1) for array in (excess, noise))
    return deviations / np.maximum(apart, 1e-12)


def naming(release: Release, n: int = 3) -> list[list[str]]:
    """Return what to call each topic, as it is called everywhere: the name that a person gave it, or its first words.

    These are probable in it and typical of it: ordered by their relevance (see :mod:`discreet.report.page`), those that
    stand above the noise first.

    Parameters
    ----------
    release : Release
    n : int, default 3
        Words of a topic that nobody named. More go on where fewer end.
    """
    rank = np.log(np.maximum(release.topic_word, 1e-300))
    weight, noise = release.word_weight, release.topic_word_noise
    if weight is not None:
        rank = rank - (1 - _TYPICAL) * np.log(np.maximum(weight, weight[weight > 0].min()))
    if noise is not None:
        rank = rank - _FAR * (release.topic_word <= STANDARD_DEVIATIONS * noise)
    # Among equals the more probable one, then the vocabulary's order.
    order = [np.lexsort((-release.topic_word[topic], -row))[:n].tolist() for topic, row in enumerate(rank)]
    own = ([release.vocabulary[word] for word in words] for words in order)
    return [words if name is None else [name] for name, words in zip(release.topic_names, own, strict=True)]


def names_of(release: Release) -> tuple[str, ...]:
    """Return what to call each topic in one text, which says where it is noise."""
    called = zip(naming(release), mostly_noise(release).tolist(), strict=True)
    return tuple(f"{'mostly noise: ' * noise}{', '.join(words)}" for words, noise in called)


def overall(release: Release) -> NDArray[np.float64]:
    """Return how much of all texts each word is, shape (n_words,)."""
    if release.word_weight is not None:
        return release.word_weight
    weight = release.topic_weight
    return release.topic_word.mean(0) if weight is None else weight @ release.topic_word


def mostly_noise(release: Release) -> NDArray[np.bool_]:
    """Return which topics are mostly noise; none of a single topic, or where the noise is not told."""
    share, noise = noise_share(release), release.topic_word_noise
    if share is None or noise is None or len(share) == 1:
        return np.zeros(len(release.topic_word), dtype=np.bool_)
    if not _is_raw(release):
        return share >= _MOSTLY
    apart = np.maximum(_excess(release).sum(1), 1e-12)
    return noise.sum(1) / math.sqrt(2 * math.pi) / apart >= _MOSTLY_RAW


def _excess(release: Release) -> NDArray[np.float64]:
    return np.maximum(release.topic_word - overall(release), 0)


def _is_raw(release: Release) -> bool:
    settings = release.configuration
    return settings.get("denoise") == "zero" or settings.get("estimator") == "HybridGibbsLDA"


def because(release: Release) -> str:
    """Say why topics are called mostly noise."""
    if _is_raw(release):
        return (
            "Noise alone, around the word frequencies of all topics together, would set such a topic apart by at least "
            f"{100 * _MOSTLY_RAW:.0f} % of what it shows."
        )
    return (
        f"The {_WORDS} words that set such a topic apart most stand, on average, less than {1 / _MOSTLY:g} standard "
        "deviations of the noise above the word frequencies of all topics together."
    )


def weak_verdict(release: Release) -> str | None:
    """Return the verdict of a release's forecast where little was to be expected; None where more was, or untold."""
    forecast = str(release.configuration.get("forecast", ""))
    found = re.search(rf"(?:Learnability|Forecast): ({_WEAK})\b", forecast)
    return found and found[1]


def forecast_told(release: Release, *, again: bool = True) -> str | None:
    """Return the forecast of a release, which knew no text, and what its topics say to it; None without one.

    ``again``: whether to tell the forecast itself, which may have been told before.
    """
    forecast = release.configuration.get("forecast")
    if not isinstance(forecast, str):
        return None
    noise, weak = told(release), weak_verdict(release) is not None
    said = [forecast] if again and (weak or noise is None) else []  # no praise of noise
    if noise is not None:
        link = "As was to be expected, " if weak else "More noise came than was forecast; "
        said.append(f"{link}{noise}: the words that set them apart do not stand clear of it.")
    return " ".join([*said, apart_sentence(release)]).strip()


def apart_sentence(release: Release) -> str:
    r"""Say how far the topics are from the words of all texts together; "" of a single topic.

    That is :math:`\sum_k p(k) \sum_w p(w|k) \ln (p(w|k) / p(w))`, the information in nats that the topic of a token
    holds about its word: 0 where topics are nothing but word frequencies. Noise that was taken for words counts in it,
    so that it is above 0 for texts without topics.
    """
    topics, weight = release.topic_word, release.topic_weight
    if len(topics) == 1:
        return ""
    weight = np.full(len(topics), 1 / len(topics)) if weight is None else weight
    plain = np.maximum(weight @ topics, 1e-300)
    nats = float(weight @ (topics * np.log(np.maximum(topics, 1e-300) / plain)).sum(1))
    times = f"{math.exp(max(nats, 0.0)):.1f} times as frequent as in all texts together"
    little = ", hardly more" if nats < _HARDLY else ""
    return (
        f"In its topic a word is, on average and noise included, {times}{little} ({max(nats, 0.0):.2f} nats)."
    )


def told(release: Release) -> str | None:
    """Say how many topics are mostly noise; None where none is known to be."""
    count, n_topics = int(mostly_noise(release).sum()), len(release.topic_word)
    return f"{count} of {n_topics} topics {'is' if count == 1 else 'are'} mostly noise" if count else None


def first_sentences(release: Release, names: list[list[str]]) -> list[str]:
    """Say in three sentences what was found, how far it can be relied on, and who is protected."""
    promise, weight = release.promise, release.topic_weight
    is_noise = mostly_noise(release)
    n_topics, n_noisy = len(is_noise), int(is_noise.sum())
    about = (
        "These texts are"
        if release.n_units_noisy is None
        else f"About {max(release.n_units_noisy, 0):,.0f} {plural(promise.called)} are"
    )
    found = f"{about} summed up in {many(n_topics - n_noisy, 'topic')}"
    if n_topics == n_noisy:
        found = f"{about} not summed up: nothing but noise came of {many(n_topics, 'topic')}"
    if weight is not None and n_topics > n_noisy:
        largest = int(np.where(is_noise, -1.0, weight).argmax())
        name, share = ", ".join(names[largest]), 100 * weight[largest]
        found += f"; the largest, \u201c{name}\u201d, takes up {share:.0f}\u202f% of the words counted"
    noisy, weak = told(release), little_expected(release)
    rely = f"Do not rely on these topics. {weak}" if weak else ""
    if noisy:
        rely = f"{noisy}: do not build on {'it' if n_noisy == 1 else 'them'}. {weak or ''}".rstrip()
    elif release.topic_word_noise is None:
        rely = rely or "How much of them is noise is not told."
    elif not rely and n_topics > 1 and release.topic_word_noise.any():
        rely = "In each, the words that set it apart stand clear of the noise."
    if math.isinf(promise.epsilon):
        return [f"{found}.", rely, "They were fitted without privacy (ε = ∞): nobody is protected."]
    return [f"{found}.", rely, f"Each {promise.called} is protected: {promised(release)}"]


#: Verdicts of a forecast that promise little, as it names them, and what they mean here.
_VERDICTS = {
    "too few words": "too few words to tell so many topics apart.",
    "no topics": "no topics: what stands together in the texts is what chance makes of word frequencies.",
    "mostly noise": "mostly noise.",
    "weak": "weak.",
}
_LITTLE = 0.5

_COMPARED = (
    "For comparison, each with its own unit: the 2020 census of the United States took 17.14 per person, Google's "
    "mobility reports 2.64 per user and day, Apple 2 to 16 per user and day (without a curator)."
)


def questions(
    release: Release, fit: FitRelease | None = None, *, attacked: bool = False
) -> list[tuple[str, str]]:
    """Return questions and answers, as plain text; of a page that also shows a fit, or an attack's figures."""
    said = release.details
    made = ", ".join(
        f"{word} {said[name]}"
        for name, word in (("owner", "by"), ("date", "on"), ("period", "from texts of"))
        if name in said
    )
    who = f"Made {made}." if made else "Nobody said who made it, or when."
    if "contact" in said:
        who += f" Questions: {said['contact']}."
    return [
        ("May it be published?", _may_leave(release, fit, attacked)),
        ("Who is protected?", _protected(release)),
        (
            "What could somebody find out?",
            attack_risk_of(release.promise, release.ledger.entries),
        ),
        ("Is this epsilon usual?", _usual(release)),
        ("What was spent?", _spent(release) + _spent_on(fit, release)),
        ("Who made it, and when?", who),
        ("Where do the words come from?", f"{_capital(words_origin(release))}."),
        ("What was reviewed?", _reviewed(release)),
        ("Can you rely on the topics?", _reliable(release)),
    ]


def _may_leave(release: Release, fit: FitRelease | None, attacked: bool) -> str:
    if math.isinf(release.promise.epsilon):
        return "No. It was fitted without privacy, for comparison only."
    if release.reproducible:
        return "No. The noise came from a seed, and whoever knows the seed can subtract it."
    if attacked:
        return "Not with this page, which shows an attack's figures: they are computed from the text itself."
    if fit is not None and math.isinf(fit.promise.epsilon):
        return "Not with this page: how good the model is stands here without noise. Leave that out."
    if fit is not None and fit.reproducible:
        return "Not with this page: how good the model is was measured with noise from a seed, which can be subtracted."
    return (
        "It was made to be. Whether the epsilon below is small enough, and the words fit for everyone to read, is "
        "for those who sign it to decide."
    )


def _protected(release: Release) -> str:
    unit, kind = release.promise.called, release.promise.privacy_unit
    if math.isinf(release.promise.epsilon):
        return "Nobody."
    said = f"Each {unit}, one at a time: {promised(release)}"
    if kind == "document":
        said += " Whoever wrote several documents is protected less: each document is protected on its own."
    if kind == "word":
        said += " A whole document is not protected."
    return (
        said + " What many of them share is not hidden: names of staff, a ward's number, a frequent surname."
    )


def _usual(release: Release) -> str:
    epsilon = release.promise.epsilon
    if math.isinf(epsilon):
        return "There is none: no privacy is promised."
    step = (
        "at most 1, called strong"
        if epsilon <= 1
        else "between 1 and 10, called reasonable"
        if epsilon <= 10
        else "above 10, called weak unless something else speaks for it"
    )
    return (
        f"It is {epsilon_shown(epsilon)}: {step} in a common guide (Ponomareva and others 2023). {_COMPARED} "
        "A figure means nothing without its unit."
    )


def _spent(release: Release) -> str:
    ledger, promise = release.ledger, release.promise
    entries = [clean(entry.purpose) for entry in ledger.entries]
    limit = "no limit" if math.isinf(ledger.epsilon) else f"{ledger.epsilon:g}"
    shown = ", ".join(entries[:4]) + (f" and {len(entries) - 4} more" if len(entries) > 4 else "")
    said = f"Epsilon {epsilon_shown(promise.epsilon)} of {limit}" + (f", for {shown}." if entries else ".")
    other = release.details.get("other_spending")
    return said + (
        f" Outside this ledger: {other}."
        if other
        else " Nobody said whether anything else was spent on these texts; costs add up."
    )


def _spent_on(fit: FitRelease | None, release: Release) -> str:
    """Say what it cost to measure how good the model is, where that was not booked with the topics."""
    if fit is None or math.isinf(fit.promise.epsilon):
        return ""
    if set(map(repr, release.ledger.entries)) <= set(map(repr, fit.ledger.entries)):
        whole = f"epsilon {epsilon_shown(fit.promise.epsilon)}"
        return f" With the measure of how good the model is, on the same ledger, {whole}."
    return (
        f" How good the model is was measured on another ledger, with epsilon {epsilon_shown(fit.promise.epsilon)}: "
        "whoever reads this page has the cost of both."
    )


def _reviewed(release: Release) -> str:
    if release.review is None:
        return f"{_capital(NOT_REVIEWED)}. “discreet review” lists the ones to look at."
    return f"{_capital(release.review)}."


def _reliable(release: Release) -> str:
    if release.topic_word_noise is None:
        return "The release does not say how large its noise is; small figures may be noise alone."
    noisy, weak = told(release), little_expected(release)
    if weak is not None:
        return f"Hardly. {weak}" + ("" if noisy is None else f" {noisy}.")
    if noisy is None:
        return (
            "In every topic the words that set it apart stand clear of the noise added for privacy. Whether the text "
            "has these topics is another question, which “discreet evaluate --epsilon” measures: training can follow "
            "noise, or chance, from its start on. Read whether the words belong together. Hollow bars may be noise."
        )
    return f"{noisy}; they are folded away below. Within the others, hollow bars may be noise alone."


def little_expected(release: Release) -> str | None:
    """Say why little was to be expected before a topic was trained; None where something was, or nothing is told."""
    covered = text_covered(release)
    verdict = weak_verdict(release)
    if verdict in _VERDICTS:
        return f"The forecast was: {_VERDICTS[verdict]}"
    if covered is not None and float(release.configuration["text_covered"]) < _LITTLE:
        return f"The words make up {covered} of the text, and the topics tell nothing of the rest."
    return None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
