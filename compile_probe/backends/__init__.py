"""What a target can be compiled with: candidates for speed, and the layers below them for finding faults."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import Any, Callable, Optional

from ..errors import UnavailableError
from ..untyped import torch

CANDIDATES = ("inductor",)
"""What is measured when no backend is named."""

LAYERS = ("eager", "aot_eager")
"""Dynamo alone, and Dynamo with AOTAutograd: no faster by design, but they tell which layer a fault is in."""


@dataclass(frozen=True)
class Backend:
    """A backend by torch's name for it."""

    name: str

    def reason_unusable(self, device: str) -> Optional[str]:
        """None if it can compile for ``device`` here, else the reason with the remedy."""
        if self.name in LAYERS:
            return None
        if self.name == "inductor":
            return _inductor_on_cpu() if device == "cpu" else None
        known: list[str] = torch._dynamo.list_backends(exclude_tags=())
        if self.name not in known:
            return f"torch has no backend {self.name!r}; it has {', '.join(known)}."
        return None

    def compile(self, target: Callable[..., Any]) -> Callable[..., Any]:
        """``torch.compile`` in default mode."""
        compiled: Callable[..., Any] = torch.compile(target, backend=self.name)
        return compiled


def choose(name: str, device: str) -> Backend:
    """Return a backend that can be used.

    :raises UnavailableError: with the reason
    """
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
