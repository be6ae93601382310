"""A Dask cluster of worker processes on loopback, for tests that go through one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def local_cluster(n_workers: int) -> Iterator[Any]:
    """Give a client of so many workers with one thread each; workers that die are started again."""
    distributed = pytest.importorskip(
        "distributed", reason="needs the extra scale: pip install discreet[scale]"
    )
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            memory_limit=0,
        ) as local,
        distributed.Client(local) as connected,
    ):
        yield connected
