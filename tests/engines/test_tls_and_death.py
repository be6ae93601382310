"""A scheduler over TLS, one that dies, and a worker that is slow."""

import datetime
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from ipaddress import ip_address

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.central.test_sharded import corpus, fit, in_memory
from tests.engines.counting_tasks import Numbers, slow_value, start, step

from discreet import EngineError, Ledger, PrivateLDA
from discreet.corpus import write_shards
from discreet.engines import DaskEngine, StateStore

# The warnings are of Dask, not ours.
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]


def certificates(folder):
    """Write ca.pem, cert.pem and key.pem, as `openssl` would: one certificate for all, signed by an authority."""
    folder.mkdir()
    now = datetime.datetime.now(datetime.UTC)

    def named(name):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

    def signed(subject, key, signer, is_authority):
        made = x509.CertificateBuilder().subject_name(named(subject)).issuer_name(named("authority"))
        made = made.public_key(key.public_key()).serial_number(x509.random_serial_number())
        made = made.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
        made = made.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        return made.add_extension(names, critical=False).sign(signer, hashes.SHA256())

    authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(signed("authority", authority, authority, True).public_bytes(pem))
    (folder / "cert.pem").write_bytes(signed("discreet", own, authority, False).public_bytes(pem))
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(own.private_bytes(pem, *plain))
    return folder


@contextmanager
def commands(folder, tls=None, n_workers=1):
    """Run `dask scheduler` and `dask worker`, as a team would; gives the address and the scheduler's process."""
    pytest.importorskip("distributed", reason="needs the extra scale: pip install discreet[scale]")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    scheme = "tcp" if tls is None else "tls"
    address = f"{scheme}://127.0.0.1:{port}"
    pems = {"ca-file": "ca", "cert": "cert", "key": "key"}
    secured = [] if tls is None else [f"--tls-{name}={tls / file}.pem" for name, file in pems.items()]
    environment = os.environ | {"DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "0"}
    running = []

    def run(what, *arguments):
        line = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *secured, *arguments]
        with (folder / f"{what}.log").open("ab") as log:
            running.append(subprocess.Popen(line, stdout=log, stderr=log, env=environment, cwd=folder))
        return running[-1]

    try:
        scheduler = run("scheduler", f"--host={address}")
        for _ in range(n_workers):
            run("worker", address, "--nthreads=1", "--no-nanny", "--memory-limit=0", "--death-timeout=60")
        for _ in range(300):
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield address, scheduler
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


@contextmanager
def engine_at(address, tls=None):
    """The engine of a client of that scheduler, with the certificates of a folder, as on the page of clusters."""
    distributed = pytest.importorskip("distributed")
    security = tls and distributed.Security(
        tls_ca_file=str(tls / "ca.pem"),
        tls_client_cert=str(tls / "cert.pem"),
        tls_client_key=str(tls / "key.pem"),
        require_encryption=True,
    )
    with distributed.Client(address, security=security, timeout="20s") as client:
        yield DaskEngine(client)


def test_a_fit_over_tls_and_nobody_without_a_certificate(tmp_path):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=500)
    tls = certificates(tmp_path / "tls")
    with commands(tmp_path, tls) as (address, _):
        with engine_at(address, tls) as engine:
            assert engine.client.scheduler.address.startswith("tls://")
            assert fit(shards, engine=engine) == in_memory()
        with (
            pytest.raises(OSError, match="TLS certificate does not match"),
            engine_at(address, certificates(tmp_path / "others")),
        ):
            pass


def test_a_scheduler_that_dies_ends_the_fit_and_the_cost_stays_booked(tmp_path):
    shards = write_shards(corpus(), tmp_path / "s", shard_documents=500)
    ledger = Ledger(4.0, 1e-6)
    with commands(tmp_path) as (address, scheduler):

        def kill(stage, done, total):
            if (stage, done) == ("training rounds", 1):
                os.kill(scheduler.pid, signal.SIGKILL)
                scheduler.wait()

        with engine_at(address) as engine:
            assert isinstance(engine, DaskEngine)
            engine.patience = 5.0
            model = PrivateLDA(
                3, epsilon=4.0, ledger=ledger, engine=engine, callback=kill, allow_unlearnable=True
            )
            with pytest.raises(
                EngineError, match=r"lost its workers, or its scheduler|does not answer|in reach"
            ):
                model.fit(shards)
    assert len(ledger.entries) == 1
    assert not hasattr(model, "release_")


def test_a_slow_worker_changes_nothing(client):
    """One of two workers takes half a second a task: others help, and each shard counts once."""
    slow = min(client.run(os.getpid).values())
    shards = [Numbers(f"shard {i}", i) for i in range(12)]
    engine, run = DaskEngine(client), StateStore(start)
    assert engine.map_sum(slow_value, shards, slow).tolist() == [66, 12]
    assert (engine.map_sum(step, shards, 5, states=run) == 3 * 66 + 12 * 5).all()
    engine.forget(run)
    assert np.array_equal(engine.map_sum(slow_value, shards, slow), [66, 12])
