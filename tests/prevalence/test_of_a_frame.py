"""Groups and dates of a frame: columns of dates are read, and a name of a column is answered with what to do."""

import datetime
import re
from pathlib import Path

import pytest

from discreet import Corpus, Ledger, TopicPrevalence, fit_topics, read_corpus
from discreet.errors import CorpusError, ReleaseError

pd = pytest.importorskip("pandas")
TEXTS = ["the senate passed a law", "a storm hit the coast"] * 500
WORDS = ("coast", "hit", "law", "passed", "senate", "storm")


def frame(dates):
    return pd.DataFrame({"note": TEXTS, "seen": dates})


def topics():
    return fit_topics(
        TEXTS, epsilon=4.0, n_topics=2, vocabulary=WORDS, words_are_public=True, random_state=0,
        privacy_unit="document", allow_unlearnable=True,
    )  # fmt: skip


def test_a_column_of_dates_says_the_month_of_each_text():
    stamps = pd.Series([pd.Timestamp("2024-01-31 23:59"), pd.Timestamp("2024-02-01")] * 500)
    stamps[7] = pd.NaT
    days = [datetime.date(2024, 1, 31), datetime.date(2024, 2, 1)] * 500
    assert read_corpus(frame(stamps), text="note", label="seen").labels[:8].tolist() == [
        *["2024-01-31", "2024-02-01"] * 3, "2024-01-31", "",
    ]  # fmt: skip
    for dates in (stamps, stamps.dt.tz_localize("UTC"), days):
        shares = TopicPrevalence(
            None, freq="month", start="2024-01", end="2024-02", epsilon=1.0, random_state=0
        )
        fit_topics(
            frame(dates), text="note", epsilon=4.0, n_topics=2, vocabulary=WORDS, words_are_public=True,
            privacy_unit="document", allow_unlearnable=True, random_state=0, prevalence=shares, by="seen",
        )  # fmt: skip
        assert shares.release_.groups == ("2024-01", "2024-02")


def test_the_name_of_a_column_is_answered_before_anything_is_booked():
    ledger = Ledger(9.0, 1e-5)
    model = TopicPrevalence(topics(), groups=["a", "b"], epsilon=1.0, ledger=ledger, random_state=0)
    for X in (frame(["a", "b"] * 500), Corpus.from_texts(TEXTS, vocabulary=WORDS)):
        with pytest.raises(CorpusError, match=r"read_corpus\(frame, text=\.\.\., label='seen', vocabulary="):
            model.fit(X, by="seen")
    assert not ledger.entries


def test_further_words_of_a_corpus_are_left_out_as_those_of_shards_are():
    made = topics()
    all_words = read_corpus(frame(["a", "b"] * 500), text="note", label="seen", stop_words="none")
    some = read_corpus(frame(["a", "b"] * 500), text="note", label="seen", vocabulary=WORDS)
    assert all_words.n_words > len(WORDS)
    model = TopicPrevalence(made, groups=["a", "b"], epsilon=1.0, random_state=0)
    totals = [model.fit(X).release_.topic_totals for X in (all_words, some)]
    assert (totals[0] == totals[1]).all()


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that takes no new ones")
def test_a_place_that_takes_no_folder_is_named(tmp_path):
    with pytest.raises(ReleaseError, match="/proc takes no new folders; name another place"):
        topics().save("/proc/x")
    with pytest.raises(ReleaseError, match="cannot write the report: /proc takes no new files; name another"):
        topics().to_html("/proc/x.html")


def test_a_frame_of_texts_and_names_of_two_columns_are_answered_with_what_to_do():
    whole = frame(["a", "b"] * 500).assign(ward="a")
    with pytest.raises(
        CorpusError, match=r"this frame has columns of text, .* read_corpus\(frame, text=\.\.\., voc"
    ):
        TopicPrevalence(topics(), groups=["a", "b"], epsilon=1.0).fit(whole, by=whole.seen)
    shares = TopicPrevalence(None, groups=["a", "b"], epsilon=1.0)
    with pytest.raises(CorpusError, match=r"has 2; give whole columns: by=frame\.ward, or for a cross table"):
        fit_topics(
            whole, text="note", epsilon=4, privacy_unit="document", prevalence=shares, by=("seen", "ward")
        )


def test_the_card_writes_epsilon_for_people():
    made = fit_topics(
        TEXTS, epsilon=4.0, n_topics=2, random_state=0, privacy_unit="document", allow_unlearnable=True
    )
    exact = made.configuration["epsilon"]
    written = re.findall(r"\| epsilon \| (\S+) \|", made.card())[-1]
    assert len(written) < len(str(exact))
    assert float(written) >= exact
