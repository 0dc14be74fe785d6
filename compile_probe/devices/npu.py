"""An Ascend NPU through torch_npu. Unverified: written from its sources, not yet run on hardware."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Optional

from ..untyped import torch
from .protocol import Device


class Npu(Device):
    """One card as ``torch.npu`` knows it, after ``import torch_npu``."""

    kind = "npu"

    def name(self) -> str:
        return str(self._api().get_device_name(int(self.index)))

    def reason_unusable(self) -> Optional[str]:
        if importlib.util.find_spec("torch_npu") is None:
            return "torch_npu is not installed in this environment."
        try:
            importlib.import_module("torch_npu")
        except (ImportError, OSError, RuntimeError) as error:
            remedy = " Has CANN's set_env.sh been sourced?" if "lib" in str(error) else ""
            return f"import torch_npu fails: {error}.{remedy}"
        if not self._api().is_available():
            return "torch.npu.is_available() is False: no card, no driver, or no permission for /dev/davinci*."
        count = self._api().device_count()
        if int(self.index) >= count:
            return f"there are {count} visible cards, counted from 0."
        return None

    def synchronize(self) -> None:
        self._api().synchronize(int(self.index))

    def free_bytes(self) -> Optional[int]:
        free, _ = self._api().mem_get_info(int(self.index))
        return int(free)

    @staticmethod
    def _api() -> Any:
        """``torch.npu``, which torch_npu puts there."""
        return torch.npu
