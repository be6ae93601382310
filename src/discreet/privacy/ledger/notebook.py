"""What a notebook shows of a ledger: what is spent, what is left, and by what."""

import math
from typing import TYPE_CHECKING

from discreet._notebook import facts_html, table_html
from discreet.privacy.units import round_up

if TYPE_CHECKING:
    from discreet.privacy.ledger.statement import Statement

__all__ = ["ledger_html"]


def ledger_html(ledger: "Statement") -> str:
    """Return the ledger as HTML for a notebook. Reading it spends nothing."""
    from discreet.privacy.accounting import events

    spent, left = ledger.spent(), ledger.remaining()
    budget = "no limit" if math.isinf(ledger.epsilon) else f"{ledger.epsilon:g}"
    facts = [
        ("budget", f"epsilon = {budget}, delta = {ledger.delta:g}, for each {ledger.called}"),
        ("spent", f"epsilon = {round_up(spent.epsilon)}, delta = {round_up(spent.delta)}"),
        ("left", "nothing: closed" if ledger.closed else f"epsilon = {left.epsilon:.4g}"),
    ]
    rows = [(str(entry.booking), entry.purpose, events.in_words(entry.event)) for entry in ledger.entries]
    return facts_html("Ledger", facts, table_html(("booking", "for", "as"), rows))
