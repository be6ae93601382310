"""The JavaScript client: the same bytes as Python's from the same random numbers, in Node and in a browser."""

import contextlib
import json
import shutil
import subprocess
import sys
import unicodedata
from html.entities import html5
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from tests.local import client_vectors

from discreet.corpus import Tokenizer
from discreet.local import BitChannel, Report
from discreet.local.wire import vocabulary_digest

pytestmark = pytest.mark.integration

HERE = Path(__file__).parent
CLIENT = Path(str(files("discreet.local") / "discreet-client.js"))
VECTORS = json.loads((HERE / "vectors.json").read_text())
NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

#: Runs the vectors; returns the names of those that fail, and what memory and refusals do.
PROGRAM = """
async function check(client, vectors) {
  const bytes = (hex) => Uint8Array.from(hex.match(/../g) || [], (x) => parseInt(x, 16));
  const hex = (raw) => Array.from(raw, (b) => b.toString(16).padStart(2, "0")).join("");
  const failed = [];
  for (const [i, one] of vectors.reports.entries()) {
    let at = 0;
    const random = bytes(one.random), randomBytes = (n) => random.subarray(at, at += n);
    const reproducible = one.reproducible;
    const made = await client.create({channel: one.channel, vocabulary: vectors.vocabulary, randomBytes, reproducible});
    if (hex(await made.reportOfWords(one.words)) !== one.report) failed.push("report " + i);
  }
  for (const one of vectors.texts) {
    if (JSON.stringify(client.tokens(one.text)) !== JSON.stringify(one.tokens)) failed.push("text " + one.text);
    if (JSON.stringify(client.tokens(one.text, false)) !== JSON.stringify(one.cased)) failed.push("cased " + one.text);
  }
  const channel = {p: 2576980378, q: 1717986918, limit: 3}, vocabulary = vectors.vocabulary;
  const other = await client.create({channel, vocabulary, randomBytes: (n) => new Uint8Array(n)});
  if ((await other.reportOfWords([1]))[4] !== 2) failed.push("coins that are not the device's own carry no mark");
  const kept = new Map();
  const storage = {getItem: (k) => kept.has(k) ? kept.get(k) : null, setItem: (k, v) => { kept.set(k, v); }};
  const first = await client.create({channel, vocabulary, storage});
  const report = hex(await first.report("fever and cold"));
  if (report.slice(8, 12) !== "0100") failed.push("a mark on the device's own coins");
  const again = await client.create({channel, vocabulary, storage});
  if (hex(await again.report("Cold fever")) !== report) failed.push("asked twice");
  if (hex(await again.report("cough")) === report) failed.push("another document");
  const named = hex(await again.report("cough", "diary"));
  if (hex(await again.report("bone", "diary")) !== named) failed.push("named");
  const nfc = hex(await again.report("cough", "Zo\u00e9"));
  if (hex(await again.report("cough", "Zoe\u0301")) !== nfc) failed.push("two spellings of one name");
  for (const name of [null, "", 7]) {
    try { await again.report("cough", name); failed.push("name " + name); } catch (e) {
      if (!(e instanceof RangeError) || !e.message.includes("name")) failed.push("name " + name + ": " + e);
    }
  }
  const unlimited = await client.create({channel: {...channel, limit: null}, vocabulary});
  if (unlimited.guarantees().document !== null) failed.push("a limit of null");
  if (JSON.stringify([...kept]).includes("fever")) failed.push("storage shows words");
  // Another channel, or other words, ask for coins of their own: once is all that a document gives, unless told.
  const refused = async (what, name, make, ask) => {
    try { await ask(await client.create(make)); failed.push(what + " was not refused"); } catch (e) {
      if (!(e instanceof RangeError) || !e.message.includes("budget of")) failed.push(what + ": " + e);
    }
  };
  const near = {...channel, p: channel.p - 1}, fewer = vocabulary.slice(0, 5);
  const diary = (c) => c.report("cough", "diary");
  await refused("another channel", "diary", {channel: near, vocabulary, storage}, diary);
  await refused("another limit", "diary", {channel: {...channel, limit: 2}, vocabulary, storage}, diary);
  await refused("another vocabulary", "diary", {channel, vocabulary: fewer, storage}, diary);
  for (const words of [[...vocabulary, "nothing"], fewer]) {
    const other = await client.create({channel, vocabulary: words, storage});
    try { await other.report("Cold fever"); failed.push("other words without a name"); } catch (e) {
      if (!(e instanceof RangeError) || !e.message.includes("another vocabulary")) failed.push("other words: " + e);
    }
  }
  await refused("no name", null, {channel: near, vocabulary, storage}, (c) => c.report("Cold fever"));
  const once = first.guarantees().document, wider = {channel: near, vocabulary, storage, budget: 2 * once + .001};
  await diary(await client.create(wider));
  await refused("a third one", "diary", {...wider, channel: {...near, p: near.p - 1}}, diary);
  if (hex(await diary(again)) !== named) failed.push("the first one is given as ever");
  await refused("more than any", "x", {channel, vocabulary, storage, budget: once / 2}, (c) => c.report("cough", "x"));
  let full = false;  // what a full storage does not keep is not handed out, and asking again later works
  const small = new Map(), cramped = {
    getItem: (k) => small.has(k) ? small.get(k) : null,
    setItem: (k, v) => { if (full && v.startsWith("{")) throw new Error("full"); small.set(k, v); },
  };
  const forgetful = {getItem: () => null, setItem: () => {}};
  try {
    await diary(await client.create({channel, vocabulary, storage: forgetful}));
    failed.push("handed out what was not kept");
  } catch (e) { /* whatever it says: nothing was handed out */ }
  const tight = await client.create({channel, vocabulary, storage: cramped});
  full = true;
  try { await diary(tight); failed.push("handed out what was not booked"); } catch (e) {
    if (e.message !== "full") throw e;
  }
  full = false;
  if ((await diary(tight)).length !== 74) failed.push("asked again");
  await refused("after a full storage", "diary", {channel: near, vocabulary, storage: cramped}, diary);
  try {
    await client.create({channel, vocabulary, storage, reproducible: true});
    failed.push("kept seeded");
  } catch (e) {
    if (!(e instanceof RangeError)) failed.push(String(e));
  }
  const sure = {p: 4294967295, q: 1};
  const capital = await client.create({channel: sure, vocabulary: ["Fever", "ab cd", "x", "cold", "COLD"]});
  if (JSON.stringify(capital.unreachable) !== '["ab cd","x","COLD"]') failed.push("words that cannot be found");
  if (((await capital.report("FEVER and Cold"))[72] & 31) !== 9) failed.push("a word with a capital");
  const cased = await client.create({channel, vocabulary: ["Fever", "cold"], lowercase: false});
  if (cased.unreachable.length) failed.push("capitals");
  for (const bad of [{p: 1, q: 2}, {p: 1.5, q: 1}, {p: 4294967296, q: 1}, {}, {p: 2, q: 1, limit: -1}]) {
    try { await client.create({channel: bad, vocabulary}); failed.push("took " + JSON.stringify(bad)); } catch (e) {
      if (!(e instanceof RangeError)) failed.push(String(e));
    }
  }
  // Coins of the device itself: 4,000 bits of probability .4, five standard deviations.
  const long = Array.from({length: 4000}, (_, i) => "w" + i);
  const coins = await client.create({channel: {p: 2576980378, q: 1717986918}, vocabulary: long});
  let ones = 0;
  for (const byte of (await coins.reportOfWords([])).subarray(72)) for (let b = 0; b < 8; b++) ones += (byte >> b) & 1;
  if (Math.abs(ones - 1600) > 155) failed.push("coins " + ones);
  // The last one is for_document(8, 4, 1000).
  const told = [];
  for (const channel of [{p: 2576980378, q: 1717986918, limit: 3}, {p: 3221225472, q: 9, limit: 0},
                         {p: 2162891444, q: 518479084, limit: 4}]) {
    for (const n of [3, 1000]) told.push([channel, n, client.guarantees(channel, n)]);
  }
  return {failed, guarantees: told, wire: report};
}
"""


#: A page ends at one of its writes, before or after it; then two collectors ask for the same document. What came out of
#: it (reports as hex, by what they cost), and what may be lost in all.
CRASHES = """
const crashing = (inner, at, after) => {
  let n = 0;
  return {
    getItem: (k) => inner.getItem(k),
    setItem: (k, v) => {
      const now = n++ === at;
      if (now && !after) throw new Error("crash");
      inner.setItem(k, v);
      if (now) throw new Error("crash");
    },
  };
};
const one = {p: 3139872686, q: 1155094610, limit: 0}, two = {p: 3139872687, q: 1155094610, limit: 0};
const vocabulary = ["fever", "cough", "pain", "rash"];
const own = (raw) => raw && Array.from(raw, (b) => b.toString(16).padStart(2, "0")).join("");
async function asked(client, storage, channel, out, whole) {
  try {
    const made = await client.create({channel, vocabulary, storage, mostEpsilon: 20});
    out.told = made.guarantees().documentWithoutLimit;
    const whose = {place: 0, kind: "words", vocabulary, table: vocabulary.map(() => []), weights: []};
    const codes = {codewords: 1024, chosen: 64, member: 50, other: 1, twoSided: false};
    const sent = whole ? await made.answer({question: whose, channel: codes, ends: [4294967296]}, "fever", "entry")
      : await made.report("fever pain", "entry");
    out.sent[own(sent)] = whole ? Math.log(50) : out.told;
  } catch (e) {
    if (e.message === "crash") out.crashed = true;
    else if (!(e instanceof RangeError)) throw e;
  }
}
"""


def check_crashes(start, go_on):
    """``start`` and ``go_on`` run JavaScript over one storage each time: the page that ends, and the next one."""
    n_crashed = 0
    for whole in ("false", "true"):
        for after in ("false", "true"):
            for at in range(20):
                code = f"asked(client, crashing(storage, {at}, {after}), one, out, {whole})"
                out = start(code, {"sent": {}, "crashed": False})
                if not out["crashed"]:  # it was all written before that many writes
                    break
                n_crashed += 1
                asked = (("two", "false"), ("one", whole), ("one", "true"), ("one", "false"))
                later = [f"await asked(client, storage, {where}, out, {kind});" for where, kind in asked]
                out = go_on(f"(async () => {{ {' '.join(later)} }})()", out)
                # Nobody agreed to lose more than the first report: there must be that one only.
                assert len(out["sent"]) == 1, (whole, after, at, out)
    assert n_crashed >= 8


def test_vectors_are_the_descriptions():
    assert client_vectors.build() == VECTORS


def test_python_makes_the_vectors():
    vocabulary = VECTORS["vocabulary"]
    for vector in VECTORS["reports"]:
        told = vector["channel"]
        channel = BitChannel(told["p"], told["q"], told["limit"] or None, reproducible=vector["reproducible"])
        raw, at = bytes.fromhex(vector["random"]), [0]

        def read(n, raw=raw, at=at):
            at[0] += n
            return np.frombuffer(raw, "<u4")[at[0] - n : at[0]]

        bits = channel.report_from(np.isin(np.arange(len(vocabulary)), vector["words"]), read)
        number = raw[4 * at[0] : 4 * at[0] + 16]
        report = Report(channel, vocabulary_digest(vocabulary), number, bits)
        assert report.to_bytes().hex() == vector["report"]
    for text in VECTORS["texts"]:
        assert Tokenizer()(text["text"]) == text["tokens"]
        assert Tokenizer(lowercase=False)(text["text"]) == text["cased"]


def check_result(result):
    assert result["failed"] == []
    for channel, n_words, found in result["guarantees"]:
        told = BitChannel(channel["p"], channel["q"], channel["limit"] or None).guarantees(n_words)
        assert found["wordAddedOrRemoved"] == pytest.approx(told.word_added_or_removed, rel=1e-9)
        assert found["wordReplaced"] == pytest.approx(told.word_replaced, rel=1e-9)
        assert found["document"] == (
            None if told.document is None else pytest.approx(told.document, rel=1e-9)
        )
        assert found["documentWithoutLimit"] == pytest.approx(told.document_without_limit, rel=1e-9)
    assert len(result["guarantees"]) == 3 * 2
    assert Report.from_bytes(bytes.fromhex(result["wire"])).channel.limit == 3


@pytest.mark.skipif(NODE is None, reason="needs node on the path")
def test_node(tmp_path):
    (tmp_path / "run.js").write_text(
        f"{PROGRAM}\nconst vectors = {json.dumps(VECTORS)};\n"
        f"check(require({json.dumps(str(CLIENT))}), vectors).then((r) => console.log(JSON.stringify(r)));\n"
    )
    done = subprocess.run(
        [NODE, tmp_path / "run.js"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    check_result(json.loads(done.stdout))


@pytest.mark.skipif(NODE is None, reason="needs node on the path")
def test_whatever_ends_a_program_no_document_gives_two_reports(tmp_path):
    """Every write of the client, before it and after it: the next program finds a report with what it cost, or none."""
    run, kept = tmp_path / "run.js", tmp_path / "kept.json"
    run.write_text(
        f"const client = require({json.dumps(str(CLIENT))}), fs = require('fs');\n{CRASHES}\n"
        "const [file, code, told] = process.argv.slice(2), out = JSON.parse(told);\n"
        "const held = new Map(fs.existsSync(file) ? JSON.parse(fs.readFileSync(file)) : []);\n"
        "const storage = {getItem: (k) => held.get(k) ?? null, setItem: (k, v) => { held.set(k, v);\n"
        "  fs.writeFileSync(file, JSON.stringify([...held])); }};\n"
        "eval(code).then(() => console.log(JSON.stringify(out)));\n"
    )

    def go_on(code, out):
        line = [NODE, run, kept, code, json.dumps(out)]
        return json.loads(subprocess.run(line, capture_output=True, text=True, timeout=60, check=True).stdout)

    def start(code, out):
        kept.unlink(missing_ok=True)
        return go_on(code, out)

    check_crashes(start, go_on)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the path")
def test_whatever_ends_a_page_no_document_gives_two_reports():
    """As above, in a browser's own storage; each time the page is loaded anew."""
    with page_of_a_browser() as page:

        def go_on(code, out):
            page.goto("https://example.invalid/")
            page.add_script_tag(content=CLIENT.read_text())
            program = (
                f"const client = discreetClient, storage = localStorage; {CRASHES}; await {code}; return out;"
            )
            return page.evaluate(f"async (out) => {{ {program} }}", out)

        def start(code, out):
            page.goto("https://example.invalid/")
            page.evaluate("localStorage.clear()")
            return go_on(code, out)

        check_crashes(start, go_on)


@pytest.mark.skipif(NODE is None, reason="needs node on the path")
def test_the_check_would_see_a_wrong_client(tmp_path):
    wrong = CLIENT.read_text().replace("<< (t & 7)", "<< (7 - (t & 7))")
    assert wrong != CLIENT.read_text()
    (tmp_path / "client.js").write_text(wrong)
    (tmp_path / "run.js").write_text(
        f"{PROGRAM}\nconst vectors = {json.dumps(VECTORS)};\n"
        "check(require('./client.js'), vectors).then((r) => console.log(JSON.stringify(r)));\n"
    )
    done = subprocess.run([NODE, tmp_path / "run.js"], capture_output=True, text=True, timeout=60, check=True)
    assert any(name.startswith("report") for name in json.loads(done.stdout)["failed"])


@pytest.mark.skipif(NODE is None, reason="needs node on the path")
def test_every_character_parts_words_as_in_python(tmp_path):
    tokenizer = Tokenizer()
    # What this Python does not know yet, a newer node may; surrogates and private use are no text.
    known = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    expected = [tokenizer(f"xa{chr(c)}Bx {chr(c)}{chr(c)}") for c in known]
    (tmp_path / "told.json").write_text(json.dumps([known, expected]))
    (tmp_path / "run.js").write_text(
        f"const client = require({json.dumps(str(CLIENT))});\n"
        "const [known, expected] = JSON.parse(require('fs').readFileSync(process.argv[2]));\n"
        "const other = known.filter((code, i) => { const c = String.fromCodePoint(code);\n"
        "  return JSON.stringify(client.tokens(`xa${c}Bx ${c}${c}`)) !== JSON.stringify(expected[i]); });\n"
        "console.log(JSON.stringify({unicode: process.versions.unicode, other}));\n"
    )
    run = [NODE, tmp_path / "run.js", tmp_path / "told.json"]
    told = json.loads(subprocess.run(run, capture_output=True, text=True, timeout=120, check=True).stdout)
    if float(told["unicode"]) < float(unicodedata.unidata_version.rpartition(".")[0]):
        pytest.skip(f"node has Unicode {told['unicode']}, older than Python's")
    assert len(known) > 140_000
    assert [hex(code) for code in told["other"]] == []


FRAGMENTS = [
    "fever",
    "Cough",
    "RT",
    "rt",
    "@",
    "@ann",
    "@5mg",
    ":",
    " : ",
    "http",
    "HTTPS://",
    "http://t.co/x",
    "www.",
    "www.a.org",
    "t.co/",
    "bit.ly/a",
    "youtu.be/x",
    "pic.twitter.com/x",
    ".",
    "..",
    "\u2026",
    "\u201c",
    "#",
    "&",
    ";",
    "&amp;",
    "amp;",
    "&lt;",
    "&eacute;",
    "&Zcaron;",
    "&nbsp;",
    "&Tab;",
    "&foo;",
    "&constructor;",
    "&#39;",
    "&#x41;",
    "&#138;",
    "&#1;",
    "&#127;",
    "&#55296;",
    "&#x10ffff;",
    "&#x110000;",
    "&#9999999;",
    "&#x20000;",
    "&#xfb01;",
    "&#64;",
    "R&D;",
    "a@b.org",
    "x.y+z@a-b.c.de",
    ".bsky.social",
    "/",
    " ",
    "  ",
    "\n",
    "\t",
    "\x1c",
    "\x85",
    "\u2028",
    "\ufeff",
    "\u200c",
    "u\u0308",
    "\u094d",
    "\u4e1c",
    "x_1",
    "-",
    "\u00b2",
    "\u0130",
    "\u03a3",
    "\u03c2",
    "\uf900",
    "\u0131",
    "b\u0131t.ly/a",
    ".bsky.soc\u0130al",
]


@pytest.mark.skipif(NODE is None, reason="needs node on the path")
def test_links_and_entities_are_read_as_in_python(tmp_path):
    """Every name of HTML 5, numbers of all kinds, and what chance makes of pieces of messages."""
    rng = np.random.default_rng(8)
    codes = [*range(0x200), *range(0x200, 0x110100, 37)]
    # What this Python does not know yet, a newer node may.
    codes = [code for code in codes if code > sys.maxunicode or unicodedata.category(chr(code)) != "Cn"]
    texts = [f"ab&{name}cd" for name in html5] + [f"ab&#{code};cd &#x{code:x};" for code in codes]
    texts += ["".join(rng.choice(FRAGMENTS, rng.integers(2, 12))) for _ in range(6000)]
    cased, lowered = Tokenizer(lowercase=False), Tokenizer()
    expected = [[lowered(text), cased(text)] for text in texts]
    (tmp_path / "told.json").write_text(json.dumps([texts, expected]))
    (tmp_path / "run.js").write_text(
        f"const client = require({json.dumps(str(CLIENT))});\n"
        "const [texts, expected] = JSON.parse(require('fs').readFileSync(process.argv[2]));\n"
        "const own = (text) => [client.tokens(text), client.tokens(text, false)];\n"
        "const other = texts.filter((text, i) => JSON.stringify(own(text)) !== JSON.stringify(expected[i]));\n"
        "console.log(JSON.stringify(other.map((text) => [text, own(text)])));\n"
    )
    run = [NODE, tmp_path / "run.js", tmp_path / "told.json"]
    told = json.loads(subprocess.run(run, capture_output=True, text=True, timeout=120, check=True).stdout)
    assert told == []
    assert sum(len(words) for words, _ in expected) > 10_000


@pytest.mark.skipif(NODE is None, reason="needs node on the path")
def test_a_word_is_spelt_as_in_python_whatever_stands_around_it(tmp_path):
    """Words whose form depends on neighbours, if on anything, in texts that differ in one of them."""
    rng = np.random.default_rng(9)
    pieces = (
        "a E \u0301 \u0323 \u212b \u0130 \u0131 \u03a3 \u03c3 \u03c2 \u03a4\u0397 \u1f71 \uf900 \ufa1e \u1112 \u1161 "
        "\u11ab \u0915 \u093c \u0958 \ufb1d \u017f 9"
    ).split()
    between = [" ", ".", ". ", "'", "-", "\u00b7", "\n", "\u2000", "\u00ad"]

    def word():
        return "b" + "".join(rng.choice(pieces, rng.integers(1, 5)))

    pairs = [
        ["\uf900\u8c48 \ufa1e cafe\u0301", "\uf900\u8c48 \ufa1e cafe"],
        ["\u03a4\u0397\u03a3.\u039a\u0391\u0399", "\u03a4\u0397\u03a3.12"],
    ]
    for _ in range(3000):
        words = [word() for _ in range(4)]
        signs = [*rng.choice(between, 3), ""]
        other = words.copy()
        other[rng.integers(4)] = word()
        pairs.append(["".join(map("".join, zip(each, signs, strict=True))) for each in (words, other)])
    (tmp_path / "told.json").write_text(json.dumps(pairs))
    (tmp_path / "run.js").write_text(
        f"const client = require({json.dumps(str(CLIENT))});\n"
        "const pairs = JSON.parse(require('fs').readFileSync(process.argv[2]));\n"
        "console.log(JSON.stringify(pairs.map((pair) => pair.map((text) => client.tokens(text)))));\n"
    )
    run = [NODE, tmp_path / "run.js", tmp_path / "told.json"]
    told = json.loads(subprocess.run(run, capture_output=True, text=True, timeout=120, check=True).stdout)
    cut = Tokenizer()
    assert told == [[cut(text) for text in pair] for pair in pairs]
    for before, after in told:
        assert len(set(before) - set(after)) <= 1
        assert len(set(after) - set(before)) <= 1
    assert sum(len(before) for before, _ in told) > 9_000


#: What the client kept before a document's account was one entry: the secret, a report, its account, the vocabulary.
OLD_REPORT = {
    "discreet:" + "a" * 64: "RFNDUgEAAAAKAAAA",
    "discreet:" + "b" * 64: json.dumps({"discreet:" + "a" * 64: 4.0}),
    "discreet:vocabularies": json.dumps(["c" * 64]),
}
OLD_FORMS = [
    {"discreet:secret": "d" * 64, **OLD_REPORT},
    {"discreet:secret": "d" * 64, "discreet:" + "a" * 64: "RFNDUgEAAAAKAAAA"},  # no account was written yet
]


@pytest.mark.skipif(NODE is None, reason="needs node on the path")
@pytest.mark.parametrize("held", OLD_FORMS)
def test_what_an_older_client_kept_is_refused(tmp_path, held):
    (tmp_path / "run.js").write_text(
        f"const client = require({json.dumps(str(CLIENT))});\n"
        f"const held = new Map(Object.entries({json.dumps(held)})), before = JSON.stringify([...held]);\n"
        "const over = (map) => ({getItem: (k) => map.get(k) ?? null, setItem: (k, v) => { map.set(k, v); }});\n"
        "const channel = {p: 2576980378, q: 1717986918, limit: 3}, vocabulary = ['fever', 'cough', 'cold', 'bone'];\n"
        "const tried = async (work) => { try { await work(); return ''; } catch (e) { return String(e); } };\n"
        "(async () => {\n"
        "  const made = (storage, more) => client.create({channel, vocabulary, storage, ...more});\n"
        "  const refused = await tried(() => made(over(held)));\n"
        "  const kept = new Map(), own = await made(over(kept));\n"
        "  await own.report('fever', 'diary');\n"
        "  const again = await tried(async () => (await made(over(kept))).report('fever', 'diary'));\n"
        "  kept.set('discreet:secret', 'd');  // an older page runs beside this one\n"
        "  const beside = await tried(() => own.report('cough', 'another'));\n"
        "  const other = () => made(over(held), {prefix: 'new:'});\n"
        "  const elsewhere = await tried(async () => (await other()).report('cold', 'diary'));\n"
        "  console.log(JSON.stringify({refused, again, beside, elsewhere,\n"
        "    same: JSON.stringify([...held].filter(([k]) => !k.startsWith('new:'))) === before}));\n"
        "})();\n"
    )
    told = json.loads(
        subprocess.run(
            [NODE, tmp_path / "run.js"], capture_output=True, text=True, timeout=60, check=True
        ).stdout
    )
    for message in (told["refused"], told["beside"]):
        assert 'holds "discreet:secret"' in message
        assert "an older client" in message
        assert "another prefix" in message
    assert told["again"] == told["elsewhere"] == ""
    assert told["same"]


@contextlib.contextmanager
def page_of_a_browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_page()
            # A secure context, which the browser's cryptography asks for, without a network.
            page.route("**/*", lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
            yield page
        finally:
            browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the path")
def test_browser():
    with page_of_a_browser() as page:
        page.goto("https://example.invalid/")
        page.add_script_tag(content=CLIENT.read_text())
        result = page.evaluate(
            f"async (vectors) => {{ {PROGRAM}; return check(discreetClient, vectors); }}", VECTORS
        )
    check_result(result)
