"""The simulation of a cluster, where its answer is known."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def model():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("scale_model", BENCHMARKS / "scale_model.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_workers_share_tasks_and_the_scheduler_hands_them_out_one_by_one(model):
    assert model.run_tasks([1.0] * 8, 4, 0.0) == (2.0, 0.0)
    assert model.run_tasks([1.0] * 9, 4, 0.0)[0] == 3.0
    seconds, busy = model.run_tasks([0.0] * 100, 1000, 0.01)
    assert seconds == pytest.approx(1.0) == pytest.approx(busy)
    seconds, busy = model.run_tasks([1.0] * 3, 1, 0.1)
    assert seconds == pytest.approx(3.3)
    assert busy == pytest.approx(0.3)


def test_forecasts_follow_work_then_the_scheduler(model):
    constants = model.Constants(passes=[1e-6] * 8, add=0.0, task=1e-3)
    alone = model.forecast(constants, 10**7, 1, 10**5)
    assert alone.work == pytest.approx(80.0)
    assert alone.seconds == pytest.approx(80.0, rel=0.05)
    assert model.forecast(constants, 10**7, 10, 10**5).seconds == pytest.approx(8.0, rel=0.2)
    many = model.forecast(constants, 10**8, 1000, 10**4)
    assert many.scheduler_busy > 0.9
    assert many.seconds > 8 * 10**4 * 1e-3
    assert model.smallest_shard(constants, 1000) == 10**6
