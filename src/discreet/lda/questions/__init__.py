"""Three questions about whole documents, and topics learned from the means of answers, whoever made them private."""
