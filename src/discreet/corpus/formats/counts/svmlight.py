"""SVMlight: ``label w:n w:n ... # comment`` with words numbered from 1."""

import os
import re
from typing import IO

from discreet._progress import tell
from discreet.corpus.corpus import Corpus
from discreet.corpus.files import PathLike, Problems, open_source
from discreet.corpus.formats.counts.counted import Counted, CountReading, write_rows
from discreet.corpus.formats.counts.number_pairs import Pairs, lines_of, show_pairs
from discreet.errors import CorpusError, Proposal

__all__ = ["read", "write"]

#: As scikit-learn writes it, where it writes a comment.
_SAYS_BASE = re.compile(rb"Column indices are (zero|one)-based")
_FROM_ZERO = (
    "; ",
    Proposal("zero_based", True),
    " where words are numbered from 0, as scikit-learn does by default",
)
_INTEGER = re.compile(rb"[+-]?\d{1,18}(?:\.0*)?")


def read(path: PathLike, told: CountReading) -> Counted:
    """Read counts and labels (int, or str where one is not a whole number); ``qid:`` and comments are skipped.

    As many words as were given; otherwise the largest number met says.
    """
    problems = Problems(os.fspath(path))
    zero_based = told.zero_based
    documents = Pairs(problems, 0 if zero_based else 1, told.n_words, () if zero_based else _FROM_ZERO)
    labels: list[bytes] = []
    seen: dict[bytes, bytes] = {}
    with open_source(path) as source:
        for line, text in lines_of(source.raw):
            parts = text.partition(b"#")[0].split(None, 1)
            if not parts:
                said = _SAYS_BASE.search(text)
                if said is not None and zero_based is None and documents.n_rows == 0:
                    zero_based = said[1] == b"zero"
                    documents = Pairs(problems, 0 if zero_based else 1, told.n_words)
                continue
            rest = parts[1] if len(parts) == 2 else b""
            if b":" in parts[0]:
                problems.add(f"line {line}", "expected a label first, as in SVMlight")
                continue
            if b"qid:" in rest:
                rest = re.sub(rb"\bqid:\S+", b"", rest)
            documents.add(line, rest)
            labels.append(seen.setdefault(parts[0], parts[0]))
            if line % 1000 == 0:
                tell(told.callback, "reading", *source.progress())
    counts = documents.matrix()
    if zero_based is None and told.n_words is not None and documents.width < told.n_words:
        # Neither the number 0 nor the last one occurs: a file that numbers from 0 would be read one word off.
        raise CorpusError(
            f"{problems.name}: its numbers of words would fit from 0 and from 1; say which: ",
            Proposal("zero_based", True),
            " or ",
            Proposal("zero_based", False),
            ".",
        )
    if all(_INTEGER.fullmatch(label) for label in seen):
        number = {label: int(float(label)) for label in seen}
        return Counted(counts, labels=[number[label] for label in labels])
    text_of = {label: label.decode("utf-8", "backslashreplace") for label in seen}
    return Counted(counts, labels=[text_of[label] for label in labels])


def write(corpus: Corpus, file: IO[bytes], target: os.PathLike[str]) -> None:
    """Write a line for each document; its label is 0 where labels are not numbers."""
    del target
    labels = corpus.labels
    file.write(b"# Column indices are one-based\n")
    numbers: list[int] | None = labels.tolist() if labels is not None and labels.dtype.kind == "i" else None
    write_rows(
        corpus,
        file,
        lambda row, words, counts: (
            f"{0 if numbers is None else numbers[row]}{show_pairs(words, counts, 1)}\n"
        ),
    )
