"""Threads that meet inside kernels: nobody goes on before all have come, and nobody waits for ever."""

import os
import subprocess
import sys
from threading import Timer

import numpy as np
import pytest

from discreet import _meetings
from discreet._kernels import kernel
from discreet._meetings import gates, meet, next_piece, together

SCRIPT = """
import os, signal, threading, time
from discreet._meetings import gates, meet, together
meetings = gates(1)
meet(meetings, 1, 1)  # compile
meetings[1] = 0
timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
timer.start()
try:
    together(lambda me: meet(meetings, 1, 3), 2, meetings)
except KeyboardInterrupt:
    timer.join()
    end = time.monotonic() + 30  # in Python 3.11 an interrupted join takes a thread that still runs for ended
    while threading.active_count() > 1 and time.monotonic() < end:
        time.sleep(0.01)
    print("interrupted", threading.active_count())
"""


@kernel()
def go_round(me, n_threads, stop, n_rounds, rounds, pieces):
    """In each round say that one has come, meet, and look whether all others have; count who took each piece."""
    early = 0
    for i in range(n_rounds):
        rounds[me] = i + 1
        if not meet(stop, 1 + 3 * i, n_threads):
            return -1
        early += (rounds < i + 1).sum()
        piece = next_piece(stop, 2 + 3 * i)
        while piece < len(pieces):
            pieces[piece] += 1
            piece = next_piece(stop, 2 + 3 * i)
        if not meet(stop, 3 + 3 * i, n_threads):
            return -1
    return early


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("compiled", [True, False])
def test_nobody_goes_on_before_all_have_come(n_threads, compiled, monkeypatch):
    function, n_rounds = go_round, 2000
    if not compiled:
        function, n_rounds = getattr(go_round, "py_func", go_round), 20
        for name in ("meet", "next_piece"):
            monkeypatch.setitem(globals(), name, getattr(_meetings, f"_plain_{name}"))
    stop, rounds, pieces = gates(3 * n_rounds), np.zeros(n_threads, np.int64), np.zeros(7, np.int64)
    early = together(lambda me: function(me, n_threads, stop, n_rounds, rounds, pieces), n_threads, stop)
    assert early == [0] * n_threads
    assert (pieces == n_rounds).all()
    assert (rounds == n_rounds).all()


def test_answers_come_in_order():
    assert together(lambda me: me**2, 4, gates(0)) == [0, 1, 4, 9]


@pytest.mark.parametrize("waiting", [_meetings.meet, _meetings._plain_meet])
def test_a_fault_opens_the_gates(waiting):
    stop, told, opened_late = gates(1), [], []

    def part(me):
        if me == 1:
            raise ValueError("part 1")
        told.append(waiting(stop, 1, 3))

    def open_late():  # so that a mistake fails and does not hang
        opened_late.append(True)
        stop[0] = 1

    watchdog = Timer(60, open_late)
    watchdog.start()
    with pytest.raises(ValueError, match="part 1"):
        together(part, 3, stop)
    watchdog.cancel()
    assert told == [False, False]
    assert not opened_late


def test_a_thread_that_cannot_begin_opens_the_gates(monkeypatch):
    stop, told, begin = gates(1), [], _meetings.Thread.start
    begun = []

    def start(thread):
        if begun:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        begin(thread)

    monkeypatch.setattr(_meetings.Thread, "start", start)
    with pytest.raises(RuntimeError, match="start new thread"):
        together(lambda me: told.append(meet(stop, 1, 2)), 2, stop)
    assert told == [False]


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
def test_an_interrupt_ends_those_who_wait():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["interrupted", "1"], done.stderr
