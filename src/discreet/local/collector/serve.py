"""Run the collector under uvicorn: quiet, bounded, and closing its store when it is told to stop."""

import logging
import signal
import socket
import threading

import uvicorn
from starlette.applications import Starlette

from discreet.errors import DiscreetError

__all__ = ["run_server"]

_MOST_CONNECTIONS = 1_000


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
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        settings = uvicorn.Config(
            app,
            access_log=False,
            log_level="warning",
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=30,
            proxy_headers=False,
            lifespan="off",
            ws="none",
        )
        if threading.current_thread() is threading.main_thread():
            # uvicorn finishes its requests and then raises the signal again; by default that ends the process before
            # the store is closed.
            signal.signal(signal.SIGTERM, _stay)
        uvicorn.Server(settings).run(sockets=[listening])
