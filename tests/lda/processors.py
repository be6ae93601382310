"""What a program tells when numba compiles for another processor of this machine's family."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ONE_FAMILY = pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of one family")
#: Vectors of 128 bits and no fused multiply-add; and of 256, with it.
PLAIN, HASWELL = ("x86-64", ""), ("haswell", "+avx2,+fma")


def told_here(program):
    """Run a program in this process, compiled for this processor; return what it calls ``told``."""
    names = {}
    exec(program, names)
    return names["told"]


def told_on(processor, program, folder):
    """Run it in a process of its own, with kernels compiled for a processor; ``told`` is text."""
    name, features = processor
    chosen = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(folder / name)}
    return subprocess.run(
        [sys.executable, "-c", f"{program}\nprint(told, end='')"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **chosen},
    ).stdout


def knows_avx2():
    """Whether this machine can run what is compiled for HASWELL."""
    told = Path("/proc/cpuinfo")
    return told.exists() and "avx2" in told.read_text()
