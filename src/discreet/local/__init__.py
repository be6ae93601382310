"""The local setting: each writer randomises on their own device, and nobody else ever sees the text.

Names load on first use, so that importing this room imports neither numba nor dp_accounting.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.lda.moments.estimates import learnable
    from discreet.lda.moments.moments import Moments
    from discreet.local.local_lda import LocalLDA
    from discreet.local.memo import ReportMemo
    from discreet.local.shuffling import amplify_by_shuffling, shuffled_course
    from discreet.local.streaming_local_lda import StreamingLocalLDA
    from discreet.local.whole_document.codebook import CodebookChannel
    from discreet.local.whole_document.estimator import WholeDocumentLDA
    from discreet.local.whole_document.questions import PublishedQuestion, read_codebook_reports
    from discreet.local.wire import Report, read_reports, write_reports
    from discreet.privacy.bit_channel import BitChannel


__all__ = [
    "BitChannel",
    "CodebookChannel",
    "LocalLDA",
    "Moments",
    "PublishedQuestion",
    "Report",
    "ReportMemo",
    "StreamingLocalLDA",
    "WholeDocumentLDA",
    "amplify_by_shuffling",
    "learnable",
    "read_codebook_reports",
    "read_reports",
    "shuffled_course",
    "write_reports",
]

__getattr__, __dir__ = lazy_names("discreet.local")
