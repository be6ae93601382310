"""What a notebook shows of a release: what is promised, whether it may leave, and its topics."""

from discreet._notebook import facts_html, table_html
from discreet.release.editing import details
from discreet.release.record import Release
from discreet.report.noisy_topics import mostly_noise
from discreet.report.wording import NOT_REVIEWED, epsilon_shown, shown, words_origin

__all__ = ["release_html"]

_WORDS = 8


def release_html(release: Release) -> str:
    """Return the release as HTML for a notebook."""
    topics, words = release.topic_word.shape
    promise = release.promise
    weight = release.topic_weight
    noisy = mostly_noise(release)
    order: list[int] = list(range(topics)) if weight is None else (-weight).argsort(kind="stable").tolist()
    names = release.topic_names
    rows = [
        (
            str(topic),
            "" if weight is None else f"{100 * weight[topic]:.1f} %",
            "mostly noise" if noisy[topic] else shown(names[topic] or ""),
            " ".join(map(shown, release.top_words(_WORDS)[topic])),
        )
        for topic in sorted(order, key=lambda topic: bool(noisy[topic]))
    ]
    facts = [
        (
            "promise",
            f"epsilon = {epsilon_shown(promise.epsilon)}, delta = {promise.delta:g}, for each {promise.called}",
        ),
        ("noise", release.determinism),
        ("words", words_origin(release)),
        ("review", release.review or NOT_REVIEWED),
        *((details.DETAILS[name], text) for name, text in release.details.items() if name != "title"),
    ]
    title = release.details.get("title", "Release")
    return facts_html(
        f"{title}: {topics} topics, {words} words",
        facts,
        table_html(("topic", "share", "name", "words"), rows),
    )
