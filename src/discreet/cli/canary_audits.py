"""Audits of `discreet audit` that make up their own texts: of a choice of words, and of shares of topics."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.trainers import load_function
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.audit import OneRunReport

__all__ = ["OF_CANARIES", "audit_canaries"]

#: Attacks with canaries of their own: one run, no shadows, and no documents of anybody.
OF_CANARIES = ("words", "shares")
_OF_SHADOWS = ("corpus", "shadows", "targets", "topics", "offline", "spread", "bootstrap", "jobs", "folder")


def audit_canaries(given: dict[str, Any], chosen: dict[str, Any]) -> "OneRunReport":
    """Audit a choice of words, or shares of the topics of a model, by one run with canaries.

    Parameters
    ----------
    given : dict
        The options that were said: those of other attacks are refused.
    chosen : dict
        With the recipe's and the defaults.
    """
    from discreet.audit import audit_shares, audit_words

    attack, trainer = chosen["attack"], chosen["trainer"]
    promise: dict[str, Any] = {}
    idle = [f"--{name}" for name in _OF_SHADOWS if given[name] is not None]
    if idle:
        raise ParameterError(
            f"{', '.join(idle)} {'are' if len(idle) > 1 else 'is'} for attacks on documents, and --attack {attack} "
            "makes up texts of its own; leave them out."
        )
    if (attack == "shares") != (chosen["model"] is not None):
        raise ParameterError(
            "--attack shares needs --model, the folder of the topics, and no other attack has one."
        )
    if chosen["epsilon"] is not None:
        promise = {"epsilon": chosen["epsilon"], "delta": chosen["delta"]}
    elif trainer == "private":
        raise ParameterError("the trainer 'private' needs --epsilon: the promise to make.")
    elif chosen["noise"] == "gaussian":
        promise = {"delta": chosen["delta"]}
    if trainer != "private" and ":" not in trainer:
        raise ParameterError(f"--trainer must be private or module:function here, but is {trainer!r}.")
    how: dict[str, Any] = {
        "n_canaries": chosen["canaries"],
        "noise": chosen["noise"],
        "random_state": chosen["seed"],
        **promise,
    }
    if attack == "words":
        words = _words(promise) if trainer == "private" else load_function(trainer, "texts and seed")
        return audit_words(words, **how)
    from discreet.release import Release

    topics = Release.load(Path(chosen["model"]))
    own = "counts, labels, groups and seed"
    shares = _shares(topics, promise) if trainer == "private" else load_function(trainer, own)
    return audit_shares(shares, topics, **how)


def _words(promise: dict[str, Any]) -> Any:
    from discreet.central import PrivateCountVectorizer

    def choose(texts: list[str], seed: int) -> Any:
        return PrivateCountVectorizer(**promise, stop_words=None, random_state=seed).fit(texts)

    return choose


def _shares(topics: Any, promise: dict[str, Any]) -> Any:
    from discreet.central import TopicPrevalence

    def share(counts: Any, labels: Any, groups: list[str], seed: int) -> Any:
        return (
            TopicPrevalence(topics, groups=groups, **promise, random_state=seed)
            .fit(counts, by=labels)
            .release_
        )

    return share
