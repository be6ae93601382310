"""The picture of an attack, and its place in the report."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from discreet import Release
from discreet.audit import AuditReport, roc_svg
from discreet.cli.app import run
from discreet.privacy import Ledger

SPACE = "{http://www.w3.org/2000/svg}"


def attack(name="LiRA", **more):
    rng = np.random.default_rng(0)
    members = rng.random((1, 2000)) < 0.5
    return AuditReport(members + rng.normal(size=members.shape), members, name, **more)


def test_picture_is_well_formed_and_shows_what_is_promised():
    root = ElementTree.fromstring(roc_svg(attack("<b>&", epsilon=1.0, delta=1e-5)))
    classes = [element.get("class") for element in root.iter(SPACE + "path")]
    assert {"roc-curve", "roc-ceiling", "roc-guess", "roc-beyond"} <= set(classes)
    assert "<b>&" in "".join(root.itertext())
    assert "roc-ceiling" not in roc_svg(attack())
    for path in root.iter(SPACE + "path"):
        numbers = [float(n) for n in re.findall(r"-?\d+\.?\d*", path.get("d"))]
        assert min(numbers) >= 0
        assert max(numbers) <= 560


def test_curve_stands_where_the_rates_say():
    """1 % false alarms stand half way up four decades, and so do 1 % found."""
    members = np.arange(20000) < 10000
    scores = np.r_[np.arange(100) + 1e6, np.zeros(9900), np.zeros(10000)]
    root = ElementTree.fromstring(roc_svg(AuditReport(scores, members)))
    curve = next(p for p in root.iter(SPACE + "path") if p.get("class") == "roc-curve")
    x, y = (float(n) for n in curve.get("d")[1:].split("L")[0].split())
    assert x == 68.0
    assert y == pytest.approx((14 + (470 - 56)) / 2, abs=0.1)


def curve_points(report, name="roc-curve"):
    root = ElementTree.fromstring(roc_svg(report))
    curve = next(p for p in root.iter(SPACE + "path") if p.get("class") == name)
    return [tuple(float(n) for n in pair.split()) for pair in curve.get("d")[1:].split("L")]


@pytest.mark.parametrize(("others", "shown"), [(300, ["1", "10", "100"]), (4000, ["0.1", "1", "10", "100"])])
def test_nothing_is_drawn_left_of_one_false_alarm(others, shown):
    """Members found before the first false alarm stand at 1 / others, and there the axis begins."""
    members = np.arange(others + 1000) < 1000
    scores = np.zeros(len(members))
    scores[:5], scores[1000] = 2.0, 1.0
    report = AuditReport(scores, members, epsilon=1.0, delta=1e-5)
    points = curve_points(report)
    assert points[0] == (68.0, pytest.approx(414 - 400 * (1 + np.log10(5 / 1000) / 3), abs=0.06))
    first = float(report.curve()[0][1:][report.curve()[0][1:] > 0][0])
    assert first == pytest.approx(1 / others)
    guess = curve_points(report, "roc-guess")
    assert guess[0][0] == 68.0
    assert guess[0][1] == pytest.approx(414 - 400 * max(0.0, 1 - np.log10(others) / 3), abs=0.06)
    words = [e.text for e in ElementTree.fromstring(roc_svg(report)).iter(SPACE + "text")]
    assert words[: len(shown)] == [f"{percent}\u202f%" for percent in shown]


def test_a_few_lucky_members_before_the_first_false_alarm_do_not_cross_the_ceiling():
    """Two of a thousand at no false alarm are no fault: at rates that were not measured they would seem one."""
    members = np.arange(2000) < 1000
    scores = np.random.default_rng(0).normal(size=2000)
    scores[:2], scores[1000:1002] = 9.0, 8.0
    report = AuditReport(scores, members, epsilon=1.0)
    false, true = report.curve()
    assert (true > report.ceiling(np.maximum(false, 1e-4))).any()  # how the picture was drawn before
    ceiling = dict(curve_points(report, "roc-ceiling"))
    start = curve_points(report)[0]
    assert start[1] >= ceiling[start[0]]


def test_between_two_thresholds_the_curve_is_level():
    members = np.arange(2000) < 1000
    scores = np.where(np.arange(2000) % 1000 < 100, 1.0, 0.0)  # all tied: 10 % of either, or everybody
    points = curve_points(AuditReport(scores, members))
    assert points[0] == (68.0, 414.0)
    ten = 68 + 476 * (2 / 3)
    assert points[1:] == [
        (pytest.approx(ten, abs=0.06), 414.0),
        (pytest.approx(ten, abs=0.06), pytest.approx(414 - 400 * 2 / 3, abs=0.06)),
        (544.0, pytest.approx(414 - 400 * 2 / 3, abs=0.06)),
        (544.0, 14.0),
    ]


def test_report_shows_the_audit_and_says_that_it_must_stay(tmp_path, capsys):
    release = Release(np.array([[0.6, 0.4], [0.2, 0.8]]), ["tea", "rain"], Ledger(1.0, 1e-6))
    plain = release.to_html()
    assert "What an attacker found" not in plain
    audit = attack("<script>", epsilon=0.1, coins="independent")
    page = release.to_html(audit=audit)
    assert "Keep this page." in page
    assert "That is more than" in page
    assert "the one above is not one of them" in page
    assert "the one above is not one of them" not in release.to_html(audit=attack())
    assert "computed from the release alone, and" not in page.replace(
        "but the audit is computed from the release", ""
    )
    assert "<script>”" not in page
    assert "That is more than" not in release.to_html(audit=attack(epsilon=9.0, coins="independent"))
    assert "another model" in release.to_html(audit=attack(epsilon=9.0))
    assert "another model" not in release.to_html(audit=attack())
    for same in (release.promise.epsilon, 1.0, 0.995):
        assert "another model" not in release.to_html(audit=attack(epsilon=same))
    assert "Proved" not in release.to_html(audit=attack())
    release.save(tmp_path / "model")
    (tmp_path / "audit.json").write_text(json.dumps(audit.to_dict()))
    (tmp_path / "broken.json").write_text("{")
    command = ["report", str(tmp_path / "model"), "--out", str(tmp_path / "r.html"), "--audit"]
    assert run([*command, str(tmp_path / "audit.json")]) == 0
    assert (tmp_path / "r.html").read_text() == page
    assert (tmp_path / "r.html").stat().st_mode & 0o777 == 0o600
    assert run(["report", str(tmp_path / "model"), "--out", str(tmp_path / "plain.html")]) == 0
    assert (tmp_path / "plain.html").stat().st_mode & 0o777 == 0o644
    (tmp_path / "r.html").unlink()
    assert run([*command, str(tmp_path / "broken.json")]) == 2
    assert "holds no audit" in capsys.readouterr().err
