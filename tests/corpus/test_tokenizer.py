import re
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.naive import corpus as naive

from discreet.corpus import DEFAULT_TOKEN_PATTERN, Corpus, Tokenizer, english_stop_words
from discreet.corpus.tokens import tokenizer as module
from discreet.errors import ParameterError

PATTERNS = [
    DEFAULT_TOKEN_PATTERN,
    r"[a-z]{3,}",
    r"[A-Za-z]+",
    r"\w{2,}",
    r"\w\w+",
    r"\w+",
    r"\b[a-z]{3,}\b",
    r"[a-z0-9'-]{2,}",
    r"\S+",
    r"#(\w+)",
    r"\w{4,}",
    r"[^ ]+",
]
WEIRD = "aAzZ09_ -'.#\n\tİıßéǅ\u0301µ\x1c\x85\u2028中हि्\u200d\u200cน\ufe0f\u20e3"
TEXTS = st.text(alphabet=st.one_of(st.sampled_from(WEIRD), st.characters(codec="utf-8")), max_size=60)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXTS, lowercase=st.booleans(), ngrams=st.sampled_from([(1, 1), (1, 2), (2, 3)]))
@example(text="ab1 abc_def a-b don't ABC", lowercase=False, ngrams=(1, 1))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_agrees_with_the_naive_twin(pattern, text, lowercase, ngrams):
    stop_words = ["aa", "the", "00"]
    tokenizer = Tokenizer(pattern, lowercase, stop_words, ngrams, keep_links=True)
    expected = naive.tokens(text, pattern, lowercase=lowercase, stop_words=stop_words, ngram_range=ngrams)
    assert sorted(tokenizer(text)) == sorted(expected)
    if ngrams == (1, 1):
        assert tokenizer(text) == expected


@given(texts=st.lists(TEXTS, min_size=1, max_size=6), pattern=st.sampled_from(PATTERNS))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_counting_agrees_with_the_naive_twin(texts, pattern):
    options = {"stop_words": ["aa"], "ngram_range": (1, 1)}
    ours = Tokenizer(pattern, **options, keep_links=True)
    # Words may hold line breaks under "[^ ]+": the corpus refuses those, so keep to texts without.
    texts = [" ".join(text.split()) for text in texts] + ["aaa bbb"]
    corpus = Corpus.from_texts(texts, tokenizer=ours) if pattern != r"#(\w+)" else None
    if corpus is None:
        return
    documents, words = naive.count(texts, pattern, **options)
    assert list(corpus.vocabulary) == words
    assert naive.as_documents(corpus) == documents
    public = sorted(words)[::2][::-1]
    restricted = Corpus.from_texts(texts, tokenizer=ours, vocabulary=public)
    assert list(restricted.vocabulary) == public
    assert naive.as_documents(restricted) == naive.count(texts, pattern, public, **options)[0]


def test_agrees_with_scikit_learn():
    from sklearn.feature_extraction.text import CountVectorizer

    texts = [
        "The cat sat; the CAT, sat on-the mat.",
        "",
        "Ünïcödé words über alles 12 3",
        "it's 2x cats_and dogs",
    ]
    for options in ({}, {"ngram_range": (1, 3)}, {"stop_words": "english"}, {"token_pattern": "[a-z]{3,}"}):
        vectorizer = CountVectorizer(**options)
        expected = vectorizer.fit_transform(texts)
        corpus = Corpus.from_texts(texts, tokenizer=Tokenizer(**options))
        assert corpus.vocabulary == tuple(vectorizer.get_feature_names_out())
        assert (corpus.counts != expected).nnz == 0


def test_the_quick_path_is_taken_only_where_it_is_right():
    quick = [DEFAULT_TOKEN_PATTERN, r"\w+", r"\b\w{2,}\b", r"[a-z]{3,}", r"[A-Za-z]+", r"[a-z][a-z]+"]
    slow = [
        r"\b[a-z]{3,}\b",
        r"\S+",
        r"[^ ]+",
        r"(\w+)",
        r"[a-z]{3,5}",
        r"[a-z]+[0-9]",
        r"\w{9,}",
        r"[\d]+",
        r"(?i)[a-z]+",
    ]
    assert all(Tokenizer(pattern)._blanks is not None for pattern in quick)
    assert all(Tokenizer(pattern)._blanks is None for pattern in slow)


def test_dropping_word_boundaries_around_a_class_would_be_caught(monkeypatch):
    # Planted mistake: treat \b[a-z]{3,}\b as [a-z]{3,}; "abc1" then gives "abc".
    loose = re.compile(module._RUN.pattern)
    monkeypatch.setattr(module, "_RUN", loose)
    wrong = module._one_class_run(r"[a-z]{3,}", True)
    assert wrong is not None
    tokenizer = Tokenizer(r"\b[a-z]{3,}\b")
    tokenizer._blanks = wrong[0]
    assert tokenizer("abc1 abc") != naive.tokens("abc1 abc", r"\b[a-z]{3,}\b")


def test_long_texts_stream_to_the_same_tokens(monkeypatch):
    text = "The quick brown Fox's  jumps_over é the lazy dog 12 3 " * 50
    for pattern in PATTERNS:
        for ngrams in ((1, 1), (1, 2)):
            tokenizer = Tokenizer(pattern, stop_words=["the"], ngram_range=ngrams)
            expected = sorted(tokenizer(text))
            with monkeypatch.context() as patch:
                patch.setattr(module, "_LONG_TEXT", 100)
                assert sorted(tokenizer(text)) == expected


def test_stop_words_are_lower_cased_with_the_text_and_public():
    assert Tokenizer(stop_words=["The"])("the cat") == ["cat"]
    assert Tokenizer(stop_words=["The"], lowercase=False)("the The cat") == ["the", "cat"]
    assert len(english_stop_words()) == 318
    assert Tokenizer(stop_words="english")("The topics of the model") == ["topics", "model"]
    # n-grams are of what is left, as in scikit-learn
    assert Tokenizer(stop_words=["the"], ngram_range=(2, 2))("of the cat") == ["of cat"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token_pattern": "("}, "not a regular expression"),
        ({"token_pattern": r"\w*"}, "matches the empty text"),
        ({"token_pattern": r"(a)(b)"}, "2 capturing groups"),
        ({"ngram_range": (2, 1)}, "shortest <= longest"),
        ({"ngram_range": 3}, "shortest <= longest"),
        ({"stop_words": "klingon"}, '"english"'),
        ({"stop_words": [1]}, "not a str"),
    ],
)
def test_refuses_what_has_no_meaning(options, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        Tokenizer(**options)


def test_repr_shows_no_list():
    assert "stop_words=<1 words>" in repr(Tokenizer(stop_words=["secret"]))
    assert "secret" not in repr(Tokenizer(stop_words=["secret"]))


def test_nothing_heavy_is_imported():
    import subprocess

    code = (
        "import sys, discreet.corpus as c; [getattr(c, name) for name in c.__all__];"
        "c.Corpus.from_texts(['some words'], tokenizer=c.Tokenizer());"
        "print([m for m in ('numba', 'dp_accounting', 'sklearn', 'pyarrow', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
