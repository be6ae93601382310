"""The promise: bounded contributions, exact noise, accounting, ledger. Knows nothing of topics.

Public names load on first use: importing this room imports neither numba nor dp_accounting.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.privacy.accounting import events
    from discreet.privacy.accounting.curves import gdp_epsilon, gdp_mu
    from discreet.privacy.accounting.planning import epsilon_for, explain_budget, noise_multiplier_for
    from discreet.privacy.accounting.totals import composed_epsilon
    from discreet.privacy.battery.battery import check_private_estimator
    from discreet.privacy.bound import Bound, BoundedSum
    from discreet.privacy.ledger.ledger import Ledger
    from discreet.privacy.mechanism import GaussianMechanism, LaplaceMechanism, SharedGaussian
    from discreet.privacy.noise.bernoulli import bernoulli
    from discreet.privacy.noise.gaussian import rounded_gaussian
    from discreet.privacy.noise.laplace import discrete_laplace
    from discreet.privacy.noise.stream import SecureStream
    from discreet.privacy.row_sums import sum_rows
    from discreet.privacy.units import Guarantee


__all__ = [
    "Bound",
    "BoundedSum",
    "GaussianMechanism",
    "Guarantee",
    "LaplaceMechanism",
    "Ledger",
    "SecureStream",
    "SharedGaussian",
    "bernoulli",
    "check_private_estimator",
    "composed_epsilon",
    "discrete_laplace",
    "epsilon_for",
    "events",
    "explain_budget",
    "gdp_epsilon",
    "gdp_mu",
    "noise_multiplier_for",
    "rounded_gaussian",
    "sum_rows",
]

__getattr__, __dir__ = lazy_names("discreet.privacy")
