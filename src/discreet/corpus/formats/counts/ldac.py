"""LDA-C (Blei's ``lda-c``): ``M w:n w:n ...`` with M the number of pairs, words numbered from 0."""

import os
from typing import IO

from discreet._progress import tell
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, open_source
from discreet.corpus.formats.counts.counted import Counted, CountReading, write_rows
from discreet.corpus.formats.counts.number_pairs import Pairs, lines_of, show_pairs

__all__ = ["read", "write"]


def read(path: PathLike, told: CountReading) -> Counted:
    """Read the counts of an LDA-C file.

    As many words as were given; otherwise the largest number met says.
    """
    problems = Problems(os.fspath(path))
    documents = Pairs(problems, 0, told.n_words)
    with open_source(path) as source:
        for line, text in lines_of(source.raw):
            head, _, rest = text.partition(b" ")
            if not head.isdigit():
                problems.add(f"line {line}", "expected the number of different words first, as in LDA-C")
            elif (size := documents.add(line, rest)) >= 0 and size != int(head):
                problems.add(f"line {line}", f"{int(head)} different words are promised, {size} are there")
            if line % 1000 == 0:
                tell(told.callback, "reading", *source.progress())
    return Counted(documents.matrix())


def write(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write a line for each document."""
    del target
    write_rows(corpus, file, lambda row, words, counts: f"{len(words)}{show_pairs(words, counts, 0)}\n")
