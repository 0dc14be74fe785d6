"""How every operator runs on the NPU, from the tables that torch_npu's dispatcher was generated from.

``torch_npu/csrc/aten/npu_native_functions*.yaml`` lie in every wheel. They are flat: sections of entries, an entry is a
name or a few keys. That much of YAML is read here, since the standard library reads none; whatever else a line may be
is passed over.

An operator with both implementations runs as aclnn only while jit_compile is off and, unless it is marked for internal
formats, all its inputs have base formats; else as aclop (``torchnpugen/gen.py`` of the wheels that ship it).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

FILES = ("npu_native_functions.yaml", "npu_native_functions_by_codegen.yaml")

ACLNN, BOTH, ACLOP, OWN = "aclnn", "both", "aclop", "own"
"""Runs as aclnn; as aclnn or aclop; as aclop only; by torch_npu's own code (views, factories, host code)."""


@dataclass(frozen=True)
class Operator:
    """One overload. ``custom``: torch_npu's own (``npu::``), not one of torch's."""

    implementation: str
    internal_formats: bool = False
    """Its aclnn implementation takes tensors in internal formats too."""
    custom: bool = False


def read_operators(package: Path) -> dict[str, Operator]:
    """``{"add.Tensor": Operator, ...}``, from all tables of an installed torch_npu. Raises `OSError` without tables."""
    found: dict[str, Operator] = {}
    for name in FILES:
        text = (package / "csrc" / "aten" / name).read_text(encoding="utf-8")
        for section, entry in _entries(text):
            signature = entry.get("func", "")
            overload = signature.partition("(")[0].strip()
            if overload:
                new = _operator(section, entry)
                old = found.get(overload)
                found[overload] = new if old is None else _joined(old, new)
    return found


def _operator(section: str, entry: dict[str, str]) -> Operator:
    spaces = {part.strip() for part in entry.get("impl_ns", "").split(",")}
    if entry.get("op_api", "").lower() == "true":
        spaces.add("op_api")
    aclnn, aclop = "op_api" in spaces, "acl_op" in spaces
    implementation = BOTH if aclnn and aclop else ACLNN if aclnn else ACLOP if aclop else OWN
    return Operator(implementation, entry.get("internal_format_opapi", "").lower() == "true", section == "custom")


def _joined(a: Operator, b: Operator) -> Operator:
    """Two entries of one overload: what either says holds."""
    if a.implementation in (OWN, b.implementation):
        implementation = b.implementation
    elif b.implementation == OWN:
        implementation = a.implementation
    else:
        implementation = BOTH
    return replace(
        b,
        implementation=implementation,
        internal_formats=a.internal_formats or b.internal_formats,
        custom=a.custom or b.custom,
    )


_SECTION = re.compile(r"^([A-Za-z_]+):\s*$")
_ITEM = re.compile(r"^\s*-\s+(.*\S)\s*$")
_KEY = re.compile(r"^([A-Za-z_]+):(?:\s+(.*))?$")


def _entries(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Section and keys of every entry. A name alone is an entry with ``func``."""
    section, entry = "", dict[str, str]()
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        heading, item = _SECTION.match(line), _ITEM.match(line)
        if heading or item:
            if entry:
                yield section, entry
            entry = {}
        if heading:
            section = heading[1]
        content = item[1] if item else line.strip()
        key = _KEY.match(content)
        if key and section and not heading:
            entry.setdefault(key[1], (key[2] or "").strip().strip("'\""))
        elif item:
            entry = {"func": content.strip("'\"")}
    if entry:
        yield section, entry
