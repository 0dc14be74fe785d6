"""An Ascend NPU through torch_npu. Run over the stand-in driver of the tests; never run on hardware."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Optional

from ..ascend import driver
from ..untyped import torch
from . import npu_errors
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

    @property
    def stand_in(self) -> bool:
        return driver.is_stand_in()

    def name(self) -> str:
        return super().name() + (" (stand-in driver)" if self.stand_in else "")

    def indices(self) -> list[str]:
        return [str(index) for index in range(self.api.device_count())]

    def occupied(self) -> Optional[str]:
        """Others' share of its memory, where it is most of it: whoever holds that also computes."""
        free, total = self.api.mem_get_info(int(self.index))
        held = total - free - self.api.memory_reserved(int(self.index))
        return f"others: {100 * held / total:.0f} % of its memory is taken" if held > 0.5 * total else None

    def explain(self, error: BaseException) -> Optional[str]:
        return npu_errors.explain(str(error))

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
