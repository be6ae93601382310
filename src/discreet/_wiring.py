"""Where rooms meet that must not know each other. Only the package's root imports this."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet._presenter import presenter
from discreet._sharding import sharding

if TYPE_CHECKING:
    from discreet.audit import AuditReport
    from discreet.release import Release
    from discreet.release.numbers import FitRelease

__all__ = ["connect"]


def _later(module: str, name: str) -> Callable[..., Any]:
    """Return a function that is looked for when it is first called: a room loads when it is needed."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(f"discreet.{module}"), name)(*args, **kwargs)

    return call


def _page(release: "Release", audit: "AuditReport | None", fit: "FitRelease | None") -> str:
    from discreet.audit import roc_svg
    from discreet.report.page import report

    return report(release, audit, "" if audit is None else roc_svg(audit), fit)


def connect() -> None:
    """Tell releases how they are shown, and models who goes through shards."""
    sharding.through = _later("engines.process", "ShardRunner")
    presenter.page, presenter.write_page = _page, _later("report.page", "write_report")
    presenter.card = _later("report.cards.card", "card")
    presenter.prevalence_card = _later("report.cards.numbers_card", "prevalence_card")
    presenter.fit_card = _later("report.cards.numbers_card", "fit_card")
    presenter.prevalence_page = _later("report.prevalence_page", "prevalence_page")
    presenter.notebook = _later("report.notebook", "release_html")
    presenter.numbers_notebook = _later("report.notebook", "numbers_html")
