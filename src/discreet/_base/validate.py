"""What parameters must be: rules as data that stand next to a signature, and all faults of a call in one error.

An estimator is a dataclass that declares each parameter with its type, rule and default (:func:`declared`); what
several parameters must be together is said in an ``_faults`` of its own, after those of ``super()``. A function calls
:func:`check`.

A word with its article, as it is spoken: "an int", "a list", "an ndarray", "a uint8".
"""

import ast
import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar, ParamSpec, TypeGuard, TypeVar

import numpy as np

from discreet.errors import DiscreetError, Parameter, ParameterError, Part, PrivacyError, Proposal

#: Longer text, or text with blanks, is no setting that somebody mistyped.
_LONGEST_WORD = 40
_LONGEST_PATH = 255
#: What other functions and libraries call a parameter, and what it may be called here.
_ELSEWHERE = {
    **dict.fromkeys(("n_components", "k"), ("n_topics",)),
    "alpha": ("doc_topic_prior",),
    "max_features": ("max_words",),
    "seed": ("random_state",),
    "sep": ("delimiter",),
    "column": ("text",),
    "vocabulary_is_public": ("words_are_public",),
    **dict.fromkeys(
        ("language", "languages", "stop_words"), ("stop_words", "tokenizer=Tokenizer(stop_words=...)")
    ),
}
_FILE_ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}$")
Estimator = TypeVar("Estimator", bound="Checked")
Given = ParamSpec("Given")
Returned = TypeVar("Returned")


@dataclass(frozen=True)
class Rule:
    """A test of one value, and the words that follow "must be" where it fails."""

    words: str
    holds: Callable[[Any], bool]


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether this is a whole number of any kind; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether this is a real number of any kind, infinite ones among them; NaN, True, False and 10**400 are not."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
    except OverflowError:  # whole, and beyond what a float can hold
        return False


def whole(least: int = 1, most: float = math.inf) -> Rule:
    """A whole number from ``least`` to ``most``."""
    if most < math.inf:
        words = f"a whole number from {least} to {most}"
    else:
        words = "a positive whole number" if least == 1 else f"a whole number of at least {least}"
    return Rule(words, lambda value: is_whole(value) and least <= value <= most)


def number(
    *,
    above: float | None = None,
    least: float | None = None,
    below: float = math.inf,
    most: float | None = None,
) -> Rule:
    """A real number within limits; finite, unless ``most`` is inf."""

    def holds(value: Any) -> bool:
        return (
            is_number(value)
            and value > (-math.inf if above is None else above)
            and (least is None or value >= least)
            and (value < below if most is None else value <= most)
        )

    sides: list[str] = []
    if above is not None:
        sides.append("positive" if above == 0 and most is None and below == math.inf else f"above {above:g}")
    if least is not None:
        sides.append(f"at least {least:g}")
    if most is not None:
        sides += [f"at most {most:g}"] if math.isfinite(most) else []
    else:
        sides.append("finite" if below == math.inf else f"below {below:g}")
    return Rule(f"{' and '.join(sides)}", holds)


def choice(*values: str) -> Rule:
    """One of a few words."""
    quoted = [f'"{value}"' for value in values]
    words = quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
    return Rule(words, lambda value: isinstance(value, str) and value in values)


def optional(rule: Rule) -> Rule:
    """None, or what another rule says."""
    return Rule(f"{rule.words}, or None", lambda value: value is None or rule.holds(value))


ANYTHING = Rule("anything", lambda value: True)
CALLBACK = optional(Rule("callable", callable))
#: What goes through shards; this floor knows it by its two methods.
ENGINE = optional(
    Rule(
        "an engine with the methods map_sum and map (discreet.engines)",
        lambda value: all(callable(getattr(value, name, None)) for name in ("map_sum", "map")),
    )
)
#: Of topics in a document: rounds compute in single precision, and square the prior's sum over topics.
DOC_TOPIC_PRIOR = number(least=1e-12, most=1e12)
FLAG = Rule("True or False", lambda value: isinstance(value, bool | np.bool_))
#: Of randomness that promises nothing, as scikit-learn takes it.
RANDOM = Rule(
    "a whole number of at least 0, a generator, or None",
    lambda value: SEED.holds(value) or isinstance(value, np.random.Generator | np.random.RandomState),
)
#: Of randomness that a promise rests on.
SEED = Rule(
    "a whole number of at least 0, or None (secure randomness)",
    lambda value: value is None or (is_whole(value) and value >= 0),
)
THREADS = Rule(
    "a whole number other than 0 (-1: all cores), or None",
    lambda value: value is None or (is_whole(value) and value != 0),
)


def rules(before: Mapping[str, Rule] | None = None, /, **each: Rule) -> Mapping[str, Rule]:
    """Return the rules of a signature: those of ``before`` and these, by the names of the parameters."""
    return MappingProxyType({**(before or {}), **each})


def faults_of(values: Mapping[str, Any], constraints: Mapping[str, Rule]) -> list[DiscreetError]:
    """Return an error for each value that breaks its rule; nothing is raised."""
    return [
        ParameterError(Parameter(name), f" must be {rule.words}, but is {shown(values[name])}.")
        for name, rule in constraints.items()
        if not rule.holds(values[name])
    ]


def first_few(items: Iterable[object], most: int = 5) -> str:
    """Join the first few items with commas and say how many more there are."""
    listed = list(items)
    text = ", ".join(str(item) for item in listed[:most])
    return text if len(listed) <= most else f"{text} and {len(listed) - most} more"


def rows_shown(rows: Iterable[int]) -> str:
    """Return the first few of numbers of rows as people count them."""
    return f"{first_few(row + 1 for row in rows)} (counted from 1)"


def shown(value: Any) -> str:
    """Return a value as an error may show it: whole where it is a number or a short word, otherwise its kind.

    Whoever passes a text, or a column of them, where a parameter stands must not find it in a log.
    """
    if value is None or isinstance(value, bool | int | float | np.number | np.bool_):
        return repr(value)
    if isinstance(value, str) and len(value) <= _LONGEST_WORD and not any(map(str.isspace, value)):
        return quoted(value)
    return kind_of(value) + (f" of {len(value)} characters" if isinstance(value, str) else "")


def quoted(text: str) -> str:
    """Return somebody else's text in quotes; no part of it reads as a parameter of :mod:`discreet.errors`."""
    return _plain(repr(text))


def _plain(text: str) -> str:
    return text.replace("`", "\\x60")


_ADDRESS = re.compile(r"[a-z][a-z0-9]+:/")


def path_shown(path: str | os.PathLike[str]) -> str:
    """Return a path that leads nowhere as an error may show it; what reads like a text is not shown.

    Whoever passes a text where a file is meant must not find it in a log. A name without blanks is shown, and one with
    blanks that ends as names of files do, or lies in a folder that exists.
    """
    name = os.fspath(path)
    one_line, folder = len(name) <= _LONGEST_PATH and name.isprintable(), os.path.dirname(name)  # noqa: PTH120
    if one_line and (not any(map(str.isspace, name)) or _FILE_ENDING.search(name) or is_folder(folder)):
        address = bool(_ADDRESS.match(name))
        return _plain(name) + " (an address, and only files are read: download it)" * address
    return f"what was given as a path (a text of {len(name)} characters)"


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads anywhere; a text too long for one does not (pathlib would raise, with the text)."""
    return os.path.exists(path)  # noqa: PTH110


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads to a folder; a text too long for one does not."""
    return os.path.isdir(path)  # noqa: PTH112


def collect(*checks: Callable[[], Any]) -> list[DiscreetError]:
    """Call each check, and return what they raise on purpose."""
    faults: list[DiscreetError] = []
    for each in checks:
        try:
            each()
        except DiscreetError as fault:
            faults.append(fault)
    return faults


def renamed(faults: Iterable[DiscreetError], names: Mapping[str, str]) -> list[DiscreetError]:
    """Return the same faults, with parameters called as a caller calls them."""

    def call(part: Any) -> Any:
        named = isinstance(part, Parameter | Proposal)
        return part._replace(name=names.get(part.name, part.name)) if named else part

    return [type(fault)(*map(call, fault.args)) for fault in faults]


def refuse(faults: Iterable[DiscreetError]) -> None:
    """Raise one error that tells all faults, those of the promise first; or nothing where there are none.

    Of several faults of the same parameters, as where two estimators share them, the first is told.

    Raises
    ------
    PrivacyError
        Where one of the faults touches the promise.
    ParameterError
        Otherwise.
    """
    ordered = sorted(faults, key=lambda fault: not isinstance(fault, PrivacyError))
    if not ordered:
        return
    told: set[tuple[str, ...]] = set()
    parts: list[Part] = []
    for fault in ordered:
        if fault.parameters not in told:
            parts += [*fault.args, " "]
        told |= {fault.parameters} - {()}
    kind = PrivacyError if isinstance(ordered[0], PrivacyError) else ParameterError
    raise kind(*parts[:-1])


def check(**arguments: tuple[Any, Rule]) -> None:
    """Refuse the arguments that break their rule, all in one ``ParameterError``: ``check(size=(size, whole()))``."""
    each = {name: rule for name, (_, rule) in arguments.items()}
    refuse(faults_of({name: value for name, (value, _) in arguments.items()}, each))


def nearest(word: str, names: Iterable[str]) -> str:
    """Return a question that names what was likely meant, after a blank; nothing where no name is near."""
    plain = {name.lower(): name for name in names}
    near = [plain[name] for name in get_close_matches(word.lower(), list(plain), 1, cutoff=0.7)]
    return f" Did you mean {quoted(near[0])}?" if near else ""


def suggesting(
    function: Callable[Given, Returned], like: Callable[..., Any] | None = None
) -> Callable[Given, Returned]:
    """Have a misspelt keyword refused with the one that was meant, as Python does by itself from 3.13 on.

    ``like``: the function that it hands its keywords to.
    """
    names = inspect.signature(like or function).parameters

    @wraps(function)
    def call(*args: Given.args, **given: Given.kwargs) -> Returned:
        for name in given:
            meant = _ELSEWHERE.get(name) or get_close_matches(name.removesuffix("_column"), names, 1)
            near = [one for one in meant if one.partition("=")[0] in names]
            if near and name not in names:
                raise TypeError(
                    f"{function.__qualname__}() got an unexpected keyword argument '{name}'. Did you mean '{near[0]}'?"
                )
        return function(*args, **given)

    return call


class Checked:
    """Base of estimators whose parameters have rules."""

    _constraints: ClassVar[Mapping[str, Rule]]

    def _faults(self) -> list[DiscreetError]:
        """Return all that is wrong with the parameters. Looks at no data."""
        return faults_of({name: getattr(self, name) for name in self._constraints}, self._constraints)

    def _check_parameters(self) -> None:
        """Raise one error that tells all that is wrong with the parameters."""
        refuse(self._faults())

    def __dir__(self) -> list[str]:
        # scikit-learn lists what dir() names in a notebook, and saves it with the notebook: no words of the texts there
        # unless somebody asks for them. Those of a private fit were released.
        private = math.isfinite(getattr(self, "epsilon", math.inf))
        return [name for name in super().__dir__() if private or name != "feature_names_in_"]


def declared(estimator: type[Estimator]) -> type[Estimator]:
    """Take the rules of an estimator's parameters from where these are declared, over ``dataclass``.

    ``n_topics: Annotated[int, whole()] = 20`` is a parameter, its type, its rule and its default. The constructor that
    ``dataclass`` makes of them keeps what it is given and does nothing else, as scikit-learn asks; its signature has
    the types alone.
    """
    found = inspect.get_annotations(estimator, eval_str=True)
    extra = {name: getattr(kind, "__metadata__", ()) for name, kind in found.items()}
    named = rules(**{name: metadata[0] for name, metadata in extra.items() if metadata})
    estimator._constraints = named  # pyright: ignore[reportPrivateUsage]
    made = estimator.__init__.__annotations__
    made |= {name: _type_alone(made[name]) for name in named}
    for name in vars(estimator).keys() & made.keys():  # defaults are the constructor's
        delattr(estimator, name)
    estimator.__init__ = suggesting(estimator.__init__)
    return estimator


def _type_alone(annotation: Any) -> Any:
    """Return what is annotated; of an annotation that is a text, its text."""
    if not isinstance(annotation, str):
        return annotation.__origin__
    subscript: Any = ast.parse(annotation, mode="eval").body
    return ast.unparse(subscript.slice.elts[0])


def elsewhere(home: str, *names: str) -> Callable[[type[Estimator]], type[Estimator]]:
    """Make a constructor say which class has parameters of these names, which it has not."""

    def decorate(estimator: type[Estimator]) -> type[Estimator]:
        init: Callable[..., None] = estimator.__init__

        @wraps(init)
        def checked(*args: Any, **kwargs: Any) -> None:
            refuse(
                ParameterError(Parameter(name), f" is a parameter of {home}: make one of those instead.")
                for name in kwargs
                if name in names
            )
            init(*args, **kwargs)

        estimator.__init__ = checked
        return estimator

    return decorate


#: Said with a vowel first, or, of those that are written with one, not.
_VOWEL = re.compile(r"[aeiou]|nd", re.IGNORECASE)
_NOT = re.compile(r"uint|uni[^nm]|us[aeu]|one", re.IGNORECASE)


def with_article(word: str) -> str:
    """Return a word after "a" or "an"."""
    return f"an {word}" if _VOWEL.match(word) and not _NOT.match(word) else f"a {word}"


def kind_of(value: object) -> str:
    """Return what kind of object a value is, with an article: never what it holds."""
    return with_article(type(value).__name__)
