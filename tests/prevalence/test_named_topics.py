"""Names that a review gave to topics stand in shares, their page and their card."""

import numpy as np
from tests.prevalence.test_estimator import RELEASE, WARDS, X

from discreet import TopicPrevalence
from discreet.release.prevalence import PrevalenceRelease


def test_names_of_topics_are_those_of_the_review(tmp_path):
    named = RELEASE.with_topic_names({1: "Night <ward>"})
    shares = TopicPrevalence(named, WARDS, epsilon=5.0, random_state=0).fit(
        X, by=np.array(WARDS)[np.arange(len(X)) % 3]
    )
    words = [" ".join(top) for top in RELEASE.top_words(3)]
    assert shares.release_.topics == (words[0], "Night <ward>", words[2])
    shares.release_.save(tmp_path / "shares.json")
    again = PrevalenceRelease.load(tmp_path / "shares.json")
    assert again.topics == shares.release_.topics
    assert "Night &lt;ward&gt;" in again.to_html()
    assert "Night" in again.card()
