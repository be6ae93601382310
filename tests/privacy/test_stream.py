"""The secure stream: ChaCha20 it is, no words come twice, not in a fork or a copy, not without entropy."""

import copy
import json
import os
import pickle
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy import SecureStream
from discreet.privacy.noise.stream import WordBlocks

forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def test_words_are_chacha20_of_rfc_8439():
    """Section 2.4.2: key 00..1f, nonce 00000000 0000004a 00000000, block counter 1."""
    blocks = WordBlocks(bytes(range(32)))
    words = blocks.read(int.from_bytes(bytes.fromhex("0000004a00000000"), "little"), 0, 16, 16)
    expected = "224f51f3401bd9e12fde276fb8631ded8c131f823d2c06e27e4fcaec9ef3cf78"
    assert words.astype("<u4").tobytes()[:32].hex() == expected


@given(st.integers(0, 2**34), st.integers(0, 200), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_place_can_be_read_alone(start, n, block, lane):
    start = min(start, 2**34 - n)
    blocks = WordBlocks(bytes(range(32)))
    together = blocks.read(block, lane, start, n)
    assert len(together) == n
    assert together.tolist() == [int(blocks.read(block, lane, start + i, 1)[0]) for i in range(n)]


def test_lanes_and_blocks_share_no_words():
    blocks = SecureStream(1).blocks("x")
    seen = [blocks.read(block, lane, 0, 500) for block in (0, 1, 2**40) for lane in (0, 1, 2**32 - 1)]
    assert len(np.unique(np.array(seen)[:, :4], axis=0)) == len(seen)


def test_reading_beyond_a_lane_is_refused():
    blocks = SecureStream(1).blocks("x")
    for start, n in ((2**34, 1), (-1, 2), (0, -1)):
        with pytest.raises(PrivacyError, match="lane"):
            blocks.read(0, 0, start, n)


# Keys


def test_words_go_on_where_they_stopped():
    parts, whole = SecureStream(3), SecureStream(3)
    pieces = [parts.words(n) for n in (3, 0, 2, 100)]
    assert np.array_equal(np.concatenate(pieces), whole.words(105))
    assert whole.words(2).dtype == np.uint64
    with pytest.raises(ParameterError, match="negative"):
        whole.words(-1)


def test_words_are_uniform():
    words = SecureStream(3).words(100_000)
    bits = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 5 / np.sqrt(4 * 100_000)


GOLDEN = {
    0: [5397966220694058942, 6485538244504356556, 4257697819],
    1: [16192943199796246015, 14539578714776804228, 1704286527],
    2**200: [6007821913868399354, 3475849946189675659, 2276727801],
}


@pytest.mark.parametrize("seed", GOLDEN)
def test_bits_from_a_seed_never_change(seed):
    stream = SecureStream(seed)
    child = stream.spawn("a").spawn("b")
    got = [int(s) for s in (stream.words(1)[0], child.words(1)[0], child.blocks("c").read(1, 2, 3, 1)[0])]
    assert got == GOLDEN[seed]


def test_no_two_streams_are_alike():
    """Parents, children of one purpose, their children, blocks, other seeds: first words all differ."""
    firsts = []
    for make in (
        SecureStream,
        *(lambda seed=seed: SecureStream(seed) for seed in (0, 1, 256, 2**64, 2**128)),
    ):
        stream = make()
        firsts += [stream.words(1)[0], stream.words(1)[0]]
        for purpose in ("a", "a", "b", "", "ab"):
            child = stream.spawn(purpose)
            firsts += [child.words(1)[0], child.spawn("a").words(1)[0]]
            firsts += [child.blocks("a").read(0, 0, 0, 2).view(np.uint64)[0]]
            firsts += [stream.blocks(purpose).read(0, 0, 0, 2).view(np.uint64)[0]]
    assert len(set(firsts)) == len(firsts)


def test_children_depend_on_seed_purpose_and_order_only():
    def child(seed, *purposes):
        stream = SecureStream(seed)
        return [int(stream.spawn(purpose).words(1)[0]) for purpose in purposes]

    assert child(1, "a", "b") == child(1, "a", "b")
    assert child(1, "a", "b")[0] == child(1, "a", "c")[0]
    assert child(1, "a", "b")[1] != child(1, "a", "c")[1]
    assert child(1, "a") != child(2, "a")


def test_drawing_words_does_not_change_the_children():
    left, right = SecureStream(1), SecureStream(1)
    left.words(10)
    assert left.spawn("a").words(1) == right.spawn("a").words(1)


def test_two_secure_streams_differ():
    assert SecureStream().words(1) != SecureStream().words(1)


def test_reproducible_is_said_and_inherited():
    assert SecureStream(0).reproducible
    assert SecureStream(0).spawn("a").spawn("b").reproducible
    assert not SecureStream().reproducible
    assert not SecureStream().spawn("a").reproducible
    assert "not for release" in repr(SecureStream(0))
    with pytest.raises(AttributeError):
        SecureStream(0).reproducible = False


def test_seeds():
    assert SecureStream(np.int64(5)).words(1) == SecureStream(5).words(1)
    with pytest.raises(ParameterError, match="negative"):
        SecureStream(-1)
    for wrong in (1.0, "1", True, b"1"):
        with pytest.raises(TypeError):
            SecureStream(wrong)


def test_nothing_shows_the_key(monkeypatch):
    key = bytes(range(100, 132))
    monkeypatch.setattr(os, "urandom", lambda n: key[:n])
    stream = SecureStream()
    for shown in (repr(stream), str(stream), repr(stream.blocks("a")), str(vars(type(stream)))):
        assert str(key) not in shown
        assert key.hex() not in shown


def test_threads_never_get_the_same_words():
    stream = SecureStream(1)

    def work(_):
        return [*stream.words(3).tolist(), int(stream.spawn("a").words(1)[0])]

    with ThreadPoolExecutor(8) as pool:
        got = [word for words in pool.map(work, range(2_000)) for word in words]
    assert len(set(got)) == len(got)
    fresh = SecureStream(1)
    children = {int(fresh.spawn("a").words(1)[0]) for _ in range(2_000)}
    assert set(got) == children | set(fresh.words(6_000).tolist())


# No copies, no entropy


@pytest.mark.parametrize("make", [SecureStream, lambda: SecureStream(1), lambda: SecureStream(1).blocks("a")])
@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, pickle.dumps, lambda s: pickle.dumps(s, 0), lambda s: pickle.dumps([{1: s}])],
)
def test_copies_are_refused(make, duplicate):
    with pytest.raises(PrivacyError, match="spawn"):
        duplicate(make())


def fails(n):
    raise OSError("no entropy")


def missing(n):
    raise NotImplementedError


@pytest.mark.parametrize("urandom", [fails, missing, lambda n: b"", lambda n: b"abc", bytes])
def test_no_entropy_is_an_error(monkeypatch, urandom):
    monkeypatch.setattr(os, "urandom", urandom)
    with pytest.raises(PrivacyError, match=r"os\.urandom"):
        SecureStream()
    SecureStream(1).spawn("a").words(1)


# Forks: in a fresh interpreter, for this one may have threads


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PRELUDE) + textwrap.dedent(program)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PRELUDE = """
import ctypes, json, os, sys
from discreet.errors import PrivacyError
from discreet.privacy.noise.stream import SecureStream

def attempt(call):
    try:
        return call()
    except PrivacyError as error:
        return "refused: " + str(error)

def in_fork(call, fork=os.fork):
    there, here = os.pipe()
    child = fork()
    if child == 0:
        os.write(here, json.dumps(attempt(call)).encode())
        os._exit(0)
    os.close(here)
    with os.fdopen(there) as pipe:
        answer = json.load(pipe)
    os.waitpid(child, 0)
    return answer
"""


@forking
@pytest.mark.parametrize("fork", ["os.fork", "ctypes.CDLL(None).fork"])
def test_forked_secure_streams_say_something_new(fork):
    """With Python's fork, and with the C library's, which runs no Python hook."""
    answers = run(f"""
        stream = SecureStream()
        child, blocks = stream.spawn("a"), stream.blocks("b")
        def draw():
            return [*stream.words(2).tolist(), *child.words(2).tolist(), *stream.spawn("c").words(2).tolist()]
        def read():
            return blocks.read(0, 0, 0, 2).tolist()
        fork = {fork}
        answers = [in_fork(draw, fork), in_fork(draw, fork), draw(), in_fork(draw, fork), draw()]
        nested = in_fork(lambda: [draw(), in_fork(draw, fork), draw()], fork)
        print(json.dumps([sum(answers + nested, []), in_fork(read, fork), read()]))
    """)
    drawn, refused, read = answers
    assert len(drawn) == 8 * 6
    assert len(set(drawn)) == len(drawn)
    assert refused.startswith("refused")
    assert len(read) == 2


@forking
def test_forked_seeded_streams_refuse():
    answers = run("""
        stream = SecureStream(1)
        child = stream.spawn("a")
        calls = [lambda: stream.words(1).tolist(), lambda: stream.spawn("b").words(1).tolist(),
                 lambda: stream.blocks("b") and 0, lambda: child.words(1).tolist()]
        inside = [in_fork(call) for call in calls]
        fresh = in_fork(lambda: SecureStream(1).words(1).tolist())
        print(json.dumps([inside, fresh, stream.words(1).tolist()]))
    """)
    inside, fresh, after = answers
    assert all("SecureStream()" in answer for answer in inside)
    assert fresh == after


@forking
def test_a_process_id_that_comes_again_is_not_trusted():
    answers = run("""
        os.getpid = lambda: 4711
        stream = SecureStream()
        draw = lambda: stream.words(2).tolist()
        print(json.dumps([in_fork(draw), in_fork(draw), draw()]))
    """)
    assert len({tuple(words) for words in answers}) == 3


@forking
def test_a_lock_held_by_another_thread_does_not_hang_the_fork():
    answers = run("""
        stream = SecureStream()
        with stream._lock:
            child = in_fork(lambda: stream.words(1).tolist())
        print(json.dumps([child, stream.words(1).tolist()]))
    """)
    assert answers[0] != answers[1]


@forking
def test_no_entropy_in_a_fork_is_an_error_and_no_fallback():
    answer = run("""
        stream = SecureStream()
        def draw():
            os.urandom = lambda n: b""
            return stream.words(1).tolist()
        print(json.dumps(in_fork(draw)))
    """)
    assert "os.urandom" in answer


MULTIPROCESSING = """
import json, multiprocessing, sys
from discreet.errors import PrivacyError
from discreet.privacy import SecureStream, rounded_gaussian

def draw(_):
    try:
        return rounded_gaussian(2.0**39, 3, stream).tolist()
    except PrivacyError as error:
        return "refused"

def handed(stream):
    return stream.words(1).tolist()

if __name__ == "__main__":
    method, seed = sys.argv[1], json.loads(sys.argv[2])
    stream = SecureStream(seed)
    context = multiprocessing.get_context(method)
    if method == "fork":
        with context.Pool(3) as pool:
            answers = pool.map(draw, range(12), chunksize=1)
        print(json.dumps(answers + [draw(0)]))
    else:
        process = context.Process(target=handed, args=(stream,))
        try:
            process.start()
        except PrivacyError:
            print(json.dumps("refused"))
"""


@pytest.mark.parametrize(("method", "seed"), [("fork", None), ("fork", 1), ("spawn", None), ("spawn", 1)])
@pytest.mark.integration
def test_multiprocessing(tmp_path, method, seed):
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system does not {method}")
    script = tmp_path / "program.py"
    script.write_text(MULTIPROCESSING)
    command = [sys.executable, str(script), method, json.dumps(seed)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    if method == "spawn":
        assert answers == "refused"
    elif seed is None:
        drawn = [value for values in answers for value in values]
        assert len(set(drawn)) == len(drawn) == 39
    else:
        assert answers[:-1] == ["refused"] * 12
        assert len(answers[-1]) == 3


def test_importing_the_stream_does_not_import_numba():
    program = "import sys; from discreet.privacy import SecureStream; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
