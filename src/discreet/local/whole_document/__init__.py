"""Whole documents under local privacy: three questions, one answer a client, and topics from the answers."""
