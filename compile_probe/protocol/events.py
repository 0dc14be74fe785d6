"""The words of the event stream (docs/protocol.md, section 2): types, stages, statuses, and the JSON of one line."""

from __future__ import annotations

import json
import math
from typing import Any, cast

VERSION = 1

STAGES = ("load", "inputs", "eager", "trace", "compile", "check", "capture", "measure")
"""Stages in their order."""

STATUSES = ("ok", "needs-inputs", "error", "timeout", "crashed", "cancelled", "out-of-memory")
"""What a ``done`` event can say."""

EXIT_CODES = {"ok": 0, "needs-inputs": 3}
"""Exit code of ``run`` by status; a status that is not here exits with 1."""

EXIT_USAGE = 2
EXIT_UNMEASURED = 3


def encode(event: dict[str, Any]) -> str:
    """One line of JSON without its line end; numbers that JSON has not (NaN, infinities) become null."""
    return json.dumps(_finite(event), ensure_ascii=False, default=str, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in cast("list[Any]", value)]
    return value
