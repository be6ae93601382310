"""--quiet: no progress, no results, no forecasts; what weakens a promise is said all the same."""

import warnings

import pytest
from tests.report.report_cases import release

from discreet import Release
from discreet.cli.app import run
from discreet.errors import LargeDeltaWarning, WeakForecastWarning


@pytest.fixture
def model(tmp_path):
    made = release(words=("okafor",)).with_details(title="Notes of Dr Okafor")
    made.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_forecasts_are_hushed_and_void_promises_are_not(model, capsys, monkeypatch, quiet):
    def noisy_release(*args, **how):
        warnings.warn("little is to be expected", WeakForecastWarning, stacklevel=1)
        warnings.warn("delta is too large", LargeDeltaWarning, stacklevel=1)
        return made

    made = Release.load(model)
    monkeypatch.setattr(Release, "load", noisy_release)
    assert run(["review", str(model), "--drop", "okafor", "--out", str(model.parent / "out"), *quiet]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert ("little is to be expected" in said) == (not quiet)
    assert ("wrote" in said) == (not quiet)
    assert "delta is too large" in said
    assert "Look again: the title still holds a word" in said


def test_what_one_call_hushed_the_next_one_says(model, capsys, monkeypatch):
    filters = list(warnings.filters)
    assert run(["topics", str(model)]) == 0
    assert run(["review", str(model), "--quiet"]) == 0
    assert warnings.filters == filters
