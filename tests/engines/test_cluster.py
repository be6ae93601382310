"""The engine of a Dask cluster: the same sums, also where workers die."""

import os
import signal
import time
from itertools import pairwise

import numpy as np
import pytest
from tests.engines.counting_tasks import (
    Numbers,
    dies_once,
    expected,
    fails,
    fails_unforeseen,
    noted,
    slow_value,
    start,
    step,
    value,
    whoami,
)

from discreet.engines import DaskEngine, Engine, StateStore, cluster
from discreet.errors import CorpusError, EngineError

SHARDS = [Numbers(f"shard {i}", i) for i in range(20)]
# The warnings are of Dask, not ours.
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]


def test_what_is_no_client_is_refused():
    with pytest.raises(EngineError, match=r"must be a distributed\.Client, but is a str"):
        DaskEngine("tcp://127.0.0.1:8786")


def test_sums_and_order(client):
    engine = DaskEngine(client)
    assert isinstance(engine, Engine)
    assert engine.map_sum(value, SHARDS, 100, 7).tolist() == [190 + 20 * 107, 20]
    found = list(engine.map(whoami, SHARDS))
    assert [number for number, _ in found] == list(range(20))
    assert len({process for _, process in found}) == 2
    assert os.getpid() not in {process for _, process in found}


def test_states_stay_with_their_worker(client, tmp_path):
    shards = [Numbers(f"shard {i}", i, str(tmp_path)) for i in range(12)]
    engine, run, adds = DaskEngine(client, memory=100, scratch=str(tmp_path)), StateStore(start), [4, -1, 2]
    for t, add in enumerate(adds):
        assert (engine.map_sum(step, shards, add, states=run) == expected(range(12), adds[: t + 1])).all()
    assert len(noted(tmp_path, "step")) == 36 or len(noted(tmp_path, "start")) > 12
    engine.forget(run)
    assert not client.submit(_n_kept, run.run, pure=False).result()


def _n_kept(run):
    from discreet.engines import state_store

    return sum(key[0] == run for key in state_store._kept)


def test_a_fault_says_what_and_not_what_was_read(client):
    engine = DaskEngine(client)
    with pytest.raises(CorpusError, match="shard 3 cannot be read"):
        engine.map_sum(fails, SHARDS)
    with pytest.raises(EngineError, match="the task failed with ValueError") as caught:
        engine.map_sum(fails_unforeseen, SHARDS)
    assert "patient" not in str(caught.getrepr(chain=True, style="short"))


def test_a_worker_that_dies_at_work_changes_nothing(client, tmp_path):
    shards = [Numbers(f"shard {i}", i, str(tmp_path)) for i in range(6)]
    assert DaskEngine(client).map_sum(dies_once, shards).tolist() == [15, 6]
    assert len(noted(tmp_path, "value")) > 6


def test_a_worker_that_dies_between_steps_changes_nothing(client, tmp_path):
    shards = [Numbers(f"shard {i}", i, str(tmp_path)) for i in range(12)]
    engine, run, adds = DaskEngine(client), StateStore(start), []
    for add in (3, 5, -7, 2):
        adds.append(add)
        assert (engine.map_sum(step, shards, add, states=run) == expected(range(12), adds)).all()
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert len(noted(tmp_path, "start")) > 12
    engine.forget(run)


def test_a_worker_of_another_version_is_refused(client, monkeypatch):
    engine = DaskEngine(client)
    engine._checked = set(client.nthreads())
    monkeypatch.setattr(cluster, "__version__", "0.0.1")
    with pytest.raises(EngineError, match=r"the client has 0\.0\.1"):
        engine.map_sum(value, SHARDS)


def test_a_worker_without_the_package_is_refused(client, monkeypatch):
    found = client.get_versions(check=False, packages=list(cluster.MUST_AGREE))
    worker = next(iter(found["workers"]))
    found["workers"][worker]["packages"]["discreet"] = None
    monkeypatch.setattr(client, "get_versions", lambda **_: found)
    with pytest.raises(EngineError, match=r"has discreet \(none\), not"):
        DaskEngine(client).map_sum(value, SHARDS)


def test_without_workers_it_gives_up():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as empty,
        distributed.Client(empty) as connected,
    ):
        before = time.monotonic()
        with pytest.raises(EngineError, match=r"no workers for 0\.5 seconds"):
            DaskEngine(connected, patience=0.5).map_sum(value, SHARDS)
        assert time.monotonic() - before < 20


def test_large_public_arrays_travel(client):
    engine, run = DaskEngine(client), StateStore(start)
    large = np.ones(3_000_000)
    assert engine.map_sum(first_of, SHARDS, large).tolist() == [20]
    engine.forget(run)


@pytest.mark.parametrize("n_killed", [0, 1])
def test_a_worker_holds_the_arrays_of_one_step(client, n_killed):
    """And the scheduler too: what was sent for earlier steps is gone, also where they had to be taken again."""
    engine, run, n_steps = DaskEngine(client), StateStore(start), 30
    before = client.run_on_scheduler(_n_tasks)  # faults of other tests hold some
    for t in range(n_steps):
        if t == n_steps - 1 and n_killed:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        tables = engine.map_sum(tables_held, SHARDS, np.full(100_000, t % 2), states=run)
        # Of quick steps before some may still be on their way out; held for good they would be 30 in the end.
        assert len(SHARDS) <= tables[0] <= 12 * len(SHARDS)
        assert tables[1] == expected(range(20), [t % 2 for t in range(t + 1)])[0]
    # Futures go when garbage is collected, so the last two steps may still be there; all of them would be 600.
    most, limit = before + 2 * len(SHARDS), time.monotonic() + 20
    while client.run_on_scheduler(_n_tasks) > most and time.monotonic() < limit:
        time.sleep(0.05)
    assert client.run_on_scheduler(_n_tasks) <= most
    engine.forget(run)


def tables_held(shard, state, table):
    from distributed import get_worker

    from discreet.engines.cluster import PublicArrays

    n_held = sum(isinstance(value, PublicArrays) for value in list(get_worker().data.values()))
    return np.array([n_held, step(shard, state, table[0])[0]])


def _n_tasks(dask_scheduler):
    return len(dask_scheduler.tasks)


def first_of(shard, large):
    return large[:1].astype(np.int64)


def test_a_pass_tells_how_far_it_is(client):
    client.wait_for_workers(2)  # some were killed
    told, slow = [], min(client.run(os.getpid).values())
    engine = DaskEngine(client, callback=lambda *stage: told.append(stage))
    assert engine.map_sum(slow_value, SHARDS[:8], slow).tolist() == [28, 8]
    assert (told[0], told[-1]) == (("shards of this pass", 0, 8), ("shards of this pass", 8, 8))
    assert all(earlier[1] <= later[1] for earlier, later in pairwise(told))
