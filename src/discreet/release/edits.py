r"""What a reviewer changes before a release leaves: words go or are renamed, topics are named, merged or go.

*Guarantee*: that of the release, at no further cost, where the reviewer decides from the release and from what he knows
without these texts. Proof: let M be the mechanism that made the release, f an edit chosen so, S any set of results.
For neighbouring texts x and x', :math:`P[f(M(x)) \in S] = P[M(x) \in f^{-1}(S)]
\le e^\epsilon P[M(x') \in f^{-1}(S)] + \delta = e^\epsilon P[f(M(x')) \in S] + \delta` (post-processing; a
reviewer who tosses coins is a mixture of such f). The ledger stays as it is. Who chooses the words by reading the texts
makes f depend on x, and the proof does not hold: edit from the list, not from the notes.

Removed words are removed: their number is written down, they are not. The release that was reviewed still holds them.

A reviewer's edits as a plain text file
=======================================
One a line, topics by their numbers in the release that was reviewed, counted from 1 as pages and tables show them and
:meth:`Release.with_topic_names` takes them.

``drop word WORD``, ``rename word OLD = NEW``, ``name topic 3 = NAME``, ``merge topics 2 5``, ``drop topic 7``. Empty
lines and lines that begin with # say nothing. A word that cannot stand in a line as it is, stands there as in
``vocabulary.txt``.

What shares of topics call their topics, after a review of the release that they are shares of
==============================================================================================
Shares keep one short text a topic: its name, or the words that reports call it by. Those of a fit are as nobody has
reviewed them; here they take the names and words of the topics as reviewed. The numbers stay: a topic that was merged
or removed keeps its column, because the noise of a sum of columns is another, and shares of documents add up to 1 with
it.

Shares also keep a mark of their topics, a digest of their numbers, which stays where only words were renamed. Where a
review changed the numbers, none is kept that any topics have.

*Guarantee*: post-processing, as of any edit (:mod:`discreet.release.edits`).

References
----------
Dwork, Roth, "The algorithmic foundations of differential privacy" (2014), proposition 2.1.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.lazy import later
from discreet._base.validate import first_few, is_whole, kind_of, nearest, shown
from discreet.errors import ReleaseError
from discreet.release.details import (
    DETAILS,
    REVIEW,
    TOPIC_NAME,
    checked_text,
    named_topics,
    reviewed_settings,
    topics_are_public,
)
from discreet.release.files import from_line, to_line
from discreet.release.numbers import mark_of

if TYPE_CHECKING:
    from discreet.release.prevalence import PrevalenceRelease
    from discreet.release.release import Release

Floats = NDArray[np.float64]
#: What to call each topic; and whether it is noise.
names_of = later("discreet.report.wording", "names_of")
#: A topic must keep this share of itself, or what is left of it means nothing.
_LEAST_KEPT = 1e-9
#: Settings that are about all words that were chosen.
_OF_ALL_WORDS = ("text_covered", "text_covered_noise")
_PART = re.compile(r"[^\W_]+")
#: Letters, and digits, of a word that is not found in others by chance.
_LONG, _LONG_NUMBER = 5, 3
#: From here on letters are of scripts that put no blanks between words.
_UNSPACED = "\u2e80"


def without_words(release: "Release", words: Iterable[str]) -> "Release":
    """Return the release without these words; what is left of each topic sums to 1 again.

    Topics weigh what is left of them, so that ``word_weight`` stays what topics and weights amount to. A name that was
    given to a topic goes, too, where it holds one of the words, whatever the case and the marks between its parts.
    Title, notes and other details stay as they were written.
    """
    gone = _known_words(release, words)
    keep = np.array([word not in gone for word in release.vocabulary])
    kept = release.topic_word[:, keep].sum(1) if keep.any() else np.zeros(len(release.topic_word))
    empty = np.flatnonzero(kept < _LEAST_KEPT)
    if empty.size:
        raise ReleaseError(
            f"topic {', '.join(str(topic + 1) for topic in empty[:5])} would hold no word any more; remove the topic "
            "first."
        )
    word_weight = None if release.word_weight is None else release.word_weight[keep]
    if word_weight is not None and word_weight.sum() <= 0:
        raise ReleaseError("no word that the texts use would be left; remove fewer words.")
    noise = release.topic_word_noise
    return replace(
        release,
        topic_word=release.topic_word[:, keep] / kept[:, None],
        vocabulary=tuple(word for word in release.vocabulary if word not in gone),
        topic_weight=None if release.topic_weight is None else _shares(release.topic_weight * kept),
        word_weight=None if word_weight is None else _shares(word_weight),
        topic_word_noise=None if noise is None else noise[:, keep] / kept[:, None],
        configuration=_unnamed(_counted(release, words_removed=len(gone)), gone, _OF_ALL_WORDS),
    )


def with_word_names(release: "Release", names: Mapping[str, str]) -> "Release":
    """Return the release with words renamed; words that get one name, or the name of another, are added up.

    The noise told for such a sum is that of its parts added up: no less than it is, however they depend on each other.
    A name that was given to a topic goes where it holds an old word, as in :meth:`Release.without_words`.
    """
    names = _mapping(names, "a mapping of words to their new names")
    _known_words(release, names)
    given = {old: checked_text("the new name of a word", new) for old, new in names.items()}
    renamed = [given.get(word, word) for word in release.vocabulary]
    vocabulary = tuple(dict.fromkeys(renamed))
    column = {word: number for number, word in enumerate(vocabulary)}
    target = np.array([column[word] for word in renamed])

    def added(array: Floats | None) -> Floats | None:
        if array is None:
            return None
        total = np.zeros((*array.shape[:-1], len(vocabulary)))
        np.add.at(total.T, target, array.T)
        return total

    return replace(
        release,
        topic_word=added(release.topic_word),
        vocabulary=vocabulary,
        word_weight=added(release.word_weight),
        topic_word_noise=added(release.topic_word_noise),
        configuration=_unnamed(_counted(release, words_renamed=len(given)), set(given) - set(vocabulary)),
    )


def with_topic_names(release: "Release", names: Mapping[int, str]) -> "Release":
    """Return the release with names for some topics, by their numbers from 1 as ``to_frame`` and the report show them.

    Topics that have a name and get none keep theirs: ``release.with_topic_names({1: "Waiting", 2: "Side effects"})``
    names the first two, ``topic_word[0]`` and ``topic_word[1]``.
    """
    names = _mapping(names, "a mapping of topic numbers to names")
    known = _known_topics(release, names)
    given = {
        f"{TOPIC_NAME}{topic}": checked_text("the name of a topic", name)
        for topic, name in zip(known, names.values(), strict=True)
    }
    return replace(release, configuration={**release.configuration, **given})


def merge_topics(release: "Release", *groups: Sequence[int]) -> "Release":
    """Return the release with each group of topics as one: their mean by weight, in the place of the first.

    Topics go by their numbers from 1, as ``to_frame`` and the report show them: ``release.merge_topics([2, 5])``.
    Other topics keep their order and close up. The noise told for a merged topic is the mean of its parts': no less
    than it is, however they depend on each other. The merged topic has the first name among its parts.
    """
    parts = [sorted(set(_known_topics(release, group))) for group in groups]
    flat = [topic for group in parts for topic in group]
    if not parts or any(len(group) < 2 for group in parts) or len(set(flat)) != len(flat):
        raise ReleaseError(
            "merge_topics takes groups of two or more topics, each topic in one of them: merge_topics([1, 4], [2, 7])."
        )
    group_of = {topic: group for group in parts for topic in group}
    groups_of_all = (group_of.get(topic, [topic]) for topic in range(len(release.topic_word)))
    rows = [group for topic, group in enumerate(groups_of_all) if group[0] == topic]
    return _with_rows(release, rows, _counted(release, topics_merged=len(flat) - len(parts)))


def without_topics(release: "Release", topics: Iterable[int]) -> "Release":
    """Return the release without these topics; the others close up, and their weights sum to 1 again.

    Topics go by their numbers from 1, as ``to_frame`` and the report show them: ``release.without_topics([7])``.
    """
    gone = set(_known_topics(release, topics))
    rows = [[topic] for topic in range(len(release.topic_word)) if topic not in gone]
    if not rows:
        raise ReleaseError("no topic would be left; remove fewer.")
    return _with_rows(release, rows, _counted(release, topics_removed=len(gone)))


def _with_rows(release: "Release", rows: list[list[int]], configuration: dict[str, Any]) -> "Release":
    """Return the release whose topics are these groups of the old ones."""
    weight = release.topic_weight
    mixing = np.zeros((len(rows), len(release.topic_word)))
    for row, group in enumerate(rows):
        share = np.ones(len(group)) if weight is None else weight[group]
        mixing[row, group] = share / share.sum() if share.sum() > 0 else 1 / len(group)
    topic_word = mixing @ release.topic_word
    left = None if weight is None else np.array([weight[group].sum() for group in rows])
    if left is not None and left.sum() <= 0:
        raise ReleaseError("no topic that the texts use would be left; remove fewer.")
    new_weight = None if left is None else _shares(left)
    word_weight = release.word_weight
    if word_weight is not None and new_weight is not None and sum(map(len, rows)) < len(release.topic_word):
        word_weight = _shares(new_weight @ topic_word)
    noise = release.topic_word_noise
    old_names = named_topics(release.configuration, len(release.topic_word))
    settings = {name: value for name, value in configuration.items() if not name.startswith(TOPIC_NAME)}
    if "n_topics" in settings:
        settings["n_topics"] = len(rows)
    for row, group in enumerate(rows):
        name = next((old_names[topic] for topic in group if old_names[topic] is not None), None)
        if name is not None:
            settings[f"{TOPIC_NAME}{row}"] = name
    return replace(
        release,
        topic_word=topic_word,
        topic_weight=new_weight,
        word_weight=word_weight,
        topic_word_noise=None if noise is None else mixing @ noise,
        configuration=settings,
    )


def _counted(release: "Release", **done: int) -> dict[str, Any]:
    """Return the settings with what was done added to what was done before."""
    settings: dict[str, Any] = dict(release.configuration)
    for name, count in done.items():
        before = settings.get(REVIEW + name, 0)
        settings[REVIEW + name] = (before if type(before) is int and before > 0 else 0) + count
    return settings


def _unnamed(settings: dict[str, Any], gone: Iterable[str], others: Sequence[str] = ()) -> dict[str, Any]:
    """Return the settings without the topics' names that hold one of these words, and without some others."""
    words = [word for word in gone if word.strip()]
    return {
        name: value
        for name, value in settings.items()
        if name not in others
        and not (name.startswith(TOPIC_NAME) and any(holds_word(str(value), word) for word in words))
    }


def details_that_hold(release: "Release | PrevalenceRelease", words: Iterable[str]) -> list[str]:
    """Return what the details are called, the note of a review, and a group of shares, that hold one of these words."""
    written = {DETAILS[name]: text for name, text in release.details.items()}
    written["note"] = str(release.configuration.get(f"{REVIEW}note", ""))
    written |= {f"group {number}": name for number, name in enumerate(getattr(release, "groups", ()), 1)}
    gone = list(words)
    return [name for name, text in written.items() if any(holds_word(text, word) for word in gone)]


def holds_word(text: str, word: str) -> bool:
    """Whether a text holds a word: its parts one after another, whatever the case and the marks between them.

    A word of five letters, or three digits, is found within others, too.
    """
    text, word = (_spelt(one) for one in (text, word))
    parts, wanted = _PART.findall(text), _PART.findall(word)
    if not wanted or max(word) >= _UNSPACED:
        return word.strip() in text
    joined, n = "".join(wanted), len(wanted)
    least = _LONG_NUMBER if joined.isdigit() else _LONG
    if len(joined) >= least and joined in "".join(parts):
        return True
    return any(parts[start : start + n] == wanted for start in range(len(parts) - n + 1))


def _spelt(text: str) -> str:
    """Return a text in one form and case, without what cannot be seen."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")


def _shares(values: Floats) -> Floats:
    return values / values.sum()


def _mapping(value: Any, what: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping) or not value:
        raise ReleaseError(f"expected {what}, but got {kind_of(value)}.")
    return value


def _known_words(release: "Release", words: Iterable[str]) -> set[str]:
    given = None if isinstance(words, str | bytes) else list(words) if isinstance(words, Iterable) else None
    if not given or not all(isinstance(word, str) for word in given):
        raise ReleaseError('expected a list of words, such as ["okafor", "4271"].')
    unknown = sorted(set(given) - set(release.vocabulary))
    if unknown:
        near = nearest(unknown[0], release.vocabulary)
        raise ReleaseError(
            f"not a word of this release: {first_few(map(shown, unknown))}; compare with its vocabulary.txt.{near}"
        )
    return set(given)


def _known_topics(release: "Release", topics: Iterable[int]) -> list[int]:
    """Return the rows of topics that people number from 1."""
    n_topics = len(release.topic_word)
    given = list(topics) if isinstance(topics, Iterable) and not isinstance(topics, str | bytes) else []
    strange = [shown(one) for one in given if not (is_whole(one) and 1 <= one <= n_topics)]
    if strange or not given:
        lacks = f"there is no topic {first_few(strange)}" if strange else "no topic is named"
        raise ReleaseError(
            f"{lacks}: topics go by whole numbers from 1 to {n_topics}, as in to_frame and the report."
        )
    return [int(one) - 1 for one in given]


GRAMMAR = "drop word WORD · rename word OLD = NEW · name topic 3 = NAME · merge topics 2 5 · drop topic 7"
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_LINE = re.compile(r"(drop|rename|name|merge)\s+(words?|topics?)\s+(.+)", re.IGNORECASE)


@dataclass
class EditList:
    """What a reviewer wants done: words removed, words and topics renamed, topics merged, topics removed."""

    words: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    named: dict[int, str] = field(default_factory=dict)
    merged: list[list[int]] = field(default_factory=list)
    topics: list[int] = field(default_factory=list)


def parse(lines: Iterable[str]) -> EditList:
    """Read a list of edits; ``ReleaseError`` with the numbers of all lines that say nothing known."""
    edits = EditList()
    wrong: list[int] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                _read(text, edits)
            except (ValueError, ReleaseError):
                wrong.append(number)
    if wrong:
        shown = ", ".join(map(str, wrong[:10])) + (" ..." if len(wrong) > 10 else "")
        raise ReleaseError(f"edits not understood in line {shown}; each line is one of: {GRAMMAR}.")
    return edits


def word_in_line(word: str) -> str:
    """Write a word so that a line of edits holds it as it is: as JSON where blanks or signs would be lost."""
    line = to_line(word)
    plain = line == line.strip() and " = " not in f" {line} "
    return line if plain or line != word else json.dumps(word, ensure_ascii=True)


def apply(release: "Release", edits: EditList) -> "Release":
    """Return the release with everything done: topics named, merged, removed, then words removed, then renamed."""
    if edits.named:
        release = release.with_topic_names(edits.named)
    if both := sorted({topic for group in edits.merged for topic in group} & set(edits.topics)):
        raise ReleaseError(f"topic {both[0]} (from 1) is to be both merged and removed; choose one.")
    merged = _places(len(release.topic_word), edits.merged)
    if edits.merged:
        release = release.merge_topics(*edits.merged)
    if edits.topics:
        release = release.without_topics([merged.get(topic, topic) for topic in edits.topics])
    if edits.words:
        release = release.without_words(edits.words)
    if edits.renamed:
        release = release.with_word_names(edits.renamed)
    return release


def places(n_topics: int, edits: EditList) -> list[int | None]:
    """Return where each topic stands after the edits, from 1; None where it was removed."""
    merged = _places(n_topics, edits.merged)
    gone = {merged[topic] for topic in edits.topics}
    return [
        None if place in gone else place - sum(other < place for other in gone) for place in merged.values()
    ]


def _places(n_topics: int, merged: list[list[int]]) -> dict[int, int]:
    """Return where each topic stands once groups of topics are one."""
    head = {topic: topic for topic in range(1, n_topics + 1)}
    head |= {topic: min(group) for group in merged for topic in group}
    left = sorted(set(head.values()))
    return {topic: left.index(first) + 1 for topic, first in head.items()}


def _read(text: str, edits: EditList) -> None:
    found = _LINE.fullmatch(text)
    if found is None:
        raise ValueError
    verb, thing, rest = found[1].lower(), found[2].lower().rstrip("s"), found[3].strip()
    if (verb, thing) == ("drop", "word"):
        edits.words.append(from_line(rest))
    elif (verb, thing) == ("drop", "topic"):
        edits.topics += _numbers(rest)
    elif (verb, thing) == ("merge", "topic"):
        edits.merged.append(_numbers(rest))
    else:
        quoted = _QUOTED.match(rest) if (verb, thing) == ("rename", "word") else None
        before = quoted[0] if quoted else ""
        old, equals, new = rest[len(before) :].partition(" = ")
        old = before + old
        if not equals or not new.strip():
            raise ValueError
        if (verb, thing) == ("rename", "word"):
            edits.renamed[from_line(old.strip())] = from_line(new.strip())
        elif (verb, thing) == ("name", "topic"):
            edits.named[_numbers(old.strip())[0]] = new.strip()
        else:
            raise ValueError


def _numbers(text: str) -> list[int]:
    found = [int(number) for number in re.split(r"[\s,]+", text)]
    if min(found) < 1:
        raise ValueError
    return found


#: So many words of a brought topic a file of shares holds.
_MOST_PUBLIC_WORDS = 100
#: In the place of a mark, where the reviewed topics have other numbers than those that the shares were found with.
_NO_MARK = "topics edited in review"


def public_words(topics: "Release") -> tuple[tuple[str, ...], ...]:
    """Return the words of topics that were brought, the most probable first; of others none, for they have a review."""
    if not topics_are_public(topics):
        return ()
    told = zip(topics.topic_word.tolist(), topics.top_words(_MOST_PUBLIC_WORDS), strict=True)
    return tuple(tuple(words[: sum(p > min(row) for p in row) or None]) for row, words in told)


def reviewed_shares(
    shares: "PrevalenceRelease", topics: "Release", edits: EditList, reviewed: "Release"
) -> "PrevalenceRelease":
    """Return shares of ``topics`` with the names, words and mark of the ``reviewed`` ones, and who reviewed them.

    Raises
    ------
    ReleaseError
        Where they are shares of other topics, so that nothing would say which name is whose.
    """
    if shares.configuration.get("model") != mark_of(topics):
        raise ReleaseError(
            "these are shares of other topics than those of this release. Give the release that they were "
            "made with, as it was then: the folder that `fit` wrote beside them, not one that was reviewed since."
        )
    called, where = names_of(reviewed), places(len(shares.topics), edits)
    names: list[str] = []
    for topic, place in enumerate(where):
        parts = [other for other, theirs in enumerate(where) if theirs == place]
        if place is None:
            names.append("(removed in review)")
        elif len(parts) > 1:
            names.append(f"{called[place - 1]} (part {parts.index(topic) + 1} of {len(parts)})")
        else:
            names.append(called[place - 1])
    told = reviewed_settings(reviewed)
    told["model"] = mark_of(reviewed) if np.array_equal(topics.topic_word, reviewed.topic_word) else _NO_MARK
    settings = {**shares.configuration, **told}
    return replace(shares, topics=tuple(names), topic_words=(), configuration=settings)
