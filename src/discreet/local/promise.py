r"""What a release made of reports says it promises, and the ledger that says so.

Nothing on the server is private computation: it is post-processing of reports that were randomised by their
writers. The promise is the channel's. For bits with P(1 | present) = p and P(1 | absent) = q, independent given
the text, the four losses are

=====================================  =========================================================
one word added or removed              :math:`\epsilon_1 = \max(\ln p/q, \ln (1-q)/(1-p))`
one word replaced by another           :math:`\epsilon_2 = \ln p/q + \ln (1-q)/(1-p)`
a whole document of at most L words    :math:`L \epsilon_2`, where the client kept L words
a whole document without limit         :math:`V \epsilon_1`
=====================================  =========================================================

The ledger of a release states the loss of the *whole report* (unit "report", "replace_one"), the only one that
speaks of a person; all four stand among the settings. A pure loss of epsilon is booked as the event of a discrete
Laplace of sensitivity 1: its loss is epsilon with probability :math:`e^\epsilon / (1 + e^\epsilon)` and
:math:`-\epsilon` otherwise, exactly randomised response, which dominates every mechanism of that pure loss (Kairouz,
Oh, Viswanath, arXiv:1311.0776).
"""

import math
from typing import Any, NamedTuple

from discreet.lda.moments.estimates import Channel
from discreet.privacy.accounting import events
from discreet.privacy.ledger.ledger import Ledger

__all__ = ["Losses", "closed_ledger", "losses"]

#: A ledger asks for a delta; reports need none, so this one is as good as zero.
_DELTA = 1e-12


class Losses(NamedTuple):
    """Privacy losses of one report, none below its true value.

    Attributes
    ----------
    word_added_or_removed, word_replaced : float
    document : float
        Of the whole report.
    document_words : int or None
        The number of words the client kept, where it kept only so many.
    """

    word_added_or_removed: float
    word_replaced: float
    document: float
    document_words: int | None

    def settings(self) -> dict[str, float | int]:
        """Return the losses as public settings of a release."""
        named: dict[str, float | int] = {
            "epsilon_one_word_added_or_removed": self.word_added_or_removed,
            "epsilon_one_word_replaced": self.word_replaced,
            "epsilon_whole_report_replaced": self.document,
        }
        if self.document_words is not None:
            named["words_kept_of_a_document"] = self.document_words
        return named


def losses(channel: Channel, n_words: int) -> Losses:
    """Return the losses of a report of ``n_words`` bits."""
    p, q = float(channel.p), float(channel.q)
    present, absent = _log_ratio(p, q), _log_ratio(1 - q, 1 - p)
    one, replaced = max(present, absent), _up(present + absent)
    limit = getattr(channel, "limit", None)
    whole = n_words * one if limit is None else min(limit * replaced, n_words * one)
    return Losses(one, replaced, _up(whole), limit)


def closed_ledger(found: Losses, channel: Channel, *, simulated: bool) -> Ledger:
    """Return a closed ledger that states the loss of a whole report."""
    ledger = Ledger(max(found.document, 1e-9), _DELTA, privacy_unit="report", neighboring="replace_one")
    seeded = ", reproducible, not for release" if simulated else ""
    what = f"bits randomised by each writer (p = {float(channel.p):.6g}, q = {float(channel.q):.6g}{seeded})"
    private = math.isfinite(found.document)
    event: Any = events.discrete_laplace(found.document, 1) if private else events.non_private()
    ledger.reserve(event, what)
    return ledger.snapshot()


def _log_ratio(above: float, below: float) -> float:
    return _up(math.log(above / below)) if below > 0 else math.inf


def _up(value: float) -> float:
    """Round up by a few units in the last place: logarithms and quotients of floats may fall short by one."""
    return value * (1 + 4 * math.ulp(1.0)) if math.isfinite(value) else value
