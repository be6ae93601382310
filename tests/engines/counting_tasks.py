"""Tasks and shards for tests of engines; here, because workers of a cluster import them by name."""

import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from discreet.errors import CorpusError


class Numbers(NamedTuple):
    """A shard that is its number; the folder, where there is one, gets a line for each time it was worked on."""

    name: str
    number: int
    folder: str = ""


def value(shard, *public):
    note(shard, "value")
    return np.array([shard.number + sum(public), 1], np.int64)


def start(shard):
    note(shard, "start")
    return np.full(5, shard.number, np.int64)


def step(shard, state, add):
    """The state is a function of all steps so far, in their order."""
    note(shard, "step")
    state *= 3
    state += add
    return state.copy()


def expected(numbers, adds):
    states = np.array(numbers)
    for add in adds:
        states = states * 3 + add
    return np.full(5, states.sum())


def note(shard, what):
    if shard.folder:
        with Path(shard.folder, what).open("a") as file:
            file.write(f"{shard.number} {os.getpid()}\n")


def noted(folder, what):
    return Path(folder, what).read_text().splitlines() if Path(folder, what).exists() else []


def fails(shard, *public):
    if shard.number == 3:
        raise CorpusError("shard 3 cannot be read: it is gone.")
    return np.zeros(1, np.int64)


def fails_unforeseen(shard, *public):
    raise ValueError("a patient's name")


def dies_once(shard, *public):
    """End the worker the first time that shard 1 is worked on."""
    note(shard, "value")
    if shard.number == 1 and len(noted(shard.folder, "value")) < 3:
        os.kill(os.getpid(), 9)
    return value(shard)


def whoami(shard, *public):
    return shard.number, os.getpid()


def slow_value(shard, slow_process):
    if os.getpid() == slow_process:
        time.sleep(0.5)
    return np.array([shard.number, 1], np.int64)
