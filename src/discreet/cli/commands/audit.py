"""`discreet audit`: attack a way of training, and fail where it gives away more than it promised."""

import json
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.canary_audits import OF_CANARIES, audit_canaries
from discreet.cli.options import Force, Quiet, check_output_file
from discreet.cli.text_options import NOTHING_SAID, TextOptions, reads_texts
from discreet.errors import CorpusError, ParameterError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["audit"]

#: Exit code where the attack proves more than was promised.
BROKEN = 3
_BROKEN = "BROKEN      more is proved than was promised"

_OF_TEXTS = (
    "encoding",
    "delimiter",
    "skip_empty",
    "token_pattern",
    "stop_words",
    "languages",
    "ngrams",
    "phrases",
    "keep_links",
)
_DEFAULTS: dict[str, Any] = {
    "corpus": None,
    "trainer": "private",
    "shadows": 64,
    "targets": 1,
    "topics": 20,
    "epsilon": None,
    "delta": 1e-6,
    "offline": False,
    "spread": "own",
    "noise": "any",
    "attack": "lira",
    "canaries": 300,
    "model": None,
    "bootstrap": None,
    "jobs": -1,
    "folder": None,
    "seed": None,
    "json": None,
    "text": None,
    "format": None,
    **dict.fromkeys(_OF_TEXTS),
}
_KINDS = {
    "shadows": int,
    "targets": int,
    "canaries": int,
    "bootstrap": int,
    "topics": int,
    "jobs": int,
    "seed": int,
    "offline": bool,
    "skip_empty": bool,
    "keep_links": bool,
}


@reads_texts()
def audit(
    recipe: Annotated[
        Path | None, typer.Argument(help="TOML file of the options below; what is given here wins.")
    ] = None,
    corpus: Annotated[Path | None, typer.Option(help="File or folder that holds the documents.")] = None,
    trainer: Annotated[
        str | None,
        typer.Option(help="private (the default), variational, gibbs, sklearn, or module:function."),
    ] = None,
    shadows: Annotated[int | None, typer.Option(help="Shadow models; even. By default 64.")] = None,
    targets: Annotated[int | None, typer.Option(help="Models to attack. By default 1.")] = None,
    topics: Annotated[int | None, typer.Option(min=1, help="Number of topics. By default 20.")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Promised for a document added or removed; private trains with it.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The promise's delta. By default 1e-6.")] = None,
    offline: Annotated[
        bool | None,
        typer.Option("--offline/--online", help="Judge a document by shadows that did not see it."),
    ] = None,
    spread: Annotated[
        str | None,
        typer.Option(help="own (the default), or shrunk: steadier where shadows are few, 16 or less."),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="any (the default), or gaussian: proves more where the promise rests on Gaussian noise alone, as that "
            "of the trainer private does."
        ),
    ] = None,
    attack: Annotated[
        str | None,
        typer.Option(
            help="lira (the default); rmia: against other documents, for few shadows and --offline; words: the choice "
            "of words; shares: those of topics in groups."
        ),
    ] = None,
    canaries: Annotated[
        int | None,
        typer.Option(min=2, help="With --attack words or shares: how many are made up. By default 300."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="With --attack shares: folder of the topics, as fit wrote it.")
    ] = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            min=100, help="Draw documents anew so many times, for intervals with the threshold in them."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Models trained at once; -1 (the default): all cores.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Keep finished models here, to go on after a stop; needs --seed.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Make the audit reproducible.")] = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Write scores and members here. Not for release.")
    ] = None,
    how: TextOptions = NOTHING_SAID,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Guess who was in the training text. Exit code 3: more is proved than was promised."""
    from discreet._files import write_whole
    from discreet.audit import bootstrap_intervals, lira
    from discreet.cli.commands.convert import say_skipped
    from discreet.cli.display import console, progress
    from discreet.cli.trainers import find_trainer, trainer_version
    from discreet.corpus import read_corpus

    given = {
        "corpus": corpus, "trainer": trainer, "shadows": shadows, "targets": targets, "topics": topics,
        "epsilon": epsilon, "delta": delta, "offline": offline, "spread": spread, "noise": noise, "attack": attack,
        "canaries": canaries, "model": model, "bootstrap": bootstrap, "jobs": jobs,
        "folder": folder, "seed": seed, "json": json_out, "text": how.text, "format": how.file_format,
        **{name: getattr(how, name) or None for name in _OF_TEXTS},
    }  # fmt: skip
    chosen = _merge(recipe, given)
    say = console(quiet=quiet)
    if chosen["attack"] in OF_CANARIES:
        _of_canaries(given, chosen, say, force=force)
        return
    idle = [f"--{name}" for name in ("canaries", "model") if given[name] is not None]
    if idle:
        raise ParameterError(f"{' and '.join(idle)} go with --attack words or shares; leave them out.")
    if chosen["corpus"] is None:
        raise ParameterError("the audit needs a corpus: pass --corpus, or name it in the recipe.")
    if chosen["folder"] is not None and chosen["seed"] is None:
        raise ParameterError(
            "--folder keeps models that another audit could take up only with the same seed: pass --seed 0."
        )
    out = _file(chosen, force=force)
    # Without a promise there is nothing for delta to belong to.
    promised = chosen["delta"] if chosen["epsilon"] is not None or chosen["noise"] == "gaussian" else None
    train = find_trainer(chosen["trainer"], chosen["topics"], chosen["epsilon"], chosen["delta"])
    known_as = trainer_version(chosen["trainer"])
    source = Path(chosen["corpus"])
    words = chosen["stop_words"]
    chosen["stop_words"] = [words] if isinstance(words, str) else words
    how = TextOptions(
        text=chosen["text"], file_format=chosen["format"], **{name: chosen[name] for name in _OF_TEXTS}
    )
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
    drawn = {}
    if chosen["bootstrap"] is not None:
        drawn = bootstrap_intervals(report, n_resamples=chosen["bootstrap"], random_state=chosen["seed"])
        report.meta["bootstrap"] = {name: list(ends) for name, ends in drawn.items()}
    if out is not None:
        write_whole(json.dumps(report.to_dict(), allow_nan=False).encode(), out, "the audit", secret=True)
        say.print(f"wrote {out}; it tells who was in, so keep it to yourself", markup=False)
    typer.echo(report.in_words())
    for name, (low, high) in drawn.items():
        typer.echo(f"bootstrap   {name if name == 'auc' else f'{float(name):.1%}':<6}{low:.2%} to {high:.2%}")
    if report.exceeds_promise():
        typer.echo(_BROKEN)
        raise typer.Exit(BROKEN)


def _of_canaries(given: dict[str, Any], chosen: dict[str, Any], say: "Console", *, force: bool) -> None:
    """Audit words or shares, and say what is proved."""
    from discreet._files import write_whole

    out = _file(chosen, force=force)
    report = audit_canaries(given, chosen)
    if out is not None:
        write_whole(json.dumps(report.to_dict(), allow_nan=False).encode(), out, "the audit", secret=True)
        say.print(f"wrote {out}", markup=False)
    typer.echo(report.in_words())
    if report.exceeds_promise():
        typer.echo(_BROKEN)
        raise typer.Exit(BROKEN)


def _file(chosen: dict[str, Any], *, force: bool) -> Path | None:
    """Return the file that --json names, which can be written."""
    out = None if chosen["json"] is None else Path(chosen["json"])
    if out is not None:
        check_output_file(out, option="--json", force=force)
    return out


def _merge(recipe: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """Take what was given, then what stands in the recipe, then the defaults."""
    read = {} if recipe is None else _read(recipe)
    return {**_DEFAULTS, **read, **{name: value for name, value in given.items() if value is not None}}


def _read(recipe: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(recipe.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CorpusError(f"the recipe {recipe} cannot be read: {error}.") from None
    for name, value in values.items():
        if name not in _DEFAULTS:
            raise ParameterError(f"the recipe {recipe} has {name!r}{_meant(name)}")
        kinds = _KINDS.get(name, (int, float) if name in ("epsilon", "delta") else str)
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise ParameterError(f"the recipe {recipe}: {name} has a value of the wrong kind.")
    for name in ("corpus", "folder", "json", "model"):  # paths in a recipe are seen from where it stands
        if name in values:
            values[name] = str(recipe.parent / values[name])
    return values


def _meant(name: str) -> str:
    """Return the nearest name of an option, or all of them where none is near."""
    near = get_close_matches(name.lower().replace("-", "_"), _DEFAULTS, n=1)
    return f"; did you mean {near[0]!r}?" if near else f", but takes {', '.join(_DEFAULTS)}."
