"""One lock a card, across all users of a host: two measurements on one card are worth nothing.

A lock is a file in the system's temporary folder, held with ``flock``: it ends with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Optional

_held: list[int] = []
"""Descriptors of locks that this process holds until it ends."""


def folder() -> Path:
    """Where the lock files lie: writable for all, like the temporary folder itself."""
    return Path(tempfile.gettempdir()) / "compile-lens-locks"


def take(card: str) -> Optional[str]:
    """Lock a card such as ``npu-3`` until this process ends; ``None``, or who holds it, for a sentence.

    A lock that cannot be made (a read-only host) locks nothing: that is no reason not to measure.
    """
    try:
        descriptor = _open(folder() / f"{card}.lock")
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
        os.close(descriptor)
        return holder or "another probe"
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"another probe (pid {os.getpid()})\n".encode(), 0)
    _held.append(descriptor)
    return None


def _open(path: Path) -> int:
    """Open a lock file of any user, never through a link that somebody laid there."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileExistsError):
        path.parent.mkdir(mode=0o777)
        path.parent.chmod(0o1777)  # whatever the umask
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        with suppress(OSError):
            os.fchmod(descriptor, 0o666)
        return descriptor
