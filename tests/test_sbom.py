"""What scripts/sbom lists: each thing once, with what needs it."""

import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "sbom.py"


def test_every_dependency_is_listed_with_what_needs_it():
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    listed = json.loads(done.stdout)
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.6")
    parts = {part["bom-ref"]: part for part in listed["components"]}
    assert len(parts) == len(listed["components"]) > 20
    ours = listed["metadata"]["component"]["bom-ref"]
    needs = {one["ref"]: one["dependsOn"] for one in listed["dependencies"]}
    assert set(needs) == {ours, *parts}
    assert all(set(others) <= set(parts) for others in needs.values())
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.match(r"[\w-]+", text)[0].lower() for text in asked}
    assert names <= {parts[ref]["name"] for ref in needs[ours]}
    assert all(re.fullmatch(r"pkg:pypi/[a-z0-9-]+@\S+", ref) for ref in parts)


def test_names_are_written_as_indexes_do():
    name_of = runpy.run_path(str(SCRIPT), run_name="sbom")["name_of"]
    assert [name_of(text) for text in ("Jinja2>=3.1", "dp_accounting<0.7", "ruamel.yaml ; extra == 'x'")] == [
        "jinja2",
        "dp-accounting",
        "ruamel-yaml",
    ]
