"""A PostgreSQL server for the tests, of their own, in an empty folder."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path


def programs():
    """Return the folder of initdb and postgres, or None."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


class Server:
    """A server that listens on a socket in a folder of its own; never on a network."""

    def __init__(self, folder):
        self.bin, self.folder = programs(), folder
        # The server refuses to run as root.
        self.user = None
        if os.geteuid() == 0:
            self.user = next(n for n in ("postgres", "nobody") if n in {u.pw_name for u in pwd.getpwall()})
            os.chown(folder, pwd.getpwnam(self.user).pw_uid, -1)
        self.url = f"postgresql://tester@/postgres?host={folder}&port=54329"
        self._run([self.bin / "initdb", "-D", folder / "data", "-U", "tester", "-A", "trust", "-N"])
        self.start()

    def _run(self, command):
        subprocess.run(command, user=self.user, cwd=self.folder, check=True, capture_output=True, timeout=120)

    def start(self):
        command = [self.bin / "postgres", "-D", "data", "-k", self.folder, "-p", "54329", "-h", ""]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(command, user=self.user, cwd=self.folder, stdout=log, stderr=log)
        import psycopg

        end = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < end
                time.sleep(0.05)

    def stop(self, how=signal.SIGINT):
        """SIGINT is the quick way that asks nobody; SIGQUIT is a crash."""
        self.process.send_signal(how)
        self.process.wait(60)


@contextlib.contextmanager
def running():
    """Start a server in a folder of its own, and end it."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    server = None
    try:
        server = Server(folder)
        yield server
    finally:
        if server is not None and server.process.poll() is None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
