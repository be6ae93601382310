"""One decorator for every kernel: compiled once, kept on disk, and compiled anew when *any* source file changed.

numba dates a kernel on disk by the time stamp and size of the one file that holds it. Code that the kernel calls in
other files is part of its machine code and not of that date: after an upgrade an old bounding function could live on
inside a kernel whose own file is unchanged. So the date gets a fingerprint of all source files added to it.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numba import njit
from numba.extending import intrinsic

#: The golden ratio in 64 bits; shifts and factors of SplitMix64's finaliser, a bijection with full avalanche (Steele,
#: Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, doi:10.1145/2660193.2660195).
GOLDEN = 0x9E3779B97F4A7C15
MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
(_SHIFT, _FACTOR), (_SECOND_SHIFT, _SECOND_FACTOR) = MIX


@cache
def source_fingerprint(folder: Path = Path(__file__).parents[1]) -> str:
    """SHA-256 over name and content of every source file below ``folder``: a constant of any may be in machine code."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        for part in (path.relative_to(folder).as_posix().encode(), content):
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def kernel(
    *,
    error_model: Literal["python", "numpy"] = "python",
    inline: Literal["never", "always"] = "never",
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a serial function with numba on first call, without the interpreter's lock, and keep it on disk.

    Parameters
    ----------
    error_model : {"python", "numpy"}
        "numpy" divides without a check for zero, so that loops vectorise.
    inline : {"never", "always"}
        Whether callers take the function's body in.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher: Any = njit(cache=True, nogil=True, error_model=error_model, inline=inline)(function)
        disk = getattr(dispatcher, "_cache", None)
        if disk is None:  # NUMBA_DISABLE_JIT: the function itself
            return dispatcher
        # No public way leads here. A numba without this attribute must fail loudly: stale code is worse than none.
        file = disk._cache_file
        file._source_stamp = (file._source_stamp, source_fingerprint())
        return dispatcher

    return compiled


def emitted(emit: Callable[..., Any]) -> Callable[..., Any]:
    """``intrinsic``, typed: what kernels call lacks the first parameter."""
    return intrinsic(emit)


def mixed(x: Any) -> Any:
    """Scramble 64 bits; of each number of an array, whose sums and products wrap round."""
    x = np.uint64(x)
    x = (x ^ (x >> np.uint64(_SHIFT))) * np.uint64(_FACTOR)
    x = (x ^ (x >> np.uint64(_SECOND_SHIFT))) * np.uint64(_SECOND_FACTOR)
    return x ^ (x >> np.uint64(31))


#: The same of one number, for kernels: machine code in the caller, because source would compile slowly there.
mix: Any = njit(forceinline=True)(mixed)
