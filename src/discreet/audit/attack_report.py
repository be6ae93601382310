r"""What a membership attack found: scores, who was in, the figures that follow from both, and a picture of them.

Next to the rates stands what the target's own promise allows. An :math:`(\epsilon, \delta)`-private model (one
document added or removed) lets no test get past

.. math:: \mathrm{TPR} \le \min\{1,\; e^\epsilon \mathrm{FPR} + \delta,\;
          1 - e^{-\epsilon}(1 - \delta - \mathrm{FPR})\}.

Gaussian noise allows less: :math:`\Phi(\Phi^{-1}(\mathrm{FPR}) + \mu)`.

Rates come with Clopper and Pearson's exact intervals, areas with DeLong's. Both take documents as independent
draws, which documents that share one model are only roughly: they describe, they prove nothing. What is proved
is :meth:`AuditReport.epsilon_lower_bound`, by :mod:`discreet.audit.one_run`.

A report tells who was in the training corpus. It is for whoever holds the text, and never part of a release.

The picture (:func:`roc_svg`)
------------------------------
True against false positives, both on logarithmic axes, below the promise's ceiling. An attack that finds few members,
but those without doubt, shows on the left of such axes and nowhere in an area under a curve. Axes and curves begin at
one false alarm, 1 / number of others: whoever is found before the first false alarm is drawn there. Left of it nothing
was measured, and the ceiling, which goes on falling, would seem broken. Between two thresholds a curve is level, as no
test lies between.

The picture is one SVG element without script, style or identifiers, so that it can stand in a page of a strict policy;
it names no document.

References
----------
DeLong, DeLong, Clarke-Pearson, "Comparing the areas under two or more correlated receiver operating
characteristic curves", Biometrics 44(3), 1988. Carlini et al., "Membership inference attacks from first
principles", arXiv:2112.03570.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from discreet._base.arrays import as_array, as_numbers
from discreet._base.sealed import Seal
from discreet._base.validate import check, choice, whole
from discreet.audit.arguments import CONFIDENCE, RATE, Noise, as_members, check_promise
from discreet.audit.distinguishing import rate_interval
from discreet.audit.one_run import epsilon_of_mu, one_run_bound, one_run_mu_bound
from discreet.errors import CorpusError, ParameterError
from discreet.privacy.accounting.curves import gdp_mu

Floats = NDArray[np.float64]
Coins = Literal["independent", "unknown"]
#: False-positive rates that are told.
RATES = (0.001, 0.01, 0.1)
#: Numbers of guesses that are tried: even, and depending on the number of coins alone.
GUESSES = (10, 30, 100, 300, 1000, 3000, 10000)
_TOLD = ("attack", "epsilon", "delta", "coins", "noise", "guesses", "meta")
_SEAL = Seal("discreet.audit/2", "audit", ParameterError, "make one by `discreet audit --json`", 2**32)
#: Of the picture.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 560, 470, 68, 16, 14, 56


@dataclass(frozen=True)
class AuditReport:
    """Scores of an attack beside the truth.

    Parameters
    ----------
    scores : array of shape (n_targets, n_documents) or (n_documents,)
        Larger means member.
    members : array of bool, of the same shape
    attack : str
        Its name.
    epsilon, delta : float, optional
        What the target promised for adding or removing one document.
    coins : {"independent", "unknown"}
        How members were drawn, for the proved bound: each by its own fair coin, or nobody knows how.
    meta : dict
        Anything else of JSON values: number of shadows, trainer, seed.
    noise : {"any", "gaussian"}
        "gaussian" where the promise rests on Gaussian noise alone, with everybody in every round, as that of
        :class:`~discreet.PrivateLDA` on public words: more is proved then, and less allowed. It needs ``delta``.
    guesses : sequence of int, optional
        How many guesses are made for the proved bound, fixed before the run; of several numbers the best counts, paid
        for. By default 10, 30, 100, ... up to the number of coins.

    Raises
    ------
    ParameterError
        If scores are not finite numbers or not of the members' shape, members are not booleans of both kinds, or
        the promise is impossible: epsilon below 0, delta below 0 or from 1.
    """

    scores: NDArray[np.float64] = field(repr=False)
    members: NDArray[np.bool_] = field(repr=False)
    attack: str = "attack"
    epsilon: float | None = None
    delta: float | None = None
    coins: Coins = "unknown"
    meta: dict[str, Any] = field(default_factory=dict)
    noise: Noise = "any"
    guesses: Sequence[int] = GUESSES

    def __post_init__(self) -> None:
        try:
            scores = np.atleast_2d(np.array(as_numbers(self.scores, "scores", ""), dtype=np.float64))
        except (CorpusError, TypeError):
            raise ParameterError("scores must be numbers, one for each target and document.") from None
        members = np.atleast_2d(np.array(as_array(self.members, "members")))
        if scores.shape != members.shape or scores.ndim != 2:
            raise ParameterError(
                f"scores and members must have one shape, (targets, documents), but got {scores.shape} and "
                f"{members.shape}."
            )
        members = as_members(members, scores.shape)
        if not np.isfinite(scores).all():
            raise ParameterError("scores must be finite numbers, but some are not.")
        if members.all() or not members.any():
            raise ParameterError("an attack is judged on members and others, but there is only one kind.")
        tried = {f"guesses[{place}]": (number, whole()) for place, number in enumerate(self.guesses)}
        check(coins=(self.coins, choice(*get_args(Coins))), **tried)
        check_promise(self.epsilon, self.delta, self.noise)
        if not isinstance(self.attack, str) or not isinstance(self.meta, dict):
            raise ParameterError("attack must be a text and meta a dict.")
        for name, value in (("scores", scores), ("members", members)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return false and true positive rates of every threshold, from (0, 0) to (1, 1)."""
        order = np.argsort(-self.scores, axis=None, kind="stable")
        scores = self.scores.ravel()[order]
        # All documents of equal score have one threshold: between them no test can choose.
        last = np.r_[np.flatnonzero(np.diff(scores)), len(scores) - 1]
        found = np.cumsum(self.members.ravel()[order])[last]
        wrong = last + 1 - found
        return np.r_[0.0, wrong / wrong[-1]], np.r_[0.0, found / found[-1]]

    def tpr_at(self, fpr: float) -> float:
        """Return the largest true positive rate among thresholds of at most this false positive rate."""
        return self._found(fpr) / int(self.members.sum())

    def _found(self, fpr: float) -> int:
        check(fpr=(fpr, RATE))
        false, true = self.curve()
        allowed = np.searchsorted(false, fpr * (1 + 1e-12), side="right") - 1
        return round(float(true[allowed]) * int(self.members.sum()))

    def tpr_interval(self, fpr: float, confidence: float = 0.95) -> tuple[float, float]:
        """Return Clopper and Pearson's interval of :meth:`tpr_at`, the threshold taken as given."""
        check(confidence=(confidence, CONFIDENCE))
        low, high = rate_interval(self._found(fpr), int(self.members.sum()), (1 - confidence) / 2)
        return float(low), float(high)

    @property
    def auc(self) -> float:
        """Probability that a member scores above another document, ties counted half."""
        return float(self._placements()[0].mean())

    def _placements(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return, of each member, the part of others below it; of each other, the part of members above it."""
        inside, outside = self.scores[self.members], self.scores[~self.members]
        ranks = rankdata(np.r_[inside, outside])
        n_in, n_out = len(inside), len(outside)
        below = (ranks[:n_in] - rankdata(inside)) / n_out
        above = 1.0 - (ranks[n_in:] - rankdata(outside)) / n_in
        return below, above

    def auc_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return DeLong's interval of :attr:`auc`, cut to what can be."""
        check(confidence=(confidence, CONFIDENCE))
        below, above = self._placements()
        spread = sum(float(side.var(ddof=1)) / len(side) for side in (below, above) if len(side) > 1)
        reach = float(norm.ppf(0.5 + confidence / 2)) * math.sqrt(spread)
        return max(0.0, self.auc - reach), min(1.0, self.auc + reach)

    def ceiling(self, fpr: Any) -> Any:
        """Return the largest true positive rate that the promise allows; 1 where nothing was promised."""
        fpr = np.asarray(fpr, dtype=np.float64)
        if self.epsilon is None:
            return np.ones_like(fpr)[()]
        if self.noise == "gaussian":
            mu = gdp_mu(self.epsilon, self.delta or 0.0) if self.epsilon < math.inf else math.inf
            return norm.cdf(norm.ppf(fpr) + mu)[()] if mu < math.inf else np.ones_like(fpr)[()]
        epsilon, delta = min(self.epsilon, 700.0), self.delta or 0.0
        steep = math.exp(epsilon) * fpr + delta
        return np.minimum(np.minimum(1.0, steep), 1.0 - math.exp(-epsilon) * (1.0 - delta - fpr))[()]

    def epsilon_lower_bound(self, confidence: float = 0.95) -> float:
        """Return what the attack proves about epsilon for adding or removing one document.

        Of :math:`r` guesses, half say "in" (the highest scores) and half "out" (the lowest). :math:`r` is tried
        from a fixed list, and each of its values gets an equal share of what is missing to 1, so that choosing
        the best is paid for.

        Parameters
        ----------
        confidence : float, default 0.95

        Returns
        -------
        float
            At least 0. Above the true epsilon in at most 1 - confidence of all audits, whatever the attack. With
            Gaussian noise what :meth:`mu_lower_bound` amounts to at delta.

        Raises
        ------
        ParameterError
            If it is not known how the members were drawn.

        Notes
        -----
        Assumed: ``coins`` is true, scores were computed without the target's members, and the target's
        delta is at most ``delta`` (0 where there is none). All targets count together, for each coin had a say in
        one run only.
        """
        if self.noise == "gaussian":
            return epsilon_of_mu(self.mu_lower_bound(confidence), self.delta)
        delta, n_coins = self.delta or 0.0, self.scores.size
        return self._best(confidence, lambda n, r, each: one_run_bound(n, r, each, delta, n_coins))

    def mu_lower_bound(self, confidence: float = 0.95) -> float:
        """Return the mu of Gaussian differential privacy that the attack proves, in the same way.

        It means something only where the target's noise is Gaussian (:mod:`discreet.audit.one_run`).
        """
        return self._best(confidence, lambda n, r, each: one_run_mu_bound(n, r, each, self.scores.size))

    def _best(self, confidence: float, proved: Callable[[int, int, float], float]) -> float:
        """Return the best of what each number of guesses proves, with an equal share of what is missing to 1."""
        check(confidence=(confidence, CONFIDENCE))
        right = self.right_guesses()
        each = 1 - (1 - confidence) / max(1, len(right))
        return max((proved(n, r, each) for n, r in right), default=0.0)

    def right_guesses(self) -> list[tuple[int, int]]:
        """Return, for each number of guesses, how many come right: "in" of the highest scores, "out" of the lowest."""
        if self.coins == "unknown":
            raise ParameterError(
                "a bound on epsilon needs to know how members were drawn: draw them by fair coins, and pass "
                "coins='independent'."
            )
        members = self.members.ravel()[np.argsort(self.scores, axis=None, kind="stable")]
        inside, outside = np.r_[0, np.cumsum(members[::-1])], np.r_[0, np.cumsum(~members)]
        return [(int(inside[r - r // 2] + outside[r // 2]), r) for r in self.guesses if r <= len(members)]

    def exceeds_promise(self, confidence: float = 0.95) -> bool:
        """Whether the attack proves more than was promised."""
        return self.epsilon is not None and self.epsilon_lower_bound(confidence) > self.epsilon

    def most_exposed(self, n: int = 10) -> NDArray[np.int64]:
        """Return the documents found most surely: members by falling score, then nobody. Never publish it."""
        check(n=(n, whole(0)))
        best = np.where(self.members, self.scores, -np.inf).max(axis=0)
        order = np.argsort(-best, kind="stable")[:n]
        return order[np.isfinite(best[order])]

    def in_words(self) -> str:
        """Return the figures as lines of text; no document is named."""
        lines = [
            f"attack      {self.attack}",
            f"documents   {self.scores.shape[1]:,} x {len(self.scores)} targets",
        ]
        low, high = self.auc_interval()
        lines.append(f"AUC         {self.auc:.3f}  ({low:.3f} to {high:.3f})")
        for fpr in RATES:
            low, high = self.tpr_interval(fpr)
            line = f"TPR at {f'{fpr:.1%}':<6}{self.tpr_at(fpr):.2%}  ({low:.2%} to {high:.2%})"
            if self.epsilon is not None:
                line += f", at most {self.ceiling(fpr):.2%} if the promise holds"
            lines.append(line)
        if self.coins != "unknown":
            mu = f"; mu {self.mu_lower_bound():.3f}, if noise is Gaussian" if self.noise == "gaussian" else ""
            lines.append(f"epsilon     at least {self.epsilon_lower_bound():.2f} (95 % confidence{mu})")
        if self.epsilon is not None:
            lines.append(f"promised    epsilon {self.epsilon:g}, delta {self.delta or 0.0:g}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values that ``json.dumps`` takes, scores and members included: it is not for release.

        ``found`` says what came out, at 95 per cent: "tpr" and its interval by false-positive rate, "auc" and its
        interval, "epsilon_lower_bound", "exceeds_promise" (null where nobody knows how members were drawn). A
        promise of no privacy has the epsilon "inf".
        """
        content = {name: getattr(self, name) for name in _TOLD} | {
            "epsilon": "inf" if self.epsilon == math.inf else self.epsilon,
            "guesses": list(self.guesses),
            "found": {
                "tpr": {f"{fpr:g}": self.tpr_at(fpr) for fpr in RATES},
                "tpr_interval": {f"{fpr:g}": list(self.tpr_interval(fpr)) for fpr in RATES},
                "auc": self.auc,
                "auc_interval": list(self.auc_interval()),
                "epsilon_lower_bound": None if self.coins == "unknown" else self.epsilon_lower_bound(),
                "exceeds_promise": None if self.coins == "unknown" else self.exceeds_promise(),
            },
            "scores": self.scores.tolist(),
            "members": self.members.astype(int).tolist(),
        }
        return _SEAL.close(content)

    @classmethod
    def from_json(cls, values: dict[str, Any] | bytes, where: object = "what was given") -> AuditReport:
        """Read what :meth:`to_dict` returned, or the bytes of a file of it; ``where`` is what errors call it."""
        with _SEAL.reading(values, where) as told:
            read = {name: told[name] for name in _TOLD}
            read["epsilon"] = math.inf if read["epsilon"] == "inf" else read["epsilon"]
            return cls(np.array(told["scores"], dtype=float), np.array(told["members"]) == 1, **read)


def roc_svg(report: AuditReport) -> str:
    """Draw an attack as an SVG element, below the ceiling of what was promised.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    str
        Classes ``roc``, ``roc-axis``, ``roc-curve``, ``roc-ceiling`` and ``roc-guess`` may be styled.
    """
    axes = _Axes(min(0.1, 1 / _others(report)), min(0.1, 1 / int(report.members.sum())))
    grid = np.geomspace(axes.false, 1.0, 181)
    lines = [_Line("roc-guess", "guessing", 'stroke="#888" stroke-dasharray="2 4"', grid, grid)]
    beyond = ""
    if report.epsilon is not None:
        top = np.asarray(report.ceiling(grid))
        corner = (np.r_[grid, 1.0, 0.0], np.r_[top, 1.0, 1.0])
        beyond = axes.path(*corner, "roc-beyond", 'fill="#8c1d18" fill-opacity=".09"', end="Z")
        delta = f", delta {report.delta:g}" if report.delta else ""
        words = f"most that epsilon {report.epsilon:g}{delta} allows"
        lines.append(_Line("roc-ceiling", words, 'stroke="#8c1d18" stroke-width="2"', grid, top))
    lines.append(_Line("roc-curve", report.attack, 'stroke="#2b6a8f" stroke-width="2.5"', *_steps(report)))
    drawn = "".join(axes.path(line.false, line.true, line.name, line.paint) for line in lines)
    told = f"{escape(report.attack)}: {report.tpr_at(0.01):.1%} of members at 1% false alarms"
    return (
        f'<svg class="roc" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="Members found against false alarms. {told}" fill="none" font-family="sans-serif" font-size="13">'
        f"{axes.drawn()}{beyond}{drawn}{_legend(lines)}</svg>"
    )


class _Line(NamedTuple):
    """A line of the picture, and what it is called."""

    name: str
    words: str
    paint: str
    false: Floats
    true: Floats


class _Axes(NamedTuple):
    """The rates at which the axes begin, and what is drawn along them."""

    false: float
    true: float

    def place(self, false: float, true: float) -> tuple[float, float]:
        """Return where a pair of rates stands; what is below the axes stands on them."""
        across = 1 - math.log(max(false, self.false)) / math.log(self.false)
        up = 1 - math.log(max(true, self.true)) / math.log(self.true)
        right, down = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return _LEFT + across * right, _HEIGHT - _BOTTOM - up * down

    def path(self, false: Floats, true: Floats, name: str, paint: str, end: str = "") -> str:
        places = (self.place(float(f), float(t)) for f, t in zip(false, true, strict=True))
        line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        return f'<path class="{name}" d="{line}{end}" {paint}/>'

    def drawn(self) -> str:
        (left, bottom), (right, top) = self.place(0.0, 0.0), self.place(1.0, 1.0)
        middle, lines, words = (top + bottom) / 2, [f'<path d="M{left} {top}V{bottom}H{right}"/>'], []
        for power in range(-_decades(self.false), 1):
            x, _ = self.place(10.0**power, 1.0)
            lines.append(f'<path d="M{x:.1f} {top}V{bottom + 5}"/>')
            words.append(_text(f"{x:.1f}", bottom + 21, "end" if power == 0 else "middle", _percent(power)))
        for power in range(-_decades(self.true), 1):
            _, y = self.place(1.0, 10.0**power)
            lines.append(f'<path d="M{left - 5} {y:.1f}H{right}"/>')
            words.append(_text(left - 9, f"{y + 4:.1f}", "end", _percent(power)))
        words.append(_text((left + right) / 2, bottom + 46, "middle", "false alarms (FPR)"))
        turned = _text(14, middle, "middle", "members found (TPR)")
        words.append(turned.replace(">", f' transform="rotate(-90 14 {middle})">', 1))
        return (
            f'<g class="roc-axis" stroke="currentColor" stroke-opacity=".25">{"".join(lines)}</g>'
            f'<g class="roc-words" fill="currentColor">{"".join(words)}</g>'
        )


def _text(x: object, y: object, anchor: str, words: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'


def _others(report: AuditReport) -> int:
    return int((~report.members).sum())


def _steps(report: AuditReport) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return corners of the curve from one false alarm on, one threshold a column of the picture: the last."""
    false, true = report.curve()
    one = 1 / _others(report)
    later = false > one * (1 + 1e-9)
    columns = np.round(np.log10(false[later]) * 120).astype(np.int64)
    last = np.r_[columns[1:] != columns[:-1], True][: len(columns)]
    across = np.r_[one, false[later][last]]
    up = np.r_[true[~later].max(), true[later][last]]
    # Level to the next threshold, then up to what it finds.
    return np.repeat(across, 2)[1:], np.repeat(up, 2)[:-1]


def _decades(low: float) -> int:
    """Return how many whole decades lie between a rate and 1."""
    return math.floor(-math.log10(low) + 1e-9)


def _percent(power: int) -> str:
    return f"{100 * 10.0**power:g}\u202f%"


def _legend(lines: list[_Line]) -> str:
    """Set names in the lower right corner, where no curve of a working attack goes."""
    x, parts = _WIDTH - _RIGHT - 12, ""
    for y, line in zip(range(_HEIGHT - _BOTTOM - 14, 0, -19), lines, strict=False):
        parts += f'<path class="{line.name}" d="M{x - 26} {y - 4}H{x}" {line.paint}/>'
        words = _text(x - 34, y, "end", escape(line.words))
        parts += f'<g class="roc-words" fill="currentColor">{words}</g>'
    return parts
