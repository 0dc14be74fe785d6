"""The border to torch as a type checker sees it: torch's own annotations are partial, so we take it as ``Any``."""

from __future__ import annotations

import importlib
from typing import Any

torch: Any = importlib.import_module("torch")
