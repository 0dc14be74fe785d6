"""Keeps the result of a probe, keyed by the content of all traced files, the inputs, the versions and the device."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

from .database import Result, Store
from .place import store_file


def keep(file: str, target: str, done: dict[str, Any]) -> list[str]:
    """Put the ``done`` event of a probe into the store; notes for the user about what went wrong with that."""
    result: dict[str, Any] = done.get("result") or {}
    if done.get("status") == "cancelled" or result.get("graphs") is None:
        return []
    path = Path(file).resolve()
    try:
        with Store(store_file(path)) as store:
            store.keep_result(
                Result(
                    file=str(path),
                    target=target,
                    time=time.time(),
                    status=str(done.get("status")),
                    content=content_of(result),
                    source=str(result.get("source") or ""),
                    device=str(result.get("device") or ""),
                    versions=dict(result.get("versions") or {}),
                    result=brief(result),
                )
            )
            return list(store.notes)
    except (OSError, sqlite3.Error) as error:
        return [f"the result is not kept: {error}"]


def content_of(result: dict[str, Any]) -> str:
    """A hash of what the result depends on: traced files by content, inputs, versions, device."""
    parts = [result.get("sources"), result.get("inputs"), result.get("versions"), result.get("device")]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def brief(result: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a result: counts, places and numbers."""
    breaks: list[dict[str, Any]] = result.get("breaks") or []
    return {
        "graphs": result.get("graphs"),
        "breaks": [{key: one.get(key) for key in ("file", "line", "gb_id", "gb_type")} for one in breaks],
        "recompiles": len(result.get("recompiles") or []),
        "check": result.get("check"),
        "inputs": result.get("inputs"),
        "measurements": result.get("measurements") or [],
    }
