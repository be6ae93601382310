"""Whoever wrote a document is asked in one place: a walk over all public entrances that take something for each row.

Entrances are found by their signatures: whatever a room lists in ``__all__``, and the public methods of its classes,
with a parameter that is called ``persons``, ``labels``, ``by``, ``person`` or the like. Each is fed rows of every kind
beside persons and labels of other rows, and none may take them. An entrance that the walk cannot feed is a failure.
"""

import importlib
import inspect
import re
from decimal import Decimal
from functools import partial
from itertools import count

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from tests.marks import quick
from tests.test_house import ROOMS

import discreet
from discreet import Corpus, Ledger, PrivateLDA, TopicPrevalence
from discreet.corpus import ShardedCorpus, read_into_shards, write_shards
from discreet.errors import CorpusError, ParameterError, PrivacyError
from discreet.privacy import Bound

pytestmark = [
    pytest.mark.usefixtures("few_steps"),
    pytest.mark.filterwarnings("ignore:Before anything .* a person of its own:discreet.errors.CorpusWarning"),
]

N = 40
WORDS = [f"w{letter}" for letter in "abcdfg"]
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.poisson(1.0, (N, len(WORDS))) + np.eye(N, len(WORDS), dtype=int), columns=WORDS)
TOKENS = [list(np.repeat(WORDS, row)) for row in FRAME.to_numpy()]
TEXTS = [" ".join(tokens) for tokens in TOKENS]
IDS = np.arange(N) // 4 + 5
WARDS = np.where(np.arange(N) % 2, "north", "south")
ORDER = RNG.permutation(N)
SPELT = ["{}", "{}.0", " {} ", "{},00", "\t{}.0000", "{}\u00a0"]
NAME = re.compile(r"(.*_)?(persons?|people|owners?|authors?|whose|labels?|by)(_.*)?")

#: What has such a parameter and takes nothing for each row.
NOT_OF_ROWS = {
    **{f"{one}.top_words": "how words are ordered" for one in [
        "FederatedLDA", "GibbsLDA", "HybridGibbsLDA", "LocalLDA", "PrivateLDA",
        "PrivateSVILDA", "Release", "StreamingLocalLDA", "VariationalLDA", "WholeDocumentLDA",
    ]},
    "Corpus.split": "the unit that is not torn apart",
    "Release.with_review": "who looked at it",
}  # fmt: skip
#: Entrances that name a field of a file or a frame, where each record says whose it is: no rows can be mixed up.
FIELDS = ("read_corpus", "read_into_shards")
#: Models of single words, which refuse persons whatever they are.
OF_WORDS = ("HybridGibbsLDA.fit",)


def entrances():
    """Return everything public that takes something for each row, by name."""
    found = {}
    for room in ("", *(f".{room}" for room in ROOMS)):
        module = importlib.import_module(f"discreet{room}")
        for name in module.__all__:
            found |= of_rows(name, getattr(module, name))
    return found


def of_rows(name, public):
    """Return the callables of a public name with a parameter for each row: (callable, class or None, parameters)."""
    members = {name: (public, None)}
    if inspect.isclass(public):
        named = {key: getattr(public, key) for key in dir(public) if not key.startswith("_")}
        if "__call__" in vars(public):
            named["__call__"] = public.__call__
        members |= {f"{name}.{key}": (member, public) for key, member in named.items()}
    found = {}
    for full, (member, owner) in members.items():
        if not callable(member) or full.endswith(
            "_request"
        ):  # which scikit-learn makes of the signature of fit
            continue
        try:
            taken = inspect.signature(member).parameters
        except (TypeError, ValueError):
            continue
        if any(NAME.fullmatch(parameter) for parameter in taken):
            found[full] = (member, owner, list(taken))
    return found


ENTRANCES = {name: entrance for name, entrance in entrances().items() if name not in NOT_OF_ROWS}
OF_PERSONS = [
    name
    for name, (_, _, taken) in ENTRANCES.items()
    if "persons" in taken and name not in (*FIELDS, *OF_WORDS)
]
OF_LABELS = [
    (name, parameter)
    for name, (_, _, taken) in ENTRANCES.items()
    for parameter in taken
    if name not in FIELDS and re.fullmatch("(.*_)?(labels|by)", parameter)
]

#: What rows are called, and words beside them.
ROWS = ("X", "texts", "documents", "counts", "corpus", "rows", "texts_or_corpus", "train_counts")
WORDS_BESIDE = ("vocabulary", "words_are_public")
BARE = {
    "frame of counts": lambda: FRAME,
    "frame of polars": lambda: pl.DataFrame(FRAME),
    "array": FRAME.to_numpy,
    "list": lambda: FRAME.to_numpy().tolist(),
    "sparse": lambda: sp.csr_matrix(FRAME.to_numpy()),
    "texts": lambda: pd.Series(TEXTS),
    "list of texts": lambda: list(TEXTS),
    "tokens": lambda: pd.Series(TOKENS),
    "corpus": lambda: Corpus(FRAME, WORDS, words_are_public=True),
}
INDEXED = ("frame of counts", "texts", "tokens", "corpus")


def known(folder):
    """Rows that know whose they are."""
    corpus = Corpus(FRAME, WORDS, IDS, WARDS, words_are_public=True)
    return {"corpus": corpus, "shards": write_shards(corpus, folder, shard_documents=9)}


@pytest.fixture(scope="module")
def topics():
    how = {"random_state": 0, "allow_unlearnable": True, "n_rounds": 1}
    return PrivateLDA(2, epsilon=4.0, **how).fit(Corpus(FRAME, WORDS, words_are_public=True)).release_


def no_attack(counts, seed):
    """Train nothing: topics of any counts are the same."""
    del counts, seed
    return np.full((2, len(WORDS)), 1 / len(WORDS))


class Calls:
    """Calls an entrance with what its signature asks for, and keeps the ledger."""

    def __init__(self, topics):
        self.topics, self.ledger = topics, None

    def values(self, unit, rows, names):
        """Return a value for each of these parameters that is known."""
        known = {
            "n_topics": 2, "epsilon": 400.0, "privacy_unit": unit, "ledger": self.ledger, "release": self.topics,
            "topics": self.topics,
            "allow_unlearnable": True, "allow_large_delta": True, "random_state": 0, "n_rounds": 2, "delta": 1e-3,
            "allow_large_epsilon": True,
            "groups": ["north", "south"], "candidates": [1, 2], "bound": Bound(privacy_unit=unit, bits=20),
            "n_sweeps": 2, "topic_word": self.topics.topic_word, "n_shadows": 2, "train": no_attack,
            "test_counts": FRAME, "train_labels": WARDS, "test_labels": WARDS, **dict.fromkeys(ROWS, rows),
        }  # fmt: skip
        return {name: known[name] for name in names if name in known}

    def __call__(self, name, rows, unit="person", **said):
        self.ledger = Ledger(1e6, 1e-2, privacy_unit=unit)
        member, owner, taken = ENTRANCES[name]
        if taken[0] == "self" and owner is not None:  # a method: of an estimator with these parameters
            made = owner(**self.values(unit, rows, inspect.signature(owner).parameters))
            member, taken = (
                partial(member, made),
                taken[1:2] + [name for name in taken if name in WORDS_BESIDE],
            )
        values = self.values(unit, rows, taken)
        named = isinstance(rows, Corpus | ShardedCorpus)
        if name == "Corpus" or ("vocabulary" in taken and not named and not hasattr(rows, "columns")):
            values["vocabulary"] = WORDS
        if "words_are_public" in taken and not named:
            values["words_are_public"] = True
        groups = {"groups": ["north", "south"], "epsilon": 9.0, "privacy_unit": unit}
        if name == "fit_topics" and "by" in said:
            values["prevalence"] = TopicPrevalence(None, **groups)
        if name in ("TopicPrevalence.fit", "share_topics") and not isinstance(rows, ShardedCorpus):
            values["by"] = WARDS
        return member(**(values | said))

    def booked(self):
        """Return how often something was booked."""
        return len(self.ledger.entries)


@pytest.fixture
def call(topics):
    return Calls(topics)


def outcome(made):
    """Return what shows who was taken for one person."""
    release = getattr(made, "release_", getattr(made, "release", made))
    for name in ("topic_word", "values", "gain_total", "topic_totals", "n_units", "word_weights_"):
        if hasattr(release, name):
            value = getattr(release, name)
            return name, value if isinstance(value, int | float) else np.asarray(value).tobytes()
    raise AssertionError(f"nothing shows whose {type(made).__name__} is of")


def taken_kinds(call, name, **said):
    """Return the kinds of rows that an entrance takes beside persons or labels, and what comes of them."""
    found = {}
    for kind, make in BARE.items():
        try:
            found[kind] = call(name, make(), **said)
        except (CorpusError, ParameterError, PrivacyError, TypeError, ValueError):
            continue
    return found


def refused(call, name, rows, match, unit="person", **said):
    with pytest.raises((CorpusError, ParameterError, PrivacyError), match=match):
        call(name, rows, unit=unit, **said)
    assert not call.booked(), f"{name} booked its cost, and then refused"


# ---- the walk


def test_the_walk_finds_what_is_there_and_what_slips_by():
    assert set(OF_PERSONS) >= {
        "Corpus", "Corpus.from_texts", "Corpus.from_tokens", "PrivateLDA.fit", "PrivateCountVectorizer.fit_transform",
        "fit_topics", "choose_n_topics_privately", "sum_rows",
    }  # fmt: skip
    assert "PrivateCountVectorizer.transform" not in ENTRANCES
    fed = {*OF_PERSONS, *(name for name, _ in OF_LABELS), *FIELDS, *OF_WORDS}
    assert not set(ENTRANCES) - fed, "found, but fed by no test below: say in which list it belongs"
    assert not set(NOT_OF_ROWS) - set(entrances()), "a reason for what is no more"

    class NewDoor:
        """Planted: an entrance that nobody told the walk of."""

        def add(self, rows, persons=None):
            return rows, persons

    def train(rows, *, train_labels):
        return rows, train_labels

    assert set(of_rows("NewDoor", NewDoor)) == {"NewDoor.add"}
    assert set(of_rows("train", train)) == {"train"}


def test_a_planted_entrance_that_checks_nothing_fails_the_walk(call, monkeypatch):
    def careless(rows, persons=None):
        return Corpus(np.asarray(rows), WORDS, np.asarray(persons))

    monkeypatch.setitem(ENTRANCES, "careless", (careless, None, ["rows", "persons"]))
    with pytest.raises(BaseException, match="DID NOT RAISE"):
        test_persons_of_other_rows_are_refused_before_anything_is_booked(call, "careless")
    monkeypatch.setitem(ENTRANCES, "unknown", (careless, None, ["values", "persons"]))
    with pytest.raises(AssertionError, match="the walk cannot feed unknown"):
        test_persons_of_other_rows_are_refused_before_anything_is_booked(call, "unknown")


#: What refuses by searching for an epsilon that fits beside samples, or trains many models.
SEARCHING = ("PrivateSVILDA.fit", "choose_n_topics_privately")
SWIFT = [name for name in OF_PERSONS if name not in SEARCHING]


@pytest.mark.parametrize("name", quick(OF_PERSONS, *SWIFT))
def test_persons_of_other_rows_are_refused_before_anything_is_booked(call, name):
    kinds = taken_kinds(call, name, persons=list(IDS))
    assert kinds, f"the walk cannot feed {name}: say in Calls what it takes"
    for kind in kinds:
        rows = BARE[kind]()
        right = pd.Series(IDS)
        missing = [
            [None, *IDS[1:]],
            ["", *map(str, IDS[1:])],
            [float("nan"), *IDS[1:]],
            ["NA", *map(str, IDS[1:])],
        ]
        for persons in missing:
            refused(call, name, rows, "must name whose document each row is", persons=persons)
        refused(call, name, rows, "persons must have", persons=iter(IDS))
        refused(call, name, rows, "persons must have", persons=np.column_stack([IDS, IDS]))
        if not isinstance(rows, Corpus) or name != "fit_topics":
            refused(call, name, rows, r"persons must have shape", persons=list(IDS[1:]))
        if kind in INDEXED:
            for other in (
                right[ORDER],
                right.set_axis(np.arange(N) + 1),
                right.set_axis([f"r{i}" for i in range(N)]),
            ):
                refused(call, name, rows, "persons has another index", persons=other)
            call(name, rows, persons=right)


@pytest.mark.parametrize("name", quick(OF_PERSONS, *SWIFT))
def test_ids_in_all_spellings_are_the_same_persons(call, name):
    kind, expected = next(iter(taken_kinds(call, name, persons=IDS).items()))
    rows = BARE[kind]()
    turns = count()
    spelt = [SPELT[next(turns) % len(SPELT)].format(person) for person in IDS]
    mixed = [
        (int, float, str, Decimal, np.uint8, "{}.0".format)[i % 6](int(person))
        for i, person in enumerate(IDS)
    ]
    for persons in (
        IDS.astype(float),
        spelt,
        mixed,
        np.array(spelt),
        pd.Series(spelt, dtype="category"),
        pl.Series(IDS),
    ):
        assert outcome(call(name, rows, persons=persons)) == outcome(expected), type(persons)
    apart = [f"0{person}" if i % 4 == 0 else str(person) for i, person in enumerate(IDS)]
    assert outcome(call(name, rows, persons=apart)) != outcome(expected)


@pytest.mark.parametrize("name", quick(OF_PERSONS, *SWIFT))
def test_rows_that_know_their_persons_take_no_others(call, name, tmp_path):
    takes = taken_kinds(call, name, persons=IDS)
    if "corpus" not in takes:
        assert name in ("Corpus", "Corpus.from_texts", "Corpus.from_tokens", "sum_rows"), (
            "a corpus knows its persons"
        )
        return
    kinds = known(tmp_path / "s")
    if name == "share_topics":  # takes no shards
        del kinds["shards"]
    held = kinds["corpus"]
    for rows in kinds.values():
        same = (IDS, list(IDS))
        for persons in (IDS[ORDER], np.zeros(N), pd.Series(IDS)[ORDER], *(same if rows is not held else ())):
            refused(call, name, rows, "knows whose its documents are|has another index", persons=persons)
        for persons in same if rows is held else ():  # each step of a pipeline is given them
            assert outcome(call(name, rows, persons=persons)) == outcome(call(name, rows))
        made = call(name, rows)  # and in shards they are no reason to book and then to refuse
        assert call.booked() or not hasattr(made, "release_")
        assert outcome(made) == outcome(call(name, rows if isinstance(rows, Corpus) else rows.to_corpus()))
        callable_with_unit = ENTRANCES[name][1] or ENTRANCES[name][0]
        # share_topics has no unit of its own: it protects persons where they are known, and the ledger must say so.
        if "epsilon" in inspect.signature(callable_with_unit).parameters and name != "share_topics":
            refused(call, name, rows, "one person may have written several", unit="document")
            refused(call, name, rows.without_persons(), "needs to know the people")


@pytest.mark.parametrize("name", OF_WORDS)
def test_models_of_single_words_refuse_persons(call, name):
    refused(call, name, BARE["corpus"](), "persons have no effect", unit="word", persons=IDS)


@pytest.mark.parametrize(("name", "parameter"), OF_LABELS)
def test_labels_of_other_rows_are_refused_before_anything_is_booked(call, name, parameter):
    kinds = taken_kinds(call, name, unit="document", **{parameter: list(WARDS)})
    assert kinds, f"the walk cannot feed {name}: say in Calls what it takes"
    right = pd.Series(WARDS)
    for kind in set(kinds) & set(INDEXED):
        if parameter == "test_labels":  # beside other counts
            continue
        for other in (right[ORDER], right.set_axis(np.arange(N) + 1)):
            said = {parameter: other}
            refused(call, name, BARE[kind](), f"{parameter} has another index", unit="document", **said)
        refused(call, name, BARE[kind](), "label|by", unit="document", **{parameter: list(WARDS[1:])})


# ---- entrances by the name of a field, and streams


@pytest.mark.parametrize("name", [name for name in ENTRANCES if name in FIELDS])
@pytest.mark.parametrize("form", ["frame", "csv", "jsonl"])
def test_a_field_names_persons_by_the_same_rule(name, form, tmp_path):
    spelt = [SPELT[i % len(SPELT)].format(person) for i, person in enumerate(IDS)]

    def read(persons, folder):
        frame = pd.DataFrame({"text": TEXTS, "who": persons, "ward": WARDS})
        path = tmp_path / f"notes.{form}"
        source = frame if form == "frame" else path
        if form == "csv":
            frame.to_csv(path, index=False)
        if form == "jsonl":
            frame.to_json(path, orient="records", lines=True)
        more = {"folder": tmp_path / folder} if name == "read_into_shards" else {}
        return ENTRANCES[name][0](source, person="who", **more)

    assert (
        read(spelt, "a").n_units == read(IDS, "b").n_units == read(IDS.astype(float), "c").n_units == N // 4
    )
    for number, nobody in enumerate((None, "", "nan", "NULL", "1.2E+11", "7.000")):
        with pytest.raises(CorpusError, match="must name the person"):
            read([nobody, *map(str, IDS[1:])], f"d{number}")


def test_two_months_of_one_clinic_are_the_same_people(tmp_path):
    """pandas writes a column of numbers with a gap as 7.0: each person became two, and moved a sum by 2.12."""
    for month, people in enumerate((IDS, IDS.astype(float))):
        pd.DataFrame({"text": TEXTS, "patient": people}).to_csv(tmp_path / f"{month}.csv", index=False)
    files = [tmp_path / "0.csv", tmp_path / "1.csv"]
    assert read_into_shards(files, tmp_path / "s", person="patient").n_units == N // 4


def test_a_stream_asks_whose_each_piece_is(tmp_path):
    places = (tmp_path / f"s{number}" for number in count())
    right, known_counts = pd.Series(IDS), Corpus(FRAME, WORDS, IDS)
    for persons in (right[ORDER], right.set_axis(np.arange(N) + 1)):
        for rows in (FRAME, Corpus(FRAME, WORDS)):
            with pytest.raises(CorpusError, match="persons has another index"):
                write_shards([(rows, persons)], next(places), vocabulary=WORDS)
    for piece in (known_counts, (known_counts, IDS), (known_counts, IDS[ORDER])):
        with pytest.raises(CorpusError, match=r"knows its persons by numbers of its own.*give pairs"):
            write_shards([piece], next(places))
    for persons in (IDS[1:], [None, *IDS[1:]], iter(IDS)):
        with pytest.raises(CorpusError, match="persons must"):
            write_shards([(FRAME, persons)], next(places), vocabulary=WORDS)
    spelt = [SPELT[i % len(SPELT)].format(person) for i, person in enumerate(IDS)]
    pieces = [(FRAME, right), (FRAME.to_numpy(), spelt), (known_counts.without_persons(), IDS)]
    assert write_shards(pieces, next(places), vocabulary=WORDS).n_units == N // 4


def test_a_corpus_keeps_the_index_of_its_rows():
    shuffled = FRAME.iloc[ORDER]
    corpus = Corpus(shuffled, WORDS, words_are_public=True)
    for part, rows in (
        (corpus, shuffled),
        (corpus.take(range(9)), shuffled[:9]),
        (corpus.restrict(WORDS[:2]), shuffled),
    ):
        assert part.index.equals(rows.index)
        with pytest.raises(CorpusError, match="another index than the documents"):
            PrivateLDA(2, privacy_unit="person").fit(part, persons=pd.Series(IDS), words_are_public=True)
    assert Corpus(FRAME.to_numpy(), WORDS).index is None
    assert Corpus.from_texts(pd.Series(TEXTS)[ORDER]).index.equals(shuffled.index)


@pytest.mark.parametrize("labels", [[2**63, 1], np.array([2**63, 1], np.uint64), [-(2**63) - 1, 0]])
def test_labels_beyond_64_bits_are_refused_and_persons_are_numbered(labels):
    with pytest.raises(CorpusError, match=r"below 2\^63, but row 1 "):
        Corpus(np.eye(2), ["a", "b"], labels=labels)
    assert len(set(Corpus(np.eye(2), ["a", "b"], labels).persons.tolist())) == 2


def test_one_index_is_taken_as_it_is_and_arrays_by_their_order():
    in_order = Corpus(FRAME, WORDS, IDS)
    shuffled, right = FRAME.iloc[ORDER], pd.Series(IDS)[ORDER]
    for rows, persons in (
        (shuffled, right),
        (shuffled, right.to_numpy()),
        (shuffled.to_numpy(), right),
        (shuffled, list(right)),
    ):
        found = Corpus(rows, WORDS, persons)
        np.testing.assert_array_equal(found.persons, in_order.persons[ORDER])
        assert (found.counts != in_order.counts[ORDER]).nnz == 0


def test_labels_and_persons_with_two_indexes_are_refused_beside_an_array(topics):
    ledger = Ledger(9, 1e-5, privacy_unit="person")
    wards, persons = pd.Series(WARDS), pd.Series(IDS)
    shares = TopicPrevalence(topics, ["north"], epsilon=1.0, delta=1e-6, privacy_unit="person", ledger=ledger)
    with pytest.raises(CorpusError, match="by has another index than the persons"):
        shares.fit(FRAME.to_numpy(), by=wards[ORDER], persons=persons)
    with pytest.raises(CorpusError, match=r"by has another index than by\[0\]"):
        shares.fit(FRAME.to_numpy(), by=(wards, wards[ORDER]), persons=list(IDS))
    with pytest.raises(CorpusError, match="by has another index than the persons"):
        discreet.fit_topics(TEXTS, epsilon=1, persons=persons, by=wards[ORDER], n_topics=2)
    assert not ledger.entries


@pytest.mark.parametrize("name", ["PrivateCountVectorizer.fit_transform", "fit_topics"])
def test_persons_beside_texts_that_come_one_by_one_are_refused_before_anything_is_booked(call, name):
    refused(call, name, iter(TEXTS), "pass the documents as a list", persons=list(IDS)[1:])
