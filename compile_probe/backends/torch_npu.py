"""The backends that come with torch_npu, each only where the installed wheel has it; and which of them ``auto`` takes.

torchair's modes are named ``torchair:MODE``, since ``reduce-overhead`` is a mode of Inductor too. ``npugraph_ex`` and
``npugraphs`` are backends of their own. What a wheel has is read from its files (``.postN`` decides), not listed here.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Optional

from ..ascend import driver
from ..ascend.backends import Backends, read_backends
from ..ascend.wheel import installed
from ..untyped import torch

PREFIX = "torchair:"
ORDER = ("npugraph_ex", "torchair:reduce-overhead", "npugraphs", "aot_eager")
"""What ``auto`` takes on an NPU: the first that can be used. ``npugraph_ex`` is what torchair calls the successor of
its reduce-overhead; max-autotune compiles with CANN's graph engine, which takes long, so it is only taken by name."""
GRAPH_ENGINE = "max-autotune"


def found() -> Backends:
    """What the installed wheel has; nothing without one."""
    wheel = installed()
    return read_backends(wheel) if wheel is not None else Backends()


def names() -> list[str]:
    """All names that the installed wheel gives: torchair's modes, then its registered backends."""
    there = found()
    modes = [f"{PREFIX}{mode}" for mode in there.modes if mode not in there.names]
    return [*modes, *sorted(there.names)]


def reason_unusable(name: str, device: str) -> Optional[str]:
    """None if the backend of torch_npu can compile for ``device`` here, else the reason."""
    wheel = installed()
    if wheel is None:
        return "it comes with torch_npu, which is not installed."
    there = read_backends(wheel)
    mode = name.removeprefix(PREFIX) if name.startswith(PREFIX) else ""
    if mode and mode not in there.modes:
        modes = ", ".join(there.modes) or "none"
        return f"torchair of torch_npu {wheel.version} has no mode {mode}; it has {modes}."
    if not mode and name not in there.names:
        return f"torch_npu {wheel.version} does not have it; it has {', '.join(names()) or 'none'}."
    if device != "npu":
        return f"it is registered, and compiles for the NPU only, not for {device}."
    if (mode == GRAPH_ENGINE or name == "npu") and driver.is_stand_in():
        return "it needs CANN's graph engine, which the stand-in driver does not have."
    missing = [package for package in ("packaging", "google.protobuf") if not _importable(package)]
    if missing:
        return (
            f"torchair needs {' and '.join(missing)}, which torch_npu does not install; pip install protobuf packaging."
        )
    return None


def deprecation(name: str) -> str:
    """What torchair says of a mode that it calls deprecated; empty for others."""
    return found().deprecated_modes.get(name.removeprefix(PREFIX), "") if name.startswith(PREFIX) else ""


def make(name: str) -> Any:
    """The backend for ``torch.compile``.

    Importing torchair replaces signal handlers of the process and cannot follow a use of npugraph_ex: for workers only.
    """
    if not name.startswith(PREFIX):
        return name
    torchair: Any = importlib.import_module("torchair")
    config = torchair.CompilerConfig()
    config.mode = name.removeprefix(PREFIX)
    return torchair.get_npu_backend(compiler_config=config)


def inductor_reason() -> Optional[str]:
    """Why Inductor cannot compile for the NPU here, or None."""
    if importlib.util.find_spec("triton") is None:
        return (
            f"Inductor compiles for the NPU through triton-ascend, which is not installed (torch {torch.__version__})."
        )
    return None


def _importable(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False
