"""`discreet budget` says how many units must share a word for it to be chosen; and so it is."""

import contextlib
import json
import re

import pytest

from discreet import PrivateCountVectorizer
from discreet.central._fit_topics import estimators
from discreet.central.preview import bookings
from discreet.cli.app import run
from discreet.errors import PrivacyError
from discreet.privacy.accounting.curves import gdp_mu


def needed(capsys, *options):
    assert run(["budget", "--epsilon", "2", *options]) == 0
    said = capsys.readouterr().out
    found = re.findall(r"([\d,]+) with (\d+)", said)
    return {int(k): int(count.replace(",", "")) for count, k in found}, said


@pytest.mark.parametrize(("share", "low", "high"), [(1.0, 0.35, 0.65), (0.6, 0.0, 0.05), (1.4, 0.95, 1.0)])
def test_a_word_of_so_many_documents_is_chosen_every_other_time(capsys, share, low, high):
    told, _ = needed(capsys)
    words, topics = estimators(epsilon=2.0, n_topics=2, privacy_unit="document", max_words=None)
    bookings(words, topics)
    texts = [" ".join(f"word{i}" for i in range(10))] * round(share * told[10])
    chosen = 0
    for seed in range(20):
        given = words.get_params(deep=False) | {"random_state": seed, "ledger": None, "delta": words.delta}
        with contextlib.suppress(PrivacyError):  # where no word was chosen
            chosen += len(PrivateCountVectorizer(**given).fit(texts).vocabulary_)
    assert low <= chosen / 200 <= high


def test_it_is_said_of_the_unit_and_not_where_nothing_is_chosen(capsys):
    told, said = needed(capsys, "--unit", "person")
    assert "many persons share" in said
    assert list(told) == [10, 30, 100]
    assert sorted(told.values()) == list(told.values())
    assert needed(capsys, "--vocabulary-is-public")[0] == {}


def test_topics_are_forecast_with_what_words_leave_for_them_as_by_check(capsys):
    assert run("budget --documents 2000 --topics 6 --words 300 --words-a-document 9 --json".split()) == 0
    told = json.loads(capsys.readouterr().out)
    words, topics = estimators(epsilon=1.0, delta=1e-6, privacy_unit="document")
    bookings(words, topics)
    assert told["forecast"]["mu"] == pytest.approx(gdp_mu(topics.epsilon, topics.delta), rel=1e-6)
    assert told["forecast"]["mu"] < told["mu"]
