"""Thirty mistakes of a first hour: each is answered with what to do next, and none spends anything.

A line is a command and what its answer must say. ``fit`` and ``prevalence`` are given a ledger: it must not be there
afterwards, nor a folder of a release. No answer shows a text.
"""

import json

import pytest
from tests.report.report_cases import release

from discreet import Ledger
from discreet.cli.app import run

SECRET = "okafor"
FIT = "fit notes.csv --text note --person patient --out m --ledger b.json"
PREVALENCE = "prevalence model notes.csv --text note --out s.json --ledger b.json"
MISTAKES = [
    ("fit notes.csv --person patient --out m --ledger b.json", "its fields are 'note', 'patient', 'ward'"),
    ("fit notes.csv --text note --person member --out m --ledger b.json", "no field for --person member"),
    ("fit missing.csv --text note --out m --ledger b.json", "does not exist"),
    ("fit folder --out m --ledger b.json", "docx"),
    ("fit semicolons.csv --text notes --out m --ledger b.json", "its fields are 'note', 'patient', 'ward'"),
    ("fit semicolons.csv --read delimiter=, --text note --out m --ledger b.json", "delimiter"),
    ("fit latin.csv --text note --out m --ledger b.json", "encoding"),
    ("fit gaps.csv --text note --person patient --out m --ledger b.json", "--skip-empty"),
    ("fit empty.csv --text note --out m --ledger b.json", "empty"),
    ("fit broken.jsonl --text note --out m --ledger b.json", "line 2"),
    (f"{FIT} --epsilon 1,5", "write 1.5"),
    (f"{FIT} --epsilon -1", "--epsilon must be"),
    (f"{FIT} --epsilon zero", "(it was 'zero')"),
    (f"{FIT} --epsilon 200", "--set allow_large_epsilon=true"),
    (f"{FIT} --delta 0.5", "--set allow_large_delta=true"),
    (f"{FIT} --delta 0", "--delta must lie strictly between 0 and 1"),
    (f"{FIT} --topics 0", "--topics"),
    (f"{FIT} --budget 0.5", "--epsilon 1 is more than --budget 0.5"),
    (f"{FIT} --set vocabulary_share=0,25", "write 0.25"),
    (f"{FIT} --set shares=1", "is none of them"),
    (f"{FIT} --set privacy_unit=document", "give one of them"),
    (f"{FIT} --stop-words germn", "Did you mean german?"),
    (f"{FIT} --vocabulary missing.txt", "missing.txt"),
    (f"{FIT} --vocabulary-is-public", "--vocabulary"),
    (f"{FIT} --word-vectors missing.vec", "missing.vec"),
    (f"{FIT} --out full", "new or empty folder"),
    (f"{FIT} --out nowhere/m", "make it first"),
    (f"{FIT} --report model", "is a folder"),
    ("fit notes.csv", "--out"),
    (f"{PREVALENCE} --by ward", "--groups FILE"),
    (f"{PREVALENCE} --groups wards.txt", "--by FIELD"),
    (f"{PREVALENCE} --by place --groups wards.txt", "no field for"),
    (f"{PREVALENCE} --by ward --groups some.txt", "--set unlisted=other"),
    (f"{PREVALENCE} --by ward --groups others.txt --set unlisted=other", "--set unlisted=other adds a group"),
    (f"{PREVALENCE} --by ward --groups latin.csv", "--groups: latin.csv must be UTF-8 text"),
    ("prevalence latin.csv notes.csv --out s.json", "discreet: the topics: latin.csv must be UTF-8 text"),
    (f"{FIT} --read persons=wards.txt", "give --person or persons=, not both"),
    ("prevalence notes.csv notes.csv --text note --out s.json --ledger b.json", "food: soup meal canteen"),
    ("review model --out reviewed", "say whose, --by YOU"),
    ("report missing", "missing"),
    ("report missing.jsn --out notes.csv", "missing.jsn does not exist"),
    ("compare model missing --out notes.csv", "missing does not exist"),
    ("topics notes.csv", "notes.csv"),
    (
        "perturb notes.csv --text note --vocabulary wards.txt --epsilon 2 --per document --words 9 --out r.bin",
        "--words",
    ),
    (f"{FIT} --language no", "write --read languages=VALUE"),
    (f"{FIT} --eps 1", "write --epsilon"),
    ("fitt notes.csv", "No such command 'fitt'. Did you mean 'fit'? See `discreet --help`."),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    header, rows = "note,patient,ward\n", [f"{SECRET} ward bed,p{n},north\n" for n in range(30)]
    (folder / "notes.csv").write_text(header + "".join(rows))
    (folder / "semicolons.csv").write_text((header + "".join(rows)).replace(",", ";"))
    (folder / "latin.csv").write_bytes((header + f"caf\u00e9 {SECRET},p1,north\n").encode("latin-1"))
    (folder / "gaps.csv").write_text(f"{header}{SECRET} bed,,north\n" + rows[0])
    (folder / "empty.csv").write_text("")
    (folder / "broken.jsonl").write_text(f'{json.dumps({"note": SECRET})}\n{{"note": \n')
    (folder / "wards.txt").write_text("north\nsouth\n")
    (folder / "others.txt").write_text("north\nother\n")
    (folder / "some.txt").write_text("south\nwest\n")
    for name in ("folder", "full"):
        (folder / name).mkdir()
    (folder / "folder" / "a.docx").write_bytes(b"PK")
    (folder / "full" / "x").write_text("x")
    release().save(folder / "model")
    return folder


@pytest.mark.parametrize(("line", "answer"), MISTAKES)
def test_a_mistake_is_answered_with_what_to_do_and_spends_nothing(desk, monkeypatch, capsys, line, answer):
    monkeypatch.chdir(desk)
    before = sorted(desk.rglob("*"))
    assert run(line.split()) == 2
    said = capsys.readouterr().err
    assert answer in said
    assert SECRET not in said
    assert "Traceback" not in said
    assert sorted(desk.rglob("*")) == before


def test_another_unit_than_the_ledger_protects(desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    Ledger.open("of-documents.json", 1.0)
    assert run(FIT.replace("b.json", "of-documents.json").split()) == 2
    assert "use one unit for one ledger" in capsys.readouterr().err
    assert not Ledger.open("of-documents.json").entries


@pytest.mark.parametrize(
    "line", [FIT + " --stop-words germn", "fit missing.xlsx --out m", "audit missing.csv"]
)
def test_what_needs_no_reading_is_refused_before_it_is_said_that_it_reads(desk, monkeypatch, capsys, line):
    monkeypatch.chdir(desk)
    assert run(line.split()) == 2
    assert "reading" not in capsys.readouterr().err


def test_there_are_thirty_of_them():
    assert len({line for line, _ in MISTAKES}) >= 30


def test_a_slip_has_one_cure(capsys):
    assert run(["fit", "notes.jsonl", "--out", "m", "--epsilon", "1,5"]) == 2
    said = capsys.readouterr().err
    assert "'--epsilon': write 1.5 (it was '1,5');" in said
    assert "parse" not in said
    assert run(["fit", "notes.jsonl", "--out", "m", "--persons", "who"]) == 2
    said = capsys.readouterr().err
    assert "--person" in said
    assert "--read" not in said
