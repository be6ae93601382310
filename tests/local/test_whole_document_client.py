"""Clients of whole documents: Python's memory of answers, and JavaScript's same bytes from the same numbers."""

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from tests.local import whole_document_vectors
from tests.local.at_once import at_once

from discreet import WholeDocumentLDA
from discreet.errors import BudgetExceeded, CorpusError, ParameterError, PrivacyError
from discreet.local import BitChannel, CodebookChannel, PublishedQuestion, ReportMemo
from discreet.local.whole_document.questions import CodebookReport, Question, question_of, thresholds
from discreet.privacy import SecureStream

VECTORS = json.loads(whole_document_vectors.PATH.read_text())
CLIENT = Path(str(files("discreet.local") / "discreet-client.js"))
NODE = shutil.which("node")
WORDS = whole_document_vectors.WORDS
SHARES = (0.5, 0.5)
CHANNEL = CodebookChannel.for_document(2.0)

PROGRAM = """
async function check(client, vectors, asked) {
  const bytes = (hex) => Uint8Array.from(hex.match(/../g) || [], (x) => parseInt(x, 16));
  const hex = (raw) => Array.from(raw, (b) => b.toString(16).padStart(2, "0")).join("");
  const failed = [];
  for (const [i, one] of vectors.entries()) {
    let at = 0;
    const random = bytes(one.random), numbers = client.numbersFrom((n) => random.subarray(at, at += n));
    const number = bytes(one.number), {question, channel, words} = one;
    const vector = Array.from(client.answersOf(question, words));
    if (JSON.stringify(vector) !== JSON.stringify(one.vector)) failed.push("vector " + i);
    const sent = await client.codewordOf(channel, question, words, number, numbers);
    if (hex(await client.packAnswer(channel, question, number, sent)) !== one.report) failed.push("report " + i);
    const ends = [.4, .5, 1].map((x) => Math.floor(x * 4294967296));
    if (await client.questionOf(number, ends) !== one.place) failed.push("place " + i);
  }
  const kept = new Map(), vocabulary = asked[0].question.vocabulary;
  const storage = {getItem: (k) => kept.has(k) ? kept.get(k) : null, setItem: (k, v) => { kept.set(k, v); }};
  const channel = {p: 2576980378, q: 1717986918, limit: 3};
  const make = (more = {}) => client.create({channel, vocabulary, storage, ...more});
  const sent = [];
  for (let d = 0; d < 20; d++) {  // each document answers one question, whoever asks how often
    const answers = [];
    for (const one of asked) answers.push(await (await make()).answer(one, "fever and cold", "diary " + d));
    const again = [];
    for (const one of asked) again.push(await (await make()).answer(one, "bone", "diary " + d));
    if (answers.filter((x) => x !== null).length !== 1) failed.push("answers of " + d);
    if (JSON.stringify(answers) !== JSON.stringify(again)) failed.push("asked twice " + d);
    sent.push(hex(answers.find((x) => x !== null)));
    for (const one of asked) {  // a collector that names other ends, or another channel
      const other = {...one, ends: one.question.place ? [1, 4294967296] : [4294967296]};
      const near = {...other, channel: {...one.channel, member: one.channel.member - 1}};
      for (const what of [other, near]) {
        try {
          const got = await (await make()).answer(what, "bone", "diary " + d);
          if (got !== null && !answers.some((x) => x && hex(x) === hex(got))) failed.push("two answers of " + d);
        } catch (e) {
          if (!(e instanceof RangeError) || !e.message.includes("budget of")) failed.push(String(e));
        }
      }
    }
    try { await (await make()).report("fever", "diary " + d); failed.push("bits after an answer"); } catch (e) {
      if (!(e instanceof RangeError) || !e.message.includes("budget of")) failed.push(String(e));
    }
  }
  if (JSON.stringify([...kept]).includes("fever")) failed.push("storage shows words");
  const marked = await client.create({channel, vocabulary, randomBytes: (n) => new Uint8Array(n).fill(9)});
  for (const one of asked) {
    const got = await marked.answer(one, "fever", "diary");
    if (got !== null && !(got[5] & 1)) failed.push("coins that are not the device's own carry no mark");
  }
  const bad = {...asked[0], channel: {...asked[0].channel, chosen: 0}};
  try { await (await make()).answer(bad, "x", "y"); failed.push("took a bad channel"); } catch (e) {
    if (!(e instanceof RangeError)) failed.push(String(e));
  }
  return {failed, sent};
}
"""


def asked():
    """Two questions, as a server publishes them."""
    model = WholeDocumentLDA(
        2, epsilon=2.0, word_vectors=np.eye(10)[:, :4], shares=SHARES, allow_unlearnable=True
    )
    model.begin(WORDS)
    first = json.loads(model.published())
    table = [row[:4] for row in np.random.default_rng(0).integers(-99, 99, (10, 4)).tolist()]
    square = CodebookChannel.for_document(2.0, two_sided=True)
    channel = {"codewords": 1024, "chosen": square.n_chosen, "member": square.member_weight, "other": 2**20}
    question = {"kind": "squares", "place": 1, "vocabulary": WORDS, "table": table, "weights": []}
    return [first, {"question": question, "channel": {**channel, "twoSided": True}, "ends": first["ends"]}]


def questions():
    return [Question.of_json(one["question"]) for one in asked()]


def channel_of(question):
    return CodebookChannel.for_document(2.0, two_sided=question.two_sided)


def test_vectors_are_the_descriptions():
    assert whole_document_vectors.build() == VECTORS


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["question"]["kind"])
def test_python_makes_the_vectors(vector):
    question, told = Question.of_json(vector["question"]), vector["channel"]
    channel = CodebookChannel(
        told["codewords"], told["chosen"], told["member"], told["other"], told["twoSided"]
    )
    raw, at = bytes.fromhex(vector["random"]), [0]

    def read(n):
        at[0] += n
        return np.frombuffer(raw, "<u4")[at[0] - n : at[0]]

    row = np.zeros((1, 10), int)
    row[0, vector["words"]] = 2
    own = question.answers(row)[0]
    assert own.tolist() == vector["vector"]
    number, report = (
        bytes.fromhex(vector["number"]),
        CodebookReport.from_bytes(bytes.fromhex(vector["report"])),
    )
    book = channel.codebook(question.dimension, question.digest)
    sent = channel.report_from(own, number, book, read)
    assert CodebookReport(channel, report.vocabulary, question.digest, number, sent) == report
    assert question_of(number, thresholds((0.4, 0.1, 0.5))) == vector["place"]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_javascript_makes_the_vectors_and_remembers(tmp_path):
    told = in_node(tmp_path, PROGRAM, f"check(client, {json.dumps(VECTORS)}, {json.dumps(asked())})")
    assert told["failed"] == []
    reports = [CodebookReport.from_bytes(bytes.fromhex(one)) for one in told["sent"]]
    known = {question.digest: question for question in questions()}
    for report in reports:
        question = known[report.question]
        assert report.channel == channel_of(question)
        assert question_of(report.number, thresholds(SHARES)) == question.place
    assert len({report.number for report in reports}) == 20
    assert {known[report.question].kind for report in reports} == {"words", "squares"}


# ---------------------------------------------------------------- Python's memory


def test_a_document_gives_one_answer_however_often_it_is_asked(tmp_path):
    path = tmp_path / "kept.json"
    given = {}
    for d in range(20):
        name = f"diary {d}"
        memo = ReportMemo(path)
        found = [
            memo.answer(channel_of(q), q, [1, 3], SecureStream(), shares=SHARES, name=name)
            for q in questions()
        ]
        memo.save()
        (given[name],) = (report for report in found if report is not None)
        again = ReportMemo(path)
        for question, before in zip(questions(), found, strict=True):
            # The diary has changed by now; its first answer stands.
            now = again.answer(channel_of(question), question, [5], SecureStream(), shares=SHARES, name=name)
            assert now == before
    assert len({report.number for report in given.values()}) == 20
    assert {report.question for report in given.values()} == {question.digest for question in questions()}
    content = json.loads(path.read_text())
    assert "diary" not in path.read_text()
    assert set(content) == {"schema", "key", "reports", "accounts", "numbers", "checksum"}


def test_no_collector_brings_a_document_to_a_second_answer():
    """Other shares, another channel, another question, or bits: all cost anew, and are refused."""
    stream, (first, second) = SecureStream(), questions()
    memo = ReportMemo()
    sent = memo.answer(CHANNEL, first, [1, 2], stream, shares=(1.0,), name="diary")
    assert sent is not None
    near = CodebookChannel(1024, CHANNEL.n_chosen, CHANNEL.member_weight - 1)
    with pytest.raises(BudgetExceeded):
        memo.answer(near, first, [1, 2], stream, shares=(1.0,), name="diary")
    turn = (1e-12, 1.0)  # whoever the client is, the second question is its own
    with pytest.raises(BudgetExceeded):
        memo.answer(channel_of(second), second, [1, 2], stream, shares=turn, name="diary")
    with pytest.raises(BudgetExceeded):
        memo.report(BitChannel.symmetric(0.5), [1, 2], WORDS, stream, name="diary")
    assert memo.answer(CHANNEL, first, [9], stream, shares=(1.0,), name="diary") == sent
    roomy = ReportMemo(budget=4.0)
    assert roomy.answer(CHANNEL, first, [1], stream, shares=(1.0,), name="diary") is not None
    assert roomy.answer(channel_of(second), second, [1], stream, shares=turn, name="diary") is not None
    with pytest.raises(BudgetExceeded):
        roomy.answer(near, first, [1], stream, shares=(1.0,), name="diary")


def test_two_threads_do_not_bring_a_document_to_a_second_answer():
    stream, (first, second) = SecureStream(), questions()
    asked = [(CHANNEL, first, (1.0,)), (channel_of(second), second, (1e-12, 1.0))]
    for channel, question, shares in asked:  # so that no compiler makes one of them late
        ReportMemo().answer(channel, question, [1], stream, shares=shares, name="warm")
    both = 0
    for _ in range(40):
        memo = ReportMemo()
        told = at_once(
            *[
                lambda m=memo, c=c, q=q, s=s: m.answer(c, q, [1, 2], stream, shares=s, name="x")
                for c, q, s in asked
            ]
        )
        both += BudgetExceeded not in told
    assert both == 0


def test_seeds_and_other_vocabularies(tmp_path):
    first = questions()[0]
    with pytest.raises(PrivacyError, match="seed"):
        ReportMemo(tmp_path / "x").answer(CHANNEL, first, [1], SecureStream(1), shares=(1.0,), name="x")
    seeded = ReportMemo().answer(CHANNEL, first, [1], SecureStream(1), shares=(1.0,), name="x")
    assert seeded is not None
    assert seeded.channel.reproducible


EMPTY = np.zeros((len(WORDS), 0), np.int64)


def about(words):
    return Question("words", 0, tuple(words), EMPTY[: len(words)], EMPTY[0])


def test_answers_need_a_name_and_follow_it_alone():
    """Without one, documents with the same words had one answer, and others two: what no epsilon covers."""
    first, memo = questions()[0], ReportMemo(budget=10.0)
    for name in (None, ""):
        with pytest.raises(ParameterError, match="name"):
            memo.answer(CHANNEL, first, [1], SecureStream(), shares=(1.0,), name=name)
    assert len(memo) == 0
    same = [memo.answer(CHANNEL, first, [1], SecureStream(), shares=(1.0,), name=str(i)) for i in range(20)]
    assert len({report.number for report in same}) == len({report.to_bytes() for report in same}) == 20


def test_a_number_is_for_one_vocabulary():
    """Else one collector could use the number that another one saw, and two could tell that they ask one document."""
    memo, numbers = ReportMemo(budget=10.0), set()
    for words in (WORDS, WORDS[:5]):
        question = about(words)
        report = memo.answer(CHANNEL, question, [1], SecureStream(), shares=(1.0,), name="diary")
        again = memo.answer(CHANNEL, question, [2], SecureStream(), shares=(1.0,), name="diary")
        assert report == again
        numbers.add(report.number)
    assert len(numbers) == 2
    once = ReportMemo()
    once.answer(CHANNEL, about(WORDS), [1], SecureStream(), shares=(1.0,), name="diary")
    with pytest.raises(BudgetExceeded, match="reported before"):
        once.answer(CHANNEL, about(WORDS[:5]), [1], SecureStream(), shares=(1.0,), name="diary")
    with pytest.raises(BudgetExceeded, match=r"loses 2, above its budget of 0\.5;"):
        ReportMemo(budget=0.5).answer(CHANNEL, about(WORDS), [1], SecureStream(), shares=(1.0,), name="diary")


# ---------------------------------------------------------------- hostile questions

FEW = ["aa", "bb", "cc"]


def hostile():
    """Questions that ask too much of some documents, and ones whose tables fit no vocabulary."""
    good = {
        "kind": "squares",
        "place": 0,
        "vocabulary": FEW,
        "table": [[1, 2], [3, -4], [5, 6]],
        "weights": [],
    }
    topics = {**good, "kind": "topics", "table": [[1, 2], [3, 4], [5, 6]], "weights": [1, 2, 3]}
    return {
        "good": good,
        "good topics": topics,
        "large row": {**good, "table": [[1, 1], [2**45, 1], [1, 1]]},
        "largest row": {**good, "table": [[1, 1], [2**62, -(2**63)], [1, 1]]},
        "sums too large": {**good, "table": [[2**42, 0], [2**42, 0], [2**42, 0]]},
        "wraps around": {**good, "table": [[1, 2], [3, 2**63], [5, 6]]},
        "wraps to a small number": {**good, "table": [[2**64 - 1, 2**64 - 2]] * 3},
        "large weight": {**topics, "weights": [1, 2**50, 1]},
        "large topics": {**topics, "table": [[1, 2], [2**60, 2**60], [5, 6]]},
        "row missing": {**good, "table": good["table"][:2]},
        "row too many": {**good, "table": [*good["table"], [1, 1]]},
        "short row": {**good, "table": [[1, 2], [3], [5, 6]]},
        "fraction": {**good, "table": [[1, 2], [3, 0.5], [5, 6]]},
        "text": {**good, "table": [[1, 2], [3, "4"], [5, 6]]},
        "nothing": {**good, "table": [[1, 2], None, [5, 6]]},
        "weight missing": {**topics, "weights": [1, 2]},
        "weight of nothing": {**topics, "weights": [1, None, 3]},
        "no weight": {**topics, "weights": [1, 0, 3]},
        "topic of nothing": {**topics, "table": [[1, 2], [0, 0], [5, 6]]},
        "weights of words": {**good, "kind": "words", "table": [[], [], []], "weights": [1, 1, 1]},
        "kind": {**good, "kind": "others"},
        "place": {**good, "place": 0.5},
    }


EVERY = [[v for v in range(3) if number >> v & 1] for number in range(8)]


@pytest.mark.parametrize("name", hostile())
def test_whether_a_client_answers_does_not_depend_on_its_document(name):
    """Else a server would ask so that exactly the documents with one word raise, and send nothing."""
    raised = []
    for words in EVERY:
        try:
            question = Question.of_json(hostile()[name])
            channel = CodebookChannel.for_document(1.0, two_sided=question.two_sided)
            ReportMemo().answer(channel, question, words, SecureStream(), shares=(1.0,), name="one")
            raised.append(False)
        except CorpusError:
            raised.append(True)
    assert raised == [not name.startswith("good")] * 8


@pytest.mark.integration
def test_the_channel_answers_any_numbers():
    """No vector, however large, is told apart by an error; and large ones keep their direction."""
    channel = CodebookChannel.for_document(4.0)
    book = channel.codebook(4, bytes(32))
    for vector in ([2**62, 1, -(2**62), 0], [-(2**63)] * 4, [2**63 - 1] * 4, [0] * 4):
        assert 0 <= channel.report(np.array(vector), bytes(16), book, SecureStream()) < 1024
    rng = np.random.default_rng(0)
    nonces = [rng.bytes(16) for _ in range(3000)]
    large = np.array([2**62, 0, -(2**62), 0])
    mean = channel.mean(
        book.total(nonces, channel.reports(np.tile(large, (3000, 1)), nonces, book, SecureStream(0))), 3000
    )
    assert mean @ [0.5**0.5, 0, -(0.5**0.5), 0] == pytest.approx(1, abs=0.06)


HOSTILE = """
async function hostile(client, questions, every) {
  const failed = [], channel = {p: 3221225472, q: 1073741824, limit: 3}, vocabulary = ["aa", "bb", "cc"];
  const whole = {codewords: 1024, chosen: 300, member: 2850325, other: 1048576, twoSided: true}, ends = [4294967296];
  const refuses = async (made, asked, words) => {
    try { await made.answerOfWords(asked, words, "one"); return false; } catch (e) {
      if (!(e instanceof RangeError)) failed.push(String(e));
      return true;
    }
  };
  for (const [name, question] of Object.entries(questions)) {
    const told = [], sided = {...whole, twoSided: question.kind === "squares"};
    for (const words of every) {
      told.push(await refuses(await client.create({channel, vocabulary}), {question, channel: sided, ends}, words));
    }
    if (told.some((x) => x === name.startsWith("good"))) failed.push(name + " " + told);
  }
  // The server names the channel, but not the loss: that is the writer's.
  const question = questions.good, asked = (member, other = 1048576) => (
    {question, channel: {...whole, member, other}, ends});
  const own = await client.create({channel, vocabulary}), told = own.guarantees();
  if (!(told.answer <= told.document)) failed.push("the loss of an answer is not told");
  const above = Math.ceil(1048576 * Math.exp(told.answer + .01));
  if (!await refuses(own, asked(above), [1])) failed.push("an answer that costs more than the client's own channel");
  const below = Math.floor(1048576 * Math.exp(told.answer - .01));
  if (await refuses(own, asked(below), [1])) failed.push("one that costs less");
  const most = async () => client.create({channel, vocabulary, mostEpsilon: 1, budget: 50});
  if ((await most()).guarantees().answer !== 1) failed.push("mostEpsilon is not told");
  if (!await refuses(await most(), asked(2883584), [1])) failed.push("more than mostEpsilon");
  if (await refuses(await most(), asked(2850325), [1])) failed.push("as much as mostEpsilon");
  const all = await client.create({channel, vocabulary, mostEpsilon: 100, budget: 100});
  if (!await refuses(all, asked(2 ** 52, 1), [1])) failed.push("epsilon 36");
  for (const mostEpsilon of [0, -1, NaN, "8", Infinity]) {
    const made = () => client.create({channel, vocabulary, mostEpsilon});
    try { await made(); failed.push("mostEpsilon " + mostEpsilon); } catch (e) {
      if (!(e instanceof RangeError)) failed.push(String(e));
    }
  }
  for (const bad of [{}, [], [4294967296.5], [0, 5], null]) {
    if (!await refuses(own, {question, channel: whole, ends: bad}, [1])) failed.push("ends " + JSON.stringify(bad));
  }
  return failed;
}
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_javascript_does_not_let_the_server_choose(tmp_path):
    call = f"hostile(client, {json.dumps(hostile())}, {json.dumps(EVERY)})"
    assert in_node(tmp_path, HOSTILE, call) == []


def published():
    """What servers publish: who is asked must be said in one way that both languages understand."""
    one = 2**32
    channel = {"codewords": 1024, "chosen": 300, "member": 2850325, "other": 1048576, "twoSided": True}
    good = {"question": hostile()["good"], "channel": channel, "ends": [one]}
    words = {**hostile()["good"], "kind": "words", "table": [[], [], []]}
    plain = {"question": words, "channel": {**channel, "twoSided": False}, "ends": [one]}
    return {
        "good": good,
        "good words": plain,
        "good parts": {**good, "ends": [1, 5, one]},
        "good second": {**good, "question": {**good["question"], "place": 1}, "ends": [1, one]},
        "ends that fall": {**good, "ends": [5, 3, one]},
        "ends that stay": {**good, "ends": [5, 5, one]},
        "end of zero": {**good, "ends": [0, one]},
        "end below zero": {**good, "ends": [-1, one]},
        "no ends": {**good, "ends": []},
        "last end": {**good, "ends": [one - 1]},
        "beyond the last end": {**good, "ends": [one, one + 1]},
        "end of no number": {**good, "ends": [1.5, one]},
        "place that is not there": {**good, "question": {**good["question"], "place": 1}},
        "one side of squares": {**good, "channel": {**channel, "twoSided": False}},
        "two sides of words": {**plain, "channel": channel},
        "sides of no kind": {**good, "channel": {**channel, "twoSided": 1}},
        **{name: {**good, "question": one} for name, one in hostile().items() if "wraps" in name},
    }


PUBLISHED = """
async function published(client, every) {
  const told = {}, channel = {p: 3e9, q: 1e9, limit: 3}, vocabulary = ["aa", "bb", "cc"];
  const make = () => client.create({channel, vocabulary, mostEpsilon: 8});
  for (const [name, asked] of Object.entries(every)) {
    const made = await make();
    try { await made.answer(asked, "aa", "one"); told[name] = true; } catch (e) {
      told[name] = e instanceof RangeError ? false : String(e);
    }
  }
  const made = await make();
  for (const name of [undefined, null, ""]) {
    try { await made.answer(every.good, "aa", name); told["name " + name] = true; } catch (e) {
      told["name " + name] = e instanceof RangeError && e.message.includes("name") ? false : String(e);
    }
  }
  return told;
}
"""


@pytest.mark.parametrize("name", published())
def test_python_takes_what_is_published_in_one_way(name):
    text = json.dumps(published()[name])
    if name.startswith("good"):
        assert json.loads(PublishedQuestion.from_json(text).to_json()) == json.loads(text)
        return
    with pytest.raises(CorpusError):
        PublishedQuestion.from_json(text)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_javascript_takes_what_python_takes_and_no_answer_without_a_name(tmp_path):
    told = in_node(tmp_path, PUBLISHED, f"published(client, {json.dumps(published())})")
    names = dict.fromkeys(("name undefined", "name null", "name "), False)
    assert told == {name: name.startswith("good") for name in published()} | names


NUMBERS = """
async function numbers(client, asked) {
  const hex = (raw) => Array.from(raw, (b) => b.toString(16).padStart(2, "0")).join(""), told = {};
  const fresh = () => { const kept = new Map();
    return {kept, getItem: (k) => kept.has(k) ? kept.get(k) : null, setItem: (k, v) => { kept.set(k, v); }}; };
  const number = async (storage, name) => {
    const vocabulary = asked[name].question.vocabulary, channel = {p: 3e9, q: 1e9, limit: 3};
    const made = await client.create({channel, vocabulary, storage, mostEpsilon: 8, budget: 20});
    const sent = await made.answer(asked[name], "aa", "diary");
    return sent && hex(sent.subarray(96));
  };
  const plain = fresh();
  told.three = await number(plain, "three");
  told.two = await number(plain, "two");
  told.again = [await number(plain, "three"), await number(plain, "two")];
  told.turns = [];
  for (let i = 0; i < 12; i++) {
    const turns = fresh(), both = async () => [await number(turns, "half"), await number(turns, "other")];
    told.turns.push([await both(), await both()]);
  }
  return told;
}
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_numbers_in_javascript_are_for_one_vocabulary_too(tmp_path):
    three = published()["good words"]
    two = {**three, "question": {**three["question"], "vocabulary": FEW[:2], "table": [[], []]}}
    half = {**three, "ends": [2**31, 2**32]}
    other = {**half, "question": {**three["question"], "place": 1}}
    asked = {"three": three, "two": two, "half": half, "other": other}
    told = in_node(tmp_path, NUMBERS, f"numbers(client, {json.dumps(asked)})")
    assert told["again"] == [told["three"], told["two"]]
    assert told["three"] != told["two"]
    assert all(before == after and before.count(None) == 1 for before, after in told["turns"])


def in_node(folder, program, call):
    script = folder / "program.js"
    script.write_text(
        f"const client = require({json.dumps(str(CLIENT))});\n{program}\n"
        f"{call}.then((x) => console.log(JSON.stringify(x)));\n"
    )
    done = subprocess.run([str(NODE), str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_channel_loses_more_than_twenty():
    with pytest.raises(ParameterError, match="20"):
        CodebookChannel(2, 1, 2**52, 1)
    with pytest.raises(ParameterError, match=r"2\^32"):
        CodebookChannel(2, 1, 2**40, 2**33)
    raw = bytearray(bytes.fromhex(VECTORS[0]["report"]))
    raw[16:24], raw[24:28] = (2**40).to_bytes(8, "little"), (1).to_bytes(4, "little")
    with pytest.raises(CorpusError, match="channel"):
        CodebookReport.from_bytes(bytes(raw))
