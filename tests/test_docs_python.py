"""Every block of Python in README and docs runs, page by page from top to bottom, on data of the size it speaks of.

A page may use names it does not make (``texts``, ``counts``, a file of its reader's): they stand in ``GIVEN``.
"""

import json
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from discreet import Corpus, Ledger, PrivateLDA, Release, VariationalLDA
from discreet.corpus import write_corpus
from discreet.local import BitChannel, ReportMemo
from discreet.local.collector import ReportStore
from discreet.privacy import SecureStream

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]
#: The gallery runs on a real corpus, in a test of its own (test_gallery.py).
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "gallery"),
]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WORDS = [f"{stem}{i}" for stem in ("ward", "night", "fever", "ticket", "train") for i in "abcdefgh"]


def some_counts(n_documents: int = 3000, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    topic = rng.integers(5, size=(n_documents, 1))
    return rng.poisson(np.where(np.arange(40) // 8 == topic, 1.3, 0.05)).astype(np.int32)


def some_texts(n_documents: int = 3000) -> list[str]:
    return [" ".join(np.repeat(WORDS, row)) for row in some_counts(n_documents)]


def train(counts: Any, seed: int) -> np.ndarray:
    return VariationalLDA(3, max_iter=5, random_state=seed).fit(counts).topic_word_


def notes(folder: Path) -> None:
    with (folder / "notes.jsonl").open("w") as file:
        for number, text in enumerate(some_texts()):
            ward = "abc"[number % 3]
            file.write(json.dumps({"body": text, "patient": f"p{number // 2}", "ward": ward}) + "\n")


def reports(folder: Path, channel: BitChannel) -> None:
    memo, stream = ReportMemo(), SecureStream()
    with (folder / "reports.bin").open("wb") as file:
        for row, counted in enumerate(some_counts(4000)):
            made = memo.report(channel, np.flatnonzero(counted), WORDS, stream, name=str(row))
            file.write(made.to_bytes())


def readme(folder: Path) -> dict[str, Any]:
    notes(folder)
    reports(folder, BitChannel.symmetric(4.0))
    whose = [f"p{row // 2}" for row in range(8000)]
    pd.DataFrame({"note": some_texts(8000), "patient": whose}).to_csv(folder / "notes.csv", index=False)
    return {"texts": some_texts(6000), "words": WORDS}


def attacked(_: Path) -> dict[str, Any]:
    corpus = Corpus(some_counts(200), WORDS)
    return {
        "train": train,
        "corpus": corpus,
        "labels": np.argmax(some_counts(200)[:, ::8], 1) % 2,
        "texts": some_texts(300),
        "topics": Release(np.full((2, len(WORDS)), 1 / len(WORDS)), WORDS, Ledger(1.0, 1e-6)),
        "run_with_the_unit": lambda run: float(np.random.default_rng(run).normal(0.1)),
        "run_without_it": lambda run: float(np.random.default_rng(run + 10**6).normal()),
    }


def stored(folder: Path) -> dict[str, Any]:
    channel = BitChannel.symmetric(4.0)
    present = (some_counts(4000) > 0).astype(np.int32)
    rows = np.packbits(channel.reports(present, SecureStream(1)).astype(bool), axis=1, bitorder="little")
    with ReportStore(str(folder / "reports.db"), WORDS, channel) as store:
        store.add([(row.to_bytes(16), bits.tobytes()) for row, bits in enumerate(rows)]).result()
    return {"words": WORDS, "channel": channel}


def corpora(folder: Path) -> dict[str, Any]:
    notes(folder)
    whole = Corpus(some_counts(300), WORDS)
    write_corpus(whole, folder / "docword.kos.txt.gz")
    return {
        "list_of_str": some_texts(30),
        "lists_of_str": [text.split() for text in some_texts(30)],
        "counts": whole.counts,
        "vocabulary": WORDS,
        "persons": np.arange(300) // 3,
        "frame": pd.DataFrame({"body": some_texts(30), "patient": [f"p{i // 2}" for i in range(30)]}),
        "words": WORDS[:5],
        "rows": [0, 2, 4],
    }


def local(_: Path) -> dict[str, Any]:
    channel = BitChannel.for_replacement(6.0, 0.03)
    rng = np.random.default_rng(2)
    present = (rng.random((3000, 1000)) < 0.02).astype(np.int32)
    present[:, :40] |= (some_counts() > 0).astype(np.int32)
    rows = channel.reports(present, SecureStream(1))
    return {
        "reports": rows,
        "monday": rows[:1000],
        "tuesday": rows[1000:],
        "withdrawn": rows[:9],
    }


def released(_: Path) -> dict[str, Any]:
    model = PrivateLDA(5, epsilon=4.0, random_state=0)
    model.fit(some_counts(), vocabulary=WORDS, words_are_public=True)
    return {"model": model, "Release": Release}


def with_vectors(folder: Path) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    rows = [" ".join([word, *(f"{value:.3f}" for value in rng.normal(size=100))]) for word in WORDS[1:]]
    (folder / "glove.6B.100d.txt").write_text("\n".join(rows) + "\n")
    return {"counts": some_counts(), "words": WORDS}


GIVEN: dict[str, Callable[[Path], dict[str, Any]]] = {
    "README.md": readme,
    "audit.md": attacked,
    "choosing.md": lambda _: {"public_counts": some_counts(300), "private_counts": some_counts()},
    "client.md": lambda _: {"vocabulary": WORDS, "columns_of_the_words": [0, 3], "entry_id": "an entry"},
    "collector.md": stored,
    "corpora.md": corpora,
    "evaluation.md": lambda folder: {"release": released(folder)["model"].release_},
    "few-texts.md": lambda _: {
        "public_texts": [text.replace("warda", "soup").replace("nighta", "wait") for text in some_texts(300)]
    },
    "federated.md": lambda _: (
        {
            name: sp.csr_matrix(some_counts(2000, seed))
            for seed, name in enumerate(("counts_of_one_silo", "counts_of_another", "counts_of_a_third"))
        }
        | {"words": WORDS, "vectors": np.eye(40)[:, :20]}
    ),
    "languages.md": lambda folder: notes(folder) or {"texts": some_texts(6000)},
    "local.md": local,
    "moving.md": lambda _: {"texts": some_texts(6000), "dictionary": WORDS},
    "one-budget.md": lambda _: {
        "texts": some_texts(12_000),
        "wards": np.array(["north", "south", "west"])[np.arange(12_000) % 3],
    },
    "prevalence.md": lambda folder: {
        "release": released(folder)["model"].release_,
        "ward_of_each_document": np.array(["north", "south", "west"])[np.arange(12_000) % 3],
        "texts": some_texts(12_000),
        "ward_of_each_text": np.array(["north", "south", "west"])[np.arange(12_000) % 3],
        "ledger": Ledger(1.0, 1e-6),
    },
    "quick-start.md": lambda folder: notes(folder) or {"new_texts": some_texts(9)},
    "releases.md": released,
    "vocabulary.md": lambda _: {"texts": some_texts()},
    "whole-documents.md": lambda _: {
        "vocabulary": WORDS,
        "columns_of_the_words": [0, 3],
        "entry_id": "an entry",
        "corpus": Corpus(some_counts(28_000), WORDS),
        "vectors": np.eye(40)[:, :20],
    },
    "what-leaves.md": lambda folder: {"release": released(folder)["model"].release_},
    "word-vectors.md": with_vectors,
    "word-level.md": lambda _: {"counts": some_counts(300)},
}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.name
)
@pytest.mark.filterwarnings("default")
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page_of_the_docs")  # classes of a page must have a home, to be copied and compared
    monkeypatch.setitem(sys.modules, module.__name__, module)
    vars(module).update(GIVEN.get(page.name, lambda _: {})(tmp_path))
    blocks, ran = BLOCK.findall(page.read_text()), 0
    if all("federated.flower" in code for code in blocks) and find_spec("flwr") is None:
        pytest.skip("Flower is not here")
    if page.name == "cluster.md":
        pytest.skip("needs a cluster; tests/engines/test_tls_and_death.py goes the same way")
    for number, code in enumerate(blocks, 1):
        if "federated.flower" in code and find_spec("flwr") is None:
            continue
        exec(compile(code, f"{page.name}, block {number}", "exec"), vars(module))
        ran += 1
    assert ran > 0
