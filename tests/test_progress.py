"""Progress is told by whatever takes long, and never stands in its way."""

import pytest

from discreet import PrivateCountVectorizer, PrivateFit, PrivateLDA, fit_topics
from discreet._base import progress
from discreet._base.progress import steps, telling, watched
from discreet.cli import display

TEXTS = ["apples pears plums", "trains planes ships", "apples plums", "ships trains"] * 600


def listener():
    heard = []
    return heard, lambda *what: heard.append(what)


def test_a_vectorizer_tells_of_texts_read_and_of_the_choice():
    heard, callback = listener()
    words = PrivateCountVectorizer(epsilon=2.0, random_state=0, callback=callback).fit(TEXTS)
    assert heard == [
        ("counting words", 1000, 2400),
        ("counting words", 2000, 2400),
        ("counting words", 2400, 2400),
        ("choosing words", 0, 1),
        ("choosing words", 1, 1),
    ]
    del heard[:]
    words.transform(iter(TEXTS[:3]))  # how many there are is not known
    assert heard == [("counting words", 3, 3)]


def test_a_score_tells_of_itself():
    counts = PrivateCountVectorizer(epsilon=2.0, random_state=0).fit_transform(TEXTS)
    release = PrivateLDA(2, epsilon=4.0, random_state=0).fit(counts).release_
    heard, callback = listener()
    PrivateFit(release, random_state=0, ledger=counts.ledger, callback=callback).fit(counts)
    assert heard == [("scoring documents", 0, 1), ("scoring documents", 1, 1)]


def test_the_whole_way_tells_of_each_stage_in_order():
    heard, callback = listener()
    fit_topics(TEXTS, epsilon=4.0, n_topics=2, random_state=0, callback=callback)
    stages = list(dict.fromkeys(stage for stage, _, _ in heard))
    assert stages == ["counting words", "choosing words", "starting topics", "training rounds"]
    assert [what[1:] for what in heard if what[0] == "training rounds"][-1][0] > 0


def test_steps_and_stages_end_only_where_work_does():
    heard, callback = listener()
    assert list(steps(callback, "rounds", 2)) == [0, 1]
    assert heard == [("rounds", 0, 2), ("rounds", 1, 2), ("rounds", 2, 2)]
    del heard[:]
    with pytest.raises(KeyError), telling(callback, "one"):
        raise KeyError
    assert heard == [("one", 0, 1)]
    del heard[:]
    assert list(watched(callback, "items", [])) == []
    assert heard == [("items", 0, 0)]


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


@pytest.mark.parametrize("terminal", [False, True])
def test_the_command_says_once_that_a_pass_is_done(monkeypatch, capsys, clock, terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    with display.progress() as callback:
        for _ in range(2):  # passes
            callback("documents of this pass", 0, 300)
            clock.now += 3
            callback("documents of this pass", 300, 300)
            callback("documents of this pass", 300, 300)
    lines = [
        line
        for line in capsys.readouterr().err.splitlines()
        if "documents of this pass" in line and "300/300" in line
    ]
    assert len(lines) == (2 if not terminal else len(lines)) >= 1
