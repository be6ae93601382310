"""Rules of the house that no linter knows."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import grimp
import numpy as np
import pytest

import discreet
from discreet._base.progress import tell
from discreet._base.threads import balanced_cuts, count_threads, share_out
from discreet.errors import ParameterError

SOURCE = Path(discreet.__file__).parent
ROOMS = sorted({path.parent.name for path in SOURCE.glob("*/__init__.py")} - {"cli", "_base"})


def modules_after(statement: str) -> set[str]:
    code = f"import sys, json; {statement}; print(json.dumps(sorted(m.split('.')[0] for m in sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("statement", ["import discreet", "import discreet.corpus", "import discreet.cli"])
def test_importing_loads_neither_numba_nor_dp_accounting(statement):
    loaded = modules_after(statement)
    assert not loaded & {"numba", "dp_accounting", "sklearn"}
    assert "discreet" in loaded


def test_every_public_name_loads():
    for name in discreet.__all__:
        assert getattr(discreet, name) is not None
    assert set(discreet.__all__) <= set(dir(discreet))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        discreet.nothing  # noqa: B018


def test_every_room_is_public_but_the_command_and_the_base():
    assert set(ROOMS) <= set(dir(discreet))


@pytest.mark.integration
def test_no_module_hides_a_public_name():
    """A file named like a function would take its place in the room as soon as anything imports the file."""
    code = (
        "import importlib, json, pkgutil, sys, types, discreet\n"
        "rooms = [importlib.import_module(f'discreet.{name}') for name in sys.argv[1:]]\n"
        "for found in pkgutil.walk_packages(discreet.__path__, 'discreet.'):\n"
        "    found.name == 'discreet.__main__' or importlib.import_module(found.name)\n"
        "hidden = [n for room in rooms for n in room.__all__ if isinstance(getattr(room, n), types.ModuleType)]\n"
        "print(json.dumps([n for n in hidden if n not in ('events', 'export')]))"
    )
    done = subprocess.run([sys.executable, "-c", code, *ROOMS], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_few_modules_call_what_stands_above_them():
    """Layers hold for imports; a name that is looked for later goes past them, so each is known here."""
    found = {
        str(file.relative_to(SOURCE)): re.findall(
            r'later\("discreet\.([a-z_.]+)", "(\w+)"\)', file.read_text()
        )
        for file in SOURCE.rglob("*.py")
        if 'later("discreet.' in file.read_text()
    }
    assert found == {
        "_base/lazy.py": [("engines.engine", "ShardRunner")],
        "release/edits.py": [("report.wording", "names_of")],
        "release/numbers.py": [("report.card", "fit_card"), ("report.page", "numbers_html")],
        "release/prevalence/record.py": [
            ("report.card", "prevalence_card"),
            ("report.prevalence_page", "prevalence_page"),
        ],
        "release/release.py": [
            ("report.card", "card"),
            ("report.page", "report"),
            ("report.page", "release_html"),
            ("audit", "roc_svg"),
        ],
    }


def test_no_circle_of_imports():
    graph = grimp.build_graph("discreet", exclude_type_checking_imports=True)
    left = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    while free := {module for module, needs in left.items() if not needs & left.keys()}:
        left = {module: needs for module, needs in left.items() if module not in free}
    assert not left, "these modules import one another, or what does"


def test_links_between_pages_lead_somewhere():
    root = SOURCE.parents[1]
    for page in [
        root / "README.md",
        root / "CONTRIBUTING.md",
        root / "SECURITY.md",
        *(root / "docs").rglob("*.md"),
    ]:
        links = re.findall(r"\]\(([^)\s]+)", page.read_text())
        for link in links:
            if link.startswith("https://"):
                continue
            name, _, section = link.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), f"{page.name}: {link}"
            if target.suffix == ".png":  # a picture for pages in the light has a twin for those in the dark
                assert section in {"", "only-light", "only-dark"}, f"{page.name}: {link}"
                assert section != "only-light" or f"{name[:-4]}-dark.png#only-dark" in links, link
            else:
                assert not section or section in sections(target), f"{page.name}: {link}"


def test_pages_end_with_where_to_go_next():
    pages = list((SOURCE.parents[1] / "docs").rglob("*.md"))
    assert len(pages) > 40
    assert [
        page.name for page in pages if not page.read_text().rstrip().split("\n\n")[-1].startswith("Next: [")
    ] == []


def sections(page: Path) -> set[str]:
    """Return what links to the headings of a page are called."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_no_file_is_longer_than_650_lines():
    long = [
        f"{p.relative_to(SOURCE)}: {n}"
        for p in SOURCE.rglob("*.py")
        if (n := len(p.read_text().split("\n"))) > 651
    ]
    assert not long


#: Names that several files bear, because in each place they are the same thing, or the standard word for it.
SHARED_NAMES = {
    "arguments": "checks of what public functions of the room are called with",
    "documents": "documents as the estimators of the room read them",
    "estimator": "the class with fit that stands over the folder's init and step",
    "file": "the file format of the folder's object",
    "files": "the files of the room's objects, read as if an enemy had written them",
    "page": "the HTML page of the folder's subject",
    "questions": "the three questions about whole documents",
    "record": "what is released, as an object",
    "shards": "a corpus in shards, as the room sees it",
    "start": "where an algorithm begins",
    "state": "the state of an algorithm: only what its next step needs",
    "units": "privacy units, whose contributions are bounded, as the room's mechanisms need them",
    "wire": "the bytes that travel between the parties of the setting",
    "write": "writing what the folder's reader reads",
}


def test_files_of_one_name_are_the_same_thing():
    """A file of the command is named after what it offers, so it may bear that file's name."""
    places = defaultdict(list)
    for file in SOURCE.rglob("*.py"):
        if file.stem != "__init__" and file.relative_to(SOURCE).parts[0] != "cli":
            places[file.stem].append(str(file.relative_to(SOURCE)))
    shared = {name: where for name, where in places.items() if len(where) > 1}
    assert {name: where for name, where in shared.items() if name not in SHARED_NAMES} == {}


@pytest.mark.parametrize(
    "forbidden",
    [
        "fastmath=True",
        "import pickle",
        "allow_pickle=True",
        "joblib.load",
        "np.random.seed",
        "default_rng()",
        "TODO",
    ],
)
def test_source_has_none_of(forbidden):
    assert not [str(p) for p in SOURCE.rglob("*.py") if forbidden in p.read_text()]


def test_pieces_do_not_tear_rows_and_are_balanced():
    rng = np.random.default_rng(3)
    indptr = np.r_[0, np.cumsum(rng.integers(0, 50, 1000))]
    for pieces in (1, 2, 7, 64):
        cuts = balanced_cuts(indptr, pieces)
        assert cuts[0] == 0
        assert cuts[-1] == 1000
        assert (np.diff(cuts) >= 0).all()
        assert np.diff(indptr[cuts]).max() <= indptr[-1] / pieces + 50
    assert balanced_cuts(np.zeros(1, int), 4).tolist() == [0, 0, 0, 0, 0]
    assert balanced_cuts(np.zeros(4, int), 2)[-1] == 3


def test_share_out_keeps_the_order():
    assert share_out(lambda x: x * x, range(100), 3) == [x * x for x in range(100)]
    assert share_out(lambda x: x, [], 3) == []
    assert share_out(lambda x: x, [7], 3) == [7]
    assert count_threads(None) == 1
    assert count_threads(3) == 3
    assert count_threads(-1) >= 1
    with pytest.raises(ParameterError, match="n_jobs must not be 0"):
        count_threads(0)


def test_share_out_uses_its_threads_and_does_each_task_once():
    meeting, done = threading.Barrier(3, timeout=30), []

    def work(number):
        if number < 3:
            meeting.wait()  # passes only if three tasks are under way together
        done.append(number)
        return threading.get_ident()

    assert len(set(share_out(work, range(50), 3)[:3])) == 3
    assert sorted(done) == list(range(50))


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_share_out_raises_the_first_fault_in_order_and_drops_the_rest(n_threads):
    begun = []

    def work(number):
        begun.append(number)
        if number in (5, 6, 40):
            time.sleep(0.02 * (number == 5))  # the later one falls first
            raise KeyboardInterrupt(f"task {number}")
        time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt, match="task 5"):
        share_out(work, range(100), n_threads)
    assert len(begun) < 40


def test_a_broken_display_ends_nothing():
    def broken(stage, done, total):
        raise RuntimeError("no terminal")

    tell(broken, "fit", 1, 2)
    seen = []
    tell(lambda *what: seen.append(what), "fit", 1, 2)
    assert seen == [("fit", 1, 2)]


@pytest.mark.integration
def test_machine_code_on_disk_is_dated_by_every_kernel_source(tmp_path):
    """A kernel's own file is not enough: what it calls in other files is part of its machine code."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "inner.py").write_text(
        "from discreet._base.kernels import kernel\n@kernel()\ndef inner(x):\n    return x + 1\n"
    )
    (package / "outer.py").write_text(
        "from inner import inner\nfrom discreet._base.kernels import kernel\n"
        "@kernel()\ndef outer(x):\n    return inner(x)\n"
    )
    code = (
        "import sys; from pathlib import Path; import discreet._base.kernels as k\n"
        f"folder = Path({str(package)!r}); sys.path.insert(0, str(folder))\n"
        "real = k.source_fingerprint; k.source_fingerprint = (lambda: real(folder)) if {everywhere} else (lambda: '')\n"
        "from outer import outer\n"
        "print(outer(1), sum(outer.stats.cache_hits.values()))"
    )

    def answer(everywhere):
        run = [sys.executable, "-c", code.replace("{everywhere}", str(everywhere))]
        done = subprocess.run(
            run, capture_output=True, text=True, check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "0"}
        )
        return tuple(map(int, done.stdout.split()))

    assert answer(False) == (2, 0)
    assert answer(False) == (2, 1)
    inner = package / "inner.py"
    inner.write_text(inner.read_text().replace("+ 1", "+ 5"))
    assert answer(False) == (2, 1)  # the trap: yesterday's code, from the disk
    assert answer(True) == (6, 0)
    assert answer(True) == (6, 1)
    inner.write_text(inner.read_text().replace("+ 5", "+ 7"))
    assert answer(True) == (8, 0)


def test_a_constant_in_any_file_dates_machine_code(tmp_path):
    from discreet._base.kernels import source_fingerprint

    (tmp_path / "constants.py").write_text("BITS = 18\n")
    before = source_fingerprint.__wrapped__(tmp_path)
    (tmp_path / "constants.py").write_text("BITS = 19\n")
    assert source_fingerprint.__wrapped__(tmp_path) != before


def test_every_kernel_on_disk_is_dated_that_way():
    users = [p.name for p in SOURCE.rglob("*.py") if re.search(r"cache=True", p.read_text())]
    assert users == ["kernels.py"]


@pytest.mark.integration
def test_a_star_import_takes_classes_and_functions_only():
    """``release`` and ``report`` are what people call their own variables."""
    code = "release = report = 1\nfrom discreet import *\nassert release == report == 1; PrivateLDA, fit_topics, Corpus"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert discreet.audit.lira  # rooms are attributes all the same
