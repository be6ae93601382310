"""The promise: bounded contributions, exact noise, accounting, ledger. Knows nothing of topics.

Public names load on first use: importing this room imports neither numba nor dp_accounting.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.privacy.accounting import (
        Cost,
        composed_epsilon,
        epsilon_for,
        gdp_delta,
        gdp_epsilon,
        gdp_mu,
        noise_multiplier_for,
    )
    from discreet.privacy.battery import check_private_estimator
    from discreet.privacy.bit_channel import BitChannel, BitGuarantees
    from discreet.privacy.bound import Bound, BoundedSum
    from discreet.privacy.coins import bernoulli
    from discreet.privacy.explain import explain_budget, learnability
    from discreet.privacy.gaussian import rounded_gaussian
    from discreet.privacy.laplace import discrete_laplace
    from discreet.privacy.ledger import Ledger, Reservation
    from discreet.privacy.mechanism import GaussianMechanism, LaplaceMechanism
    from discreet.privacy.one_cell import OneCellBound
    from discreet.privacy.stream import SecureStream
    from discreet.privacy.units import Guarantee, check_delta, check_epsilon

_HOMES = {
    "BitChannel": "bit_channel",
    "BitGuarantees": "bit_channel",
    "Bound": "bound",
    "BoundedSum": "bound",
    "Cost": "accounting",
    "GaussianMechanism": "mechanism",
    "Guarantee": "units",
    "LaplaceMechanism": "mechanism",
    "Ledger": "ledger",
    "OneCellBound": "one_cell",
    "Reservation": "ledger",
    "SecureStream": "stream",
    "bernoulli": "coins",
    "check_delta": "units",
    "check_epsilon": "units",
    "check_private_estimator": "battery",
    "composed_epsilon": "accounting",
    "discrete_laplace": "laplace",
    "epsilon_for": "accounting",
    "explain_budget": "explain",
    "gdp_delta": "accounting",
    "gdp_epsilon": "accounting",
    "gdp_mu": "accounting",
    "learnability": "explain",
    "noise_multiplier_for": "accounting",
    "rounded_gaussian": "gaussian",
}

__all__ = [
    "BitChannel",
    "BitGuarantees",
    "Bound",
    "BoundedSum",
    "Cost",
    "GaussianMechanism",
    "Guarantee",
    "LaplaceMechanism",
    "Ledger",
    "OneCellBound",
    "Reservation",
    "SecureStream",
    "bernoulli",
    "check_delta",
    "check_epsilon",
    "check_private_estimator",
    "composed_epsilon",
    "discrete_laplace",
    "epsilon_for",
    "explain_budget",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "learnability",
    "noise_multiplier_for",
    "rounded_gaussian",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"discreet.privacy.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'discreet.privacy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
