"""What was spent: events, their totals, and the curves behind them."""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.privacy.accounting import events
    from discreet.privacy.accounting.calibration import epsilon_for, noise_multiplier_for
    from discreet.privacy.accounting.curves import gdp_delta, gdp_epsilon, gdp_mu
    from discreet.privacy.accounting.explain import BudgetExplanation, explain_budget
    from discreet.privacy.accounting.totals import Cost, composed_epsilon

_HOMES = {
    "discreet.privacy.accounting.calibration": ("epsilon_for", "noise_multiplier_for"),
    "discreet.privacy.accounting.curves": ("gdp_delta", "gdp_epsilon", "gdp_mu"),
    "discreet.privacy.accounting.totals": ("Cost", "composed_epsilon"),
    "discreet.privacy.accounting.events": ("events",),
    "discreet.privacy.accounting.explain": ("BudgetExplanation", "explain_budget"),
}

__all__ = [
    "BudgetExplanation",
    "Cost",
    "composed_epsilon",
    "epsilon_for",
    "events",
    "explain_budget",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "noise_multiplier_for",
]

__getattr__, __dir__ = lazy_names("discreet.privacy.accounting", _HOMES)
