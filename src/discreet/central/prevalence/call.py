"""What keeps shares from being released, told before anything is booked; and what their topics bring with them."""

from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, Parameter, ParameterError, PrivacyError, Proposal
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.prevalence.record import MOST_CELLS
from discreet.release.release import Release

if TYPE_CHECKING:
    from discreet.central.prevalence.estimator import TopicPrevalence

__all__ = ["booked_here", "check_size", "faults_of_division", "faults_of_private_names"]

_MOST_LETTERS = 2_000_000


def booked_here(topics: Release, ledger: Ledger) -> bool:
    """Whether all that topics cost stands on this ledger, so that what is released with it counts them."""
    theirs = topics.ledger.entries
    return len(theirs) > 0 and all(entry in ledger.entries for entry in theirs)


def faults_of_division(model: "TopicPrevalence") -> list[DiscreetError]:
    """Say why the periods of a fit cannot cost as one."""
    name = Parameter("division")
    faults: list[DiscreetError] = []
    if not isinstance(model.division, str) or not model.division.strip():
        faults.append(
            ParameterError(
                name,
                " must name the date that is meant, one for each document: 'date received'.",
            )
        )
    if model.freq is None or model.groups is not None:
        faults.append(ParameterError(name, " is for periods: give freq, start and end, and no groups."))
    if model.unlisted == "other":
        faults.append(ParameterError(name, ': documents of all other periods would be read for "other".'))
    if model.privacy_unit != "document":
        faults.append(
            PrivacyError(
                name,
                " makes months cost as one only where each document has one month; a person may have written in "
                "several, so their costs add up. Leave it out.",
            )
        )
    return faults


def faults_of_private_names(model: "TopicPrevalence") -> list[DiscreetError]:
    """Say what does not go with names of groups that are chosen privately."""
    faults: list[DiscreetError] = []
    if any(given is not None for given in (model.groups, model.freq, model.start, model.end)):
        faults.append(
            ParameterError(
                Parameter("group_selection"),
                '="private" chooses the names itself; leave ',
                Proposal("groups"),
                " and the range of dates out.",
            )
        )
    if model.unlisted == "error":
        faults.append(
            ParameterError(
                Parameter("unlisted"),
                '="error" would tell of labels that were not chosen; take "leave_out" or "other".',
            )
        )
    return faults


def check_size(groups: tuple[str, ...], n_topics: int) -> None:
    """Raise ``ParameterError`` where shares would be too many for a file that can be read again."""
    if len(groups) * (n_topics + 1) > MOST_CELLS or sum(map(len, groups)) > _MOST_LETTERS:
        raise ParameterError(
            Parameter("groups"),
            f" and topics may have {MOST_CELLS:,} shares in all, and names of {_MOST_LETTERS:,} letters together, but "
            f"there are {len(groups):,} groups and {n_topics} topics; take fewer, or longer periods.",
        )
