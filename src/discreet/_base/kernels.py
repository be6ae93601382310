"""One decorator for every kernel: compiled once, kept on disk, and compiled anew when *any* kernel's source changed.

numba dates a kernel on disk by the time stamp and size of the one file that holds it. Code that the kernel calls in
other files is part of its machine code and not of that date: after an upgrade an old bounding function could live on
inside a kernel whose own file is unchanged. So the date gets a fingerprint of all files with kernels added to it.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from numba import njit
from numba.extending import intrinsic


@cache
def source_fingerprint(folder: Path = Path(__file__).parents[1]) -> str:
    """SHA-256 over name and content of every source file below ``folder`` that speaks of numba or of kernels."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        if b"numba" in content or b"kernel" in content:
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
