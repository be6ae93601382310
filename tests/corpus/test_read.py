import csv
import gzip
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tests.naive import corpus as naive

from discreet.corpus import Corpus, Tokenizer, counting, read_corpus, read_into_shards
from discreet.corpus.formats import counts as count_lines
from discreet.corpus.formats.table import find_format
from discreet.corpus.vocabulary import WordOrigin
from discreet.errors import CorpusError, ParameterError

DOCUMENTS = [
    {"body": "The cat sat, the cat ran.", "who": "ann", "year": 1999},
    {"body": "", "who": "bob", "year": 2001},
    {"body": "Ünïcode cats — and dogs\nover two lines", "who": "ann", "year": 1999},
    {"body": 'A "quoted", dog', "who": 7, "year": 2001},
    {"body": "dog dog dog", "who": "7", "year": 5},
]
PATTERN = r"(?u)\b\w\w+\b"


@pytest.fixture
def expected():
    return naive.count([document["body"] for document in DOCUMENTS], PATTERN)


def check(corpus, expected, persons=(0, 1, 0, 2, 2)):
    documents, words = expected
    assert list(corpus.vocabulary) == words
    assert naive.as_documents(corpus) == documents
    if persons is not None:
        assert corpus.persons.tolist() == list(persons)
    assert corpus.word_origin.kind == "from text"


def write_jsonl(path, opener=open, encoding="utf-8"):
    with opener(path, "wt", encoding=encoding) as file:
        for document in DOCUMENTS:
            file.write(json.dumps(document, ensure_ascii=False) + "\n")
    return path


def test_json_lines(tmp_path, expected):
    path = write_jsonl(tmp_path / "a.jsonl")
    corpus = read_corpus(path, text="body", person="who", label="year")
    check(corpus, expected)
    assert corpus.labels.tolist() == [1999, 2001, 1999, 2001, 5]
    zipped = write_jsonl(tmp_path / "b.jsonl.gz", gzip.open)
    check(read_corpus(zipped, text="body", person="who"), expected)
    zipped.rename(tmp_path / "c.jsonl")  # recognised by content
    check(read_corpus(tmp_path / "c.jsonl", text="body", person="who"), expected)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    check(read_corpus(path, text="body", person="who"), expected)
    other = write_jsonl(tmp_path / "d.jsonl", encoding="utf-16")
    check(read_corpus(other, text="body", person="who", encoding="utf-16"), expected)
    renamed = path.rename(tmp_path / "e.txt")
    check(read_corpus(renamed, "jsonl", text="body", person="who"), expected)


def test_a_delimiter_is_of_csv_alone(tmp_path):
    """It was passed over in silence for JSON Lines."""
    write_jsonl(tmp_path / "a.jsonl")
    (tmp_path / "docword.b.txt").write_text("1\n1\n1\n1 1 1\n")
    for source in (tmp_path / "a.jsonl", tmp_path / "docword.b.txt", pd.DataFrame({"text": ["a bill"]})):
        with pytest.raises(ParameterError, match=r"delimiter= cannot be used with .*: CSV alone has one"):
            read_corpus(source, delimiter=";")
    with pytest.raises(ParameterError, match="CSV alone has one"):
        read_into_shards(tmp_path / "a.jsonl", tmp_path / "shards", text="body", delimiter=";")


def test_csv(tmp_path, expected):
    for name, delimiter in (("a.csv", ","), ("b.tsv", "\t")):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["who", "body", "year"], delimiter=delimiter)
            writer.writeheader()
            # An empty cell says that nothing is there; a blank is an empty document.
            writer.writerows({**document, "body": document["body"] or " "} for document in DOCUMENTS)
        corpus = read_corpus(tmp_path / name, text="body", person="who", label="year")
        check(corpus, expected)
        assert corpus.labels.tolist() == ["1999", "2001", "1999", "2001", "5"]
    text = (tmp_path / "a.csv").read_text(encoding="utf-8").replace(",", ";")
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert read_corpus(tmp_path / "a.csv", text="body", delimiter=";").n_documents == 5


def test_csv_line_numbers_count_lines_and_not_rows(tmp_path):
    (tmp_path / "a.csv").write_text('text,who\n"two\nlines",a\nshort\n')
    with pytest.raises(CorpusError, match="line 4: 1 fields"):
        read_corpus(tmp_path / "a.csv")


def test_folder_of_text_files(tmp_path, expected):
    for number, document in enumerate(DOCUMENTS):
        folder = tmp_path / f"{document['who']}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_text(document["body"], encoding="utf-8")
    (tmp_path / "ann" / "notes.md").write_text("not this one")
    corpus = read_corpus(tmp_path, person="folder", label="file")
    order = [3, 4, 0, 2, 1]  # by path: 7/3, 7/4, ann/0, ann/2, bob/1
    documents, words = expected
    assert naive.as_documents(corpus) == [documents[i] for i in order]
    assert list(corpus.vocabulary) == words
    assert corpus.persons.tolist() == [0, 0, 1, 1, 2]
    assert corpus.labels.tolist()[0] == "7/3.txt"


def test_one_document_a_line(tmp_path):
    (tmp_path / "a.txt").write_text("the cat\n\nthe dog")
    corpus = read_corpus(tmp_path / "a.txt", "lines", persons=["x", "y", "x"], labels=[3, 2, 1])
    assert naive.as_documents(corpus) == [{"the": 1, "cat": 1}, {}, {"the": 1, "dog": 1}]
    assert corpus.persons.tolist() == [0, 1, 0]
    assert corpus.labels.tolist() == [3, 2, 1]


def test_parquet(tmp_path, expected):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {key: [document[key] for document in DOCUMENTS] for key in ("body", "year")}
    columns["who"] = [str(document["who"]) for document in DOCUMENTS]
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=2)
    corpus = read_corpus(tmp_path / "a.parquet", text="body", person="who", label="year")
    check(corpus, expected)
    assert corpus.labels.tolist() == [1999, 2001, 1999, 2001, 5]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "lazy"])
def test_frames(library, expected):
    columns = {key: [document[key] for document in DOCUMENTS] for key in ("body", "year")}
    columns["who"] = [str(document["who"]) for document in DOCUMENTS]
    if library == "pandas":
        frame = pytest.importorskip("pandas").DataFrame(columns)
    elif library == "pyarrow":
        frame = pytest.importorskip("pyarrow").table(columns)
    else:
        frame = pytest.importorskip("polars").DataFrame(columns)
    frame = frame.lazy() if library == "lazy" else frame
    corpus = read_corpus(frame, text="body", person="who", label="year")
    check(corpus, expected)
    assert corpus.labels.tolist() == [1999, 2001, 1999, 2001, 5]
    with pytest.raises(CorpusError, match=r"the frame .*has no field for text='text'; its fields are 'body'"):
        read_corpus(frame)


@pytest.mark.parametrize("columns", [["text", "who", "who"], ["text", "who", "what", "what"]])
def test_columns_that_are_named_alike_are_named_in_the_refusal(columns):
    """The error was narwhals', and no CorpusError."""
    cells = [["one word"] * 2] * len(columns)
    pyarrow = pytest.importorskip("pyarrow")
    for frame in (pd.DataFrame(np.transpose(cells), columns=columns), pyarrow.table(cells, columns)):
        with pytest.raises(CorpusError, match=rf"more than one column named '{columns[-1]}'; rename them"):
            read_corpus(frame, person="who")


def test_columns_without_a_name_that_is_text_are_not_asked_for():
    frame = pd.DataFrame(
        [["one word", "x"]], columns=pd.MultiIndex.from_tuples([("text", "a"), ("who", "b")])
    )
    with pytest.raises(CorpusError, match="no field for text='text'; its fields are none"):
        read_corpus(frame)
    with pytest.raises(CorpusError, match=r"no field for text='text'; its fields are 'body'"):
        read_corpus(pd.DataFrame([["one word", "x"]], columns=["body", 5]))


def test_a_column_beside_the_rows_is_answered_with_the_option_that_takes_one(tmp_path):
    """labels="Region" was taken for a path, of a frame, too: "Region does not exist; check the path"."""
    frame = pd.DataFrame({"text": ["one word"], "who": ["x"]})
    frame.to_csv(tmp_path / "a.csv")
    for source in (frame, tmp_path / "a.csv"):
        for option, meant in (("persons", "person"), ("labels", "label")):
            with pytest.raises(
                CorpusError, match=rf"^who does not exist; .* A column is named by {meant}=\.$"
            ):
                read_corpus(source, **{option: "who"})


def test_frames_with_gaps():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": ["one word", None, "two"], "who": [1, 2, None]})
    with pytest.raises(CorpusError, match=r"2 problems: row 2: field 'text'.*row 3: field 'who'"):
        read_corpus(frame, person="who")
    assert read_corpus(frame.iloc[[0, 0]], person="who").persons.tolist() == [0, 0]
    with pytest.raises(TypeError):
        read_corpus([1, 2])


def test_persons_depend_on_first_appearance_only(tmp_path):
    names = ["q", "a", "q", "m", "a"]
    path = tmp_path / "a.jsonl"
    for rename in (str, lambda name: name * 3, ord):
        path.write_text("".join(json.dumps({"text": "some words", "who": rename(n)}) + "\n" for n in names))
        assert read_corpus(path, person="who").persons.tolist() == [0, 1, 0, 2, 1]


def test_a_public_vocabulary(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl")
    words = ["dog", "zebra", "cat"]
    (tmp_path / "words.txt").write_text("dog\nzebra\ncat\n")
    for vocabulary in (words, tmp_path / "words.txt", str(tmp_path / "words.txt")):
        corpus = read_corpus(path, text="body", vocabulary=vocabulary)
        assert corpus.vocabulary == tuple(words)
        assert corpus.word_origin.kind == "unknown"
        declared = read_corpus(path, text="body", vocabulary=vocabulary, words_are_public=True)
        assert declared.word_origin == WordOrigin.public("words_are_public=True in read_corpus")
        assert naive.as_documents(corpus) == [{"cat": 2}, {}, {}, {"dog": 1}, {"dog": 3}]


def test_the_columns_do_not_depend_on_the_order_of_documents():
    texts = ["zeta beta", "alpha beta", "gamma"]
    assert Corpus.from_texts(texts).vocabulary == Corpus.from_texts(texts[::-1]).vocabulary


def test_pieces_do_not_show(monkeypatch):
    texts = ["the cat and the dog"] * 5 + [""] + ["dogs and more cats"] * 7
    whole = Corpus.from_texts(texts)
    monkeypatch.setattr(counting, "_CHUNK_TOKENS", 7)
    pieces = Corpus.from_texts(texts)
    assert naive.as_documents(pieces) == naive.as_documents(whole)
    assert pieces.counts.has_canonical_format


def test_formats_found_by_name(tmp_path):
    for name, known in {
        "a.jsonl": "jsonl",
        "A.NDJSON.GZ": "jsonl",
        "a.csv.gz": "csv",
        "a.tsv": "csv",
        "docword.kos.txt": "uci",
        "docword.kos.txt.gz": "uci",
        "a.npz": "npz",
        "a.mtx.gz": "mtx",
        "a.pq": "parquet",
    }.items():
        (tmp_path / name).touch()
        assert find_format(tmp_path / name) == known
    assert find_format(tmp_path) == "txt"


def test_progress_is_told_and_cannot_hurt(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "some words"}\n' * 3000)
    told = []
    read_corpus(path, callback=lambda *step: told.append(step))
    assert told[-1] == ("reading", path.stat().st_size, path.stat().st_size)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)

    def broken(*step):
        raise RuntimeError

    assert read_corpus(path, callback=broken).n_documents == 3000


# ---- counts


def test_kos_is_exactly_the_stored_matrix(shared_data):
    folder = shared_data / "kos"
    corpus = read_corpus(folder / "docword.kos.txt.gz", vocabulary=folder / "vocab.kos.txt")
    stored = sp.load_npz(folder / "counts.npz")
    assert (corpus.counts != stored).nnz == 0
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(corpus.counts, name), getattr(stored, name))
    assert corpus.n_tokens == 467714
    assert corpus.word_origin.kind == "unknown"
    other = read_corpus(folder / "counts.npz")
    assert (other.counts != stored).nnz == 0
    assert other.vocabulary[:2] == ("word_0", "word_1")
    assert other.word_origin.kind == "numbered"


def same_as_twin(path):
    entries, n_documents, n_words = naive.read_uci(path)
    counts = read_corpus(path, "uci").counts
    assert counts.shape == (n_documents, n_words)
    assert counts.has_canonical_format
    coo = counts.tocoo()
    assert (
        dict(zip(zip(coo.row.tolist(), coo.col.tolist(), strict=True), coo.data.tolist(), strict=True))
        == entries
    )


@pytest.mark.parametrize(
    "form", ["plain", "windows", "tabs", "blanks", "shuffled", "last line open", "repeats", "gaps"]
)
@pytest.mark.parametrize("block", [1, 64, 1 << 17])
def test_uci_agrees_with_the_naive_twin(tmp_path, monkeypatch, form, block):
    monkeypatch.setattr(count_lines, "_BLOCK_LINES", block)
    rng = np.random.default_rng(3)
    counts = rng.poisson(0.3, (30, 120)) * rng.choice([1, 1000003], (30, 120))
    counts[4] = counts[29] = 0
    lines = [f"{d + 1} {w + 1} {counts[d, w]}" for d, w in np.argwhere(counts)]
    if form == "shuffled":
        rng.shuffle(lines)
    if form == "repeats":
        lines += lines[:5]
    if form == "blanks":
        lines = [f" {line}  " if i % 3 else line.replace(" ", "   ") for i, line in enumerate(lines)]
    if form == "gaps":
        lines = [line + "\n" if i % 5 == 0 else line for i, line in enumerate(lines)]
    number = len(lines)
    text = f"30\n120\n{number}\n" + "\n".join(lines) + ("" if form == "last line open" else "\n")
    text = {"windows": text.replace("\n", "\r\n"), "tabs": text.replace(" ", "\t")}.get(form, text)
    path = tmp_path / "docword.x.txt"
    path.write_bytes(text.encode())
    same_as_twin(path)


def test_ignoring_where_lines_end_would_be_caught(tmp_path):
    # Planted mistake: nine numbers on lines of 2, 4 and 3 would pass for three triples.
    block = b"1 1\n2 1 3 1\n2 2 5\n"
    assert np.array(block.split(), int).reshape(-1, 3).shape == (3, 3)
    path = tmp_path / "a.uci"
    path.write_bytes(b"3\n3\n3\n" + block)
    with pytest.raises(CorpusError, match=r"line 4: expected 3 whole numbers .*; line 5: .*; a line holds"):
        read_corpus(path)


def test_matrix_market_of_scipy(tmp_path):
    from scipy.io import mmwrite

    counts = sp.random(
        20, 9, 0.3, random_state=1, data_rvs=lambda n: np.arange(1, n + 1), dtype=np.int64
    ).tocsr()
    for name, matrix in (("a", counts), ("b", counts.astype(float))):
        mmwrite(tmp_path / f"{name}.mtx", matrix, symmetry="general")
        assert (read_corpus(tmp_path / f"{name}.mtx").counts != counts).nnz == 0
    (tmp_path / "c.mtx").write_text(
        "%%MatrixMarket matrix coordinate pattern general\n%\n2 2 2\n1 2\n\n2 1\n"
    )
    assert read_corpus(tmp_path / "c.mtx").counts.toarray().tolist() == [[0, 1], [1, 0]]
    (tmp_path / "d.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 0\n1 2 2.0e0\n"
    )
    assert read_corpus(tmp_path / "d.mtx").counts.toarray().tolist() == [[0, 2]]


def converted(path, name=None, **made):
    """Return what the line of Python makes of the file, that a refusal names."""
    with pytest.raises(CorpusError, match="is not read; one line of Python converts it: ") as found:
        read_corpus(path, name)
    line = str(found.value).partition("converts it: ")[2].removesuffix(".")
    made |= {"path": path, "Corpus": Corpus, "read_corpus": read_corpus}
    load, of = line.rpartition("; ")[::2]
    exec(load, made)
    return eval(of, made)


def test_formats_that_few_have_are_converted_by_one_line(tmp_path):
    from sklearn.datasets import dump_svmlight_file

    counts, labels, vocabulary = np.array([[0, 2, 1], [3, 0, 0]]), np.array([1, -1]), ["a", "b", "c"]
    path = str(tmp_path / "a.svmlight")
    dump_svmlight_file(counts, labels, path)
    for name in ("c.libsvm.gz", "a.lda-c"):
        (tmp_path / name).touch()
    for given in ((path,), (tmp_path / "b.bin", "svmlight"), (tmp_path / "c.libsvm.gz",)):
        with pytest.raises(CorpusError, match="svmlight is not read; one line of Python converts it: "):
            read_corpus(*given)
    corpus = converted(path, vocabulary=vocabulary)
    assert corpus.counts.toarray().tolist() == counts.tolist()
    assert corpus.labels.tolist() == labels.tolist()
    with pytest.raises(CorpusError, match=r"ldac is not read; .*BleiCorpus"):
        read_corpus(tmp_path / "a.lda-c")


def test_mallet_and_arrow_are_converted_by_one_line(tmp_path):
    path = tmp_path / "a.mallet"
    path.write_text("one spam the cat the\ntwo\tham\ttwo dogs\n")
    corpus = converted(path)
    assert naive.as_documents(corpus) == [{"the": 2, "cat": 1}, {"two": 1, "dogs": 1}]
    assert corpus.labels.tolist() == ["spam", "ham"]
    pa, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    feather.write_feather(pa.table({"text": ["the cat", "two dogs"]}), tmp_path / "a.feather")
    assert naive.as_documents(converted(tmp_path / "a.feather")) == [
        {"the": 1, "cat": 1},
        {"two": 1, "dogs": 1},
    ]


def test_a_table_of_counts_is_converted_by_one_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("count,document,word\n2,x,cat\n1,y,dog\n1,x,cat\n4,y,ant\n")
    corpus = converted(path, "csv-counts")
    assert naive.as_documents(corpus) == [{"cat": 3}, {"ant": 4, "dog": 1}]


def test_persons_and_labels_from_files(tmp_path):
    (tmp_path / "a.uci").write_text("3\n2\n3\n1 1 1\n2 2 1\n3 1 1\n")
    (tmp_path / "who.txt").write_text("ann\nbob\nann\n")
    (tmp_path / "year.txt").write_text("1999\n2000\n-3\n")
    corpus = read_corpus(tmp_path / "a.uci", persons=tmp_path / "who.txt", labels=tmp_path / "year.txt")
    assert corpus.persons.tolist() == [0, 1, 0]
    assert corpus.labels.tolist() == [1999, 2000, -3]
    (tmp_path / "who.txt").write_text("ann\n\nann\n")
    with pytest.raises(CorpusError, match=r"who\.txt, line 2: expected one entry"):
        read_corpus(tmp_path / "a.uci", persons=tmp_path / "who.txt")


def test_tweets_read_as_scikit_learn_counts(shared_data):
    from sklearn.feature_extraction.text import CountVectorizer

    path = shared_data / "pheme" / "texts.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    # A pattern that is named knows no marks, and links that are kept are words, as in scikit-learn.
    options = {"token_pattern": r"\w\w+", "stop_words": "english", "ngram_range": (1, 2)}
    vectorizer = CountVectorizer(**options)
    expected = vectorizer.fit_transform(texts)
    corpus = read_corpus(path, tokenizer=Tokenizer(**options, keep_links=True))
    assert corpus.vocabulary == tuple(vectorizer.get_feature_names_out())
    assert (corpus.counts != expected).nnz == 0
