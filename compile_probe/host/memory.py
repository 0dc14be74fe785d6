"""Memory of this machine: what can still be had, and what processes use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Optional

from .processes import descendants

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def available_bytes() -> Optional[int]:
    """Memory that can still be had: the system's, or what the control group leaves if that is less."""
    available: list[int] = []
    try:
        for line in (_PROC / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                available.append(int(line.split()[1]) * 1024)
    except OSError:
        return None
    try:
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            available.append(int(limit) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):
        pass
    return max(0, min(available)) if available else None


def resident_bytes(root: int) -> int:
    """Memory in use by ``root`` and its descendants, shared pages counted for each; 0 where it cannot be known."""
    return sum(_resident(pid) for pid in {root} | descendants(root))


def _resident(pid: int) -> int:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
