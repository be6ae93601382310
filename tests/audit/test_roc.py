"""The picture of an attack, and its place in the report."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from discreet import Release
from discreet.audit import AuditReport, roc_svg
from discreet.cli.app import run
from discreet.errors import ParameterError
from discreet.privacy import Ledger

SPACE = "{http://www.w3.org/2000/svg}"


def attack(name="LiRA", **more):
    rng = np.random.default_rng(0)
    members = rng.random((1, 2000)) < 0.5
    return AuditReport(members + rng.normal(size=members.shape), members, name, **more)


def test_picture_is_well_formed_and_shows_what_is_promised():
    root = ElementTree.fromstring(roc_svg(attack("<b>&", epsilon=1.0, delta=1e-5)))
    classes = [element.get("class") for element in root.iter(SPACE + "path")]
    assert {"roc-curve roc-0", "roc-ceiling", "roc-guess", "roc-beyond"} <= set(classes)
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
    curve = next(p for p in root.iter(SPACE + "path") if p.get("class") == "roc-curve roc-0")
    x, y = (float(n) for n in curve.get("d")[1:].split("L")[0].split())
    assert x == 68.0
    assert y == pytest.approx((14 + (470 - 56)) / 2, abs=0.1)


def test_several_attacks_share_a_picture():
    picture = roc_svg({"one": attack(), "two": attack(epsilon=2.0)})
    assert "roc-1" in picture
    assert "epsilon 2" in picture
    for wrong in ({}, {str(i): attack() for i in range(5)}):
        with pytest.raises(ParameterError, match="1 to 4"):
            roc_svg(wrong)


def test_report_shows_the_audit_and_says_that_it_must_stay(tmp_path, capsys):
    release = Release(np.array([[0.6, 0.4], [0.2, 0.8]]), ["tea", "rain"], Ledger(1.0, 1e-6))
    plain = release.to_html()
    assert "What an attacker found" not in plain
    audit = attack("<script>", epsilon=0.1, coins="independent")
    page = release.to_html(audit=audit)
    assert "Keep this page." in page
    assert "That is more than" in page
    assert "computed from the release alone, and" not in page.replace(
        "but the audit is computed from the release", ""
    )
    assert "<script>”" not in page
    assert "That is more than" not in release.to_html(audit=attack(epsilon=9.0, coins="independent"))
    assert "Proved" not in release.to_html(audit=attack())
    release.save(tmp_path / "model")
    (tmp_path / "audit.json").write_text(json.dumps(audit.to_json()))
    (tmp_path / "broken.json").write_text("{")
    command = ["report", str(tmp_path / "model"), "--out", str(tmp_path / "r.html"), "--audit"]
    assert run([*command, str(tmp_path / "audit.json")]) == 0
    assert (tmp_path / "r.html").read_text() == page
    assert run([*command, str(tmp_path / "broken.json")]) == 2
    assert "not an audit" in capsys.readouterr().err
