"""`discreet prevalence`: from notes with a ward and a date to shares that may leave."""

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from discreet import Ledger, PrivateLDA
from discreet.central.prevalence.labelled import reach_in_points
from discreet.cli.app import run
from discreet.release.prevalence import PrevalenceRelease
from discreet.report.prevalence_page import shown_intervals

WORDS = [f"{stem}{letter}" for stem in ("fall", "fever", "ticket") for letter in "abcdefgh"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(scope="module")
def ward_notes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wards")
    rng = np.random.default_rng(0)
    topic = rng.integers(3, size=3000)
    counts = rng.poisson(np.where(np.arange(24) // 8 == topic[:, None], 1.5, 0.05))
    with (folder / "notes.jsonl").open("w") as file:
        for row, counted in enumerate(counts):
            note = {
                "body": " ".join(np.repeat(WORDS, counted)),
                "ward": ["north", "south", "west"][topic[row] if row % 3 else rng.integers(3)],
                "date": f"2024-{1 + row % 6:02d}-15",
                "patient": f"p{row // 2}",
            }
            file.write(json.dumps(note) + "\n")
    (folder / "wards.txt").write_text("north\nsouth\nwest\n")
    topics = PrivateLDA(3, epsilon=8.0).fit(counts).release_
    replace(topics, vocabulary=tuple(WORDS)).save(folder / "model")
    return folder


def command(ward_notes):
    """Return how each call begins: the topics, and the texts whose shares are asked for."""
    corpus = str(ward_notes / "notes.jsonl")
    return ["prevalence", str(ward_notes / "model"), corpus, "--text", "body"]


def test_shares_by_ward(ward_notes, tmp_path, capsys):
    arguments = [*command(ward_notes), "--by", "ward", "--groups", str(ward_notes / "wards.txt")]
    arguments += [
        "--epsilon",
        "1",
        "--ledger",
        str(tmp_path / "budget.json"),
        "--out",
        str(tmp_path / "wards.json"),
    ]
    arguments += ["--report", str(tmp_path / "wards.html"), "--table", str(tmp_path / "wards.csv")]
    assert run(arguments) == 0
    made = PrevalenceRelease.load(tmp_path / "wards.json")
    assert (tmp_path / "wards.md").read_text() == made.card()
    assert made.groups == ("north", "south", "west")
    assert not made.reproducible
    assert (made.shares().share.max(1) > 0.6).all()
    # With the mark by which a spreadsheet tells UTF-8.
    table = list(csv.DictReader((tmp_path / "wards.csv").read_bytes().decode("utf-8-sig").splitlines()))
    assert (tmp_path / "wards.csv").read_bytes().startswith("\ufeff".encode())
    assert len(table) == 9
    page = (tmp_path / "wards.html").read_text()
    assert "<h1>3 topics in 3 groups by ward</h1>" in page
    assert page.index("How to read the numbers") < page.index("Colours follow one test")
    moving = made.moving().to_columns()
    assert moving["topic"] == [1, 2, 3]
    assert moving["moves"] == [True, True, True]
    assert Ledger.open(tmp_path / "budget.json", 1.0, 1e-6).spent().epsilon == pytest.approx(1.0, rel=1e-3)
    said = capsys.readouterr().err
    assert "between each group and all the others, all tested together: 9 of 9 are clear at 95 %" in said
    found = made.against_rest()
    for low, high in zip(found.low.ravel(), found.high.ravel(), strict=True):  # each with its interval
        assert f"{100 * low:+.1f} to {100 * high:+.1f}" in said
    assert [float(row["difference"]) for row in table] == pytest.approx(found.difference.ravel(), abs=1e-5)
    assert "epsilon = 1" in said
    # The budget is spent: a second run is refused, and nothing is written.
    (tmp_path / "kept.md").write_text("somebody's notes")
    assert run([*arguments[:-6], "--out", str(tmp_path / "kept.json")]) == 2
    assert "the card of --out" in capsys.readouterr().err
    assert (tmp_path / "kept.md").read_text() == "somebody's notes"
    again = [*arguments[:-6], "--out", str(tmp_path / "again.json")]
    assert run(again) == 2
    assert not (tmp_path / "again.json").exists()


def test_what_noise_may_explain_is_not_printed_as_news(ward_notes, tmp_path, capsys):
    months = ["--by", "date", "--every", "month", "--from", "2024-01", "--to", "2024-06", "--epsilon", "0.1"]
    assert run([*command(ward_notes), *months, "--seed", "0", "--out", str(tmp_path / "months.json")]) == 0
    said = capsys.readouterr().err
    assert (
        "from 2024-01 to 2024-06, all topics tested together, none is clear at 95 %: noise and chance may"
        in said
    )
    assert not re.search(r"\d %", said.split("Of the differences")[1].split("epsilon")[0].replace("95 %", ""))


def test_what_is_there_is_not_replaced(ward_notes, tmp_path, capsys):
    out = tmp_path / "wards.json"
    arguments = [
        *command(ward_notes),
        "--by",
        "ward",
        "--groups",
        str(ward_notes / "wards.txt"),
        "--out",
        str(out),
    ]
    assert run(arguments) == 0
    first = out.read_text()
    assert run(arguments) == 2
    assert "wards.json exists; name another file." in capsys.readouterr().err
    assert out.read_text() == first
    assert (tmp_path / "wards.md").read_text() == PrevalenceRelease.load(out).card()
    out.write_text(
        ""
    )  # an empty file holds nothing that is lost: allowed, and so not a spent budget without a file
    (tmp_path / "wards.md").unlink()
    assert run(arguments) == 0
    assert PrevalenceRelease.load(out).groups == ("north", "south", "west")


def test_shares_by_month_and_person(ward_notes, tmp_path):
    arguments = command(ward_notes)
    arguments += [
        "--by",
        "date",
        "--every",
        "month",
        "--from",
        "2024-01",
        "--to",
        "2024-07",
        "--person",
        "patient",
    ]
    assert run([*arguments, "--epsilon", "1", "--quiet", "--out", str(tmp_path / "months.json")]) == 0
    made = PrevalenceRelease.load(tmp_path / "months.json")
    assert len(made.groups) == 7
    assert made.promise.privacy_unit == "person"
    assert made.certain_groups.tolist() == [True] * 6 + [False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "ward"], "name the public groups"),
        (["--by", "ward", "--groups", "{}/missing.txt"], "cannot be read"),
        (["--by", "date", "--every", "month"], "needs a public range of dates"),
        (["--by", "date", "--every", "fortnight", "--from", "2024-01", "--to", "2024-07"], "--every must be"),
        (["--by", "nothing", "--groups", "{}/wards.txt"], "nothing"),
        (["--by", "date", "--every", "month", "--from", "2024-05", "--to", "2024-01"], "ends"),
        (
            ["--by", "date", "--every", "month", "--from", "2024-01", "--to", "2024-03"],
            "not among the 3 groups",
        ),
    ],
)
def test_bad_calls(ward_notes, tmp_path, capsys, options, message):
    arguments = command(ward_notes)
    options = [option.format(ward_notes) for option in options]
    assert run([*arguments, *options, "--out", str(tmp_path / "x.json")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x.json").exists()


def months_by_command(ward_notes, folder, month, ledger, *options):
    arguments = command(ward_notes)
    arguments += [
        "--by",
        "date",
        "--every",
        "month",
        "--from",
        month,
        "--to",
        month,
        "--set",
        "unlisted=leave_out",
    ]
    arguments += [
        "--epsilon",
        "0.9",
        "--ledger",
        str(ledger),
        "--out",
        str(folder / f"{month}.json"),
        "--quiet",
    ]
    return run([*arguments, *options])


def test_months_one_by_one_cost_as_one_where_each_note_has_its_month(ward_notes, tmp_path, capsys):
    ledger = tmp_path / "budget.json"
    for month in ("2024-01", "2024-02"):
        assert months_by_command(ward_notes, tmp_path, month, ledger, "--set", "division=date") == 0
    assert Ledger.open(ledger).spent().epsilon == pytest.approx(0.9, rel=1e-3)
    # Without the word they add up; and those of a person do, too.
    assert months_by_command(ward_notes, tmp_path, "2024-03", ledger) == 2
    people = tmp_path / "people.json"
    assert (
        months_by_command(
            ward_notes, tmp_path, "2024-03", people, "--set", "division=date", "--person", "patient"
        )
        == 2
    )
    assert "their costs add up" in capsys.readouterr().err
    assert not (tmp_path / "2024-03.json").exists()


def test_names_of_wards_are_chosen_privately(ward_notes, tmp_path):
    arguments = command(ward_notes)
    arguments += [
        "--by",
        "ward",
        "--private-groups",
        "--epsilon",
        "2",
        "--out",
        str(tmp_path / "w.json"),
        "--quiet",
    ]
    assert run(arguments) == 0
    made = PrevalenceRelease.load(tmp_path / "w.json")
    assert made.groups == ("north", "south", "west")
    assert "chosen privately" in made.to_html()


def test_shares_of_persons_can_have_their_own_name(ward_notes, tmp_path, capsys):
    call = [*command(ward_notes), "--unit-name", "pasient", "--out", str(tmp_path / "a.json")]
    assert run(call) == 2
    assert "`person`" not in capsys.readouterr().err
    assert run([*call, "--person", "patient"]) == 0
    assert "Protecting each pasient (field 'patient')" in capsys.readouterr().err
    made = PrevalenceRelease.load(tmp_path / "a.json")
    assert made.promise.called == "pasient"
    assert "pasients" not in made.card()


def test_whom_the_shares_protect_is_said(ward_notes, tmp_path, capsys):
    with (tmp_path / "notes.csv").open("w", newline="") as file:
        rows = [json.loads(line) for line in (ward_notes / "notes.jsonl").read_text().splitlines()]
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    topics = PrivateLDA(2, epsilon=8.0, privacy_unit="person", allow_unlearnable=True)
    counts = np.ones((40, len(WORDS)), int)
    release = topics.fit(counts, persons=np.arange(40) // 2).release_
    replace(release, vocabulary=tuple(WORDS)).save(tmp_path / "of persons")
    (tmp_path / "one.txt").write_text("north\n")
    for name, model, more, told in (
        ("a", ward_notes / "model", (), "Protecting each document. Use --person"),
        (
            "b",
            tmp_path / "of persons",
            ("--set", "privacy_unit=document"),
            "though the topics protect persons",
        ),
        ("d", tmp_path / "of persons", (), "--person FIELD; --set privacy_unit=document protects each"),
        ("c", tmp_path / "of persons", ("--person", "patient"), "Protecting each person (field 'patient')"),
    ):
        arguments = ["prevalence", model, tmp_path / "notes.csv", "--read", "delimiter=;", *more]
        arguments += [
            "--text",
            "body",
            "--by",
            "ward",
            "--groups",
            tmp_path / "one.txt",
            "--set",
            "unlisted=leave_out",
        ]
        code = run([str(part) for part in [*arguments, "--out", tmp_path / f"{name}.json"]])
        assert code == 2 * (name == "d")
        said = capsys.readouterr().err
        assert told in said
        assert "least in" not in said  # there is one group
        lines = [line for line in said.splitlines() if line.startswith("reading")]
        assert len(lines) == len(set(lines))


def wards_by_quarter(ward_notes):
    return [
        *("--by", "ward,date", "--groups", str(ward_notes / "wards.txt")),
        *("--every", "quarter", "--from", "2024-01", "--to", "2024-06"),
    ]


def test_a_cross_table_of_wards_by_quarters(ward_notes, tmp_path):
    out = tmp_path / "cells.json"
    arguments = [*command(ward_notes), *wards_by_quarter(ward_notes), "--seed", "0", "--epsilon", "1"]
    arguments += [
        "--about",
        "title=Wards",
        "--about",
        "owner=Quality office",
        "--about",
        "contact=q@example.org",
    ]
    assert run([*arguments, "--out", str(out)]) == 0
    made = PrevalenceRelease.load(out)
    assert made.table == (("north", "south", "west"), ("2024-Q1", "2024-Q2"))
    assert made.details == {"title": "Wards", "owner": "Quality office", "contact": "q@example.org"}
    notes = [json.loads(line) for line in (ward_notes / "notes.jsonl").read_text().splitlines()]
    exact = [
        sum(note["ward"] == ward and (note["date"] <= "2024-03-31") == first for note in notes)
        for ward in ("north", "south", "west")
        for first in (True, False)
    ]
    assert made.n_units == pytest.approx(exact, abs=60)


def test_rows_without_a_patient_are_left_out_of_both_columns_of_a_cross_table(ward_notes, tmp_path, capsys):
    lines = (ward_notes / "notes.jsonl").read_text().splitlines()
    notes = [
        json.loads(line) | ({"patient": None} if row % 10 == 0 else {}) for row, line in enumerate(lines)
    ]
    corpus = tmp_path / "notes.jsonl"
    corpus.write_text("\n".join(map(json.dumps, notes)))
    line = [
        "prevalence",
        ward_notes / "model",
        corpus,
        "--text",
        "body",
        "--person",
        "patient",
        "--seed",
        "0",
    ]
    line += [*wards_by_quarter(ward_notes), "--epsilon", "1", "--out", tmp_path / "s.json"]
    assert run([str(part) for part in line]) == 2
    assert "without a person" in capsys.readouterr().err
    assert run([str(part) for part in [*line, "--skip-empty"]]) == 0
    assert "PRIVATE | left out 300 documents without text or person" in capsys.readouterr().err
    assert sum(PrevalenceRelease.load(tmp_path / "s.json").n_units) == pytest.approx(1500, abs=150)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "ward"], "needs two fields: that of the group and that of the date, --by ward,date"),
        (["--by", "ward,date,patient"], "needs two fields"),
        (["--by", "ward,when"], "--by when"),
        (["--by", "date,ward"], "values of --by are not among the 3 groups"),
    ],
)
def test_fields_of_a_cross_table_that_do_not_fit_cost_nothing(ward_notes, tmp_path, capsys, options, message):
    ledger = tmp_path / "budget.json"
    arguments = [*command(ward_notes), *wards_by_quarter(ward_notes)[2:], *options, "--ledger", str(ledger)]
    assert run([*arguments, "--out", str(tmp_path / "cells.json")]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not Ledger.open(ledger, 1.0, 1e-6).entries


def test_a_cross_table_of_what_can_be_read_once_is_refused(ward_notes, tmp_path, capsys):
    """Of standard input the second field was read from nothing; here no file, either."""
    ledger, arguments = tmp_path / "budget.json", [*command(ward_notes), *wards_by_quarter(ward_notes)]
    arguments[2] = "/dev/null"
    arguments += ["--read", "format=jsonl", "--ledger", str(ledger), "--out", str(tmp_path / "cells.json")]
    assert run(arguments) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "a cross table is read in two passes, so it cannot come from standard input." in said
    assert not ledger.exists()


@pytest.mark.parametrize(
    ("options", "expected", "foreign"),
    [
        (["--by", "date", "--every", "month"], ["--every needs", "--from 2024-01", "--to 2026-06"], "freq"),
        (
            ["--by", "date", "--every", "month", "--from", "2024-01"],
            ["--every month", "--from 2024-01", "--to 2026-06"],
            "start=",
        ),
        (
            ["--by", "date", "--every", "month", "--from", "2024-02", "--to", "2024-03"],
            ["(--from, --to)", "--set unlisted=other", "--set unlisted=leave_out"],
            "freq",
        ),
        (["--by", "ward", "--private-groups", "--every", "month"], ["leave --groups, --every"], "freq"),
    ],
)
def test_errors_speak_of_options(ward_notes, tmp_path, capsys, options, expected, foreign):
    assert run([*command(ward_notes), *options, "--out", str(tmp_path / "s.json")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert all(part in said for part in expected)
    assert foreign not in said


def test_a_month_of_its_own_leaves_the_others_out(ward_notes, tmp_path):
    month = [
        "--by",
        "date",
        "--every",
        "month",
        "--from",
        "2024-02",
        "--to",
        "2024-02",
        "--set",
        "division=date",
    ]
    assert run([*command(ward_notes), *month, "--out", str(tmp_path / "february.json")]) == 0
    assert PrevalenceRelease.load(tmp_path / "february.json").groups == ("2024-02",)


def test_documents_without_a_ward_are_in_no_group_and_their_holder_is_told(ward_notes, tmp_path, capsys):
    lines = (ward_notes / "notes.jsonl").read_text().splitlines()
    notes = [json.loads(line) for line in lines]
    for row, note in enumerate(notes[:900]):
        if row % 3 == 0:
            del note["ward"]
        else:
            note["ward"] = None if row % 3 == 1 else ""
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    arguments = ["prevalence", str(ward_notes / "model"), str(tmp_path / "notes.jsonl")]
    arguments += ["--text", "body", "--by", "ward", "--groups", str(ward_notes / "wards.txt"), "--seed", "0"]
    assert run([*arguments, "--epsilon", "1", "--out", str(tmp_path / "w.json")]) == 0
    exact = [sum(note.get("ward") == ward for note in notes) for ward in ("north", "south", "west")]
    said = "PRIVATE | 900 of 3,000 documents have no 'ward', and are in none of the groups."
    assert said in " ".join(capsys.readouterr().err.split())
    assert PrevalenceRelease.load(tmp_path / "w.json").n_units == pytest.approx(exact, abs=60)
    assert "have no" not in (tmp_path / "w.json").read_text() + (tmp_path / "w.md").read_text()


def test_shares_that_were_released_are_shown_again_at_no_cost(ward_notes, tmp_path, capsys):
    out, ledger = tmp_path / "wards.json", tmp_path / "budget.json"
    arguments = [*command(ward_notes), "--by", "ward", "--groups", str(ward_notes / "wards.txt")]
    assert run([*arguments, "--epsilon", "1", "--ledger", str(ledger), "--out", str(out)]) == 0
    said = capsys.readouterr().err.split("Differences")[1].split("Differential")[0]
    spent, kept = ledger.read_bytes(), out.read_bytes()
    page, table = tmp_path / "again.html", tmp_path / "again.csv"
    assert run(["report", str(out), "--out", str(page), "--table", str(table)]) == 0
    assert capsys.readouterr().err.split("Differences")[1].split() == said.split()
    made = PrevalenceRelease.load(out)
    assert page.read_text() == made.to_html()
    assert len(list(csv.DictReader(table.read_text().splitlines()))) == 9
    assert (ledger.read_bytes(), out.read_bytes()) == (spent, kept)
    for wrong in (["--fit", "fit.json"], ["--audit", "audit.json"]):
        assert run(["report", str(out), "--out", str(tmp_path / "no.html"), *wrong]) == 2
    assert (
        run(["report", str(ward_notes / "model"), "--out", str(tmp_path / "no.html"), "--table", "t.csv"])
        == 2
    )
    assert not (tmp_path / "no.html").exists()


def test_it_is_said_what_the_topics_cost(ward_notes, tmp_path, capsys):
    wards = ["--by", "ward", "--groups", str(ward_notes / "wards.txt")]
    assert run([*command(ward_notes), *wards, "--out", str(tmp_path / "apart.json")]) == 0
    assert "The topics cost epsilon = 8 on their own, on another ledger" in " ".join(
        capsys.readouterr().err.split()
    )
    made = PrevalenceRelease.load(tmp_path / "apart.json")
    for told in (made.card(), made.to_html()):
        assert "not counted in the promise" in told


def test_shares_are_shown_and_say_that_the_topics_are_counted(ward_notes, tmp_path, capsys):
    notes, ledger = (
        [str(ward_notes / "notes.jsonl"), "--text", "body"],
        ["--ledger", str(tmp_path / "b.json")],
    )
    fit = ["--topics", "3", "--epsilon", "8", "--budget", "12", "--out", str(tmp_path / "topics")]
    assert run(["fit", *notes, *fit, *ledger, "--seed", "0", "--set", "allow_unlearnable=true"]) == 0
    out = tmp_path / "wards.json"
    where = [*wards_by_quarter(ward_notes), "--epsilon", "2", "--seed", "0", "--out", str(out)]
    assert run(["prevalence", str(tmp_path / "topics"), *notes, *where, *ledger]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "between each group and all the others, all tested together" in said
    made = PrevalenceRelease.load(out)
    assert len(made.groups) == 6
    for told in (made.card(), made.to_html()):
        assert "counted in the promise: both stand on one ledger" in told


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_on_a_terminal_it_asks_before_it_spends(ward_notes, tmp_path, monkeypatch, capsys, answer, code):
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    book, out = tmp_path / "b.json", tmp_path / "s.json"
    line = [*command(ward_notes), "--by", "ward", "--groups", str(ward_notes / "wards.txt"), "--epsilon", "1"]
    assert run([*line, "--ledger", str(book), "--out", str(out)]) == code
    said = capsys.readouterr().err
    assert "Spend epsilon 1 of 1 that " in said
    assert ("Nothing was spent" in said) == (code != 0)
    assert book.exists() == out.exists() == (code == 0)


@pytest.mark.parametrize("person", [None, "patient"])
@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_what_noise_will_do_is_said_of_the_median_group(ward_notes, tmp_path, capsys, person, epsilon):
    """Whoever wrote in two groups counts half in each; the smallest and the largest group are not the median one."""
    rows = [json.loads(line) for line in (ward_notes / "notes.jsonl").read_text().splitlines()]
    size = dict.fromkeys(("north", "south", "west"), 0.0)
    for row in rows:
        own = [one for one in rows if one["patient"] == row["patient"]] if person else [row]
        size[row["ward"]] += 1 / len(own)
    median = round(sorted(size.values())[1])
    line = [
        *command(ward_notes),
        "--by",
        "ward",
        "--groups",
        str(ward_notes / "wards.txt"),
        "--epsilon",
        str(epsilon),
    ]
    line += ["--person", person] if person else []
    assert run([*line, "--seed", "0", "--out", str(tmp_path / "s.json")]) == 0
    said = capsys.readouterr().err
    called = "persons" if person else "documents"
    alone, together = reach_in_points(median, 3, 3, epsilon)
    assert f"; the median group has {median} {called}: with the noise, one share by itself" in said
    assert f"about \u00b1{alone:.1f} points (95 %); among all 9 shares together, with chance" in said
    assert f"to about \u00b1{together:.1f}." in said
    assert ("fewer groups, longer periods or a larger --epsilon" in said) == (alone > 100 / 3)


def test_a_hopeless_run_says_that_it_goes_on(ward_notes, tmp_path, capsys):
    topics, book = tmp_path / "topics.txt", tmp_path / "book.json"
    line = [
        "prevalence",
        str(topics),
        str(ward_notes / "notes.jsonl"),
        "--text",
        "body",
        "--ledger",
        str(book),
    ]
    topics.write_text("food: zuppa pane\nstaff: medico\n")  # in another language
    assert run([*line, "--out", str(tmp_path / "s.json")]) == 2
    assert "none of 3,000 documents has a word of these topics" in capsys.readouterr().err
    assert not book.exists()
    (tmp_path / "few.jsonl").write_text('{"body": "falla"}\n' * 5)
    line[2], words = str(tmp_path / "few.jsonl"), "food: falla\nstaff: feverb\n"
    topics.write_text(words)
    assert run([*line, "--out", str(tmp_path / "s.json")]) == 0
    said = capsys.readouterr().err
    assert said.count("5 of 5 documents have a word of the topics: noise will hide every share") == 1
    assert said.index("noise will hide") < said.index("The topics are public")
    assert "warning" not in said
    assert "it goes on all the same, as to end here would tell of the texts: stop it." in said


def test_labels_that_are_not_listed_are_shown_to_whoever_holds_them(ward_notes, tmp_path, capsys):
    (tmp_path / "wards.txt").write_text("N\u00f6rth\nsouth\nwest\n", encoding="utf-8")
    book = tmp_path / "book.json"
    line = [
        *command(ward_notes),
        "--by",
        "ward",
        "--groups",
        str(tmp_path / "wards.txt"),
        "--ledger",
        str(book),
    ]
    assert run([*line, "--out", str(tmp_path / "s.json")]) == 2
    said = capsys.readouterr().err
    assert "PRIVATE | not among the groups, in field 'ward': 'north'\n" in said
    assert "'north'" not in said[said.index("discreet: ") :]
    assert not book.exists()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_what_is_said_of_shares_is_what_they_turn_out_to_be(ward_notes, tmp_path, capsys, epsilon):
    line = [*command(ward_notes), "--by", "date", "--every", "month", "--from", "2024-01", "--to", "2024-06"]
    assert run([*line, "--epsilon", str(epsilon), "--out", str(tmp_path / "s.json")]) == 0
    told = re.search(r"known to about \u00b1([\d.]+) .* about \u00b1([\d.]+)\.", capsys.readouterr().err)
    made = PrevalenceRelease.load(tmp_path / "s.json")
    alone = made.shares("raw")
    _, low, high = shown_intervals(made, made.against_rest())
    seen = [50 * np.median(one) for one in (alone.high - alone.low, high - low)]
    assert [float(one) for one in told.groups()] == pytest.approx(seen, rel=0.1)


def test_a_budget_pays_for_a_second_release(ward_notes, tmp_path, capsys):
    ledger = ["--ledger", str(tmp_path / "budget.json")]
    line = [*command(ward_notes), "--epsilon", "1", *ledger]
    assert run([*line, "--budget", "2", "--out", str(tmp_path / "all.json")]) == 0
    wards = ["--by", "ward", "--groups", str(ward_notes / "wards.txt")]
    assert run([*line, *wards, "--out", str(tmp_path / "wards.json")]) == 0
    assert Ledger.open(tmp_path / "budget.json", 2.0).spent().epsilon > 1.0
    capsys.readouterr()
    assert run([*line, "--budget", "3", "--out", str(tmp_path / "more.json")]) == 2
    assert "was made with epsilon = 2, not 3; leave the budget out" in capsys.readouterr().err
    assert run([*line[:-2], "--budget", "2", "--out", str(tmp_path / "more.json")]) == 2
    assert "name the file that keeps it: --ledger" in capsys.readouterr().err
