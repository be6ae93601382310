"""An attack on what a classifier says of documents by the mixtures of their topics.

The target is a pipeline: topics of its training documents, their mixtures folded in, a classifier on the mixtures. The
attacker sees, of each document, its label and the classifier's vector of confidences. From documents of their own
they train shadow pipelines in the same way, note the vectors that these give to documents inside and outside,
and learn for each label a model that tells the two apart.

Half of the documents are the target's: each trains it by a fair coin. The other half is the attacker's; of it
each shadow takes a random half. No document is on both sides, so scores know nothing of the target's coins but
through the confidences, and the bound on epsilon of the report is proved. It speaks of the whole pipeline:
where topics are private but the classifier was trained on exact mixtures, only the topics keep a promise. ``seen``
is for pipelines that never get the exact documents: topics and classifier are then trained on what it returns.

It is for whoever holds the text: results tell who was in, and are not for release.

References
----------
Shokri, Stronati, Song, Shmatikov, "Membership inference attacks against machine learning models", arXiv:1610.05820.
Zhao et al., "Latent Dirichlet allocation model training with differential privacy", arXiv:2010.04391.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_labels
from discreet._base.persons import check_same_rows
from discreet._base.progress import Callback, tell
from discreet._base.threads import count_threads, share_out
from discreet._base.validate import check, shown, whole
from discreet.audit.arguments import SEED, TRAIN, check_promise
from discreet.audit.attack_report import AuditReport
from discreet.corpus import check_counts
from discreet.errors import ParameterError
from discreet.lda import fold_in

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Seeds = np.random.SeedSequence
# Fewer shadow examples of a label than this, on either side, teach its attack model nothing.
_FEWEST = 10
_LEAF = 10


@dataclass(frozen=True)
class ClassifierAttackReport:
    """What the attack found.

    Attributes
    ----------
    attack : AuditReport
        Score: the probability, as the attack model sees it, that the document was inside.
    accuracy, precision, recall : float
        Of saying "inside" where the score is above 1/2. A coin has accuracy 1/2. Precision is 0 where nobody is
        accused.
    inside_accuracy, outside_accuracy : float
        Of the target classifier, on its training documents and on the others: the gap that the attack lives on.
    """

    attack: AuditReport
    accuracy: float
    precision: float
    recall: float
    inside_accuracy: float
    outside_accuracy: float


def classifier_attack(
    train: Callable[[Any, int], ArrayLike],
    corpus: Any,
    labels: ArrayLike,
    *,
    classifier: Literal["linear", "forest"] | Any = "linear",
    n_shadows: int = 10,
    doc_topic_prior: ArrayLike = 0.1,
    epsilon: float | None = None,
    delta: float | None = None,
    seen: Callable[[Any, int], Any] | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> ClassifierAttackReport:
    """Attack a classifier that was trained on topic proportions.

    Parameters
    ----------
    train : callable
        ``train(counts, seed) -> topic_word``. Deterministic given both, safe in threads.
    corpus : Corpus, sparse or dense matrix of shape (n_documents, n_words)
    labels : array of shape (n_documents,)
        Numbers or strings, at least 2 different ones.
    classifier : {"linear", "forest"} or estimator, default "linear"
        Logistic regression, a random forest, or any scikit-learn classifier with ``predict_proba``; it is cloned.
    n_shadows : int, default 10
    doc_topic_prior : float or array of shape (n_topics,), default 0.1
        For ``fold_in``.
    epsilon, delta : float, optional
        What the whole pipeline promises for one document, for the report.
    seen : callable, optional
        ``seen(counts, seed) -> counts``: what a pipeline is given of its training documents in their place, such as
        randomised reports, one row each in the same order. ``train`` and the classifier see only that; the attacker
        asks about the documents themselves. Same seed and same conditions as for ``train``.
    random_state : int, optional
    n_jobs : int, optional
        Pipelines trained at a time; results do not depend on it.
    callback : callable, optional
        ``callback("shadows", done, total)``.

    Returns
    -------
    ClassifierAttackReport

    Raises
    ------
    ParameterError
        Where a number is out of range (found before training),
        labels do not fit the corpus, a drawn half has one label only, or ``seen`` returns another shape.
    """
    check(
        train=(train, TRAIN),
        n_shadows=(n_shadows, whole()),
        random_state=(random_state, SEED),
    )
    check_promise(epsilon, delta)
    check_same_rows(corpus, labels, "labels")
    counts = check_counts(corpus)
    names, classes = np.unique(as_labels(labels, "labels"), return_inverse=True)
    n_documents = counts.shape[0]
    if classes.shape != (n_documents,) or len(names) < 2:
        raise ParameterError(
            f"labels must be one per document, of at least 2 kinds, but {n_documents} documents have labels of shape "
            f"{np.shape(labels)} and {len(names)} kinds."
        )
    side, coins, halves, seeds, attack_seed = Seeds(random_state).spawn(5)
    shuffled = np.random.default_rng(side).permutation(n_documents)
    ours, theirs = np.sort(shuffled[: n_documents // 2]), np.sort(shuffled[n_documents // 2 :])
    members = np.random.default_rng(coins).random(len(ours)) < 0.5
    rng = np.random.default_rng(halves)
    plans = [(ours, members)]
    plans += [(theirs, _half(len(theirs), rng)) for _ in range(n_shadows)]
    seeds_of = seeds.spawn(len(plans))
    done, lock = 0, threading.Lock()
    tell(callback, "shadows", 0, n_shadows)

    def confidences(documents: NDArray[np.int64], inside: Bools, seeds: Seeds) -> Floats:
        """Train on those inside; return what the classifier says of all, shape (n_documents, n_classes)."""
        asked, own = counts[documents], classes[documents][inside]
        for_topics, for_classifier = (int(s.generate_state(1)[0]) & 0x7FFFFFFF for s in seeds.spawn(2))
        if len(np.unique(own)) < 2:
            raise ParameterError(
                "a drawn half of the documents has fewer than 2 labels: give more documents, or join rare labels."
            )
        given = asked[inside]
        if seen is not None:
            given = check_counts(seen(given, for_topics))
            if given.shape != (expected := (int(inside.sum()), counts.shape[1])):
                raise ParameterError(
                    f"seen must return {expected}, one row per document, but gave {given.shape}."
                )
        topics = train(given, for_topics)
        theta = fold_in(topics, asked, doc_topic_prior=doc_topic_prior)
        learnt = theta[inside] if seen is None else fold_in(topics, given, doc_topic_prior=doc_topic_prior)
        fitted = _make(classifier, for_classifier).fit(learnt, own)
        found = np.zeros((len(theta), len(names)))
        found[:, fitted.classes_] = fitted.predict_proba(theta)
        return found

    def run(index: int) -> Floats:
        nonlocal done
        found = confidences(*plans[index], seeds_of[index])
        if index > 0:
            with lock:
                done += 1
                tell(callback, "shadows", done, n_shadows)
        return found

    found = share_out(run, range(len(plans)), min(len(plans), count_threads(n_jobs)))
    known = np.concatenate([_vectors(values, classes[theirs]) for values in found[1:]])
    answers = np.concatenate([inside for _, inside in plans[1:]])
    asked = _vectors(found[0], classes[ours])
    scores = _judge(known, np.tile(classes[theirs], n_shadows), answers, asked, classes[ours], attack_seed)
    says = scores > 0.5
    right = found[0].argmax(axis=1) == classes[ours]
    meta = {"n_shadows": n_shadows, "seed": random_state}
    return ClassifierAttackReport(
        attack=AuditReport(scores, members, "classifier", epsilon, delta, "independent", meta),
        accuracy=float((says == members).mean()),
        precision=float(members[says].mean()) if says.any() else 0.0,
        recall=float(says[members].mean()),
        inside_accuracy=float(right[members].mean()),
        outside_accuracy=float(right[~members].mean()),
    )


def _half(n: int, rng: np.random.Generator) -> Bools:
    inside = np.zeros(n, dtype=bool)
    inside[rng.permutation(n)[: n // 2]] = True
    return inside


def _make(classifier: Any, seed: int) -> Any:
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if classifier == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    if classifier == "forest":
        return RandomForestClassifier(random_state=seed)
    if isinstance(classifier, str) or not hasattr(classifier, "predict_proba"):
        raise ParameterError(
            f"classifier must be 'linear', 'forest' or an estimator with predict_proba, but got {shown(classifier)}."
        )
    made: Any = clone(classifier)
    free = [
        name for name, value in made.get_params().items() if name.endswith("random_state") and value is None
    ]
    return made.set_params(**dict.fromkeys(free, seed))


def _vectors(confidences: Floats, classes: NDArray[Any]) -> Floats:
    """Put the confidence in a document's own label before those in each label."""
    return np.c_[confidences[np.arange(len(classes)), classes], confidences]


def _judge(
    known: Floats,
    known_classes: NDArray[Any],
    answers: Bools,
    asked: Floats,
    classes: NDArray[Any],
    seeds: Seeds,
) -> Floats:
    """Learn from the shadows, label by label, who is inside; return a probability for each document asked."""
    from sklearn.ensemble import RandomForestClassifier

    scores = np.full(len(asked), 0.5)
    seed = int(seeds.generate_state(1)[0])

    def learn(chosen: Bools) -> Any:
        return RandomForestClassifier(min_samples_leaf=_LEAF, random_state=seed).fit(
            known[chosen], answers[chosen]
        )

    everyone: Any = None
    for label in np.unique(classes):
        here = known_classes == label
        n_inside = int(answers[here].sum())
        if min(n_inside, int(here.sum()) - n_inside) >= _FEWEST:
            model = learn(here)
        else:
            # A rare label borrows the model of all labels.
            everyone = model = everyone or learn(np.ones(len(known), dtype=bool))
        scores[classes == label] = model.predict_proba(asked[classes == label])[:, 1]
    return scores
