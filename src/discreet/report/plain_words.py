"""What a privacy officer asks of a release, with the answers that it holds: the first page of the report.

References
----------
Ponomareva and others, "How to DP-fy ML", JAIR 77 (2023), doi:10.1613/jair.1.14649: what epsilons are called.
Desfontaines, "A list of real-world uses of differential privacy", https://desfontain.es/blog/real-world-differential-privacy.html.
"""

import math

from discreet.privacy.accounting.explain import attack_risk_of
from discreet.release.files import clean
from discreet.release.numbers import FitRelease
from discreet.release.release import Release
from discreet.report.noisy_topics import told as noise_told
from discreet.report.noisy_topics import weak_verdict
from discreet.report.wording import NOT_REVIEWED, epsilon_shown, promised, text_covered, words_origin

__all__ = ["questions"]

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
    details = release.details
    made = ", ".join(
        f"{word} {details[name]}"
        for name, word in (("owner", "by"), ("date", "on"), ("period", "from texts of"))
        if name in details
    )
    who = f"Made {made}." if made else "Nobody said who made it, or when."
    if "contact" in details:
        who += f" Questions: {details['contact']}."
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
    noisy, weak = noise_told(release), _weak_forecast(release)
    if weak is not None:
        return f"Hardly. {weak}" + ("" if noisy is None else f" {noisy}.")
    if noisy is None:
        return (
            "In every topic the words that set it apart stand clear of the noise added for privacy. Whether the text "
            "has these topics is another question, which “discreet evaluate --epsilon” measures: training can follow "
            "noise, or chance, from its start on. Read whether the words belong together. Hollow bars may be noise."
        )
    return f"{noisy}; they are folded away below. Within the others, hollow bars may be noise alone."


def _weak_forecast(release: Release) -> str | None:
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
