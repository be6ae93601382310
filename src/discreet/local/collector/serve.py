"""Run the collector under uvicorn: quiet, bounded, and closing its store when it is told to stop."""

import contextlib
import signal
import socket
import threading

import uvicorn
from starlette.applications import Starlette

from discreet.errors import DiscreetError
from discreet.local.collector.connections import bounded_protocol

__all__ = ["run_server"]

_MOST_CONNECTIONS = 1_000
#: What the system keeps of an answer that is not taken, which it would else let grow to megabytes a connection.
_SENT_AHEAD = 1 << 17
#: Files that are not connections: the store, its log, the standard streams, libraries.
_OTHER_FILES = 100


def _stay(signum: int, frame: object) -> None:
    """Do nothing, so that the store is closed before the process ends."""


def run_server(app: Starlette, host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are finished first.

    Parameters
    ----------
    app : Starlette
    host, port : str and int
        Port 0 takes a free one. The address is printed once the socket listens, and no request is ever logged.

    Raises
    ------
    DiscreetError
        Where nothing can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    with listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENT_AHEAD)
        try:
            listening.bind((host, port))
            listening.listen(1024)
        except OSError as error:
            raise DiscreetError(
                f"cannot listen on {host} port {port}: {error.strerror or error}; --host must be an address of this "
                "machine, and --port a free one (0 takes any)."
            ) from None
        shown = f"[{host}]" if ":" in host else host
        print(f"collecting on http://{shown}:{listening.getsockname()[1]}/", flush=True)
        settings = uvicorn.Config(
            app,
            http=bounded_protocol(_most_connections()),
            access_log=False,
            log_level="error",  # its warnings are of single requests: whoever sends nonsense would fill the log
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=30,
            proxy_headers=False,
            lifespan="on",
            ws="none",
        )
        if threading.current_thread() is threading.main_thread():
            # uvicorn finishes its requests and then raises the signal again; by default that ends the process before
            # the store is closed.
            signal.signal(signal.SIGTERM, _stay)
        uvicorn.Server(settings).run(sockets=[listening])


def _most_connections() -> int:
    """Return how many connections leave enough of the files that this process may have open."""
    with contextlib.suppress(ImportError):  # there is none on Windows
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most > 0:
            return max(min(_MOST_CONNECTIONS, most - _OTHER_FILES), 10)
    return _MOST_CONNECTIONS
