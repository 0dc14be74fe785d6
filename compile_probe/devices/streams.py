"""What devices with streams have in common; ``torch.cuda`` and ``torch.npu`` have the same calls for it."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Generator
from typing import Any, ClassVar, Optional

from .graph import Graph, StreamGraph
from .protocol import Device, Event, StreamEvent


class StreamDevice(Device):
    """A card whose work is launched on streams and can be captured from one."""

    real_graphs = True
    graph_class: ClassVar[str]

    def __init__(self, index: str = "0") -> None:
        super().__init__(index)
        self._stream: Optional[Any] = None

    @property
    @abstractmethod
    def api(self) -> Any:
        """``torch.cuda`` or ``torch.npu``."""

    def name(self) -> str:
        return str(self.api.get_device_name(int(self.index)))

    def synchronize(self) -> None:
        self.api.synchronize(int(self.index))

    def free_bytes(self) -> Optional[int]:
        free, _ = self.api.mem_get_info(int(self.index))
        return int(free)

    def allocated_bytes(self) -> Optional[int]:
        return int(self.api.memory_allocated(int(self.index)))

    @property
    def stream(self) -> Any:
        """The one stream on which this device warms up and captures."""
        if self._stream is None:
            self._stream = self.api.Stream(device=int(self.index))
        return self._stream

    @contextlib.contextmanager
    def warm_up(self) -> Generator[None, None, None]:
        before = self.api.current_stream()
        self.stream.wait_stream(before)
        try:
            self.api.set_stream(self.stream)
            yield
        finally:
            self.api.set_stream(before)
            before.wait_stream(self.stream)

    def pool(self) -> Any:
        return self.api.graph_pool_handle()

    def graph(self, pool: Any) -> Graph:
        graph = getattr(self.api, self.graph_class)()
        return StreamGraph(self.api, graph, self.stream, pool, {"capture_error_mode": "thread_local"})

    def event(self) -> Event:
        return StreamEvent(self.api.Event(enable_timing=True))

    def rng_state(self) -> Any:
        return self.api.get_rng_state(int(self.index))

    def set_rng_state(self, state: Any) -> None:
        self.api.set_rng_state(state, int(self.index))
