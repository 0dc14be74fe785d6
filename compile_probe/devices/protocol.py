"""What the probe asks of a device."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Optional

from .graph import Graph


class Device(ABC):
    """One device; ``torch_name`` is what torch calls it, ``label`` what a user reads beside a number."""

    kind: ClassVar[str]

    graph_name: ClassVar[str]
    """What a captured graph is called here: ``CUDA graph``, ``ACL graph``, ``stand-in``."""

    real_graphs: ClassVar[bool]
    """Whether replaying is the device's own work, so that its time means something."""

    most_graphs: ClassVar[int] = 256
    """Graphs that are captured before the rest is refused; each one holds memory, and streams on an NPU."""

    def __init__(self, index: str = "0") -> None:
        self.index = index

    @property
    def stand_in(self) -> bool:
        """Whether its driver only stands in for one: calls are counted, and no time means anything."""
        return False

    @property
    def torch_name(self) -> str:
        """The name for ``torch.device``."""
        return f"{self.kind}:{self.index}"

    @property
    def label(self) -> str:
        """The name in front of a ratio: ``CPU``, ``CUDA``, ``NPU``."""
        return self.kind.upper() + (" (stand-in)" if self.stand_in else "")

    @abstractmethod
    def name(self) -> str:
        """What the hardware calls itself."""

    @abstractmethod
    def reason_unusable(self) -> Optional[str]:
        """None if it can be used now, else the reason, for a sentence."""

    def indices(self) -> list[str]:
        """All devices of the kind, by torch's index."""
        return ["0"]

    def occupied(self) -> Optional[str]:
        """Who else uses it, as far as it can tell; None if nobody does."""
        return None

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until all work that was handed over is done."""

    @abstractmethod
    def free_bytes(self) -> Optional[int]:
        """Memory that can still be had on it, where that is known."""

    @abstractmethod
    def allocated_bytes(self) -> Optional[int]:
        """Memory that torch's allocator has handed out on it, where that is known."""

    @abstractmethod
    def warm_up(self) -> contextlib.AbstractContextManager[Any]:
        """The stream of captures as current stream, so that what is set up once per stream is set up there."""

    @abstractmethod
    def pool(self) -> Any:
        """A new memory pool that several graphs share; they are replayed one after the other."""

    @abstractmethod
    def graph(self, pool: Any) -> Graph:
        """A new graph that takes its memory from ``pool``."""

    @abstractmethod
    def event(self) -> Event:
        """A point in the work of the current stream whose time can be asked for."""

    @abstractmethod
    def rng_state(self) -> Any:
        """The state of its default generator of random numbers."""

    @abstractmethod
    def set_rng_state(self, state: Any) -> None:
        """Put a state of the generator back."""

    def explain(self, error: BaseException) -> Optional[str]:
        """A sentence with a remedy for an error of its driver that is known, else None."""
        del error
        return None


class Event(ABC):
    """A point in the work of a stream."""

    @abstractmethod
    def record(self) -> None:
        """Set it behind everything that was handed over so far."""

    @abstractmethod
    def milliseconds_until(self, later: Any) -> float:
        """Device time between this event and a later one; waits for the later one."""


class StreamEvent(Event):
    """An event of ``torch.cuda`` or ``torch.npu``."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def record(self) -> None:
        self.event.record()

    def milliseconds_until(self, later: Any) -> float:
        later.event.synchronize()
        return float(self.event.elapsed_time(later.event))
