r"""How many topics: held-out perplexity and coherence over folds, on **public** text.

The documents are cut at random into folds. For each number of topics K and each fold a model is trained on the
other folds and scored on this one. All candidates see the same folds and the same halves of documents, so they
are compared in pairs: what one fold has more of hard documents, it has for all.

``best`` is the smallest K that no other beats by more than one standard error: with
:math:`d_f` the difference of log perplexities of K and of the candidate with the lowest mean on fold f, K is kept
while :math:`\bar d \le s_d / \sqrt{F}` (the one-standard-error rule, on paired differences). Fewer topics also cost
less privacy, so ties go to the smaller K.

No privacy: the result is an exact function of the documents, and so is every choice made by it. Choose on public
text of the same kind as the private one.

Reference
---------
Breiman, Friedman, Olshen, Stone, "Classification and regression trees", 1984, section 3.4.3 (the rule).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.display import frame
from discreet._base.progress import Callback, tell
from discreet._base.validate import Rule, check, whole
from discreet.corpus import check_counts
from discreet.errors import CorpusError, ParameterError
from discreet.evaluate.held_out import completion_perplexity, unigram
from discreet.evaluate.topics import coherence_npmi, diversity

Floats = NDArray[np.float64]
_CANDIDATES = Rule(
    "numbers of topics, each at least 1, such as [10, 20, 50]",
    lambda listed: bool(listed) and all(map(whole().holds, listed)),
)


@dataclass(frozen=True)
class TopicNumbers:
    """What each number of topics gave.

    Attributes
    ----------
    candidates : tuple of int
        Numbers of topics, rising.
    perplexity : array of shape (n_candidates, n_folds)
        Completion perplexity of each held-out fold; lower is better.
    coherence : array of shape (n_candidates, n_folds)
        NPMI of the top 10 words in all the documents; higher is better.
    diversity : array of shape (n_candidates, n_folds)
        Share of distinct words among the top 25 of all topics.
    unigram_perplexity : array of shape (n_folds,)
        The same folds under a model of one topic: the line to beat.
    """

    candidates: tuple[int, ...]
    perplexity: Floats
    coherence: Floats
    diversity: Floats
    unigram_perplexity: Floats

    @property
    def best(self) -> int:
        """The smallest number of topics within one standard error of the lowest mean log perplexity."""
        scores = np.log(self.perplexity)
        differences = scores - scores[scores.mean(axis=1).argmin()]
        error = differences.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
        return self.candidates[int(np.argmax(differences.mean(axis=1) <= error))]

    def table(self) -> list[dict[str, float]]:
        """One row a candidate: mean and standard error over folds of each measure."""
        rows: list[dict[str, float]] = []
        for row, n_topics in enumerate(self.candidates):
            line: dict[str, float] = {"n_topics": n_topics}
            for name in ("perplexity", "coherence", "diversity"):
                values = getattr(self, name)[row]
                line[name] = float(values.mean())
                line[f"{name}_error"] = float(values.std(ddof=1) / np.sqrt(len(values)))
            rows.append(line)
        return rows

    def to_frame(self) -> Any:
        """Return the table as a frame of pandas, polars or pyarrow.

        With pandas, ``.plot("n_topics", "perplexity", yerr="perplexity_error")`` draws it.
        """
        rows = self.table()
        return frame({name: [row[name] for row in rows] for name in rows[0]})


def choose_n_topics(
    counts: Any,
    candidates: Sequence[int],
    *,
    n_folds: int = 5,
    make_model: Callable[[int, int], Any] | None = None,
    doc_topic_prior: float = 0.1,
    n_sweeps: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> TopicNumbers:
    """Train and score models with each number of topics, on documents that are **public**.

    Parameters
    ----------
    counts : Corpus, sparse or dense matrix of shape (n_documents, n_words)
        Public documents, of the kind of the private ones.
    candidates : sequence of int
        Numbers of topics to try.
    n_folds : int, default 5
        Parts that the documents are cut into, at least 2: one model is trained for each part and candidate.
    make_model : callable, optional
        ``make_model(n_topics, seed)`` returns an estimator with ``fit(counts)`` that then has ``topic_word_`` or
        ``release_``. By default ``GibbsLDA`` with the settings below. A private estimator at the epsilon you plan, on
        public text of the size you expect, shows what K that epsilon can carry.
    doc_topic_prior : float, default 0.1
        Of the default model, and of the scoring for every model.
    n_sweeps : int, optional
        Of the default model.
    random_state : int, default 0
        Seed of folds, models and halves of documents.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    callback : callable, optional
        ``callback("model", done, total)`` after each model.

    Returns
    -------
    TopicNumbers

    Raises
    ------
    ParameterError, CorpusError
        There are no candidates, one is not a number of topics, or there are fewer documents than folds.
    """
    documents = check_counts(counts)
    listed = list(candidates)
    check(candidates=(listed, _CANDIDATES), n_folds=(n_folds, whole(2)))
    numbers = tuple(sorted({int(n) for n in listed}))
    if documents.shape[0] < 2 * n_folds:
        raise CorpusError(
            f"{documents.shape[0]} documents are too few for {n_folds} folds; give at least {2 * n_folds}."
        )
    make = make_model or _gibbs(doc_topic_prior, n_sweeps, n_jobs)
    fold_of = np.random.default_rng(random_state).permutation(documents.shape[0]) % n_folds
    shape = (len(numbers), n_folds)
    scores, coherence, distinct = np.empty(shape), np.empty(shape), np.empty(shape)
    one_topic = np.empty(n_folds)
    for fold in range(n_folds):
        train, held_out = documents[fold_of != fold], documents[fold_of == fold]
        # A word that the other folds never use has no probability otherwise.
        alone = unigram(train, smoothing=0.01)
        one_topic[fold] = completion_perplexity(alone, held_out, random_state=random_state, n_jobs=n_jobs)
        for row, n_topics in enumerate(numbers):
            topics = _topics(make(n_topics, random_state + fold).fit(train))
            scores[row, fold] = completion_perplexity(
                topics, held_out, doc_topic_prior=doc_topic_prior, random_state=random_state, n_jobs=n_jobs
            )
            coherence[row, fold] = coherence_npmi(topics, documents)
            distinct[row, fold] = diversity(topics)
            tell(callback, "model", fold * len(numbers) + row + 1, n_folds * len(numbers))
    return TopicNumbers(numbers, scores, coherence, distinct, one_topic)


def _gibbs(doc_topic_prior: float, n_sweeps: int | None, n_jobs: int | None) -> Callable[[int, int], Any]:
    from discreet.lda import GibbsLDA

    return lambda n_topics, seed: GibbsLDA(
        n_topics, doc_topic_prior=doc_topic_prior, n_sweeps=n_sweeps, random_state=seed, n_jobs=n_jobs
    )


def _topics(fitted: Any) -> Any:
    """Topics of a fitted estimator: a private one has them in its release."""
    if hasattr(fitted, "topic_word_"):
        return fitted.topic_word_
    if hasattr(fitted, "release_"):
        return fitted.release_.topic_word
    raise ParameterError(
        "make_model must return an estimator that has topic_word_ or release_ once it is fitted, such as GibbsLDA "
        f"or PrivateLDA; got {type(fitted).__name__}."
    )
