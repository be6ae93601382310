"""Files written whole or not at all, and locks: one place for what a crash, or another program, must not break.

A file is written under another name in the same folder, flushed to the disk, and renamed; then the folder is flushed,
so that the name is on the disk, too. Whoever opens it, and whoever looks after a crash, finds the older file or the
newer one. An error leaves nothing else behind; a process that is killed may leave a hidden file that ends in
``.partial``, which can be deleted.

Windows has no locks on open files that leave them readable, renames nothing over an open file, and opens no folders.
There a lock is a file beside the one it guards, and names are left to the system to flush.

Small files that list something, one entry a line (groups, names, words, edits, secrets), have one reader, so that what
an editor of any system saves means the same everywhere: Windows Notepad puts a byte-order mark first, which would else
be a part of the first entry.
"""

import errno
import json
import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn

from discreet._base.validate import path_shown
from discreet.errors import ParameterError, Part, ReleaseError

#: Writes the content of a file to what it is given.
Writer = Callable[[IO[bytes]], object]

_PRIVATE, _SHOWN = 0o600, 0o644
_LONGEST_NAME = 50  # characters, of up to four bytes


def write_whole(
    raw: bytes, path: Path, thing: str, *, secret: bool = False, instead: str | None = None
) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    raw : bytes
    path : Path
    thing : str
        What is written, for error messages.
    secret : bool, default False
        Let nobody but the owner read it, even where the older file could be read by others.
    instead : str, optional
        An older file there is replaced; where this says what to do instead, only if it is empty.

    Raises
    ------
    ReleaseError
        Where the path is a folder, or must not be replaced, or its parent does not exist or takes no new files.
    """
    path = path.absolute()
    if path.is_dir():
        raise ReleaseError(f"cannot write {thing}: {path} is a folder; name a file in it.")
    if instead is not None and path.exists() and not (path.is_file() and path.stat().st_size == 0):
        raise ReleaseError(f"cannot write {thing}: {path} exists already; {instead}.")
    if not path.parent.is_dir():
        raise ReleaseError(f"cannot write {thing}: the folder {path.parent} does not exist; make it first.")
    try:
        write_file(path, lambda file: file.write(raw), mode=_PRIVATE if secret else None)
    except FileNotFoundError:  # of a folder that is there, such as /proc
        raise ReleaseError(
            f"cannot write {thing}: {path.parent} takes no new files; name another place."
        ) from None


def page_or_none(
    page: str, path: str | Path | None, thing: str, *, overwrite: bool, secret: bool = False
) -> str | None:
    """Return a page, or write it where a path is given; ``overwrite``: over what stands there, too."""
    if path is None:
        return page
    instead = None if overwrite else "name another file, or pass overwrite=True"
    write_whole(page.encode(), Path(path), thing, secret=secret, instead=instead)
    return None


def write_file(
    path: Path, writer: Writer, *, mode: int | None = _PRIVATE, before: Callable[[], None] | None = None
) -> None:
    """Write one file whole or not at all; see :func:`write_files`."""
    write_files([(path, writer)], mode=mode, before=before)


def write_files(
    parts: Iterable[tuple[Path, Writer]],
    *,
    mode: int | None = _PRIVATE,
    before: Callable[[], None] | None = None,
) -> None:
    """Write files, each whole or not at all; all are complete on the disk before the first takes its place.

    Parameters
    ----------
    parts : iterable of (path, writer)
        The places, in the order in which they are taken, and what writes each file.
    mode : int or None
        Who may read and write them. None: as the file that is replaced has it; a new one may be read by all
        whom the user's umask lets.
    before : callable, optional
        Called when all are complete; what it raises leaves everything as it was.

    Raises
    ------
    OSError
        Where the disk is full, or may not be written.
    """
    complete: list[tuple[Path, Path]] = []
    try:
        for path, writer in parts:
            target = path.absolute()
            temporary = target.with_name(f".{target.name[:_LONGEST_NAME]}.{secrets.token_hex(8)}.partial")
            kept = _mode_of(target) if mode is None else mode
            handle = os.open(temporary, _NEW, _SHOWN if kept is None else _PRIVATE)
            complete.append((temporary, target))
            with os.fdopen(handle, "wb") as file:
                writer(file)
                file.flush()
                os.fsync(file.fileno())
            if kept is not None:
                os.chmod(temporary, kept)  # noqa: PTH101  (one door to the system)
        if before is not None:
            before()
        for temporary, target in complete:
            os.replace(temporary, target)  # noqa: PTH105
    finally:
        for temporary, _ in complete:
            temporary.unlink(missing_ok=True)
    for folder in dict.fromkeys(target.parent for _, target in complete):
        flush_folder(folder)


_NEW = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", getattr(os, "O_NOINHERIT", 0))
)


def _mode_of(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def flush_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system can do that."""
    flag = getattr(os, "O_DIRECTORY", None)
    if flag is None:
        return
    handle = os.open(folder, os.O_RDONLY | flag)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot
            raise
    finally:
        os.close(handle)


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file for reading: no link, nothing that blocks or never ends.

    Raises
    ------
    OSError
        ``ELOOP`` for a link, ``EINVAL`` for what is no plain file.
    """
    safe = [getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")]
    if not safe[0] and path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    handle = os.open(path, os.O_RDONLY | safe[0] | safe[1] | safe[2] | safe[3])
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no plain file")
    return os.fdopen(handle, "rb")


def hold_folder(folder: Path) -> int:
    """Open a folder that is no link, and lock it for as long as the handle is open.

    Raises
    ------
    BlockingIOError
        Where somebody else holds it.
    OSError
        Where it cannot be opened, or the system locks no folders.
    """
    if not has_handle_locks():
        raise OSError(errno.ENOTSUP, "this system locks no folders")
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def has_handle_locks() -> bool:
    """Whether an open file, or folder, can be locked and replaced meanwhile."""
    try:
        import fcntl
    except ImportError:
        return False
    return hasattr(fcntl, "flock")


@contextmanager
def lock_handle(handle: int) -> Generator[None]:
    """Hold the lock on an open file or folder; it ends with the process, however that ends."""
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        # Closing is not enough: a process forked meanwhile holds the same open file, and with it the lock.
        fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def lock_beside(path: Path) -> Generator[None]:
    """Hold a lock by a file beside the one it guards; it ends with the process, however that ends."""
    guard = path.absolute().with_name(f".{path.name}.lock")
    with guard.open("ab") as lock:
        alone = lock_handle(lock.fileno()) if has_handle_locks() else _windows_lock(lock)
        with alone:
            yield


@contextmanager
def _windows_lock(lock: IO[bytes]) -> Generator[None]:
    try:
        import msvcrt as system
    except ImportError:
        raise OSError(errno.ENOTSUP, "this system has no locks on files") from None
    msvcrt: Any = system
    while True:
        lock.seek(0)
        try:
            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)  # tries for ten seconds
            break
        except OSError as error:
            if error.errno not in (errno.EDEADLK, errno.EACCES):
                raise
    try:
        yield
    finally:
        lock.seek(0)
        msvcrt.locking(lock.fileno(), msvcrt.LK_UNLCK, 1)


_LARGEST = 2**24


def read_list(path: str | os.PathLike[str], *called: Part) -> list[str]:
    """Return the entries of a file: as :func:`list_lines`, without empty ones."""
    return [line for line in list_lines(path, *called) if line]


def list_lines(path: str | os.PathLike[str], *called: Part) -> list[str]:
    """Return the lines of a file, without blanks around them.

    Parameters
    ----------
    path : path
        A file of UTF-8 text, with or without a byte-order mark.
    *called : str or Parameter
        What was to be read from there, for errors.

    Raises
    ------
    ParameterError
        Where it cannot be read, is no UTF-8 text or takes more than 16 MiB; shows nothing that stands in it.
    """
    raw, fault = b"", ""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError as error:
        fault = f"cannot be read ({error.strerror or type(error).__name__})"
    text = ""
    if not fault and len(raw) > _LARGEST:
        fault = "is too large for a list; name another file"
    elif not fault:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:  # which would show the bytes
            fault = "must be UTF-8 text, one entry per line; save it as UTF-8"
        if "\0" in text:
            fault = "must be UTF-8 text, one entry per line, but holds zero bytes"
    if fault:
        raise ParameterError(*called, f": {path_shown(path)} {fault}.")
    return [line.strip() for line in text.splitlines()]


def read_json(text: bytes | str) -> Any:
    """Return the values in JSON text, of which there is one reading.

    Raises
    ------
    ValueError
        Where it cannot be read, has NaN or an infinity, which JSON has not, or has a name twice in one object, at any
        depth: readers differ in which of the two counts. Says what it holds, and shows nothing of it.
    """
    twice: list[bool] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            twice.append(True)
        return value

    def refuse(name: str) -> NoReturn:
        raise ValueError(name)

    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise ValueError("JSON that cannot be read") from None
    if twice:
        raise ValueError("a name twice")
    return value


def checksum_of(content: Mapping[str, Any]) -> str:
    """Return a digest of values in their one canonical form; none where JSON cannot hold them."""
    try:
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return ""
    return blake2b(canonical.encode(), digest_size=16).hexdigest()
