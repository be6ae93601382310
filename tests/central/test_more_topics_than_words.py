"""More topics than words are refused, however little noise there is."""

import numpy as np
import pytest

from discreet import PrivateLDA
from discreet.errors import ParameterError

COUNTS = np.random.default_rng(0).poisson(0.5, (4000, 6))


def test_more_topics_than_words_are_refused_unless_told_to_go_on():
    settings = {"epsilon": 20.0, "random_state": 0}
    with pytest.raises(ParameterError, match=r"Nothing was booked.*allow_unlearnable=True goes on"):
        PrivateLDA(7, **settings).fit(COUNTS)
    made = PrivateLDA(7, allow_unlearnable=True, **settings).fit(COUNTS)
    assert made.topic_word_.shape == (7, 6)
