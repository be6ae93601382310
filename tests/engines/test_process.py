"""The engine of one process, and what stays beside shards."""

import copy
import os
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.engines.counting_tasks import (
    Numbers,
    expected,
    fails,
    fails_unforeseen,
    noted,
    start,
    step,
    value,
    whoami,
)

from discreet.engines import Engine, ProcessEngine, StateStore, state_store
from discreet.engines.engine import PassProgress
from discreet.errors import CorpusError, EngineError, ParameterError

SHARDS = [Numbers(f"shard {i}", i) for i in range(10)]


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 4, 30])
def test_sums_and_order(n_jobs):
    engine = ProcessEngine(n_jobs)
    assert isinstance(engine, Engine)
    assert engine.map_sum(value, SHARDS, 100, 7).tolist() == [45 + 1070, 10]
    assert [number for number, _ in engine.map(whoami, SHARDS)] == list(range(10))
    assert copy.deepcopy(engine) is engine


def test_no_shards():
    with pytest.raises(EngineError, match="no shards"):
        ProcessEngine().map_sum(value, [])
    with pytest.raises(ParameterError, match="n_jobs"):
        ProcessEngine(0)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_fault_says_which_shard_and_not_what_was_read(n_jobs):
    engine = ProcessEngine(n_jobs)
    with pytest.raises(CorpusError, match="shard 3 cannot be read"):
        engine.map_sum(fails, SHARDS)
    with pytest.raises(EngineError, match="the task failed with ValueError") as caught:
        engine.map_sum(fails_unforeseen, SHARDS)
    assert "patient" not in str(caught.getrepr(chain=True, style="short"))
    assert caught.value.__context__ is caught.value.__cause__ is None


@pytest.mark.parametrize("memory", [2**28, 0, 100])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_states_are_carried_in_memory_and_on_scratch(memory, n_jobs, tmp_path):
    engine = ProcessEngine(n_jobs, memory=memory, scratch=str(tmp_path))
    run, adds = StateStore(start), [1, 5, -2, 9]
    for t, add in enumerate(adds):
        found = engine.map_sum(step, SHARDS, add, states=run)
        assert (found == expected(range(10), adds[: t + 1])).all()
        assert not list(tmp_path.iterdir())  # what is on scratch has no name
    assert list(run.history) == [(add,) for add in adds]
    assert sum(key[0] == run.run for key in state_store._kept) == 10
    engine.forget(run)
    assert not any(key[0] == run.run for key in state_store._kept)


def test_a_state_that_is_lost_or_ahead_is_made_anew(tmp_path):
    shards = [Numbers(f"shard {i}", i, str(tmp_path)) for i in range(4)]
    engine, run = ProcessEngine(), StateStore(start)
    engine.map_sum(step, shards, 1, states=run)
    engine.map_sum(step, shards, 2, states=run)
    assert len(noted(tmp_path, "start")) == 4
    del state_store._kept[run.run, "shard 2"]
    assert (engine.map_sum(step, shards, 3, states=run) == expected(range(4), [1, 2, 3])).all()
    assert len(noted(tmp_path, "start")) == 5
    run.history.pop()  # the answer of the last step was lost, and the states are a step ahead
    assert (engine.map_sum(step, shards, 3, states=run) == expected(range(4), [1, 2, 3])).all()
    assert len(noted(tmp_path, "start")) == 9
    engine.forget(run)


def test_a_step_that_fails_halfway_leaves_no_state():
    def breaks(shard, state, add):
        state += add
        raise CorpusError("shard is gone")

    engine, run = ProcessEngine(), StateStore(start)
    engine.map_sum(step, SHARDS[:1], 1, states=run)
    with pytest.raises(CorpusError, match="gone"):
        engine.map_sum(breaks, SHARDS[:1], 50, states=run)
    assert len(run.history) == 1
    assert (engine.map_sum(step, SHARDS[:1], 2, states=run) == expected([0], [1, 2])).all()
    engine.forget(run)


def test_runs_do_not_see_each_other():
    engine, one, other = ProcessEngine(), StateStore(start), StateStore(start)
    engine.map_sum(step, SHARDS, 1, states=one)
    assert (engine.map_sum(step, SHARDS, 2, states=other) == expected(range(10), [2])).all()
    assert (engine.map_sum(step, SHARDS, 3, states=one) == expected(range(10), [1, 3])).all()
    engine.forget(one)
    assert (engine.map_sum(step, SHARDS, 4, states=other) == expected(range(10), [2, 4])).all()
    engine.forget(other)


def test_a_full_scratch_disk_is_one_clear_error():
    if not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    engine, run = ProcessEngine(memory=0), StateStore(start)

    def full(dir=None):  # noqa: A002
        return Path("/dev/full").open("r+b", buffering=0)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tempfile, "TemporaryFile", full)
        with pytest.raises(
            EngineError, match=r"scratch disk .*: No space left on device; give a larger folder"
        ):
            engine.map_sum(step, SHARDS, 1, states=run)
    engine.forget(run)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_state_that_is_lost_is_made_anew_from_what_every_step_was_given(n_jobs):
    engine, run = ProcessEngine(n_jobs), StateStore(start_large)
    tables = [np.random.default_rng(i).integers(0, 9, 2000) for i in range(4)]
    for table in tables[:3]:
        engine.map_sum(add_large, SHARDS, table, states=run)
    engine.forget(run)  # lost
    total = engine.map_sum(add_large, SHARDS, tables[3], states=run)
    expected = [45 * 3**4 + 10 * sum(3 ** (3 - i) * table for i, table in enumerate(tables))]
    assert (total == expected[0]).all()
    engine.forget(run)


def start_large(shard):
    return np.full(2000, shard.number, np.int64)


def add_large(shard, state, table):
    state *= 3
    state += table
    return state.copy()


def test_scratch_can_be_read_by_its_person_only(tmp_path):
    with tempfile.TemporaryFile(dir=tmp_path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
    assert np.dtype(np.float32).itemsize == 4


def test_a_pass_tells_how_far_it_is():
    told = []
    engine = ProcessEngine(3, callback=lambda *stage: told.append(stage))
    engine.map_sum(value, SHARDS, 1)
    assert told == [("shards of this pass", done, 10) for done in range(11)]
    del told[:]
    engine.map_sum(size_of, [Sized(f"{n}", n) for n in range(1, 6)])
    stages, done, totals = zip(*told, strict=True)
    assert (set(stages), done[0], done[-1], set(totals)) == ({"documents of this pass"}, 0, 15, {15})
    assert len(done) == 6
    assert list(done) == sorted(done)


class Sized(NamedTuple):
    name: str
    n_documents: int


def size_of(shard):
    return np.array([shard.n_documents])


def test_a_cluster_that_lost_a_worker_does_not_go_back():
    told, shards = [], [Sized(f"{n}", 10) for n in range(4)]
    progress = PassProgress(lambda *stage: told.append(stage[1]), shards)
    progress.set(shards[:3])
    progress.set(shards[:1])
    progress.set(shards)
    assert told == [0, 30, 30, 40]
