"""Whole documents under local privacy: three questions, one answer a client, and topics from the answers.

What a question asks is computed by :mod:`discreet.lda.questions`, which silos use, too; the channel of an answer, with
its proof, is :mod:`discreet.privacy.codebook_channel`.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.local.whole_document.course import Course
    from discreet.local.whole_document.estimator import WholeDocumentLDA
    from discreet.local.whole_document.questions import (
        CodebookReport,
        PublishedQuestion,
        Question,
        read_codebook_reports,
    )
    from discreet.privacy.codebook import Codebook
    from discreet.privacy.codebook_channel import CodebookChannel

_HOMES = {
    "discreet.local.whole_document.course": ("Course",),
    "discreet.local.whole_document.estimator": ("WholeDocumentLDA",),
    "discreet.local.whole_document.questions": (
        *("CodebookReport", "PublishedQuestion", "Question", "read_codebook_reports"),
    ),
    "discreet.privacy.codebook": ("Codebook",),
    "discreet.privacy.codebook_channel": ("CodebookChannel",),
}

__all__ = [
    "Codebook",
    "CodebookChannel",
    "CodebookReport",
    "Course",
    "PublishedQuestion",
    "Question",
    "WholeDocumentLDA",
    "read_codebook_reports",
]

__getattr__, __dir__ = lazy_names("discreet.local.whole_document", _HOMES)
