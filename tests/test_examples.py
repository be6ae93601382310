"""The example notebooks run from top to bottom, as a script of a reader's own."""

import ast
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: What each leaves behind, besides the files that it begins with.
MADE = {
    "audit": {"attack.svg"},
    "hospital": {"budget.json", "notes.csv", "report.html", "staff.txt", "wards.html", "wards.txt"},
    "local_reports": {"reports.bin"},
    "quick_look": {"report.html", "topics"},
    "silos": set(),
}
QUICK = ("quick_look",)


@pytest.mark.parametrize(
    "example",
    [pytest.param(one, id=one.stem, marks=() if one.stem in QUICK else pytest.mark.slow) for one in EXAMPLES],
)
def test_an_example_runs(example, tmp_path):
    here = tmp_path / "examples"
    here.mkdir()
    (tmp_path / "docs" / "tutorial").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "tutorial" / "hospital.py", tmp_path / "docs" / "tutorial")
    shutil.copy(example, here)
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", example.name],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert {path.name for path in here.iterdir()} == MADE[example.stem] | {example.name}


def test_examples_are_notebooks_without_outputs_and_listed():
    listed = re.findall(r"^\| `(\w+)\.py`", (ROOT / "examples" / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == [example.stem for example in EXAMPLES] == sorted(MADE)
    for example in EXAMPLES:
        text = example.read_text()
        assert "format_name: percent" in text
        assert re.search(r"^# %% \[markdown\]\n# # ", text, re.MULTILINE)
        assert text.count("\n# %%\n") >= 4
    assert not list((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_calls_what_there_is(example):
    tree = ast.parse(example.read_text())
    known = {
        alias.asname or alias.name: getattr(importlib.import_module(node.module), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("discreet")
        for alias in node.names
    }
    called = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known
    ]
    assert called
    for call in called:
        keywords = {word.arg for word in call.keywords} - {None}
        inspect.signature(known[call.func.id]).bind_partial(*call.args, **dict.fromkeys(keywords))
