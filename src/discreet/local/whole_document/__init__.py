"""Whole documents under local privacy: three questions, one answer a client, and topics from the answers.

What a question asks is computed by :mod:`discreet.lda.questions`, which silos use, too; the channel of an answer, with
its proof, is :mod:`discreet.local.whole_document.codebook`.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.local.whole_document.codebook import Codebook, CodebookChannel
    from discreet.local.whole_document.course import Course
    from discreet.local.whole_document.estimator import WholeDocumentLDA
    from discreet.local.whole_document.questions import (
        CodebookReport,
        PublishedQuestion,
        Question,
        read_codebook_reports,
    )

_HOMES = {
    "discreet.local.whole_document.course": ("Course",),
    "discreet.local.whole_document.estimator": ("WholeDocumentLDA",),
    "discreet.local.whole_document.questions": (
        *("CodebookReport", "PublishedQuestion", "Question", "read_codebook_reports"),
    ),
    "discreet.local.whole_document.codebook": ("Codebook", "CodebookChannel"),
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
