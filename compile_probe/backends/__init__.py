"""What a target can be compiled with: candidates for speed, and the layers below them for finding faults."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from typing import Any, Callable, Optional

from ..errors import UnavailableError
from ..untyped import torch
from . import torch_npu

AUTO = "auto"
"""What is measured when no backend is named: Inductor, and on an NPU the first of torch_npu's that can be used."""

LAYERS = ("eager", "aot_eager")
"""Dynamo alone, and Dynamo with AOTAutograd: no faster by design, but they tell which layer a fault is in."""


_PACKAGES = {"tvm": "tvm", "openxla": "torch_xla"}
"""Backends that torch registers although they live elsewhere."""


@dataclass(frozen=True)
class Backend:
    """A backend by torch's name for it."""

    name: str

    def reason_unusable(self, device: str) -> Optional[str]:
        """None if it can compile for ``device`` here, else the reason with the remedy."""
        if self.name in LAYERS:
            return None
        if self.name == "inductor":
            return _inductor_on_cpu() if device == "cpu" else torch_npu.inductor_reason() if device == "npu" else None
        if self.name.startswith(torch_npu.PREFIX) or self.name in (*torch_npu.found().names, *torch_npu.ORDER):
            return torch_npu.reason_unusable(self.name, device)
        if self.name == "cudagraphs" and device != "cuda":
            return f"it is registered, and works for CUDA only, not for {device}."
        package = _PACKAGES.get(self.name)
        if package is not None and importlib.util.find_spec(package) is None:
            return f"it is registered, and needs the package {package}, which is not installed."
        known: list[str] = torch._dynamo.list_backends(exclude_tags=())
        if self.name not in known:
            return f"torch has no backend {self.name!r}; it has {', '.join(known)}."
        return None

    def compile(self, target: Callable[..., Any]) -> Callable[..., Any]:
        """``torch.compile`` in default mode."""
        compiled: Callable[..., Any] = torch.compile(target, backend=torch_npu.make(self.name))
        return compiled


def listed(device: str) -> list[tuple[str, Optional[str]]]:
    """Every backend that there is by name, with the reason where it cannot be used for ``device``; None: available."""
    names = [*LAYERS, "inductor", *torch_npu.names()]
    names += [name for name in torch._dynamo.list_backends() if name not in names]
    return [(name, Backend(name).reason_unusable(device)) for name in names]


def choose(name: str, device: str) -> Backend:
    """Return a backend that can be used; ``auto`` is the best one for the device.

    :raises UnavailableError: with the reason
    """
    if name == AUTO:
        order = torch_npu.ORDER if device == "npu" else ("inductor",)
        usable = (one for one in order if Backend(one).reason_unusable(device) is None)
        name = next(usable, order[0])
    backend = Backend(name)
    reason = backend.reason_unusable(device)
    if reason is not None:
        raise UnavailableError(f"The backend {name} cannot be used: {reason}", stage="compile")
    return backend


def _inductor_on_cpu() -> Optional[str]:
    """Inductor's CPU code is C++: without a compiler every compilation fails, late and at length."""
    named = os.environ.get("CXX")
    candidates = (named,) if named else ("g++", "clang++", "c++")
    if sys.platform == "win32" or any(shutil.which(candidate) for candidate in candidates):
        return None
    if named:
        return f"the C++ compiler named by CXX ({named}) is not there."
    return "it needs a C++ compiler and finds none; install g++ (Debian, Ubuntu: apt install g++)."
