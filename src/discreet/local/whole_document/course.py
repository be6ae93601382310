"""A course of questions in a folder: what was asked, what was answered, and what is asked next.

``course.json`` holds the public words and the parameters; ``question-1.json`` is published first; the answers to it
are kept in ``answers-1.bin`` as they were when the second question was made of them, and so on, until there are topics
in ``topics``. Nothing else is kept: whatever was learned is computed anew from the answers each time, the same way. So
a crash loses nothing, and answers that arrive after their question was closed change no later one.

Only reports, public words and public vectors are in it: all of it is post-processing of reports.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from discreet._base.files import lock_beside, write_whole
from discreet._base.sealed import Seal
from discreet.corpus.word_vectors import file_digest
from discreet.errors import CorpusError, DiscreetError, ParameterError
from discreet.local.collector.tables import Snapshot, place_of, settings_of
from discreet.local.whole_document.estimator import WholeDocumentLDA
from discreet.local.whole_document.questions import (
    CodebookReport,
    PublishedQuestion,
    Question,
    read_codebook_reports,
)
from discreet.local.wire import write_reports
from discreet.release.release import Release

_SEAL = Seal(
    "discreet.course/2",
    "course of questions",
    CorpusError,
    "put back what was there; `discreet ask` with --vocabulary begins a new one",
)
_PARAMETERS = ("n_topics", "epsilon", "shares", "allow_unlearnable")


class Course:
    """A course that was begun.

    Parameters
    ----------
    folder : path

    Attributes
    ----------
    model : WholeDocumentLDA
        With all that the answers so far have told.
    asked : PublishedQuestion or None
        What is asked now; None where there are topics.

    Raises
    ------
    CorpusError
        Where the folder holds none, or its answers lead to another question than the one that was published.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        with _SEAL.reading(_SEAL.read(self._about), self._about) as found:
            settings = {name: found[name] for name in _PARAMETERS}
            self._words: list[Any] = found["vocabulary"]
            vectors, digest = found["word_vectors"], found["word_vectors_digest"]
        if not Path(vectors).is_file() or file_digest(vectors) != digest:
            raise CorpusError(
                f"the word vectors {vectors} are not those that the course was begun with; put them back."
            )
        self.model = WholeDocumentLDA(**settings, word_vectors=vectors)
        self.asked: PublishedQuestion | None = None
        asked = self._open(self.model.begin(self._words))
        while asked is not None and self._file("answers", asked, "bin").is_file():
            asked = self._open(self.model.learn(read_codebook_reports(self._file("answers", asked, "bin"))))

    @classmethod
    def begin(
        cls,
        folder: str | os.PathLike[str],
        vocabulary: Sequence[str],
        *,
        epsilon: float,
        word_vectors: str | os.PathLike[str],
        n_topics: int = 20,
        shares: Sequence[float] = (0.4, 0.1, 0.2, 0.3),
        allow_unlearnable: bool = False,
    ) -> Course:
        """Make the folder, with the first question in it.

        Parameters
        ----------
        folder : path
            A new or empty one.
        vocabulary : sequence of str
            Public.
        epsilon, word_vectors, n_topics, shares, allow_unlearnable
            As for :class:`discreet.WholeDocumentLDA`; the vectors are a file, which stays where it is.
        """
        settings = (n_topics, epsilon, tuple(shares), allow_unlearnable)
        named: dict[str, Any] = dict(zip(_PARAMETERS, settings, strict=True))
        # Whatever is wrong is refused before there is a folder.
        WholeDocumentLDA(**named, word_vectors=word_vectors).begin(vocabulary)
        path, vectors = Path(folder), Path(word_vectors).absolute()
        if path.is_file() or (path.is_dir() and any(path.iterdir())):
            raise ParameterError(f"{path} holds something already; name a new folder for the course.")
        path.mkdir(mode=0o700, exist_ok=True)
        content = {
            **named,
            "word_vectors": str(vectors),
            "word_vectors_digest": file_digest(vectors),
            "vocabulary": list(vocabulary),
        }
        write_whole(_SEAL.to_bytes(content), path / "course.json", "the course")
        return cls(path)

    def learn(self, reports: Iterable[CodebookReport]) -> PublishedQuestion | None:
        """Learn from the answers to ``asked``, and keep them; return the next question, or None at the end.

        Raises
        ------
        CorpusError, ParameterError
            As ``WholeDocumentLDA.learn``; then nothing is kept.
        """
        if self.asked is None:
            raise CorpusError(f"this course has ended: its topics are in {self.topics}.")
        with lock_beside(self._about):  # never two answers to one question
            kept = self._file("answers", self.asked, "bin")
            if kept.exists() or not self._is_published(self.asked):
                raise CorpusError(
                    f"{self.folder} has changed since it was opened: answers to this question were learned meanwhile, "
                    "or another course was put there. Nothing was written; look what is asked now: `discreet ask` "
                    "without --answers."
                )
            listed = list(reports)
            following = self.model.learn(listed)
            write_reports(kept, listed)
            return self._open(following)

    def allow_unlearnable(self) -> None:
        """Go on however few clients there are, from now on; the folder keeps that."""
        if self.model.allow_unlearnable:
            return
        with (
            lock_beside(self._about),
            _SEAL.reading(_SEAL.read(self._about), self._about) as content,
        ):
            write_whole(_SEAL.to_bytes({**content, "allow_unlearnable": True}), self._about, "the course")
            self.model.allow_unlearnable = True

    def _open(self, question: Question | None) -> PublishedQuestion | None:
        """Write what follows from the answers so far, unless it is there: a question, or topics."""
        if question is None:
            self.asked = None
            if self.topics.exists():
                self._refuse_damage()
            else:
                release = self.model.release_
                if not release.reproducible:  # seeded reports give the same bytes on any day
                    release = release.with_details(date=datetime.now(UTC).date().isoformat())
                release.save(self.topics)
        else:
            self.asked = PublishedQuestion.of(question, self.model.channel(question), self.model.shares)
            self._publish(self.asked)
        return self.asked

    def _refuse_damage(self) -> None:
        told = self.model.release_
        try:
            kept = Release.load(self.topics)
            good = kept.vocabulary == told.vocabulary and np.allclose(
                kept.topic_word, told.topic_word, atol=1e-9
            )
        except (DiscreetError, OSError):
            good = False
        if not good:
            raise CorpusError(
                f"{self.topics} is damaged, or holds other topics than the answers lead to; put back what was there, "
                "or move it away, and the topics are made again from the answers."
            )

    @property
    def _about(self) -> Path:
        return self.folder / "course.json"

    @property
    def topics(self) -> Path:
        """Where the release is at the end."""
        return self.folder / "topics"

    def file_of(self, asked: PublishedQuestion) -> Path:
        """Return the file to publish."""
        return self._file("question", asked, "json")

    def _file(self, what: str, asked: PublishedQuestion, suffix: str) -> Path:
        return self.folder / f"{what}-{asked.question.place + 1}.{suffix}"

    def _is_published(self, asked: PublishedQuestion) -> bool:
        path = self.file_of(asked)
        return path.exists() and path.read_bytes() == asked.to_json().encode()

    def _publish(self, asked: PublishedQuestion) -> None:
        path = self.file_of(asked)
        if not path.exists():
            write_whole(asked.to_json().encode(), path, "the question")
        elif not self._is_published(asked):
            raise CorpusError(
                f"{path} is not the question that the answers before it lead to: they, the file or the version of "
                "discreet have changed since it was published. Put back what was there."
            )


def collected_answers(where: str | Path, asked: PublishedQuestion) -> list[CodebookReport]:
    """Return the answers to a question that a collector keeps, each once; nothing is written there.

    Parameters
    ----------
    where : path
        A collector's SQLite file; it may be in use.
    asked : PublishedQuestion

    Raises
    ------
    CorpusError
        Where there is no such store, or one of other reports.
    """
    if not Path(where).is_file():
        raise CorpusError(f"there is no store of reports at {where}.")
    blank, found = asked.blank(), list[CodebookReport]()
    try:
        with closing(Snapshot(place_of(where), settings_of(asked.question.vocabulary, asked))) as store:
            for rows in store.reports():
                found += [
                    replace(blank, number=number, answer=int.from_bytes(answer, "little"))
                    for _, number, answer in rows
                ]
    except sqlite3.Error as error:
        raise CorpusError(f"{where} cannot be used as a store of reports: {error}.") from None
    return found
