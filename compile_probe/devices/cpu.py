"""The processor: always there, nothing to wait for."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Optional

from ..host import memory
from .protocol import Device


class Cpu(Device):
    """All processors together; torch knows only one CPU device."""

    kind = "cpu"

    @property
    def torch_name(self) -> str:
        return "cpu"

    def name(self) -> str:
        try:
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        except OSError:
            pass
        return platform.processor() or platform.machine()

    def reason_unusable(self) -> Optional[str]:
        return None

    def synchronize(self) -> None:
        """Calls have done their work when they return."""

    def free_bytes(self) -> Optional[int]:
        return memory.available_bytes()
