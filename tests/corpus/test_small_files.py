"""A few bytes must not ask for gigabytes: shapes that are nearly all empty are refused before memory is."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.corpus import read_corpus
from discreet.errors import CorpusError

HUGE = 1_999_999_999
FILES = {
    "uci": f"{HUGE}\n3\n2\n1 1 1\n2 3 4\n",
    "mtx": f"%%MatrixMarket matrix coordinate integer general\n{HUGE} 3 2\n1 1 1\n2 3 4\n",
    "mtx-columns": f"%%MatrixMarket matrix coordinate integer general\n3 {HUGE} 2\n1 1 1\n2 3 4\n",
}
READ = """
import resource, sys
from discreet.corpus import read_corpus
from discreet.errors import CorpusError
path, name = sys.argv[1:]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    read_corpus(path, name)
except CorpusError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("case", [*FILES, "npz-rows", "npz-columns"])
@pytest.mark.integration
def test_huge_shapes_with_few_counts_are_refused_in_little_memory(tmp_path, case):
    path, name = tmp_path / "a.bin", case.split("-")[0]
    if name == "npz":
        shape = (HUGE, 3) if case == "npz-rows" else (3, HUGE)
        matrix = sp.coo_array((np.array([1, 4]), (np.array([0, 1]), np.array([0, 2]))), shape=shape)
        with path.open("wb") as file:
            sp.save_npz(file, matrix)
    else:
        path.write_text(FILES[case])
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), name], capture_output=True, text=True, check=True
    )
    said, grown = done.stdout.splitlines()
    assert " promises " in said
    assert "but only 2 counts" in said
    unit = 2**20 if sys.platform == "darwin" else 2**10
    assert int(grown) / unit < 200, done.stdout


@pytest.mark.integration
def test_what_is_merely_sparse_is_read(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate integer general\n1000100 3 1\n7 1 1\n")
    assert read_corpus(path).n_documents == 1_000_100
    path.write_text("%%MatrixMarket matrix coordinate integer general\n1000101 3 1\n7 1 1\n")
    with pytest.raises(CorpusError, match="1000101 documents, but only 1 count"):
        read_corpus(path)
    path.write_text("%%MatrixMarket matrix coordinate integer general\n3 1000100 1\n1 7 1\n")
    assert read_corpus(path).n_words == 1_000_100
    # Words that a list names may be as many as the list.
    (tmp_path / "words").write_text("".join(f"w{i}\n" for i in range(1_000_200)))
    path.write_text("%%MatrixMarket matrix coordinate integer general\n3 1000200 1\n1 7 1\n")
    assert read_corpus(path, vocabulary=tmp_path / "words").n_words == 1_000_200
