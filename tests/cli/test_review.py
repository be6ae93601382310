"""`discreet review`: the list, the edits, the reviewed release."""

import importlib.util
import io
import json
from shutil import rmtree

import numpy as np
import pytest
from tests.report.report_cases import release

from discreet import Ledger, Release
from discreet.cli.app import run
from discreet.cli.display import console, hand_over
from discreet.release import edits as editing

WORDS = ("okafor", "4271", "priya", "ward round")
PLAIN = tuple(f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(56))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release(words=WORDS + PLAIN).save("model")
    return Release.load("model")


def test_the_list_puts_names_and_numbers_first(model, capsys):
    assert run(["review", "model"]) == 0
    said = capsys.readouterr().err
    place = {
        line.split()[1]: int(line.split()[0]) for line in said.splitlines() if line.strip()[:1].isdigit()
    }
    assert place["4271"] == 1
    assert {place["okafor"], place["priya"]} == {2, 3}
    assert "--drop WORD" in said
    assert run(["review", "model", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"okafor", "4271", "priya"} <= {entry["word"] for entry in listed}


def test_words_are_dropped_and_the_card_says_who_and_how_many(model, tmp_path, capsys):
    call = "review model --drop okafor --drop 4271 --out reviewed --about title=Notes --about owner=Roe"
    assert run([*call.split(), "--by", "Jane Roe"]) == 0
    assert run("report reviewed --out r.html".split()) == 0
    made = Release.load("reviewed")
    assert set(model.vocabulary) - set(made.vocabulary) == {"okafor", "4271"}
    assert "reviewed by Jane Roe on 20" in made.review
    assert made.review.endswith("2 words removed")
    assert made.details == {"title": "Notes", "owner": "Roe"}
    assert "model still holds every word" in capsys.readouterr().err
    for file in ("reviewed/README.md", "reviewed/vocabulary.txt", "reviewed/model.safetensors", "r.html"):
        raw = (tmp_path / file).read_bytes()
        assert b"okafor" not in raw
    assert "reviewed by Jane Roe" in (tmp_path / "r.html").read_text()
    assert Release.load("model") == model


def test_a_file_of_edits_does_nothing_until_its_marks_are_taken_away(model, tmp_path, capsys):
    assert run("review model --write-edits edits.txt".split()) == 0
    path = tmp_path / "edits.txt"
    text = path.read_text()
    assert "# drop word okafor\n" in text
    assert run("review model --edits edits.txt --by R --out same".split()) == 0
    assert Release.load("same").vocabulary == model.vocabulary
    assert "nothing changed" in Release.load("same").review
    text = text.replace("# drop word okafor\n", "drop word okafor\n")
    text += "rename word ward round = rounds\nname topic 5 = Sea\nmerge topics 1 3\ndrop topic 4\n"
    path.write_text(text)
    assert run("review model --edits edits.txt --by R --out done".split()) == 0
    done = Release.load("done")
    assert "rounds" in done.vocabulary
    assert len(done.topic_word) == 3
    assert done.topic_names == (None, None, "Sea")
    by_hand = model.with_topic_names({5: "Sea"}).merge_topics([1, 3]).without_topics([3])
    by_hand = by_hand.without_words(["okafor"]).with_word_names({"ward round": "rounds"})
    assert (done.topic_word == by_hand.topic_word).all()


@pytest.mark.parametrize(
    ("edits", "told", "names"),
    [
        ("name topic 1 = Dr Okafor's ward|drop word okafor", "topic 1 is not called Dr Okafor's ward: ", {}),
        ("name topic 1 = Ward Round|rename word ward round = x", "topic 1 is not called Ward Round: ", {}),
        ("name topic 2 = Sea|drop topic 2", "topic 2 is not called Sea: ", {}),
        ("name topic 1 = Air|name topic 2 = Sea|merge topics 1 2", "topic 2 is not called Sea: ", {1: "Air"}),
        ("drop topic 1|drop word okafor", "", {}),
        ("name topic 2 = Sea|drop topic 1|drop word okafor", "", {1: "Sea"}),
    ],
)
@pytest.mark.parametrize("earlier", [False, True], ids=["", "named before"])
def test_a_name_that_a_topic_does_not_get_or_keep_is_told(
    model, tmp_path, capsys, edits, told, names, earlier
):
    lines = edits.split("|")
    named = [line for line in lines if line.startswith("name")] if earlier else []
    if named:
        release = editing.apply(model, editing.parse(named))
        rmtree("model")
        release.save("model")
    (tmp_path / "e.txt").write_text("\n".join(line for line in lines if line not in named))
    assert run("review model --edits e.txt --by R --out done --quiet".split()) == 0
    said = capsys.readouterr().err
    told = told * (not earlier or lines[-1] != "drop topic 2")  # what goes with its topic was asked for
    assert said.count("is not called") == bool(told)
    assert told in said
    made = Release.load("done").topic_names
    assert {number: name for number, name in enumerate(made, 1) if name} == names


def test_the_questions_give_the_same_as_a_file(model, monkeypatch, capsys):
    first = [entry for entry in listed(capsys) if entry["word"] in WORDS[:2]]
    places = " ".join(str(entry["place"]) for entry in first)
    answers = f"{places}\n99999\nrename word ward round = rounds\nq\n"
    answers += "name topic 1 = Wards\nname topic 0 = None\nnonsense\n\n\nJane\nout\n"
    monkeypatch.setattr("sys.stdin", Terminal(answers))
    assert run(["review", "model"]) == 0
    said = capsys.readouterr().err
    assert "a name is needed; Ctrl-C ends" in said
    assert "not understood; a line is such as: drop word" in said
    made = Release.load("out")
    assert set(model.vocabulary) - set(made.vocabulary) == {entry["word"] for entry in first} | {"ward round"}
    assert "noted, 3 in all" in said
    assert "rounds" in made.vocabulary
    assert made.topic_names[0] == "Wards"
    assert "reviewed by Jane" in made.review
    assert said.count("not understood") == 3


def listed(capsys):
    assert run(["review", "model", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    return [{**entry, "place": place} for place, entry in enumerate(answer, 1)]


def test_names_from_a_list_come_first(model, tmp_path, capsys):
    (tmp_path / "staff.txt").write_text("Wordac Smith\n")
    assert run("review model --names staff.txt --json".split()) == 0
    assert json.loads(capsys.readouterr().out)[0]["reasons"][0] == "in your list"
    told = "Still among the words, though --names lists them: wordac."
    for number, (gone, stays) in enumerate((("okafor", True), ("wordac", False))):
        assert run(f"review model --names staff.txt --drop {gone} --by R --out r{number}".split()) == 0
        assert (told in " ".join(capsys.readouterr().err.split())) == stays


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("review model --drop okafor", "--out reviewed"),
        ("review model --drop other --out x --by R", "not a word of this release: 'other'; compare"),
        (
            "review model --drop okafour --out x --by R",
            "vocabulary.txt. Did you mean 'okafor'?",
        ),
        ("review model --edits bad.txt --out x --by R", "not understood in line 2, 3"),
        ("review model --out model", "--out must be a new or empty folder"),
        ("review model --edits latin.txt --out x", "UTF-8"),
    ],
)
def test_what_cannot_be_done_is_said(model, tmp_path, call, message, capsys):
    (tmp_path / "bad.txt").write_text("drop word okafor\nplease drop priya\nmerge topics a b\n")
    (tmp_path / "latin.txt").write_bytes(b"drop word caf\xe9\n")
    assert run(call.split()) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_fit_ends_with_advice_to_review(tmp_path, capsys):
    hand_over(release(), tmp_path / "model", None, console())
    assert capsys.readouterr().err.rstrip().endswith(f"discreet review {tmp_path / 'model'}")


@pytest.mark.parametrize(
    "said", ["", "--by R", "--drop okafor", "--names staff.txt", "--by R --note looked", "--edits none.txt"]
)
def test_a_script_certifies_nothing_without_a_name_and_a_decision(model, tmp_path, said, capsys):
    for file in ("staff.txt", "none.txt"):
        (tmp_path / file).write_text("# drop word okafor\n")
    assert run(["review", "model", "--out", "x", *said.split()]) == 2
    message = capsys.readouterr().err
    assert "say whose, --by YOU, and what goes, --drop WORD or --edits FILE" in message
    assert not (tmp_path / "x").exists()
    assert run("review model --by R --edits none.txt --out x".split()) == 0
    assert "reviewed by R" in Release.load("x").review


@pytest.mark.parametrize("what", [{"reproducible": True}, {"epsilon": float("inf")}])
def test_a_fit_that_is_not_for_release_does_not_invite_to_publish(tmp_path, capsys, what):
    hand_over(release(**what), tmp_path / "model", None, console())
    said = " ".join(capsys.readouterr().err.split())
    assert "before you publish" not in said
    assert "Do not publish this: " in said
    assert said.endswith("Run again without --seed." if "reproducible" in what else "for comparison only.")


def test_nothing_to_look_at_is_said_without_a_table(model, monkeypatch, capsys):
    monkeypatch.setattr("discreet.report.suspicion.suspicious_words", lambda *args, **how: [])
    assert run(["review", "model"]) == 0
    said = capsys.readouterr().err
    blind = ", but rare words were not looked for" if importlib.util.find_spec("wordfreq") is None else "."
    assert said.startswith(f"No word looks suspicious{blind}")
    assert "most suspicious first" not in said
    assert "first words of topic" not in said


def test_what_still_holds_a_removed_word_is_said(capsys, tmp_path):
    made = Release(np.full((2, 3), 1 / 3), ["okafor", "ward", "bed"], Ledger(1, 1e-6))
    made.with_details(title="Notes of Dr Okafor").save(tmp_path / "m")
    out = ("--by", "J", "--out", str(tmp_path / "r"))
    assert run(["review", str(tmp_path / "m"), "--drop", "okafor", *out]) == 0
    assert "Look again: the title still holds a word that was removed" in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        r"\w{2,9}",
        "a?a?a?b",
        r"\\+\\+x",
        "a*b*c",
        "a|b",
        "(",
        r"\w{0,65535}\w{0,65535}!",
        r"\w{1,}\w{0,999}!",
    ],
)
def test_a_pattern_from_elsewhere_is_not_run_unless_it_is_plain(capsys, tmp_path, pattern):
    made = Release(
        np.full((2, 1), 1.0), ["a" * 41], Ledger(1, 1e-6), configuration={"token_pattern": pattern}
    )
    made.save(tmp_path / "m")
    texts = tmp_path / "t.txt"
    texts.write_text(("a" * 41 + "\n") * 20)
    out = tmp_path / "x.csv"
    command = ["transform", str(tmp_path / "m"), str(texts), "--read", "format=lines", "--out", str(out)]
    assert run(command) == 2
    assert "If you trust it, give it yourself: --read token_pattern=" in capsys.readouterr().err
    assert run([*command, "--read", "token_pattern=[a-z]+"]) == 0


@pytest.mark.parametrize("pattern", [r"(?u)\b\w\w+\b", "[a-z]{3,}", r"\S+", r"\w{2,}"])
def test_plain_patterns_of_a_release_are_used(tmp_path, pattern):
    word = "a" * 5
    made = Release(np.eye(2), [word, "bbbbb"], Ledger(1, 1e-6), configuration={"token_pattern": pattern})
    made.save(tmp_path / "m")
    (tmp_path / "t.jsonl").write_text(
        '{"body": "aaaaa bbbbb", "key": "=2+5"}\n{"body": "aaaaa", "key": "@SUM(1)"}\n'
    )
    out = tmp_path / "x.csv"
    how = ("--text", "body", "--id", "key", "--out", str(out))
    command = ["transform", str(tmp_path / "m"), str(tmp_path / "t.jsonl"), *how]
    assert run(command) == 0
    lines = out.read_text().splitlines()
    assert [line.split(",")[1] for line in lines] == ["key", "'=2+5", "'@SUM(1)"]


HIDDEN = "\x1b\x9b\u202e\u2067"
EVIL = "E\x1b[31mvil\u202egnp\u2067z\x9b"


def test_what_looks_like_a_removed_word_is_shown_beside_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release(words=("okafor", "okaf\u00f3r", "Okafor", "0kafor", "4271", *PLAIN[:55])).save("model")
    assert run("review model --drop okafor --by R --out reviewed".split()) == 0
    told = capsys.readouterr().err
    assert "okafor is gone, but what looks like it is still there: okaf\u00f3r (okaf\\xf3r), Okafor" in told
    (tmp_path / "edits.txt").write_text("drop word Okafor\ndrop word okaf\u00f3r\n", "utf-8")
    assert run("review reviewed --edits edits.txt --by R --out clean".split()) == 0
    assert "looks like it" not in capsys.readouterr().err  # nothing that looks so is left
    assert run("review model --drop 4271 --by R --out other".split()) == 0
    assert "looks like it" not in capsys.readouterr().err


def test_nothing_that_people_wrote_reaches_a_terminal_or_a_page_as_a_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release(words=WORDS + PLAIN).save("model")
    (tmp_path / "edits.txt").write_text(f"name topic 1 = {EVIL}\nrename word okafor = {EVIL}\n", "utf-8")
    (tmp_path / "names.txt").write_text(f"{EVIL}\n", "utf-8")
    call = ["review", "model", "--edits", "edits.txt", "--out", "reviewed"]
    assert run([*call, "--by", EVIL, "--about", f"title={EVIL}", "--note", EVIL]) == 0
    assert Release.load("reviewed").vocabulary[0] == EVIL  # kept as it is, shown as it cannot do harm
    for line in (
        "review reviewed", "review reviewed --json", "review reviewed --names names.txt", "topics reviewed",
        "topics reviewed --json", "report reviewed --out again.html", "compare model reviewed --out c.html",
    ):  # fmt: skip
        assert run(line.split()) == 0
    said = capsys.readouterr()
    shown = [said.out, said.err] + [
        (tmp_path / file).read_text("utf-8")
        for file in ("again.html", "c.html", "reviewed/README.md", "reviewed/vocabulary.txt")
    ]
    assert [sorted(set(text) & set(HIDDEN)) for text in shown] == [[]] * len(shown)
    assert "vil" in said.err


@pytest.mark.parametrize(
    "answers", ["nonsense\n" * 3, "nonsense\n" * 7, "1\n", "q\n", "q\n\n", "q\n\nJane\n", ""]
)
def test_where_input_ends_nothing_is_written_as_reviewed(model, tmp_path, monkeypatch, capsys, answers):
    monkeypatch.setattr("sys.stdin", Terminal(answers))
    before = sorted(tmp_path.rglob("*"))
    assert run(["review", "model"]) == 2
    said = capsys.readouterr().err
    assert "nothing was reviewed: the answers ended before the review did" in said
    assert sorted(tmp_path.rglob("*")) == before
    n_wrong = answers.count("nonsense")
    assert said.count("not understood") == n_wrong
    assert said.count("stands before each word of the list above: 1 3 removes two of them") == n_wrong


def test_how_many_of_the_words_are_listed_is_said(model, monkeypatch, capsys):
    from discreet.report.suspicion import Suspect

    many = [Suspect(f"w{n}", ("rare",), 0.0, (0,), 0.1) for n in range(40)]
    monkeypatch.setattr("discreet.report.suspicion.suspicious_words", lambda *args, **how: many)
    assert run(["review", "model"]) == 0
    assert "40 words to look at, the most suspicious first; here are the first 25" in " ".join(
        capsys.readouterr().err.split()
    )
