"""The English stop-word list: a public list, the 318 words that scikit-learn ships."""

__all__ = ["english_stop_words"]


def english_stop_words() -> frozenset[str]:
    """Return scikit-learn's English stop words (imported on first use: it takes a second).

    Returns
    -------
    frozenset of str
        Lower-case words. The list does not depend on any corpus, so using it costs no privacy.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(str(word) for word in ENGLISH_STOP_WORDS)
