"""Calls that threads make at the same moment."""

import threading

from discreet.errors import BudgetExceeded


def at_once(*calls):
    """Return what calls come to that threads make at the same moment; an error by its type."""
    gate, told = threading.Barrier(len(calls)), [None] * len(calls)

    def make(i):
        gate.wait()
        try:
            told[i] = calls[i]()
        except BudgetExceeded as error:
            told[i] = type(error)

    threads = [threading.Thread(target=make, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told
