"""Attacks on a document's mixture alone."""

import numpy as np
import pytest

from discreet.audit import simple_attacks
from discreet.errors import ParameterError
from discreet.lda import fold_in


def test_clear_cut_mixtures_count_as_members():
    words = 30
    model = np.kron(np.eye(3), np.ones(10)) + 1e-3
    clear = np.repeat(np.kron(np.eye(3, dtype=int), np.ones(10, dtype=int)), 5, axis=0)
    mixed = np.ones((15, words), dtype=int)
    counts = np.r_[clear, mixed]
    members = np.arange(30) < 15
    reports = simple_attacks(model, counts, members, epsilon=1.0)
    assert list(reports) == ["max", "std", "entropy"]
    for name, report in reports.items():
        assert report.auc == 1.0, name
        assert (report.attack, report.epsilon) == (name, 1.0)
    theta = fold_in(model, counts)
    np.testing.assert_allclose(reports["max"].scores[0], [max(row) for row in theta])
    np.testing.assert_allclose(reports["std"].scores[0], [np.std(row) for row in theta])
    np.testing.assert_allclose(
        reports["entropy"].scores[0], [sum(t * np.log(t) for t in row) for row in theta]
    )
    with pytest.raises(ParameterError, match="booleans"):
        simple_attacks(model, counts, members[:3])
