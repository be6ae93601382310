"""Sharing kernels out to threads, in pieces that do not depend on the number of threads."""

import os
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cache
from itertools import pairwise
from numbers import Integral
from threading import Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet._base.validate import kind_of
from discreet.errors import Parameter, ParameterError

_PIECES_A_THREAD = 8

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def count_threads(n_jobs: int | None) -> int:
    """Turn scikit-learn's ``n_jobs`` into a number of threads.

    ``None`` is 1, ``-1`` all the cores this process may use, ``-2`` all but one, and so on.
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral):
        raise ParameterError(
            Parameter("n_jobs"), f" must be a whole number of threads or None, but is {kind_of(n_jobs)}."
        )
    if n_jobs == 0:
        raise ParameterError(
            Parameter("n_jobs"), " must not be 0: give a positive number of threads, or -1 for all cores."
        )
    if n_jobs > 0:
        return int(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep linear algebra to one thread for a while: small matrices are quicker so, and bits do not depend on cores."""
    return _libraries().limit(limits=1, user_api="blas")


@cache  # looking for libraries takes milliseconds, and leaves circles of references behind
def _libraries() -> Any:
    import scipy.linalg  # pyright: ignore[reportUnusedImport]  # noqa: F401  # only what is loaded is found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def balanced_cuts(indptr: NDArray[Any], n_pieces: int) -> NDArray[np.int64]:
    """Cut rows into consecutive pieces of about equal numbers of stored entries.

    Parameters
    ----------
    indptr : array of shape (n_rows + 1,)
        Row pointer of a CSR matrix.
    n_pieces : int
        Number of pieces; a piece may be empty.

    Returns
    -------
    array of shape (n_pieces + 1,), int64
        Piece ``i`` is the rows ``cuts[i]`` to ``cuts[i + 1]``.
    """
    n_rows = len(indptr) - 1
    targets = np.linspace(int(indptr[0]), int(indptr[-1]), n_pieces + 1)
    cuts = np.searchsorted(np.asarray(indptr), targets).astype(np.int64)
    cuts[0], cuts[-1] = 0, n_rows
    return np.maximum.accumulate(np.minimum(cuts, n_rows))


def pieces(indptr: NDArray[Any], n_threads: int) -> list[tuple[int, int]]:
    """Cut rows into ranges for threads: one for one thread, else several each, so that a slow core gets fewer."""
    n_pieces = 1 if n_threads == 1 else n_threads * _PIECES_A_THREAD
    return list(pairwise(balanced_cuts(indptr, n_pieces).tolist()))


def share_out(work: Callable[[Task], Answer], tasks: Iterable[Task], n_threads: int) -> list[Answer]:
    """Apply ``work`` to each task; answers come in the order of the tasks. The work must release the GIL.

    The calling thread works, too. When tasks fail, those not yet begun are dropped, and the fault of the first
    in order is raised. (A ThreadPoolExecutor does the same for half a millisecond a call, as much as a sweep's
    whole table takes.)
    """
    if n_threads == 1:
        return [work(task) for task in tasks]
    waiting = deque(enumerate(tasks))
    answers: dict[int, Answer] = {}
    faults: dict[int, BaseException] = {}

    def take() -> None:
        while True:
            try:
                number, task = waiting.popleft()
            except IndexError:
                return
            try:
                answers[number] = work(task)
            except BaseException as fault:
                faults[number] = fault
                waiting.clear()

    helpers = [Thread(target=take) for _ in range(min(n_threads, len(waiting)) - 1)]
    for helper in helpers:
        helper.start()
    try:
        take()
        for helper in helpers:
            helper.join()
    except BaseException:  # an interrupt between two tasks: nothing more is begun
        waiting.clear()
        raise
    if faults:
        raise faults[min(faults)]
    return [answers[number] for number in range(len(answers))]
