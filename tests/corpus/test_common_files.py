"""Spreadsheets, gensim, a pipe, SVMlight that counts from 0: what people have, and are told."""

import gzip
import json
import os
import pickle
import re
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import numpy as np
import openpyxl
import pytest
import scipy.sparse as sp

from discreet import Corpus, CorpusError, ParameterError
from discreet.cli.app import run
from discreet.corpus import load_vocabulary, read_corpus, write_corpus

MARK = "secretword"


def refusal(path, *arguments, **options) -> str:
    with pytest.raises(CorpusError) as found:
        read_corpus(path, *arguments, **options)
    assert MARK not in str(found.value)
    return str(found.value)


# CSV of spreadsheets


@pytest.mark.parametrize(
    ("mark", "said"), [(";", "semicolons, as spreadsheets"), ("\t", "tabs"), ("|", "'|'")]
)
def test_another_delimiter_is_found_or_named(tmp_path, mark, said):
    (tmp_path / "a.csv").write_text(f"id{mark}text\n1{mark}{MARK}, and more\n")
    (note,) = read_corpus(tmp_path / "a.csv").notes
    assert note == f"columns are separated by {'bars' if mark == '|' else said.partition(',')[0]}"
    found = refusal(tmp_path / "a.csv", delimiter=",")
    assert "line 1" in found
    assert said in found
    assert f"delimiter={mark!r}" in found
    assert read_corpus(tmp_path / "a.csv", delimiter=mark).notes == ()
    assert read_corpus(tmp_path / "a.csv", delimiter=mark).n_documents == 1
    assert read_corpus(tmp_path / "a.csv", delimiter="\\t" if mark == "\t" else mark).n_documents == 1
    (tmp_path / "c.csv").write_text(f"a{mark}b\n1{mark}{MARK}\n")  # another field is missing, too
    assert "no field for text='text'; its fields are 'a', 'b'." in refusal(tmp_path / "c.csv")
    if mark != "|":
        found = refusal(tmp_path / "c.csv", delimiter=",")
        assert f"delimiter={mark!r} (no column is named 'text', either)." in found
    for before in ("", "\n"):  # a header in quotes is broken under another delimiter
        (tmp_path / "q.csv").write_text(f'{before}"id"{mark}"text"\n"1"{mark}"{MARK}"\n')
        found = refusal(tmp_path / "q.csv", delimiter=",")
        assert f"columns are separated by {said}" in found
        assert f"give delimiter={mark!r}." in found
    (tmp_path / "d.csv").write_text(f"{MARK} and so on in many words{mark} {'ab ' * 20}\n")  # no header
    assert "delimiter=" not in refusal(tmp_path / "d.csv")


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        ('"text";"a, b"', ";"),
        ('"a\nb";"text"', ";"),
        ("\n\ntext;who", ";"),
        ("text,who", ","),
        ("text,a;b", ","),
        ('"text",a;b', ","),
    ],
)
def test_the_header_shows_what_separates_the_columns(tmp_path, header, delimiter):
    """A quoted header with semicolons was called broken CSV."""
    path = tmp_path / "a.csv"
    row = delimiter.join([f'"{MARK} bed"'] * 2)
    path.write_text(f"{header}\n{row}\n{row}\n")
    corpus = read_corpus(path)
    assert corpus.n_documents == 2
    assert corpus.notes == (() if delimiter == "," else ("columns are separated by semicolons",))
    # Lines are counted as without a look at the header.
    path.write_text(f"{header}\n{row}\n{row}{delimiter}\n")
    n_lines = header.count("\n") + 3
    assert f"line {n_lines}: 3 fields, the header has 2" in refusal(path)


def test_two_delimiters_that_would_do_are_not_chosen_between(tmp_path):
    (tmp_path / "a.csv").write_text(f"text;a\n{MARK};b\n")
    assert read_corpus(tmp_path / "a.csv").n_documents == 1
    (tmp_path / "b.csv").write_text(f"a|b;text|a;c\n{MARK};b\n")  # "text" under neither
    assert "no field for text='text'; its fields are 'a|b;text|a;c'." in refusal(tmp_path / "b.csv")


def test_all_rows_without_text_or_person_are_counted(tmp_path):
    """Whether they may be left out depends on how many they are, and "at least 100" did not tell."""
    rows = "".join(f"{'' if row % 4 == 0 else MARK},{'' if row % 5 == 0 else row}\n" for row in range(1000))
    (tmp_path / "a.csv").write_text(f"text,who\n{rows}")
    said = refusal(tmp_path / "a.csv", person="who")
    assert "a.csv: 450 problems: line 2: " in said
    assert said.endswith(
        "; and 445 more; skip_empty=True leaves out rows, 250 without text, 200 without a person."
    )
    corpus = read_corpus(tmp_path / "a.csv", person="who", skip_empty=True)
    assert corpus.n_skipped == 400  # 50 have neither
    (tmp_path / "b.csv").write_text(f"text,who\n{rows}" + " ,1\n" * 33)
    said = refusal(tmp_path / "b.csv", person="who")
    assert "b.csv: 450 problems: " in said
    assert said.endswith(
        "250 without text, 200 without a person, 33 of blanks alone (no problem in themselves)."
    )
    (tmp_path / "a.csv").write_text(f"text,who\n{rows}" + f"{MARK}\n" * 1000)
    assert "at least 451 problems" in refusal(tmp_path / "a.csv", person="who")


def test_the_line_that_tells_excel_of_the_delimiter_is_taken_at_its_word(tmp_path):
    for line in ("sep=;\n", '"sep=;"\r\n', "\ufeffsep=;\n"):
        (tmp_path / "a.csv").write_text(f"{line}text;a\n{MARK}, bed;1\n", encoding="utf-8", newline="")
        assert read_corpus(tmp_path / "a.csv").n_documents == 1
    (tmp_path / "a.csv").write_text(f"sep=,\ntext,a\n{MARK}, bed,1\n{MARK}\n")
    said = refusal(tmp_path / "a.csv")
    assert "line 3: 3 fields, the header has 2 (is a text with a delimiter in it not in quotes?)" in said
    assert "line 4: 1 fields, the header has 2." in said


def test_an_address_is_told_that_only_files_are_read():
    assert "(an address, and only files are read: download it) does not exist" in refusal(
        "https://a.example/x.csv"
    )
    assert "address" not in refusal("nowhere/x.csv")


def test_what_excel_saved_in_western_europe_is_answered_with_what_to_do(tmp_path, capsys):
    path = tmp_path / "a.csv"
    rows = f'"N\xba";"Mensaje"\n"1";"{MARK} ma\xf1ana"\n"2";""\n"";"{MARK}"\n;\n'
    path.write_bytes(rows.encode("latin-1"))
    said = 'line 1: not utf-8 text at byte 2; give encoding=, for example "cp1252" (Western Europe) or "cp1250" (Centr'
    assert said in refusal(path)
    assert run(["check", str(path), "--text", "Mensaje", "--person", "N\xba"]) == 2
    assert (
        'give --read encoding=, for example "cp1252" (Western Europe: Nº) or "cp1250" (Cen'
        in capsys.readouterr().err
    )
    found = refusal(path, encoding="cp1252")
    assert "no field for text='text'; its fields are 'N\xba', 'Mensaje'." in found
    found = refusal(path, text="Mensaje", person="N\xba", encoding="cp1252")
    assert "skip_empty=True leaves out rows, 2 without text, 2 without a person." in found
    corpus = read_corpus(path, text="Mensaje", person="N\xba", encoding="cp1252", skip_empty=True)
    assert (corpus.n_documents, corpus.n_skipped, corpus.rows.tolist()) == (1, 3, [0])


def test_a_header_is_shown_as_each_encoding_that_is_advised_reads_it(tmp_path):
    """Of two encodings that break no word, one read a Portuguese header as "Regi\u0103o": who knows which to take?"""
    header, row = "Regi\xe3o;\xc9poca;Mensagem", f'Bel\xe9m;2020;"{MARK} cora\xe7\xe3o"'
    path = tmp_path / "a.csv"
    path.write_bytes(f"{header}\n{row}\n".encode("cp1252"))
    for options in ({"text": "Mensagem"}, {"text": "x", "person": "Regi\xe3o"}):
        said = refusal(path, **options)
        assert '"cp1252" (Western Europe: Regi\xe3o) or "cp1250" (Central Europe: Regi\u0103o)' in said
        assert "Bel" not in said
    assert '"cp1252" (Western Europe) or "cp1250"' in refusal(path, text="Texto")  # it may be no header
    assert '"cp1252" (Western Europe) or "cp1250"' in refusal(path, "lines")
    path.write_bytes(f"Mensagem;Nota\n{row}\n".encode("cp1252"))
    assert '"cp1252" (Western Europe) or "cp1250"' in refusal(path, text="Mensagem")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("odwołanie od wyroku, świadectwo, groźba, zagrożenie, urząd", "cp1250"),
        ("odwołanie od wyroku, świadectwo, groźba, zagrożenie, urząd", "iso-8859-2"),
        ("человек и учитель, “чай” – ночь", "cp1251"),
        ("«l’œuvre», ¿qué? — Größe über 5°, l’été", "cp1252"),
    ],
)
def test_the_encoding_that_is_advised_breaks_no_word(tmp_path, text, encoding):
    """Polish letters of cp1250 are superscripts and marks in cp1252, which reads them without an error."""
    path = tmp_path / "a.csv"
    path.write_bytes(f"person;text\n1;plain\n2;{text}\n".encode(encoding))
    advised = re.findall(r'"([\w-]+)" \(', refusal(path, person="person"))
    assert advised[0] == encoding
    assert ("cp1252" in advised) == (encoding == "cp1252")


@pytest.mark.parametrize("delimiter", [None, ";"])
def test_a_file_without_a_header_is_told_so_and_none_of_its_cells(tmp_path, delimiter):
    path = tmp_path / "a.csv"
    path.write_text("P0846;text;Lodz;2025-11-05;45,75\nP0847;more;Gdynia;2025-11-06;4,5\n")
    for options in ({"person": "who"}, {"text": "note"}):
        told = refusal(path, delimiter=delimiter, **options)
        assert "its first line seems to hold data: put one of names" in told
        assert not any(cell in told for cell in ("P0846", "Lodz", "2025", "75"))
    path.write_text("text;2024;2025\nmore words;1;2\n")
    assert "its fields are 'text', '2024', '2025'. Name one of these." in refusal(path, person="who")


def test_turkish_is_among_the_encodings_that_are_advised(tmp_path):
    (tmp_path / "a.csv").write_bytes(f"text\n{MARK} ba\u015fvuru \u0131\u015f\u0131k\n".encode("cp1254"))
    assert '"cp1254" (Turkish)' in refusal(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_bytes(f"text\n{MARK} \u0437\u0430\u044f\u0432\u043a\u0430\n".encode("cp1251"))
    assert '"cp1251" (Cyrillic)' in refusal(tmp_path / "a.csv")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "cp850"])
def test_utf8_is_not_read_as_an_encoding_that_reads_anything(tmp_path, encoding):
    """Half of a letter is none: topics of broken words were trained, and called good."""
    path = tmp_path / "a.csv"
    path.write_text(f"text,S\xf3cio\n{MARK} psic\xf3loga,1\n", encoding="utf-8")
    for person in (None, "S\xf3cio"):
        assert f"{path} is UTF-8" in refusal(path, encoding=encoding, person=person)
    assert "leave encoding= out" in refusal(path, encoding=encoding)
    path.write_text(f"text\n{MARK} bed\n", encoding="utf-8")
    assert read_corpus(path, encoding=encoding).n_documents == 1
    (tmp_path / "words.txt").write_text("psic\xf3loga\n", encoding="utf-8")
    assert "save that one as UTF-8" in refusal(path, encoding=encoding, vocabulary=tmp_path / "words.txt")
    path.write_bytes(f"text\n{MARK} ma\xf1ana caf\xe9\n".encode(encoding))
    assert "ma\xf1ana" in read_corpus(path, encoding=encoding).vocabulary


def test_a_field_misread_in_letters_beyond_ascii_asks_for_the_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes(f"M\xeas,text\n1,{MARK}\n".encode("latin-1"))
    said = refusal(tmp_path / "a.csv", encoding="mac_roman", person="M\xeas")
    assert said.endswith("is encoding= wrong, or was the file saved wrongly?")
    assert "encoding" not in refusal(tmp_path / "a.csv", encoding="latin-1", person="Mes")


def test_a_folder_of_two_encodings_is_not_read_in_one(tmp_path):
    (tmp_path / "1.txt").write_bytes("ma\xf1ana".encode("latin-1"))
    (tmp_path / "2.txt").write_text("plain", encoding="utf-8")
    assert refusal(tmp_path).endswith(
        '(Central Europe) or "cp1254" (Turkish), as Excel and older programs save it.'
    )
    (tmp_path / "3.txt").write_text("ma\xf1ana", encoding="utf-8")
    assert "would misread 1 others" in refusal(tmp_path)
    assert "save the 1 that are not as UTF-8 (1.txt)." in refusal(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("text", [MARK, "\u6771\u4eac"])
def test_text_in_two_or_four_bytes_is_named_by_its_first_ones(tmp_path, encoding, text):
    (tmp_path / "a.csv").write_bytes(f"text\n{text} ab\n".encode(encoding))
    assert f"encoding='{encoding}'" in refusal(tmp_path / "a.csv")
    assert read_corpus(tmp_path / "a.csv", encoding=encoding).n_documents == 1
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.txt").write_bytes(text.encode(encoding))
    assert f"encoding='{encoding}'" in refusal(tmp_path / "b")


def workbook(path, **sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        made = book.create_sheet(name)
        for row in rows:
            made.append(row)
    book.save(path)


ROWS = [["who", "text", "ward"], ["x", "nurse bed", 1], [None] * 3, [7, None, 2], ["x", "ward", 2]]


def test_xlsx(tmp_path):
    path = tmp_path / "a.xlsx"
    workbook(path, notes=ROWS)
    corpus = read_corpus(path, person="who", label="ward", skip_empty=True)
    assert corpus.vocabulary == ("bed", "nurse", "ward")
    assert corpus.persons.tolist() == [0, 0]
    assert corpus.labels.tolist() == [1, 2]
    assert corpus.n_skipped == 1
    assert corpus.fields == ("who", "text", "ward")
    assert "row 4: field 'text' must be text, found nothing; skip_empty=True" in refusal(path)
    assert "no field for text='body'; its fields are 'who', 'text', 'ward'" in refusal(path, text="body")
    workbook(path, notes=[["text"], [3]])
    assert "no words in 1 document" in refusal(path)
    workbook(path, notes=[])
    assert "is empty" in refusal(path)


def test_a_number_or_a_date_among_the_texts_of_a_sheet_is_text(tmp_path):
    """Somebody had typed a telephone number into the column: the sheet was refused, the same sheet as CSV was not."""
    typed = [612345678, 12.5, True, date(2023, 5, 1), "bed"]
    workbook(tmp_path / "a.xlsx", notes=[["text", "row"], *([cell, 1] for cell in (*typed, None))])
    corpus = read_corpus(tmp_path / "a.xlsx", token_pattern=r"\S+", skip_empty=True)
    assert corpus.vocabulary == ("12.5", "2023-05-01", "612345678", "bed", "true")
    assert corpus.n_skipped == 1


@pytest.mark.parametrize("person", [123456789012345678, 1234567890123456, 10**15])
def test_a_number_of_a_sheet_that_may_be_rounded_is_no_person(person, tmp_path):
    """Four people whose ids have 18 digits were one person, without a word: a sheet keeps 15 of them."""
    path = tmp_path / "a.xlsx"
    workbook(path, notes=[["text", "who"], *(["nurse", person + row] for row in range(4))])
    said = refusal(path, person="who")
    assert "row 2: field 'who' must name the person, found a number so large that it may be rounded" in said
    assert "a column stored as text" in said
    assert str(person)[:15] not in said
    workbook(path, notes=[["text", "who"], *(["nurse", str(person + row)] for row in range(4))])
    assert read_corpus(path, person="who").persons.tolist() == [0, 1, 2, 3]
    workbook(path, notes=[["text", "who"], ["nurse", 10**15 - 1], ["ward", str(10**15 - 1)]])
    assert read_corpus(path, person="who").persons.tolist() == [0, 0]


def test_titles_above_the_names_of_columns_are_passed_over(tmp_path):
    """A "Report of 2024" in the first row was taken for the header."""
    path, options = tmp_path / "a.xlsx", {"text": "Nota", "person": "Socio"}
    rows = [["Report of 2024"], [None, None, None], ["Socio", "Nota", "Barrio"], ["1", f"{MARK} bed", "x"]]
    workbook(path, A=rows)
    corpus = read_corpus(path, **options)
    assert (corpus.n_documents, corpus.notes) == (1, ("row 3 names the columns",))
    assert corpus.fields == ("Socio", "Nota", "Barrio")
    workbook(path, A=[["a", "b", "c"], *rows])  # as many cells stand above: these are the names
    assert "its fields are 'a', 'b', 'c'." in refusal(path, **options)
    workbook(path, A=[["Socio", "Nota", "x"], ["Socio", "Nota", "x"], ["1", "bed", "x"]])
    said = refusal(path, **options)  # the first row names them, and the second does it again
    assert "row 2: this repeats the names of the columns; skip_empty=True leaves out rows, 1 like the" in said
    corpus = read_corpus(path, **options, skip_empty=True)
    assert (corpus.n_documents, corpus.n_skipped, corpus.rows.tolist()) == (1, 1, [1])
    assert corpus.notes == ("of the rows left out, 1 repeated the names of the columns",)


def test_columns_below_a_title_are_named_where_another_is_asked_for(tmp_path):
    book = openpyxl.Workbook()
    for row in (["Complaints of 2024"], [], ["who", "text"], ["ana", "late"]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert "its fields are 'who', 'text'. Did you mean 'text'?" in refusal(tmp_path / "a.xlsx", text="texts")
    assert read_corpus(tmp_path / "a.xlsx").n_documents == 1


def test_a_column_is_proposed_where_it_is_meant_whatever_its_case_and_not_for_a_few_letters(tmp_path):
    workbook(tmp_path / "a.xlsx", A=[["Utente", "Mensagem"], ["ana", "tarde"]])
    assert "Did you mean" not in refusal(tmp_path / "a.xlsx")  # text is not Utente
    assert "Did you mean 'Mensagem'?" in refusal(tmp_path / "a.xlsx", text="MENSAGEN")


def test_a_cover_sheet_is_no_trap(tmp_path):
    path = tmp_path / "a.xlsx"
    workbook(path, Cover=[["Notes of the ward"], [None], ["2024"]], Notes=ROWS, Empty=[])
    corpus = read_corpus(path, person="who", skip_empty=True)
    assert corpus.vocabulary == ("bed", "nurse", "ward")
    assert read_corpus(path, person="who", skip_empty=True, sheet="Notes").n_documents == 2
    said = refusal(path, text="body")
    assert (
        "has 3 sheets: 'Cover' (columns: 'Notes of the ward'); 'Notes' (columns: 'who', 'text', 'ward')"
        in said
    )
    assert said.endswith("No sheet has a column for text='body'. Name one of these.")
    assert refusal(path, label="Ward").endswith(
        "No sheet has a column for label='Ward'. Did you mean 'ward'?"
    )
    assert "No sheet has a column for person='whom'. Did you mean 'who'?" in refusal(path, person="whom")
    assert "no field for person='whom'; its fields are 'who', 'text', 'ward'. Did you mean 'who'?" in refusal(
        path, person="whom", sheet="Notes"
    )
    said = "has no sheet 'notes'; its sheets are 'Cover', 'Notes', 'Empty'. Did you mean 'Notes'?"
    assert said in refusal(path, sheet="notes")
    said = "sheet 'Cover' does not have the columns asked for; sheet 'Notes' has them. Name it with sheet="
    assert said in refusal(path, sheet="Cover")
    assert "no field for text='body'; its fields are 'Notes of the ward'" in refusal(
        path, sheet="Cover", text="body"
    )
    workbook(path, **{"Front page": [["Title"]], "Notes of 2025": ROWS})
    said = "sheet 'Front page' does not have the columns asked for; sheet 'Notes of 2025' has them."
    assert said in refusal(path, sheet="Front page")  # names with blanks are no texts
    workbook(path, January=[["text"], ["bed"]], February=[["text"], ["ward"]])
    assert "More than one sheet has the columns asked for: name it with sheet=." in refusal(path)
    assert read_corpus(path, sheet="February").vocabulary == ("ward",)
    (tmp_path / "a.csv").write_text("text\nbed\n")
    with pytest.raises(ParameterError, match='sheet= cannot be used with format "csv": it has no sheets'):
        read_corpus(tmp_path / "a.csv", sheet="February")


def test_broken_xlsx(tmp_path):
    path = tmp_path / "a.xlsx"
    workbook(path, notes=[["text"], [MARK]])
    whole = path.read_bytes()
    for broken in (whole[:100], whole[:-30], b"\xd0\xcf\x11\xe0" + bytes(600), b"text\n1\n"):
        path.write_bytes(broken)
        assert "is not a spreadsheet, is encrypted or damaged" in refusal(path, "xlsx")
    path.write_bytes(b"")
    assert "is empty" in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    refusal(path)


@pytest.mark.parametrize("kind", [TimeoutError, MemoryError, type("Cancelled", (Exception,), {})])
def test_an_interruption_is_not_told_as_damage(tmp_path, monkeypatch, kind):
    def interrupted(*given, **more):
        raise kind

    path = tmp_path / "a.npz"
    sp.save_npz(path, sp.csr_matrix(np.eye(2, dtype=int)))
    monkeypatch.setattr(sp, "load_npz", interrupted)
    with pytest.raises(kind):
        read_corpus(path)
    path = tmp_path / "a.xlsx"
    workbook(path, notes=[["text"], ["nurse bed"]])
    monkeypatch.setattr("python_calamine.CalamineWorkbook.from_filelike", interrupted)
    with pytest.raises(kind):
        read_corpus(path)


def test_without_its_reader_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert "pip install 'discreet[xlsx]'" in refusal(tmp_path / "a.xlsx")


# gensim


GENSIM = "3\n1\tbed\t2\n0\tnurse\t1\n2\tÄrztin\t3\n"


class Dictionary:
    """What we ask of gensim's."""

    token2id = {"bed": 1, "nurse": 0, "Ärztin": 2}  # noqa: RUF012


def test_dictionaries(tmp_path):
    expected = ("nurse", "bed", "Ärztin")
    (tmp_path / "a.dict").write_text(GENSIM)
    (tmp_path / "b.dict").write_text(
        GENSIM.partition("\n")[2]
    )  # as before gensim wrote the number of documents
    (tmp_path / "c.dict").write_text("0\tfoo\t1\n")  # of one word
    for name in ("a.dict", "b.dict", "c.dict"):
        with pytest.raises(CorpusError, match=r"is a dictionary of gensim: .*load_from_text"):
            load_vocabulary(tmp_path / name)
    assert load_vocabulary(Dictionary()) == expected
    assert load_vocabulary(Dictionary.token2id) == expected
    many = {f"w{number}": number for number in range(12)}
    assert load_vocabulary(dict(reversed(many.items()))) == tuple(many)
    assert (
        load_vocabulary({word: np.int64(number) for word, number in Dictionary.token2id.items()}) == expected
    )
    from sklearn.feature_extraction.text import CountVectorizer

    texts = ["ward bed", "nurse bed"]
    vectorizer = CountVectorizer().fit(texts)
    assert load_vocabulary(vectorizer.vocabulary_) == tuple(vectorizer.get_feature_names_out())
    numbered = {0: "a", 1: "b"}
    for gaps in (
        {"a": 0, "b": 2},
        {"a": 1, "b": 2},
        {"a": 0, "b": 0},
        {"a": None, "b": 0},
        {"a": "x"},
        {"a": [0]},
        {"a": 0.0, "b": 1.0},
        numbered,
    ):
        with pytest.raises(CorpusError, match="compactify"):
            load_vocabulary(gaps)
    for protocol in (2, 3, 4, 5):
        (tmp_path / "p.dict").write_bytes(pickle.dumps([MARK], protocol))
        for read in (load_vocabulary, lambda path: read_corpus(path, "lines")):
            with pytest.raises(CorpusError, match=r"is a pickle.* pass what it holds") as found:
                read(tmp_path / "p.dict")
            assert MARK not in str(found.value)
            assert "format=" not in str(found.value)
    (tmp_path / "w.txt").write_text("3\nbed\n")  # words, of which one is a number
    assert load_vocabulary(tmp_path / "w.txt") == ("3", "bed")


def test_gensim_reads_our_mtx(tmp_path):
    corpus = Corpus([[1, 0, 2], [0, 0, 0], [0, 3, 0]], ["a", "b", "c"])
    write_corpus(corpus, tmp_path / "a.mtx")
    # What gensim's MmReader asks of the first line.
    assert (
        (tmp_path / "a.mtx").read_text().lower().startswith("%%matrixmarket matrix coordinate real general")
    )
    assert np.array_equal(read_corpus(tmp_path / "a.mtx").counts.toarray(), corpus.counts.toarray())
    matutils = pytest.importorskip("gensim.corpora")
    found = list(matutils.MmCorpus(str(tmp_path / "a.mtx")))
    assert found == [[(0, 1.0), (2, 2.0)], [], [(1, 3.0)]]
    dictionary = matutils.Dictionary([["nurse", "bed"], ["bed"]])
    dictionary.save_as_text(str(tmp_path / "a.dict"))
    matutils.MmCorpus.serialize(str(tmp_path / "g.mm"), [dictionary.doc2bow(["bed", "bed", "nurse"]), []])
    expected = tuple(dictionary[number] for number in range(2))
    for words in (matutils.Dictionary.load_from_text(str(tmp_path / "a.dict")), dictionary):
        read = read_corpus(tmp_path / "g.mm", vocabulary=words)
        assert read.vocabulary == expected
        assert read.counts.toarray()[:, expected.index("bed")].tolist() == [2, 0]


def test_the_command_asks_and_says(tmp_path, capsys):
    (tmp_path / "e.csv").write_text("text;who\nbed, and more;x\n ;y\n")
    files = [str(tmp_path / "e.csv"), str(tmp_path / "e.npz")]
    assert run(["convert", *files, "--read", "delimiter=,"]) == 2
    assert "give --read delimiter=';'." in capsys.readouterr().err
    assert run(["convert", *files, "--read", "skip_empty=true"]) == 0
    said = capsys.readouterr().err
    assert "columns are separated by semicolons" in said
    assert "left out 1 document without text" in said
    assert read_corpus(tmp_path / "e.npz").n_documents == 1


# A pipe


LINES = "".join(
    json.dumps({"text": text, "who": who}) + "\n" for text, who in (("bed nurse", "x"), ("ward", "y"))
)


@contextmanager
def pipe(content):
    """Give the path of a pipe that holds some bytes, as /dev/stdin is one."""
    ours, theirs = os.pipe()
    os.write(theirs, content)
    os.close(theirs)
    try:
        yield f"/dev/fd/{ours}"
    finally:
        os.close(ours)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("jsonl", LINES),
        ("json", LINES),
        ("json", json.dumps([json.loads(line) for line in LINES.splitlines()])),
        ("csv", "text,who\nbed nurse,x\nward,y\n"),
        ("lines", "bed nurse\nward\n"),
        ("uci", "2\n3\n3\n1 1 1\n1 2 1\n2 3 1\n"),
    ],
)
@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="this system has no names for pipes")
def test_a_pipe_is_read_as_a_file(name, content):
    for packed in (content.encode(), gzip.compress(content.encode())):
        with pipe(packed) as path:
            assert read_corpus(path, name).counts.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="this system has no names for pipes")
def test_a_pipe_says_what_it_needs(tmp_path, capsys):
    with (
        pipe(LINES.encode()) as path,
        pytest.raises(CorpusError, match="its name does not say what it is; give form"),
    ):
        read_corpus(path)
    with pipe("secretword Ä\n".encode("latin-1")) as path:
        assert f"{path} is not utf-8 text; give encoding=" in refusal(path, "lines")
    with pipe(LINES.encode()) as path:
        assert run(["convert", path, str(tmp_path / "a.npz"), "--from", "jsonl", "--person", "who"]) == 0
    assert read_corpus(tmp_path / "a.npz").n_units == 2
    with pipe(b"") as path:
        assert "empty" in refusal(path, "lines")


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="this system has no name for standard input")
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_dash_is_standard_input(packed):
    said = subprocess.run(
        [sys.executable, "-m", "discreet", "check", "-", "--read", "format=jsonl", "--topics", "2"],
        input=packed(LINES.encode()), capture_output=True, check=True,
    )  # fmt: skip
    assert b"2 documents" in said.stdout + said.stderr
