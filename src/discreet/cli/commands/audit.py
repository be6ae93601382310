"""`discreet audit`: attack a way of training, and fail where it gives away more than it promised."""

import json
import sys
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.options import CountOrNone, Texts, check_output_file, named_values, refuse_given
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.audit import AuditReport
    from discreet.audit.canary_run import OneRunReport

#: Exit code where the attack proves more than was promised.
BROKEN = 3
_BROKEN = "BROKEN      more is proved than was promised"
#: What ``--set`` names: the default, and its kind.
_SETTINGS: dict[str, tuple[Any, type]] = {
    "targets": (1, int),
    "offline": (False, bool),
    "spread": ("own", str),
    "noise": ("any", str),
    "canaries": (300, int),
    "model": (None, str),
    "bootstrap": (None, int),
    "jobs": (-1, int),
    "folder": (None, str),
}
#: Attacks with canaries of their own: one run, no shadows, and no documents of anybody; settings of one kind alone.
_OF_CANARIES, _OF_SHADOWS = ("canaries", "model"), ("targets", "offline", "bootstrap", "jobs", "folder")
_DELTA, _SHADOWS, _TOPICS = 1e-6, 64, 20


def audit(
    corpus: Path | None = None,
    *,
    trainer: str = "private",
    shadows: int | None = None,
    topics: CountOrNone = None,
    epsilon: float | None = None,
    delta: float = _DELTA,
    attack: str = "lira",
    set_: list[str] | None = None,
    seed: int | None = None,
    json_: Path | None = None,
    how: Texts,
    quiet: bool = False,
) -> None:
    """Guess who was in the training text. Exit code 3: more is proved than was promised.

    CORPUS: File or folder that holds the documents; none for words and shares.
    --trainer: private, variational, gibbs, sklearn, or module:function.
    --shadows: Shadow models; even. By default 64.
    --topics: Number of topics. By default 20.
    --epsilon: Promised for a document added or removed; private trains with it.
    --delta: The promise's delta.
    --attack: lira; rmia: against other documents, for few shadows and --offline; words: the choice of words; shares:
        those of topics in groups.
    --set NAME=VALUE: Repeat it for others: targets=1 models are attacked; offline=true judges a document by shadows
        that did not see it; spread=shrunk is steadier where shadows are few, 16 or less; noise=gaussian proves more
        where the promise rests on Gaussian noise alone, as that of the trainer private does; canaries=300 are made up
        for words and shares; model=topics is the folder of the topics, for shares; bootstrap=1000 draws documents anew
        so many times, for intervals with the threshold in them; jobs=2 models are trained at once; all cores by
        default; folder=models keeps finished models, to go on after a stop; needs --seed.
    --seed: Make the audit reproducible.
    --json: Write scores and members here. Not for release.
    """
    from discreet.audit import bootstrap_intervals, lira
    from discreet.cli.display import console, progress
    from discreet.cli.files import say_skipped
    from discreet.corpus import read_corpus

    given = named_values(set_, tuple(_SETTINGS), "--set")
    for name, value in given.items():
        if type(value) is not _SETTINGS[name][1]:
            raise ParameterError(f"--set: {name} has a value of the wrong kind.")
    chosen: dict[str, Any] = {name: default for name, (default, _) in _SETTINGS.items()} | given
    say = console(quiet=quiet)
    if json_ is not None:
        check_output_file(json_, option="--json")
    # Without a promise there is nothing for delta to belong to.
    promised = delta if epsilon is not None or chosen["noise"] == "gaussian" else None
    if attack in ("words", "shares"):
        of_others = {"CORPUS": corpus, "--shadows": shadows, "--topics": topics}
        of_others |= {f"--set {name}=": given.get(name) for name in _OF_SHADOWS}
        refuse_given(of_others, f"for attacks on documents, and --attack {attack} makes up texts of its own.")
        said = {"epsilon": epsilon, "delta": promised}
        promise = {name: value for name, value in said.items() if value is not None}
        _tell(_with_canaries(attack, trainer, chosen, promise, seed), json_, say)
        return
    of_others = {f"--set {name}=": given.get(name) for name in _OF_CANARIES}
    refuse_given(of_others, "only with --attack words or shares; leave it out.")
    if corpus is None:
        raise ParameterError("the audit needs a corpus: name it.")
    if chosen["folder"] is not None and seed is None:
        raise ParameterError(
            "--set folder= keeps models that another audit could take up only with the same seed: pass --seed 0."
        )
    n_topics = topics or _TOPICS
    train = find_trainer(trainer, n_topics, epsilon, delta)
    known = how.format_of(corpus)
    say.print("reading ...")
    documents = read_corpus(corpus, known, **how.options(known))
    say_skipped(documents, say)
    how_found: dict[str, Any] = {"attack": attack, "spread": chosen["spread"], "noise": chosen["noise"]}
    with progress(quiet=quiet) as callback:
        report = lira(
            train,
            documents,
            n_shadows=_SHADOWS if shadows is None else shadows,
            n_targets=chosen["targets"],
            online=not chosen["offline"],
            **how_found,
            epsilon=epsilon,
            delta=promised,
            random_state=seed,
            n_jobs=chosen["jobs"],
            folder=chosen["folder"],
            settings=json.dumps([trainer, n_topics, epsilon, delta, trainer_version(trainer)]),
            callback=callback,
        )
    more = ""
    if chosen["bootstrap"] is not None:
        drawn = bootstrap_intervals(report, n_resamples=chosen["bootstrap"], random_state=seed)
        report.meta["bootstrap"] = {name: list(ends) for name, ends in drawn.items()}
        for name, (low, high) in drawn.items():
            share = name if name == "auc" else f"{float(name):.1%}"
            more += f"\nbootstrap   {share:<6}{low:.2%} to {high:.2%}"
    _tell(report, json_, say, more, "; it tells who was in, so keep it to yourself")


def _tell(
    report: "AuditReport | OneRunReport", out: Path | None, say: "Console", more: str = "", of_file: str = ""
) -> None:
    """Write and say what was found; fail where more is proved than was promised."""
    from discreet._base.files import write_whole

    if out is not None:
        write_whole(json.dumps(report.to_dict(), allow_nan=False).encode(), out, "the audit", secret=True)
        say.print(f"wrote {out}{of_file}")
    typer.echo(report.in_words() + more)
    if report.exceeds_promise():
        typer.echo(_BROKEN)
        raise typer.Exit(BROKEN)


def _with_canaries(
    attack: str, trainer: str, chosen: dict[str, Any], promise: dict[str, Any], seed: int | None
) -> "OneRunReport":
    """Audit a choice of words, or shares of the topics of a model, by one run with canaries."""
    from discreet.audit import audit_shares, audit_words
    from discreet.central import PrivateCountVectorizer, TopicPrevalence
    from discreet.release import Release

    if (attack == "shares") != (chosen["model"] is not None):
        raise ParameterError(
            "--attack shares needs --set model=, the folder of the topics, and no other attack has one."
        )
    if trainer == "private" and "epsilon" not in promise:
        raise ParameterError("the trainer 'private' needs --epsilon: the promise to make.")
    if trainer != "private" and ":" not in trainer:
        raise ParameterError(f"--trainer must be private or module:function here, but is {trainer!r}.")
    how: dict[str, Any] = {"n_canaries": chosen["canaries"], "noise": chosen["noise"], "random_state": seed}
    own = "texts and seed" if attack == "words" else "counts, labels, groups and seed"
    function = load_function(trainer, own) if trainer != "private" else None
    if attack == "words":

        def choose(texts: list[str], seed: int) -> Any:
            return PrivateCountVectorizer(**promise, stop_words=None, random_state=seed).fit(texts)

        return audit_words(function or choose, **how, **promise)
    topics = Release.load(Path(chosen["model"]))

    def share(counts: Any, labels: Any, groups: list[str], seed: int) -> Any:
        shares = TopicPrevalence(topics, groups=groups, **promise, random_state=seed)
        return shares.fit(counts, by=labels).release_

    return audit_shares(function or share, topics, **how, **promise)


# Ways of training


def find_trainer(name: str, topics: int, epsilon: float | None, delta: float) -> Callable[[Any, int], Any]:
    """Return a trainer by its name, or ``function(counts, seed)`` of ``module:function``."""
    if ":" in name:
        return load_function(name, "counts and seed")
    from sklearn.decomposition import LatentDirichletAllocation

    from discreet._base.arrays import column_words
    from discreet.central import PrivateLDA
    from discreet.lda import GibbsLDA, VariationalLDA

    if name == "private" and epsilon is None:
        raise ParameterError("the trainer 'private' needs --epsilon: the promise to train with.")
    promise: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "allow_unlearnable": True}
    makers: dict[str, tuple[Any, dict[str, Any]]] = {
        "private": (PrivateLDA, promise),
        "variational": (VariationalLDA, {}),
        "gibbs": (GibbsLDA, {}),
        "sklearn": (LatentDirichletAllocation, {}),
    }
    if name not in makers:
        raise ParameterError(
            f"--trainer must be one of {', '.join(makers)} or module:function, but is {name!r}."
        )
    make, settings = makers[name]

    def train(counts: Any, seed: int) -> Any:
        words = {"vocabulary": column_words(counts.shape[1]), "words_are_public": True}
        known = words if name == "private" else {}  # as the attacker knows them
        return make(topics, random_state=seed, **settings).fit(counts, **known).components_

    return train


def trainer_version(name: str) -> str:
    """Return what tells this trainer from an earlier one of the same name, so that no model of that one is taken.

    Parameters
    ----------
    name : str
        As for :func:`find_trainer`, which has found it.

    Returns
    -------
    str
        A version; of a function of one's own the digest of the file it stands in, not of what that file imports.
    """
    if ":" in name:
        source = getattr(sys.modules[name.partition(":")[0]], "__file__", None)
        return "" if source is None else sha256(Path(source).read_bytes()).hexdigest()
    return version("scikit-learn" if name == "sklearn" else "discreet")


def load_function(name: str, takes: str) -> Callable[..., Any]:
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
        raise ParameterError(f"--trainer {name} must name a function of {takes}.")
    return found
