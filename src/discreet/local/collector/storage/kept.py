"""What a store keeps: reports of bits with their moments, or answers about whole documents, which are only counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.lda.moments.moments import Moments
from discreet.lda.moments.packed import packed_width
from discreet.local.whole_document.published import PublishedQuestion
from discreet.local.wire import vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

__all__ = ["ANSWER_BYTES", "Kept", "Tally", "kept_of"]

#: An answer about a whole document: the number of a codeword, little-endian.
ANSWER_BYTES = 4


class Kept(NamedTuple):
    """What all reports of a store have in common.

    Attributes
    ----------
    settings : dict
        By name, as the store holds them; a store that holds others is refused.
    width : int
        Bytes of a report, beside its number.
    sums : Moments or Tally
        Of no reports.
    """

    settings: dict[str, str]
    width: int
    sums: Moments | Tally


class Tally:
    """How many answers there are, in the place of moments."""

    n_words = 0

    def __init__(self, n: int = 0) -> None:
        self.n, self.second = n, np.zeros((0, 0), np.int64)

    def copy(self) -> Tally:
        """Return another one."""
        return Tally(self.n)

    def add_batch(self, reports: Any, **how: Any) -> Tally:
        """Count rows."""
        self.n += len(reports)
        return self

    def subtract_batch(self, reports: Any, **how: Any) -> Tally:
        """Count rows no more."""
        self.n -= len(reports)
        return self

    def restore(self, n: int, second: NDArray[np.int64]) -> Tally:
        """Take over a count that was kept elsewhere."""
        self.n = n
        return self


def kept_of(words: Sequence[str], channel: BitChannel | PublishedQuestion) -> Kept:
    """Return what a store of reports through this channel, or on this question, keeps."""
    settings = {
        "vocabulary": vocabulary_digest(words).hex(),
        "words": json.dumps(list(words), ensure_ascii=False),
    }
    if isinstance(channel, BitChannel):
        settings["channel"] = f"{channel.p_threshold},{channel.q_threshold},{channel.limit or 0}"
        return Kept(settings, packed_width(len(words)), Moments(len(words), channel=channel))
    codes = channel.channel
    numbers = codes.n_codewords, codes.n_chosen, codes.member_weight, codes.other_weight, int(codes.two_sided)
    asked = ",".join(map(str, (*numbers, *channel.ends)))
    settings["channel"] = f"whole documents,{channel.question.digest.hex()},{asked}"
    return Kept(settings, ANSWER_BYTES, Tally())
