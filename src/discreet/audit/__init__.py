"""Attacks: does a mechanism, or a model, give away more than it promised? All of it is local, nothing is released."""

from discreet.audit.distinguish import DistinguishingReport, distinguish, epsilon_lower_bound
from discreet.audit.topic_attack import TopicAttack, TopicAttackReport

__all__ = ["DistinguishingReport", "TopicAttack", "TopicAttackReport", "distinguish", "epsilon_lower_bound"]
