"""What a notebook shows of a corpus: sizes, which are exact and as private as the texts; no text, no word of it."""

from typing import TYPE_CHECKING

from discreet._base.display import facts_html

if TYPE_CHECKING:
    from discreet.corpus.corpus import Corpus

__all__ = ["corpus_html"]


def corpus_html(corpus: "Corpus") -> str:
    """Return the corpus as HTML for a notebook."""
    facts = [
        ("documents", f"{corpus.n_documents:,}"),
        ("tokens", f"{corpus.n_tokens:,}"),
        ("words", f"{corpus.n_words:,} ({corpus.word_origin.kind})"),
        ("persons", "none" if corpus.persons is None else f"{corpus.n_units:,}"),
        ("labels", "none" if corpus.labels is None else "given"),
        ("private", "these numbers are exact: do not publish them"),
    ]
    return facts_html("Corpus", facts)
