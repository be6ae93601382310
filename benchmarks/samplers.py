"""Throughput of the exact samplers on a 50 x 8000 matrix, beside OpenDP, interleaved in one run.

    python benchmarks/samplers.py [--rounds 3] [--scale 16384]

Times are CPU seconds of this thread; the first, compiling call of each kernel is timed on its own.
"""

import argparse
import statistics
import time

import numpy as np
import opendp.prelude as dp

from discreet.privacy import SecureStream, bernoulli, discrete_laplace, rounded_gaussian

SHAPE = (50, 8000)
N = SHAPE[0] * SHAPE[1]


def seconds(work):
    start = time.thread_time()
    work()
    return time.thread_time() - start


def opendp_gaussian(scale):
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    mechanism, zeros = space >> dp.m.then_gaussian(scale), [0] * N
    return lambda: mechanism(zeros)


def opendp_laplace(scale):
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    mechanism, zeros = space >> dp.m.then_laplace(scale), [0] * N
    return lambda: mechanism(zeros)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=2.0**14)
    options = parser.parse_args()
    dp.enable_features("contrib")
    stream, scale = SecureStream(), options.scale

    ours = {
        "rounded_gaussian": lambda: rounded_gaussian(scale, SHAPE, stream),
        "discrete_laplace": lambda: discrete_laplace(scale, SHAPE, stream),
    }
    theirs = {"rounded_gaussian": opendp_gaussian(scale), "discrete_laplace": opendp_laplace(scale)}
    for name, work in ours.items():
        print(f"{name}: first call, with compiling or loading the kernel, {seconds(work):.2f} s")

    times = {(name, who): [] for name in ours for who in ("discreet", "OpenDP")}
    for _ in range(options.rounds):
        for name, work in ours.items():
            times[name, "discreet"] += [seconds(work) for _ in range(5)]
            times[name, "OpenDP"].append(seconds(theirs[name]))

    print(
        f"\n{SHAPE[0]} x {SHAPE[1]} draws of scale {scale:g}; CPU seconds, median of {options.rounds} rounds"
    )
    for name in ours:
        mine, other = (statistics.median(times[name, who]) for who in ("discreet", "OpenDP"))
        print(
            f"{name:17}  discreet {mine:.4f} s ({N / mine / 1e6:.1f} M/s)   "
            f"OpenDP {other:.3f} s ({N / other / 1e6:.3f} M/s)   ratio {other / mine:.0f}"
        )

    bernoulli(0.3, N, stream)
    coins = statistics.median(seconds(lambda: bernoulli(0.3, N, stream)) for _ in range(9))
    print(f"{'bernoulli':17}  discreet {coins:.4f} s ({N / coins / 1e6:.1f} M/s)")
    naive = statistics.median(
        seconds(lambda: np.rint(np.random.default_rng(1).normal(0, scale, SHAPE)).astype(np.int64))
        for _ in range(9)
    )
    print(f"{'NumPy, rounded':17}  neither exact nor secure: {naive:.4f} s ({N / naive / 1e6:.1f} M/s)")


if __name__ == "__main__":
    main()
