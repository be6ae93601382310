"""Attacks: does a mechanism, or a model, give away more than it promised? All of it is local, nothing is released.

Names load on first use, so that importing this room imports neither scipy nor numba.
"""

from typing import TYPE_CHECKING

from discreet._lazy import lazy_names

if TYPE_CHECKING:
    from discreet.audit._classifier_attack import ClassifierAttackReport, classifier_attack
    from discreet.audit.attack_report import AuditReport
    from discreet.audit.bootstrap import bootstrap_intervals
    from discreet.audit.canaries import make_canaries
    from discreet.audit.canary_run import OneRunReport, one_run_audit, score_canaries
    from discreet.audit.distinguishing import (
        DistinguishingReport,
        distinguish,
        epsilon_lower_bound,
        mu_lower_bound,
    )
    from discreet.audit.likelihood_ratio import likelihood_ratio_scores, lira
    from discreet.audit.one_run import one_run_bound, one_run_p_value
    from discreet.audit.one_run_gaussian import one_run_curve_p_value, one_run_mu_bound
    from discreet.audit.relative_likelihood import relative_likelihood_scores
    from discreet.audit.roc import roc_svg
    from discreet.audit.shadows import draw_halves, train_statistics
    from discreet.audit.simple import simple_attacks
    from discreet.audit.text_canaries import audit_shares, audit_words
    from discreet.audit.topic_attack import TopicAttack, TopicAttackReport
    from discreet.lda import query_statistic

_HOMES = {
    "discreet.audit._classifier_attack": ("ClassifierAttackReport", "classifier_attack"),
    "discreet.audit.attack_report": ("AuditReport",),
    "discreet.audit.bootstrap": ("bootstrap_intervals",),
    "discreet.audit.canaries": ("make_canaries",),
    "discreet.audit.canary_run": ("OneRunReport", "one_run_audit", "score_canaries"),
    "discreet.audit.distinguishing": (
        "DistinguishingReport",
        "distinguish",
        "epsilon_lower_bound",
        "mu_lower_bound",
    ),
    "discreet.audit.likelihood_ratio": ("likelihood_ratio_scores", "lira"),
    "discreet.audit.one_run": ("one_run_bound", "one_run_p_value"),
    "discreet.audit.one_run_gaussian": ("one_run_curve_p_value", "one_run_mu_bound"),
    "discreet.audit.relative_likelihood": ("relative_likelihood_scores",),
    "discreet.audit.roc": ("roc_svg",),
    "discreet.audit.shadows": ("draw_halves", "train_statistics"),
    "discreet.audit.simple": ("simple_attacks",),
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
