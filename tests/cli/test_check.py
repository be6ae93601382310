"""`discreet check`, and the question of `discreet fit`: what would come of it, before anything is spent."""

import csv
import io
import random
import re

import pytest

from discreet.cli.app import run
from discreet.corpus import Corpus
from discreet.corpus.languages import language_shares

GERMAN = "die und der nicht ist ein ich das mit es auf Zimmer Essen Schwester Warten".split()
ENGLISH = "ward bed nurse storm coast law".split()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def notes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(0)
    rows = [{"note": " ".join(drawn.choices(ENGLISH, k=6)), "patient": f"p{row // 3}"} for row in range(1200)]
    rows += [{"note": "the", "patient": "alone"}]
    for name, words in (("notes.csv", None), ("notizen.csv", GERMAN)):
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            for row in rows:
                writer.writerow(row if words is None else row | {"note": " ".join(drawn.choices(words, k=9))})
    return tmp_path


LINE = "notes.csv --text note --person patient --epsilon 2 --topics 2"


def test_of_a_public_list_check_says_no_share_of_the_text_that_it_has_not_counted(notes, capsys):
    (notes / "list.txt").write_text("\n".join(ENGLISH[:4]))
    assert run(f"check {LINE} --vocabulary list.txt --vocabulary-is-public".split()) == 0
    told = capsys.readouterr().out
    assert "Forecast:" in told
    assert "cover" not in told
    assert "would be chosen" not in told
    assert run(f"check {LINE.replace('--epsilon 2', '--epsilon inf')}".split()) == 0
    assert "words would be chosen. Forecast" in capsys.readouterr().out  # all of them


def test_check_says_what_is_there_and_what_would_come_and_spends_nothing(notes, capsys):
    assert run(f"check {LINE} --ledger b.json --out m --report r.html".split()) == 0
    told = capsys.readouterr().out
    assert all(line.startswith("PRIVATE | ") for line in told.splitlines())
    assert "1,201 documents of 401 persons, at most 3 of one; 1 without a word that counts." in told
    assert "About 6 words would be chosen." in told
    assert "About 6 words would be chosen. Forecast: a guess. The words cover" in told
    assert told.endswith(
        "PRIVATE | Most frequent of the words that count: nurse, storm, law, coast, ward, bed.\n"
    )
    assert "Warning" not in told
    assert sorted(path.name for path in notes.iterdir()) == ["notes.csv", "notizen.csv"]


def test_about_as_many_words_are_chosen_as_it_says(notes, capsys):
    for epsilon in ("2", "0.3"):
        assert run(f"check {LINE} --epsilon {epsilon}".split()) == 0
        told = capsys.readouterr().out
        if epsilon == "0.3":
            assert "About 0 words would be chosen" in told
            few = "words would be chosen from the texts of 401 persons, too few to tell 2 topics apart"
            assert told.count(f"Refused: About 0 {few}") == 1
            assert "1 word" not in told
            assert "how-to/few-texts" in told
            assert run(f"fit {LINE} --epsilon {epsilon} --out n".split()) == 2
            said = capsys.readouterr().err
            assert f"About 0 {few}" in said
            assert "Nothing was booked; --set allow_unlearnable=true goes on all the same." in said
        else:
            assert run(f"fit {LINE} --seed 0 --out m".split()) == 0
            assert len((notes / "m" / "vocabulary.txt").read_text().split()) == 6


def test_check_says_which_epsilon_would_do(notes, capsys):
    """Whoever heard "about 0 words" had to hunt for one."""
    assert run(f"check {LINE} --epsilon 0.3".split()) == 0
    told = capsys.readouterr().out
    assert "\nPRIVATE | At epsilon 0.3, 1, 2: about 0, 6, 6 words.\n" in told
    assert run(f"check {LINE} --epsilon 2".split()) == 0
    assert "At epsilon 1, 2, 4, 8: about 6, 6, 6, 6 words." in capsys.readouterr().out


def test_a_number_of_topics_is_not_advised_of_stop_words(notes, capsys):
    line = "check notizen.csv --text note --person patient --epsilon 2 --topics 9"
    assert run([*line.split(), "--stop-words", "german"]) == 0
    assert "ask for at most --topics 2, or" in capsys.readouterr().out
    assert run(line.split()) == 0
    told = capsys.readouterr().out
    assert (
        "About 15 words would be chosen from the texts of 401 persons, stop words among them, too few to tell 9 topics "
        "apart: let more" in told
    )


def test_dates_for_texts_and_for_persons_are_named(notes, capsys):
    rows = "".join(f"ward bed nurse,2025-{row % 12 + 1:02}-{row % 28 + 1:02}\n" for row in range(300))
    (notes / "a.csv").write_text(f"text,day\n{rows}")
    assert run("check a.csv --text day --topics 1".split()) == 0
    assert (
        "100 % of the words that count are numbers, as in dates and codes: is --text"
        in capsys.readouterr().out
    )
    assert run("check a.csv --person day --topics 1".split()) == 0
    told = capsys.readouterr()
    assert "the persons in 'day' look like dates" in told.err
    assert "are numbers" not in told.out
    assert run(f"check {LINE}".split()) == 0
    assert "dates" not in "".join(capsys.readouterr())


def test_another_language_than_that_of_the_stop_words_is_warned_of(notes, capsys):
    line = "check notizen.csv --text note --person patient --topics 2"
    assert run(line.split()) == 0
    told = capsys.readouterr().out
    assert "stand on the German list of stop words, which is not in use" in told
    assert run([*line.split(), "--stop-words", "german"]) == 0
    assert "German list" not in capsys.readouterr().out
    assert run(f"check {LINE}".split()) == 0
    assert "list of stop words" not in capsys.readouterr().out


def test_persons_that_are_row_numbers_and_one_that_is_many_are_warned_of(notes, capsys):
    for whose, said in (
        (str, "Each document has a client of its own. Where --person is a row number"),
        (lambda row: "unknown" if row % 3 else str(row), "One client has 200 of 300 documents"),
        (lambda row: str(row // 2), ""),
    ):
        rows = "".join(f"{whose(row)},ward bed nurse\n" for row in range(300))
        (notes / "a.csv").write_text("who,text\n" + rows)
        assert run("check a.csv --person who --unit-name client --topics 1".split()) == 0
        told = capsys.readouterr().out
        assert "discreet check" not in told
        warned = [line for line in told.splitlines() if "own." in line or "One client" in line]
        assert len(warned) == bool(said)
        assert all(line.startswith(f"PRIVATE | Warning: {said}") for line in warned)
    assert run("check a.csv --topics 1".split()) == 0
    assert "of its own" not in capsys.readouterr().out


def test_shares_of_languages_are_shares_of_tokens():
    corpus = Corpus.from_texts(["der Hund und der Mann bellt", "a dog"])
    shares = dict(language_shares(corpus.vocabulary, corpus.counts.sum(0).A1, 1))
    assert shares["german"] == pytest.approx(3 / 7)
    assert "french" not in shares


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("", 1), ("y", 0)])
def test_fit_asks_on_a_terminal_before_it_spends(notes, monkeypatch, capsys, answer, code):
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(f"fit {LINE} --ledger b.json --budget 2.1 --out m --seed 0".split()) == code
    said = capsys.readouterr().err
    assert "PRIVATE | About 6 words would be chosen." in said
    assert "Spend epsilon 2 of 2.1 that " in said
    assert (notes / "b.json").exists() == (notes / "m").exists() == (code == 0)
    assert ("Nothing was spent" in said) == (code != 0)


@pytest.mark.parametrize(
    "more", ["", "--vocabulary list.txt --vocabulary-is-public"], ids=["chosen words", "public words"]
)
def test_a_ledger_that_has_too_little_left_is_told_before_anybody_is_asked(notes, monkeypatch, capsys, more):
    (notes / "list.txt").write_text("\n".join(ENGLISH))
    line = f"{LINE} --ledger b.json --out m {more}".split()
    assert run(["check", *line]) == 0  # a new ledger has what this run asks for
    assert run(["fit", *line, "--budget", "2.5", "--out", "first", "--seed", "0"]) == 0
    booked = (notes / "b.json").read_bytes()
    capsys.readouterr()
    assert run(["check", *line]) == 2
    told = capsys.readouterr()
    assert "PRIVATE | Most frequent" in told.out
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(["fit", *line]) == 2
    asked = capsys.readouterr().err
    assert "PRIVATE | 1,201 documents" in asked
    assert "Spend" not in asked
    for said in (told.err, asked):
        assert "the budget of epsilon = 2.5 at delta = 1e-06 does not cover" in said
    assert (notes / "b.json").read_bytes() == booked
    advised = re.findall(r"\(--epsilon (.*)\)", asked)[0]
    assert run(["fit", *line, "--epsilon", advised]) == 0  # after the question
    assert f"Spend epsilon {advised} of" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--yes", "--quiet"])
def test_who_says_yes_or_has_no_terminal_is_not_asked(notes, monkeypatch, capsys, option):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", Terminal(""))
    assert run(f"fit {LINE} --out m --seed 0 {option}".split()) == 0
    assert "PRIVATE" not in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run(f"fit {LINE} --out n --seed 0".split()) == 0
    assert "PRIVATE" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--delta 0.5", "--delta = 0.5 promises next to nothing"),
        ("--epsilon 200", "--set allow_large_epsilon=true goes on all the same"),
        ("--epsilon 21", "--epsilon = 21 promises next to nothing"),
    ],
)
def test_a_promise_of_nothing_needs_a_word_before_anything_is_booked(notes, capsys, options, message):
    for command in ("fit", "check"):
        assert run(f"{command} {LINE} --ledger b.json --out m {options}".split()) == 2
        assert message in capsys.readouterr().err
    assert not (notes / "b.json").exists()
    assert run(f"fit {LINE} --epsilon 30 --set allow_large_epsilon=true --out m --seed 0".split()) == 0


def test_check_takes_all_that_fit_takes(capsys):
    import typer

    from discreet.cli.app import app

    commands = typer.main.get_command(app).commands
    options = {name: {one.opts[0] for one in commands[name].params} for name in ("fit", "check")}
    assert options["fit"] == options["check"]
    assert run(["check", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(
        f"  {name} " in said for name in ("--text", "--person", "--epsilon", "--topics", "--stop-words")
    )
    assert "--skip-empty" in said
    assert "--out" not in said
    assert "`discreet fit --help` lists the others." in " ".join(said.split())


def test_fit_warns_before_it_spends_though_nobody_can_be_asked(notes, capsys):
    line = "fit notizen.csv --text note --person patient --epsilon 2 --topics 2 --seed 0"
    assert run(f"{line} --out m".split()) == 0
    said = capsys.readouterr().err
    told = "stand on the German list of stop words, which is not in use; they would fill the topics."
    assert said.count(told) == 1
    (warned,) = [one for one in said.splitlines() if told in one]
    assert warned.startswith("PRIVATE | Before anything is spent, and for you alone")
    assert "Leave them out: --stop-words german. It goes on all the same" in warned
    assert warned.endswith("as to end here would tell of the texts: stop it, or run `discreet check` first.")
    assert said.index(told) < said.index("choosing words")
    assert run(f"{line} --out n --quiet".split()) == 0
    assert warned in capsys.readouterr().err  # else a budget is wasted without a word


def test_fit_is_refused_where_hardly_a_word_would_be_chosen(notes, capsys):
    """It warned, went on, ended at the words, and they stayed booked."""
    assert run(f"fit {LINE} --epsilon 0.02 --ledger b.json --out m --seed 0".split()) == 2
    said = capsys.readouterr().err
    assert "For you alone, because it is exact: About 0 words would be chosen from the texts of 401" in said
    assert "choosing words" not in said
    assert not (notes / "b.json").exists()


def test_the_delta_of_a_ledger_is_that_of_later_commands(notes, capsys):
    """Each was refused for a delta that nobody had said."""
    run(f"fit {LINE} --delta 1e-8 --ledger b.json --budget 4 --out m --seed 0".split())
    for line in (
        f"check {LINE} --ledger b.json --seed 0",
        f"fit {LINE} --epsilon 1 --ledger b.json --out n --seed 0",
        "prevalence m notes.csv --text note --person patient --ledger b.json --epsilon 0.2 --out s.json --seed 0",
    ):
        assert run(line.split()) == 0
    assert "delta = 1e-08" in capsys.readouterr().err
    assert run(f"fit {LINE} --epsilon 1 --delta 1e-6 --ledger b.json --out o --seed 0".split()) == 2
    assert "--delta = 1e-06 is above that of the --ledger, 1e-08" in capsys.readouterr().err
