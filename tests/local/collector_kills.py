"""Kill a collector under load, again and again, and compare what it kept with what it acknowledged.

Senders repeat a batch, number and bits, until it is acknowledged, as clients are told to. The collector runs as its
own process, started by the command that users have, and is ended by its own process number.
"""

import contextlib
import http.client
import json
import random
import signal
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import numpy as np

from discreet.lda.moments.moments import Moments
from discreet.local.collector.store import ReportStore
from discreet.local.collector.tables import Snapshot, place_of, settings_of
from discreet.local.wire import Report, vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

WORDS = tuple(f"word{i:03}" for i in range(64))
CHANNEL = BitChannel.symmetric(1.0)
_MAIN = "from discreet.cli import main; main()"


class Outcome(NamedTuple):
    """What the senders saw, and what the store holds in the end."""

    kills: int
    sent: dict[bytes, bytes]
    acknowledged: set[bytes]
    answers_lost: int
    withdrawn: set[bytes]
    kept: list[tuple[bytes, bytes]]
    moments: Moments
    logs: str


class Collector:
    """The command in a process of its own; ``first`` is run in it before (for planted mistakes)."""

    def __init__(self, folder, store, first=""):
        (folder / "words.txt").write_text("".join(f"{word}\n" for word in WORDS))
        self.log = (folder / "log.txt").open("a+")
        told = f"{CHANNEL.p_threshold},{CHANNEL.q_threshold}"
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-c", f"{first}\n{_MAIN}", "collect"),
                *("--vocabulary", str(folder / "words.txt"), "--store", store),
                *("--channel", told, "--port", "0"),
            ],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        try:
            self.port = self._port()
        except BaseException:  # a test that ran out of time, too, leaves no process behind
            self.end(signal.SIGKILL)
            raise

    def _port(self):
        for line in self.process.stdout:
            if line.startswith("collecting on"):
                return int(line.rstrip("/\n").rpartition(":")[2])
        self.process.wait(30)
        self.log.seek(0)
        raise AssertionError(f"the collector did not start: {self.log.read()}")

    def end(self, how=signal.SIGTERM):
        """Send the signal, wait, and return the exit code."""
        self.process.send_signal(how)
        code = self.process.wait(60)
        self.process.stdout.close()
        self.log.close()
        return code


def post(port, body, path="/reports", timeout=20):
    """Send one batch over a connection of its own; return status and answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    with contextlib.closing(connection):
        connection.request("POST", path, body, {"Content-Type": "application/octet-stream"})
        answer = connection.getresponse()
        return answer.status, answer.read()


def batch(rng, n):
    """Return that many reports as bytes, and their numbers with their bits."""
    digest = vocabulary_digest(WORDS)
    made = [
        Report(CHANNEL, digest, rng.bytes(16), rng.integers(0, 2, len(WORDS)).astype(np.uint8))
        for _ in range(n)
    ]
    rows = {r.number: np.packbits(r.bits, bitorder="little").tobytes() for r in made}
    return b"".join(r.to_bytes() for r in made), rows


class _Senders:
    """Threads that send batches of 1 to 40 reports to whichever collector runs."""

    def __init__(self, n, seed):
        self.port, self.errors = 0, []
        self.stop, self.given_up = threading.Event(), threading.Event()
        self.sent, self.acknowledged, self.lost = {}, set(), 0
        self.leaving, self.withdrawn = set(), set()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._run, args=(seed + i,)) for i in range(n)]
        for thread in self.threads:
            thread.start()

    def _run(self, seed):
        rng = np.random.default_rng(seed)
        try:
            while not self.stop.is_set():
                body, rows = batch(rng, int(rng.integers(1, 40)))
                with self.lock:
                    self.sent |= rows
                self._send(body, rows)
                if rng.random() < 0.1:  # some think better of it
                    with self.lock:
                        self.leaving |= rows.keys()
                    self._send(body, rows, "/withdraw")
        except Exception as error:  # shown by the main thread
            self.errors.append(error)

    def _send(self, body, rows, path="/reports"):
        began = time.monotonic()
        while not self.given_up.is_set() and time.monotonic() < began + 120:
            try:
                status, answer = post(self.port, body, path)
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
                continue
            if status == 503:
                time.sleep(0.05)
                continue
            assert status == 200, (status, answer)
            told = json.loads(answer)
            assert sum(told.values()) == len(rows)
            if path == "/withdraw":
                assert told["unknown"] == 0
                with self.lock:
                    self.withdrawn |= rows.keys()
                return
            with self.lock:
                self.acknowledged |= rows.keys()
                # Counted before the kill, its answer never arrived: the case that numbers are for.
                self.lost += told["repeated"]
            return
        assert self.given_up.is_set(), "a batch was not acknowledged within two minutes"

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(180)
        if self.errors:
            raise self.errors[0]


def kill_again_and_again(folder, kills, *, store=None, seed=0, senders=4, first=""):
    """Kill the collector ``kills`` times at random moments under load; end the last one gracefully.

    After each kill, before the next start, everything acknowledged by then must be in the store: a SQLite file in the
    folder, or the database of a URL.
    """
    store = store or str(folder / "reports.db")
    chance = random.Random(seed)
    collector, clients = Collector(folder, store, first), _Senders(senders, seed)
    clients.port = collector.port
    try:
        for _ in range(kills):
            time.sleep(chance.uniform(0.02, 0.8))
            if clients.errors:
                break
            collector.end(signal.SIGKILL)
            with clients.lock:
                known, leaving, gone = set(clients.acknowledged), set(clients.leaving), set(clients.withdrawn)
            held = {number for number, _ in kept_in(store)}
            assert known - leaving <= held, f"{len(known - leaving - held)} acknowledged reports are lost"
            assert not gone & held, f"{len(gone & held)} withdrawn reports are still there"
            collector = Collector(folder, store, first)
            clients.port = collector.port
        time.sleep(0.3)
        clients.finish()
        code = collector.end()
    finally:
        clients.stop.set()
        clients.given_up.set()
        for thread in clients.threads:
            thread.join(30)
        if collector.process.poll() is None:
            collector.end(signal.SIGKILL)
    assert code == 0
    rows = kept_in(store)
    log = (folder / "log.txt").read_text()
    told = clients.sent, clients.acknowledged, clients.lost, clients.withdrawn
    return Outcome(kills, *told, rows, saved_moments(store), log)


def kept_in(store):
    """Read the reports of a store as it lies there, beside any collector; withdrawn ones are without bits."""
    with contextlib.closing(Snapshot(place_of(store), settings_of(WORDS, CHANNEL))) as seen:
        return [(number, bits) for rows in seen.reports() for _, number, bits in rows]


def saved_moments(store):
    """Return the moments as whoever opens the store finds them."""
    with ReportStore(store, WORDS, CHANNEL) as opened:
        return opened.moments()


def faults(outcome):
    """Return what is wrong, in words; nothing where each report counts once."""
    found = []
    numbers = [number for number, _ in outcome.kept]
    if len(set(numbers)) < len(numbers):
        found.append(f"{len(numbers) - len(set(numbers))} reports are there twice")
    lost = outcome.acknowledged - outcome.withdrawn - set(numbers)
    if lost:
        found.append(f"{len(lost)} acknowledged reports are lost")
    if outcome.withdrawn & set(numbers):
        found.append(f"{len(outcome.withdrawn & set(numbers))} withdrawn reports are still there")
    if any(outcome.sent.get(number) != bits for number, bits in outcome.kept):
        found.append("a report is there that nobody sent")
    packed = np.frombuffer(b"".join(bits for _, bits in outcome.kept), np.uint8).reshape(len(numbers), -1)
    if outcome.moments != Moments(len(WORDS), channel=CHANNEL).add_batch(packed, packed=True):
        found.append(f"moments of {outcome.moments.n} reports are not those of the {len(numbers)} kept ones")
    return found
