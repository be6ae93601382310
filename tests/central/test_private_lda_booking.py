"""PrivateLDA books before it reads; nothing of a document is left behind."""

import pickle

import numpy as np
import pytest
from tests.marks import quick
from tests.naive.private_lda import BOTH, COUNTS, FULL, PERSONS, SAMPLED, make

from discreet import Corpus, Ledger, PrivateLDA
from discreet.errors import BudgetExceeded, CorpusError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.planning import noise_multiplier_for
from discreet.release.release import Release

# ---- the promise: booked before read


class Spy:
    """An X that writes down every look at it, and how many entries the ledger had then."""

    METADATA = frozenset({"shape"})

    def __init__(self, ledger, counts=COUNTS):
        object.__setattr__(self, "_spy", (ledger, counts.toarray(), []))

    def __getattribute__(self, name):
        if name in ("_spy", "__class__", "METADATA"):
            return object.__getattribute__(self, name)
        ledger, counts, looks = object.__getattribute__(self, "_spy")
        looks.append((name, len(ledger.entries)))
        return getattr(counts, name)

    def __array__(self, dtype=None, copy=None):
        ledger, counts, looks = object.__getattribute__(self, "_spy")
        looks.append(("__array__", len(ledger.entries)))
        return np.array(counts, dtype=dtype)

    def __len__(self):
        ledger, counts, looks = object.__getattribute__(self, "_spy")
        looks.append(("__len__", len(ledger.entries)))
        return len(counts)

    def __getitem__(self, key):
        ledger, counts, looks = object.__getattribute__(self, "_spy")
        looks.append(("__getitem__", len(ledger.entries)))
        return counts[key]

    __iter__ = None


def early_looks(spy):
    return [name for name, booked in spy._spy[2] if booked == 0 and name not in Spy.METADATA]


@BOTH
def test_the_cost_is_booked_before_x_is_read(how):
    ledger = Ledger(4, 1e-5)
    spy = Spy(ledger)
    hope = {} if how else {"allow_unlearnable": False}
    make(ledger=ledger, n_units_lower_bound=100, **hope, **how).fit(spy)
    assert early_looks(spy) == []
    assert any(name.startswith("__array") for name, _ in spy._spy[2])  # it was read after all


def test_reading_before_booking_is_caught(monkeypatch):
    honest = PrivateLDA._faults_of_call

    def peeks(model, X, persons):
        np.asarray(X)
        return honest(model, X, persons)

    monkeypatch.setattr(PrivateLDA, "_faults_of_call", peeks)
    ledger = Ledger(4, 1e-5)
    spy = Spy(ledger)
    make(ledger=ledger).fit(spy)
    assert early_looks(spy)[0].startswith("__array")


@pytest.mark.parametrize("how", quick([FULL, SAMPLED], FULL), ids=["full batch", "DP-SVI"])
def test_a_short_budget_leaves_everything_as_it_was(how):
    ledger = Ledger(4.5, 1e-5)
    model = make(ledger=ledger, **how).fit(COUNTS)
    before, entries = dict(vars(model)), ledger.entries
    spy = Spy(ledger)
    with pytest.raises(BudgetExceeded, match="left"):
        model.fit(spy)
    assert {name for name, _ in spy._spy[2]} <= Spy.METADATA
    assert vars(model) == before
    assert all(vars(model)[name] is before[name] for name in before)
    assert ledger.entries == entries
    fresh = make(ledger=ledger, **how)
    with pytest.raises(BudgetExceeded):
        fresh.fit(COUNTS)
    assert not hasattr(fresh, "release_")
    assert vars(fresh) == vars(make(ledger=ledger, **how))


MISSING = COUNTS.toarray().astype(float)
MISSING[3, 0] = np.nan
BAD = {
    "negative": (-COUNTS, "Correct these rows"),
    "missing": (MISSING, "Correct these rows"),
    "weights": (COUNTS * 0.3, "such as those of TfidfVectorizer: CountVectorizer counts"),
    "text": (COUNTS.toarray().astype(str), "text"),
}


@pytest.mark.parametrize("what", BAD)
def test_an_array_that_holds_no_counts_costs_nothing(what):
    ledger = Ledger(4, 1e-5)
    counts, said = BAD[what]
    with pytest.raises(CorpusError, match=said):
        make(ledger=ledger).fit(counts)
    assert not ledger.entries


def test_bad_data_of_another_kind_stay_booked():
    ledger = Ledger(4, 1e-5)
    with pytest.raises(CorpusError):
        make(ledger=ledger).fit(Spy(ledger, -COUNTS))
    assert len(ledger.entries) == 1


@BOTH
def test_what_is_booked_is_what_was_asked_for(how):
    ledger = Ledger(10, 1e-5)
    model = make(ledger=ledger, **how).fit(COUNTS)
    (entry,) = ledger.entries
    rate, n_rounds = how.get("sampling_rate", 1), how.get("n_rounds", 1)
    noise = noise_multiplier_for(4.0, 1e-5, sampling_rate=rate, n_rounds=n_rounds)
    event = events.gaussian(noise)
    if rate < 1:
        event = events.composed(events.poisson_sampled(rate, event), n_rounds)
    assert entry.event == event
    assert ledger.spent().epsilon == pytest.approx(4, rel=1e-3)
    assert ledger.spent().epsilon <= 4 * (1 + 1e-9)
    assert model.release_.ledger.closed
    assert model.release_.ledger.entries == ledger.entries
    assert f"epsilon = {'4' if rate == 1 else '3.999'} " in model.release_.guarantee
    model.fit(COUNTS)
    assert len(ledger.entries) == 2
    assert len(model.release_.ledger.entries) == 2


# ---- nothing of a document is left


@BOTH
def test_no_state_of_documents_is_left(how):
    canary, secret_person = 7_654_321, 8_675_309
    dense = COUNTS.toarray()
    dense[17, 3] = canary
    persons = PERSONS.copy()
    persons[17] = secret_person
    model = make(privacy_unit="person", **how).fit(dense, persons=persons)
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted - {"forecast_", "word_vectors_"} == {"release_", "n_features_in_"}
    sizes = []
    for counts, people in ((dense, persons), (dense[:50], persons[:50])):
        model.fit(counts, persons=people)
        for thing in (model, model.release_):
            written = pickle.dumps(thing)
            for kind in (np.int32, np.int64, np.float32, np.float64):
                assert kind(canary).tobytes() not in written
                assert kind(secret_person).tobytes() not in written
            assert str(canary).encode() not in written
            assert str(secret_person).encode() not in written
        sizes.append([array.shape for array in vars(model.release_).values() if hasattr(array, "shape")])
    assert sizes[0] == sizes[1]
    assert not {50, 400} & {size for shape in sizes[0] for size in shape}


def test_labels_and_unused_columns_of_a_corpus_are_left_out():
    corpus = Corpus(
        COUNTS,
        [f"w{i}" for i in range(30)],
        persons=PERSONS,
        labels=["canary-label"] * 400,
        words_are_public=True,
    )
    model = make(privacy_unit="person").fit(corpus)
    assert model.release_.vocabulary[:2] == ("w0", "w1")
    assert b"canary-label" not in pickle.dumps(model)


def test_a_saved_release_has_a_size_that_does_not_depend_on_the_corpus(tmp_path):
    totals = []
    for number, counts in enumerate((COUNTS, COUNTS[:60])):
        folder = tmp_path / str(number)
        make().fit(counts).release_.save(folder)
        files = sorted(folder.rglob("*"))
        totals.append(sum(file.stat().st_size for file in files))
        assert Release.load(folder).topic_word.shape == (2, 30)
    assert abs(totals[0] - totals[1]) < 0.1 * max(totals)  # digits, and compression of other noise
