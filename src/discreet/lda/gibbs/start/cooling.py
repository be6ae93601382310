r"""The first sweeps after a fast start: hot, so that a chain can leave the mode it was put to for a better one.

In sweep t of the first n the prior of words is raised from :math:`\beta` to

.. math:: \beta_t = \beta + \max\Big(0, h \frac{N}{K V} - \beta\Big) \Big(1 - \frac{t}{n}\Big),

t from 0 to n - 1, N tokens, K topics, V words: at first as if a topic had a share h of its tokens spread evenly over
all words. Rare words then follow the rest of their document, and topics can give up what they hold by chance. From
sweep n on the chain's law is the one that was asked for. n is at most ``MOST_SWEEPS``, and at most half of the sweeps,
so that no hot sweep counts in the mean; with many topics, where :math:`h N / (K V)` is below :math:`\beta`, nothing is
heated.

Guarantee: none.

Reference
---------
Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing", Science 220 (1983),
doi:10.1126/science.220.4598.671.
"""

from discreet.lda.gibbs.state import Tokens

__all__ = ["MOST_SWEEPS", "SHARE", "warm_prior"]

#: Chosen on kos and nyt: docs/speed.md.
SHARE = 0.12
MOST_SWEEPS = 30


def warm_prior(tokens: Tokens, n_topics: int, topic_word_prior: float, sweep: int, n_sweeps: int) -> float:
    """Return the prior of words for sweep number ``sweep``, from 0, of ``n_sweeps``."""
    n_warm = min(MOST_SWEEPS, n_sweeps // 2)
    if sweep >= n_warm:
        return topic_word_prior
    hot = SHARE * len(tokens.words) / (n_topics * tokens.n_words)
    return topic_word_prior + max(hot - topic_word_prior, 0.0) * (1 - sweep / n_warm)
