"""`discreet perturb`: reports that may leave, and what they promise."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from discreet.cli.app import run
from discreet.cli.commands.perturb import OneWord
from discreet.cli.options import CUTTING
from discreet.corpus import Tokenizer
from discreet.local import BitChannel, LocalLDA, StreamingLocalLDA, read_reports
from discreet.privacy.units import round_up

WORDS = ["fever", "cough", "knee", "back", "sleep", "tired"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "words.txt").write_text("".join(f"{word}\n" for word in WORDS))
    lines = [{"text": "Fever and cough, fever"}, {"text": "my knee, my back"}, {"text": "nothing known"}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def perturb(folder, *arguments):
    """Write reports.bin, in the place of an earlier one; a run that fails writes nothing."""
    new = folder / "new.bin"
    code = run(
        [
            "perturb",
            str(folder / "in.jsonl"),
            *("--vocabulary", str(folder / "words.txt"), "--out", str(new)),
            *arguments,
        ]
    )
    assert new.exists() == (code == 0)
    if code == 0:
        new.replace(folder / "reports.bin")
    return code


def test_reports_and_their_four_losses(folder, capsys):
    assert perturb(folder, "--epsilon", "2", "--per", "document", "--words", "2") == 0
    told = " ".join(capsys.readouterr().err.split())
    for part in (
        "3 reports of 6 bits",
        "added or removed",
        "replaced",
        "at most 2 words",
        "without limit",
        "add",
    ):
        assert part in told
    channel, bits = read_reports(folder / "reports.bin", vocabulary=WORDS)
    assert channel == BitChannel.for_document(2.0, 2, 6)
    assert bits.shape == (3, 6)


def test_strong_epsilon_shows_the_words(folder):
    assert perturb(folder, "--epsilon", "20", "--per", "word") == 0
    _, bits = read_reports(folder / "reports.bin")
    np.testing.assert_array_equal(bits, [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0] * 6])


def test_the_same_document_gets_the_same_report(folder):
    memory = ("--memory", str(folder / "kept.json"), "--epsilon", "0.1", "--per", "word")
    (folder / "in.jsonl").write_text('{"text": "Fever and cough, fever"}\n')
    assert perturb(folder, *memory) == 0
    first = (folder / "reports.bin").read_bytes()
    assert perturb(folder, *memory) == 0
    assert (folder / "reports.bin").read_bytes() == first
    assert perturb(folder, *memory[2:]) == 0
    assert (folder / "reports.bin").read_bytes() != first


def test_a_named_document_keeps_its_report_whatever_it_says_by_now(folder, capsys):
    lines = [
        {"id": f"entry {i}", "kind": "note", "body": text} for i, text in enumerate(("fever", "cold", "rash"))
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    how = ("--text", "body", "--epsilon", "0.1", "--per", "word", "--memory", str(folder / "kept.json"))
    assert perturb(folder, *how, "--name", "id") == 0
    first = (folder / "reports.bin").read_bytes()
    changed = [{**line, "body": "cough"} for line in lines]
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))
    assert perturb(folder, *how, "--name", "id") == 0
    assert (folder / "reports.bin").read_bytes() == first
    (folder / "words.txt").write_text("fever\ncough\n")  # a collector that asks about other words
    capsys.readouterr()
    assert perturb(folder, *how) == 2
    assert "3 documents need --name" in " ".join(capsys.readouterr().err.split())
    (folder / "in.jsonl").write_text('{"body": "fever"}\n')
    assert perturb(folder, *how) == 2
    assert "another vocabulary" in capsys.readouterr().err
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))
    assert perturb(folder, *how, "--name", "id") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "3 documents have spent their budgets on earlier reports or answers; no further report" in told
    assert "(entry 0, entry 1, entry 2)" in told
    assert "nothing was written: no budget of 3 documents has room" in told
    assert (folder / "reports.bin").read_bytes() == first
    assert perturb(folder, *how, "--name", "kind") == 2
    assert "each of 3 documents a name of its own; it has 1 different" in " ".join(
        capsys.readouterr().err.split()
    )
    assert perturb(folder, *how[:-2], "--name", "id") == 2
    assert "--memory" in capsys.readouterr().err
    assert (folder / "reports.bin").read_bytes() == first


def test_who_has_spent_its_budget_silences_nobody_else(folder, capsys):
    """And is named, whatever it says by now; nothing that was kept is lost."""

    def notes(*texts):
        lines = [{"id": f"n{i}\u202e", "text": text} for i, text in enumerate(texts)]
        (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    kept = folder / "kept.json"
    how = ("--per", "word", "--name", "id", "--memory", str(kept), "--quiet")
    notes("fever", "knee")
    assert perturb(folder, "--epsilon", "0.5", *how) == 0
    first, memory = (folder / "reports.bin").read_bytes(), kept.read_bytes()
    capsys.readouterr()
    for texts in (("fever", "knee", "back"), ("", "fever", ""), ("cough",) * 3):
        kept.write_bytes(memory)
        notes(*texts)
        assert perturb(folder, "--epsilon", "0.7", *how) == 0
        told = " ".join(capsys.readouterr().err.split())
        said = (
            "2 documents have spent their budgets on earlier reports or answers; "
            "no further report without a larger --budget"
        )
        assert f"{said} (n0?, n1?)" in told
        assert "n2" not in told
        assert len(read_reports(folder / "reports.bin")[1]) == 1
    # The new one is remembered, and so are the others.
    assert perturb(folder, "--epsilon", "0.7", *how) == 0
    (again,) = read_reports(folder / "reports.bin")[1]
    assert perturb(folder, "--epsilon", "0.7", *how) == 0
    np.testing.assert_array_equal(read_reports(folder / "reports.bin")[1], [again])
    notes("fever", "knee")
    assert perturb(folder, "--epsilon", "0.5", *how) == 0
    assert (folder / "reports.bin").read_bytes() == first
    # A budget for two of them.
    assert perturb(folder, "--epsilon", "0.7", *how, "--budget", "8") == 0
    assert len(read_reports(folder / "reports.bin")[1]) == 2
    # One that no report at all fits in is the caller's mistake, not the documents'.
    capsys.readouterr()
    kept.unlink()
    assert perturb(folder, "--epsilon", "0.7", *how, "--budget", "4") == 2
    assert "--budget 4 is below the 4.2 that one report loses" in " ".join(capsys.readouterr().err.split())
    assert not kept.exists()


def test_many_that_have_spent_are_named_in_part(folder, capsys):
    lines = [{"id": f"n{i:02d}" + "x" * 100, "text": "fever"} for i in range(12)]
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    how = ("--per", "word", "--name", "id", "--memory", str(folder / "kept.json"))
    assert perturb(folder, "--epsilon", "0.5", *how) == 0
    capsys.readouterr()
    assert perturb(folder, "--epsilon", "0.7", *how) == 2
    told = "".join(capsys.readouterr().err.split())
    assert f"n09{'x' * 56}…and2more" in told
    assert "n10" not in told
    assert "x" * 57 not in told


def test_seeds_are_labelled(folder, capsys):
    assert perturb(folder, "--epsilon", "1", "--per", "word", "--seed", "1") == 0
    first = (folder / "reports.bin").read_bytes()
    assert "not for release" in capsys.readouterr().err
    assert perturb(folder, "--epsilon", "1", "--per", "word", "--seed", "1") == 0
    assert (folder / "reports.bin").read_bytes() == first
    assert perturb(folder, "--epsilon", "1", "--per", "word") == 0
    assert not read_reports(folder / "reports.bin")[0].reproducible


def test_the_readme_says_what_the_command_prints_and_what_a_release_of_it_states(folder, capsys):
    assert perturb(folder, "--epsilon", "4", "--words", "60") == 0
    said = " ".join(capsys.readouterr().err.split())
    page = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    readme = " ".join(page.split("## Without a curator")[1].split("```python")[0].split())
    assert "one word replaced by another: 4" in said
    assert "L times the loss of one replaced word" in said
    assert "for a document of L words (L times as much)" in readme
    assert "for a document without limit, which is the one that a release states" in readme
    channel, bits = read_reports(folder / "reports.bin", vocabulary=WORDS)
    release = LocalLDA(1, channel=channel, allow_unlearnable=True, random_state=0)
    promised = release.fit(np.repeat(bits, 1500, axis=0)).release_.promise.epsilon
    assert f"without limit, {len(WORDS)} bits: {round_up(promised)}." in said


@pytest.mark.parametrize("model", [LocalLDA, StreamingLocalLDA])
@pytest.mark.integration
def test_a_release_of_seeded_reports_is_not_for_release(tmp_path, model):
    rng, lines = np.random.default_rng(0), []
    for i in range(1500):
        lines.append(json.dumps({"text": " ".join(rng.choice(WORDS[i % 2 * 3 : i % 2 * 3 + 3], 4))}) + "\n")
    (tmp_path / "in.jsonl").write_text("".join(lines))
    (tmp_path / "words.txt").write_text("".join(f"{word}\n" for word in WORDS))
    found = []
    for seed in ([], ["--seed", "5"]):
        assert perturb(tmp_path, "--epsilon", "4", "--per", "word", *seed) == 0
        channel, bits = read_reports(tmp_path / "reports.bin", vocabulary=WORDS)
        release = model(1, channel=channel, allow_unlearnable=True, random_state=0).fit(bits).release_
        found.append((release.determinism, "came from a seed" in release.guarantee))
    assert found == [("secure", False), ("reproducible, not for release", True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon", "0", "--per", "word"), "epsilon must be a positive number"),
        (("--epsilon", "2"), "needs --words"),
        (("--epsilon", "2", "--per", "document", "--words", "6"), "below 6"),
        (("--epsilon", "2", "--per", "nothing"), "nothing"),
        (("--epsilon", "1", "--per", "word", "--memory", "words"), "holds no kept reports"),
    ],
)
def test_refusals_write_nothing(folder, capsys, arguments, message):
    arguments = tuple(str(folder / "words.txt") if a == "words" else a for a in arguments)
    assert perturb(folder, *arguments) == 2
    error = capsys.readouterr().err
    assert message in " ".join(error.split())
    assert "knee" not in error
    assert not (folder / "reports.bin").exists()


@pytest.mark.integration
def test_a_file_of_reports_is_what_local_lda_takes(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"w{i:02}" for i in range(30)]
    (tmp_path / "words.txt").write_text("\n".join(words) + "\n")
    with (tmp_path / "in.jsonl").open("w") as file:
        for d in range(6000):
            chosen = rng.choice(10, 4, replace=False) + 10 * (d % 3)
            file.write(json.dumps({"text": " ".join(words[i] for i in chosen)}) + "\n")
    assert perturb(tmp_path, "--epsilon", "8", "--words", "4", "--seed", "3") == 0
    channel, bits = read_reports(tmp_path / "reports.bin", vocabulary=words)
    assert len(bits) == 6000  # also those of equal documents
    with pytest.warns(UserWarning, match="lets only 2 through"):  # three groups of one length: two contrasts
        model = LocalLDA(3, channel=channel, random_state=1).fit(bits)
    groups = model.release_.topic_word.reshape(3, 3, 10).sum(axis=2)
    assert sorted(groups.argmax(axis=1).tolist()) == [0, 1, 2]
    assert groups.max(axis=1).min() > 0.8


@pytest.mark.parametrize(
    ("words", "options", "expected"),
    [
        (["heart attack", "ward"], "--read stop_words=english", [[0, 1], [0, 0]]),
        (["the", "bed", "ward"], "--read stop_words=english,more.txt", [[0, 0, 1], [0, 0, 0]]),
        (["example", "ward"], "--read keep_links=true", [[1, 1], [0, 0]]),
        (["example", "ward"], "", [[0, 1], [0, 0]]),
        (["ward", "bed"], "--read languages=german --read stop_words=none", [[1, 0], [0, 1]]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_texts_are_cut_as_the_vocabulary_was(tmp_path, monkeypatch, capsys, words, options, expected, kind):
    """The same options as `fit`, so that a report is of the words that the curator's texts were counted by."""
    monkeypatch.chdir(tmp_path)
    texts = ["the heart attack on the ward: http://a.example/x", "the attack, a bed"]
    (tmp_path / "words.txt").write_text("\n".join(words) + "\n")
    (tmp_path / "more.txt").write_text("bed\n")
    if kind == "jsonl":
        (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    else:
        (tmp_path / "in.csv").write_text('text;n\n"{}";1\n"{}";2\n'.format(*texts))
        options += " --read delimiter=;"
    line = f"perturb in.{kind} --vocabulary words.txt --out r.bin --epsilon 22 --per word {options}"
    assert run(line.split()) == 0
    _, bits = read_reports(tmp_path / "r.bin", vocabulary=words)
    np.testing.assert_array_equal(bits, expected)
    never = {"--read stop_words=english,more.txt": "2 of 3", "--read stop_words=english": "1 of 2"}
    wanted = never.get(options.removesuffix(" --read delimiter=;").strip())
    told = " ".join(capsys.readouterr().err.split())
    assert (f"{wanted} words of the vocabulary can never be found" in told) == (wanted is not None)


def test_counts_are_not_cut(folder, capsys):
    (folder / "in.jsonl").unlink()
    (folder / "in.uci").write_text("1\n1\n1\n1 1 1\n")
    line = (
        f"perturb {folder}/in.uci --vocabulary {folder}/words.txt --out {folder}/r.bin --epsilon 1 --per word"
    )
    assert run([*line.split(), "--read", "stop_words=english"]) == 2
    assert "--read stop_words=: cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ("--read", "ngram_range=1,2"),
        ("--read", r"token_pattern=(?=(\b\w+ \w+\b))"),
    ],
)
def test_no_word_of_a_text_is_several_of_the_vocabulary(folder, capsys, options):
    """The losses told are of one word of the text. In runs of two words it changes three, so these are no options."""
    assert perturb(folder, "--epsilon", "2", "--per", "word", *options) == 2
    assert f"{options[1].partition('=')[0]!r} is none of them" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "reports.bin").exists()


def test_one_word_of_a_text_moves_one_column():
    """However `discreet perturb` can cut: all texts of up to four of five words, each less one word."""
    open_to_it = set(OneWord.names) & set(CUTTING)
    ways = {
        "stop_words": {"stop_words": "english"},
        "languages": {"languages": "german"},
        "keep_links": {"keep_links": True},
    }
    assert open_to_it == set(ways)
    vocabulary = ["severe", "chest", "pain", "www", "the"]
    runs = [f"{a} {b}" for a in vocabulary for b in vocabulary]
    worst = {}
    closed = {
        "runs": {"ngram_range": (1, 2)},
        "looks ahead": {"token_pattern": r"(?=(\b\w+ \w+\b))"},
    }
    for name, settings in {**ways, **closed}.items():
        cut, known = Tokenizer(**settings), {*vocabulary, *runs}
        texts = [words for n in range(5) for words in itertools.product(vocabulary, repeat=n)]
        columns = {words: known & set(cut(" ".join(words))) for words in texts}
        for words in texts:
            for i in range(len(words)):
                fewer = columns[words] ^ columns[words[:i] + words[i + 1 :]]
                worst[name] = max(worst.get(name, 0), len(fewer))
    assert worst == {**dict.fromkeys(ways, 1), "runs": 4, "looks ahead": 3}


@pytest.mark.parametrize("written", ["jsonl", "csv", "frame", "tokens", "first", "absent", "folder"])
def test_a_text_that_is_missing_is_reported_as_an_empty_one(tmp_path, capsys, written):
    """Else one word less, the only one, and there is one report less: for certain, whatever epsilon is."""
    (tmp_path / "words.txt").write_text("cough\nfever\n")
    path, name = tmp_path / "in.jsonl", ("--name", "id")
    if written == "csv":
        path = tmp_path / "in.csv"
        path.write_text("id,text\na,cough\nb,\n")
    elif written == "frame":
        path = tmp_path / "in.parquet"
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame({"id": ["a", "b"], "text": ["cough", None]}).to_parquet(path)
    elif written == "tokens":
        path.write_text('{"id": "a", "text": null}\n{"id": "b", "text": ["cough"]}\n')
    elif written == "first":
        path.write_text('{"id": "a", "text": null}\n{"id": "b", "text": "cough"}\n')
    elif written == "absent":
        path.write_text('{"id": "a", "text": "cough"}\n{"id": "b"}\n')
    else:
        path, name = tmp_path / "notes", ()
        path.mkdir()
        (path / "a.txt").write_text("cough")
        (path / "b.txt").write_text("")
    line = f"perturb {path} --vocabulary {tmp_path}/words.txt --out {tmp_path}/r.bin --epsilon 22 --per word"
    assert run([*line.split(), *name, "--memory", str(tmp_path / "kept.json")]) == 0, capsys.readouterr().err
    _, bits = read_reports(tmp_path / "r.bin")
    assert sorted(bits.tolist()) == [[0, 0], [1, 0]]
    assert run([*line.split(), "--skip-empty"]) == 2
    assert "No such option: --skip-empty" in " ".join(capsys.readouterr().err.split())


def test_with_a_memory_several_documents_need_names(folder, capsys):
    """Without them, two that say the same had one report, and others two: whoever collects saw which are alike."""
    how = ("--epsilon", "0.1", "--per", "word", "--memory", str(folder / "kept.json"))
    assert perturb(folder, *how) == 2
    assert "3 documents need --name" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "reports.bin").exists()
    assert not (folder / "kept.json").exists()
    (folder / "notes").mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / "notes" / name).write_text("fever and cough")
    line = f"perturb {folder}/notes --vocabulary {folder}/words.txt --out {folder}/r.bin"
    assert run([*line.split(), *how]) == 0
    first = (folder / "r.bin").read_bytes()
    (folder / "r.bin").unlink()
    assert first[: len(first) // 2] != first[len(first) // 2 :]
    (folder / "notes" / "a.txt").write_text("knee")
    assert run([*line.split(), *how]) == 0
    assert (folder / "r.bin").read_bytes() == first


def test_names_that_the_memory_takes_for_one_are_one(folder, capsys):
    lines = [{"id": name, "text": "fever"} for name in ("Zo\u00e9", "Zoe\u0301")]
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    memory = ("--memory", str(folder / "kept.json"), "--name", "id")
    assert perturb(folder, "--epsilon", "1", "--per", "word", *memory) == 2
    assert "it has 1 different" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "reports.bin").exists()


@pytest.mark.parametrize("file", ["kept.json", "in.jsonl", "words.txt"])
@pytest.mark.parametrize("spelt", ["{}", "notes/../{}", "link", "hard link"])
@pytest.mark.parametrize("exists", [True, False])
def test_out_replaces_no_file_that_is_needed(folder, capsys, monkeypatch, file, spelt, exists):
    monkeypatch.chdir(folder)
    (folder / "notes").mkdir()
    (folder / "in.jsonl").write_text('{"text": "fever"}\n')
    line = ["perturb", "in.jsonl", "--vocabulary", "words.txt", "--epsilon", "1", "--per", "word"]
    line += ["--memory", "kept.json"]
    if exists:
        assert run([*line, "--out", "r.bin"]) == 0
    elif file == "kept.json" and spelt == "hard link":
        pytest.skip("there is nothing to link to")
    if spelt == "link":
        (folder / "link").symlink_to(file)
    if spelt == "hard link":
        (folder / "hard link").hardlink_to(file)
    before = (folder / file).read_bytes() if (folder / file).exists() else None
    capsys.readouterr()
    assert run([*line, "--out", spelt.format(file)]) == 2
    assert "would replace it" in " ".join(capsys.readouterr().err.split())
    assert ((folder / file).read_bytes() if (folder / file).exists() else None) == before


def test_what_each_document_has_lost_by_now_is_said(folder, capsys):
    """A second report under --budget costs anew: once that was nowhere to be read."""

    def notes(*names):
        lines = [{"id": name, "text": "fever"} for name in names]
        (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    kept = folder / "kept.json"
    how = ("--per", "word", "--name", "id", "--memory", str(kept))
    said = f"{kept.name} records what each document has lost in all, with this report: "
    notes("a", "b")
    assert perturb(folder, "--epsilon", "0.5", *how) == 0
    assert said + "3 (2 documents)" in " ".join(capsys.readouterr().err.split())
    notes("a", "b", "c")
    assert perturb(folder, "--epsilon", "0.7", *how, "--budget", "8", "--quiet") == 0
    told = " ".join(capsys.readouterr().err.split())
    assert (
        said + "4.2 (1 document), 7.2 (2 documents)" in told
    )  # 6 bits of .5 and of .7; quiet hides no such loss
    assert (
        perturb(folder, "--epsilon", "0.7", *how, "--budget", "8") == 0
    )  # the same bytes: nothing more is lost
    assert said + "4.2 (1 document), 7.2 (2 documents)" in " ".join(capsys.readouterr().err.split())
    notes("c")
    assert perturb(folder, "--epsilon", "0.7", *how, "--quiet") == 0
    assert "records" not in capsys.readouterr().err
    assert perturb(folder, "--epsilon", "0.7", "--per", "word") == 0
    assert "records" not in capsys.readouterr().err
