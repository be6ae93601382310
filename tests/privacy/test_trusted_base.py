"""The trusted base: the files that the promise rests on, their length and imports, and what nobody else may do."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import discreet

ROOT = Path(discreet.__file__).parent
PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "trusted-base.md"
MOST_LINES = 3_000
#: What else the files may import.
LIBRARIES = {"attrs", "cryptography", "dp_accounting", "numba", "numpy", "scipy"}
#: Rooms beside the base that draw exact noise, coins or raw random words; the page says why.
DRAWERS = {
    "privacy": {"_draws", "_exact", "bernoulli", "gaussian", "laplace", "words"},
    "local": {"words"},
    "central": {"bernoulli", "words"},
    "federated": {"bernoulli", "gaussian", "words"},
}
#: How an audit put canaries in: a word, no sampler.
OTHER_COINS = ("discreet.audit.attack_report", "Coins")
SAMPLERS = {
    "bernoulli": "bernoulli",
    "Coins": "bernoulli",
    "rounded_gaussian": "gaussian",
    "discrete_laplace": "laplace",
}


def text():
    return PAGE.read_text(encoding="utf-8")


def files_on_the_page():
    table = text().split("Three files below these")[0]
    return sorted(
        f"privacy/{name}"
        for row in re.findall(r"^\| (`.*?) \|", table, re.M)
        for name in re.findall(r"`([\w/]+\.py)`", row)
    )


BASE = files_on_the_page()
BELOW = dict(re.findall(r"^\| `(_base/\w+\.py)` \| (\d+) \|", text(), re.M))
CHECKS = {"errors"} | {
    f"_base.{name}" for name in re.findall(r"`(\w+)`", text().split("base checks (`_base/`")[1].split(")")[0])
}


def module_of(path):
    return "discreet." + str(path.relative_to(ROOT).with_suffix("")).replace("/", ".")


MODULES = {module_of(ROOT / name) for name in BASE}


@cache
def trees():
    """Return the name and the tree of each file of the library."""
    return [
        (str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(ROOT.rglob("*.py"))
    ]


@cache
def nodes(tree):
    return tuple(ast.walk(tree))


def imported(tree):
    """Yield what a module imports, function bodies included, for types alone left out: (module, name)."""
    typing = {
        id(node)
        for block in nodes(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in nodes(tree):
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


def test_the_page_counts_the_lines_below_the_base():
    assert BELOW.keys() == {"_base/threads.py", "_base/kernels.py", "_base/files.py"}
    assert {name: str(lines_of_code(ROOT / name)) for name in BELOW} == BELOW


def test_the_page_names_files_that_can_be_read_in_an_afternoon():
    assert len(BASE) == len(set(BASE)) == 18
    assert f"{len(BASE)} files" in text()
    lines = {name: lines_of_code(ROOT / name) for name in (*BASE, *BELOW)}
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


def of_the_base():
    """Return the base's classes with their fields, and all private names in its files."""
    fields, private = {}, {"_storage"}
    for name in BASE:
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                of_class = (one.target.id for one in node.body if isinstance(one, ast.AnnAssign))
                fields[node.name] = set(of_class)
            told = getattr(node, "attr", getattr(node, "name", getattr(node, "id", None)))
            if isinstance(told, str) and told.startswith("_") and not told.startswith("__"):
                private.add(told)
    return fields, private - {"_"} - NAMED_TUPLES


#: What every named tuple has.
NAMED_TUPLES = {"_replace", "_asdict", "_fields", "_make"}
FIELDS, PRIVATE = of_the_base()
#: What anybody may make. All other types of the base are made, derived and named (but in annotations) there alone.
FREE = {
    "Bound",
    "BoundedSum",
    "GaussianMechanism",
    "LaplaceMechanism",
    "Ledger",
    "SecureStream",
    "SharedGaussian",
}
KEPT = set(FIELDS) - FREE
#: Names that types elsewhere have, too: these are the base's where they are imported from there.
SHARED = {"Fields", "Kind", "Words"}
KEPT_FIELDS = set().union(*(FIELDS[name] for name in ("Guarantee", "Entry"))) | {"entries", "entry"}
#: What a release promises: computed from its ledger, by the root of all releases alone.
TOLD = {"promise", "guarantee", "determinism", "may_leave"}
RELEASES = {"Promised", "NumbersRelease", "Release", "FitRelease", "PrevalenceRelease"}


def not_run(tree):
    """Return the ids of nodes that name a type and make none: annotations, and what isinstance compares with."""
    roots = []
    for node in nodes(tree):
        roots += [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            roots += node.args[1:]
    return {id(node) for root in roots if root is not None for node in ast.walk(root)}


@cache
def aliases(tree):
    """Return what names stand for that a module imports: (module, name); a type of its own is none of the base's."""
    known = {
        node.name: ("", "") for node in nodes(tree) if isinstance(node, ast.ClassDef) and node.name in KEPT
    }
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            known |= {one.asname or one.name.split(".")[0]: (one.name, "") for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            known |= {one.asname or one.name: (node.module or "", one.name) for one in node.names}
    return known


def meant(node, known):
    """Return the name of the library's that an expression stands for, or "": by its last part, aliases resolved."""
    if isinstance(node, ast.Attribute):
        return "" if node.attr in SHARED else node.attr
    if not isinstance(node, ast.Name):
        return ""
    module, name = known.get(node.id, ("", "" if node.id in SHARED else node.id))
    return "" if name in SHARED and not module.startswith("discreet.privacy") else name


def is_own(node):
    """Tell whether an expression is the object whose method this is."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def reaches_in(tree):
    """Yield what only the base may do, where a module does it: private names, kept types, and what a release promises.

    One rule: nobody outside names what is private there, or a type that is kept there, under whatever name.
    """
    known, idle = aliases(tree), not_run(tree)
    for node in nodes(tree):
        name = meant(node, known)
        if name in KEPT and id(node) not in idle:
            yield name
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet.privacy"):
            yield from (one.name for one in node.names if one.name in PRIVATE)
        if isinstance(node, ast.Attribute) and not is_own(node.value):
            stored = isinstance(node.ctx, ast.Store | ast.Del)
            if node.attr in PRIVATE or (stored and node.attr in KEPT_FIELDS | TOLD):
                yield node.attr
        if isinstance(node, ast.Call):
            yield from written_anew(node, meant(node.func, known))
        if isinstance(node, ast.ClassDef):
            bases = {meant(base, known) for base in node.bases}
            yield from sorted(bases & FREE)
            yield from sorted(TOLD & defined(node)) if bases & RELEASES else ()


def written_anew(node, called):
    """Yield the kept fields and private names that a call changes or gets by their names."""
    if called in {"replace", "_replace"}:
        keys = {word.arg for word in node.keywords}
        yield from sorted(keys & KEPT_FIELDS)
        yield from ["**"] * (None in keys)
    if called in {"getattr", "setattr", "delattr", "__setattr__", "__delattr__", "__getattribute__"}:
        told = {one.value for one in node.args[:2] if isinstance(one, ast.Constant)}
        whose = is_own(node.args[0]) if node.args else False
        yield from () if whose else sorted(told & (PRIVATE | (KEPT_FIELDS if "set" in called else set())))


def defined(node):
    """Return the names that a class gives to its methods and attributes."""
    names = {one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    for one in node.body:
        targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def drawn_by(tree):
    """Yield the samplers that a module imports, under whatever name and from wherever; "words" for raw random words."""
    for module, name in imported(tree):
        if module.startswith("discreet.privacy.noise."):
            yield module.removeprefix("discreet.privacy.noise.")
        elif module == "discreet.privacy.noise":
            yield name
        elif module.split(".")[0] == "discreet" and name in SAMPLERS and (module, name) != OTHER_COINS:
            yield SAMPLERS[name]
    known = aliases(tree)
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and node.attr in SAMPLERS:
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            home = known.get(root.id, ("", ""))[0] if isinstance(root, ast.Name) else ""
            yield from [SAMPLERS[node.attr]] * home.startswith("discreet")
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in {"words", "blocks"}
        ):
            yield "words"


#: What looks like the base's and is not, or is named outside for a reason.
NAMED_ELSEWHERE = {
    # An explanation says what a budget would promise, before anything is spent.
    "privacy/accounting/planning.py": {"Guarantee"},
    # Coins are exact, and read the words of a stream as the samplers do.
    "privacy/noise/bernoulli.py": {"WordBlocks"},
    # Rows of one cell each have a bound of their own, proved there.
    "privacy/row_sums.py": {"Bound"},
    # A subject of the battery is run again on the noise that it had.
    "privacy/battery/subject.py": {"_derive"},
    # Parameters of estimators.
    "central/_fit_topics.py": {"delta", "epsilon", "privacy_unit"},
    "central/choose_n_topics.py": {"epsilon"},
    "central/preview.py": {"epsilon"},
    "release/private_estimator.py": {"delta", "epsilon", "_entry"},
    # Records and private names of other types.
    "corpus/shards/sharded_corpus.py": {"**"},
    "lda/documents.py": {"_words"},
    "release/prevalence/changes.py": {"**"},
}


def test_outside_the_base_nobody_books_makes_a_guarantee_or_says_what_a_release_promises():
    found = {name: set(reaches_in(tree)) for name, tree in trees() if name not in BASE}
    assert {name: what for name, what in found.items() if what} == NAMED_ELSEWHERE


def makers(kinds):
    """Return the files that make something of these types by its name."""
    made = {}
    for name, tree in trees():
        known = aliases(tree)
        called = {meant(node.func, known) for node in nodes(tree) if isinstance(node, ast.Call)}
        if called & kinds:
            made[name] = called & kinds
    return made


def test_the_page_lists_who_makes_a_release():
    made = makers(RELEASES)
    said = text().split("A release made by hand")[1].split("\n* ")[0]
    assert set(re.findall(r"`([\w/]+\.py)`", said)) == {
        *made,
        "release/files.py",
        "release/numbers.py",
        "release/edits.py",
    }
    assert made == {
        "central/base.py": {"Release"},
        "central/prevalence/brought.py": {"Release"},
        "central/prevalence/estimator.py": {"PrevalenceRelease"},
        "central/private_fit.py": {"FitRelease"},
        "federated/federated_lda.py": {"Release"},
        "local/local_lda.py": {"Release"},
        "local/whole_document/estimator.py": {"Release"},
    }


def test_there_are_three_kinds_of_release():
    kinds = set()
    for _, tree in trees():
        known = aliases(tree)
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef) and {meant(base, known) for base in node.bases} & RELEASES:
                kinds.add(node.name)
    assert kinds | {"Promised"} == RELEASES


def test_the_page_lists_who_hands_sums_to_the_gate():
    said = text().split("* **Sums.**")[1].split("\n* **")[0]
    named = set(re.findall(r"`([\w/]+\.py)`", said))
    assert {
        name
        for name in makers({"BoundedSum", "place_l2", "place_l1", "add_unit", "sum_rows"})
        if name not in BASE
    } <= named
    assert all((ROOT / name).is_file() for name in named)


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
    "a reservation by another name": "from discreet.privacy.ledger.ledger import Reservation as R\nR(event, 'free')",
    "a reservation's type kept": "make = ledger.Reservation\nmake(event, 'free')",
    "a reservation of a new kind": "class Mine(Reservation):\n    pass",
    "a reservation filled up again": "held._precision += 1",
    "a reservation given another draw": "held._left[leaf] += 1",
    "a reservation for another unit": "held.privacy_unit = 'document'",
    "a reservation reached by text": "setattr(held, '_unlimited', True)",
    "a guarantee of one's own": "told = Guarantee(0.1, 1e-6, 'person', 'add_or_remove_one')",
    "a guarantee made better": "dataclasses.replace(guarantee, epsilon=.1)",
    "a guarantee made better by another name": "from dataclasses import replace as new\nnew(guarantee, epsilon=.1)",
    "a guarantee made better unseen": "dataclasses.replace(guarantee, **better)",
    "a guarantee overwritten": "object.__setattr__(guarantee, 'epsilon', .1)",
    "an entry of one's own": "Entry(event, 'p', 1)",
    "an entry slipped in": "ledger._storage.entries = ()",
    "a booking past the budget": "ledger._book([])",
    "a larger budget": "ledger._budget = x",
    "a record opened again": "ledger._closed = False",
    "a ledger of a new kind": "class Mine(Ledger):\n    pass",
    "a private helper": "from discreet.privacy.mechanism import _draw_on as d",
    "a release that promises what it likes": "class Mine(Promised):\n    def guarantee(self):\n        return 0",
    "a release of a known kind that does": "class Mine(Release):\n    guarantee = 'epsilon = 0.1'",
    "a release by a module's name that does": "class Mine(numbers.NumbersRelease):\n    promise: str = ''",
    "a release that is always fit": "class Mine(NumbersRelease):\n    may_leave = True",
    "a release made fit later": "Release.may_leave = True",
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
        "from discreet.privacy.mechanism import rounded_gaussian",
        "from discreet.privacy.mechanism import rounded_gaussian as noise",
        "from discreet.privacy import mechanism\nmechanism.rounded_gaussian(1, 2, stream)",
        "import discreet.privacy as p\np.discrete_laplace(1, 2, stream)",
        "def later():\n    from discreet.privacy.noise.bernoulli import Coins",
        "import discreet.privacy.noise._draws",
        "SecureStream().words(9)",
        "stream.blocks('mine')",
    ],
)
def test_a_sampler_is_noticed_wherever_it_is_named(line):
    assert list(drawn_by(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "def show(told: Guarantee) -> Entry: ...",
        "if isinstance(held, Reservation):\n    pass",
        "class Mine:\n    def go(self):\n        self._left = 1",
        "from discreet.corpus.formats.records import Fields\nFields()",
    ],
)
def test_what_names_a_type_and_makes_none_is_let_be(line):
    assert not list(reaches_in(ast.parse(line)))


def test_every_code_path_in_the_threat_model_exists():
    rows = [
        row for row in (PROJECT / "docs" / "threat-model.md").read_text().splitlines() if row.startswith("| ")
    ]
    named = {name for row in rows for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*)`", row.rsplit("|", 2)[1])}
    assert len(named) > 12
    for name in named - {"deploy"}:
        assert (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file(), name
