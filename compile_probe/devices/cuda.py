"""An NVIDIA (or ROCm) card. Unverified: written from torch's documentation, not yet run on one."""

from __future__ import annotations

from typing import Optional

from ..untyped import torch
from .protocol import Device


class Cuda(Device):
    """One card as ``torch.cuda`` knows it; visibility variables are torch's business and stay in force."""

    kind = "cuda"

    def name(self) -> str:
        return str(torch.cuda.get_device_name(int(self.index)))

    def reason_unusable(self) -> Optional[str]:
        if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
            return f"this torch ({torch.__version__}) is built without CUDA."
        if not torch.cuda.is_available():
            return "torch.cuda.is_available() is False: no card, or a driver that does not fit."
        count = torch.cuda.device_count()
        if int(self.index) >= count:
            return f"there are {count} visible cards, counted from 0."
        return None

    def synchronize(self) -> None:
        torch.cuda.synchronize(int(self.index))

    def free_bytes(self) -> Optional[int]:
        free, _ = torch.cuda.mem_get_info(int(self.index))
        return int(free)
