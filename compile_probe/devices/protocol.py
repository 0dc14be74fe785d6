"""What the probe asks of a device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Optional


class Device(ABC):
    """One device; ``torch_name`` is what torch calls it, ``label`` what a user reads beside a number."""

    kind: ClassVar[str]

    def __init__(self, index: str = "0") -> None:
        self.index = index

    @property
    def torch_name(self) -> str:
        """The name for ``torch.device``."""
        return f"{self.kind}:{self.index}"

    @property
    def label(self) -> str:
        """The name in front of a ratio: ``CPU``, ``CUDA``, ``NPU``."""
        return self.kind.upper()

    @abstractmethod
    def name(self) -> str:
        """What the hardware calls itself."""

    @abstractmethod
    def reason_unusable(self) -> Optional[str]:
        """None if it can be used now, else the reason, for a sentence."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until all work that was handed over is done."""

    @abstractmethod
    def free_bytes(self) -> Optional[int]:
        """Memory that can still be had on it, where that is known."""
