"""The worker's private line to its supervisor; survives user code that closes descriptors, and forks.

A named pipe in the run's folder, held on a high descriptor number and opened again by its path if user code closed
it: ``os.closerange(3, 65536)`` is a habit of programs that turn themselves into daemons.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from typing import Any, Optional

from .events import encode
from .job import EVENT_PIPE

_HIGH = 200
"""Above what ``for fd in range(3, 64)`` reaches, below the usual limit of 256 or 1024 descriptors."""


def move_high(descriptor: int) -> int:
    """Duplicate a descriptor to a high number that children do not inherit, and close the low one."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    os.close(descriptor)
    return high


class Channel:
    """Sends events, each one line of JSON. Only the process that opened it sends: a fork of user code stays silent."""

    def __init__(self, folder: Path) -> None:
        self._path = str((folder / EVENT_PIPE).absolute())  # the user may change the directory
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self.always: dict[str, Any] = {}
        """Keys that every event from now on has."""
        self._descriptor: Optional[int] = None
        self._identity: tuple[int, int] = (0, 0)
        self._open()

    def send(self, kind: str, /, **keys: Any) -> None:
        """Send one event; blocks while the supervisor is behind."""
        if os.getpid() != self._owner:
            return
        data = (encode({"type": kind, **({} if kind.startswith("_") else self.always), **keys}) + "\n").encode(
            "utf-8", "backslashreplace"
        )
        with self._lock:
            if not self._is_ours():
                self._open()
            descriptor = self._descriptor
            if descriptor is None:
                return
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]

    @property
    def is_owner(self) -> bool:
        """False in a process that user code forked off."""
        return os.getpid() == self._owner

    def _open(self) -> None:
        self._descriptor = move_high(os.open(self._path, os.O_WRONLY))
        status = os.fstat(self._descriptor)
        self._identity = (status.st_dev, status.st_ino)

    def _is_ours(self) -> bool:
        """Whether the number still stands for our pipe: user code may have closed it, and something else reused it."""
        if self._descriptor is None:
            return False
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity
