"""What a report is about, but for its document: two of one form are one report, two of different forms cost twice."""

from typing import Any, NamedTuple

from discreet.local.whole_document.wire import CodebookReport
from discreet.local.wire import Report
from discreet.privacy.bit_channel import BitChannel
from discreet.privacy.codebook_channel import CodebookChannel

__all__ = ["ReportKind"]


class ReportKind(NamedTuple):
    """What a report is about, but for its document."""

    channel: BitChannel | CodebookChannel
    vocabulary: bytes
    #: Words of the vocabulary; of whole documents, the digest of the question.
    about: int | bytes

    @classmethod
    def of(cls, report: Report | CodebookReport) -> "ReportKind":
        """Return the form of a report."""
        about = report.question if isinstance(report, CodebookReport) else len(report.bits)
        return cls(report.channel, report.vocabulary, about)

    @property
    def loss(self) -> float:
        """What a document loses by one such report, as a whole."""
        if isinstance(self.channel, CodebookChannel):
            return self.channel.epsilon
        assert isinstance(self.about, int)
        return self.channel.guarantees(self.about).whole_report

    @property
    def tag(self) -> list[Any]:
        """The form, as it goes into digests."""
        channel = self.channel
        if isinstance(channel, BitChannel):
            return [channel.p_threshold, channel.q_threshold, channel.limit, self.vocabulary.hex()]
        assert isinstance(self.about, bytes)
        return [channel.n_codewords, channel.n_chosen, channel.member_weight, channel.other_weight,
                channel.two_sided, self.about.hex(), self.vocabulary.hex()]  # fmt: skip
