"""Reports keep what their own channel promised: a stream, moments and a release know one channel, whole."""

import numpy as np
import pytest

from discreet import LocalLDA, StreamingLocalLDA
from discreet.errors import CorpusError, ParameterError
from discreet.local import BitChannel, Moments

pytestmark = pytest.mark.filterwarnings("ignore:2 topics were asked for")
V = 30
WEAK = BitChannel.symmetric(6.0)
LIMITED = BitChannel(WEAK.p_threshold, WEAK.q_threshold, 2)
MARKED = BitChannel(WEAK.p_threshold, WEAK.q_threshold, reproducible=True)


@pytest.fixture(scope="module")
def present():
    rng = np.random.default_rng(0)
    return rng.random((2000, V)) < np.where(np.arange(V) // 10 == rng.integers(3, size=(2000, 1)), 0.4, 0.02)


def bits_of(present, channel):
    rng = np.random.default_rng(1)
    return (rng.random(present.shape) < np.where(present, float(channel.p), float(channel.q))).astype(
        np.uint8
    )


def stream(channel=WEAK):
    return StreamingLocalLDA(2, channel=channel, allow_unlearnable=True, random_state=0)


@pytest.mark.parametrize("other", [BitChannel.symmetric(1.0), LIMITED], ids=["smaller loss", "a limit"])
def test_a_stream_refuses_another_channel_and_keeps_its_promise(present, other):
    model = stream().partial_fit(bits_of(present, WEAK))
    told = model.release_.configuration["epsilon_whole_report_replaced"]
    assert told == pytest.approx(6.0 * V)
    batch = bits_of(present[:50], other)
    model.set_params(channel=other)
    for act in (
        lambda: model.partial_fit(batch),
        model.update,
        lambda: model.delete_batch(batch),
    ):
        with pytest.raises(ParameterError, match="channel changed within the stream"):
            act()
    assert model.n_reports_ == len(present)
    assert model.release_.configuration["epsilon_whole_report_replaced"] == told
    model.set_params(channel=BitChannel(WEAK.p_threshold, WEAK.q_threshold))  # an equal one is no change
    assert model.partial_fit(bits_of(present[:50], WEAK)).n_reports_ == len(present) + 50
    assert model.set_params(channel=other).fit(batch).n_reports_ == 50


def test_one_marked_batch_marks_the_stream_for_good(present):
    model = stream().partial_fit(bits_of(present, WEAK))
    assert "not for release" not in model.release_.guarantee
    model.set_params(channel=MARKED).partial_fit(bits_of(present[:50], WEAK))
    model.set_params(channel=WEAK).partial_fit(bits_of(present[:50], WEAK))
    assert "not for release" in model.release_.guarantee


def test_moments_know_limit_and_mark(present, tmp_path):
    bits = bits_of(present, WEAK)
    plain, limited, marked = (
        Moments(V, channel=channel).add_batch(bits) for channel in (WEAK, LIMITED, MARKED)
    )
    assert plain != limited
    for act in (plain.merge, plain.subtract):
        with pytest.raises(CorpusError, match="at most 2 words of a document kept"):
            act(limited)
    limited.save(tmp_path / "moments.npz")
    again = Moments.load(tmp_path / "moments.npz")
    assert (again, again.limit, again.reproducible) == (limited, 2, False)
    with pytest.raises(ParameterError, match="all words kept"):
        LocalLDA(2, channel=WEAK, allow_unlearnable=True).fit_moments(again)
    marked.save(tmp_path / "marked.npz")
    both = plain.copy().merge(Moments.load(tmp_path / "marked.npz"))
    assert both.copy().reproducible
    for moments, seeded in ((plain, False), (both, True)):
        made = LocalLDA(2, channel=WEAK, allow_unlearnable=True).fit_moments(moments).release_
        assert ("not for release" in made.guarantee) == seeded
