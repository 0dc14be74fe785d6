"""Keeps what the target prints out of the timed part: how fast a reader drains the pipe is not the target's speed."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator


@contextlib.contextmanager
def silenced() -> Generator[None, None, None]:
    """Let standard output and error end in the null device for a while, where user code has not closed them."""
    saved: list[tuple[int, int]] = []
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            with contextlib.suppress(OSError):
                saved.append((number, os.dup(number)))
                os.dup2(null, number)
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # may be anything that user code put there
                stream.flush()
        for number, copy in saved:
            os.dup2(copy, number)
            os.close(copy)
        os.close(null)
