"""The trusted base: the files that the promise rests on, their length and imports, and what nobody else may do."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import discreet

ROOT = Path(discreet.__file__).parent
PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "trusted-base.md"
MOST_LINES = 3_000
#: What else the files may import.
LIBRARIES = {"attrs", "cryptography", "dp_accounting", "numba", "numpy", "scipy"}
#: Rooms beside the base that draw exact noise or coins, and by which samplers; the page says why.
DRAWERS = {
    "privacy": {"_draws", "_exact", "bernoulli", "gaussian", "laplace"},
    "central": {"bernoulli"},
    "federated": {"bernoulli", "gaussian"},
}
SAMPLERS = {
    "bernoulli": "bernoulli",
    "Coins": "bernoulli",
    "rounded_gaussian": "gaussian",
    "discrete_laplace": "laplace",
}


def text():
    return PAGE.read_text(encoding="utf-8")


def files_on_the_page():
    table = text().split("## What stands outside")[0]
    return sorted(
        f"privacy/{name}"
        for row in re.findall(r"^\| (`.*?) \|", table, re.M)
        for name in re.findall(r"`([\w/]+\.py)`", row)
    )


BASE = files_on_the_page()
CHECKS = {"errors"} | {
    f"_base.{name}" for name in re.findall(r"`(\w+)`", text().split("base checks (`_base/`")[1].split(")")[0])
}


def module_of(path):
    return "discreet." + str(path.relative_to(ROOT).with_suffix("")).replace("/", ".")


MODULES = {module_of(ROOT / name) for name in BASE}


def trees():
    for path in sorted(ROOT.rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree):
    """Yield what a module imports, function bodies included, for types alone left out: (module, name)."""
    typing = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def lines_of_code(path):
    source = path.read_text(encoding="utf-8")
    documented = set()
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            documented |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    rows = enumerate(source.splitlines(), 1)
    return sum(
        bool(row.strip()) and not row.strip().startswith("#") for n, row in rows if n not in documented
    )


def test_the_page_names_files_that_can_be_read_in_an_afternoon():
    assert len(BASE) == len(set(BASE)) == 18
    assert f"{len(BASE)} files" in text()
    lines = {name: lines_of_code(ROOT / name) for name in BASE}
    assert 2_000 < sum(lines.values()) <= MOST_LINES, lines


@pytest.mark.parametrize("name", BASE)
def test_a_file_of_the_base_imports_nothing_above_it(name):
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    for module, what in imported(tree):
        top = module.split(".")[0]
        if top != "discreet":
            assert top in LIBRARIES or top in __import__("sys").stdlib_module_names, (name, module)
            continue
        ours = (
            module in MODULES or f"{module}.{what}" in MODULES or module.removeprefix("discreet.") in CHECKS
        )
        assert ours, f"{name} imports {module} {what}, which is not of the base"


def test_the_contract_names_the_same_files():
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = [one for one in contracts if one["name"] == "the trusted base stands on nothing above it"]
    assert set(contract["source_modules"]) == MODULES
    beside = {module_of(path) for path in (ROOT / "privacy").rglob("*.py") if path.name != "__init__.py"}
    rooms = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()} - {"privacy", "_base"}
    refused = set(contract["forbidden_modules"])
    assert {f"discreet.{room}" for room in rooms} <= refused
    packages = {name for name in refused if name.startswith("discreet.privacy.")}
    for module in beside - MODULES:
        assert any(module == name or module.startswith(f"{name}.") for name in packages), module


def reaches_in(tree):
    """Yield what only the base may do, where a module does it: its names are told."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if called in {"Reservation", "Guarantee", "Storage"}:
                yield called
        if isinstance(node, ast.Attribute) and node.attr in {
            "_storage",
            "_precision",
            "_unlimited",
            "_rehearsed",
        }:
            yield node.attr
        if isinstance(node, ast.ClassDef) and any(
            isinstance(base, ast.Name) and base.id in {"Promised", "NumbersRelease"} for base in node.bases
        ):
            told = {"promise", "guarantee", "determinism", "may_leave"}
            names = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            names |= {
                target.id
                for one in node.body
                if isinstance(one, ast.Assign | ast.AnnAssign)
                for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
                if isinstance(target, ast.Name)
            }
            yield from sorted(told & names)


def drawn_by(tree):
    """Yield the samplers that a module imports: by their module, or by their public names."""
    for module, name in imported(tree):
        if module.startswith("discreet.privacy.noise."):
            yield module.removeprefix("discreet.privacy.noise.")
        elif module == "discreet.privacy.noise":
            yield name
        elif module == "discreet.privacy" and name in SAMPLERS:
            yield SAMPLERS[name]


def test_outside_the_base_nobody_books_makes_a_guarantee_or_says_what_a_release_promises():
    found = {name: list(reaches_in(tree)) for name, tree in trees() if name not in BASE}
    # An explanation says what a budget would promise, before anything is spent.
    assert {name: what for name, what in found.items() if what} == {
        "privacy/accounting/planning.py": ["Guarantee"]
    }


def test_outside_the_base_nobody_draws_noise_but_the_rooms_that_the_page_names():
    for name, tree in trees():
        if name in BASE:
            continue
        drawn = set(drawn_by(tree)) - {"stream"}  # a stream is randomness, and no noise
        room = name.split("/")[0]
        assert drawn <= DRAWERS.get(room, set()), f"{name} draws by {sorted(drawn)}"
    said = text().split("**Noise.**")[1].split("**Bookings.**")[0]
    assert all(f"`{room}`" in said for room in DRAWERS)


PLANTED = {
    "a reservation of one's own": "held = Reservation(event, 'free', 'document', 'add_or_remove_one')",
    "a reservation from the ledger's module": "held = ledger.Reservation(event, 'free', 'document', 'replace_one')",
    "a reservation filled up again": "held._precision += 1",
    "a guarantee of one's own": "told = Guarantee(0.1, 1e-6, 'person', 'add_or_remove_one')",
    "an entry slipped in": "ledger._storage.entries = ()",
    "a release that promises what it likes": "class Mine(Promised):\n    def guarantee(self):\n        return 0",
    "a release that is always fit": "class Mine(NumbersRelease):\n    may_leave = True",
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_what_only_the_base_may_do_is_noticed_elsewhere(mistake):
    assert list(reaches_in(ast.parse(PLANTED[mistake])))


@pytest.mark.parametrize(
    "line",
    [
        "from discreet.privacy.noise.gaussian import rounded_gaussian",
        "from discreet.privacy.noise import laplace",
        "from discreet.privacy import discrete_laplace",
        "def later():\n    from discreet.privacy.noise.bernoulli import Coins",
        "import discreet.privacy.noise._draws",
    ],
)
def test_a_sampler_is_noticed_wherever_it_is_imported(line):
    assert list(drawn_by(ast.parse(line)))


def test_every_code_path_in_the_threat_model_exists():
    rows = [
        row for row in (PROJECT / "docs" / "threat-model.md").read_text().splitlines() if row.startswith("| ")
    ]
    named = {name for row in rows for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*)`", row.rsplit("|", 2)[1])}
    assert len(named) > 12
    for name in named - {"deploy"}:
        assert (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file(), name
