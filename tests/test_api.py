"""One public API: the parameters of every public class, with defaults, in order, and the rules they keep.

``python -m tests.test_api`` prints the table anew, for a change that is meant.
"""

import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
from pathlib import Path

import pytest

import discreet
from discreet.errors import ParameterError
from discreet.release.private_estimator import PrivateEstimator

TABLE = Path(__file__).with_name("api.json")
CLASSES = {
    one.__name__: one
    for one in (
        discreet.FederatedLDA,
        discreet.GibbsLDA,
        discreet.HybridGibbsLDA,
        discreet.LocalLDA,
        discreet.PrivateCountVectorizer,
        discreet.PrivateFit,
        discreet.PrivateLDA,
        discreet.PrivateSVILDA,
        discreet.StreamingLocalLDA,
        discreet.TopicPrevalence,
        discreet.VariationalLDA,
        discreet.WholeDocumentLDA,
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
    "WholeDocumentLDA": "as LocalLDA: each client has spent what its report costs",
}
ROOMS = [
    room
    for room in pkgutil.iter_modules(discreet.__path__)
    if room.ispkg and room.name not in ("cli", "_base")
]
ITERATIONS = {
    "n_sweeps": ("Gibbs", "Local"),
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


def records():
    """Yield the name and value of every class that public calls return or take: the reference has them by modules."""
    for page in (Path(__file__).parents[1] / "docs" / "reference").glob("*.md"):
        for module, name in re.findall(r"^::: (discreet\.\w+\.[\w.]+)\.(\w+)$", page.read_text(), re.M):
            yield name, getattr(importlib.import_module(module), name)


def public():
    """Yield the name and value of every public thing of every room, and of every public attribute of the classes."""
    rooms = [importlib.import_module(f"discreet.{room.name}") for room in ROOMS]
    things = [(name, getattr(room, name)) for room in rooms for name in room.__all__]
    for name, thing in [*things, *records()]:
        yield name, thing
        if inspect.isclass(thing):
            for inner in dir(thing):
                if not inner.startswith("_"):
                    yield f"{name}.{inner}", getattr(thing, inner)


def taken(thing):
    try:
        return set(inspect.signature(thing).parameters) if callable(thing) else set()
    except ValueError:  # built in C
        return set()


#: Words that public calls have given up, what stands in their place, and who may keep one, for a reason.
GIVEN_UP = {
    "progress": ("callback", {}),
    "verbose": ("callback", {}),
    "on_progress": ("callback", {}),
    "seed": (
        "random_state",
        {
            "SecureStream": "the key of a stream of noise, or None for the operating system: no NumPy generator "
            "and no RandomState will do, which random_state may be elsewhere",
            "State": "a public number of the record that silos are sent: whoever has it draws the same first topics",
            "init_server": "as in the State that it makes",
        },
    ),
    "bound": (
        "contribution_bound",
        {
            "FitRelease": "a field of a record, by the name that it has in files",
            "BoundedSum": "a Bound, which holds the number",
            "GaussianMechanism": "a Bound, which holds the number",
            "LaplaceMechanism": "a Bound, which holds the number",
            "sum_rows": "a Bound, which holds the number",
        },
    ),
}


@pytest.mark.parametrize("word", GIVEN_UP)
def test_one_thing_has_one_name(word):
    _, kept = GIVEN_UP[word]
    assert {name for name, thing in public() if word in taken(thing)} == set(kept)


#: Names that mean two things, or one thing in two ways, and why; another class that has one is to be thought about.
SAME_NAME = {
    "epsilon_lower_bound": {
        # a method, because the scores prove one at every confidence
        "AuditReport.epsilon_lower_bound",
    },
    "guarantee": {
        # A method that returns the Guarantee, from the first version on; releases have its words as their guarantee,
        # and both have the record as their promise.
        "Ledger.guarantee",
    },
    # Keeps the state of something, and from_json brings it back.
    "to_json": {"Ledger.to_json", "PublishedQuestion.to_json"},
    # Rows, as dicts.
    "table": {"TopicNumbers.table"},
}


@pytest.mark.parametrize("name", SAME_NAME)
def test_methods_of_one_name_do_one_thing(name):
    found = {path for path, thing in public() if path.endswith(f".{name}") and inspect.isfunction(thing)}
    assert found == SAME_NAME[name]


def test_a_ledger_has_its_promise_by_the_name_that_releases_have():
    ledger = discreet.Ledger(1.0, 1e-6)
    assert ledger.promise == ledger.guarantee() == ledger.snapshot().promise


def test_reports_of_attacks_do_not_print_their_arrays():
    classes = [
        thing for name, thing in public() if dataclasses.is_dataclass(thing) and inspect.isclass(thing)
    ]
    mine = [record for record in classes if record.__module__.startswith("discreet.audit.")]
    assert len(mine) == 2
    for record in mine:
        shown = [field for field in dataclasses.fields(record) if field.repr]
        assert not [field.name for field in shown if "NDArray" in str(field.type)]


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


#: Who fits moments counts the directions above the noise, in ``learnable_``. The others have no such count.
NOTHING_LEARNABLE = {
    "GibbsLDA": "no noise",
    "HybridGibbsLDA": "the noise is in the tables of a sampler, which has no edge",
    "PrivateLDA": "forecast_ says what to expect, from sizes alone: a Learnability, before topics are trained",
    "PrivateSVILDA": "the noise is spread over rounds, and no law of what it leaves was measured",
    "VariationalLDA": "no noise",
    "WholeDocumentLDA": "what clients are worth depends on their number alone, and learnable(n) says it",
}


@pytest.mark.parametrize("name", TOPIC_MODELS)
def test_topics_are_found_under_one_name(name):
    documented = f"{CLASSES[name].__doc__}"
    assert "topic_word_ : array of shape (n_topics, n_words)" in documented
    assert "components_" in documented
    private = not name.startswith(("Gibbs", "Variational"))
    assert ("release_ : Release" in documented) == private
    assert ("learnable_ : int" in documented) == (name not in NOTHING_LEARNABLE)


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
    assert "InherentPrivacy" not in dir(discreet)
    with pytest.raises(ParameterError, match="PrivateSVILDA"):
        discreet.PrivateLDA(sampling_rate=0.5)


if __name__ == "__main__":
    TABLE.write_text(json.dumps(table(), indent=2) + "\n")
