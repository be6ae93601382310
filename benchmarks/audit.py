"""Lower bounds on epsilon, by many runs of each mechanism on the worst pair of neighbours, beside what was promised.

python benchmarks/audit.py
"""

from discreet.audit import distinguish
from discreet.privacy import (
    Bound,
    GaussianMechanism,
    LaplaceMechanism,
    SecureStream,
    discrete_laplace,
    noise_multiplier_for,
    rounded_gaussian,
)

RUNS, DELTA = 1_000_000, 1e-5


def main():
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        stream = SecureStream(1)
        gaussian = GaussianMechanism(Bound(), noise_multiplier_for(epsilon, DELTA))
        step, scale = gaussian.bound.sensitivity, gaussian.scale
        with_unit, without = (value + rounded_gaussian(scale, RUNS, stream) for value in (step, 0))
        report = distinguish(with_unit, without, delta=DELTA)
        print(
            f"rounded Gaussian   promised {epsilon:<4g} at least {report.epsilon_lower_bound:.3f} (95 %, {RUNS:,} runs)"
        )
        laplace = LaplaceMechanism(Bound("l1"), epsilon)
        with_unit, without = (value + discrete_laplace(laplace.scale, RUNS, stream) for value in (step, 0))
        report = distinguish(with_unit, without)
        print(
            f"discrete Laplace   promised {epsilon:<4g} at least {report.epsilon_lower_bound:.3f} (95 %, {RUNS:,} runs)"
        )


if __name__ == "__main__":
    main()
