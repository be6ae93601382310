"""A reviewer's edits as a plain text file: one a line, topics by the numbers of the release that was reviewed.

``drop word WORD``, ``rename word OLD = NEW``, ``name topic 3 = NAME``, ``merge topics 2 5``, ``drop topic 7``. Empty
lines and lines that begin with # say nothing. A word that cannot stand in a line as it is, stands there as in
``vocabulary.txt``.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from discreet.errors import ReleaseError
from discreet.release.files.words import from_line, to_line
from discreet.release.record import Release

__all__ = ["GRAMMAR", "EditList", "apply", "parse", "places", "word_in_line"]

GRAMMAR = "drop word WORD · rename word OLD = NEW · name topic 3 = NAME · merge topics 2 5 · drop topic 7"
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_LINE = re.compile(r"(drop|rename|name|merge)\s+(words?|topics?)\s+(.+)", re.IGNORECASE)


@dataclass
class EditList:
    """What a reviewer wants done.

    Attributes
    ----------
    words : list of str
        To be removed.
    renamed : dict
        Old word to new.
    named : dict
        Topic to name.
    merged : list of lists of int
    topics : list of int
        To be removed.
    """

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


def apply(release: Release, edits: EditList) -> Release:
    """Return the release with everything done: topics named, merged, removed, then words removed, then renamed."""
    if edits.named:
        release = release.with_topic_names(edits.named)
    n_topics = len(release.topic_word)
    if both := sorted({topic for group in edits.merged for topic in group} & set(edits.topics)):
        raise ReleaseError(f"topic {both[0]} is to be both merged and removed; choose one.")
    if edits.merged:
        release = release.merge_topics(*edits.merged)
    if edits.topics:
        unknown = [topic for topic in edits.topics if not 0 <= topic < n_topics]
        merged = _places(n_topics, edits.merged)
        release = release.without_topics(unknown or [merged[topic] for topic in edits.topics])
    if edits.words:
        release = release.without_words(edits.words)
    if edits.renamed:
        release = release.with_word_names(edits.renamed)
    return release


def places(n_topics: int, edits: EditList) -> list[int | None]:
    """Return where each topic stands after the edits; None where it was removed."""
    merged = _places(n_topics, edits.merged)
    gone = {merged[topic] for topic in edits.topics}
    return [None if place in gone else place - sum(other < place for other in gone) for place in merged]


def _places(n_topics: int, merged: list[list[int]]) -> list[int]:
    """Return where each topic stands once groups of topics are one."""
    head = {topic: min(group) for group in merged for topic in group}
    left = [topic for topic in range(n_topics) if head.get(topic, topic) == topic]
    return [left.index(head.get(topic, topic)) for topic in range(n_topics)]


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
            edits.named[int(old)] = new.strip()
        else:
            raise ValueError


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.split(r"[\s,]+", text)]
