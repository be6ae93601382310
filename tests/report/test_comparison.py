"""Two releases compared: topics matched whatever their order, changes told from noise."""

import re

import numpy as np
import pytest
from tests.report.report_cases import HOSTILE, release
from tests.report.test_noisy_topics import with_noise_topics
from tests.report.test_report import text_of

from discreet import PrivateLDA, compare
from discreet.cli.app import run
from discreet.errors import ReleaseError
from discreet.release import Release
from discreet.release.numbers import mark_of


def changed(made, *, order=None, weight=None, jitter=0.0, seed=0):
    """The same release with its topics and words in another order, other weights, and fresh noise."""
    rng = np.random.default_rng(seed)
    n_topics, n_words = made.topic_word.shape
    rows = rng.permutation(n_topics) if order is None else np.array(order)
    columns = rng.permutation(n_words)
    topic_word = made.topic_word[rows][:, columns]
    topic_word = np.maximum(topic_word + rng.normal(0, jitter, topic_word.shape) if jitter else topic_word, 0)
    topic_word /= topic_word.sum(1, keepdims=True)
    weight = made.topic_weight[rows] if weight is None else np.array(weight)
    words = tuple(made.vocabulary[column] for column in columns)
    return rows.tolist(), Release(
        topic_word,
        words,
        made.ledger,
        topic_weight=weight,
        word_weight=weight @ topic_word,
        topic_word_noise=made.topic_word_noise[rows][:, columns],
    )


def test_topics_are_matched_whatever_their_order():
    made = release(noise=0.0005)
    rows, other = changed(made, jitter=0.0005)
    found = compare(made, other)
    assert sorted((pair.first, pair.second) for pair in found.pairs) == sorted(
        (topic + 1, place) for place, topic in enumerate(rows, 1)
    )
    assert not any(pair.clear for pair in found.pairs)
    assert found.vanished == found.appeared == []
    assert min(pair.agreement for pair in found.pairs) > 0.9


def test_the_same_release_differs_in_nothing():
    found = compare(release(), release())
    assert found.in_words() == [
        "No change is clear: noise and training explain every difference of matched topics."
    ]
    assert [pair.agreement for pair in found.pairs] == pytest.approx([1.0] * 5)


def test_what_a_review_did_is_not_put_down_to_noise():
    made = release()
    found = compare(made, made.merge_topics([1, 2]).with_review("A. Reader"))
    said = " ".join(found.in_words())
    assert (
        "review, which alone explains what differs: not reviewed / reviewed by A. Reader: 1 topic merged"
        in said
    )
    assert "noise and training" not in said


def test_what_grew_is_clear_only_beyond_the_noise():
    made = release(noise=0.0005)
    weight = np.array([0.15, 4 / 15, 0.2, 2 / 15, 0.25])  # the first and the last changed places, about
    weight /= weight.sum()
    _, grown = changed(made, order=range(5), weight=weight)
    found = compare(made, grown)
    by_topic = {pair.first: pair for pair in found.pairs}
    assert by_topic[1].clear
    assert by_topic[5].clear
    assert not by_topic[3].clear
    assert found.pairs[0].first in (1, 5)
    assert any("grew from 6.7 % to 25.0 %" in sentence for sentence in found.in_words())
    loud = release(noise=0.02)
    _, loud_grown = changed(loud, order=range(5), weight=weight)
    assert not any(pair.clear for pair in compare(loud, loud_grown).pairs)


def test_what_two_fits_of_one_text_differ_by_is_not_clear():
    made = release(noise=0.00001)
    weight = made.topic_weight * [1.1, 1, 1, 1, 0.9]
    _, other = changed(made, order=range(5), weight=weight / weight.sum())
    pair = compare(made, other).pairs[0]
    assert abs(pair.after - pair.before) > 10 * pair.noise
    assert not pair.clear


@pytest.mark.slow
def test_two_fits_of_one_text_show_no_clear_change():
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(120, 0.05), 8)
    shares = rng.dirichlet(np.full(8, 0.1), 8000)
    counts = rng.poisson(40 * (shares @ topics)).astype(np.int32)
    fits = [PrivateLDA(8, epsilon=2.0, random_state=seed).fit(counts).release_ for seed in range(3)]
    for a, b in ((0, 1), (1, 2), (0, 2)):
        found = compare(fits[a], fits[b])
        assert len(found.pairs) >= 6
        assert not any(pair.clear for pair in found.pairs)
        unfit, *said = found.in_words()
        assert unfit == "Do not publish this comparison: reproducible, not for release."
        assert len(said) == 1
        assert said[0].startswith("No change is clear")
    # Where half of the documents of one topic are gone, its change is clear.
    gone = (shares[:, 0] > 0.5) & (np.arange(8000) % 2 == 0)
    found = compare(fits[0], PrivateLDA(8, epsilon=2.0, random_state=3).fit(counts[~gone]).release_)
    fell = next(pair for pair in found.pairs if pair.first == 1 + (fits[0].topic_word @ topics[0]).argmax())
    assert fell.clear
    left = shares[~gone, 0].mean() / shares[:, 0].mean()
    assert fell.after / fell.before == pytest.approx(left, abs=0.06)


def test_a_topic_of_one_alone_is_told():
    made = release(n_topics=6, n_words=60, noise=0.0002)
    left = made.without_topics([3])
    found = compare(made, left)
    assert found.vanished == [3]
    assert found.appeared == []
    back = compare(left, made)
    assert back.appeared == [3]
    assert back.vanished == []


def test_a_comparison_counts_topics_as_edits_do():
    """Numbers of pairs were passed to ``without_topics``, which removed others."""
    made, truth = with_noise_topics()
    other = made.without_topics([4])
    found = compare(made, other)
    for pair in found.pairs:
        np.testing.assert_allclose(
            made.topic_word[pair.first - 1], other.topic_word[pair.second - 1], rtol=1e-12
        )
        left = made.without_topics([pair.first])
        assert compare(made, left).vanished == [pair.first]
    assert len(made.without_topics(found.noise_in_a).topic_word) == truth.count(False)
    table = found.to_frame()
    assert table["first"].dropna().tolist() == [pair.first for pair in found.pairs] + found.vanished


def test_topics_of_noise_are_left_out():
    made, truth = with_noise_topics()
    found = compare(made, made)
    assert found.noise_in_a == (1 + np.flatnonzero(truth)).tolist()
    assert not {pair.first for pair in found.pairs} & set(found.noise_in_a)
    assert len(found.pairs) == 4


def test_words_that_moved_within_a_topic_are_told_and_others_are_not():
    made = release(noise=0.0005)
    topic_word = made.topic_word.copy()
    topic_word[1, 15] += 0.3
    topic_word /= topic_word.sum(1, keepdims=True)
    other = Release(
        topic_word,
        made.vocabulary,
        made.ledger,
        topic_weight=made.topic_weight,
        word_weight=made.topic_weight @ topic_word,
        topic_word_noise=made.topic_word_noise,
    )
    found = {pair.first: pair for pair in compare(made, other).pairs}
    assert found[2].grew == ("word00015",)
    assert found[1].grew == found[1].fell == ()


def test_words_of_one_alone_do_not_make_the_others_grow():
    made = release(noise=0.0002)
    gone = made.top_words(6)[2]  # what is left of the topic is a good deal more of it
    left = made.without_words(gone)
    assert left.topic_word[2].max() > made.topic_word[2].max()
    found = compare(made, left)
    assert set(found.only_a) == set(gone)
    assert found.only_b == ()
    assert len(found.shared) == 54
    assert len(found.pairs) == 5
    assert not any(pair.grew or pair.fell for pair in found.pairs)


def test_shares_over_other_words_are_no_change():
    """One release with all words, one with half of each topic's: their shares are parts of different texts."""
    made = release(noise=0.0002)
    weight = made.topic_weight * np.array([3, 1, 1, 1, 0.4])
    _, grown = changed(made, order=range(5), weight=weight / weight.sum())
    assert any(pair.clear for pair in compare(made, grown).pairs)
    found = compare(made, grown.without_words(made.top_words(3)[0]))
    assert found.apart > 0.05
    assert not found.shares_comparable
    assert not any(pair.clear for pair in found.pairs)
    assert found.in_words()[0].startswith("Shares cannot be compared")
    assert "Shares cannot be compared" in text_of(found.to_html())
    few = compare(made, grown.without_words([made.vocabulary[made.word_weight.argmin()]]))
    assert few.shares_comparable
    assert any(pair.clear for pair in few.pairs)


def test_where_hardly_a_word_is_common_no_topic_is_the_same():
    """Releases in two languages had pairs by the few words that both have; of one that has few words all are common."""
    made = release(noise=0.0002)
    firsts = [words[0] for words in made.top_words(1)]
    foreign = made.with_word_names({word: f"mot{word}" for word in made.vocabulary if word not in firsts})
    few = made.without_words([word for word in made.vocabulary if word not in firsts])
    assert len(compare(made, few).pairs) == 5
    found = compare(made, foreign)
    assert found.shared == compare(made, few).shared
    assert found.pairs == []
    assert found.vanished == found.appeared == [1, 2, 3, 4, 5]
    assert found.in_words()[0].startswith("Shares cannot be compared")


def test_where_noise_is_not_told_nothing_is_clear():
    found = compare(release(noise=None), release(noise=None, seed=0).without_topics([1]))
    assert not any(pair.clear or pair.grew for pair in found.pairs)
    assert "no change can be called clear" in text_of(found.to_html())
    assert not any(pair.clear for pair in compare(release(weights=False), release(weights=False)).pairs)


def test_what_cannot_be_compared_is_said():
    other = release().with_word_names({f"word{i:05d}": f"x{i}" for i in range(60)})
    with pytest.raises(ReleaseError, match="no word in common"):
        compare(release(), other)
    with pytest.raises(ReleaseError, match="compare takes two releases"):
        compare(release(), release().topic_word)


def test_the_page_says_it_and_runs_nothing(tmp_path):
    made = release(noise=0.0005, words=HOSTILE).with_details(title="<b>Before</b>")
    _, other = changed(made, order=[4, 1, 2, 3, 0])
    found = compare(
        made, other.without_topics([2]).with_topic_names({1: "<img src=x onerror=window.canary=1>"})
    )
    assert found.to_html(tmp_path / "c.html") is None
    page = (tmp_path / "c.html").read_text()
    assert page == found.to_html()
    assert "<b>Before" not in page
    assert "<img" not in page
    assert "<script" not in page
    assert not re.search(r"""(src|href)\s*=\s*["']?http""", page)
    text = text_of(page)
    assert "<h2>Topics of one alone" in page
    assert "Whoever stands in both collections has the cost of both" in text
    assert "not for release" not in text
    seeded = compare(release(reproducible=True), release()).to_html()
    assert "The first is not for release" in text_of(seeded)


def test_the_table_holds_every_topic():
    made = release(n_topics=6, n_words=60, noise=0.0002)
    table = compare(made, made.without_topics([3])).to_frame()
    assert len(table) == 6
    assert list(table.columns)[:3] == ["first", "second", "name"]
    assert table["second"].isna().sum() == 1
    assert sorted(table["first"]) == [1, 2, 3, 4, 5, 6]


def test_the_command_prints_and_writes_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release(n_topics=6, n_words=60, noise=0.0002).save("a")
    Release.load("a").without_topics([3]).save("b")
    assert run("compare a b --out c.html".split()) == 0
    said = capsys.readouterr().out
    assert "Only in the first: " in said
    assert said.count("one text") == 0  # a review explains it
    assert "wrote c.html" in said
    assert "compared" in (tmp_path / "c.html").read_text()
    assert run("compare a b --out c.html".split()) == 2
    assert "c.html exists; name another file" in capsys.readouterr().err
    assert "two fits of one text differ" not in (tmp_path / "c.html").read_text()
    changed(Release.load("a"), order=[0, 1, 2], weight=[0.4, 0.3, 0.3])[1].save("c")
    assert run("compare a c --out d.html".split()) == 0
    said = capsys.readouterr().out
    assert said.count("Only in the") == 3
    assert said.count("Two fits of one text can differ by such topics, too.") == 1
    assert "two fits of one text differ" in (tmp_path / "d.html").read_text()


def test_the_page_names_the_two_by_title_or_folder_and_digest():
    """In a file cabinet a page must say which two releases it is about."""
    one, other = release(), release().with_details(title="Spring")
    page = text_of(compare(one, other).to_html(names=("m82", "r82")))
    assert "m82 and Spring, compared" in page
    assert "the first and the second" not in page
    assert f"digest of topics {mark_of(one)}" in page
    same = compare(one.with_details(title="Notes"), other.with_details(title="Notes"))
    assert "Notes (m82) and Notes (r82), compared" in text_of(same.to_html(names=("m82", "r82")))
    assert "the first and Spring, compared" in text_of(compare(one, other).to_html())
