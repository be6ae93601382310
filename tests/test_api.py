"""One public API: the parameters of every public class, with defaults, in order, and the rules they keep.

``python -m tests.test_api`` prints the table anew, for a change that is meant.
"""

import importlib
import inspect
import json
import pkgutil
from pathlib import Path

import pytest

import discreet
from discreet import central
from discreet.errors import ParameterError
from discreet.release.private_estimator import PrivateEstimator

TABLE = Path(__file__).with_name("api.json")
CLASSES = {
    one.__name__: one
    for one in (
        central.CountNoiseLDA,
        discreet.FederatedLDA,
        discreet.GibbsLDA,
        discreet.HybridGibbsLDA,
        discreet.LocalLDA,
        discreet.PrivateCountVectorizer,
        discreet.PrivateFit,
        discreet.PrivateLDA,
        central.PrivateMomentLDA,
        discreet.PrivateSVILDA,
        discreet.StreamingLocalLDA,
        discreet.TopicPrevalence,
        discreet.VariationalLDA,
    )
}
TOPIC_MODELS = [name for name in CLASSES if name.endswith("LDA")]
#: The last parameters of every class that has them, in this order; all are None by default.
LAST = ["random_state", "n_jobs", "ledger", "callback", "engine"]
#: No ledger of the curator's: nothing is promised, or whoever holds the text has spent before.
NO_LEDGER = {
    "FederatedLDA": "each silo books on a ledger of its own",
    "GibbsLDA": "promises nothing",
    "LocalLDA": "reports are randomised before they come",
    "StreamingLocalLDA": "reports are randomised before they come",
    "VariationalLDA": "promises nothing",
}
ROOMS = [room for room in pkgutil.iter_modules(discreet.__path__) if room.ispkg and room.name != "cli"]
ITERATIONS = {
    "n_sweeps": ("Gibbs", "CountNoise", "Local"),
    "max_iter": ("Variational",),
    "n_rounds": ("Private", "Fed"),
}


def parameters(name):
    return list(inspect.signature(CLASSES[name].__init__).parameters.values())[1:]


def table():
    return {
        name: [
            ("" if one.kind is one.KEYWORD_ONLY else "positional ")
            + (one.name if one.default is one.empty else f"{one.name}={one.default!r}")
            for one in parameters(name)
        ]
        for name in CLASSES
    }


def test_the_table_is_what_it_was():
    assert table() == json.loads(TABLE.read_text())


@pytest.mark.parametrize("name", CLASSES)
def test_what_every_class_has_comes_last_and_is_none_by_default(name):
    found = {one.name: one.default for one in parameters(name)}
    last = [one for one in LAST if one in found]
    assert list(found)[-len(last) :] == last
    assert {"random_state", "n_jobs", "callback"} <= set(last)
    assert ("ledger" in last) == (name not in NO_LEDGER)
    assert [found[one] for one in last] == [None] * len(last)


def test_every_public_class_that_fits_is_in_the_table():
    rooms = [discreet, *(importlib.import_module(f"discreet.{room.name}") for room in ROOMS)]
    found = {name for room in rooms for name in room.__all__ if hasattr(getattr(room, name), "fit")}
    assert found == set(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_progress_is_told_by_the_constructor_alone(name):
    for fit in ("fit", "partial_fit", "fit_transform", "transform"):
        if hasattr(CLASSES[name], fit):
            assert "callback" not in inspect.signature(getattr(CLASSES[name], fit)).parameters


def test_functions_tell_of_progress_under_the_same_name():
    for room in ROOMS:
        module = importlib.import_module(f"discreet.{room.name}")
        for function in filter(inspect.isfunction, (getattr(module, name) for name in module.__all__)):
            assert not inspect.signature(function).parameters.keys() & {"progress", "verbose", "on_progress"}


@pytest.mark.parametrize("name", TOPIC_MODELS)
def test_topic_models_begin_with_twenty_topics(name):
    first, *others = parameters(name)
    assert (first.name, first.default) == ("n_topics", 20)
    assert all(one.kind is one.KEYWORD_ONLY for one in others)


@pytest.mark.parametrize("name", TOPIC_MODELS)
def test_iterations_of_a_kind_have_one_name(name):
    found = {one.name for one in parameters(name)}
    assert not found & {"n_iter", "n_epochs", "iterations", "n_iterations", "passes"}
    for word, kinds in ITERATIONS.items():
        if word in found:
            assert any(kind in name for kind in kinds)


@pytest.mark.parametrize("name", TOPIC_MODELS)
def test_topics_are_found_under_one_name(name):
    documented = f"{CLASSES[name].__doc__}"
    assert "topic_word_ : array of shape (n_topics, n_words)" in documented
    assert "components_" in documented
    private = not name.startswith(("Gibbs", "Variational"))
    assert ("release_ : Release" in documented) == private
    # How many topics the noise lets through; a forecast in words, before anything is fitted, is another thing.
    assert ("learnable_ : int" in documented) == ("Moment" in name or "Local" in name or "Federated" in name)


@pytest.mark.parametrize("name", TOPIC_MODELS)
def test_all_topic_models_have_the_same_methods(name):
    for method in ("fit", "transform", "fit_transform", "score", "get_feature_names_out", "set_output"):
        assert callable(getattr(CLASSES[name], method))
        found = list(inspect.signature(getattr(CLASSES[name], method)).parameters)[1:]
        assert not found or found[0] in ("X", "input_features", "transform")
    assert list(inspect.signature(CLASSES[name].fit).parameters)[1:3] == ["X", "y"]


@pytest.mark.parametrize("name", CLASSES)
def test_every_rule_is_of_a_parameter(name):
    known = {one.name for one in parameters(name)}
    constraints = set(getattr(CLASSES[name], "_constraints", {}))
    assert constraints <= known
    if issubclass(CLASSES[name], PrivateEstimator):
        promise = {"epsilon", "epsilon_noise", "delta", "privacy_unit", "ledger"}
        assert {"random_state", "n_jobs"} <= constraints
        assert not constraints & promise  # looked at in one place for all


def test_what_stands_at_the_root():
    assert {"fit_topics", "PrivateSVILDA", "PrivateLDA", "Ledger", "Release"} <= set(discreet.__all__)
    assert "CountNoiseLDA" not in dir(discreet)
    with pytest.raises(ParameterError, match="PrivateSVILDA"):
        discreet.PrivateLDA(sampling_rate=0.5)


if __name__ == "__main__":
    TABLE.write_text(json.dumps(table(), indent=2) + "\n")
