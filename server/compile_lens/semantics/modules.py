"""A parsed file, and the values that its import and top-level statements give to names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

import libcst as cst

from ..text.source import Source
from .scopes import Scope


@dataclass(eq=False)
class SourceModule:
    """One file of the analysed code; compared by identity."""

    source: Source
    tree: cst.Module
    scope: Scope = field(default_factory=Scope)

    @property
    def path(self) -> str:
        return self.source.path


def dotted_name(node: Optional[cst.BaseExpression]) -> str:
    """``a.b.c`` of a chain of names; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if isinstance(node, cst.Name):
        return ".".join([node.value, *reversed(parts)])
    return ""
