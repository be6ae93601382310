"""kill -9 during `discreet fit`: no folder that loads, and the ledger says spent."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from discreet import Ledger, Release, ReleaseError

pytestmark = pytest.mark.integration

COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]


def test_a_killed_fit_leaves_no_model_and_a_spent_ledger(tmp_path):
    rng = np.random.default_rng(1)
    n_documents, n_words, n_entries = 20_000, 400, 40
    (tmp_path / "words.txt").write_text("\n".join(f"w{i}" for i in range(n_words)) + "\n")
    with (tmp_path / "docword.many.txt").open("w") as file:
        file.write(f"{n_documents}\n{n_words}\n{n_documents * n_entries}\n")
        for document in range(1, n_documents + 1):
            chosen = np.sort(rng.choice(n_words, n_entries, replace=False)) + 1
            file.write("".join(f"{document} {word} 1\n" for word in chosen))
    ledger, out = tmp_path / "ledger.json", tmp_path / "model"
    arguments = ["fit", "docword.many.txt", "--vocabulary", "words.txt", "--topics", "60", "--epsilon", "3"]
    arguments += [
        "--set",
        "n_rounds=400",
        "--set",
        "n_jobs=1",
        "--ledger",
        str(ledger),
        "--out",
        str(out),
        "--quiet",
    ]
    process = subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 300
        while not (ledger.exists() and json.loads(ledger.read_text())["entries"]):
            assert process.poll() is None, process.stderr.read().decode()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.5)  # in the middle of training
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(ReleaseError):
        Release.load(out)
    assert Ledger.open(ledger).spent().epsilon == pytest.approx(3, rel=1e-6)
    # A second try finds the budget spent, and says so.
    second = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert second.stderr.startswith("discreet: the budget of epsilon = 3")
    assert len(second.stderr.splitlines()) == 1
