"""Fix: a choice between two values by tensor data, written with ``torch.where``."""

from __future__ import annotations

from typing import Optional

import libcst as cst

from ..semantics.modules import SourceModule
from .edit import Edit, Fix
from .guard import Locate
from .imports import torch_name


def where_instead(
    module: SourceModule, statement: Optional[cst.CSTNode], node: cst.CSTNode, locate: Locate, locale: str
) -> list[Fix]:
    """``if t: y = a`` / ``else: y = b`` (or ``return``) as ``torch.where(t, a, b)``.

    Both sides are computed then, and must be tensors or numbers of one shape; so the fix is not safe.
    """
    if not isinstance(statement, cst.If) or statement.test is not node or not isinstance(statement.orelse, cst.Else):
        return []
    then, other = _one_line(statement.body), _one_line(statement.orelse.body)
    if then is None or other is None:
        return []
    code = module.tree.code_for_node
    prefix: Optional[str] = None
    values: tuple[cst.BaseExpression, ...] = ()
    if isinstance(then, cst.Return) and isinstance(other, cst.Return) and then.value and other.value:
        prefix, values = "return ", (then.value, other.value)
    elif isinstance(then, cst.Assign) and isinstance(other, cst.Assign):
        targets = [code(side.targets[0].target) for side in (then, other)]
        if len(then.targets) == len(other.targets) == 1 and targets[0] == targets[1]:
            prefix, values = f"{targets[0]} = ", (then.value, other.value)
    if prefix is None or any(isinstance(value, (cst.Tuple, cst.Yield, cst.GeneratorExp)) for value in values):
        return []
    ranges = locate([statement, node, *values])
    place = ranges.get(id(statement))
    if place is None or not module.source.text.startswith("if", module.source.offset(place.start)):
        return []  # an ``elif`` belongs to the statement above
    if any(_has_comment(part) for part in (statement.body, statement.orelse, node)):
        return []  # the rewrite would lose it
    torch, imports = torch_name(module)
    condition, *sides = (module.source.between(ranges[id(part)]) for part in (node, *values))
    text = f"{prefix}{torch}.where({condition}, {sides[0]}, {sides[1]})"
    title = (
        "改用 `torch.where`（两边都会计算）" if locale.startswith("zh") else "Use `torch.where` (computes both sides)"
    )
    return [Fix(title, (*imports, Edit(place, text)), safe=False, preferred=True)]


def _one_line(body: object) -> Optional[cst.BaseSmallStatement]:
    """The only statement of a suite, if it is a simple one."""
    statements = getattr(body, "body", None)
    if statements is None or len(statements) != 1:
        return None
    line = statements[0]
    if isinstance(line, cst.SimpleStatementLine):
        return line.body[0] if len(line.body) == 1 else None
    return line if isinstance(line, cst.BaseSmallStatement) else None


def _has_comment(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Comment) or any(map(_has_comment, node.children))
