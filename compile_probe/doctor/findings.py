"""Gathers the report: versions, Ascend's state, cards, compilers. Imports no torch; a card is tried in a child."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from ..ascend import cann, cards, readiness, wheel
from ..ascend.facts import facts_of
from ..ascend.readiness import Readiness
from ..host import memory

PACKAGES = ("torch", "torch_npu", "triton", "triton-ascend", "numpy", "vllm", "vllm-ascend", "transformers")
VARIABLES = (
    *("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "ASCEND_RT_VISIBLE_DEVICES", "LD_LIBRARY_PATH"),
    *("TASK_QUEUE_ENABLE", "PYTORCH_NPU_ALLOC_CONF", "TORCH_DEVICE_BACKEND_AUTOLOAD", "CUDA_VISIBLE_DEVICES"),
    *("TORCH_LOGS", "TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"),
)
"""Variables that change what a probe finds."""


def gather(environ: Mapping[str, str], root: Path = Path("/")) -> tuple[Readiness, dict[str, Any]]:
    """The state of Ascend, and the report as plain values."""
    state = readiness.assess(environ, root)
    seen = cards.find(environ, root)
    toolkit = cann.find(environ, root)
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "interpreter": sys.executable,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()),
        "processors": os.cpu_count(),
        "free_memory": memory.available_bytes(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "compiler": shutil.which(environ.get("CXX", "g++")) or shutil.which("clang++") or "",
        "cann": {"folder": str(toolkit.folder), "version": toolkit.version, "script": str(toolkit.script or "")}
        if toolkit is not None
        else None,
        "driver": cann.driver_version(root),
        "cards": [
            {"number": card.number, "permitted": card.permitted, "holders": [str(one) for one in card.holders]}
            for card in seen.present
        ],
        "cards_blind": seen.blind,
        "visible": list(seen.visible) if seen.visible is not None else None,
        "variables": {name: environ[name] for name in VARIABLES if name in environ},
        "torch_npu": _torch_npu(),
    }
    return state, report


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except (metadata.PackageNotFoundError, ValueError):
        return ""


def _torch_npu() -> Any:
    found = wheel.installed()
    if found is None:
        return None
    facts = facts_of(found)
    return {
        "version": facts.version,
        "requires_torch": facts.requires_torch,
        "backends": facts.backends.names,
        "modes": list(facts.backends.modes),
        "deprecated_modes": list(facts.backends.deprecated_modes),
        "operators": dict(Counter(entry.implementation for entry in facts.operators.values())),
        "converters": dict(Counter(facts.converters.values())),
        "missing": list(facts.missing),
    }
