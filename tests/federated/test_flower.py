"""The Flower adapter in Flower's own simulation."""

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

pytest.importorskip("flwr", reason="needs the extra `federated`")
pytest.importorskip("ray", reason="Flower's simulation needs flwr[simulation]")

N_WORDS = 20


def silo(seed, n=500):
    rng = np.random.default_rng(seed)
    own = np.arange(N_WORDS) // 10 == rng.integers(2, size=(n, 1))
    return sp.csr_matrix((rng.random((n, N_WORDS)) < np.where(own, 0.5, 0.05)).astype(np.int32))


def load(context):
    return silo(int(context.node_config["partition-id"]))


def client_app(agreed, folder):
    """A ClientApp around what a silo does: its ledger is in a file, its session (keys, too) in Flower's state."""
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp

    from discreet.federated import Account
    from discreet.federated.federated_lda import make_ledger
    from discreet.federated.silo import Session
    from discreet.federated.wire import RECORD, account_json, read_state
    from discreet.privacy import Ledger

    app = ClientApp()

    @app.query()
    def reply(message, context):
        asked = message.content[RECORD]
        state = read_state(bytes(asked["state"]))
        kept = context.state.get("session")
        budget = make_ledger(state)
        held = Ledger.open(
            folder / f"ledger-{context.node_config['partition-id']}.json", budget.epsilon, budget.delta,
            privacy_unit=budget.privacy_unit, neighboring=budget.neighboring,
        )  # fmt: skip
        if kept is None:
            session = Session(Account(int(asked["client"]), held, expected=agreed))
        else:
            session = Session.from_json(json.loads(kept["session"]), held, expected=agreed)
        values = session.answer(bytes(asked["state"]), state, load(context))
        session_json = json.dumps(session.to_json() | {"account": account_json(session.account)})
        context.state["session"] = ConfigRecord({"session": session_json})
        answer = ConfigRecord({"round": state.round, "values": values})
        return Message(RecordDict({RECORD: answer}), reply_to=message)

    return app


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": np.inf, "delta": 1e-6},
        {"epsilon": 2.0, "delta": 1e-6, "word_vectors": np.eye(N_WORDS)[:, ::10] + 0.1},
    ],
)
def test_simulation(options, tmp_path):
    from flwr.simulation import run_simulation

    from discreet.federated import agreed_terms, init_server, load_state
    from discreet.federated.flower import make_server_app
    from discreet.federated.sum_round import contributions

    found = []
    settings = {"n_clients": 2, "n_topics": 2, "n_words": N_WORDS, **options}
    settings |= {"allow_unlearnable": True, "vocabulary": [f"w{i}" for i in range(N_WORDS)]}
    agreed = agreed_terms(init_server(**settings))
    kept = tmp_path / "sums.npz"
    run_simulation(
        make_server_app(settings, found.append, keep=kept, timeout=120),
        client_app(agreed, tmp_path),
        num_supernodes=2,
        backend_config={"client_resources": {"num_cpus": 1}},
    )
    assert len(found) == 1
    assert found[0].finished
    assert not found[0].refusals
    assert all(taken == 2 for _, taken in found[0].traffic)
    if "word_vectors" in options:
        assert len(found[0].traffic) == 24
        np.testing.assert_array_equal(load_state(kept).topic_word, found[0].topic_word)
        assert load_state(kept).sums.n == found[0].sums.n == pytest.approx(1000, abs=500)
    else:
        np.testing.assert_array_equal(found[0].sums.values, contributions(silo(0)) + contributions(silo(1)))
        np.testing.assert_array_equal(load_state(kept).sums.values, found[0].sums.values)
