"""A release without privacy (epsilon = inf) is not for release, nor is anything that is made of it: as with a seed."""

import json
import math

import numpy as np
import pytest

from discreet import Corpus, Ledger, PrivateFit, PrivateLDA, TopicPrevalence, fit_topics
from discreet.central.choose_n_topics import choose_n_topics_privately
from discreet.cli.app import run
from discreet.errors import PrivacyError
from discreet.release import FitRelease, PrevalenceRelease, Release
from discreet.report.comparison import compare
from discreet.report.export import write_csv

WORDS = [f"w{number}" for number in range(20)]
RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(np.where(np.arange(20) // 10 == RNG.integers(2, size=(400, 1)), 0.8, 0.1))
WARDS = ["north", "south"] * 200
UNFIT = "without privacy, not for release"


def topics(epsilon=math.inf, **how):
    return PrivateLDA(2, epsilon=epsilon, **how).fit(COUNTS, vocabulary=WORDS, words_are_public=True).release_


@pytest.fixture(scope="module")
def exact():
    return topics()


@pytest.fixture(scope="module")
def private():
    return topics(8.0)


#: What is told of topics and private documents together.
OF_TOPICS = {
    "shares": lambda release, **how: TopicPrevalence(release, groups=["north", "south"], **how),
    "shares of private groups": lambda release, **how: TopicPrevalence(
        release, group_selection="private", **how
    ),
    "fit": PrivateFit,
}


def made_of(name, release, **how):
    model = OF_TOPICS[name](release, **how)
    return (model.fit(COUNTS) if name == "fit" else model.fit(COUNTS, by=WARDS)).release_


@pytest.mark.parametrize("name", OF_TOPICS)
def test_nothing_private_is_told_of_topics_without_privacy(name, exact):
    ledger = Ledger(5.0, 1e-6)
    with pytest.raises(PrivacyError, match=r"fitted without privacy.*epsilon=inf"):
        made_of(name, exact, epsilon=0.5, ledger=ledger)
    with pytest.raises(PrivacyError, match="fitted without privacy"):
        OF_TOPICS[name](exact, epsilon=0.5).planned_event()
    assert not ledger.entries


@pytest.mark.parametrize("edit", ["without_words", "merge_topics", "with_details", "saved"])
def test_an_edit_does_not_make_such_topics_fit(edit, exact, tmp_path):
    edited = {
        "without_words": lambda: exact.without_words(["w0"]),
        "merge_topics": lambda: exact.merge_topics([1, 2]),
        "with_details": lambda: exact.with_details(title="notes").with_review("me"),
        "saved": lambda: (exact.save(tmp_path / "m"), Release.load(tmp_path / "m"))[1],
    }[edit]()
    assert edited.determinism == UNFIT
    with pytest.raises(PrivacyError, match="fitted without privacy"):
        PrivateFit(edited, epsilon=0.5).fit(COUNTS)


@pytest.mark.parametrize("name", OF_TOPICS)
@pytest.mark.parametrize("of", ["topics", "documents", "both", "a ledger of both"])
def test_what_is_made_without_privacy_says_so_everywhere(name, of, exact, private, tmp_path):
    release = private if of == "documents" else exact
    ledger = Ledger(math.inf) if of == "a ledger of both" else None
    if ledger is not None:
        release = topics(ledger=ledger)
    made = made_of(name, release, epsilon=8.0 if ledger is not None else math.inf, ledger=ledger)
    assert made.guarantee.startswith("No privacy is promised")
    assert made.determinism == UNFIT
    assert not made.may_leave
    made.save(tmp_path / "made.json")
    kind = FitRelease if name == "fit" else PrevalenceRelease
    assert kind.load(tmp_path / "made.json").determinism == UNFIT
    for shown in (made.card(), made._repr_html_()):
        assert UNFIT in shown
    if name == "fit":
        assert UNFIT in made.in_words()
    else:
        assert set(made.to_columns()["label"]) == {UNFIT}
        assert "do not publish" in made.to_html()


def test_the_release_itself_says_so_in_tables_files_and_pages(exact, tmp_path):
    assert exact.determinism == UNFIT
    assert not exact.may_leave
    assert set(exact.to_frame()["label"]) == {UNFIT}
    write_csv(exact, tmp_path / "words.csv")
    assert UNFIT in (tmp_path / "words.csv").read_text()
    assert "Without privacy, not for release" in exact.card()
    assert UNFIT in exact._repr_html_()
    assert UNFIT in exact.to_html()
    exact.save(tmp_path / "m")
    raw = (tmp_path / "m" / "model.safetensors").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert json.loads(header["__metadata__"]["discreet"])["determinism"] == UNFIT
    assert Release.load(tmp_path / "m") == exact


def test_a_seed_and_no_privacy_are_both_told():
    both = topics(random_state=0)
    assert both.determinism == f"{UNFIT}; reproducible, not for release"
    assert "seed" in both.guarantee


def test_what_may_leave_has_no_label(private):
    assert private.determinism == "secure"
    assert private.may_leave
    assert "label" not in private.to_frame()
    made = made_of("shares", private, epsilon=0.5)
    assert "label" not in made.to_columns()
    assert made.determinism == "secure"


def test_a_comparison_says_so_in_words_frame_and_page(exact, private):
    for pair in ((exact, private), (private, exact), (exact, exact)):
        found = compare(*pair)
        assert UNFIT in found.in_words()[0]
        assert set(found.to_frame()["label"]) == {UNFIT}
        assert "Do not publish this page" in found.to_html()
    clean = compare(private, private)
    assert not any("publish" in line for line in clean.in_words())
    assert "label" not in clean.to_frame()


def test_shares_with_topics_of_one_run():
    shares = TopicPrevalence(None, groups=["north", "south"], epsilon=0.2)
    corpus = Corpus(COUNTS, WORDS, words_are_public=True)
    made = fit_topics(corpus, epsilon=math.inf, n_topics=2, prevalence=shares, by=WARDS)
    assert made.determinism == shares.release_.determinism == UNFIT
    assert set(shares.release_.to_columns()["label"]) == {UNFIT}


def test_a_number_of_topics_that_was_chosen_without_privacy():
    corpus = Corpus(COUNTS, WORDS, words_are_public=True)
    made = choose_n_topics_privately(corpus, [1, 2], epsilon=math.inf)
    assert {one.determinism for one in made.releases} == {UNFIT}
    with pytest.raises(PrivacyError, match="fitted without privacy"):
        PrivateFit(made.release, epsilon=0.5).fit(COUNTS)


def test_commands_refuse_or_say_so(exact, tmp_path, capsys):
    exact.save(tmp_path / "m")
    rows = [" ".join(np.repeat(WORDS, row)) for row in COUNTS]
    notes = [f"{ward},{row}\n" for ward, row in zip(WARDS, rows, strict=True)]
    (tmp_path / "notes.csv").write_text("ward,text\n" + "".join(notes))
    (tmp_path / "wards.txt").write_text("north\nsouth\n")
    call = f"prevalence {tmp_path}/m {tmp_path}/notes.csv --text text --by ward --groups {tmp_path}/wards.txt"
    call += f" --out {tmp_path}/s.json --table {tmp_path}/s.csv --quiet"
    assert run([*call.split(), "--epsilon", "0.5"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "fitted without privacy" in said
    assert "--epsilon inf" in said
    assert not (tmp_path / "s.json").exists()
    assert run([*call.split(), "--epsilon", "inf"]) == 0
    assert UNFIT in " ".join(capsys.readouterr().err.split())
    assert UNFIT in (tmp_path / "s.csv").read_text()
    assert run(["compare", f"{tmp_path}/m", f"{tmp_path}/m"]) == 0
    assert UNFIT in " ".join(capsys.readouterr().out.split())
