"""`discreet audit`: attack a way of training, and fail where it gives away more than it promised."""

import json
import sys
import tomllib
from collections.abc import Callable
from difflib import get_close_matches
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from discreet.cli.options import (
    NOTHING_SAID,
    READ,
    Quiet,
    TextOptions,
    check_output_file,
    named_values,
    reads_texts,
    refuse_given,
)
from discreet.errors import CorpusError, ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.audit import AuditReport
    from discreet.audit.canary_run import OneRunReport

#: Exit code where the attack proves more than was promised.
BROKEN = 3
_BROKEN = "BROKEN      more is proved than was promised"


class _Setting(NamedTuple):
    """What an audit can be told: its default, its kind, and what ``--set`` says of it where that names it."""

    default: Any
    kind: Any
    said: str = ""


_SETTINGS = {
    "corpus": _Setting(None, str),
    "trainer": _Setting("private", str),
    "shadows": _Setting(64, int),
    "topics": _Setting(20, int),
    "epsilon": _Setting(None, int | float),
    "delta": _Setting(1e-6, int | float),
    "attack": _Setting("lira", str),
    "seed": _Setting(None, int),
    "json": _Setting(None, str),
    "text": _Setting(None, str),
    "targets": _Setting(1, int, "targets=1 models are attacked"),
    "offline": _Setting(False, bool, "offline=true judges a document by shadows that did not see it"),
    "spread": _Setting("own", str, "spread=shrunk is steadier where shadows are few, 16 or less"),
    "noise": _Setting(
        "any",
        str,
        "noise=gaussian proves more where the promise rests on Gaussian noise alone, as that of the trainer "
        "private does",
    ),
    "canaries": _Setting(300, int, "canaries=300 are made up for words and shares"),
    "model": _Setting(None, str, "model=topics is the folder of the topics, for shares"),
    "bootstrap": _Setting(
        None,
        int,
        "bootstrap=1000 draws documents anew so many times, for intervals with the threshold in them",
    ),
    "jobs": _Setting(-1, int, "jobs=2 models are trained at once; all cores by default"),
    "folder": _Setting(None, str, "folder=models keeps finished models, to go on after a stop; needs --seed"),
    **{
        name: _Setting(None, bool if name in ("lowercase", "skip_empty", "keep_links") else str)
        for name in READ
    },
}
_NAMED = {name: setting.said for name, setting in _SETTINGS.items() if setting.said}


@reads_texts()
def audit(
    corpus: Annotated[
        Path | None,
        typer.Argument(help="File or folder that holds the documents; none for words and shares."),
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="TOML file of options and settings; what is given here wins.")
    ] = None,
    trainer: Annotated[
        str | None,
        typer.Option(help="private (the default), variational, gibbs, sklearn, or module:function."),
    ] = None,
    shadows: Annotated[int | None, typer.Option(help="Shadow models; even. By default 64.")] = None,
    topics: Annotated[int | None, typer.Option(min=1, help="Number of topics. By default 20.")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Promised for a document added or removed; private trains with it.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The promise's delta. By default 1e-6.")] = None,
    attack: Annotated[
        str | None,
        typer.Option(
            help="lira (the default); rmia: against other documents, for few shadows and --offline; words: the choice "
            "of words; shares: those of topics in groups."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help=f"Repeat it for others: {'; '.join(_NAMED.values())}."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Make the audit reproducible.")] = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Write scores and members here. Not for release.")
    ] = None,
    how: TextOptions = NOTHING_SAID,
    quiet: Quiet = False,
) -> None:
    """Guess who was in the training text. Exit code 3: more is proved than was promised."""
    from discreet.audit import bootstrap_intervals, lira
    from discreet.cli.display import console, progress
    from discreet.cli.files import say_skipped
    from discreet.corpus import read_corpus

    given = {
        "corpus": corpus, "trainer": trainer, "shadows": shadows, "topics": topics,
        "epsilon": epsilon, "delta": delta, "attack": attack, "seed": seed, "json": json_out,
        "text": how.text, **dict.fromkeys(_NAMED), **dict.fromkeys(READ), **how.read,
        **_checked(named_values(settings, tuple(_NAMED), "--set"), "--set"),
    }  # fmt: skip
    chosen = _merge(recipe, given)
    say = console(quiet=quiet)
    out = None if chosen["json"] is None else Path(chosen["json"])
    if out is not None:
        check_output_file(out, option="--json")
    if chosen["attack"] in OF_CANARIES:
        _tell(audit_canaries(given, chosen), out, say)
        return
    of_others = {_called(name): given[name] for name in ("canaries", "model")}
    refuse_given(of_others, "only with --attack words or shares; leave it out.")
    if chosen["corpus"] is None:
        raise ParameterError("the audit needs a corpus: name it, or have the recipe name it.")
    if chosen["folder"] is not None and chosen["seed"] is None:
        raise ParameterError(
            "--set folder= keeps models that another audit could take up only with the same seed: pass --seed 0."
        )
    # Without a promise there is nothing for delta to belong to.
    promised = chosen["delta"] if chosen["epsilon"] is not None or chosen["noise"] == "gaussian" else None
    train = find_trainer(chosen["trainer"], chosen["topics"], chosen["epsilon"], chosen["delta"])
    known_as = trainer_version(chosen["trainer"])
    source = Path(chosen["corpus"])
    words = chosen["stop_words"]
    chosen["stop_words"] = [words] if isinstance(words, str) else words
    how = TextOptions(chosen["text"], {name: chosen[name] for name in READ if chosen[name] is not None})
    known = how.format_of(source)
    say.print("reading ...")
    documents = read_corpus(source, known, **how.options(known))
    say_skipped(documents, say)
    with progress(quiet=quiet) as callback:
        report = lira(
            train,
            documents,
            n_shadows=chosen["shadows"],
            n_targets=chosen["targets"],
            online=not chosen["offline"],
            spread=chosen["spread"],
            noise=chosen["noise"],
            attack=chosen["attack"],
            epsilon=chosen["epsilon"],
            delta=promised,
            random_state=chosen["seed"],
            n_jobs=chosen["jobs"],
            folder=chosen["folder"],
            settings=json.dumps(
                [*(chosen[name] for name in ("trainer", "topics", "epsilon", "delta")), known_as]
            ),
            callback=callback,
        )
    more = ""
    if chosen["bootstrap"] is not None:
        drawn = bootstrap_intervals(report, n_resamples=chosen["bootstrap"], random_state=chosen["seed"])
        report.meta["bootstrap"] = {name: list(ends) for name, ends in drawn.items()}
        for name, (low, high) in drawn.items():
            share = name if name == "auc" else f"{float(name):.1%}"
            more += f"\nbootstrap   {share:<6}{low:.2%} to {high:.2%}"
    _tell(report, out, say, more, "; it tells who was in, so keep it to yourself")


def _tell(
    report: "AuditReport | OneRunReport", out: Path | None, say: "Console", more: str = "", of_file: str = ""
) -> None:
    """Write and say what was found; fail where more is proved than was promised."""
    from discreet._base.files import write_whole

    if out is not None:
        write_whole(json.dumps(report.to_dict(), allow_nan=False).encode(), out, "the audit", secret=True)
        say.print(f"wrote {out}{of_file}", markup=False)
    typer.echo(report.in_words() + more)
    if report.exceeds_promise():
        typer.echo(_BROKEN)
        raise typer.Exit(BROKEN)


def _merge(recipe: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """Take what was given, then what stands in the recipe, then the defaults."""
    read = {} if recipe is None else _read(recipe)
    defaults = {name: setting.default for name, setting in _SETTINGS.items()}
    return {**defaults, **read, **{name: value for name, value in given.items() if value is not None}}


def _read(recipe: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(recipe.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CorpusError(f"the recipe {recipe} cannot be read: {error}.") from None
    for name in values:
        if name not in _SETTINGS:
            raise ParameterError(f"the recipe {recipe} has {name!r}{_meant(name)}")
    _checked(values, f"the recipe {recipe}")
    for name in ("corpus", "folder", "json", "model"):  # paths in a recipe are seen from where it stands
        if name in values:
            values[name] = str(recipe.parent / values[name])
    return values


def _checked(values: dict[str, Any], where: str) -> dict[str, Any]:
    """Return settings whose values are of the kinds that they must have."""
    for name, value in values.items():
        kind = _SETTINGS[name].kind
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ParameterError(f"{where}: {name} has a value of the wrong kind.")
    return values


def _called(name: str) -> str:
    """Return how an option, or a setting, is written."""
    return f"--set {name}=" if name in _NAMED else "CORPUS" if name == "corpus" else f"--{name}"


def _meant(name: str) -> str:
    """Return the nearest name of an option, or all of them where none is near."""
    near = get_close_matches(name.lower().replace("-", "_"), _SETTINGS, n=1)
    return f"; did you mean {near[0]!r}?" if near else f", but takes {', '.join(_SETTINGS)}."


# Canaries


#: Attacks with canaries of their own: one run, no shadows, and no documents of anybody.
OF_CANARIES = ("words", "shares")
_OF_SHADOWS = ("corpus", "shadows", "targets", "topics", "offline", "spread", "bootstrap", "jobs", "folder")


def audit_canaries(given: dict[str, Any], chosen: dict[str, Any]) -> "OneRunReport":
    """Audit a choice of words, or shares of the topics of a model, by one run with canaries.

    Parameters
    ----------
    given : dict
        The options that were said: those of other attacks are refused.
    chosen : dict
        With the recipe's and the defaults.
    """
    from discreet.audit import audit_shares, audit_words

    attack, trainer = chosen["attack"], chosen["trainer"]
    promise: dict[str, Any] = {}
    of_others = {_called(name): given[name] for name in _OF_SHADOWS}
    refuse_given(of_others, f"for attacks on documents, and --attack {attack} makes up texts of its own.")
    if (attack == "shares") != (chosen["model"] is not None):
        raise ParameterError(
            "--attack shares needs --set model=, the folder of the topics, and no other attack has one."
        )
    if chosen["epsilon"] is not None:
        promise = {"epsilon": chosen["epsilon"], "delta": chosen["delta"]}
    elif trainer == "private":
        raise ParameterError("the trainer 'private' needs --epsilon: the promise to make.")
    elif chosen["noise"] == "gaussian":
        promise = {"delta": chosen["delta"]}
    if trainer != "private" and ":" not in trainer:
        raise ParameterError(f"--trainer must be private or module:function here, but is {trainer!r}.")
    how: dict[str, Any] = {
        "n_canaries": chosen["canaries"],
        "noise": chosen["noise"],
        "random_state": chosen["seed"],
        **promise,
    }
    if attack == "words":
        words = _words(promise) if trainer == "private" else load_function(trainer, "texts and seed")
        return audit_words(words, **how)
    from discreet.release import Release

    topics = Release.load(Path(chosen["model"]))
    own = "counts, labels, groups and seed"
    shares = _shares(topics, promise) if trainer == "private" else load_function(trainer, own)
    return audit_shares(shares, topics, **how)


def _words(promise: dict[str, Any]) -> Any:
    from discreet.central import PrivateCountVectorizer

    def choose(texts: list[str], seed: int) -> Any:
        return PrivateCountVectorizer(**promise, stop_words=None, random_state=seed).fit(texts)

    return choose


def _shares(topics: Any, promise: dict[str, Any]) -> Any:
    from discreet.central import TopicPrevalence

    def share(counts: Any, labels: Any, groups: list[str], seed: int) -> Any:
        return (
            TopicPrevalence(topics, groups=groups, **promise, random_state=seed)
            .fit(counts, by=labels)
            .release_
        )

    return share


# Ways of training


TRAINERS = ("private", "variational", "gibbs", "sklearn")


def find_trainer(name: str, topics: int, epsilon: float | None, delta: float) -> Callable[[Any, int], Any]:
    """Return a trainer by its name.

    Parameters
    ----------
    name : str
        One of ``TRAINERS``, or ``module:function`` for ``function(counts, seed)`` of one's own.
    topics : int
    epsilon : float, optional
        "private" trains with it.
    delta : float

    Returns
    -------
    callable
    """
    if ":" in name:
        return load_function(name, "counts and seed")
    if name == "private":
        if epsilon is None:
            raise ParameterError("the trainer 'private' needs --epsilon: the promise to train with.")
        return lambda counts, seed: _private(counts, seed, topics, epsilon, delta)
    if name == "variational":
        return lambda counts, seed: _variational(counts, seed, topics)
    if name == "gibbs":
        return lambda counts, seed: _gibbs(counts, seed, topics)
    if name == "sklearn":
        return lambda counts, seed: _sklearn(counts, seed, topics)
    raise ParameterError(
        f"--trainer must be one of {', '.join(TRAINERS)} or module:function, but is {name!r}."
    )


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


def _private(counts: Any, seed: int, topics: int, epsilon: float, delta: float) -> Any:
    from discreet.central import PrivateLDA

    model = PrivateLDA(topics, epsilon=epsilon, delta=delta, random_state=seed, allow_unlearnable=True)
    return model.fit(counts).components_


def _variational(counts: Any, seed: int, topics: int) -> Any:
    from discreet.lda import VariationalLDA

    return VariationalLDA(topics, random_state=seed).fit(counts).components_


def _gibbs(counts: Any, seed: int, topics: int) -> Any:
    from discreet.lda import GibbsLDA

    return GibbsLDA(topics, random_state=seed).fit(counts).components_


def _sklearn(counts: Any, seed: int, topics: int) -> Any:
    from sklearn.decomposition import LatentDirichletAllocation

    return LatentDirichletAllocation(topics, random_state=seed).fit(counts).components_
