"""The processes of a run: found by the marker in their environment, and ended with everything they started.

A child may leave the worker's session and outlive its parent, so neither groups nor parents find it; the environment
that it inherited does. One that drops its environment too is adopted by the supervisor when its parent ends, and found
as a child of ours. Both need Linux and its ``/proc``; elsewhere the worker's process group has to do.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Optional

_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36

GRACE = 2.0
"""Seconds between the request to end and the kill."""


def marked(marker: str) -> set[int]:
    """Process ids of everybody but us who carries ``marker`` (``NAME=value``) in the environment, zombies left out."""
    needle = marker.encode()
    found: set[int] = set()
    for entry in _proc_entries():
        try:
            environ = (_PROC / entry / "environ").read_bytes()
        except OSError:  # ended meanwhile, or not ours to read
            continue
        if needle in environ.split(b"\0"):
            found.add(int(entry))
    found.discard(os.getpid())
    return found


def descendants(root: int) -> set[int]:
    """Process ids of the children of ``root``, theirs, and so on; ``root`` itself not among them."""
    parents: dict[int, list[int]] = {}
    for entry in _proc_entries():
        try:
            fields = (_PROC / entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents.setdefault(int(fields[1]), []).append(int(entry))
    found: set[int] = set()
    queue = [root]
    while queue:
        for child in parents.get(queue.pop(), ()):
            if child not in found:
                found.add(child)
                queue.append(child)
    return found


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, instead of process 1 (Linux)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill(leader: Optional[int], marker: str, grace: float = GRACE, spared: Optional[int] = None) -> None:
    """End the worker ``leader``, its group and all that belongs to the run: ask, wait ``grace`` seconds, kill.

    To the run belongs whoever carries the marker, and whoever descends from us, except ``spared`` and its like. The
    caller must be able to reap ``leader`` afterwards; that it lingers as a zombie is no reason to wait.
    """
    members = functools.partial(_members, marker, spared)
    if grace > 0:
        _send(leader, members(), signal.SIGTERM)
        end = time.monotonic() + grace
        while time.monotonic() < end and members():
            time.sleep(0.02)
    for _ in range(20):  # a fork bomb may outrun one round, not many
        _send(leader, members(), signal.SIGKILL)
        time.sleep(0.01)
        if not members():
            return


def _members(marker: str, spared: Optional[int]) -> set[int]:
    own = descendants(os.getpid())
    if spared is not None:
        own -= descendants(spared) | {spared}
    return marked(marker) | own


def _send(leader: Optional[int], members: Iterable[int], number: int) -> None:
    if leader is not None:
        try:
            if os.getpgid(leader) == leader:  # never our own group, should the worker not have left it yet
                os.killpg(leader, number)
        except (ProcessLookupError, PermissionError):
            pass
    for pid in members:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def _proc_entries() -> list[str]:
    try:
        return [name for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208  (many, often: no Path objects)
    except OSError:
        return []
