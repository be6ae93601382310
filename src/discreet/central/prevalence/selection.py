r"""Names of groups that are not public: chosen privately, as words are.

Free-text places, employers, diagnoses: the list of names is itself private. A name is released where enough units
have it: each unit gives :math:`1/\sqrt k` to each of its k names, Gaussian noise is added, and names above a threshold
are listed, in the order of the alphabet.

Guarantee
---------
*Unit, neighbours*: a document, which has one name, or a person, of whose names the m most used count
(``max_groups_per_unit``); added or removed. *Released*: the names above the threshold. *Sensitivity*: that of
:mod:`discreet.central.vocabulary.gaussian_choice`, whose proof holds word for word with "name" for "word": a unit's
names are a function of that unit alone. *Event*: Gaussian noise, and the chance that a name which nobody else has
passes, set at a tenth of the run's delta. Sums in the chosen groups are a second Gaussian release: whatever names were
chosen, a unit's vector has norm at most :math:`\sqrt{1 + c^2}` (:mod:`discreet.central.prevalence.statistic`), and the
names are public by then. Both are booked as one event before a label is read, and priced together.

What a label that was not chosen adds depends on its own document alone: nothing, or to the group "other".
"""

import math
from typing import TYPE_CHECKING, NamedTuple

from discreet.central.vocabulary.gaussian_choice import GaussianChoice
from discreet.central.vocabulary.units import secret_order
from discreet.privacy.accounting.curves import sort_events
from discreet.privacy.accounting.totals import largest_gaussian
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.noise.stream import SecureStream

if TYPE_CHECKING:
    from discreet.central.prevalence.labelled import Labelled

__all__ = ["NameChoice", "choose_names", "name_choice"]

#: Of the run's delta: the noise of the choice, and the chance that a name which only one unit has is chosen.
_DELTA_OF_NAMES = 0.1


class NameChoice(NamedTuple):
    """How names are chosen, and what is left for their shares.

    Attributes
    ----------
    method : GaussianChoice
    epsilon_left : float
        The largest epsilon of one Gaussian release with which both cost what the run may cost.
    """

    method: GaussianChoice
    epsilon_left: float


def name_choice(epsilon: float, delta: float, share: float, max_groups: int, privacy_unit: str) -> NameChoice:
    """Split a run's budget between names and shares; from public numbers alone."""
    most = 1 if privacy_unit == "document" else max_groups
    method = GaussianChoice(share * epsilon, _DELTA_OF_NAMES * delta, most, privacy_unit)
    if math.isinf(epsilon):
        return NameChoice(method, epsilon)
    left = largest_gaussian(sort_events([method.event()], "add_or_remove_one"), epsilon, delta)
    return NameChoice(method, left)


def choose_names(
    documents: "Labelled",
    method: GaussianChoice,
    stream: SecureStream,
    reservation: Reservation,
    n_jobs: int | None = None,
) -> tuple[str, ...]:
    """Choose the names that enough units have; the only place that sees all labels.

    Parameters
    ----------
    documents : LabelledDocuments or LabelledShards
        None, NaN and "" stand for no label.
    method : GaussianChoice
    stream : SecureStream
    reservation : Reservation
        Of the method's event, at least.
    n_jobs : int, optional

    Returns
    -------
    tuple of str
        Sorted. Names that cannot stand on a line of their own, and "other", are never among them.
    """
    names = documents.names()
    order = secret_order(names, stream.spawn("order").words(8).tobytes())
    units = documents.names_of_units(names, order)
    choice = method.choose(units, stream.spawn("noise"), reservation, n_jobs=n_jobs)
    return tuple(sorted(names[number] for number in choice.words.tolist()))
