"""Where rooms meet that must not know each other. Only the package's root imports this."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet._presenter import presenter
from discreet._sharding import sharding

if TYPE_CHECKING:
    from discreet.audit import AuditReport
    from discreet.engines.through import Through
    from discreet.release import Release
    from discreet.release.goodness_of_fit import FitRelease
    from discreet.release.prevalence import PrevalenceRelease

__all__ = ["connect"]


def _card(release: "Release") -> str:
    from discreet.report.cards.card import card

    return card(release)


def _prevalence_card(release: "PrevalenceRelease") -> str:
    from discreet.report.cards.numbers_card import prevalence_card

    return prevalence_card(release)


def _fit_card(release: "FitRelease") -> str:
    from discreet.report.cards.numbers_card import fit_card

    return fit_card(release)


def _page(release: "Release", audit: "AuditReport | None", fit: "FitRelease | None") -> str:
    from discreet.audit import roc_svg
    from discreet.report.page import report

    return report(release, audit, "" if audit is None else roc_svg(audit), fit)


def _write_page(page: str, path: Path, *, secret: bool) -> None:
    from discreet.report.page import write_report

    write_report(page, path, secret=secret)


def _prevalence_page(release: "PrevalenceRelease") -> str:
    from discreet.report.prevalence_page import prevalence_page

    return prevalence_page(release)


def _notebook(release: "Release") -> str:
    from discreet.report.notebook import release_html

    return release_html(release)


def _through(*how: Any) -> "Through":
    from discreet.engines.through import Through

    return Through(*how)


def connect() -> None:
    """Tell releases how they are shown, and models who goes through shards."""
    sharding.through = _through
    presenter.card, presenter.page, presenter.write_page = _card, _page, _write_page
    presenter.prevalence_card, presenter.fit_card = _prevalence_card, _fit_card
    presenter.prevalence_page, presenter.notebook = _prevalence_page, _notebook
