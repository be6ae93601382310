"""TopicAttack against Bayes' rule written out, and on a planted word."""

import numpy as np
import pytest

from discreet import ParameterError
from discreet.audit import TopicAttack


def test_posterior_is_bayes_rule():
    rng = np.random.default_rng(0)
    tables = rng.integers(-3, 20, (6, 4, 5))
    topics = rng.integers(0, 4, (6, 3))
    attack = TopicAttack(5, 3, topic_word_prior=0.01)
    report = attack.run(tables, topics, [0, 3, 4])
    for token, word in enumerate((0, 3, 4)):
        likelihood = np.ones(5)
        for sweep in range(6):
            seen = np.maximum(tables[sweep], 0) + 0.01
            likelihood *= seen[topics[sweep, token]] / seen[topics[sweep, token]].sum()
            expected = likelihood / likelihood.sum()
            assert report.posterior[sweep, token] == pytest.approx(expected[word])
            assert report.rank[sweep, token] == (likelihood >= likelihood[word]).sum()
    np.testing.assert_allclose(attack.posterior().sum(1), 1)


def test_a_word_of_its_own_topic_is_found_and_a_flat_table_tells_nothing():
    sharp, flat = [[50, 1, 1], [1, 50, 50]], [[1, 1, 1], [1, 1, 1]]
    found = TopicAttack(3, 1).run([sharp] * 20, [[0]] * 20, [0])
    assert (np.diff(found.posterior[:, 0]) >= 0).all()
    assert found.posterior[-1, 0] > 0.999
    assert found.rank[-1, 0] == 1
    nothing = TopicAttack(3, 1).run([flat] * 20, [[0]] * 20, [0])
    np.testing.assert_allclose(nothing.posterior, 1 / 3)
    assert nothing.rank[-1, 0] == 3


def test_long_runs_do_not_underflow():
    report = TopicAttack(2, 1).run([[[3, 1]]] * 5000, [[0]] * 5000, [0])
    assert report.posterior[-1, 0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("table", "topics"),
    [
        ([[1, 2]], [0]),
        ([[1, 2, 3]], [1]),
        ([[1, 2, 3]], [0.0]),
        ([[1, np.nan, 3]], [0]),
        ([[1, 2, 3]], [0, 0]),
    ],
)
def test_refusals(table, topics):
    with pytest.raises(ParameterError):
        TopicAttack(3, 1).observe(table, topics)


def test_bad_settings():
    for arguments in ((0, 1), (1, 0)):
        with pytest.raises(ParameterError):
            TopicAttack(*arguments)
    with pytest.raises(ParameterError, match="topic_word_prior"):
        TopicAttack(1, 1, topic_word_prior=0.0)
    with pytest.raises(ParameterError, match="each sweep"):
        TopicAttack(1, 1).run([], [], [0])
