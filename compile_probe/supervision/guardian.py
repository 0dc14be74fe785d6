"""A process that outlives the supervisor by a moment, to clear up after it whatever way it ended.

A supervisor killed with SIGKILL cannot end its worker, and a worker that merely notices it cannot end the children
that left its session. The guardian holds one end of a pipe; when the other end closes, it kills everything that
carries the marker of the run and removes the run's folder.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

from ..host import processes


class Guardian:
    """Owns the pipe whose end is the end of the run; ``dismiss`` ends the run and waits until all is cleared."""

    def __init__(self, folder: Path, marker: str) -> None:
        """Fork; call it before any thread is started and before the worker is."""
        reading, self._writing = os.pipe()
        os.set_inheritable(self._writing, False)
        self._pid = os.fork()
        if self._pid == 0:
            try:
                _wait_and_clear(reading, folder, marker)
            finally:
                os._exit(0)
        os.close(reading)

    @property
    def pid(self) -> int:
        """The process to spare while the rest of the run is ended."""
        return self._pid

    def dismiss(self) -> None:
        """Have everything cleared now; returns when it is."""
        os.close(self._writing)
        os.waitpid(self._pid, 0)


def _wait_and_clear(reading: int, folder: Path, marker: str) -> None:
    """The life of the guardian. It keeps none of the supervisor's descriptors: a reader waits for their end."""
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    kept = os.dup2(reading, 3)
    os.closerange(4, 4096)
    while os.read(kept, 1):
        pass
    processes.kill(None, marker, grace=0)
    shutil.rmtree(folder, ignore_errors=True)
