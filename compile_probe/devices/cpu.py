"""The processor: always there, nothing to wait for."""

from __future__ import annotations

import contextlib
import platform
import time
from pathlib import Path
from typing import Any, Optional

from ..host import memory
from ..untyped import torch
from .graph import Graph, StandInGraph
from .protocol import Device, Event


class Cpu(Device):
    """All processors together; torch knows only one CPU device."""

    kind = "cpu"
    graph_name = "stand-in"
    real_graphs = False

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

    def allocated_bytes(self) -> Optional[int]:
        return None

    def warm_up(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def pool(self) -> Any:
        return None

    def graph(self, pool: Any) -> Graph:
        return StandInGraph()

    def event(self) -> Event:
        return _Moment()

    def rng_state(self) -> Any:
        return torch.get_rng_state()

    def set_rng_state(self, state: Any) -> None:
        torch.set_rng_state(state)


class _Moment(Event):
    """The clock: work on a CPU is done when its call returns."""

    def __init__(self) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def milliseconds_until(self, later: Any) -> float:
        return 1e3 * (later.at - self.at)
