"""A real deployment on loopback: SuperLink with TLS, two authenticated SuperNodes, ledgers in files, one sum."""

import contextlib
import datetime
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("flwr", reason="needs the extra `federated`")
BIN = Path(sys.executable).parent

SERVER = """
import numpy as np
from discreet.federated.flower import make_server_app
SETTINGS = dict(mechanism="aggregate", n_clients=2, n_topics=2, n_words=20, epsilon=4.0, delta=1e-6,
                vocabulary=[f"w{{i}}" for i in range(20)], allow_unlearnable=True)
app = make_server_app(SETTINGS, lambda state: np.save({out!r}, state.topic_word), keep={out!r} + ".sums", timeout=200)
"""
CLIENT = """
import scipy.sparse as sp
from discreet.federated import vocabulary_digest
from discreet.federated.flower import make_client_app
from discreet.privacy import Ledger

def load(context):
    return sp.load_npz(context.node_config["counts"])

def ledger(context, state):
    return Ledger.open(context.node_config["ledger"], epsilon=4.0, delta=1e-6)

agreed = dict(n_clients=2, tolerated=0, n_words=20, vocabulary=vocabulary_digest(f"w{i}" for i in range(20)))
app = make_client_app(load, ledger, expected=agreed)
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


def _wait(ready, seconds, what):
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, what
        time.sleep(0.5)


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_two_silos_over_tls_with_node_keys(tmp_path):
    from discreet.privacy import Ledger

    app = tmp_path / "app" / "silos"
    app.mkdir(parents=True)
    (tmp_path / "home").mkdir()
    out = tmp_path / "topics.npy"
    (app.parent / "pyproject.toml").write_text(PROJECT)
    (app / "__init__.py").write_text("")
    (app / "server.py").write_text(SERVER.format(out=str(out)))
    (app / "client.py").write_text(CLIENT)
    _certificates(tmp_path)
    rng = np.random.default_rng(0)
    for node in range(2):
        own = np.arange(20) // 10 == rng.integers(2, size=(500, 1))
        rows = sp.csr_matrix((rng.random((500, 20)) < np.where(own, 0.5, 0.05)).astype(np.int32))
        sp.save_npz(tmp_path / f"counts{node}.npz", rows)
    link, *runtime = _free_ports(3)
    address = f"127.0.0.1:{link}"
    (tmp_path / "home" / "config.toml").write_text(
        f'[superlink]\ndefault = "loop"\n[superlink.loop]\naddress = "{address}"\n'
        f'root-certificates = "{tmp_path / "ca.pem"}"\n'
    )
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_HOME": str(tmp_path / "home"), "PATH": path}
    environment = {**os.environ, **quiet}
    tls = ["--ssl-ca-certfile", "ca.pem", "--ssl-certfile", "server.pem", "--ssl-keyfile", "server.key"]
    started = []

    def start(*command):
        with (tmp_path / f"{len(started)}.log").open("w") as log:
            started.append(
                subprocess.Popen(
                    command,
                    cwd=tmp_path,
                    env=environment,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Flower starts helpers of its own: a group each, ended as a whole
                )
            )

    def flwr(*command):
        subprocess.run([BIN / "flwr", *command], cwd=app.parent, env=environment, check=True, timeout=90)

    try:
        start(BIN / "flower-superlink", *tls, "--enable-supernode-auth", "--port", str(link),
              "--disable-runtime-dependency-installation")  # fmt: skip
        _wait(lambda: _listens(link), 60, "the SuperLink did not start")
        for node in range(2):
            flwr("supernode", "register", str(tmp_path / f"node{node}.pub"), "loop")
            config = f'counts="{tmp_path}/counts{node}.npz" ledger="{tmp_path}/ledger{node}.json"'
            start(BIN / "flower-supernode", *tls, "--root-certificates", "ca.pem", "--superlink", address,
                  "--auth-supernode-private-key", f"node{node}.key", "--port", str(runtime[node]),
                  "--node-config", config)  # fmt: skip
        flwr("run", ".", "loop")
        _wait(out.exists, 240, "no topics came")
        time.sleep(1)
        topics = np.load(out)
        assert topics.shape == (2, 20)
        np.testing.assert_allclose(topics.sum(1), 1)
        for node in range(2):
            ledger = Ledger.open(tmp_path / f"ledger{node}.json")
            assert len(ledger.entries) == 1
            assert ledger.spent().epsilon == pytest.approx(4.0, rel=1e-6)
    finally:
        for process in reversed(started):  # only what was started here
            for sent in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, sent)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=10)
