"""Cutting new texts as those of a release were cut: from what its settings say, and what they cannot hold.

A release names the pattern, the languages and the range of n-grams, which is enough to do it again. It holds no
callable, no list of phrases and no list of stop words of one's own: of these it has the name or a digest, and asks
for the same.
"""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from discreet.corpus.tokens.stop_words import LANGUAGES
from discreet.corpus.tokens.tokenizer import Tokenizer
from discreet.errors import Parameter, ParameterError, Proposal

__all__ = ["tokenizer_like"]

#: Of a repetition that is not called endless.
_LONG = 8
_LISTED = re.compile(r"([a-z ]+) \(\d+\)")


def tokenizer_like(
    settings: Mapping[str, Any],
    *,
    tokenizer: Any = None,
    token_pattern: str | None = None,
    stop_words: Any = None,
    phrases: Any = None,
) -> Tokenizer:
    """Return a tokenizer that cuts texts as those of a release were cut.

    Parameters
    ----------
    settings : mapping
        ``release.configuration``.
    tokenizer, stop_words, phrases
        The same callable and lists again, where a release only names them. Stop words of languages that it names are
        left out as they were; those of one's own matter for n-grams, and where they are among its public words.
    token_pattern : str, optional
        Another pattern than that of the release, or one in place of its callable.

    Returns
    -------
    Tokenizer

    Raises
    ------
    ParameterError
        Where something is missing that a release cannot hold, or is not the same.
    """
    named, counted = settings.get("tokenizer"), settings.get("phrases")
    runs = settings.get("ngram_range")
    if named is not None and tokenizer is None and token_pattern is None:
        raise ParameterError(
            f"the texts of this release were cut into words by {named}, which a file cannot hold; give it again, in "
            "Python: read_corpus(..., tokenizer=tokenizer_like(release.configuration, tokenizer=...)).",
        )
    pattern = token_pattern
    if token_pattern is None and tokenizer is None and "token_pattern" in settings:
        pattern = str(settings["token_pattern"])
        if not _is_plain(pattern):
            raise ParameterError(
                "the release was trained with a token pattern of its own, which may come from anybody and could run "
                f"for ever: {pattern[:100]!r}. If you trust it, give it yourself: ",
                Proposal("token_pattern"),
                ".",
            )
    words = stop_words
    if words is None and settings.get("stop_words") is not None:
        words = _named_lists(str(settings["stop_words"]), for_runs=runs is not None)
    options: dict[str, Any] = {"tokenizer": tokenizer, "stop_words": words, "phrases": phrases}
    if pattern is not None:
        options["token_pattern"] = pattern
    if runs is not None:
        shortest, _, longest = str(runs).partition(",")
        options["ngram_range"] = (shortest, longest)
    made = Tokenizer(
        lowercase=settings.get("lowercase", True), keep_links=settings.get("keep_links"), **options
    )
    now = made.settings()
    if named is not None and tokenizer is not None and now["tokenizer"] != named:
        raise ParameterError(
            Parameter("tokenizer"),
            f" is {now['tokenizer']}, but the texts of this release were cut by {named}.",
        )
    if now.get("phrases_digest") != settings.get("phrases_digest"):
        raise ParameterError(
            Parameter("phrases"),
            f" must be the {counted or 0} phrases that count as one word in this release; give the same list, or none "
            "where it has none.",
        )
    if runs is not None and now["stop_words_digest"] != settings.get("stop_words_digest"):
        raise ParameterError(
            Parameter("stop_words"),
            f" must be those of this release, {settings.get('stop_words', 'none')}: its runs of words depend on "
            "them; give the same lists.",
        )
    return made


def _named_lists(told: str, *, for_runs: bool) -> str | None:
    """Return the languages whose stop words a release names; None where there are none, or runs need others, too."""
    lists = [name.strip(", ") for name in _LISTED.findall(told)]
    known = [name for name in lists if name in LANGUAGES.values()]
    if for_runs:
        return ",".join(known) if len(known) == len(lists) else None
    if find_spec("stop_words") is None:  # words left out are hardly ever words of the release: do without
        known = [name for name in known if name == "english"]
    return ",".join(known) or None


def _is_long(repetition: str) -> bool:
    """Whether a range such as {2,9} has no end, or one so far away that it might as well have none."""
    low, comma, high = repetition.strip("{}").partition(",")
    return bool(comma) and (not high or int(high) - int(low or 0) > _LONG)


def _is_plain(pattern: str) -> bool:
    """Whether a regular expression takes at most time quadratic in a text.

    It has no group, no alternative, and at most two repetitions, of which one may be without end.
    """
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    bare = re.sub(r"\\.", "x", re.sub(r"^\(\?[aimu]+\)", "", pattern), flags=re.DOTALL)
    repetitions = re.findall(r"[*+?]|\{\d*,?\d*\}", bare)
    endless = [one for one in repetitions if one in ("*", "+") or _is_long(one)]
    return not set(bare) & set("()|") and len(repetitions) <= 2 and len(endless) <= 1
