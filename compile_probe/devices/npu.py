"""An Ascend NPU through torch_npu. Unverified: written from its sources, not yet run on hardware."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Optional

from ..untyped import torch
from .streams import StreamDevice


class Npu(StreamDevice):
    """One card as ``torch.npu`` knows it, after ``import torch_npu``."""

    kind = "npu"
    graph_name = "ACL graph"
    graph_class = "NPUGraph"
    most_graphs = 32

    @property
    def api(self) -> Any:
        """``torch.npu``, which torch_npu puts there."""
        return torch.npu

    def reason_unusable(self) -> Optional[str]:
        if importlib.util.find_spec("torch_npu") is None:
            return "torch_npu is not installed in this environment."
        try:
            importlib.import_module("torch_npu")
        except (ImportError, OSError, RuntimeError) as error:
            remedy = " Has CANN's set_env.sh been sourced?" if "lib" in str(error) else ""
            return f"import torch_npu fails: {error}.{remedy}"
        if not self.api.is_available():
            return "torch.npu.is_available() is False: no card, no driver, or no permission for /dev/davinci*."
        count = self.api.device_count()
        if int(self.index) >= count:
            return f"there are {count} visible cards, counted from 0."
        return None
