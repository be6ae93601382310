"""Which topics use the same words: a tree and a matrix of Hellinger distances, as one SVG.

Computed from released topics, so it costs no privacy; noise makes topics look less alike than they are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import escape
from numpy.typing import NDArray

from discreet.report.drawings.map import distances

__all__ = ["MOST_TOPICS", "similarity_svg"]

MOST_TOPICS = 100
#: The matrix beside the tree needs room: with more topics there is the tree alone.
_MOST_IN_MATRIX = 60
_ROW, _TREE, _NAMES = 22, 160, 262
_LEVELS = 10


def similarity_svg(topic_word: NDArray[np.float64], numbers: Sequence[int], names: Sequence[str]) -> str:
    """Return the drawing of 3 to ``MOST_TOPICS`` topics, or nothing where there are fewer or more.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
    numbers, names : sequences of length n_topics
    """
    n_topics = len(topic_word)
    if not 3 <= n_topics <= MOST_TOPICS:
        return ""
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    apart = np.round(distances(topic_word), 9)  # last bits must not decide between ties
    found: Any = linkage(squareform(apart, checks=False), "average", optimal_ordering=True)
    tree: Any = dendrogram(found, no_plot=True)
    order: list[int] = tree["leaves"]
    height = _ROW * n_topics + 8
    matrix = n_topics <= _MOST_IN_MATRIX
    width = _TREE + _NAMES + (_ROW * n_topics if matrix else 0) + 4
    parts = [
        f'<svg id="similar" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'aria-label="Tree of topics by the words they share">'
    ]
    for x, y in zip(tree["dcoord"], tree["icoord"], strict=True):  # scipy's rows are 10 apart, from 5
        points = " ".join(
            f"{_tenth(_TREE - 8 - (_TREE - 16) * min(level, 1.0))},{_tenth(_ROW * place / 10 + 4)}"
            for level, place in zip(x, y, strict=True)
        )
        parts.append(f'<polyline class="branch" points="{points}"/>')
    for row, topic in enumerate(order):
        y = _ROW * row + 4
        name = names[topic] if len(names[topic]) <= 30 else names[topic][:29] + "\u2026"
        parts.append(
            f'<text class="leaf" x="{_TREE}" y="{y + _ROW / 2}" dy=".35em"><tspan class="leaf-number">'
            f"{numbers[topic]}</tspan> {escape(name)}</text>"
        )
        for column, other in enumerate(order if matrix else []):
            alike = 1 - float(apart[topic, other])
            x = _TREE + _NAMES + _ROW * column
            parts.append(
                f'<rect class="same s{round(_LEVELS * alike)}" x="{x}" y="{y}" width="{_ROW - 1}" height="{_ROW - 1}">'
                f"<title>{numbers[topic]} and {numbers[other]}: {100 * alike:.0f} % alike</title></rect>"
            )
    return "".join([*parts, "</svg>"])


def _tenth(value: float) -> float:
    return round(float(value), 1)
