"""Whole documents under local privacy: three questions, one answer a client, and topics from the answers.

What a question asks is computed by :mod:`discreet.lda.questions`, which silos use, too.
"""
