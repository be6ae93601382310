"""What silos promise and publish: a ledger with the budget of a state, and the release made of its topics."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.corpus.words.origin import WordOrigin
from discreet.errors import ParameterError
from discreet.federated.account import UNITS
from discreet.federated.state import State
from discreet.privacy.accounting import events
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.record import Release
from discreet.release.settings import public_settings

__all__ = ["make_ledger", "make_release"]


def make_ledger(state: State) -> Ledger:
    """Return a client's ledger with the budget that the state promises."""
    unit, neighboring = UNITS[state.mechanism]
    delta = state.delta if state.mechanism == "aggregate" else events.PURE_DELTA
    return Ledger(state.epsilon, delta, privacy_unit=unit, neighboring=neighboring)


def make_release(
    state: State,
    ledgers: Sequence[Ledger],
    vocabulary: Sequence[str],
    *,
    reproducible: bool,
    origin: WordOrigin | None = None,
) -> Release:
    """Return the release: clients hold disjoint texts, so that each is promised what the worst of them booked.

    Words are public, or there are none; by default it is the silos that say so, who agreed on them.
    """
    if not state.finished:
        raise ParameterError(f"round {state.round} of {state.n_rounds} is not done; go on with server_step.")
    if state.problem:
        raise ParameterError(
            f"{state.problem} There are no topics to release; try fit_state with other settings."
        )
    worst = max(ledgers, key=lambda ledger: ledger.spent().epsilon)
    result = state.result
    words = WordOrigin.public("the silos, which agreed on the list") if origin is None else origin
    settings = public_settings(
        "FederatedLDA",
        f"federated, {state.mechanism}",
        n_topics=state.n_topics,
        n_clients=state.n_clients,
        epsilon=state.epsilon,
        delta=state.delta,
        messages_per_client=len(state.traffic),
        bytes_received=sum(size for size, _ in state.traffic),
        **words.settings(),
    )
    if state.mechanism == "rrp":
        settings["reports_per_token"] = state.reports_per_token
        settings["promise_is_for"] = (
            "one pair, given all topics; a change of one word of a document of n tokens may lose n times as much"
        )
    if state.mechanism == "aggregate":
        settings["dropouts_tolerated"] = state.tolerated
        settings["promise_holds_towards_silos"] = state.silos_see_result
    if state.mechanism == "bits" and result:
        settings["documents_reported"] = int(result["n"])  # everyone sees how many reports came
    if "learnable" in result:
        settings["learnable"] = int(result["learnable"])
        settings["forecast"] = (
            f"Learnability: {settings['learnable']} of {state.n_topics} topics are told apart through the noise of "
            "what was released. How good they are is not foretold: no law was fitted to sums of pairs or to reports."
        )
    settings |= result.get("settings", {})
    return Release(
        state.topic_word,
        tuple(vocabulary),
        worst.snapshot(),
        settings,
        reproducible,
        result.get("weight"),
        result.get("unigram"),
        None,
        result.get("n") if state.mechanism == "aggregate" else None,
    )
