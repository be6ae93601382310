"""Reports a second that a collector takes to disk, beside a service that only reads the same requests.

``python benchmarks/collector.py [--seconds 8] [--words 1000] [--batch 500]``: one process serves, this one sends
over loopback from a few connections; first to a bare Starlette endpoint that reads the body and answers, then to
the collector, in turns, and the collector's moments are checked against the reports at the end.
"""

import argparse
import http.client
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from discreet.local.wire import HEADER_BYTES, Report, vocabulary_digest
from discreet.privacy.bit_channel import BitChannel

CHANNEL = BitChannel(3_139_872_686, 1_155_094_610)
COLLECT = "from discreet.cli import main; main()"
BARE = """
import sys
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from discreet.local.collector.app import run_server

async def take(request):
    return JSONResponse({"bytes": len(await request.body())})

run_server(Starlette(routes=[Route("/reports", take, methods=["POST"])]), "127.0.0.1", 0)
"""


def start(arguments):
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if "collecting on" in line:
            return process, int(line.rsplit(":", 1)[1].strip("/\n"))
    raise SystemExit("the server did not start")


def batches(words, size, seed):
    """Make batches without end: one block of random bits, a fresh number for each report."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, len(words)).astype(np.uint8)
    one = np.frombuffer(Report(CHANNEL, vocabulary_digest(words), bytes(16), bits).to_bytes(), np.uint8)
    block = np.tile(one, (size, 1))
    whole = len(words) // 8
    block[:, HEADER_BYTES : HEADER_BYTES + whole] = rng.integers(0, 256, (size, whole))
    while True:
        block[:, 56:72] = rng.integers(0, 256, (size, 16))
        yield block.tobytes()


def send(port, words, size, seconds, seed, out):
    connection, sent, slow = http.client.HTTPConnection("127.0.0.1", port), 0, []
    end = time.monotonic() + seconds
    for body in batches(words, size, seed):
        if time.monotonic() > end:
            break
        begun = time.perf_counter()
        connection.request("POST", "/reports", body, {"Content-Type": "application/octet-stream"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"refused: {answer.status}")
        slow.append(time.perf_counter() - begun)
        sent += size
    connection.close()
    out.append((sent, slow))


def load(port, words, size, seconds, n_senders, seed):
    out, begun = [], time.perf_counter()
    senders = [
        threading.Thread(target=send, args=(port, words, size, seconds, seed + i, out))
        for i in range(n_senders)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    took = time.perf_counter() - begun
    n = sum(sent for sent, _ in out)
    waits = np.sort(np.concatenate([slow for _, slow in out]))
    return n, n / took, 1000 * waits[len(waits) // 2], 1000 * waits[int(0.99 * len(waits))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    words = tuple(f"word{i}" for i in range(asked.words))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "words.txt").write_text("\n".join(words) + "\n")
        store = folder / "reports.db"
        running = {}
        try:
            running["bare endpoint"] = start(["-c", BARE])
            running["collector"] = start(
                [
                    *(
                        "-c",
                        COLLECT,
                        "collect",
                        "--vocabulary",
                        str(folder / "words.txt"),
                        "--store",
                        str(store),
                    ),
                    *(
                        "--channel",
                        f"{CHANNEL.p_threshold},{CHANNEL.q_threshold}",
                        "--port",
                        "0",
                    ),
                ]
            )
            acknowledged = 0
            print(
                f"V = {asked.words}, batches of {asked.batch}, {asked.senders} connections, {os.cpu_count()} cores"
            )
            for turn in range(asked.rounds):
                for name, (_, port) in running.items():
                    n, pace, middle, late = load(
                        port, words, asked.batch, asked.seconds, asked.senders, 100 * turn
                    )
                    acknowledged += n * (name == "collector")
                    print(
                        f"{name:14} {n:>9,} reports  {pace:>9,.0f} a second  "
                        f"median {middle:6.1f} ms  99 % {late:6.1f} ms",
                        flush=True,
                    )
            port = running["collector"][1]
            begun = time.perf_counter()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
            told = {"learnable_from": None, "reports": acknowledged}
            while told["learnable_from"] != told["reports"]:
                connection.request("GET", "/status")
                told = json.loads(connection.getresponse().read())
                time.sleep(0.05)
            connection.close()
            print(f"GET /status, moments brought up to date: {time.perf_counter() - begun:.2f} s")
        finally:
            used = {}
            for name, (process, _) in running.items():
                os.kill(process.pid, signal.SIGTERM)
                process.stdout.close()
                _, code, used[name] = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(code)
        beside = sqlite3.connect(store)
        kept = beside.execute("SELECT count(*) FROM reports").fetchone()[0]
        n_moments = beside.execute("SELECT n FROM moments").fetchone()[0]
        beside.close()
        size = store.stat().st_size
        print(
            f"acknowledged {acknowledged:,}, kept {kept:,}, in the moments {n_moments:,}; {size / kept:.0f} bytes each"
        )
        cpu = used["collector"].ru_utime + used["collector"].ru_stime
        print(
            f"collector: {cpu:.1f} s of CPU from start to end, {1e6 * cpu / kept:.0f} us a report, "
            f"at most {used['collector'].ru_maxrss / 1024:.0f} MB"
        )
        if not acknowledged == kept == n_moments:
            raise SystemExit("the counts differ")


if __name__ == "__main__":
    main()
