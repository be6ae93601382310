"""`discreet warmup`: afterwards no public call compiles anything."""

import json
import os
import subprocess
import sys

import pytest

from discreet.cli.app import run
from discreet.cli.commands import warmup

# Other shapes, types, numbers of threads and settings than those of the warm-up.
USE = """
import json, sys
import numpy as np
import scipy.sparse as sp
from numba.core import event
compiled = []

class Listener(event.Listener):
    def on_start(self, what):
        compiled.append(what.data["dispatcher"].py_func.__name__)
    def on_end(self, what):
        pass

event.register("numba:compile", Listener())
from discreet.central import PrivateCountVectorizer, PrivateLDA, PrivateSVILDA
from discreet.corpus import Corpus
from discreet.lda import GibbsLDA, VariationalLDA, fold_in
from discreet.lda._fold_in import query_statistic
rng = np.random.default_rng(1)
counts = rng.poisson(0.5, (70, 55)).astype(np.int32)
words = [f"w{i}" for i in range(55)]
corpus = Corpus(sp.csc_array(counts), words, persons=np.arange(70) // 3)
for k in (50, 20, 600, 200):
    model = GibbsLDA(k, n_sweeps=42, random_state=1).fit(corpus)
    model.transform(counts.astype(float))
    model.set_params(init="fast").fit(corpus)
VariationalLDA(7, max_iter=1, random_state=0).fit(sp.csr_array(counts.astype(np.int64))).transform(counts)
VariationalLDA(30, max_iter=1, batch_size=9, random_state=0, n_jobs=3).fit(corpus)
topics = rng.dirichlet(np.ones(55), 9)
fold_in(topics, corpus, n_jobs=2)
query_statistic(topics, counts)
private = dict(epsilon=9.0, allow_unlearnable=True)
listed = Corpus(corpus.counts, words, words_are_public=True)
PrivateLDA(6, **private).fit(listed)
PrivateSVILDA(6, sampling_rate=0.3, n_jobs=2, epsilon=9.0).fit(listed)
PrivateLDA(6, privacy_unit="person", **private).fit(listed, persons=corpus.persons)
PrivateCountVectorizer(epsilon=30.0).fit([" ".join(np.repeat(words, row)) for row in counts])
print(json.dumps(compiled))
"""


@pytest.mark.slow
def test_after_a_warmup_nothing_compiles(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_DISABLE_JIT", None)

    def python(*arguments):
        return subprocess.run(
            [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True
        )

    cold = json.loads(python("-c", USE).stdout)
    assert "draw_documents" in cold  # the listener hears what is compiled
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.unlink()
    command = "from discreet.cli import main; import sys; sys.argv = ['discreet', 'warmup']; main()"
    said = python("-c", command).stderr
    assert str(tmp_path) in said
    assert "CPU time" in said
    assert json.loads(python("-c", USE).stdout) == []


@pytest.mark.filterwarnings("ignore")  # of fits that teach nothing
@pytest.mark.integration
def test_every_task_runs():
    for task in warmup.tasks((4,)):
        task()


def test_it_says_where_and_runs_every_task(monkeypatch, capsys, tmp_path):
    done = []
    monkeypatch.setattr(warmup, "tasks", lambda numbers: [lambda n=n: done.append(n) for n in numbers])
    monkeypatch.setattr(warmup, "cache_folders", lambda: [tmp_path])
    assert run(["warmup", "--topics", "7,100"]) == 0
    assert done == [7, 100]
    said = capsys.readouterr().err
    assert "compiling 2/2" in said
    assert str(tmp_path) in said


def test_folders_are_those_of_kernels_that_ran():
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        pytest.skip("nothing is compiled with NUMBA_DISABLE_JIT")
    from discreet.lda import fold_in

    fold_in([[0.5, 0.5]], [[1, 2]])
    assert any(folder.is_dir() for folder in warmup.cache_folders())


def test_without_a_compiler_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(warmup, "tasks", lambda numbers: [])
    monkeypatch.setattr(warmup, "cache_folders", lambda: [])
    assert run(["warmup", "--quiet"]) == 2
    assert "NUMBA_DISABLE_JIT" in capsys.readouterr().err
    assert run(["warmup", "--topics", "many"]) == 2


def test_each_number_of_blocks_is_compiled_once():
    few, more = (len(warmup.tasks(numbers)) for numbers in ([20], [20, 17, 32, 50, 2000]))
    assert more == few + 1
