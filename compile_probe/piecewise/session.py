"""What the runners of one compiled target share: the device and its pool, when to capture, whose memory is whose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from ..devices import Device
from .pieces import CaptureKey

FREQUENT = 3
"""Calls with one key after which it is captured without having been declared."""

MOST_RECAPTURES = 3
"""Changes of a weight's address after which a key is not captured again."""


@dataclass
class Policy:
    """When a key is captured: declared ones at their second call, others when they are frequent; None: never."""

    declared: frozenset[int] = frozenset()
    frequent: Optional[int] = FREQUENT
    limit: Optional[int] = None
    clone_outputs: bool = True
    prove: bool = True
    """Replay every capture once over poisoned outputs and compare, where replaying twice changes nothing."""

    def due(self, key: CaptureKey, calls: int) -> bool:
        """Whether the call with this number (from 1) should capture."""
        if any(isinstance(size, int) and size in self.declared for size in key) and calls >= 2:
            return True
        return self.frequent is not None and calls > self.frequent


@dataclass
class Session:
    """State of all runners of one compiled target in this process."""

    device: Device
    policy: Policy = field(default_factory=Policy)
    graphs: int = 0
    building: int = 0
    broken: str = ""
    """Why nothing is captured any more: a failed capture may leave the driver in any state."""

    owned: dict[int, int] = field(default_factory=dict[int, int])
    """Addresses of memory that the next replay overwrites, with the number of captures that hold it."""

    _pool: Any = None

    @property
    def pool(self) -> Any:
        """The memory pool of all graphs of this target: they are replayed one after the other."""
        if self._pool is None:
            self._pool = self.device.pool()
        return self._pool

    def refusal(self) -> str:
        """Why nothing may be captured now; empty if it may."""
        if self.broken:
            return self.broken
        most = self.policy.limit if self.policy.limit is not None else self.device.most_graphs
        if self.graphs >= most:
            return f"the limit of {most} captured graphs is reached"
        return ""

    def own(self, tensor: Any) -> None:
        """Note that a tensor lies in memory of a capture."""
        address = tensor.untyped_storage().data_ptr()
        if address:
            self.owned[address] = self.owned.get(address, 0) + 1

    def disown(self, tensor: Any) -> None:
        """Take that back when the capture is dropped."""
        address = tensor.untyped_storage().data_ptr()
        left = self.owned.get(address, 0) - 1
        if left > 0:
            self.owned[address] = left
        else:
            self.owned.pop(address, None)

    def owns(self, tensor: Any) -> bool:
        """Whether the next replay may overwrite a tensor."""
        return tensor.untyped_storage().data_ptr() in self.owned
