"""Fixtures that every room's tests share."""

import gc
import os
from pathlib import Path

import pytest

from discreet.lda.moments.fit import fit_topics
from discreet.release import private_estimator

# Modules and thousands of tests stay to the end: to look for garbage among them again and again took a tenth of all.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def no_text_was_fitted():
    """Forget the ledgers of texts: each test is a process of its own, and no fit adds up those of other tests."""
    private_estimator._ledgers.clear()


@pytest.fixture
def few_steps(monkeypatch):
    """Fit topics to moments in 20 steps in place of 500, where how good they are is not asked."""
    monkeypatch.setitem(fit_topics.__kwdefaults__, "n_steps", 20)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real corpora beside the checkout; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("DISCREET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no corpora at {folder}; set DISCREET_DATA to a folder that holds them")
    return folder
