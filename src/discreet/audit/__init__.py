"""Attacks: does a mechanism, or a model, give away more than it promised? All of it is local, nothing is released.

Names load on first use, so that importing this room imports neither scipy nor numba.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.audit.attack_report import AuditReport, roc_svg
    from discreet.audit.canary_run import audit_shares, audit_words, one_run_audit
    from discreet.audit.distinguishing import distinguish, epsilon_lower_bound, mu_lower_bound
    from discreet.audit.likelihood_ratio import likelihood_ratio_scores, lira
    from discreet.audit.one_run import one_run_bound
    from discreet.audit.shadows import draw_halves, train_statistics
    from discreet.lda._fold_in import query_statistic


__all__ = [
    "AuditReport",
    "audit_shares",
    "audit_words",
    "distinguish",
    "draw_halves",
    "epsilon_lower_bound",
    "likelihood_ratio_scores",
    "lira",
    "mu_lower_bound",
    "one_run_audit",
    "one_run_bound",
    "query_statistic",
    "roc_svg",
    "train_statistics",
]

__getattr__, __dir__ = lazy_names("discreet.audit")
