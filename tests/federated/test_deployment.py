"""Real deployments on loopback: SuperLink with TLS, node keys, ledgers in files; silos, and an evil app."""

import contextlib
import datetime
import ipaddress
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.federated.account import vocabulary_digest
from discreet.privacy import Ledger

pytest.importorskip("flwr", reason="needs the extra `federated`")
BIN = Path(sys.executable).parent

SERVER = """
import numpy as np
from discreet.federated.flower import make_server_app
SETTINGS = dict(n_clients=2, n_topics=2, n_words=20, epsilon=4.0, delta=1e-6,
                vocabulary=[f"w{{i}}" for i in range(20)], allow_unlearnable=True)
app = make_server_app(SETTINGS, lambda state: np.save({out!r}, state.topic_word), keep={out!r} + ".sums", timeout=200)
"""
EVIL_SERVER = """
import json
from flwr.app import Message, RecordDict
from flwr.serverapp import ServerApp
app = ServerApp()

@app.main()
def main(grid, context):
    while len(grid.get_node_ids()) < 2:
        pass
    asked = [Message(RecordDict(), dst_node_id=n, message_type="query") for n in grid.get_node_ids()]
    found = [
        "refused: " + reply.error.reason if reply.has_error() else reply.content["stolen"]["what"]
        for reply in grid.send_and_receive(asked, timeout=100)
    ]
    with open({out!r} + ".new", "w") as file:
        json.dump(found, file)
    import os
    os.rename({out!r} + ".new", {out!r})
"""
EVIL_CLIENT = """
import glob
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp
app = ClientApp()

@app.query()
def steal(message, context):
    import scipy.sparse as sp
    where = context.node_config.get("counts", "nowhere")
    what = f"{int(sp.load_npz(where).sum())} words of {where}"
    return Message(RecordDict({"stolen": ConfigRecord({"what": what})}), reply_to=message)
"""
HASTY_SERVER = """
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp import ServerApp
app = ServerApp()

@app.main()
def main(grid, context):
    while len(grid.get_node_ids()) < 2:
        pass
    def message(node):
        content = RecordDict({"discreet": ConfigRecord({"state": bytes(2_000_000), "client": 0})})
        return Message(content, dst_node_id=node, message_type="query")
    grid.push_messages([message(node) for node in grid.get_node_ids() for _ in range(40)])
    open({out!r}, "w").close()
"""
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "silos"
version = "1.0.0"
license = "Apache-2.0"
dependencies = ["flwr>=1.41"]
[tool.flwr.app]
publisher = "silos"
[tool.flwr.app.components]
serverapp = "silos.server:app"
clientapp = "silos.client:app"
"""


def _certificates(folder):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    def named(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    authority, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    local = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    )
    for file, key, subject, ca in (
        ("ca.pem", authority, "ca", True),
        ("server.pem", server, "localhost", False),
    ):
        made = (
            x509.CertificateBuilder()
            .subject_name(named(subject))
            .issuer_name(named("ca"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - day)
            .not_valid_after(now + day)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(True, False, False, False, False, ca, ca, False, False), critical=True
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False
            )
        )
        made = made if ca else made.add_extension(local, critical=False)
        signed = made.sign(authority, hashes.SHA256())
        (folder / file).write_bytes(signed.public_bytes(form.Encoding.PEM))
    plain = form.NoEncryption()
    kind = form.PrivateFormat.TraditionalOpenSSL
    (folder / "server.key").write_bytes(server.private_bytes(form.Encoding.PEM, kind, plain))
    for node in range(2):
        key = ec.generate_private_key(ec.SECP384R1())
        (folder / f"node{node}.key").write_bytes(
            key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, plain)
        )
        (folder / f"node{node}.pub").write_bytes(
            key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
        )


def _free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Deployment:
    """A SuperLink with TLS and node keys, and whatever a test starts beside it; all of it ended at the end."""

    def __init__(self, folder):
        self.folder, self.started = folder, []
        (folder / "home").mkdir()
        _certificates(folder)
        rng = np.random.default_rng(0)
        for node in range(2):
            own = np.arange(20) // 10 == rng.integers(2, size=(500, 1))
            rows = sp.csr_matrix((rng.random((500, 20)) < np.where(own, 0.5, 0.05)).astype(np.int32))
            sp.save_npz(folder / f"counts{node}.npz", rows)
        (folder / "words.txt").write_text("".join(f"w{i}\n" for i in range(20)))
        self.link, *self.runtime = _free_ports(3)
        self.address = f"127.0.0.1:{self.link}"
        (folder / "home" / "config.toml").write_text(
            f'[superlink]\ndefault = "loop"\n[superlink.loop]\naddress = "{self.address}"\n'
            f'root-certificates = "{folder / "ca.pem"}"\n'
        )
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        quiet = {
            "FLWR_TELEMETRY_ENABLED": "0",
            "PYTHONFAULTHANDLER": "1",
            "FLWR_HOME": str(folder / "home"),
            "PATH": path,
        }
        self.environment = {**os.environ, **quiet}
        self.tls = [
            "--ssl-ca-certfile",
            "ca.pem",
            "--ssl-certfile",
            "server.pem",
            "--ssl-keyfile",
            "server.key",
        ]

    def __enter__(self):
        self.start(BIN / "flower-superlink", *self.tls, "--enable-supernode-auth", "--port", str(self.link),
                   "--disable-runtime-dependency-installation")  # fmt: skip
        self.wait(lambda: _listens(self.link), 60, "the SuperLink did not start")
        for node in range(2):
            self.flwr(self.folder, "supernode", "register", str(self.folder / f"node{node}.pub"), "loop")
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):  # only what was started here
            for sent in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, sent)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=10)

    def start(self, *command):
        # A home each, as on machines of their own: two SuperNodes that install one app into one folder race.
        home = self.folder / f"home{len(self.started)}"
        home.mkdir()
        with (self.folder / f"{len(self.started)}.log").open("w") as log:
            self.started.append(
                subprocess.Popen(
                    command,
                    cwd=self.folder,
                    env={**self.environment, "FLWR_HOME": str(home)},
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Flower starts helpers of its own: a group each, ended as a whole
                )
            )

    def flwr(self, folder, *command):
        subprocess.run([BIN / "flwr", *command], cwd=folder, env=self.environment, check=True, timeout=90)

    def supernode(self, node):
        config = f'counts="{self.folder}/counts{node}.npz" ledger="{self.folder}/ledger{node}.json"'
        self.start(BIN / "flower-supernode", *self.tls, "--root-certificates", "ca.pem",
                   "--superlink", self.address, "--auth-supernode-private-key", f"node{node}.key",
                   "--port", str(self.runtime[node]), "--node-config", config)  # fmt: skip

    def silo(self, node):
        self.start(BIN / "discreet", "silo", "serve", "--counts", f"counts{node}.npz", "--vocabulary", "words.txt",
                   "--ledger", f"ledger{node}.json", "--expect", "tasks.json", "--superlink", self.address,
                   "--root-certificates", "ca.pem", "--node-key", f"node{node}.key", "--epsilon", "4")  # fmt: skip

    def run(self, name, server, client):
        app = self.folder / name / "silos"
        app.mkdir(parents=True)
        (app.parent / "pyproject.toml").write_text(PROJECT)
        (app / "__init__.py").write_text("")
        (app / "server.py").write_text(server)
        (app / "client.py").write_text(client)
        self.flwr(app.parent, "run", ".", "loop")

    def logs_of_runs(self):
        """What the ServerApps wrote, which Flower keeps for itself, and how their runs stand."""
        told = []
        asked = ["list", "loop", "--format", "json"]
        for _ in range(2):
            done = subprocess.run([BIN / "flwr", *asked], cwd=self.folder, env=self.environment, check=False,
                                  timeout=60, capture_output=True, text=True)  # fmt: skip
            told.append(f"--- flwr {' '.join(asked)}\n{done.stdout[-6000:]}{done.stderr[-2000:]}")
            runs = re.findall(r'"run-id": *"?(\d+)', done.stdout)
            if not runs:
                break
            asked = ["log", runs[0], "loop", "--show"]
        return told

    def wait(self, ready, seconds, what):
        """Wait for `ready`; say at once who has ended, and what all have written (no private text is in here)."""
        deadline = time.monotonic() + seconds
        while not ready():
            ended = [process.args[0].name for process in self.started if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = (
                    f"--- {path.name}\n{path.read_text()[-3000:]}"
                    for path in sorted(self.folder.glob("*.log"))
                )
                pytest.fail(
                    "\n".join([f"{what} in {seconds} s; ended: {ended}", *logs, *self.logs_of_runs()])
                )
            time.sleep(0.5)

    def check_topics(self, out):
        self.wait(out.exists, 300, "no topics came")
        time.sleep(1)
        topics = np.load(out)
        assert topics.shape == (2, 20)
        np.testing.assert_allclose(topics.sum(1), 1)
        for node in range(2):
            ledger = Ledger.open(self.folder / f"ledger{node}.json")
            assert len(ledger.entries) == 1
            assert ledger.spent().epsilon == pytest.approx(4.0, rel=1e-6)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_supernode_runs_an_evil_app_and_a_silo_does_not(tmp_path):
    """Who may submit an app reads what a SuperNode can read, TLS and node keys or not; of a silo he gets nothing."""
    words = [f"w{i}" for i in range(20)]
    task = {"n_clients": 2, "tolerated": 0, "n_words": 20, "epsilon": 4.0}
    (tmp_path / "tasks.json").write_text(json.dumps([{**task, "vocabulary": vocabulary_digest(words)}]))
    stolen = tmp_path / "stolen.json"
    with Deployment(tmp_path) as deployment:
        deployment.supernode(0)
        deployment.silo(1)
        deployment.run("evil", EVIL_SERVER.format(out=str(stolen)), EVIL_CLIENT)
        deployment.wait(stolen.exists, 240, "the evil app did not end")
        found = sorted(json.loads(stolen.read_text()))
        truth = int(sp.load_npz(tmp_path / "counts0.npz").sum())
        assert found == [f"{truth} words of {tmp_path}/counts0.npz", "refused: the silo does not answer this"]
        assert not (tmp_path / "ledger1.json").exists() or not Ledger.open(tmp_path / "ledger1.json").entries


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_silos_outlive_a_hasty_run_answer_an_honest_one_and_never_ask_for_its_app(tmp_path):
    words = [f"w{i}" for i in range(20)]
    task = {"n_clients": 2, "tolerated": 0, "n_words": 20, "epsilon": 4.0}
    (tmp_path / "tasks.json").write_text(json.dumps([{**task, "vocabulary": vocabulary_digest(words)}]))
    out, hasty = tmp_path / "topics.npy", tmp_path / "hasty"
    with Deployment(tmp_path) as deployment:
        for node in range(2):
            deployment.silo(node)
        # A run that ends before its messages are fetched, which ended the silos once.
        deployment.run("hasty", HASTY_SERVER.replace("{out!r}", repr(str(hasty))), "app = None\n")
        deployment.wait(hasty.exists, 120, "the hasty app did not end")
        deployment.run(
            "app", SERVER.format(out=str(out)), "app = None\nraise SystemExit('nobody runs this')\n"
        )
        deployment.check_topics(out)
    logs = "".join((tmp_path / f"{n}.log").read_text() for n in (1, 2))
    assert "answered message 5" in logs
    for node in range(2):
        (kept,) = (tmp_path / f"ledger{node}.json.sessions").iterdir()
        assert kept.stat().st_mode & 0o777 == 0o600
        assert b'\\"masker\\": null' in kept.read_bytes()
