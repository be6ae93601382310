"""What epsilon is where nobody says it: 1.0 for whatever makes words or topics, less for what comes beside them."""

import inspect

import pytest

from discreet import HybridGibbsLDA, central, federated, local

#: Beside topics that were paid for already; each docstring says so.
BESIDE = {"TopicPrevalence": 0.25, "PrivateFit": 0.1}


def defaults():
    """Return the default of epsilon of every public estimator: what has ``fit`` and takes an epsilon."""
    classes = {name: getattr(room, name) for room in (central, federated, local) for name in room.__all__}
    found = {
        name: inspect.signature(made).parameters.get("epsilon")
        for name, made in classes.items()
        if inspect.isclass(made) and hasattr(made, "fit")
    }
    return {name: given.default for name, given in found.items() if given is not None}


def test_defaults_are_one_but_where_the_docstring_says_why():
    found = defaults()
    assert found.pop("HybridGibbsLDA") is None  # 1.0, unless epsilon_noise is given: below
    # As LocalLDA's channel, it is what the clients were told: nobody else may choose it.
    assert found.pop("WholeDocumentLDA") is inspect.Parameter.empty
    usual = (
        "PrivateLDA",
        "PrivateSVILDA",
        "FederatedLDA",
        "PrivateCountVectorizer",
    )
    assert found == dict.fromkeys(usual, 1.0) | BESIDE
    for name in BESIDE:
        assert "hence not 1.0" in " ".join(getattr(central, name).__doc__.split())


def test_hybrid_gibbs_takes_one_where_neither_epsilon_is_given():
    X = [[3, 1], [0, 2]]
    plain, said = (
        HybridGibbsLDA(2, n_sweeps=2, random_state=0, **given).fit(X) for given in ({}, {"epsilon": 1.0})
    )
    assert plain.release_.promise.epsilon == pytest.approx(1.0, rel=0.01)
    assert plain.release_.promise == said.release_.promise
    noisy = HybridGibbsLDA(2, n_sweeps=2, random_state=0, epsilon_noise=3.0).fit(X)
    assert noisy.release_.promise.epsilon > 3.0
