"""Shares of topics that are released with the topics, on one budget: what keeps them from it, and their release."""

import math
from typing import Any

from discreet._base.validate import collect, is_number, is_whole, kind_of
from discreet.central.prevalence.call import check_size
from discreet.central.prevalence.estimator import TopicPrevalence
from discreet.errors import DiscreetError, Parameter, ParameterError, PrivacyError, Proposal
from discreet.release.prevalence import PrevalenceRelease
from discreet.release.private_estimator import Booking, faults_of_estimator
from discreet.release.release import Release

__all__ = ["faults_with_topics", "shares_booked"]


def faults_with_topics(
    prevalence: Any, X: Any, by: Any, privacy_unit: str, epsilon: float, n_topics: Any
) -> list[DiscreetError]:
    """Say what keeps shares from being released with the topics."""
    if prevalence is None and by is None:
        return []
    if prevalence is None:
        return [
            ParameterError(Parameter("by"), " names groups, which only ", Proposal("prevalence"), " uses.")
        ]
    if not isinstance(prevalence, TopicPrevalence):
        return [
            ParameterError(
                Parameter("prevalence"), f" must be a TopicPrevalence, but is {kind_of(prevalence)}."
            )
        ]
    faults = faults_of_estimator(prevalence)
    if not faults and prevalence.group_selection == "public" and is_whole(n_topics):
        faults += collect(lambda: check_size(_groups_of(prevalence), n_topics))
    if prevalence.release is not None or prevalence.ledger is not None:
        faults.append(
            ParameterError(
                Parameter("prevalence"),
                " must be made without topics and without a ledger: both come from this run.",
            )
        )
    if prevalence.privacy_unit != privacy_unit:
        faults.append(
            PrivacyError(
                Parameter("prevalence"),
                f" protects each {prevalence.privacy_unit}, but the topics each {privacy_unit}; take one unit.",
            )
        )
    faults += prevalence._faults_of_labels(X, by)  # pyright: ignore[reportPrivateUsage]
    if is_number(prevalence.epsilon) and math.isfinite(epsilon) and prevalence.epsilon >= epsilon:
        faults.append(
            PrivacyError(
                Parameter("prevalence"),
                f" takes an epsilon of {prevalence.epsilon:g} out of {epsilon:g} and leaves none for the topics; a "
                "fifth of it works well.",
            )
        )
    return faults


def _groups_of(model: TopicPrevalence) -> tuple[str, ...]:
    """Return the names of public groups, from parameters alone."""
    return model._groups().names  # pyright: ignore[reportPrivateUsage]


def shares_booked(
    model: TopicPrevalence, booking: Booking, topics: Release, X: Any, by: Any, persons: Any
) -> PrevalenceRelease:
    """Release the shares of topics that were trained meanwhile, where the cost was booked together with theirs."""
    return model._fit_booked(booking, topics, X, by, persons).release_  # pyright: ignore[reportPrivateUsage]
