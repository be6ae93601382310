"""Slow, obvious twins of the corpus kernels: plain dictionaries, one token at a time."""

import gzip
import re
import unicodedata
from pathlib import Path

DEFAULT = r"(?u)\b\w\w+\b"
JOINERS = "\u200c\u200d"


def tokens(text, pattern, *, lowercase=True, stop_words=(), ngram_range=(1, 1)):
    """Tokens of one text by a plain regular expression, then n-grams of what is left."""
    compiled = re.compile(pattern)
    words = []
    text = "".join(letter.lower() for letter in text) if lowercase else text
    text = text.replace("ς", "σ") if lowercase else text
    text = unicodedata.normalize("NFC", text) if pattern == DEFAULT else text
    if pattern == DEFAULT and any(is_mark(letter) or letter in JOINERS for letter in text):
        words = marked_words(text)
    else:
        for match in compiled.finditer(text):
            word = match.group(compiled.groups) or ""
            if word:
                words.append(word)
    if lowercase:
        words = [re.sub("(?<=.)σ$", "ς", word, flags=re.DOTALL) for word in words]
    words = [word for word in words if word not in stop_words]
    shortest, longest = ngram_range
    found = []
    for n in range(shortest, longest + 1):
        for start in range(len(words) - n + 1):
            found.append(" ".join(words[start : start + n]))
    return found


def is_mark(letter):
    """A combining mark that belongs to a word: not those of emoji."""
    emoji = 0x20D0 <= ord(letter) <= 0x20FF or 0xFE00 <= ord(letter) <= 0xFE0F or ord(letter) >= 0x1F000
    return unicodedata.category(letter) in ("Mn", "Mc") and not emoji


def marked_words(text):
    """Words of two characters and more, letter by letter: marks and joiners never end a word, and begin none."""
    words, word, joiner = [], "", ""
    for letter in [*unicodedata.normalize("NFC", text), " "]:
        plain = letter.isalnum() or letter == "_"
        if plain or (word and is_mark(letter)):
            word, joiner = word + joiner + letter, ""
        elif word and not joiner and letter in JOINERS:
            joiner = letter
        else:
            words, word, joiner = [*words, word], "", ""
    return [word for word in words if len(word) > 1]


def count(texts, pattern, vocabulary=None, **options):
    """Return (list of {word: count} by document, sorted or given words)."""
    documents = []
    for text in texts:
        counts = {}
        for word in tokens(text, pattern, **options):
            if vocabulary is None or word in vocabulary:
                counts[word] = counts.get(word, 0) + 1
        documents.append(counts)
    words = (
        sorted({word for counts in documents for word in counts}) if vocabulary is None else list(vocabulary)
    )
    return documents, words


def read_uci(path):
    """Return ({(document, word): count}, D, W) of a UCI bag-of-words file."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(Path(path), "rt", encoding="ascii") as file:
        n_documents, n_words, n_entries = (int(file.readline()) for _ in range(3))
        entries = {}
        for line in file:
            if line.strip():
                document, word, number = map(int, line.split())
                entries[document - 1, word - 1] = entries.get((document - 1, word - 1), 0) + number
                n_entries -= 1
    assert n_entries == 0
    return entries, n_documents, n_words


def as_documents(corpus):
    """A Corpus as a list of {word: count}."""
    counts = corpus.counts
    return [
        {
            corpus.vocabulary[counts.indices[i]]: int(counts.data[i])
            for i in range(counts.indptr[row], counts.indptr[row + 1])
        }
        for row in range(corpus.n_documents)
    ]


def bare(text):
    """A text without blanks, control and format characters at its ends."""
    while text and (text[0].isspace() or unicodedata.category(text[0]) in ("Cc", "Cf")):
        text = text[1:]
    while text and (text[-1].isspace() or unicodedata.category(text[-1]) in ("Cc", "Cf")):
        text = text[:-1]
    return text


def same_person(one, other):
    """Whether two ids, each a whole number or text, are the same person: the rule of _persons, word by word."""

    def number(person):
        if isinstance(person, int):
            return person
        whole, point, fraction = bare(person).replace(",", ".", 1).partition(".")
        if point and (fraction == "" or set(fraction) != {"0"}):
            return None
        digits = whole.removeprefix("-")
        plain = digits != "" and all(letter in "0123456789" for letter in digits)
        return int(whole) if plain and str(int(digits)) == digits else None

    if number(one) is not None or number(other) is not None:
        return number(one) == number(other)
    return unicodedata.normalize("NFC", bare(one)) == unicodedata.normalize("NFC", bare(other))


def two_readings(person):
    """Whether a text may be two numbers: in scientific notation, or with three zeros that may be thousands."""
    text = bare(person)
    mantissa, e, power = text.replace("E", "e").partition("e")
    numbers = mantissa.lstrip("+-").replace(",", ".", 1).split(".")
    if e and power[:1] == "+" and power[1:].isdecimal() and all(part.isdecimal() for part in numbers):
        return True
    whole, _, zeros = text.replace(",", ".", 1).removeprefix("-").partition(".")
    return zeros == "000" and whole.isdecimal() and 0 < len(whole) < 4 and whole[0] != "0"
