"""--quiet: no progress, no results, no forecasts; what weakens a promise is said all the same."""

import json
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
    assert (
        run(
            [
                "review",
                str(model),
                "--drop",
                "okafor",
                "--by",
                "R",
                "--out",
                str(model.parent / "out"),
                *quiet,
            ]
        )
        == 0
    )
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


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A few notes, their words, and topics and shares of them, made with a seed."""
    folder = tmp_path_factory.mktemp("quiet")
    notes = [{"note": "tea and cake " * 4, "ward": ("north", "south")[row % 2]} for row in range(60)]
    (folder / "notes.jsonl").write_text("\n".join(map(json.dumps, notes)))
    (folder / "words.txt").write_text("tea\ncake\n")
    (folder / "wards.txt").write_text("north\nsouth\n")
    release(words=("tea", "cake")).save(folder / "topics")
    return folder


TEXT = "--text note"
WORDS = f"{TEXT} --vocabulary words.txt --vocabulary-is-public"
BY = "--by ward --groups wards.txt"
SEEDED = "reproducible, not for release"


@pytest.mark.parametrize(
    ("call", "void"),
    [
        (
            f"fit notes.jsonl {WORDS} --epsilon 2 --topics 2 --set allow_unlearnable=true --seed 1 --out m",
            [SEEDED],
        ),
        (
            f"prevalence topics notes.jsonl {TEXT} {BY} --epsilon 2 --seed 1 --out p.json",
            [SEEDED, "the costs add up"],
        ),
        (
            f"perturb notes.jsonl {TEXT} --vocabulary words.txt --epsilon 2 --per word --seed 3 --out r.bin",
            [SEEDED, "for whoever writes several documents, they add up"],
        ),
        (f"transform topics notes.jsonl {TEXT} --out t.csv", ["the release's guarantee does not cover them"]),
        (
            f"choose-topics notes.jsonl {TEXT} --topics 1,2 --set n_folds=2 --set n_sweeps=2",
            ["use it on public text only"],
        ),
        (f"evaluate topics notes.jsonl {TEXT}", ["no ledger covers them"]),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else "",
)
@pytest.mark.parametrize("quiet", [[], ["-q"]], ids=["", "quiet"])
def test_what_makes_a_promise_void_is_said_once(place, tmp_path, monkeypatch, capsys, call, void, quiet):
    for name in ("notes.jsonl", "words.txt", "wards.txt", "topics"):
        (tmp_path / name).symlink_to(place / name)
    monkeypatch.chdir(tmp_path)
    assert run([*call.split(), *quiet]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert [said.count(sentence) for sentence in void] == [1] * len(void)
    assert ("wrote" in said) == (not quiet and "--out" in call)
