"""How a name is spelt in a file, and where an import that is missing goes."""

from __future__ import annotations

import libcst as cst

from ..semantics.code import dotted_name
from ..semantics.modules import SourceModule
from ..semantics.values import External
from ..text.positions import locate
from ..text.source import Position, Source
from .edit import Edit, insertion


def torch_name(module: SourceModule) -> tuple[str, list[Edit]]:
    """How to write ``torch`` in this file, and the edit that imports it when it is not imported yet."""
    for name, value in module.scope.names.items():
        if value == External("torch"):
            return name, []
    return "torch", [insertion(import_place(module), "import torch" + module.source.newline)]


def import_place(module: SourceModule) -> Position:
    """Start of the line behind the docstring and ``__future__`` imports, where a plain import may stand."""
    skip = 0
    for index, statement in enumerate(module.tree.body):
        if not isinstance(statement, cst.SimpleStatementLine):
            break
        first = statement.body[0] if statement.body else None
        docstring = (
            index == 0
            and isinstance(first, cst.Expr)
            and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))
        )
        future = isinstance(first, cst.ImportFrom) and dotted_name(first.module) == "__future__"
        if not docstring and not future:
            break
        skip = index + 1
    if skip:
        last = module.tree.body[skip - 1]
        return Position(locate(module.tree, [last], module.source)[id(last)].end.line + 1, 0)
    head = "".join(module.tree.code_for_node(line) for line in module.tree.header)
    return Position(len(Source("", head).line_starts) - 1, 0)
