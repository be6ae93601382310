"""Threads that work on one thing inside a kernel, and wait there until all of them have done their part.

Beginning threads takes a tenth of a millisecond, a meeting inside a kernel about a microsecond: for parts that take
less than a millisecond. ``together`` begins the threads; in the kernel they take pieces by ``next_piece`` and wait for
each other in ``meet``.

Nobody waits for ever: every part has a thread of its own, which does nothing else; and when one of them fails, or the
caller is interrupted, the gates open, and ``meet`` tells all others to return. Who waits long naps, for some dozens
of microseconds where the system can.
"""

import sys
import time
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import config, types
from numpy.typing import NDArray

from discreet._kernels import emitted, kernel

__all__ = ["gates", "meet", "next_piece", "together"]

Answer = TypeVar("Answer")
_I64 = ir.IntType(64)
#: Looks at a gate, some nanoseconds each, before a thread naps. (One that only lets others run, by sched_yield, waits
#: for milliseconds on a busy machine.)
_LOOKS = 20_000
_SYSTEM_NAP, _NAP = ("Sleep", 1) if sys.platform == "win32" else ("usleep", 20)
_sleep: Any = types.ExternalFunction(_SYSTEM_NAP, types.void(types.uint32))


def gates(n: int) -> NDArray[np.int64]:
    """Return n gates, for a meeting each or for the pieces of one share of work; number 0 stops everybody."""
    return np.zeros(n + 1, np.int64)


def together(part: Callable[[int], Answer], n_threads: int, stop: NDArray[np.int64]) -> list[Answer]:
    """Return ``part(0)`` to ``part(n_threads - 1)``, run at once; ``stop``: gates that the parts wait at.

    The calling thread only waits, so that an interrupt reaches it at once; the others end at their next meeting. The
    first fault is raised.
    """
    answers: dict[int, Answer] = {}
    faults: list[BaseException] = []

    def run(me: int) -> None:
        try:
            answers[me] = part(me)
        except BaseException as fault:
            faults.append(fault)
            stop[0] = 1

    threads = [Thread(target=run, args=(me,)) for me in range(n_threads)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        stop[0] = 1
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if faults:
        raise faults[0]
    return [answers[me] for me in range(n_threads)]


@emitted
def _add_one(typingctx: Any, address: Any) -> Any:
    """Add one to the number at an address, whoever else does so, and return what it was."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.inttoptr(args[0], _I64.as_pointer())
        return builder.atomic_rmw("add", place, ir.Constant(_I64, 1), "seq_cst")

    return types.int64(types.int64), generate


@emitted
def _look(typingctx: Any, address: Any) -> Any:
    """Return the number at an address as others have left it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.inttoptr(args[0], _I64.as_pointer())
        return builder.load_atomic(place, "seq_cst", 8)

    return types.int64(types.int64), generate


@kernel()
def _next_piece(gates: Any, gate: int) -> int:
    return _add_one(gates.ctypes.data + 8 * gate)


@kernel()
def _meet(gates: Any, gate: int, n_threads: int) -> bool:
    everybody, here = gates.ctypes.data, gates.ctypes.data + 8 * gate
    _add_one(here)
    looks = 0
    while _look(here) < n_threads and not _look(everybody):
        looks += 1
        if looks > _LOOKS:
            _sleep(np.uint32(_NAP))
    return not _look(everybody)


def _plain_next_piece(gates: Any, gate: int) -> int:
    with _one_at_a_time:
        gates[gate] += 1
        return int(gates[gate]) - 1


def _plain_meet(gates: Any, gate: int, n_threads: int) -> bool:
    _plain_next_piece(gates, gate)
    while gates[gate] < n_threads and not gates[0]:
        time.sleep(0)
    return not gates[0]


_one_at_a_time = Lock()
_compiled = not config.DISABLE_JIT  # pyright: ignore[reportAttributeAccessIssue]
#: ``next_piece(gates, gate)`` returns 0, 1, 2, ..., each to one thread only.
next_piece: Any = _next_piece if _compiled else _plain_next_piece
#: ``meet(gates, gate, n_threads)`` waits until all threads have come, and returns True; False: stop.
meet: Any = _meet if _compiled else _plain_meet
