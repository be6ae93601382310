"""Groups whose names are private: chosen where enough units have them, paid from the same event as their shares."""

import math

import numpy as np
import pytest
from tests.naive import prevalence as naive
from tests.prevalence.test_estimator import X, trained

from discreet import Ledger, TopicPrevalence
from discreet.central.prevalence.groups import choose_names, name_choice
from discreet.central.prevalence.labelled import LabelledDocuments
from discreet.errors import BudgetExceeded, CorpusError, ParameterError, PrivacyError
from discreet.privacy import composed_epsilon
from discreet.privacy.noise.stream import SecureStream


def reservation(method):
    return Ledger(math.inf, 1e-5, privacy_unit=method.privacy_unit).reserve(method.event(), "names")


@pytest.mark.parametrize("unit", ["document", "person"])
def test_names_are_those_that_the_slow_twin_weighs_above_the_threshold(unit):
    rng = np.random.default_rng(0)
    labels = [["north", "south", "west", "", "other", "two\nlines"][i] for i in rng.integers(6, size=500)]
    labels[250] = "rare"
    people = rng.integers(0, 90, 500) if unit == "person" else None
    method = name_choice(400.0, 1e-6, 0.25, 6, unit)[0]  # next to no noise
    weights = naive.name_weights(
        [label if label in ("north", "south", "west", "rare") else None for label in labels],
        people,
        6 if unit == "person" else 1,
        method.bound.bits,
    )
    passing = {
        name for name, weight in weights.items() if weight > method.threshold * method.bound.sensitivity
    }
    documents = LabelledDocuments(None, labels, people)
    found = choose_names(documents, method, SecureStream(0), reservation(method))
    assert found == tuple(sorted(passing)) == ("north", "south", "west")


def test_a_name_that_few_have_is_not_told():
    labels = ["north"] * 1500 + ["south"] * 1490 + [f"only {i}" for i in range(10)]
    ledger = Ledger(1.0, 1e-6)
    model = TopicPrevalence(trained(), group_selection="private", epsilon=1.0, ledger=ledger, random_state=0)
    made = model.fit(X, by=labels).release_
    assert made.groups == model.groups_ == ("north", "south")
    assert made.n_units == pytest.approx([1500, 1490], abs=60)
    assert made.configuration["group_selection"] == "private"
    exact = trained().transform(X)[:1500].mean(0)
    assert np.abs(made.shares().share[0] - exact).max() < 0.02
    # Names and shares were booked as one event, before a label was read, and together cost what was promised.
    assert ledger.spent().epsilon == pytest.approx(1.0, rel=1e-3)
    assert len(ledger.entries) == 1
    with pytest.raises(BudgetExceeded):
        model.fit(X, by=labels)


def test_without_privacy_every_name_is_a_group():
    labels = ["north"] * 2000 + ["south"] * 990 + [f"only {i}" for i in range(9)] + [None]
    exact = TopicPrevalence(trained(), group_selection="private", epsilon=math.inf).fit(X, by=labels).release_
    assert len(exact.groups) == 11
    assert exact.n_units.sum() == pytest.approx(2999, rel=1e-4)


def test_labels_that_were_not_chosen_are_left_out_or_one_group():
    labels = ["north"] * 1500 + ["other"] * 700 + [f"only {i}" for i in range(800)]
    parameters = {"group_selection": "private", "epsilon": 1.0, "random_state": 0}
    assert TopicPrevalence(trained(), **parameters).fit(X, by=labels).groups_ == ("north",)
    rest = TopicPrevalence(trained(), unlisted="other", **parameters).fit(X, by=labels)
    assert rest.groups_ == ("north", "other")
    assert rest.release_.n_units == pytest.approx([1500, 1500], abs=60)


def test_names_and_shares_are_priced_together():
    model = TopicPrevalence(trained(), group_selection="private", epsilon=0.5)
    assert composed_epsilon([model.planned_event()], 1e-6).epsilon == pytest.approx(0.5, rel=1e-3)
    alone = TopicPrevalence(trained(), groups=["north"], epsilon=0.5).planned_event()
    # A choice of names that nobody paid for would cost this much more than was said.
    method = name_choice(0.5, 1e-6, 0.25, 3, "document")[0]
    assert composed_epsilon([method.event(), alone], 1e-6).epsilon > 0.51


def test_a_person_of_many_names_counts_as_one():
    method = name_choice(1.0, 1e-6, 0.25, 3, "person")[0]
    weights = naive.name_weights([f"place {i}" for i in range(50)], np.zeros(50, int), 3, method.bound.bits)
    assert sum(weight**2 for weight in weights.values()) <= method.bound.sensitivity**2
    assert len(weights) == 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"groups": ["north"]}, "chooses the names itself"),
        ({"freq": "month", "start": "2024-01", "end": "2024-02"}, "chooses the names itself"),
        ({"unlisted": "error"}, "would tell of labels"),
        ({"selection_share": 1.0}, "selection_share must be"),
        ({"max_groups_per_unit": 0}, "max_groups_per_unit must be"),
        ({"group_selection": "secret"}, "group_selection must be"),
    ],
)
def test_bad_parameters_book_nothing(parameters, message):
    ledger = Ledger(1.0, 1e-6)
    model = TopicPrevalence(trained(), group_selection="private", epsilon=1.0, ledger=ledger).set_params(
        **parameters
    )
    with pytest.raises(ParameterError, match=message):
        model.fit(X, by=["north"] * len(X))
    assert not ledger.entries


def test_where_no_name_is_shared_nothing_is_chosen():
    with pytest.raises(PrivacyError, match="no group was chosen"):
        TopicPrevalence(trained(), group_selection="private", epsilon=1.0).fit(
            X, by=[f"{i}" for i in range(3000)]
        )
    with pytest.raises(CorpusError, match="a label for each of 3000"):
        TopicPrevalence(trained(), group_selection="private", epsilon=1.0).fit(X, by=["north"])


def test_a_document_has_one_name_and_a_person_no_more_than_was_said():
    assert [name_choice(1.0, 1e-6, 0.25, 3, unit)[0].max_words for unit in ("document", "person")] == [
        1,
        3,
    ]
