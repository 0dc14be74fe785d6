"""The border to torch as a type checker sees it: torch's own annotations are partial, so we take it as ``Any``."""

from __future__ import annotations

import importlib
from typing import Any

torch: Any = importlib.import_module("torch")


def type_of(value: Any) -> Any:
    """``type(value)`` without what a type checker concludes from comparing it."""
    return type(value)
