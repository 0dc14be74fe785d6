"""The device of a probe: one small adapter each, chosen by what can really be used here."""

from __future__ import annotations

from ..errors import UnavailableError
from .cpu import Cpu
from .cuda import Cuda
from .npu import Npu
from .occupancy import choose_index
from .protocol import Device

ORDER: tuple[type[Device], ...] = (Npu, Cuda, Cpu)
"""The order of ``auto``."""

__all__ = ["ORDER", "Cpu", "Cuda", "Device", "Npu", "choose"]


def choose(name: str) -> Device:
    """Return the device called ``npu``, ``cuda`` or ``cpu``, with an index if wanted (``cuda:1``), or the best one.

    :raises UnavailableError: it is not there, with the reason
    """
    kind, _, index = name.partition(":")
    if kind == "auto":
        usable = next(cls for cls in ORDER if cls("0").reason_unusable() is None)
        return usable(_index(usable, ""))
    for cls in ORDER:
        if cls.kind == kind:
            device = cls(index or "0")
            reason = device.reason_unusable()
            if reason is not None:
                raise UnavailableError(f"The device {name} cannot be used: {reason}", remedy="Choose another --device.")
            return cls(_index(cls, index))
    kinds = ", ".join(cls.kind for cls in ORDER)
    raise UnavailableError(f"There is no device {name!r}.", remedy=f"Known are auto, {kinds}.")


def _index(cls: type[Device], index: str) -> str:
    return choose_index(cls.kind, index, cls("0").indices(), lambda one: cls(one).occupied())
