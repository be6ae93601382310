"""PrivateLDA in use: booking before reading, nothing of a document left behind, the same bytes, plain refusals."""

import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from tests.naive.central_checks import block_corpus, csr, random_counts

from discreet import Corpus, Ledger, PrivateLDA
from discreet.central import dpsvi, full_batch
from discreet.central import private_lda as module
from discreet.central.gate import Gate, Noisy
from discreet.central.schedule import plan
from discreet.central.units import group_units
from discreet.errors import BudgetExceeded, CorpusError, ParameterError, PrivacyError
from discreet.privacy import events, mechanism
from discreet.privacy.accounting import epsilon_for, noise_multiplier_for
from discreet.privacy.stream import SecureStream
from discreet.release.record import Release

COUNTS = random_counts(400, 30, 0)
OWNERS = np.random.default_rng(1).integers(0, 120, 400)


def make(**changes):
    public = {"n_topics": 2, "epsilon": 4.0, "delta": 1e-5, "random_state": 0, "allow_unlearnable": True}
    return PrivateLDA(**{**public, **changes})


def same(one, other):
    return one.components_.tobytes() == other.components_.tobytes() and one.release_ == other.release_


FULL = {}
SAMPLED = {"sampling_rate": 0.3, "n_rounds": 4}
BOTH = pytest.mark.parametrize("how", [FULL, SAMPLED], ids=["full batch", "DP-SVI"])


# ---- the promise: booked before read


class Spy:
    """An X that writes down every look at it, and how many entries the ledger had then."""

    METADATA = frozenset({"shape", "vocabulary_is_public", "owners"})  # asked whether it has them

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
    make(ledger=ledger, n_units_lower_bound=100, allow_unlearnable=False, **how).fit(spy)
    assert early_looks(spy) == []
    assert any(name.startswith("__array") for name, _ in spy._spy[2])  # it was read after all


def test_reading_before_booking_is_caught(monkeypatch):
    honest = module.check_parameters

    def peeks(model, X, owners):
        np.asarray(X)
        honest(model, X, owners)

    monkeypatch.setattr(module, "check_parameters", peeks)
    ledger = Ledger(4, 1e-5)
    spy = Spy(ledger)
    make(ledger=ledger).fit(spy)
    assert early_looks(spy)[0].startswith("__array")


@BOTH
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


def test_bad_data_stay_booked():
    ledger = Ledger(4, 1e-5)
    with pytest.raises(CorpusError):
        make(ledger=ledger).fit(-COUNTS)
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


def recorded_draws(monkeypatch):
    draws = []
    honest = mechanism.rounded_gaussian

    def spy(scale, size, stream, **options):
        noise = honest(scale, size, stream, **options)
        draws.append((scale, size, noise))
        return noise

    monkeypatch.setattr(mechanism, "rounded_gaussian", spy)
    return draws


def pin_the_noisy_count(monkeypatch, value):
    honest = Gate.release

    def release(self, total, share, purpose):
        noisy = honest(self, total, share, purpose)
        return Noisy(np.array([value]), noisy.noise) if purpose == "count" else noisy

    monkeypatch.setattr(Gate, "release", release)


def draws_of(monkeypatch, counts, owners=None, **how):
    with monkeypatch.context() as patch:
        pin_the_noisy_count(patch, 400.0)
        draws = recorded_draws(patch)
        unit = "document" if owners is None else "author"
        make(privacy_unit=unit, **how).fit(counts, owners=owners)
    return [(scale, size) for scale, size, _ in draws]


@pytest.mark.parametrize("how", [{}, {"sampling_rate": 0.3, "n_rounds": 4}])
def test_draws_depend_on_released_numbers_only(how, monkeypatch):
    reference = draws_of(monkeypatch, COUNTS, **how)
    assert draws_of(monkeypatch, COUNTS[:399], **how) == reference
    assert draws_of(monkeypatch, COUNTS[:40], **how) == reference
    assert draws_of(monkeypatch, COUNTS, OWNERS, **how) == reference
    assert draws_of(monkeypatch, csr(np.zeros((1, 30))), **how) == reference


def questions(patch):
    """Write down what the kernels are asked: all their arguments that are not the corpus or its state."""
    asked = []

    def spy(home, name):
        honest = getattr(home, name)

        def kernel(units, *arguments):
            public = arguments[1:] if name in ("round_sum", "_sampled_sum") else arguments
            asked.extend(
                argument.tobytes()
                for argument in public
                if isinstance(argument, np.ndarray) and argument.size
            )
            return honest(units, *arguments)

        patch.setattr(home, name, kernel)

    spy(full_batch, "cooccurrence_sum")  # chosen words, weights
    spy(full_batch, "round_sum")  # (theta,) topics, weights
    spy(dpsvi, "_sampled_sum")  # (who was drawn,) topics
    return asked


def replayed(monkeypatch, how, others, first=COUNTS):
    """Whether a fit on another corpus asks and releases the same once every noisy sum is the first fit's.

    What is asked next and what is released are functions of the noisy sums and of nothing else: this is what
    the proof calls adaptive composition and post-processing.
    """
    noisy_sums = []
    honest = mechanism.GaussianMechanism.release

    def record(self, total, stream, reservation, **options):
        noisy_sums.append(honest(self, total, stream, reservation, **options))
        return noisy_sums[-1].copy()

    def replay(self, total, stream, reservation, **options):
        assert honest(self, total, stream, reservation, **options).shape == left[0].shape
        return left.pop(0).copy()

    with monkeypatch.context() as patch:
        patch.setattr(mechanism.GaussianMechanism, "release", record)
        reference_questions = questions(patch)
        reference = make(**how).fit(first)
    for counts, owners in others:
        left = list(noisy_sums)
        with monkeypatch.context() as patch:
            patch.setattr(mechanism.GaussianMechanism, "release", replay)
            asked = questions(patch)
            unit = "document" if owners is None else "author"
            model = make(**how, privacy_unit=unit).fit(counts, owners=owners)
        assert not left
        assert reference_questions
        names = ("topic_word", "topic_weight", "word_weight", "topic_word_noise", "n_units_noisy")
        same_numbers = all(
            np.array_equal(getattr(model.release_, name), getattr(reference.release_, name)) for name in names
        )
        if not (same_numbers and asked == reference_questions and model.forecast_ == reference.forecast_):
            return False
    return True


OTHERS = [
    (random_counts(150, 30, 7, mean=1.5), None),
    (COUNTS[:399], None),
    (COUNTS, OWNERS),
    (csr(np.zeros((1, 30))), None),
]


@BOTH
def test_the_release_is_a_function_of_noisy_sums_alone(how, monkeypatch):
    assert replayed(monkeypatch, how, OTHERS)


def test_the_words_of_the_start_are_chosen_from_noisy_sums_alone(monkeypatch):
    """With more words than the start takes (a hundred at least)."""
    wide = random_counts(300, 160, 8, mean=0.2)
    others = [(random_counts(300, 160, 9, mean=0.2), None), (wide[:299], None)]
    assert plan(300, module.gdp_mu(4.0, 1e-5), 160).start_words < 160
    assert replayed(monkeypatch, FULL, others, first=wide)


@pytest.mark.parametrize("leak", ["theta", "words", "sum", "number"])
def test_a_release_that_looks_past_the_noise_is_caught(leak, monkeypatch):
    """Planted: thetas as topic weights; start words by true frequency; an un-noised sum; the true number of units."""
    init, step, count = full_batch.init, full_batch.step, full_batch.count_units

    def leaky_step(state, units, *others):
        after, info = step(state, units, *others)
        share = state.theta.sum(0, dtype=float)
        return after._replace(topic_weight=share / share.sum()), info

    def leaky_init(units, *others):
        state = init(units, *others)
        true = np.bincount(units.words, minlength=units.n_words) + 1.0
        return state._replace(unigram=true / true.sum())

    def leaky_sum(state, units, prior, schedule, gate):
        after, info = step(state, units, prior, schedule, gate)
        true = full_batch.round_sum(units, state.theta.copy(), state.word_topic, np.ones(30), prior, 1)
        topics = after.word_topic + 1e-6 * true / 2**18
        return after._replace(word_topic=topics / topics.sum(0)), info

    if leak in ("theta", "sum"):
        monkeypatch.setattr(full_batch, "step", leaky_step if leak == "theta" else leaky_sum)
    elif leak == "words":
        monkeypatch.setattr(full_batch, "init", leaky_init)
    else:
        monkeypatch.setattr(full_batch, "count_units", lambda u, gate: 0 * count(u, gate) + u.n_units + 0.5)
    assert not replayed(monkeypatch, FULL, OTHERS[1:2])


def test_sizes_from_the_true_number_of_documents_are_caught(monkeypatch):
    monkeypatch.setattr(
        full_batch, "count_units", lambda units, gate: float(gate.release(*_count(units)) and units.n_units)
    )
    assert draws_of(monkeypatch, COUNTS) != draws_of(monkeypatch, COUNTS[:40])


def _count(units):
    return full_batch.count_sum(units), 0.002, "count"


def test_all_noise_of_a_fit_comes_within_the_budget(monkeypatch):
    """The scales that were really drawn, added up, against the noise multiplier that epsilon allows."""
    draws = recorded_draws(monkeypatch)
    make().fit(COUNTS)
    precision = sum(float(2**18 / scale) ** 2 for scale, *_ in draws)
    assert precision <= 1 / noise_multiplier_for(4.0, 1e-5) ** 2 * (1 + 1e-9)
    draws.clear()
    make(**SAMPLED).fit(COUNTS)
    noise = float(draws[0][0] / 2**18)
    assert len(draws) == 4
    assert len({scale for scale, *_ in draws}) == 1
    assert epsilon_for(noise, 1e-5, sampling_rate=0.3, n_rounds=4) <= 4 * (1 + 1e-6)


# ---- nothing of a document is left


@BOTH
def test_no_state_of_documents_is_left(how):
    canary, secret_owner = 7_654_321, 8_675_309
    dense = COUNTS.toarray()
    dense[17, 3] = canary
    owners = OWNERS.copy()
    owners[17] = secret_owner
    model = make(privacy_unit="author", **how).fit(dense, owners=owners)
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted == {"release_", "forecast_", "n_features_in_"}
    sizes = []
    for counts, authors in ((dense, owners), (dense[:50], owners[:50])):
        model.fit(counts, owners=authors)
        for thing in (model, model.release_):
            written = pickle.dumps(thing)
            for kind in (np.int32, np.int64, np.float32, np.float64):
                assert kind(canary).tobytes() not in written
                assert kind(secret_owner).tobytes() not in written
            assert str(canary).encode() not in written
            assert str(secret_owner).encode() not in written
        sizes.append([array.shape for array in vars(model.release_).values() if hasattr(array, "shape")])
    assert sizes[0] == sizes[1]
    assert not {50, 400} & {size for shape in sizes[0] for size in shape}


def test_labels_and_unused_columns_of_a_corpus_are_left_out():
    corpus = Corpus(
        COUNTS,
        [f"w{i}" for i in range(30)],
        owners=OWNERS,
        labels=["canary-label"] * 400,
    )
    model = make().fit(corpus)
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


# ---- determinism


def test_same_bytes_for_any_threads_and_order():
    reference = make().fit(COUNTS)
    assert same(make(n_jobs=2).fit(COUNTS), reference)
    assert same(make(n_jobs=4).fit(COUNTS), reference)
    order = np.random.default_rng(2).permutation(400)
    assert same(make(n_jobs=2).fit(COUNTS[order]), reference)
    by_author = make(privacy_unit="author").fit(COUNTS, owners=OWNERS)
    assert not same(by_author, reference)
    assert same(make(privacy_unit="author", n_jobs=4).fit(COUNTS, owners=OWNERS), by_author)
    assert same(make(privacy_unit="author").fit(COUNTS[order], owners=OWNERS[order]), by_author)


def test_dp_svi_gives_the_same_bytes_for_any_threads():
    reference = make(**SAMPLED).fit(COUNTS)
    assert all(same(make(n_jobs=n, **SAMPLED).fit(COUNTS), reference) for n in (2, 4))


def test_kinds_of_matrices_and_of_owners_do_not_matter():
    reference = make(privacy_unit="author").fit(COUNTS, owners=OWNERS)
    names = [f"author {owner:04d}" for owner in OWNERS]
    for X, owners in (
        (COUNTS.toarray(), OWNERS.tolist()),
        (COUNTS.tocsc().astype(float), OWNERS.astype(np.int32)),
        (sp.coo_array(COUNTS), names),
        (Corpus(COUNTS, [f"word_{i}" for i in range(30)], owners=OWNERS), None),
    ):
        assert same(make(privacy_unit="author").fit(X, owners=owners), reference)


@BOTH
def test_without_a_seed_noise_is_new_and_labelled_secure(how):
    first, second = (make(random_state=None, **how).fit(COUNTS) for _ in range(2))
    assert not np.allclose(first.components_, second.components_)
    assert first.release_.determinism == "secure"
    assert not any("not for release" in entry.purpose for entry in first.release_.ledger.entries)
    seeded = make(**how).fit(COUNTS)
    assert seeded.release_.determinism == "reproducible, not for release"
    assert "not for release" in seeded.release_.guarantee
    assert "not for release" in seeded.release_.ledger.entries[0].purpose
    assert not same(seeded, make(random_state=1, **how).fit(COUNTS))
    assert same(seeded, make(**how).fit(COUNTS))


def test_no_two_draws_of_a_fit_share_their_noise(monkeypatch):
    draws = recorded_draws(monkeypatch)
    make().fit(COUNTS)
    rounds = [noise / float(scale) for scale, size, noise in draws if size == (30, 2)]
    assert len(rounds) >= 3
    for i, one in enumerate(rounds):
        assert all(abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.6 for other in rounds[:i])


# ---- the non-private twin


def test_epsilon_inf_is_the_same_code_without_noise(monkeypatch):
    draws = recorded_draws(monkeypatch)
    model = make(epsilon=math.inf).fit(COUNTS)
    assert {scale for scale, *_ in draws} == {0}
    reservation = Ledger(math.inf, 1e-5).reserve(events.non_private(), "test")
    gate = Gate(reservation, 0.0, "document", SecureStream(9), None)
    units = group_units(COUNTS, None)
    schedule = plan(full_batch.count_units(units, gate), math.inf, 30)
    state = full_batch.init(units, 2, 0.1, schedule, gate)
    for _ in schedule.round_shares:
        state, _ = full_batch.step(state, units, 0.1, schedule, gate)
    topics = state.word_topic.T
    np.testing.assert_allclose(model.components_, topics / topics.sum(1, keepdims=True), rtol=1e-15)
    assert model.release_.n_units_noisy == 400
    assert "No privacy" in model.release_.guarantee


def test_epsilon_inf_does_not_fit_a_finite_ledger():
    ledger = Ledger(4, 1e-5)
    with pytest.raises(BudgetExceeded):
        make(epsilon=math.inf, ledger=ledger).fit(COUNTS)


def test_a_large_epsilon_comes_close_to_the_twin():
    counts, _ = block_corpus(1500)
    twin = make(n_topics=4, epsilon=math.inf).fit(counts).release_.word_weight
    np.testing.assert_allclose(
        make(n_topics=4, epsilon=1e4).fit(counts).release_.word_weight, twin, atol=1e-3
    )


# ---- refusals


def fails(error, match, X=COUNTS, *, how=None, **changes):
    if "ledger" not in changes:
        changes["ledger"] = Ledger(100, 0.01, privacy_unit=changes.get("privacy_unit", "document"))
    ledger = changes.pop("ledger")
    with pytest.raises(error, match=match):
        make(ledger=ledger, **changes).fit(X, **(how or {}))
    return len(ledger.entries) if isinstance(ledger, Ledger) else 0


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"epsilon": 0}, PrivacyError, "epsilon"),
        ({"epsilon": -1.0}, PrivacyError, "epsilon"),
        ({"epsilon": math.nan}, PrivacyError, "epsilon"),
        ({"delta": 0.0}, PrivacyError, "delta"),
        ({"delta": 1.0}, PrivacyError, "delta"),
        ({"delta": 0.02, "n_units_lower_bound": 100}, PrivacyError, "delta"),
        ({"n_topics": 0}, ParameterError, "n_topics"),
        ({"n_topics": 2.5}, ParameterError, "n_topics"),
        ({"n_topics": True}, ParameterError, "n_topics"),
        ({"n_rounds": 0}, ParameterError, "n_rounds"),
        ({"doc_topic_prior": 0.0}, ParameterError, "doc_topic_prior"),
        ({"doc_topic_prior": math.nan}, ParameterError, "doc_topic_prior"),
        ({"topic_word_prior": -1}, ParameterError, "topic_word_prior"),
        ({"contribution_bound": math.inf}, ParameterError, "contribution_bound"),
        ({"learning_offset": -0.1}, ParameterError, "learning_offset"),
        ({"learning_decay": 0}, ParameterError, "learning_decay"),
        ({"sampling_rate": 0}, ParameterError, "sampling_rate"),
        ({"sampling_rate": 1.01}, ParameterError, "sampling_rate"),
        ({"denoise": "magic"}, ParameterError, "denoise"),
        ({"random_state": -1}, ParameterError, "random_state"),
        ({"random_state": 0.5}, ParameterError, "random_state"),
        ({"n_jobs": 0}, ParameterError, "n_jobs"),
        ({"n_units_lower_bound": 0}, ParameterError, "n_units_lower_bound"),
        ({"n_units_lower_bound": "many"}, ParameterError, "n_units_lower_bound"),
        ({"privacy_unit": "author"}, PrivacyError, "owners"),
        ({"ledger": 3}, PrivacyError, "ledger"),
        ({"ledger": Ledger(9, 1e-5, privacy_unit="author")}, PrivacyError, "author"),
        ({"ledger": Ledger(9, 1e-5, neighboring="replace_one")}, PrivacyError, "replace_one"),
    ],
)
def test_parameters_out_of_range_are_refused_before_anything_is_booked(changes, error, match):
    assert fails(error, match, **changes) == 0


@pytest.mark.parametrize("unit", ["word", "report", "person", None])
def test_units_that_it_cannot_protect_are_refused(unit):
    assert fails(PrivacyError, "privacy_unit", privacy_unit=unit, ledger=Ledger(9, 1e-5)) == 0


def test_all_mistakes_are_named_in_one_message():
    with pytest.raises(PrivacyError) as caught:
        make(epsilon=-1, delta=2, n_topics=0, sampling_rate=7, denoise="x", random_state=-1, n_jobs=0).fit(
            None
        )
    for name in ("epsilon", "delta", "n_topics", "sampling_rate", "denoise", "random_state", "n_jobs"):
        assert name in str(caught.value)


def with_value(value):
    dense = COUNTS.toarray().astype(float)
    dense[7, 3] = value
    return dense


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (with_value(math.nan), "NaN.*row 7"),
        (with_value(math.inf), "infinity.*row 7"),
        (with_value(-2), "Negative.*row 7"),
        (with_value(0.5), "whole.*row 7"),
        (sp.csr_matrix(with_value(-2)), "Negative.*row 7"),
        (np.zeros((0, 30)), "0 sample"),
        (np.zeros((5, 0)), "0 feature"),
        (np.zeros(30), "2D"),
    ],
)
def test_bad_counts_are_refused_and_named(X, match):
    assert fails(CorpusError, match, X) == 1


def test_owners_and_vocabulary_must_fit():
    by_author = {"privacy_unit": "author"}
    for owners in (OWNERS[:-1], OWNERS[:, None], [], 3):
        fails(CorpusError, "owners", how={"owners": owners}, **by_author)
    fails(CorpusError, "29 words", how={"vocabulary": [f"w{i}" for i in range(29)]})
    fails(CorpusError, "distinct", how={"vocabulary": ["w"] * 30})
    model = make().fit(COUNTS, vocabulary=[f"w{i}" for i in range(30)])
    for X in (COUNTS[:, :29], np.zeros((2, 31))):
        with pytest.raises(CorpusError, match="features"):
            model.transform(X)
    assert model.transform(COUNTS).shape == (400, 2)


def test_words_from_the_private_text_are_refused():
    corpus = Corpus(COUNTS, [f"w{i}" for i in range(30)], vocabulary_is_public=False)
    assert fails(PrivacyError, "PrivateCountVectorizer", corpus) == 0


def test_a_hopeless_fit_is_refused_before_booking_where_a_bound_is_public():
    corpus = random_counts(100, 300, 3)
    hopeless = {"n_topics": 50, "epsilon": 1.0, "allow_unlearnable": False}
    assert fails(ParameterError, "Nothing was booked", corpus, n_units_lower_bound=100, **hopeless) == 0
    assert fails(ParameterError, "stays booked", corpus, **hopeless) == 1
    assert fails(ParameterError, "Nothing was booked", Corpus(corpus, [f"w{i}" for i in range(300)]),
                 n_units_lower_bound=100, **hopeless) == 0  # fmt: skip
    model = make(**{**hopeless, "allow_unlearnable": True}).fit(corpus)
    assert model.forecast_.difficulty > 30
    assert "mostly noise" in model.release_.configuration["forecast"]


def test_the_limit_of_the_refusal_is_thirty():
    # x = V K / (n mu); n pinned through a public bound.
    mu = module.gdp_mu(1.0, 1e-5)
    n = 1000
    width = int(30 * n * mu / 10)
    model = make(n_topics=10, epsilon=1.0, n_units_lower_bound=n, allow_unlearnable=False)
    module.check_parameters(model, sp.csr_matrix((1, width)), None)
    with pytest.raises(ParameterError, match="mostly noise"):
        module.check_parameters(model, sp.csr_matrix((1, width + 2)), None)


# ---- odd corpora


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((3, 6)),
        np.ones((1, 6)),
        np.eye(6),
        [[10_000_000, 0, 0, 0, 0, 0]],
        [[10_000_000] * 6, [0] * 6, [1, 0, 0, 0, 0, 0]],
        [[2**31 - 1] * 6] * 3,
        np.ones((4, 1)),
    ],
)
@pytest.mark.parametrize("how", [FULL, SAMPLED, {"epsilon": math.inf}, {"n_topics": 9}])
def test_odd_corpora_are_fitted(rows, how):
    counts = csr(rows)
    model = make(**how).fit(counts)
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.components_.sum(1), 1)
    np.testing.assert_allclose(model.transform(counts).sum(1), 1)


def test_the_input_is_not_changed():
    X, owners = COUNTS.copy(), OWNERS.copy()
    X.data.flags.writeable = X.indices.flags.writeable = X.indptr.flags.writeable = False
    owners.flags.writeable = False
    make(privacy_unit="author").fit(X, owners=owners)
    assert (X != COUNTS).nnz == 0


def test_an_author_of_half_the_corpus_moves_the_topics_little():
    """Half of the documents come from one author, who writes about one word only."""
    base, _ = block_corpus(600, n_topics=2, words_a_topic=10)
    flood = np.zeros((600, 20), np.int32)
    flood[:, 19] = 40
    counts = csr(np.vstack([base.toarray(), flood]))
    owners = np.r_[np.arange(600), np.full(600, 10**6)]
    share = np.asarray(base.sum(0)).ravel()[19] / base.sum()

    def weight(unit, X, authors):
        model = make(privacy_unit=unit, epsilon=20.0).fit(X, owners=authors)
        return model.release_.word_weight[19]

    by_author = weight("author", counts, owners)
    by_document = weight("document", counts, None)
    without = weight("author", base, np.arange(600))
    assert abs(by_author - without) < 0.03
    assert by_document > without + 0.1
    assert share < 0.1


# ---- park2016


def test_park2016_is_their_run_by_todays_accounting():
    theirs = PrivateLDA.park2016()
    assert theirs.epsilon == pytest.approx(0.932, abs=5e-4)
    assert (theirs.n_topics, theirs.sampling_rate, theirs.n_rounds, theirs.delta) == (50, 0.05, 20, 1e-4)
    assert (theirs.contribution_bound, theirs.learning_offset, theirs.learning_decay) == (50, 1024, 0.7)
    assert theirs.doc_topic_prior == theirs.topic_word_prior == 1 / 50
    assert theirs.denoise == "zero"
    noise, event = theirs._noise_and_event()
    assert noise == pytest.approx(1.24, abs=2e-3)
    assert event == events.composed(events.poisson_sampled(0.05, events.gaussian(noise)), 20)
    corrected = PrivateLDA.park2016(20, corrected=True, epsilon=2.0, random_state=3)
    assert (corrected.n_topics, corrected.learning_offset, corrected.epsilon) == (20, 1.0, 2.0)
    assert corrected.random_state == 3
    ledger = Ledger(1, 1e-4)
    model = PrivateLDA.park2016(2, ledger=ledger, random_state=0).fit(COUNTS)
    assert len(ledger.entries) == 1
    assert model.release_.configuration["algorithm"].startswith("DP-SVI")


def test_rounds_of_samples_default_to_one_pass():
    assert make(sampling_rate=0.1)._rounds_of_samples() == 10
    assert make(sampling_rate=0.9)._rounds_of_samples() == 1
    assert make(sampling_rate=0.1, n_rounds=3)._rounds_of_samples() == 3


@BOTH
def test_progress_is_told(how):
    told = []
    make(callback=lambda *news: told.append(news), **how).fit(COUNTS)
    assert told[-1][1] == told[-1][2]
    assert {stage for stage, *_ in told} <= {"starting topics", "training rounds"}


def test_a_failure_while_training_leaves_the_estimator_as_it_was():
    def stop(stage, done, total):
        raise KeyboardInterrupt

    ledger = Ledger(9, 1e-5)
    model = make(ledger=ledger, callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(COUNTS)
    assert not hasattr(model, "release_")
    assert set(vars(model)) == set(model.get_params())
    assert len(ledger.entries) == 1  # what was booked stays booked
