"""An NVIDIA (or ROCm) card. Unverified: written from torch's documentation, not yet run on one."""

from __future__ import annotations

from typing import Any, Optional

from ..untyped import torch
from .streams import StreamDevice


class Cuda(StreamDevice):
    """One card as ``torch.cuda`` knows it; visibility variables are torch's business and stay in force."""

    kind = "cuda"
    graph_name = "CUDA graph"
    graph_class = "CUDAGraph"

    @property
    def api(self) -> Any:
        return torch.cuda

    def reason_unusable(self) -> Optional[str]:
        if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
            return f"this torch ({torch.__version__}) is built without CUDA."
        if not torch.cuda.is_available():
            return "torch.cuda.is_available() is False: no card, or a driver that does not fit."
        count = torch.cuda.device_count()
        if int(self.index) >= count:
            return f"there are {count} visible cards, counted from 0."
        return None
