"""Tokens that somebody else made: lists in a file, or what a callable of one's own returns for a text."""

from collections.abc import Callable, Iterable
from typing import Any

from discreet._articles import with_article
from discreet._validate import shown
from discreet.errors import CorpusError, Parameter, ParameterError

__all__ = ["OwnTokens", "check_tokens"]

_LONGEST_NAME = 200


class OwnTokens:
    """A callable on one document, checked: whatever it does wrong, no error shows text.

    Parameters
    ----------
    function : callable
        Takes one text, returns its tokens. It must be given the text alone, and tell nothing of others.
    """

    def __init__(self, function: Callable[[str], Iterable[str]]) -> None:
        if not callable(function):
            raise ParameterError(
                Parameter("tokenizer"),
                f" must be a Tokenizer, or a callable on one text that returns its words; got {shown(function)}.",
            )
        self._function = function
        named: Any = function if hasattr(function, "__qualname__") else type(function)
        name = f"{getattr(named, '__module__', '')}.{named.__qualname__}"
        #: By which a release calls it.
        self.name = name[:_LONGEST_NAME] if name.isprintable() else "a callable"

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of a text, without those that are blank."""
        tokens: list[str] | str = []
        failure = None
        try:
            tokens = check_tokens(self._function(text), blanks=True)
        except Exception as error:
            failure = type(error).__name__
        if failure is not None:  # raised out here, because the other error may hold the text
            raise CorpusError(
                f"the tokenizer {self.name} failed on a document with {with_article(failure)}, which is not shown "
                "because it may hold text; try it on texts of your own."
            )
        if isinstance(tokens, str):
            raise CorpusError(
                f"the tokenizer {self.name} must return the words of a text as a list of str: {tokens}."
            )
        return tokens


def check_tokens(document: Any, *, blanks: bool = False) -> list[str] | str:
    """Return the tokens of a document as a list, or say what is wrong with them; never shows one.

    Parameters
    ----------
    document : iterable of str
    blanks : bool, default False
        Whether tokens that are empty or blank are left out; otherwise an empty one is a mistake.
    """
    if isinstance(document, str | bytes) or not isinstance(document, Iterable):
        return f"expected a list of tokens, found {type(document).__name__}"
    tokens: list[Any] = list(document)
    for place, token in enumerate(tokens):
        if not isinstance(token, str):
            return f"token {place} is no text but {type(token).__name__}"
        if blanks and (not token or token.isspace()):
            continue
        if not token or len(f"{token}.".splitlines()) != 1:
            return f"token {place} is empty or holds a line break"
    return [token for token in tokens if token and not token.isspace()] if blanks else tokens
