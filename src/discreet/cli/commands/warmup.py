"""`discreet warmup`: compile every kernel once and keep it on disk, so that the first real call does not wait.

Each task is a tiny job through a public name, on made-up counts. What it computes is thrown away.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError

#: Numbers of topics for which the sampler's kernel is compiled: each block of 16 has its own.
TOPICS = "20,50,100,200"


def warmup(topics: str = TOPICS, quiet: bool = False) -> None:
    """Compile all kernels and keep them on disk; afterwards nothing waits for a compiler.

    --topics: Numbers of topics, with commas, to compile GibbsLDA's sampler for.
    """
    from discreet.cli.commands.choose_topics import numbers_of_topics
    from discreet.cli.display import console, progress

    work = tasks(numbers_of_topics(topics))
    start = time.process_time(), time.perf_counter()
    with progress(quiet=quiet) as callback:
        for done, job in enumerate(work, 1):
            job()
            callback("compiling", done, len(work))
    cpu, wall = time.process_time() - start[0], time.perf_counter() - start[1]
    folders = cache_folders()
    say = console(quiet=quiet)
    if not folders:
        raise ParameterError("nothing was compiled: NUMBA_DISABLE_JIT is set; unset it and try again.")
    say.print(f"{len(work)} tasks in {wall:.1f} s ({cpu:.1f} s of CPU time). The machine code is in")
    for folder in folders:
        say.print(f"  {folder}")
    say.print("and is compiled anew when discreet, numba or the processor changes.")


def tasks(n_topics: list[int]) -> list[Callable[[], Any]]:
    """Return what to run: together these reach every kernel of the package."""
    import numpy as np
    import scipy.sparse as sp

    from discreet.central import HybridGibbsLDA, PrivateCountVectorizer, PrivateLDA, PrivateSVILDA
    from discreet.corpus import Corpus
    from discreet.lda import GibbsLDA, VariationalLDA, fold_in
    from discreet.lda._fold_in import query_statistic
    from discreet.lda.gibbs.estimator import MOST_TABLE_TOPICS
    from discreet.lda.moments.moments import add_pair_counts
    from discreet.privacy import Bound

    rng = np.random.default_rng(0)
    counts = rng.poisson(0.6, (48, 40))
    counts[:, 0] += 1
    weights = counts + 0.5
    topic_word = rng.dirichlet(np.ones(40), 4)
    words = [f"w{i}" for i in range(40)]
    texts = [" ".join(np.repeat(words, row)) for row in counts]
    listed = Corpus(sp.csr_array(counts), words, words_are_public=True)
    persons = np.arange(48) // 2
    private: dict[str, Any] = {"epsilon": 50.0, "random_state": 0}

    def gibbs(k: int) -> None:
        model = GibbsLDA(k, init="random", n_sweeps=2, random_state=0, n_jobs=2).fit(counts)
        model.set_params(init="fast").fit(counts)

    def variational() -> None:
        for size in (None, 16):
            model = VariationalLDA(4, max_iter=2, batch_size=size, random_state=0, n_jobs=2).fit(counts)
            model.transform(counts)
            model.score(counts)

    def fold() -> None:
        fold_in(topic_word, counts)
        fold_in(topic_word, weights)
        for method in ("maximum_likelihood", "variational"):
            fold_in(topic_word, counts, method=method)
        query_statistic(topic_word, counts)
        query_statistic(np.stack([topic_word, topic_word]), counts)

    def private_lda() -> None:
        for unit, of in (("document", None), ("person", persons)):
            PrivateLDA(4, privacy_unit=unit, allow_unlearnable=True, **private).fit(listed, persons=of)
            PrivateSVILDA(4, privacy_unit=unit, sampling_rate=0.5, **private).fit(listed, persons=of)

    def vocabulary() -> None:
        for method in ("weighted_gaussian", "sips"):
            PrivateCountVectorizer(epsilon=50.0, method=method, random_state=0).fit(texts)

    def hybrid() -> None:
        for noise in ("laplace", "gaussian"):
            HybridGibbsLDA(4, epsilon=50.0, n_sweeps=2, noise=noise, random_state=0).fit(listed)

    def bounds() -> None:
        for norm in ("l1", "l2"):
            Bound(norm=norm).place(topic_word[0])

    def bit_counts() -> None:
        rows = (counts > 0).astype(np.uint8)
        add_pair_counts(rows, np.zeros((40, 40), np.int64))

    blocks = {-(-k // 16): k for k in n_topics if k <= MOST_TABLE_TOPICS}
    return [
        private_lda,
        vocabulary,
        fold,
        variational,
        *((lambda k=k: gibbs(k)) for k in [*blocks.values(), MOST_TABLE_TOPICS + 1]),
        bounds,
        bit_counts,
        hybrid,
    ]


def cache_folders() -> list[Path]:
    """Return where the machine code of the kernels that were loaded is kept."""
    import sys

    found: set[Path] = set()
    for name, module in list(sys.modules.items()):
        if name.startswith("discreet."):
            for value in vars(module).values():
                stats = getattr(value, "stats", None)
                path = getattr(stats, "cache_path", None)
                if path is not None and getattr(value, "signatures", None):
                    found.add(Path(path))
    return sorted(found)
