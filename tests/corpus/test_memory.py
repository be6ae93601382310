"""Memory does not grow with the text. Measured as the peak of a process of its own."""

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

READ = """
import gzip, json, re, sys
from pathlib import Path
import numpy, scipy.sparse
from discreet.corpus import Corpus, Tokenizer, read_corpus
import discreet.corpus.formats.text_files, discreet.corpus.formats.counts, discreet.corpus.counting


def peak():  # of this process alone: getrusage starts at the size of the process that started it
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024


before = peak()
HELD
corpus = read_corpus(sys.argv[1], **json.loads(sys.argv[2]))
print(json.dumps([corpus.n_documents, corpus.n_tokens, int(corpus.counts.nnz), peak() - before]))
"""
HOLD = READ.replace("HELD", "held = [json.loads(line) for line in gzip.open(sys.argv[1])]")
READ = READ.replace("HELD", "")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads peak memory from /proc"),
]


def measure(path, code=READ, **options):
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), json.dumps(options)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def long_text(tmp_path_factory):
    """80 MB of text, 12 M tokens, of 200 words: few different words a document, so counts stay small."""
    path = tmp_path_factory.mktemp("memory") / "a.jsonl.gz"
    draw = random.Random(0)
    words = [f"word{i}" for i in range(200)]
    blocks = [" ".join(draw.choices(words, k=3000)) for _ in range(50)]
    with gzip.open(path, "wt", compresslevel=1) as file:
        for number in range(4000):
            file.write(json.dumps({"text": blocks[number % 50], "who": number % 100}) + "\n")
    return path


def test_raw_text_streams(long_text):
    n_documents, n_tokens, nnz, peak = measure(long_text, person="who")
    assert (n_documents, n_tokens) == (4000, 12_000_000)
    # 8 bytes an entry, and the buffers of about a million tokens.
    assert 8 * nnz / 2**20 < 8
    assert peak < 60


def test_holding_the_texts_would_be_caught(long_text):
    # Planted mistake: a list of all records first.
    assert measure(long_text, HOLD, person="who")[3] > 90


def test_one_document_of_ten_million_tokens(tmp_path):
    path = tmp_path / "a.jsonl"
    block = " ".join(f"word{i % 1000}" for i in range(100_000))
    path.write_text(
        json.dumps({"text": " ".join([block] * 100)}) + "\n" + json.dumps({"text": "word1 words"}) + "\n"
    )
    n_documents, n_tokens, nnz, peak = measure(path)
    assert (n_documents, n_tokens, nnz) == (2, 10_000_002, 1002)
    # The text itself (79 MB: the line, the parsed text, its lower case) and 8 bytes a token.
    assert peak < 550


def test_uci_in_blocks(tmp_path):
    path = tmp_path / "docword.a.txt.gz"
    n_documents, per_document = 20_000, 100
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write(f"{n_documents}\n50000\n{n_documents * per_document}\n")
        for document in range(1, n_documents + 1):
            first = document * 37 % 49_000
            file.write("".join(f"{document} {first + word} 2\n" for word in range(1, per_document + 1)))
    documents, n_tokens, nnz, peak = measure(path)
    assert (documents, n_tokens, nnz) == (n_documents, 4_000_000, 2_000_000)
    # 12 bytes an entry while reading, and the arrays of one block of 4 MB.
    assert peak < 12 * nnz / 2**20 + 100
