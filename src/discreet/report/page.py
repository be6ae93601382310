r"""The report: a release as one HTML page that needs no network.

The page is made from the release alone, so it costs no privacy; unless an audit is shown on it, which is computed from
the text, and then the page says that it must stay. Words, settings and purposes may come from
anybody; they are escaped wherever they stand, and the page's own policy (``default-src 'none'``) lets nothing
run but the one script and the one style sheet whose SHA-256 it names. The same release gives the same bytes.

Which words it lists
--------------------
Relevance of a word in a topic is :math:`\lambda \log p(w|k) + (1 - \lambda) \log (p(w|k) / p(w))`. For each
topic the most relevant words at several :math:`\lambda` are listed, then the most probable ones, so that the
slider of the page finds what it needs without the whole vocabulary.

The slider starts where lists read best for texts as many and as long as these. Of n texts, each with L of V words,
:math:`x = n (L / V)^2` hold two ordinary words by chance. Where those are many, the words of a list stand together more
often if words that are rare elsewhere come first; where they are few, such words hardly ever meet. So it starts at
:math:`\lambda = .65 - .5 \log_{10} x`, from .4 to 1, which ``experiments/word_lists`` found on news, mail and messages,
whole and cut short; at 1, by probability, where the release does not tell n and L. These are released numbers.

A word stands above the noise where its probability is more than twice the standard deviation of the privacy
noise in its cell.

A notebook shows less (:func:`release_html`, :func:`numbers_html`): what is promised, whether it may leave, and topics.

References
----------
Sievert, Shirley, "LDAvis: a method for visualizing and interpreting topics", ILLVI 2014.
"""

import json
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape
from numpy.typing import NDArray

from discreet._base.display import document, facts_html, table_html
from discreet._base.validate import is_number
from discreet.errors import ReleaseError
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.units import plural
from discreet.release.details import is_detail
from discreet.release.files import clean
from discreet.release.numbers import FitRelease, NumbersRelease
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.release import STANDARD_DEVIATIONS, Release
from discreet.report import svg as topic_map
from discreet.report import wording
from discreet.report.svg import map_svg

if TYPE_CHECKING:
    from discreet.audit import AuditReport


@cache
def template(name: str) -> Template:
    """Return the template of a page's body; whatever it is given is escaped."""
    environment = Environment(
        loader=PackageLoader("discreet.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = _unbroken
    return environment.get_template(name)


def _unbroken(text: str) -> Markup:
    """Keep each number such as 1e-06 on one line: browsers break it behind the sign."""
    return Markup(_EXPONENT.sub(r'<span class="unbroken">\g<0></span>', str(escape(text))))


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_EXPONENT = re.compile(r"\b[\d.]+e-\d+")
#: Words listed for each topic.
LISTED = 100
_LAMBDAS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
_EACH = 20
#: Where the slider starts: at one text for two words, for ten times as many, and at least; its steps to 1.
_START, _TENFOLD, _LEAST_START, _STEPS = 0.65, 0.5, 0.4, 20
#: Most probabilities in the search index; with very many words, each lists its strongest topics only.
_LARGEST_INDEX = 200_000


@dataclass(frozen=True)
class Listing:
    """The words of a report.

    Of each topic its listed words, the most probable first, and its label: the name that a person gave it, or three of
    its words. Which words stand above the noise, where the release tells it; what the page's script needs; how many
    topics the search lists for a word at most; which topics are mostly noise.
    """

    candidates: list[Indices]
    labels: list[list[str]]
    above: NDArray[np.bool_] | None
    data: dict[str, Any]
    topics_a_word: int
    noisy: NDArray[np.bool_]


def list_words(release: Release) -> Listing:
    """Choose the words of a report."""
    topic_word, noise = release.topic_word, release.topic_word_noise
    n_topics, n_words = topic_word.shape
    above = None if noise is None else topic_word > STANDARD_DEVIATIONS * noise
    weight = release.word_weight
    if weight is not None:  # shares of zero are as the smallest: no word is infinitely typical of a topic
        weight = np.maximum(weight, weight[weight > 0].min())
    candidates = [_candidates(row, weight) for row in topic_word]
    noisy = wording.mostly_noise(release)
    called = zip(release.topic_names, wording.naming(release), noisy.tolist(), strict=True)
    labels = [_label(*each) for each in called]
    listed: Indices = np.unique(np.concatenate(candidates))
    position = np.zeros(n_words, dtype=np.int64)
    position[listed] = np.arange(len(listed))
    depth = max(1, min(n_topics, _LARGEST_INDEX // len(listed)))
    topics = [
        {
            "words": position[chosen].tolist(),
            "p": _rounded(topic_word[topic, chosen]),
            "noise": None if noise is None else _rounded(noise[topic, chosen]),
            "name": ", ".join(labels[topic]),
        }
        for topic, chosen in enumerate(candidates)
    ]
    data = {
        "words": [wording.shown(release.vocabulary[word]) for word in listed.tolist()],
        "weight": None if weight is None else _rounded(weight[listed]),
        "index": [_strongest(topic_word[:, word], word, above, depth) for word in listed.tolist()],
        "topics": topics,
        "deviations": STANDARD_DEVIATIONS,
        "total": n_words,
    }
    return Listing(candidates, labels, above, data, depth, noisy)


def starting_place(release: Release) -> float | None:
    """Return the lambda, from 0.4 to 1, at which lists of such texts read best; None where their length is not told."""
    n_units, length = release.n_units_noisy, release.configuration.get("words_a_unit")
    n_words = len(release.vocabulary)
    if (
        n_units is None
        or not is_number(length)
        or not math.isfinite(length)
        or not 1 <= round(length) <= n_words
    ):
        return None
    share = min(length / n_words, 1.0)
    tenfold = math.log10(max(n_units, 1.0)) + 2 * math.log10(share)
    place = min(max(_START - _TENFOLD * tenfold, _LEAST_START), 1.0)
    return round(_STEPS * place) / _STEPS


def _candidates(row: Floats, weight: Floats | None) -> Indices:
    probable = np.argsort(-row, kind="stable")[:LISTED]
    if weight is None:
        return probable
    logs, common = np.log(np.maximum(row, 1e-300)), np.log(weight)
    relevant = (logs - (1 - share) * common for share in _LAMBDAS)
    likely: list[Indices] = [np.argsort(-each, kind="stable")[:_EACH] for each in relevant]
    chosen = list(dict.fromkeys(np.concatenate([*likely, probable]).tolist()))[:LISTED]
    found = np.array(sorted(chosen), dtype=np.int64)
    return found[np.argsort(-row[found], kind="stable")]


def _label(given: str | None, words: list[str], noisy: bool) -> list[str]:
    """Return what a topic is called here; of noise no words, which would be believed."""
    if noisy:
        return ["mostly noise"] if given is None else [wording.shown(given), "mostly noise"]
    return [wording.shown(word) for word in words]


def _strongest(column: Floats, word: int, above: NDArray[np.bool_] | None, depth: int) -> list[float]:
    """List topic, probability, topic, ... of a word; topic t that does not stand above the noise as -1 - t."""
    row: list[float] = []
    for topic in np.argsort(-column, kind="stable")[:depth].tolist():
        row += [topic if above is None or above[topic, word] else -1 - topic, _six(float(column[topic]))]
    return row


def _six(value: float) -> float:
    return float(f"{value:.6g}")


def _rounded(values: Floats) -> list[float]:
    return [_six(value) for value in values.tolist()]


#: Words of each topic that stand on the page itself, for readers without JavaScript and for print.
_STATIC_WORDS = 10
#: Of a name on the map, in sizes of its font.
_WIDEST_ON_MAP = 11
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def report(
    release: Release,
    audit: "AuditReport | None" = None,
    curve: str = "",
    fit: FitRelease | None = None,
) -> str:
    """Return the report of a release as one HTML page; the same release gives the same text.

    With an ``audit``, and its picture ``curve`` as SVG, the page is not private: it is for whoever holds the text. How
    well the release describes private documents, ``fit``, is released numbers, so the page may leave with them.
    """
    listing = list_words(release)
    topics = _topics(release, listing)
    label = _privacy_label(release)
    data = json.dumps(listing.data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    body = template("report.html.j2").render(
        # Nothing in it can end the element of the script that holds it; jinja2 escapes everything else.
        data=Markup(data.translate(_UNSAFE)),
        sentences=wording.first_sentences(release, listing.labels),
        ranking=sorted(topics, key=lambda topic: (topic["noisy"], -topic["length"])),
        width=topic_map.WIDTH,
        height=topic_map.HEIGHT,
        n_topics=len(release.topic_word),
        n_words=len(release.vocabulary),
        n_listed=len(listing.data["words"]),
        has_weight=release.word_weight is not None,
        start=f"{starting_place(release) or 1:.2f}",
        starts_because=_starts_because(release),
        has_topic_weight=release.topic_weight is not None,
        noise=_kind_of_noise(release),
        deviations=f"{STANDARD_DEVIATIONS:g}",
        topics_a_word=listing.topics_a_word,
        topics=topics,
        n_noisy=int(listing.noisy.sum()),
        noisy_because=wording.because(release),
        noisy=wording.told(release),
        verdict=wording.forecast_told(release),
        questions=wording.questions(release, fit, attacked=audit is not None),
        covered=wording.text_covered(release),
        label=label,
        fit=None if fit is None else _fit(fit, release),
        audit=None if audit is None else _audit(audit, curve, release),
    )
    script = (files("discreet.report") / "templates" / "report.js").read_text(encoding="utf-8")
    return document(label["title"] or f"{len(topics)} topics, told discreetly", body, script)


def _kind_of_noise(release: Release) -> str:
    """Whether the noise is not told, is none, or can be drawn."""
    if release.topic_word_noise is None:
        return "not told"
    return "some" if release.topic_word_noise.any() else "none"


def _starts_because(release: Release) -> str:
    """Say why the slider starts where it does."""
    place, unit = starting_place(release), release.promise.called
    if place is None:
        why = "because this release does not tell how long the texts are"
        return f"It starts at the most probable words, {why}."
    length = f"about {float(release.configuration['words_a_unit']):,.0f} different words for each {unit}"
    if place < 1:
        return (
            f"It starts at {place:g}, where lists from texts as many and as long as these ({length}) read best: their "
            "words are found together most often."
        )
    return (
        f"It starts at the most probable words, because texts are few or short here ({length}): words that are rare "
        "elsewhere are hardly ever found together in them."
    )


def _topics(release: Release, listing: Listing) -> list[dict[str, Any]]:
    """What the page itself says of each topic."""
    on_map = [
        "" if noisy else wording.shortened(name, topic_map.fitting(name, _WIDEST_ON_MAP))
        for (name, *_), noisy in zip(listing.labels, listing.noisy, strict=True)
    ]
    circles = topic_map.lay_out(release.topic_word, release.topic_weight, on_map)
    overall, noises, weight = release.word_weight, release.topic_word_noise, release.topic_weight
    most = 1.0 if weight is None else max(float(weight.max()), 1e-12)
    noises = np.zeros_like(release.topic_word) if noises is None else noises
    topics: list[dict[str, Any]] = []
    for number, circle in enumerate(circles):
        row, noise = release.topic_word[number], noises[number]
        chosen = (-row).argsort(kind="stable")[:_STATIC_WORDS].tolist()
        tops = [row[word] + STANDARD_DEVIATIONS * noise[word] for word in chosen]
        if overall is not None:
            tops += overall[chosen].tolist()
        longest = max(*tops, 1e-12)
        words: list[dict[str, Any]] = []
        for word in chosen:
            half = STANDARD_DEVIATIONS * float(noise[word])
            low, high = max(0.0, row[word] - half), row[word] + half
            words.append(
                {
                    "word": wording.shown(release.vocabulary[word]),
                    "percent": _percent(row[word]),
                    "noise": _percent(half) if half else None,
                    "solid": listing.above is None or bool(listing.above[number, word]),
                    "bar": round(100 * row[word] / longest, 2),
                    "overall": None if overall is None else round(100 * float(overall[word]) / longest, 2),
                    "overall_percent": None if overall is None else _percent(float(overall[word])),
                    "low": round(100 * low / longest, 2),
                    "high": round(100 * high / longest, 2),
                }
            )
        topics.append(
            {
                "number": number,
                "called": number + 1,  # people count from 1
                "label": listing.labels[number],
                "on_map": on_map[number],
                "noisy": bool(listing.noisy[number]),
                "name": ", ".join(listing.labels[number]),
                "circle": circle,
                "share": None if weight is None else _percent(weight[number]),
                "short_share": "" if weight is None else f"{100 * weight[number]:.1f}\u202f%",
                "length": 0.0 if weight is None else round(100 * float(weight[number]) / most, 1),
                "above": None if listing.above is None else int(listing.above[number].sum()),
                "words": words,
            }
        )
    return topics


def _privacy_label(release: Release) -> dict[str, Any]:
    """What the privacy label says."""
    budget, units = release.ledger.epsilon, release.n_units_noisy
    return wording.label_of(release) | {
        "budget": "no limit" if math.isinf(budget) else f"{budget:g}",
        "in_words": release.promise.in_words(),
        "words": wording.words_origin(release),
        "units": None if units is None else f"{max(units, 0):,.0f}",
        # The delta that would allow to publish one unit as it is, rounded down.
        "one_over_units": None if units is None or units < 1 else f"{1 / units:.2g}",
        "reports": wording.reports_counted(release),
        "settings": [
            (clean(name), clean(value if isinstance(value, str) else json.dumps(value)))
            for name, value in wording.settings_in_words(release).items()
            if not is_detail(name)
        ],
        "title": release.details.get("title"),
        "details": wording.said_of(release),
        "review": release.review,
        "not_reviewed": wording.NOT_REVIEWED,
    }


def _fit(fit: FitRelease, release: Release) -> dict[str, Any]:
    """What the page says of how good the model is: perplexity in parts of that of word frequencies alone."""
    if not fit.is_of(release):
        raise ReleaseError(
            "the fit was measured with other topics than those of this release (it may have been edited since): "
            "measure this one, PrivateFit(release, ...)."
        )
    low, high = (100 * math.exp(-end) for end in reversed(fit.interval()))
    most = max(100.0, high) * 1.05
    return wording.label_of(fit) | {
        "in_words": fit.in_words(),
        "ratio": f"{100 * fit.perplexity_ratio:.1f}",
        "perplexity": f"{fit.perplexity:,.0f}",
        "perplexity_ends": " to ".join(f"{end:,.0f}" for end in fit.perplexity_interval()),
        "alone": f"{fit.unigram_perplexity:,.0f}",
        "alone_ends": " to ".join(f"{end:,.0f}" for end in fit.unigram_interval()),
        "low": f"{low:.1f}",
        "high": f"{high:.1f}",
        "left": round(100 * low / most, 2),
        "width": round(max(100 * (high - low) / most, 0.4), 2),
        "at": round(100 * min(100 * fit.perplexity_ratio / most, 1.0), 2),
        "unigram": round(10000 / most, 2),
        "units": f"{max(fit.n_units, 0):,.0f}",
    }


def _audit(audit: "AuditReport", curve: str, release: Release) -> dict[str, Any]:
    """What the page says of an attack on a release: rates and a picture, no document."""
    rows: list[tuple[str, str, str, str]] = []
    for rate in (0.001, 0.01, 0.1):
        low, high = (_percent(end) for end in audit.tpr_interval(rate))
        allowed = "" if audit.epsilon is None else _percent(audit.ceiling(rate))
        rows.append((_percent(rate), _percent(audit.tpr_at(rate)), f"{low} to {high}", allowed))
    low, high = audit.auc_interval()
    return {
        "attack": clean(audit.attack),
        "svg": Markup(curve),
        "targets": len(audit.scores),
        "documents": f"{audit.scores.shape[1]:,}",
        "promised": None if audit.epsilon is None else wording.epsilon_shown(audit.epsilon),
        # A fit may spend a little less than it was given.
        "other": audit.epsilon is not None
        and not any(
            math.isclose(audit.epsilon, own, rel_tol=0.01)
            for own in (release.promise.epsilon, release.ledger.epsilon)
        ),
        "bound": None if audit.coins == "unknown" else f"{audit.epsilon_lower_bound():.2f}",
        "mu": f"{audit.mu_lower_bound():.3f}"
        if audit.coins != "unknown" and audit.noise == "gaussian"
        else None,
        "broken": audit.coins != "unknown" and audit.exceeds_promise(),
        "auc": f"{audit.auc:.3f} ({low:.3f} to {high:.3f})",
        "rows": rows,
    }


def _percent(share: float) -> str:
    value = 100 * float(share)
    if 0 < value < 0.001:
        return "<0.001\u202f%"
    digits = 3 if value < 0.1 else 2 if value < 10 else 1
    return f"{value:.{digits}f}\u202f%"


_WORDS = 8
#: Epsilon that pays for nothing.
_LITTLE = 1e-3
#: Topics that a map in a notebook has room for.
_DRAWN = 60
#: In the place of the words of a model without privacy: a notebook is saved with what it shows.
ASK = "not private: top_words() tells them"


def release_html(release: Release) -> str:
    """Return the release as HTML for a notebook."""
    topics, words = release.topic_word.shape
    weight, noisy = release.topic_weight, wording.mostly_noise(release)
    private = math.isfinite(release.promise.epsilon)
    first = release.top_words(_WORDS) if private else [[ASK] for _ in range(topics)]
    names = [
        "mostly noise" if noise else "" if name is None else wording.shown(name)
        for name, noise in zip(release.topic_names, noisy.tolist(), strict=True)
    ]
    rows = [
        (
            str(topic + 1),
            "" if weight is None else f"{100 * weight[topic]:.1f} %",
            *([names[topic]] if any(names) else []),
            " ".join(map(wording.shown, first[topic])),
        )
        for topic in wording.by_share(release)
    ]
    head = ("topic", "share", "name", "words") if any(names) else ("topic", "share", "words")
    facts = [
        ("promise", wording.label_of(release)["promise"]),
        ("noise", wording.noise_of(release)),
        *_left_on_ledger(release.ledger),
        ("words", wording.words_origin(release)),
        ("review", release.review or wording.NOT_REVIEWED),
        *wording.said_of(release),
    ]
    title = release.details.get("title", "Release")
    drawn: list[str] = []
    if private and 1 < topics <= _DRAWN:
        labels = [
            "" if noise else wording.shown(", ".join(called))
            for called, noise in zip(wording.naming(release), noisy.tolist(), strict=True)
        ]
        drawn = [map_svg(release.topic_word, weight, labels, range(1, topics + 1))]
    return facts_html(f"{title}: {topics} topics, {words} words", facts, table_html(head, rows), *drawn)


def _left_on_ledger(ledger: Ledger) -> list[tuple[str, str]]:
    """Return what the ledger of a release has left for other runs, where it has a limit."""
    if math.isinf(ledger.epsilon):
        return []
    left, of = ledger.remaining().epsilon, f"of epsilon = {ledger.epsilon:g} on the ledger"
    return [("left", f"about {left:.3g} {of}, for other runs" if left > _LITTLE else f"nothing {of}")]


def numbers_html(release: NumbersRelease) -> str:
    """Return shares of topics in groups, how well topics fit, or the size of another kind, as HTML for a notebook."""
    promise = release.promise
    facts = [
        ("promise", wording.label_of(release)["promise"]),
        ("noise", wording.noise_of(release)),
    ]
    if not isinstance(release, PrevalenceRelease):
        if isinstance(release, FitRelease):
            low, high = release.interval()
            gain = f"{release.gain:.4f} nats a token over word frequencies ({low:.4f} to {high:.4f}, 95 %)"
            facts.append(("gain", gain))
        facts.append((f"number of {plural(promise.called)}", f"about {release.n_units_in_all:,.0f}"))
        return facts_html(release.PURPOSE.capitalize(), facts)
    shares = release.shares().share
    head = ("group", f"{plural(promise.called)}, about", *map(wording.shown, release.topics))
    rows = [
        (wording.shown(group), f"{max(size, 0.0):,.0f}", *(f"{100 * share:.1f} %" for share in row))
        for group, size, row in zip(release.groups, release.n_units.tolist(), shares.tolist(), strict=True)
    ]
    size = f"Shares of {len(release.topics)} topics in {wording.many(len(release.groups), 'group')}"
    return facts_html(size, facts, table_html(head, rows))
