"""Three questions in four sums: what a document adds, what it costs, what is learned, and servers that cheat."""

import json
import math
import os
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import kstest
from tests.federated.test_sessions import Office
from tests.marks import quick
from tests.naive.federated import slow_answer, slow_placed
from tests.naive.whole_document import responsibilities

from discreet import FederatedLDA
from discreet.corpus import match_vectors
from discreet.errors import BudgetExceeded, CorpusError, ParameterError, PrivacyError, ReleaseError
from discreet.evaluate import completion_perplexity, public_topics
from discreet.federated import (
    Account,
    agreed_terms,
    client_update,
    fit_state,
    init_server,
    load_state,
    save_state,
    server_step,
    sum_round,
)
from discreet.federated import question_round as questions
from discreet.federated.account import vocabulary_digest
from discreet.federated.federated_lda import make_ledger, make_release
from discreet.federated.silo import Silo
from discreet.federated.state import MESSAGES, VECTOR
from discreet.federated.wire import read_state, read_values, state_bytes, values_bytes
from discreet.lda.questions import Asked, kinds
from discreet.privacy import Ledger, SecureStream
from discreet.privacy.accounting.totals import composed_epsilon

V, K, N = 12, 3, 3
WORDS = [f"w{i}" for i in range(V)]
RNG = np.random.default_rng(0)
VECTORS = np.eye(K)[np.arange(V) // 4] + 0.4 * RNG.normal(size=(V, K))
SUMS = len(questions._SHARES)


def silo(seed, n=400):
    """Documents about three groups of words, which the vectors know roughly."""
    rng = np.random.default_rng(seed)
    own = np.arange(V) // 4 == rng.integers(K, size=(n, 1))
    return sp.csr_matrix((rng.random((n, V)) < np.where(own, 0.6, 0.05)).astype(np.int32))


class Party:
    """A server and its silos, in memory, over the bytes of the wire."""

    def __init__(self, n_documents=400, **more):
        options = {"epsilon": 2.0, "delta": 1e-6, "word_vectors": VECTORS, "vocabulary": WORDS, **more}
        self.state = init_server(n_clients=N, n_topics=K, n_words=V, **options)
        terms = agreed_terms(self.state)
        self.silos = [silo(seed, n_documents) for seed in range(N)]
        self.accounts = [Account(c, make_ledger(self.state), expected=terms) for c in range(N)]
        self.streams = [SecureStream(seed) for seed in range(N)]

    def view(self, client):
        return read_state(state_bytes(self.state, client))

    def updates(self, clients=range(N)):
        found = [
            client_update(self.view(c), self.silos[c], self.streams[c], self.accounts[c]) for c in clients
        ]
        return [update._replace(values=read_values(values_bytes(update.values))) for update in found]

    def on_to(self, number, clients=range(N), **how):
        while not self.state.finished and self.state.round < number:
            self.state = server_step(self.state, self.updates(clients), **how)
        return self


def a_question(kind, seed=0, largest=50):
    rng = np.random.default_rng(seed)
    width = {"words": 0, "squares": 4, "topics": K}[kind]
    least = 1 if kind == "topics" else -largest
    table = rng.integers(least, largest + 1, size=(V, width))
    weights = rng.integers(1, largest + 1, size=V) if kind == "topics" else np.zeros(0, np.int64)
    return Asked(kind, 0, (), table, weights)


# ---------------------------------------------------------------- what a document adds


@pytest.mark.parametrize("kind", ["words", "squares", "topics"])
def test_a_document_adds_what_the_description_says(kind):
    asked, rows = a_question(kind), sp.vstack([silo(5, 30), sp.csr_matrix((1, V), dtype=np.int32)]).tocsr()
    wanted = [
        slow_placed(slow_answer(row, kind, asked.table.tolist(), asked.weights.tolist(), responsibilities))
        for row in rows.toarray()
    ]
    found = [questions.contributions(row, asked) for row in rows]
    if kind == "words":
        assert [int(one[0]) for one in found] == [2**18] * 31
        found = [one[1:] for one in found]
    assert np.abs(np.array(found) - np.array(wanted)).max() <= 1  # a last bit, before it is cut
    whole = questions.contributions(rows, asked)[1 if kind == "words" else 0 :]
    np.testing.assert_array_equal(whole, np.sum(found, axis=0))


@pytest.mark.parametrize("kind", ["words", "squares", "topics"])
@pytest.mark.parametrize("largest", [1, 7, 2**31])
def test_no_table_of_a_server_makes_a_document_add_more(kind, largest):
    """In whole numbers, for documents of one word and of all; a document of one word could otherwise count most."""
    rows = sp.csr_matrix(np.vstack([np.eye(V), np.ones((1, V)), np.tri(V)]).astype(np.int32))
    for seed in range(5):
        asked = a_question(kind, seed, largest)
        for row in rows:
            one = questions.contributions(row, asked)[1 if kind == "words" else 0 :]
            squares = int((one.astype(object) ** 2).sum())
            assert 0.999 * 4**18 < squares <= 4**18 or not squares


# ---------------------------------------------------------------- what it costs, and what is learned


def test_topics_are_learned_and_the_promise_is_booked_before_the_counts_are_read():
    parts, held_out = [silo(seed, 2000) for seed in range(N)], silo(9, 300)
    model = FederatedLDA(K, epsilon=1.0, word_vectors=VECTORS, random_state=0)
    model.fit(parts, vocabulary=WORDS, words_are_public=True)
    alone = public_topics(VECTORS, WORDS, K, np.asarray(sum(parts).sum(0))[0])
    learned = completion_perplexity(model.topic_word_, held_out)
    assert learned < 0.98 * completion_perplexity(alone, held_out)
    planned = model.planned_event()
    for ledger in model.client_ledgers_:
        assert len(ledger.entries) == SUMS
        assert 0.999 < ledger.spent().epsilon <= 1.0
        cost = composed_epsilon([planned], ledger.delta, neighboring=ledger.neighboring)
        assert cost.epsilon == pytest.approx(ledger.spent().epsilon, rel=1e-9)
    release = model.release_
    said = release.configuration
    assert said["questions"] == "words, squares, topics, topics"
    assert said["word_vectors_dimensions"] == K
    assert said["strength"] > 450
    strength = (
        f"{said['strength']:,}: one over the standard deviation of the noise in a mean over all documents"
    )
    worth = (
        f"about {release.n_units_noisy:,.0f} whole documents are worth s = {said['strength']:,.0f}; below 450"
    )
    assert said["forecast"].startswith(f"Learnability: {worth} there would be nothing to learn")
    assert "no law was fitted to answers about whole documents" in said["forecast"]
    assert f"| strength | {strength} |" in release.card()
    assert said["forecast"] in release.card()
    assert strength in release.to_html()
    np.testing.assert_allclose(release.word_weight.sum(), 1)
    shares = [part.multiply(1 / np.maximum(np.sqrt(part.sum(1)), 1)).sum(0) for part in parts]
    wanted = np.asarray(sum(shares))[0]
    np.testing.assert_allclose(release.word_weight, wanted / wanted.sum(), rtol=0.1)
    assert release.n_units_noisy == pytest.approx(6000, abs=500)
    assert release.reproducible
    assert not hasattr(model, "learnable_")


@pytest.mark.integration
def test_the_same_seed_gives_the_same_bytes_and_no_seed_is_for_release():
    how = {"word_vectors": VECTORS, "allow_unlearnable": True}
    parts = [silo(seed, 100) for seed in range(N)]

    def fitted(seed):
        return FederatedLDA(K, random_state=seed, **how).fit(parts, vocabulary=WORDS, words_are_public=True)

    one, two, other = (fitted(seed).topic_word_.tobytes() for seed in (1, 1, 2))
    assert one == two != other
    assert not fitted(None).release_.reproducible


def totals_of(party, monkeypatch):
    """All sums of a run, as the server sees them, and the questions they answer."""
    seen = []
    inner = questions.sum_round.take

    def next_of(state, *how):
        found = inner(state, *how)
        if isinstance(found, np.ndarray):
            seen.append((questions._open(state), found))
        return found

    monkeypatch.setattr(questions.sum_round, "take", next_of)
    party.on_to(math.inf)
    return seen


def test_without_noise_the_sums_are_those_of_all_documents(monkeypatch):
    party = Party(epsilon=math.inf)
    seen = totals_of(party, monkeypatch)
    assert [asked.kind for asked, _ in seen] == list(kinds(SUMS))
    for asked, total in seen:
        everyone = sum(questions.contributions(part, asked) for part in party.silos)
        np.testing.assert_array_equal(total, everyone)


def test_each_sum_has_the_noise_that_was_booked_for_it(monkeypatch):
    """Two thirds or three halves of the scale would be seen: each sum has at least 150 cells."""
    vectors, words = np.random.default_rng(1).normal(size=(150, 24)), [f"w{i}" for i in range(150)]
    state = init_server(
        n_clients=2, n_topics=4, n_words=150, epsilon=2.0, delta=1e-6, vocabulary=words,
        word_vectors=vectors, allow_unlearnable=True,
    )  # fmt: skip
    party = Party()
    party.state, party.silos = state, [sp.csr_matrix((2, 150), dtype=np.int32)] * 2
    party.accounts = [Account(c, make_ledger(state), expected=agreed_terms(state)) for c in range(2)]
    whole = party.updates
    party.updates = lambda _=None: whole(range(2))
    z = questions.sum_round.noise_multiplier(2.0, 1e-6)
    for number, (asked, total) in enumerate(totals_of(party, monkeypatch)):
        booked = [account.ledger.entries[number].event.noise_multiplier for account in party.accounts]
        assert booked[0] == booked[1] == pytest.approx(z / math.sqrt(questions._SHARES[number]), rel=1e-12)
        share = 1 - questions._COUNT if asked.kind == "words" else 1.0
        # Two silos, each of which brings all of the noise: both are in the sum.
        cells = total[1:] if asked.kind == "words" else total
        scale = booked[0] * 2**18 / math.sqrt(share) * math.sqrt(2)
        assert kstest(cells / scale, "norm").pvalue > 1e-3
        assert abs(cells.std() / scale - 1) < 4 / math.sqrt(2 * len(cells)) < 1 / 3
    booked = [Fraction(entry.event.noise_multiplier) for entry in party.accounts[0].ledger.entries]
    precision = sum(1 / noise**2 for noise in booked)
    assert precision <= 1 / Fraction(z) ** 2 < precision * (1 + Fraction(1, 10**12))


def test_who_cannot_pay_for_all_says_so_before_the_first():
    party = Party()
    party.accounts[1].ledger.reserve(questions.events.gaussian(8.0), "something else")
    with pytest.raises(BudgetExceeded):
        party.updates([1])
    assert len(party.accounts[1].ledger.entries) == 1


def test_nothing_is_read_before_it_is_booked():
    party = Party().on_to(MESSAGES + VECTOR)
    booked = []

    def corpus():
        booked.append(len(party.accounts[0].ledger.entries))
        return party.silos[0]

    client_update(party.view(0), corpus, party.streams[0], party.accounts[0])
    assert booked == [2]


def test_too_few_documents_pay_for_one_sum_alone(tmp_path):
    party = Party(20).on_to(math.inf)
    assert party.state.finished
    assert "worth s =" in party.state.problem
    assert party.state.round == party.state.n_rounds
    assert [len(account.ledger.entries) for account in party.accounts] == [1] * N
    with pytest.raises(ParameterError, match="allow_unlearnable"):
        fit_state(party.state)
    save_state(party.state, tmp_path / "sums")
    kept = load_state(tmp_path / "sums")
    with pytest.raises(ParameterError, match="nothing to learn but how frequent"):
        fit_state(kept)
    np.testing.assert_allclose(fit_state(kept, allow_unlearnable=True).topic_word.sum(1), 1)
    with pytest.raises(ParameterError, match="asked about 3 topics"):
        fit_state(kept, n_topics=2, allow_unlearnable=True)
    model = FederatedLDA(K, epsilon=2.0, word_vectors=VECTORS, random_state=0)
    with pytest.raises(ParameterError, match="nothing to learn but how frequent"):
        model.fit(party.silos, vocabulary=WORDS, words_are_public=True)


def test_what_was_paid_for_is_kept(tmp_path):
    kept = []
    party = Party(allow_unlearnable=True).on_to(math.inf, keep=kept.append)
    assert len(kept) == SUMS
    save_state(party.state, tmp_path / "sums")
    again = fit_state(load_state(tmp_path / "sums"), allow_unlearnable=True)
    np.testing.assert_array_equal(again.topic_word, party.state.topic_word)
    np.testing.assert_array_equal(again.result["unigram"], party.state.result["unigram"])
    assert again.result["settings"] == party.state.result["settings"]
    (tmp_path / "sums").write_bytes((tmp_path / "sums").read_bytes()[:-40])
    with pytest.raises(ReleaseError, match="save_state"):
        load_state(tmp_path / "sums")


@pytest.mark.parametrize("stopped", [2 * MESSAGES, 2 * MESSAGES + 1, 2 * MESSAGES + VECTOR + 1])
def test_a_later_sum_that_fails_loses_nothing_of_those_before_it(stopped, tmp_path):
    kept = []
    party = Party(2000, allow_unlearnable=True).on_to(stopped, keep=kept.append)
    with pytest.raises(PrivacyError, match=r"2 sums before .*fit_state"):
        server_step(party.state, party.updates([0, 1]))
    save_state(party.state, tmp_path / "sums")
    save_state(kept[-1], tmp_path / "kept")
    topics = fit_state(party.state)
    for path in ("sums", "kept"):
        again = fit_state(load_state(tmp_path / path))
        np.testing.assert_array_equal(again.topic_word, topics.topic_word)
    assert len(kept) == 2
    np.testing.assert_array_equal(topics.topic_word, party.state.topic_word)
    said = make_release(topics, [a.ledger for a in party.accounts], WORDS, reproducible=True).configuration
    assert said["questions"] == "words, squares"
    assert said["messages_per_client"] == stopped
    assert not party.state.finished


def test_before_the_first_sum_there_is_nothing_to_keep(tmp_path):
    party = Party().on_to(VECTOR + 1)
    with pytest.raises(ParameterError, match="is not done"):
        fit_state(party.state)
    with pytest.raises(ReleaseError, match="nothing to keep yet"):
        save_state(party.state, tmp_path / "sums")


def test_sizes_of_messages_tell_nothing_of_documents():
    party = Party(allow_unlearnable=True)
    party.silos = [silo(0, 3), silo(1, 900), silo(2, 40)]
    while not party.state.finished:
        updates = party.updates()
        assert len({(update.values.nbytes, update.values.dtype) for update in updates}) == 1
        party.state = server_step(party.state, updates)
    # What the page says of 1,000 words, 20 topics and 20 directions: 330 kB of sums, and some of keys.
    numbers = 0
    for kind in kinds(SUMS):
        n_columns, n_weights = {"words": (0, 0), "squares": (20, 0), "topics": (20, 1000)}[kind]
        asked = Asked(kind, 0, (), np.ones((1000, n_columns), np.int64), np.ones(n_weights, np.int64))
        numbers += sum(questions._sizes_of(asked).values())
    assert 8 * numbers == 329_688


@pytest.mark.parametrize("kind", ["words", "topics"])
def test_answers_are_added_up_alike_however_many_fit_at_once(kind, monkeypatch):
    asked, rows = a_question(kind), silo(3, 50)
    whole = questions.contributions(rows, asked)
    monkeypatch.setattr(questions, "_TOGETHER", 1)
    np.testing.assert_array_equal(questions.contributions(rows, asked), whole)


# ---------------------------------------------------------------- silos that go, and servers that cheat


@pytest.mark.parametrize("gone_from", [MESSAGES, MESSAGES + VECTOR, 2 * MESSAGES + VECTOR + 1])
def test_one_silo_may_leave_in_the_middle_and_come_back_for_the_next_sum(gone_from):
    party = Party(tolerated=1, allow_unlearnable=True).on_to(gone_from)
    party.on_to((gone_from // MESSAGES + 1) * MESSAGES, clients=(0, 2)).on_to(math.inf)
    assert not party.state.problem
    missed = gone_from % MESSAGES <= VECTOR
    assert [len(account.ledger.entries) for account in party.accounts] == [SUMS, SUMS - missed, SUMS]


def test_nonsense_under_a_mask_ends_the_questions():
    party = Party(allow_unlearnable=True)
    party.silos[1] = sp.csr_matrix((0, V), dtype=np.int32)
    party.on_to(MESSAGES + VECTOR)
    updates = party.updates()
    values = updates[1].values.copy()
    values[:] += np.int64(2**45)
    before, kept = party.state, []
    party.state = server_step(party.state, [updates[0], updates[1]._replace(values=values), updates[2]])
    party.on_to(math.inf, keep=kept.append)
    assert not kept  # what was kept before stays, and topics can be fitted to it
    assert fit_state(before).result["settings"]["questions"] == "words"
    assert "no set of documents" in party.state.problem
    assert party.state.finished
    with pytest.raises(CorpusError, match="no set of documents"):
        fit_state(party.state, allow_unlearnable=True)


def test_later_sums_are_judged_by_a_number_of_documents_that_is_noisy():
    """Where n came out low and a cell holds all documents, no honest sum is called nonsense."""
    vectors = np.random.default_rng(3).normal(size=(V, 1))  # one direction: its cell holds every document
    party = Party(allow_unlearnable=True, word_vectors=vectors).on_to(MESSAGES + VECTOR)
    course, whole = party.state.sums, float(sum(part.shape[0] for part in party.silos))
    low = course._replace(n=whole - 15 * course.n_deviation)
    assert course.n_deviation > 10
    found = []
    for documents in (whole, whole + 40 * course.n_deviation):
        state = replace(party.state, sums=low, round=2 * MESSAGES - 1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(questions.sum_round, "more_noise", lambda *_: 0.01)
            found.append(questions.learn(state, np.full(1, int(documents * 2**18)), N)[1])
    assert not getattr(found[0], "nonsense", False)
    assert found[1].nonsense


def test_silos_that_were_told_other_sums_do_not_go_on_together():
    """The second sum has a quarter of the first's precision: beside silos in the first one, noise would be missing."""
    party = Party(allow_unlearnable=True).on_to(MESSAGES)
    hellos = {c: update.values for c, update in enumerate(party.updates())}
    elsewhere = replace(party.state, round=0, masks=None)
    rich = Account(1, Ledger(100.0, 1e-6), expected=agreed_terms(party.state))
    other = client_update(elsewhere, party.silos[1], party.streams[1], rich)
    refused = sum_round.fault(party.state, other._replace(round=MESSAGES), 1)
    assert "without a proof" in refused
    # A server that takes it all the same: the others find it out.
    shown = {c: hello.tobytes() for c, hello in {**hellos, 1: other.values}.items()}
    masks = sum_round.Sum(shown, {}, (), {}, {})
    party.state = replace(party.state, masks=masks, round=MESSAGES + 1)
    with pytest.raises(PrivacyError, match="does not prove"):
        party.updates([0])
    assert len(party.accounts[0].ledger.entries) == 1


def test_keys_of_one_sum_are_no_keys_of_the_next():
    party = Party(allow_unlearnable=True).on_to(1)
    old = party.state.masks.hellos
    party.on_to(MESSAGES)
    replayed = party.updates([0])[0]._replace(values=np.frombuffer(old[0], np.uint8))
    assert "without a proof" in sum_round.fault(party.state, replayed, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"table": np.zeros((V, 3))},
        {"table": np.full((V, 3), 2**40)},
        {"table": np.zeros((V - 1, 3), np.int64)},
        {"table": np.zeros((V, 201), np.int64)},
        {"table": np.zeros((V, 0), np.int64)},
        {"table": np.zeros(V, np.int64)},
        {"weights": np.ones(V, np.int64)},
    ],
    ids=range(7),
)
def test_tables_that_ask_for_nothing_are_refused_before_anything_is_booked(change):
    party = Party(allow_unlearnable=True).on_to(MESSAGES + VECTOR)
    open_one = party.state.sums.known.question
    known = party.state.sums.known._replace(question=replace(open_one, **change))
    party.state = replace(party.state, sums=party.state.sums._replace(known=known))
    with pytest.raises(CorpusError, match="can be answered"):
        party.updates([0])
    assert len(party.accounts[0].ledger.entries) == 1
    party.state = replace(party.state, sums=party.state.sums._replace(known=known._replace(question=None)))
    with pytest.raises(CorpusError):
        party.updates([0])


def test_topics_that_are_none_are_refused():
    party = Party(allow_unlearnable=True).on_to(2 * MESSAGES + VECTOR)
    asked = party.state.sums.known.question
    for change in ({"table": asked.table - asked.table.max()}, {"weights": 0 * asked.weights}):
        with pytest.raises(CorpusError, match="about topics"):
            questions.asked_of(party.state, replace(asked, **change).table, replace(asked, **change).weights)


TASK = {"statistic": "questions", "n_clients": N, "tolerated": 1, "n_words": V,
        "epsilon": 2.0, "delta": 1e-6, "vocabulary": vocabulary_digest(WORDS)}  # fmt: skip


class Questioned(Office):
    """An office with texts for these words."""

    def start(self):
        super().start()
        self.silo = None
        self.silo = Silo(silo(self.client), self.ledger, self.tasks, folder=self.kept)


def keys_in(office):
    return json.loads(json.loads(office.file.read_bytes())["account"])["masker"]


def answers(state, offices):
    asked = [
        office.silo.answer({"client": c, "state": state_bytes(state, c)}, 1)
        for c, office in enumerate(offices)
    ]
    return [questions_update(c, answer) for c, answer in enumerate(asked)]


@pytest.mark.parametrize("number", [MESSAGES, 2 * MESSAGES])
def test_no_keys_are_left_when_a_course_ends_early(number, tmp_path):
    offices = [Questioned(tmp_path, c, tasks=(TASK,)) for c in range(N)]
    state = Party(tolerated=1, allow_unlearnable=True).state
    while state.round < number:
        state = server_step(state, answers(state, offices))
    for office in offices:
        assert keys_in(office) is None
        assert office.silo._sessions._known["1"].account.masker is None


def test_courses_that_ended_early_make_room_in_memory(monkeypatch):
    silos = [Silo(silo(c), Ledger(40.0, 1e-6), [TASK]) for c in range(N)]
    monkeypatch.setattr("discreet.federated.silo._MOST_RUNS", 2)
    for run in range(3):
        state = Party(tolerated=1, allow_unlearnable=True).state
        while state.round < MESSAGES:
            came = [s.answer({"client": c, "state": state_bytes(state, c)}, run) for c, s in enumerate(silos)]
            state = server_step(state, [questions_update(c, answer) for c, answer in enumerate(came)])
    assert all(len(each._sessions._known) <= 2 for each in silos)


@pytest.mark.parametrize("starts_anew", [True, False])
def test_keys_of_a_sum_that_was_cut_off_are_forgotten_after_a_day(starts_anew, tmp_path):
    offices = [Questioned(tmp_path, c, epsilon=8.0, tasks=(TASK,)) for c in range(N)]
    state = Party(tolerated=1, allow_unlearnable=True).state
    while state.round <= VECTOR:
        state = server_step(state, answers(state, offices))
    first, office = offices[:2]
    for each, age in ((first, 85_000), (office, 87_000)):
        at = time.time() - age
        os.utime(each.file, (at, at))
        if starts_anew:
            each.start()
        else:
            fresh = Party(tolerated=1).state
            each.silo.answer({"client": each.client, "state": state_bytes(fresh, each.client)}, 2)
    assert keys_in(first) is not None
    assert keys_in(office) is None
    assert answers(state, [first])
    with pytest.raises(PrivacyError, match="no part in the sum"):
        office.silo.answer({"client": 1, "state": state_bytes(state, 1)}, 1)


@pytest.mark.parametrize(
    "stopped", quick([MESSAGES, MESSAGES + 2, MESSAGES + VECTOR, MESSAGES + VECTOR + 1], MESSAGES + 2)
)
def test_a_silo_that_is_started_anew_takes_part_again(stopped, tmp_path):
    """From the message on that the silo missed; no keys are written down that could still mask a sum."""
    offices = [Questioned(tmp_path, c, tasks=(TASK,)) for c in range(N)]
    state, came_back, told = Party(tolerated=1, allow_unlearnable=True).state, False, set()
    while not state.finished:
        if state.round == stopped:
            kept = json.loads(json.loads(offices[1].file.read_bytes())["account"])["masker"]
            assert kept is None or kept["step"] in ("vector", "senders", "reveal")
            offices[1].start()
        updates = []
        for c, office in enumerate(offices):
            try:
                answer = office.silo.answer({"client": c, "state": state_bytes(state, c)}, 1)
                updates.append(questions_update(c, answer))
                came_back |= c == 1 and state.round > stopped
            except PrivacyError as fault:
                told.add((c, str(fault)[:34]))
        state = server_step(state, updates)
    assert came_back
    assert not state.problem
    assert told <= {(1, "this client has no part in the sum")}
    missed = stopped % MESSAGES in (2, VECTOR)
    assert [len(office.ledger.entries) for office in offices] == [SUMS, SUMS - missed, SUMS]


def questions_update(client, answer):
    from discreet.federated.rounds import Update

    return Update(client, answer["round"], read_values(answer["values"]))


# ---------------------------------------------------------------- what is refused


def test_what_does_not_go_together_is_refused():
    parts = [silo(0), silo(1)]
    with pytest.raises(ParameterError, match="needs the word of each column"):
        FederatedLDA(K, word_vectors=VECTORS).fit(parts)
    sizes = {"n_clients": 2, "n_topics": K, "n_words": V, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(ParameterError, match="asks for; give public vectors"):
        init_server(statistic="questions", **sizes)
    with pytest.raises(ParameterError, match="statistic must be"):
        init_server(statistic="none", **sizes)
    with pytest.raises((ParameterError, CorpusError)):
        init_server(word_vectors=VECTORS[:-1], vocabulary=WORDS, **sizes)
    found = match_vectors(VECTORS, WORDS)
    for others in (WORDS[::-1], vocabulary_digest(WORDS[::-1])):
        with pytest.raises(ParameterError, match=r"word_vectors were matched to 12 (other )?words"):
            init_server(word_vectors=found, vocabulary=others, **sizes)
    for mine in (WORDS, vocabulary_digest(WORDS), ""):
        state = init_server(word_vectors=found, vocabulary=mine, **sizes)
        assert state.sums.said["word_vectors_coverage"] == "12 of 12 words"
    with pytest.raises(ParameterError, match="vocabulary has 11 words, but there are 12"):
        init_server(word_vectors=VECTORS[1:], vocabulary=WORDS[1:], **sizes)
    assert init_server(word_vectors=VECTORS, **sizes).n_rounds == SUMS * MESSAGES


def test_silos_see_results_where_questions_are_made_of_sums():
    """Each table that silos are asked about is made of the sums before it: to hide the topics hides nothing."""
    how = {"word_vectors": VECTORS, "silos_see_result": False}
    model = FederatedLDA(K, **how)
    for refused in (
        model.planned_event,
        lambda: model.fit([silo(0), silo(1)], vocabulary=WORDS, words_are_public=True),
        lambda: init_server(n_clients=3, n_topics=K, n_words=V, epsilon=1.0, delta=1e-6, **how),
    ):
        with pytest.raises(PrivacyError, match="silos see"):
            refused()
    # Nor does a silo answer a server that asks so, whatever was agreed.
    party = Party()
    party.state = replace(party.state, silos_see_result=False)
    with pytest.raises(CorpusError, match="silos see"):
        party.view(0)


def test_a_silo_that_agreed_on_pairs_answers_no_questions():
    party = Party()
    agreed = {**agreed_terms(party.state), "statistic": "pairs", "n_rounds": MESSAGES}
    party.accounts[0] = Account(0, make_ledger(party.state), expected=agreed)
    with pytest.raises(PrivacyError, match="was not agreed"):
        party.updates([0])


def test_an_agreement_that_names_no_statistic_is_about_pairs(tmp_path):
    party = Party(tolerated=1)
    task = {name: value for name, value in TASK.items() if name != "statistic"}
    party.accounts[0] = Account(0, make_ledger(party.state), expected=task)
    office = Questioned(tmp_path, 0, tasks=(task,))
    asked = {"client": 0, "state": state_bytes(party.state, 0)}
    for refused in (lambda: party.updates([0]), lambda: office.silo.answer(asked, 1)):
        with pytest.raises(PrivacyError, match="statistic 'questions' instead of 'pairs'"):
            refused()
