"""Attacks: does a mechanism, or a model, give away more than it promised? All of it is local, nothing is released.

Names load on first use, so that importing this room imports neither scipy nor numba.
"""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.audit.attack_report import AuditReport, bootstrap_intervals, roc_svg
    from discreet.audit.canary_run import OneRunReport, make_canaries, one_run_audit, score_canaries
    from discreet.audit.distinguishing import (
        DistinguishingReport,
        distinguish,
        epsilon_lower_bound,
        mu_lower_bound,
    )
    from discreet.audit.likelihood_ratio import likelihood_ratio_scores, lira, relative_likelihood_scores
    from discreet.audit.mixture_attacks import ClassifierAttackReport, classifier_attack, simple_attacks
    from discreet.audit.one_run import one_run_bound, one_run_curve_p_value, one_run_mu_bound, one_run_p_value
    from discreet.audit.shadows import draw_halves, train_statistics
    from discreet.audit.text_canaries import audit_shares, audit_words
    from discreet.audit.topic_attack import TopicAttack, TopicAttackReport
    from discreet.lda import query_statistic

_HOMES = {
    "discreet.audit.attack_report": ("AuditReport", "bootstrap_intervals", "roc_svg"),
    "discreet.audit.canary_run": ("OneRunReport", "make_canaries", "one_run_audit", "score_canaries"),
    "discreet.audit.distinguishing": (
        "DistinguishingReport",
        "distinguish",
        "epsilon_lower_bound",
        "mu_lower_bound",
    ),
    "discreet.audit.likelihood_ratio": ("likelihood_ratio_scores", "lira", "relative_likelihood_scores"),
    "discreet.audit.mixture_attacks": ("ClassifierAttackReport", "classifier_attack", "simple_attacks"),
    "discreet.audit.one_run": (
        "one_run_bound",
        "one_run_curve_p_value",
        "one_run_mu_bound",
        "one_run_p_value",
    ),
    "discreet.audit.shadows": ("draw_halves", "train_statistics"),
    "discreet.audit.text_canaries": ("audit_shares", "audit_words"),
    "discreet.audit.topic_attack": ("TopicAttack", "TopicAttackReport"),
    "discreet.lda": ("query_statistic",),
}

__all__ = [
    "AuditReport",
    "ClassifierAttackReport",
    "DistinguishingReport",
    "OneRunReport",
    "TopicAttack",
    "TopicAttackReport",
    "audit_shares",
    "audit_words",
    "bootstrap_intervals",
    "classifier_attack",
    "distinguish",
    "draw_halves",
    "epsilon_lower_bound",
    "likelihood_ratio_scores",
    "lira",
    "make_canaries",
    "mu_lower_bound",
    "one_run_audit",
    "one_run_bound",
    "one_run_curve_p_value",
    "one_run_mu_bound",
    "one_run_p_value",
    "query_statistic",
    "relative_likelihood_scores",
    "roc_svg",
    "score_canaries",
    "simple_attacks",
    "train_statistics",
]

__getattr__, __dir__ = lazy_names("discreet.audit", _HOMES)
