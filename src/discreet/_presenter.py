"""How a release is shown: filled in by the package's root, so that ``release`` need not know of ``report``."""

from collections.abc import Callable
from typing import Any

__all__ = ["presenter"]


class _Presenter:
    """Eight functions; :mod:`discreet` names them, and loads them when they are first called.

    Attributes
    ----------
    card : callable
        The model card of a release, as Markdown.
    prevalence_card, fit_card : callable
        Those of shares in groups, and of how well topics fit.
    prevalence_page : callable
        The page of a prevalence release, as HTML.
    page : callable
        The report of a release and, optionally, of an audit and of how well it fits, as HTML.
    write_page : callable
        Write that page to a file.
    notebook, numbers_notebook : callable
        What a notebook shows of a release, and of shares in groups or how well topics fit, as HTML.
    """

    card: Callable[..., str]
    prevalence_card: Callable[..., str]
    fit_card: Callable[..., str]
    page: Callable[..., str]
    write_page: Callable[..., Any]
    prevalence_page: Callable[..., str]
    notebook: Callable[..., str]
    numbers_notebook: Callable[..., str]


presenter = _Presenter()
