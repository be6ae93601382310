"""The way of a stranger: a course of questions, its collector, clients that answer, and topics at the end."""

import contextlib
import http.client
import json
import math
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from discreet import Release
from discreet._base.files import lock_beside
from discreet.cli.app import run
from discreet.cli.commands.answer import NOTHING_TO_SEND
from discreet.errors import CorpusError, ParameterError, WeakForecastWarning
from discreet.local import (
    CodebookChannel,
    PublishedQuestion,
    ReportMemo,
    amplify_by_shuffling,
    read_codebook_reports,
    write_reports,
)
from discreet.local.whole_document.course import Course
from discreet.local.whole_document.questions import Question
from discreet.privacy import SecureStream

pytest.importorskip("uvicorn", reason="needs the extra collector")
# Courses of a few clients; a test of its own asks for the warning.
pytestmark = pytest.mark.filterwarnings("ignore:Learnability. weak")

NODE = shutil.which("node")
CLIENT = Path(str(files("discreet.local") / "discreet-client.js"))
TOKEN = "0123456789abcdef-token"
WORDS = ["fever", "cough", "cold", "knee", "back", "bone", "sleep", "tired", "dream"]
VECTORS = np.eye(3)[np.arange(9) // 3] + 0.05 * np.random.default_rng(0).normal(size=(9, 3))
SHARES = "0.4,0.2,0.4"


def texts(n, seed=0):
    """Each about one of three groups of words, mostly."""
    rng = np.random.default_rng(seed)
    chance = np.where(np.arange(9) // 3 == rng.integers(3, size=(n, 1)), 0.8, 0.1)
    return [" ".join(np.array(WORDS)[row]) or "nothing" for row in rng.random((n, 9)) < chance]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("".join(f"{word}\n" for word in WORDS))
    np.savez("vectors.npz", words=np.array(WORDS), vectors=VECTORS)
    Path("tokens.txt").write_text(f"{TOKEN}\n")
    return tmp_path


def begin(*more):
    line = f"ask course --vocabulary words.txt --epsilon 8 --word-vectors vectors.npz --topics 3 --shares {SHARES}"
    return run([*line.split(), "--allow-unlearnable", *more])


# ---------------------------------------------------------------- the whole way, over HTTP


@contextlib.contextmanager
def collecting(question, store):
    """Run the command, and yield its port."""
    command = [
        sys.executable,
        "-c",
        "from discreet.cli import main; main()",
        "collect",
        "--question",
        question,
    ]
    command += ["--store", store, "--port", "0", "--tokens", "tokens.txt"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout:
                found = re.search(r"http://127.0.0.1:(\d+)/", line)
                if found:
                    break
            yield int(found.group(1))
        finally:
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=30)
            assert said == ("", "")  # no report, no token, no address


def ask(port, method, path, body=None, token=TOKEN):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
        connection.request(method, path, body, headers if method == "POST" else {})
        answer = connection.getresponse()
        return answer.status, answer.read()


def python_clients(port, memo, documents):
    """Take the question from the service, answer it where it is a document's own, send."""
    status, text = ask(port, "GET", "/question")
    assert status == 200
    asked = PublishedQuestion.from_json(text.decode())
    found = []
    for i, document in enumerate(documents):
        columns = [WORDS.index(word) for word in document.split() if word in WORDS]
        report = memo.answer(
            asked.channel, asked.question, columns, SecureStream(), shares=asked.shares, name=f"diary {i}"
        )
        found += [] if report is None else [report]
    body = b"".join(report.to_bytes() for report in found)
    assert ask(port, "POST", "/reports", body, "somebody-without-token")[0] == 401
    assert json.loads(ask(port, "POST", "/reports", body)[1]) == {"counted": len(found), "repeated": 0}
    assert json.loads(ask(port, "POST", "/reports", body)[1]) == {"counted": 0, "repeated": len(found)}
    return found


BROWSER = """
const fs = require("fs"), client = require(PATH), [port, kept] = [PORT, "kept.json"];
(async () => {
  const memory = new Map(fs.existsSync(kept) ? JSON.parse(fs.readFileSync(kept)) : []);
  const storage = {getItem: (k) => memory.has(k) ? memory.get(k) : null, setItem: (k, v) => { memory.set(k, v); }};
  const here = "http://127.0.0.1:" + port, asked = await (await fetch(here + "/question")).json();
  const made = await client.create({
    channel: {p: 3e9, q: 1e9, limit: 3}, vocabulary: asked.question.vocabulary, storage, mostEpsilon: 8});
  let sent = 0;
  for (const [i, text] of TEXTS.entries()) {
    const report = await made.answer(asked, text, "diary " + i);
    if (report === null) continue;
    const headers = {Authorization: "Bearer TOKEN", "Content-Type": "application/octet-stream"};
    const told = await fetch(here + "/reports", {method: "POST", body: report, headers});
    const {counted} = await told.json();
    sent += counted;
  }
  fs.writeFileSync(kept, JSON.stringify([...memory]));
  console.log(sent);
})();
"""


def browser_clients(port, documents):
    if NODE is None:
        return 0
    script = (
        BROWSER.replace("PATH", json.dumps(str(CLIENT))).replace("PORT", str(port)).replace("TOKEN", TOKEN)
    )
    script = script.replace("TEXTS", json.dumps(documents))
    done = subprocess.run([NODE, "-e", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def file_clients(place):
    """The command: a question in, a file of answers out."""
    line = f"answer notes.jsonl --question course/question-{place}.json --epsilon 8 --memory memory.json --name id"
    assert run([*line.split(), "--out", f"sent-{place}.bin"]) == 0
    sent = Path(f"sent-{place}.bin")
    return read_codebook_reports(sent) if sent.exists() else []


def evaluate_beside_vectors(capsys):
    Path("held_out.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts(60, 9)))
    capsys.readouterr()
    asked = "evaluate course/topics held_out.jsonl --word-vectors vectors.npz --json"
    assert run(asked.split()) == 0
    found = json.loads(capsys.readouterr().out)
    assert 1 < found["completion_perplexity"] < len(WORDS)
    assert 1 < found["public_alone"]["completion_perplexity"] < len(WORDS)
    return found


@pytest.mark.integration
def test_strangers_answer_and_topics_come_of_it(here, capsys):
    before_it = datetime.now(UTC).date().isoformat()
    assert begin() == 0
    assert "question 1 of 3, about words" in " ".join(capsys.readouterr().err.split())
    notes = [{"id": f"n{i}", "text": text} for i, text in enumerate(texts(30, 1))]
    Path("notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    diaries, pages, memo, total = texts(300, 2), texts(30, 3), ReportMemo(), []
    for place in (1, 2, 3):
        question, store = f"course/question-{place}.json", f"answers-{place}.db"
        with collecting(question, store) as port:
            sent = python_clients(port, memo, diaries)
            n = len(sent) + browser_clients(port, pages)
            status = json.loads(ask(port, "GET", "/status")[1])
            assert (status["reports"], status["place"], status["questions"]) == (n, place - 1, 3)
            assert "epsilon 8" in status["guarantee"]
            assert ask(port, "GET", "/topics")[0] == 404
            assert ask(port, "GET", "/healthz")[0] == 200
            # One writer thinks better of it.
            assert json.loads(ask(port, "POST", "/withdraw", sent[0].to_bytes())[1])["withdrawn"] == 1
            more = file_clients(place)
        total.append(n - 1 + len(more))
        answers = ["--answers", store, *(["--answers", f"sent-{place}.bin"] if more else [])]
        assert run(["ask", "course", *answers]) == 0
        assert " 0 answers left out" in f" {' '.join(capsys.readouterr().err.split())}"
    release = Release.load(here / "course" / "topics")
    said = release.configuration
    assert said["n_reports"] == sum(total) == 300 + 30 * (NODE is not None) + 30 - 3
    assert said["reports_on_each"] == ", ".join(map(str, total))
    assert said["questions"] == "words, squares, topics"
    assert not release.reproducible
    assert release.details["date"] in {before_it, datetime.now(UTC).date().isoformat()}
    assert "made on" in (here / "course" / "topics" / "README.md").read_text().lower()
    assert evaluate_beside_vectors(capsys)["public_alone"]["word_vectors"] == "vectors.npz"
    assert (release.ledger.privacy_unit, release.ledger.neighboring) == ("report", "replace_one")
    groups = release.topic_word.reshape(3, 3, 3).sum(2)  # each topic has a group of its own
    assert sorted(groups.argmax(1)) == [0, 1, 2]
    assert groups.max(1).min() > 0.6
    assert run("ask course --answers answers-3.db".split()) == 2
    assert "has ended" in capsys.readouterr().err
    # Nobody answered twice, whatever was asked: the three files of the notes hold each once.
    numbers = [r.number for p in Path().glob("sent-*.bin") for r in read_codebook_reports(p)]
    assert len(numbers) == len(set(numbers)) == 30


# ---------------------------------------------------------------- a published question


def published(place=0, epsilon=8.0, ends=(2**31, 2**32)):
    channel = CodebookChannel.for_document(epsilon)
    question = Question("words", place, tuple(WORDS), np.zeros((9, 0), np.int64), np.zeros(0, np.int64))
    return PublishedQuestion(question, channel, ends)


def changed(**what):
    return json.dumps({**json.loads(published().to_json()), **what})


def test_a_published_question_survives_its_text(tmp_path):
    asked = published()
    again = PublishedQuestion.from_json(asked.to_json())
    assert (again.channel, again.ends, again.shares) == (asked.channel, asked.ends, (2**31, 2**31))
    assert again.question.digest == asked.question.digest
    assert again.to_json() == asked.to_json()
    (tmp_path / "q").write_text(asked.to_json())
    assert PublishedQuestion.read(tmp_path / "q").to_json() == asked.to_json()
    numbers = [bytes([i]) * 16 for i in range(200)]
    assert 60 < sum(asked.asks(number) for number in numbers) < 140
    assert [asked.asks(n) for n in numbers] == [not published(1).asks(n) for n in numbers]


CHANNEL = json.loads(published().to_json())["channel"]
QUESTION = json.loads(published().to_json())["question"]
BAD = {
    "nothing": "",
    "a list": "[]",
    "depth": "[" * 100_000,
    "no channel": changed(channel=None),
    "no question": changed(question=5),
    "no numbers": changed(channel={**CHANNEL, "member": None}),
    "a fraction": changed(channel={**CHANNEL, "member": 2.5}),
    "too much": changed(channel={**CHANNEL, "member": 2**52, "other": 1}),
    "sides": changed(channel={**CHANNEL, "twoSided": True}),
    "no sides": changed(channel={**CHANNEL, "twoSided": 1}),
    "no ends": changed(ends=[]),
    "ends that fall": changed(ends=[2**31, 2**30, 2**32]),
    "an empty part": changed(ends=[0, 2**32]),
    "an early end": changed(ends=[2**30, 2**31]),
    "an end of text": changed(ends=["0", 2**32]),
    "another part": changed(question={**QUESTION, "place": 2}),
    "a word twice": changed(question={**QUESTION, "vocabulary": [*WORDS[:-1], WORDS[0]]}),
    "an empty word": changed(question={**QUESTION, "vocabulary": [*WORDS[:-1], ""]}),
    "two lines": changed(question={**QUESTION, "vocabulary": [*WORDS[:-1], "a\nb"]}),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_published_question_is_refused_before_any_document_is_read(name, here, capsys):
    with pytest.raises(CorpusError):
        PublishedQuestion.from_json(BAD[name])
    Path("q.json").write_text(BAD[name])
    # The file of documents is not even there: nothing about it can decide.
    assert run("answer notes.jsonl --question q.json --epsilon 9 --memory m --out o".split()) == 2
    assert "question" in capsys.readouterr().err
    assert not Path("m").exists()


def test_a_file_that_is_too_large_or_no_text_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "q"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CorpusError, match="not a published question"):
        PublishedQuestion.read(path)
    path.write_text(published().to_json())
    monkeypatch.setattr("discreet.local.whole_document.questions._LARGEST", 100)
    with pytest.raises(CorpusError, match="not a published question"):
        PublishedQuestion.read(path)


# ---------------------------------------------------------------- what a collector takes


def reports_on(asked, n=4, seed=0):
    rng, blank = np.random.default_rng(seed), asked.blank()
    numbers = (rng.bytes(16) for _ in range(1000))
    mine = [number for number in numbers if asked.asks(number)][:n]
    return [replace(blank, number=number, answer=int(rng.integers(4096))) for number in mine]


def raw(reports):
    return b"".join(report.to_bytes() for report in reports)


def test_answers_that_fit_are_taken_and_others_not():
    from discreet.local.collector.intake import AnswerForm

    asked = published()
    form, good = AnswerForm(asked), reports_on(asked)
    assert form.split(raw(good)) == [(r.number, r.answer.to_bytes(4, "little")) for r in good]
    not_asked = replace(good[1], number=reports_on(published(1))[0].number)
    seeded = replace(good[1], channel=replace(asked.channel, reproducible=True))
    other = CodebookChannel.for_document(7.9)
    too_large = raw(good[1:2])[:28] + (4096).to_bytes(4, "little") + raw(good[1:2])[32:]
    for bad, told in (
        (raw([not_asked]), "another question is for"),
        (raw([seeded]), "seed"),
        (raw([replace(good[1], channel=other)]), "another channel"),
        (raw([replace(good[1], question=bytes(32))]), "another question"),
        (raw([replace(good[1], vocabulary=bytes(32))]), "another question"),
        (too_large, "codewords"),
        (raw(good)[:50], "112 bytes"),
        (b"x" * 112, "DSCW"),
    ):
        with pytest.raises(CorpusError, match=rf"report 2.*{told}") as caught:
            form.split(raw(good[:1]) + bad)
        assert f" {good[1].answer}" not in str(caught.value)
    with pytest.raises(CorpusError, match="nothing came"):
        form.split(b"")


def test_a_store_keeps_the_answers_to_one_question(tmp_path):
    from discreet.local.collector.store import ReportStore
    from discreet.local.collector.tables import ConflictError
    from discreet.local.whole_document.course import collected_answers

    asked, where = published(), tmp_path / "answers.db"
    good = reports_on(asked, 5)
    rows = [(report.number, report.answer.to_bytes(4, "little")) for report in good]
    with ReportStore(where, WORDS, asked) as store:
        assert store.add(rows).result() == (5, 0)
        assert store.add(rows[:2]).result() == (0, 2)
        other = (rows[0][0], bytes([rows[0][1][0] ^ 1]) + rows[0][1][1:])
        with pytest.raises(ConflictError):
            store.add([other]).result()
        forged = [(number, bytes([answer[0] ^ 1]) + answer[1:]) for number, answer in rows]
        assert store.withdraw(forged).result() == (0, 0, 5)
        assert store.withdraw(rows[4:]).result().withdrawn == 1
        assert collected_answers(where, asked) == good[:4]  # while it runs
    with ReportStore(where, WORDS, asked) as store:
        assert store.n_reports == 4
        assert store.add(rows).result() == (0, 5)  # what was withdrawn does not come back
    same = "on this question through another channel, or for other shares"
    wrongs = {"on another question": published(1), same: published(epsilon=7.0)}
    for told, wrong in (*wrongs.items(), (same, published(ends=(2**30, 2**32)))):
        with pytest.raises(CorpusError, match=told) as caught:
            collected_answers(where, wrong)
        assert "--store" not in str(caught.value)
        with pytest.raises(CorpusError, match=f"{told}.*, or another --store"):
            ReportStore(where, WORDS, wrong)
    with pytest.raises(CorpusError, match="no store"):
        collected_answers(tmp_path / "none.db", asked)
    assert not (tmp_path / "none.db").exists()


# ---------------------------------------------------------------- the folder of a course


def answered(course, n=60):
    """Answers of clients to the question that is open."""
    asked, memo = course.asked, ReportMemo()
    found = [
        memo.answer(
            asked.channel, asked.question, [WORDS.index(w) for w in text.split() if w in WORDS], SecureStream(),
            shares=(1,) * (asked.question.place) + (10**6,) + (1,) * (2 - asked.question.place), name=str(i),
        )
        for i, text in enumerate(texts(n))
    ]  # fmt: skip
    return [report for report in found if report is not None and asked.asks(report.number)]


def a_course(folder, **more):
    given = {"epsilon": 8.0, "word_vectors": "vectors.npz", "n_topics": 3, "shares": (0.4, 0.2, 0.4)}
    return Course.begin(folder, WORDS, **{**given, "allow_unlearnable": True, **more})


def test_a_course_goes_on_where_it_was_left(here):
    course = a_course("course")
    first = answered(course)
    course.learn(first)
    assert course.asked.question.kind == "squares"
    again = Course("course")
    assert again.asked.question.digest == course.asked.question.digest
    # A crash before the second question was written: it is written again, the same.
    text = Path("course/question-2.json").read_bytes()
    Path("course/question-2.json").unlink()
    assert Course("course").asked.question.digest == course.asked.question.digest
    assert Path("course/question-2.json").read_bytes() == text
    with pytest.raises(CorpusError, match="no client"):
        again.learn(first)  # they answer the first question
    assert not Path("course/answers-2.bin").exists()
    # Answers that are changed afterwards lead elsewhere, and that is noticed.
    kept = Path("course/answers-1.bin").read_bytes()
    Path("course/answers-1.bin").write_bytes(kept[: 112 * (len(kept) // 112 - 3)])
    with pytest.raises(CorpusError, match="is not the question"):
        Course("course")


def test_two_who_learn_at_once_leave_the_answers_of_the_first(here):
    """The second finds that the folder is no longer what it was opened as, and writes nothing."""
    a_course("course")
    one, two = Course("course"), Course("course")
    first = answered(one)
    one.learn(first)
    before = {file.name: file.read_bytes() for file in Path("course").iterdir()}
    with pytest.raises(CorpusError, match="has changed since it was opened"):
        two.learn(first[:-3])
    assert {file.name: file.read_bytes() for file in Path("course").iterdir()} == before
    assert len(read_codebook_reports("course/answers-1.bin")) == len(first)
    one = Course("course")
    one.learn(answered(one))
    assert one.asked.question.place == 2


def test_answers_are_not_put_into_another_course_that_took_the_folder(here):
    """They stood there as the answers to its question, which it then could not learn from."""
    course = a_course("course")
    first = answered(course)
    Path("course").rename("moved")
    other = a_course("course", epsilon=4.0)
    with pytest.raises(CorpusError, match="another course was put there"):
        course.learn(first)
    assert not Path("course/answers-1.bin").exists()
    assert other.learn(answered(other)).question.place == 1


def test_learning_waits_for_whoever_is_learning(here):
    course = a_course("course")
    given = answered(course)
    with lock_beside(Path("course/course.json")):
        learning = threading.Thread(target=course.learn, args=(given,))
        learning.start()
        learning.join(0.3)
        assert learning.is_alive()
        assert not Path("course/answers-1.bin").exists()
    learning.join(30)
    assert Path("course/answers-1.bin").exists()


@pytest.mark.parametrize("form", ["write-ahead", "settings of its own", "tables"])
def test_a_database_that_is_no_store_stays_as_it_was(here, capsys, form):
    a_course("course")
    with contextlib.closing(sqlite3.connect("other.sqlite")) as other:
        if form == "write-ahead":
            other.execute("PRAGMA journal_mode = WAL")
        other.execute(
            "CREATE TABLE "
            + ("settings (mine TEXT)" if form == "settings of its own" else "mine (settings TEXT)")
        )
        other.execute(
            f"INSERT INTO {'settings' if form == 'settings of its own' else 'mine'} VALUES ('kept')"
        )
        other.commit()
    before = Path("other.sqlite").read_bytes()
    assert run("ask course --answers other.sqlite".split()) == 2
    assert "cannot be used as a store" in capsys.readouterr().err
    assert Path("other.sqlite").read_bytes() == before
    assert not Path("course/answers-1.bin").exists()


def test_answers_are_read_from_a_store_that_refuses_to_be_written(tmp_path):
    from discreet.local.collector.store import ReportStore
    from discreet.local.collector.tables import Snapshot, settings_of
    from discreet.local.whole_document.course import collected_answers

    asked, where = published(), tmp_path / "answers.db"
    good = reports_on(asked, 5)
    with ReportStore(where, WORDS, asked) as store:
        store.add([(report.number, report.answer.to_bytes(4, "little")) for report in good]).result()
    before = where.read_bytes()
    assert collected_answers(where, asked) == good
    with (
        contextlib.closing(Snapshot(where, settings_of(WORDS, asked))) as seen,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        seen._reading.execute("DELETE FROM reports")
    assert where.read_bytes() == before


def an_ended_course():
    course = a_course("course")
    while course.asked is not None:
        course.learn(answered(course))


def test_an_ended_course_says_so_and_its_topics_are_looked_at(here, capsys):
    an_ended_course()
    capsys.readouterr()
    assert run("ask course".split()) == 0
    said = capsys.readouterr().err
    assert "the course has ended; its topics are in course/topics" in " ".join(said.split())
    assert "wrote" not in said
    kept = Path("course/answers-3.bin").read_bytes()
    for damage in (
        lambda: Path("course/topics/model.safetensors").unlink(),
        lambda: Path("course/answers-3.bin").write_bytes(kept[: len(kept) // 224 * 112]),
    ):
        shutil.copytree("course", "whole", dirs_exist_ok=True)
        damage()
        assert run("ask course".split()) == 2
        said = capsys.readouterr().err
        assert "is damaged, or holds other topics than the answers lead to" in " ".join(said.split())
        assert "wrote" not in said
        shutil.rmtree("course")
        shutil.move("whole", "course")
    shutil.rmtree("course/topics")
    assert run("ask course".split()) == 0
    assert "wrote course/topics" in " ".join(capsys.readouterr().err.split())


def test_the_end_says_what_a_shuffler_would_have_made_of_it(here, capsys):
    course = a_course("course", epsilon=1.0, shares=(1.0,))
    blank, rng = course.asked.blank(), np.random.default_rng(0)
    answers = [replace(blank, number=rng.bytes(16), answer=int(rng.integers(1024))) for _ in range(500)]
    write_reports("sent.bin", answers)
    assert run("ask course --answers sent.bin".split()) == 0
    said = " ".join(capsys.readouterr().err.split())
    central = amplify_by_shuffling(course.model.channel().epsilon, 500, 2e-4)
    assert 0.05 < central < 0.5
    assert f"epsilon {math.ceil(100 * central) / 100:.2g} at delta 2e-04, for the 500 answers" in said
    # A handful of answers hides nobody, and nothing is said.
    few = a_course("few", shares=(1.0,))
    few.learn(answered(few)[:20])
    assert run("ask few".split()) == 0
    assert "shuffler" not in capsys.readouterr().err


def test_what_begins_no_course(here, capsys):
    with pytest.raises(ParameterError, match="epsilon"):
        a_course("course", epsilon=30)
    assert not Path("course").exists()
    a_course("course")
    with pytest.raises(ParameterError, match="something already"):
        a_course("course")
    with pytest.raises(CorpusError, match="no course"):
        Course("elsewhere")
    for text in ("[]", "{}", '{"schema": 1}', "\xff"):
        Path("elsewhere").mkdir(exist_ok=True)
        Path("elsewhere/course.json").write_text(text)
        with pytest.raises(CorpusError, match="no course"):
            Course("elsewhere")
    np.savez("vectors.npz", words=np.array(WORDS), vectors=VECTORS + 1)
    with pytest.raises(CorpusError, match="not those that the course was begun with"):
        Course("course")
    for line, told in (
        ("ask new --vocabulary words.txt", "--epsilon and --word-vectors"),
        ("ask new --vocabulary words.txt --epsilon 8 --word-vectors vectors.npz --answers x", "without them"),
        ("ask new --vocabulary words.txt --epsilon 8 --word-vectors vectors.npz --shares a,b", "--shares"),
        ("ask new --epsilon 8", "--vocabulary"),
        ("ask new", "no course"),
    ):
        assert run(line.split()) == 2
        assert told in capsys.readouterr().err
        assert not Path("new").exists()


def test_too_few_clients_end_a_course_before_anything_is_kept(here, capsys):
    course = a_course("course", allow_unlearnable=False)
    with pytest.raises(ParameterError, match="clients or more"):
        course.learn(answered(course))
    assert not Path("course/answers-1.bin").exists()
    assert Course("course").asked.question.kind == "words"


def test_a_course_goes_on_with_too_few_clients_where_that_is_said_later(here, capsys):
    course = a_course("course", allow_unlearnable=False)
    write_reports("answers.bin", answered(course))
    assert run("ask course --answers answers.bin".split()) == 2
    told = capsys.readouterr().err
    assert "--shares 1.0 " in told
    assert "(1.0,)" not in told
    assert "--allow-unlearnable fits all the same" in told
    assert run("ask course --answers answers.bin --allow-unlearnable".split()) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert re.search(r"worth s = \d+, and below 450.*question 2 of 3", told)
    assert Course("course").asked.question.kind == "squares"  # the folder keeps it: no refusal
    with pytest.warns(WeakForecastWarning, match="below 450"):
        Course("course")


def test_ended_courses_take_no_leave(here, capsys):
    course = a_course("course", shares=(1.0,), allow_unlearnable=False)
    course.learn(answered(course))
    assert run("ask course --allow-unlearnable".split()) == 2
    assert "has ended" in capsys.readouterr().err


# ---------------------------------------------------------------- the command of writers


def test_no_question_brings_a_writer_to_lose_more(here, capsys):
    Path("notes.txt").write_text("fever and cold\n")
    Path("q.json").write_text(published(epsilon=8.0, ends=(2**32,)).to_json())
    line = "answer notes.txt --read format=lines --question q.json --memory m.json --out o.bin --epsilon"
    assert run([*line.split(), "7.9"]) == 2
    assert "loses 8" in capsys.readouterr().err
    assert not Path("o.bin").exists()
    assert not Path("m.json").exists()
    assert run([*line.split(), "8"]) == 0
    (sent,) = read_codebook_reports("o.bin")
    # Another channel, other parts of the clients, another question: all would cost anew.
    Path("q.json").write_text(published(epsilon=7.0, ends=(2**32,)).to_json())
    line = line.replace("o.bin", "p.bin")
    assert run([*line.split(), "8"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert (
        "1 document has spent its budget on earlier reports or answers; no further answer without a larger --budget"
        in told
    )
    assert "nothing was written: another report of this document would bring its loss from 8 to 15" in told
    assert not Path("p.bin").exists()
    assert run([*line.split(), "8", "--budget", "15"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "m.json records what each document has lost in all, with this answer: 15 (1 document)" in told
    Path("q.json").write_text(published(epsilon=8.0, ends=(2**32,)).to_json())
    assert run([*line.replace("p.bin", "r.bin").split(), "8"]) == 0
    assert read_codebook_reports("r.bin") == [sent]


def test_whose_turn_it_is_not_sends_nothing_and_scripts_can_tell(here, capsys):
    Path("notes.txt").write_text("fever and cold\n")
    Path("q.json").write_text(published(ends=(1, 2**32)).to_json())
    assert (
        run(
            "answer notes.txt --read format=lines --question q.json --memory m.json --out o.bin --epsilon 8".split()
        )
        == NOTHING_TO_SEND
        == 4
    )
    told = " ".join(capsys.readouterr().err.split())
    assert "nothing was written: the document is not asked this question, so there is nothing to send" in told
    assert not Path("o.bin").exists()
    assert json.loads(Path("m.json").read_text())["numbers"]  # drawn once, and kept


def notes(*found):
    lines = [{"id": name, "text": text} for name, text in found]
    Path("notes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


ANSWER = "answer notes.jsonl --question q.json --memory m.json --out o.bin --epsilon 8"


def anew(line):
    """Answer where no answers lie from before."""
    Path("o.bin").unlink(missing_ok=True)
    return run(line)


def test_answers_follow_names_and_never_texts(here, capsys):
    """Documents with the same words had one number and one answer: certain, whatever epsilon says."""
    Path("q.json").write_text(published(ends=(2**32,)).to_json())
    notes(("a", "I have fever"), ("b", "my fever again"))
    assert run(ANSWER.split()) == 2
    assert "--name" in capsys.readouterr().err
    assert not Path("o.bin").exists()
    assert not Path("m.json").exists()
    assert anew([*ANSWER.split(), "--name", "id"]) == 0
    first = read_codebook_reports("o.bin")
    assert len({report.number for report in first}) == 2
    notes(("a", "my knee"), ("b", ""))
    assert anew([*ANSWER.split(), "--name", "id"]) == 0
    assert read_codebook_reports("o.bin") == first
    # Text files have names: their paths in their folder.
    Path("m.json").unlink()
    Path("diary/old").mkdir(parents=True)
    for name in ("a.txt", "old/a.txt"):
        Path("diary", name).write_text("fever")
    line = ANSWER.replace("notes.jsonl", "diary")
    assert anew(line.split()) == 0
    first = read_codebook_reports("o.bin")
    assert len({report.number for report in first}) == 2
    Path("diary/a.txt").write_text("knee")
    assert anew(line.split()) == 0
    assert read_codebook_reports("o.bin") == first


def test_who_answered_before_silences_nobody_else(here, capsys):
    """And who falls silent follows from names and earlier answers, whatever the documents say."""
    Path("q.json").write_text(published(ends=(2**32,)).to_json())
    notes(("a", "fever"), ("b", "knee"))
    assert anew([*ANSWER.split(), "--name", "id"]) == 0
    before, memory = {report.number for report in read_codebook_reports("o.bin")}, Path("m.json").read_bytes()
    Path("q.json").write_text(published(epsilon=7.0, ends=(2**32,)).to_json())
    for texts_now in (("fever", "knee", "cold"), ("knee", "fever", ""), ("fever",) * 3, ("",) * 3):
        Path("m.json").write_bytes(memory)
        notes(*zip("abc", texts_now, strict=True))
        assert anew([*ANSWER.split(), "--name", "id"]) == 0
        told = " ".join(capsys.readouterr().err.split())
        assert "2 documents have spent their budgets on earlier reports or answers; no further answer" in told
        (sent,) = read_codebook_reports("o.bin")
        assert sent.number not in before
    # A text that is not there says nothing, as an empty one does.
    for cells in (("a,fever", "b,"), ("a,", "b,")):
        Path("m.json").unlink()
        Path("n.csv").write_text("\n".join(["id,body", *cells]) + "\n")
        assert anew([*ANSWER.replace("notes.jsonl", "n.csv").split(), "--text", "body", "--name", "id"]) == 0
        assert len(read_codebook_reports("o.bin")) == 2
    # What would leave documents out for what they say is no option here.
    notes(("a", "fever"), ("b", ""))
    capsys.readouterr()
    assert run([*ANSWER.split(), "--name", "id", "--skip-empty"]) == 2
    assert "No such option: --skip-empty" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("epsilon", ["nan", "inf", "-1", "0"])
def test_what_an_answer_may_lose_is_a_number(here, capsys, epsilon):
    Path("q.json").write_text(published(ends=(2**32,)).to_json())
    notes(("a", "fever"))
    line = [*ANSWER.split()[:-1], epsilon, "--name", "id"]
    assert run(line) == 2
    assert "epsilon must be" in capsys.readouterr().err
    assert not Path("o.bin").exists()


def test_a_budget_below_one_answer_says_so(here, capsys):
    Path("q.json").write_text(published(ends=(2**32,)).to_json())
    notes(("a", "fever"))
    assert run([*ANSWER.split(), "--name", "id", "--budget", "0.1"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "--budget 0.1 is below the 8 that one answer loses" in told
    assert "before" not in told
    assert run([*ANSWER.split(), "--name", "id", "--budget", "nan"]) == 2


def test_names_of_two_spellings_are_one_name(here, capsys):
    Path("q.json").write_text(published(ends=(2**32,)).to_json())
    notes(("Zo\u00e9", "fever"), ("Zoe\u0301", "knee"))
    assert run([*ANSWER.split(), "--name", "id"]) == 2
    assert "it has 1 different" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("out", ["m.json", "./m.json", "q.json", "notes.jsonl", "link"])
def test_an_answer_replaces_no_file_that_is_needed(here, capsys, out):
    Path("q.json").write_text(published(ends=(2**32,)).to_json())
    notes(("a", "fever"))
    Path("link").symlink_to("m.json")
    line = ANSWER.replace("o.bin", out)
    assert run([*line.split(), "--name", "id"]) == 2
    assert "would replace it" in " ".join(capsys.readouterr().err.split())
    assert not Path("m.json").exists()
    assert run([*ANSWER.split(), "--name", "id"]) == 0
    kept = Path("m.json").read_bytes()
    assert run([*line.split(), "--name", "id"]) == 2
    assert Path("m.json").read_bytes() == kept


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--vocabulary", "words.txt"], "one of them"),
        (["--epsilon", "1"], "own channel"),
        (["--most-words", "3"], "own channel"),
    ],
)
def test_collect_takes_a_question_or_words(here, capsys, more, told):
    Path("q.json").write_text(published().to_json())
    assert run(["collect", "--question", "q.json", "--store", "s.db", *more]) == 2
    assert told in capsys.readouterr().err
    assert not Path("s.db").exists()
