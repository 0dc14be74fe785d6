"""Fix: run a statement in eager mode only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional

import libcst as cst

from ..semantics.modules import SourceModule
from ..text.source import Position, Range
from .edit import Edit, Fix, insertion
from .imports import torch_name

Locate = Callable[[list[cst.CSTNode]], dict[int, Range]]


def skip_while_compiling(
    module: SourceModule, statement: Optional[cst.CSTNode], node: cst.CSTNode, locate: Locate, locale: str
) -> list[Fix]:
    """Put ``if not torch.compiler.is_compiling():`` around a statement that is nothing but the call ``node``.

    The call no longer happens in compiled runs, so the fix is not safe: it is for output that only people read.
    """
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return []
    only = statement.body[0]
    if not isinstance(only, cst.Expr) or only.value is not node:
        return []
    place = locate([statement]).get(id(statement))
    if place is None:
        return []
    start = place.start
    indent = module.source.line(start.line)[: start.column]
    if indent.strip():
        return []
    torch, imports = torch_name(module)
    step = module.tree.default_indent
    newline = module.source.newline
    edits: list[Edit] = [
        *imports,
        insertion(start, f"if not {torch}.compiler.is_compiling():{newline}{indent}{step}"),
        *(_indent_lines(module, place, step)),
    ]
    title = (
        "仅在 eager 模式下执行：`if not torch.compiler.is_compiling()`"
        if locale.startswith("zh")
        else "Run only in eager mode: `if not torch.compiler.is_compiling()`"
    )
    return [Fix(title, tuple(edits), safe=False, preferred=True)]


def _indent_lines(module: SourceModule, place: Range, step: str) -> list[Edit]:
    """Indent the further lines of a statement, unless one begins inside a string (then they stay as they are)."""
    lines = range(place.start.line + 1, place.end.line + 1)
    text = "\n".join(module.source.line(line) for line in range(place.start.line, place.end.line + 1))
    if '"""' in text or "'''" in text or "\\\n" in text:
        return []
    return [insertion(Position(line, 0), step) for line in lines if module.source.line(line).strip()]
