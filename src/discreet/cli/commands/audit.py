"""`discreet audit`: attack a way of training, and fail where it gives away more than it promised."""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

import discreet
from discreet.cli.options import Count, Texts, check_output_file, named_values
from discreet.errors import ParameterError

#: Exit code where the attack proves more than was promised.
BROKEN = 3
#: What ``--set`` names.
_OTHERS = ("n_targets", "online", "spread", "noise", "n_jobs")


def audit(
    corpus: Path,
    *,
    trainer: str = "private",
    shadows: int = 64,
    topics: Count = 20,
    epsilon: float | None = None,
    delta: float = 1e-6,
    set_: list[str] | None = None,
    seed: int | None = None,
    json_: Path | None = None,
    how: Texts,
    quiet: bool = False,
) -> None:
    """Guess who was in the training text. Exit code 3: more is proved than was promised.

    --trainer: private, variational, gibbs, sklearn, or module:function.
    --shadows: Shadow models; even.
    --epsilon: Promised for a document added or removed; private trains with it.
    --delta: The promise's delta.
    --set NAME=VALUE: Repeat it for others: n_targets=1 models are attacked; online=false judges a document by shadows
        that did not see it; spread=shrunk is steadier where shadows are few, 16 or less; noise=gaussian proves more
        where the promise rests on Gaussian noise alone, as that of the trainer private does; n_jobs=2 models are
        trained at once, by default one on each core.
    --seed: Make the audit reproducible.
    --json: Write scores and members here. Not for release.
    """
    from discreet._base.files import write_whole
    from discreet.audit import lira
    from discreet.cli.display import console, progress
    from discreet.cli.files import say_skipped

    how_found: dict[str, Any] = {"noise": "any", "n_jobs": -1} | named_values(set_, _OTHERS, "--set")
    say = console(quiet=quiet)
    check_output_file(json_, option="--json")
    train = find_trainer(trainer, topics, epsilon, delta)
    known = how.format_of(corpus)
    options = how.options(known)
    say.print("reading ...")
    documents = discreet.read_corpus(corpus, known, **options)
    say_skipped(documents, say)
    # Without a promise there is nothing for delta to belong to.
    promised = delta if epsilon is not None or how_found["noise"] == "gaussian" else None
    with progress(quiet=quiet) as callback:
        report = lira(
            train,
            documents,
            n_shadows=shadows,
            epsilon=epsilon,
            delta=promised,
            random_state=seed,
            callback=callback,
            **how_found,
        )
    if json_ is not None:
        write_whole(json.dumps(report.to_dict(), allow_nan=False).encode(), json_, "the audit", secret=True)
        say.print(f"wrote {json_}; it tells who was in, so keep it to yourself")
    typer.echo(report.in_words())
    if report.exceeds_promise():
        typer.echo("BROKEN      more is proved than was promised")
        raise typer.Exit(BROKEN)


# Ways of training


def find_trainer(name: str, topics: int, epsilon: float | None, delta: float) -> Callable[[Any, int], Any]:
    """Return a trainer by its name, or ``function(counts, seed)`` of ``module:function``."""
    if ":" in name:
        return load_function(name)
    from sklearn.decomposition import LatentDirichletAllocation

    from discreet._base.arrays import column_words
    from discreet.central import PrivateLDA
    from discreet.lda import GibbsLDA, VariationalLDA

    if name == "private" and epsilon is None:
        raise ParameterError("the trainer 'private' needs --epsilon: the promise to train with.")
    promise: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "allow_unlearnable": True}
    makers: dict[str, Any] = {"private": PrivateLDA, "variational": VariationalLDA, "gibbs": GibbsLDA}
    makers["sklearn"] = LatentDirichletAllocation
    if name not in makers:
        raise ParameterError(
            f"--trainer must be one of {', '.join(makers)} or module:function, but is {name!r}."
        )

    def train(counts: Any, seed: int) -> Any:
        if name != "private":
            return makers[name](topics, random_state=seed).fit(counts).components_
        words = column_words(counts.shape[1])  # as the attacker knows them
        model = PrivateLDA(topics, random_state=seed, **promise)
        return model.fit(counts, vocabulary=words, words_are_public=True).components_

    return train


def load_function(name: str) -> Callable[..., Any]:
    """Return ``function`` of ``module:function``, which lies where the command is called from or is installed."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # an installed command does not look where it is called from
        sys.path.append(here)
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(f"--trainer {name}: {error}.") from None
    if not callable(found):
        raise ParameterError(f"--trainer {name} must name a function of counts and seed.")
    return found
