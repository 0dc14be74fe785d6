"""One file of the analysed code: its text and its tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

import libcst as cst

from ..text.source import Source


@dataclass(eq=False)
class Code:
    """The text of a file and what it parses to; compared by identity."""

    source: Source
    tree: cst.Module
    derived: dict[str, Any] = field(default_factory=dict[str, Any], init=False, repr=False)
    """What was worked out from it when somebody asked, by who works it out. It goes with the file: a table of files
    elsewhere, weak or not, would keep every file whose entry leads back to it."""

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
