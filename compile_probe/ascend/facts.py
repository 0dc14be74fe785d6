"""All facts of an installed torch_npu in one record, kept in a cache under the digest of the wheel's RECORD.

Reading a wheel takes seconds (a thousand converter files are parsed), reading the cache milliseconds. The record also
crosses the process border to a language server: `as_json` and `from_json`.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Optional

from .backends import Backends, read_backends
from .converters import read_converters
from .operators import Operator, read_operators
from .wheel import Wheel

SCHEMA = 1


@dataclass(frozen=True)
class Facts:
    """What one torch_npu has. ``missing``: sentences about what could not be read."""

    version: str
    requires_torch: str
    backends: Backends = field(default_factory=Backends)
    operators: dict[str, Operator] = field(default_factory=dict[str, Operator])
    converters: dict[str, str] = field(default_factory=dict[str, str])
    missing: tuple[str, ...] = ()


def facts_of(wheel: Wheel, cache: Optional[Path] = None) -> Facts:
    """Facts of a wheel: from the cache if its RECORD is known there, else read and kept.

    ``cache``: folder of the cache, `default_cache` if not given. One that cannot be written is no error.
    """
    key = wheel.record_key
    path = (cache or default_cache()) / f"torch_npu-{key[:32]}-{SCHEMA}.json" if key else None
    if path is not None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            return from_json(json.loads(path.read_text(encoding="utf-8")))
    facts = read_facts(wheel)
    if path is not None:
        with suppress(OSError):
            _write(path, json.dumps(as_json(facts), separators=(",", ":")))
    return facts


def read_facts(wheel: Wheel) -> Facts:
    """Read the files of a wheel."""
    missing: list[str] = []
    operators: dict[str, Operator] = {}
    converters: dict[str, str] = {}
    try:
        operators = read_operators(wheel.package)
    except OSError as error:
        missing.append(f"how operators run (aclnn or aclop) is not known: {error.strerror}: {error.filename}")
    try:
        converters = read_converters(wheel.package)
    except OSError as error:
        missing.append(f"which operators torchair converts is not known: {error}")
    return Facts(wheel.version, wheel.requires_torch, read_backends(wheel), operators, converters, tuple(missing))


def default_cache() -> Path:
    """Where facts are kept for this user."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")  # noqa: PTH111, PTH118
    return Path(base) / "compile-lens"


def as_json(facts: Facts) -> dict[str, Any]:
    """A record of plain values: operators as ``{name: [implementation, internal_formats, custom]}``."""
    plain = asdict(facts)
    plain["operators"] = {
        name: [entry.implementation, entry.internal_formats, entry.custom] for name, entry in facts.operators.items()
    }
    return plain


def from_json(plain: dict[str, Any]) -> Facts:
    """The inverse of `as_json`. Raises `KeyError` or `TypeError` for anything else."""
    backends = plain["backends"]
    return Facts(
        plain["version"],
        plain["requires_torch"],
        Backends(dict(backends["names"]), tuple(backends["modes"]), dict(backends["deprecated_modes"])),
        {name: Operator(*entry) for name, entry in plain["operators"].items()},
        dict(plain["converters"]),
        tuple(plain["missing"]),
    )


def _write(path: Path, text: str) -> None:
    """Replace a file as a whole: two processes may write it at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        raise
