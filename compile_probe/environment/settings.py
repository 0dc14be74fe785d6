"""What changes what compile does: variables of the environment, and options that differ from torch's defaults.

Seen on 2.13 and 2.7.1: options live in modules of the class ``torch.utils._config_module.ConfigModule``, which knows
with ``_is_default(name)`` what was changed; on 2.5.1 it has ``_default`` in its place. Assignments pass
``ConfigModule.__setattr__`` on all of them. ``eval_frame._stance`` holds what ``torch.compiler.set_stance`` said (2.6).
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from ..observe.patches import Patches
from ..targets.ownership import is_user_file
from ..untyped import torch

MODULES = {"torch._dynamo.config": "dynamo", "torch._inductor.config": "inductor"}
"""The modules with options, and what we call them in front of an option."""

PREFIXES = ("TORCH", "PYTORCH_", "TRITON_", "INDUCTOR_")
_OURS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
_CHANGING = ("CXX", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")

DISABLING = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")

Place = tuple[str, int]


@dataclass
class Assignments:
    """Where user code last assigned an option, by ``dynamo.suppress_errors``, and what held before it ran.

    Make it right after torch is imported: torch itself assigns some of its options.
    """

    before: dict[str, str] = field(default_factory=lambda: options())  # noqa: PLW0108  (defined below)
    places: dict[str, Place] = field(default_factory=lambda: {})

    def changed(self) -> dict[str, str]:
        """The options that are other now than torch's defaults and than after the import; the environment's not."""
        return {name: value for name, value in options().items() if self.before.get(name) != value}

    def watch(self, patches: Patches) -> None:
        """Notice assignments for the life of ``patches``."""
        kind: Any = type(importlib.import_module("torch._dynamo.config"))
        patches.wrap(
            kind, "__setattr__", functools.partial(_watching, self.places), "who changed an option is not seen"
        )


def _watching(places: dict[str, Place], original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def setattr_(self: Any, name: str, value: Any) -> None:
        original(self, name, value)
        prefix = MODULES.get(str(getattr(self, "__name__", "")))
        place = _user_place() if prefix else None
        if prefix and place:
            places[f"{prefix}.{name}"] = place

    return setattr_


def _user_place() -> Optional[Place]:
    frame: Any = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def variables(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that change what compile does; those that the probe itself sets for its caches left out."""
    return {
        name: value
        for name, value in sorted(given.items())
        if (name.startswith(PREFIXES) or name in _CHANGING) and name not in _OURS
    }


def options() -> dict[str, str]:
    """The options of Dynamo and Inductor that differ from torch's defaults, as text, by ``dynamo.NAME``."""
    found: dict[str, str] = {}
    for name, prefix in MODULES.items():
        module: Any = importlib.import_module(name)
        for option in sorted(_names(module)):
            try:
                if not _is_default(module, option):
                    found[f"{prefix}.{option}"] = repr(getattr(module, option))
            except Exception:  # aliases of modules that are not there, values whose comparison raises
                continue
    return found


def _names(module: Any) -> list[str]:
    known: Any = getattr(module, "_config", {})
    return [str(name) for name in known]


def _is_default(module: Any, option: str) -> bool:
    told: Any = getattr(module, "_is_default", None)
    if told is not None:
        return bool(told(option))
    return bool(module._config[option] == module._default[option])


def disabled() -> bool:
    """Whether Dynamo is switched off as a whole."""
    config: Any = torch._dynamo.config
    return bool(getattr(config, "disable", False)) or os.environ.get(DISABLING[0]) == "1"


def stance() -> str:
    """What ``torch.compiler.set_stance`` said last; ``default`` where this torch has none."""
    return str(getattr(getattr(torch._dynamo.eval_frame, "_stance", None), "stance", "default"))
