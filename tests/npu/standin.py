"""What the stand-in driver counted: the truth against which every report is held."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COUNTERS = (
    "captures_begun captures_ended captures_failed replays tasks_captured tasks_replayed launches copies refusals "
    "graphs_alive streams_alive unlisted"
).split()

_driver: Any = None


def driver() -> Any:
    """The driver that this process has loaded."""
    global _driver  # noqa: PLW0603
    if _driver is None:
        _driver = ctypes.CDLL("libascendcl.so")
        _driver.standin_count.restype = ctypes.c_long
        _driver.standin_refused.restype = ctypes.c_long
        _driver.standin_driver.restype = ctypes.c_char_p
    return _driver


def total(name: str) -> int:
    """A counter since the start of the process."""
    value = int(driver().standin_count(name.encode()))
    assert value >= 0, name
    return value


def refused(code: int) -> int:
    """How often the driver has refused with a code."""
    return int(driver().standin_refused(code))


class Counted:
    """How far the counters have moved."""

    def __init__(self) -> None:
        self._begin = {name: total(name) for name in COUNTERS}

    def __getattr__(self, name: str) -> int:
        if name not in COUNTERS:
            raise AttributeError(name)
        return total(name) - self._begin[name]


@contextmanager
def counted() -> Iterator[Counted]:
    """Count what the driver does in the block."""
    yield Counted()
