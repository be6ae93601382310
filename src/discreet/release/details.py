"""What people write on a release: what it is about, what its topics are called, and who reviewed it.

All of it stands among the public settings, under names of three kinds (``about.``, ``review.`` and ``topic_name.``), so
it is saved, digested and checked as they are. Whatever a file says there is shown as text, and nothing rests on it.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import ReleaseError
from discreet.release.files import clean

if TYPE_CHECKING:
    from discreet.release.numbers import Promised, Scalar
    from discreet.release.release import Release

ABOUT, REVIEW, TOPIC_NAME = "about.", "review.", "topic_name."
#: What :meth:`with_details` takes, in the order it is shown, and what it is called there.
DETAILS = {
    "title": "title",
    "owner": "owner",
    "contact": "contact",
    "period": "period",
    "date": "made on",
    "other_spending": "also spent on these texts",
}
_LONGEST = 2_000
#: What is counted of a review, in the order it is told, for one and for several.
_DONE = {
    "words_removed": ("word removed", "words removed"),
    "words_renamed": ("word renamed", "words renamed"),
    "topics_removed": ("topic removed", "topics removed"),
    "topics_merged": ("topic merged into another", "topics merged into others"),
    "topics_named": ("topic named", "topics named"),
}
#: What shares of topics say of whoever made the topics, unless they say it of themselves.
_PASSED_ON = ("title", "owner", "contact")


def settings_of(details: Mapping[str, str]) -> dict[str, str]:
    """Return words about a release as settings; ``ReleaseError`` for another name than ``DETAILS``, or a long text."""
    if set(details) - set(DETAILS):
        raise ReleaseError(f"the details of a release are {', '.join(DETAILS)}; name no others.")
    return {ABOUT + name: checked_text(name, text) for name, text in details.items()}


def with_review(release: "Release", by: str, *, on: str | None = None, note: str | None = None) -> "Release":
    """Return the release with a line that says who reviewed it, when, and how; beside whoever reviewed it before.

    Parameters
    ----------
    by : str
    on, note : str, optional
    """
    given = {"by": by, "on": on, "note": note}
    told = {REVIEW + name: checked_text(name, text) for name, text in given.items() if text is not None}
    before, when, noted = (str(release.configuration.get(REVIEW + name, "")) for name in given)
    if before and before != told[f"{REVIEW}by"]:  # of whom the changes and the note are, too
        told[f"{REVIEW}by"] = f"{before}{when and f' on {when}'}, and by {told[f'{REVIEW}by']}"
        told.setdefault(f"{REVIEW}on", "")
    if noted and note is not None:
        told[f"{REVIEW}note"] = f"{noted} {told[f'{REVIEW}note']}"
    return release.with_settings(**told)


def details(release: "Promised") -> dict[str, str]:
    """Return what was said by :meth:`with_details`, in the order of ``DETAILS``."""
    given = release.configuration
    return {name: clean(str(given[ABOUT + name])) for name in DETAILS if ABOUT + name in given}


def topics_are_public(release: "Promised") -> bool:
    """Tell whether the topics, of a release or of shares, were brought and not made from private texts."""
    return release.configuration.get("topics_are_public") is True


def topic_names(release: "Release") -> tuple[str | None, ...]:
    """Return the name that a person gave each topic, or None; in order, so topic 1 of tables and pages is at [0]."""
    return named_topics(release.configuration, len(release.topic_word))


def named_topics(configuration: Mapping[str, Any], n_topics: int) -> tuple[str | None, ...]:
    """Return the names of topics that stand among these settings."""
    names = [configuration.get(f"{TOPIC_NAME}{topic}") for topic in range(n_topics)]
    return tuple(name if isinstance(name, str) and name.strip() else None for name in names)


def review(release: "Promised") -> str | None:
    """Say in a sentence who reviewed a release and what was changed; None where nobody did anything."""
    told = {
        name.removeprefix(REVIEW): value
        for name, value in release.configuration.items()
        if name.startswith(REVIEW)
    }
    names: tuple[str | None, ...] | None = getattr(release, "topic_names", None)
    # Shares have no names, but hold the number of those that were given.
    if names is not None and not topics_are_public(release):
        told["topics_named"] = _named(names)
    counted = [(told.get(name), words) for name, words in _DONE.items()]
    done = [f"{count} {words[count != 1]}" for count, words in counted if type(count) is int and count > 0]
    if not done and not set(told) - {"topics_named"}:
        return None
    who = f"reviewed by {clean(str(told['by']))}" if "by" in told else "edited, nobody says by whom"
    when = f" on {clean(str(told['on']))}" if told.get("on") else ""
    note = f". {clean(str(told['note']))}" if "note" in told else ""
    return f"{who}{when}: {', '.join(done) if done else 'nothing changed'}{note}"


def reviewed_settings(topics: "Release") -> dict[str, "Scalar"]:
    """Return what shares of reviewed topics say of this review, as settings."""
    told = {name: value for name, value in topics.configuration.items() if name.startswith(REVIEW)}
    # Public topics have names from the first.
    named = 0 if topics_are_public(topics) else _named(topic_names(topics))
    return {**told, f"{REVIEW}topics_named": named} if named else told


def passed_on(topics: "Release") -> dict[str, "Scalar"]:
    """Return what shares made of a release take from it, as settings: its review, its title, whom to ask."""
    about = {ABOUT + name for name in _PASSED_ON}
    told = {name: value for name, value in topics.configuration.items() if name in about}
    return {**told, **reviewed_settings(topics)}


def _named(names: Iterable[str | None]) -> int:
    return sum(name is not None for name in names)


def is_detail(name: str) -> bool:
    """Tell whether a setting is one that people wrote, and is shown elsewhere than among the settings."""
    return name.startswith((ABOUT, REVIEW, TOPIC_NAME))


def checked_text(name: str, value: Any) -> str:
    """Return what people wrote; ``ReleaseError`` unless it is a little text."""
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST:
        raise ReleaseError(f"{name} must be a text of 1 to {_LONGEST} characters.")
    return value.strip()
