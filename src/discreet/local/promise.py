r"""What a release made of reports says it promises, and the ledger that says so.

Nothing on the server is private computation: it is post-processing of reports that were randomised by their
writers. The promise is the channel's: four losses, which :mod:`discreet.privacy.bit_guarantees` defines and proves.

The ledger of a release states the loss of the *whole report* (unit "report", "replace_one"), the only one that
speaks of a person; all four stand among the settings.
"""

from discreet.lda.moments.estimates import Channel
from discreet.privacy.accounting import events
from discreet.privacy.bit_guarantees import BitGuarantees, losses_of_bits
from discreet.privacy.ledger.ledger import Ledger

__all__ = ["closed_ledger", "ledger_of_reports", "losses", "settings_of"]

_SEEDED = ", reproducible, not for release"


def losses(channel: Channel, n_words: int) -> BitGuarantees:
    """Return the losses of a report of ``n_words`` bits; of any channel with p and q, and perhaps a ``limit``."""
    return losses_of_bits(channel.p, channel.q, getattr(channel, "limit", None), n_words)


def settings_of(found: BitGuarantees) -> dict[str, float | int]:
    """Return the losses as public settings of a release."""
    named: dict[str, float | int] = {
        "epsilon_one_word_added_or_removed": found.word_added_or_removed,
        "epsilon_one_word_replaced": found.word_replaced,
        "epsilon_whole_report_replaced": found.whole_report,
    }
    if found.document_words is not None:
        named["words_kept_of_a_document"] = found.document_words
    return named


def closed_ledger(found: BitGuarantees, channel: Channel, *, simulated: bool) -> Ledger:
    """Return a closed ledger that states the loss of a whole report of bits."""
    what = f"bits randomised by each writer (p = {float(channel.p):.6g}, q = {float(channel.q):.6g}"
    return ledger_of_reports(found.whole_report, f"{what}{_SEEDED if simulated else ''})", simulated=False)


def ledger_of_reports(loss: float, what: str, *, simulated: bool) -> Ledger:
    """Return a closed ledger that states the loss of one report."""
    ledger = Ledger(max(loss, 1e-9), events.PURE_DELTA, privacy_unit="report", neighboring="replace_one")
    ledger.reserve(events.pure(loss), what + (_SEEDED if simulated else ""))
    return ledger.snapshot()
