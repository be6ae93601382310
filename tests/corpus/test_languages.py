"""Texts in other scripts: words stay whole where marks belong to letters, and are refused where nothing parts them."""

import json

import pytest

from discreet import Corpus, Ledger, PrivateCountVectorizer, fit_topics
from discreet.cli.app import run
from discreet.corpus import Tokenizer, languages, read_corpus, read_into_shards
from discreet.errors import CorpusError, ParameterError

CHINESE = ["今天天气很好，我们一起去公园散步。", "病人昨天晚上睡不着觉，因为病房里太吵了。"]
JAPANESE = ["昨日の夜は病室がうるさくて眠れませんでした。", "天気がいいから散歩しましょう。"]
THAI = ["ผู้ป่วยนอนไม่หลับเพราะห้องพักเสียงดังมาก", "วันนี้อากาศดีมากเราไปเดินเล่นที่สวนสาธารณะกัน"]
BURMESE = ["ကျွန်တော်တို့ဒီနေ့ပန်းခြံမှာလမ်းလျှောက်ကြမယ်"]
KHMER = ["ថ្ងៃនេះអាកាសធាតុល្អណាស់យើងទៅដើរលេងនៅសួនច្បារ"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Die Ärztin kam über Nacht, große Mühe!",
            ["die", "ärztin", "kam", "über", "nacht", "große", "mühe"],
        ),
        ("u\u0308ber Mu\u0308he", ["über", "mühe"]),  # as macOS writes it
        ("हिन्दी में कई रोगी थे, क्या?", ["हिन्दी", "में", "कई", "रोगी", "थे", "क्या"]),
        ("قال المريضُ إنّهُ لم ينم", ["قال", "المريضُ", "إنّهُ", "لم", "ينم"]),
        ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),  # Persian, with a joiner inside a word
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("தமிழ் நோயாளி", ["தமிழ்", "நோயாளி"]),
        ("Bệnh nhân không ngủ được", ["bệnh", "nhân", "không", "ngủ", "được"]),
        ("환자는 어젯밤 잠을 못 잤다", ["환자는", "어젯밤", "잠을", "잤다"]),
        ("İstanbul'da", ["i̇stanbul", "da"]),
        ("babe \ufe0f 2\ufe0f\u20e3 go", ["babe", "go"]),  # marks of emoji are none of words
    ],
)
def test_words_stay_whole(text, words):
    normal = [Tokenizer(r"\S+")(word)[0] for word in words]
    assert Tokenizer()(text) == normal
    assert Corpus.from_texts([text]).vocabulary == tuple(sorted(normal))


def test_marks_that_end_words_would_be_caught(monkeypatch):
    # Planted mistake: the pattern of scikit-learn for all texts.
    monkeypatch.setattr("discreet.corpus.tokenizer.composed", lambda text: (None, text))
    assert Tokenizer()("हिन्दी में") == []


def test_long_texts_with_marks_stream(monkeypatch):
    text = "हिन्दी में कई रोगी थे " * 40
    whole = Tokenizer(ngram_range=(1, 2))(text)
    monkeypatch.setattr("discreet.corpus.tokenizer._LONG_TEXT", 100)
    assert sorted(Tokenizer(ngram_range=(1, 2))(text)) == sorted(whole)


@pytest.mark.parametrize("texts", [CHINESE, JAPANESE, THAI, BURMESE, KHMER, [*CHINESE, "ward 7"]])
def test_sentences_without_blanks_are_refused_before_anything_is_booked(texts, tmp_path):
    many = texts * 200
    ledger = Ledger(epsilon=2.0, delta=1e-6)
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in many))
    for call in (
        lambda: fit_topics(many, epsilon=1.0, ledger=ledger),
        lambda: fit_topics(tuple(many), epsilon=1.0, ledger=ledger),
        lambda: PrivateCountVectorizer(epsilon=1.0, ledger=ledger).fit(many),
        lambda: Corpus.from_texts(iter(many)),
        lambda: read_corpus(file),
        lambda: read_into_shards(file, tmp_path / "shards"),
    ):
        with pytest.raises((CorpusError, ParameterError), match="puts no blanks between words") as error:
            call()
        assert "jieba" in str(error.value)
        assert not any(letter in str(error.value) for letter in "".join(texts) if not letter.isascii())
    assert not ledger.entries
    assert not (tmp_path / "shards").exists()


def test_the_command_spends_nothing_on_them(tmp_path, capsys):
    file, ledger = tmp_path / "notes.jsonl", tmp_path / "ledger.json"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in CHINESE * 50))
    options = ["--out", str(tmp_path / "model"), "--ledger", str(ledger)]
    assert run(["fit", str(file), *options]) == 2
    assert "pip install jieba" in capsys.readouterr().err
    assert not ledger.exists()


def test_texts_in_which_words_are_apart_pass():
    apart = ["今天 天气 很 好 我们 去 公园 散步", "病人 昨天 晚上 睡 不着 因为 病房 太 吵"] * 9
    assert "公园" in Corpus.from_texts(apart).vocabulary
    thai = ["ผู้ป่วย นอน ไม่ หลับ เพราะ ห้องพัก เสียง ดัง"] * 9
    assert "ผู้ป่วย" in Corpus.from_texts(thai).vocabulary
    # A few names among words of another language are no such text.
    few = ["The patient from 北京大学第三医院 slept badly in the ward again last night"] * 9
    assert "patient" in Corpus.from_texts(few).vocabulary
    # Whoever says what a word is gets it.
    assert Corpus.from_texts(CHINESE, tokenizer=list).n_words > 20
    assert read_corpus_of(CHINESE, token_pattern=r"\w").n_words > 20
    assert Corpus.from_tokens([list(text) for text in CHINESE]).n_words > 20


def read_corpus_of(texts, **options):
    return Corpus.from_texts(texts, tokenizer=Tokenizer(**options))


@pytest.mark.parametrize("named", ["zh", "japanese", ["english", "th"], "german,khmer"])
def test_a_language_that_needs_a_tokenizer_is_refused_without_a_look(named):
    with pytest.raises(ParameterError, match="without blanks between words"):
        Tokenizer(languages=named)
    assert Tokenizer(languages=named, tokenizer=list).languages
    assert Tokenizer(r"\S+", languages=named).languages


def test_no_single_text_of_many_decides_however_long(monkeypatch):
    english = ["The patient slept badly in the ward again last night"] * 300
    one = "".join(CHINESE) * 2000  # more letters than all the others
    ledger = Ledger(epsilon=2.0, delta=1e-6)
    for many in ([*english, one], [one, *english], iter([*english, one])):
        assert "patient" in PrivateCountVectorizer(epsilon=1.0, ledger=ledger).fit(many).vocabulary_
        ledger = Ledger(epsilon=2.0, delta=1e-6)
    assert Corpus.from_texts([*english, one]).n_words > 5
    # Planted mistake: the first such text decides.
    monkeypatch.setattr(languages, "_SHARE_OF_TEXTS", 0.0)
    with pytest.raises(CorpusError):
        Corpus.from_texts([*english, one])


@pytest.mark.parametrize(("n_unbroken", "refused"), [(499, False), (500, False), (501, True), (999, True)])
def test_one_text_matters_only_where_half_of_those_looked_at_are_of_the_kind(n_unbroken, refused):
    many = [CHINESE[0]] * n_unbroken + ["The patient slept badly"] * (1000 - n_unbroken)
    for further in ([], [CHINESE[1]] * 3000):  # which are not looked at: a look and the count say the same
        breaks = languages.Breaks()
        for text in ["", *many, *further]:
            breaks.see(text)
        if refused:
            with pytest.raises(CorpusError, match="most of these texts"):
                breaks.check()
        else:
            breaks.check()


def test_a_tokenizer_that_says_nothing_of_words_is_refused_before_the_booking_too():
    ledger = Ledger(epsilon=2.0, delta=1e-6)
    with pytest.raises((CorpusError, ParameterError), match="puts no blanks"):
        PrivateCountVectorizer(epsilon=1.0, ledger=ledger, tokenizer=Tokenizer(keep_links=True)).fit(
            CHINESE * 200
        )
    assert not ledger.entries
