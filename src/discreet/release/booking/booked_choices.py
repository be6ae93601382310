"""Where the columns of counts were chosen privately, what is released of them is booked on that ledger, or refused.

Counts of chosen columns are a function of the texts and of the choice. If the choice is private at one cost, and what
is computed from counts private at another for any fixed columns, then both together are private at the composed cost;
the second alone promises nothing of the choice, which shows in it: a column of zeros is a word that was not chosen. So
one ledger must hold both. That the choice stands there is looked up by the number of its booking and the digest of
what was booked, because a ledger can be put back to an older state of itself. The digest holds a random nonce of the
booking, because the same script, run again on the older state, books the same again. That a seed was used stands
there, too, in the purpose.
"""

from collections.abc import Sequence
from typing import Any

from discreet._base.arrays import carried
from discreet.corpus.vocabulary import ColumnChoice, choices_of
from discreet.errors import DiscreetError, Parameter, PrivacyError, Proposal
from discreet.privacy.ledger.ledger import Ledger, Reservation

__all__ = ["booked_choice", "faults_of_choices", "ledger_of_choices"]


def booked_choice(ledger: Ledger, reservation: Reservation, *, seeded: bool) -> ColumnChoice:
    """Return the choice that a reservation paid for, as counts carry it."""
    entry = reservation.entry
    assert entry is not None  # it was booked by itself, or as a part of a plan
    return ColumnChoice(ledger.identity, entry.booking, entry.digest, seeded, ledger)


def ledger_of_choices(X: Any) -> Ledger | None:
    """Return the ledger on which the choices of the columns of X are booked, where there are any and it is at hand."""
    ledger = carried(X, "ledger") if choices_of(X) else None
    return ledger if isinstance(ledger, Ledger) else None


def faults_of_choices(
    X: Any, ledger: Any, privacy_unit: str, neighboring: str, protects: Sequence[str]
) -> list[DiscreetError]:
    """Say where columns were chosen privately, and what that cost would not be told with a fit.

    Parameters
    ----------
    X : counts
        Asked for what they carry, and not read.
    ledger : Ledger or None
        The one given to the fit. Anything else is somebody else's fault.
    privacy_unit, neighboring : str
        What the fit would protect.
    protects : sequence of str
        The units that it can protect.
    """
    choices = choices_of(X)
    given = ledger if isinstance(ledger, Ledger) else None
    if not choices:
        return []
    if len({choice.ledger for choice in choices}) > 1:
        return [
            PrivacyError(
                "the columns went through choices on several ledgers, so that no one ledger can tell what this fit "
                "costs with them: make all choices on one, PrivateCountVectorizer(..., ledger=ledger)."
            )
        ]
    if given is not None and given.identity != choices[0].ledger:
        return [
            PrivacyError(
                "the words were chosen on another ",
                Parameter("ledger"),
                ", so that what they cost would be missing in this one: choose them on the same, "
                "PrivateCountVectorizer(..., ledger=ledger), or leave ",
                Proposal("ledger"),
                " out, and this fit is booked where its words are.",
            )
        ]
    book = ledger_of_choices(X) if given is None else given
    if book is None or book.closed:
        return [
            PrivacyError(
                "the cost of choosing these words is booked on a ledger that is not at hand: they come from a file, "
                "the cache of a pipeline or another process, and a ledger goes with them only if it has a file of "
                "its own. Choose words on one, PrivateCountVectorizer(..., ledger=Ledger.open(path, epsilon, delta)), "
                "and pass it here, too: ",
                Proposal("ledger"),
                ".",
            )
        ]
    if not all(book.holds(choice.booking, choice.entry) for choice in choices):
        return [
            PrivacyError(
                "the ",
                Parameter("ledger"),
                " does not hold the choice of these words: it is an older state of the one that they were booked on, "
                "and their cost would be missing. Put the newer file back, or choose words anew.",
            )
        ]
    if given is None and (book.privacy_unit, book.neighboring) != (privacy_unit, neighboring):
        return [
            PrivacyError(
                f"the choice of the words protects {book.called} ({book.neighboring}), but this fit would "
                f"protect {privacy_unit} ({neighboring}), and one promise cannot hold both: ",
                *(
                    ("take ", Proposal("privacy_unit", book.privacy_unit), ".")
                    if book.privacy_unit in protects
                    else ("count with a public list of words the texts themselves, or take PrivateLDA.",)
                ),
            )
        ]
    return []
