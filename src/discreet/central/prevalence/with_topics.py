"""What keeps shares of topics from being released with the topics, on one budget."""

import math
from typing import Any

from discreet._validate import collect, is_number, is_whole
from discreet.central.prevalence.call import check_size
from discreet.central.prevalence.estimator import TopicPrevalence, groups_of
from discreet.errors import DiscreetError, Parameter, ParameterError, PrivacyError, Proposal
from discreet.release.private_estimator import faults_of_estimator

__all__ = ["faults_with_topics"]


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
        kind = type(prevalence).__name__
        return [ParameterError(Parameter("prevalence"), f" must be a TopicPrevalence, but is a {kind}.")]
    faults = faults_of_estimator(prevalence)
    if not faults and prevalence.group_selection == "public" and is_whole(n_topics):
        faults += collect(lambda: check_size(groups_of(prevalence), n_topics))
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
