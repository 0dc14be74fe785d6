"""CL601: a branch on a dynamic shape where guards are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

import libcst as cst

from ..semantics.contracts import Contract
from ..semantics.frames import Frame
from ..semantics.operations import Branch, Operation
from ..semantics.values import Tensor, Value, options
from .rule import Context, Example, Hit, Rule, Text

HEADER = """
import torch
from torch import nn
from vllm.compilation.decorators import support_torch_compile
"""
"""How the examples of vLLM's contracts begin."""


class ContractShapeBranch(Rule):
    """Code that vLLM compiles once takes the branch of its first call's shape for ever."""

    code = "CL601"
    name = "contract-shape-branch"
    effect = "wrong-result"
    summary = Text("branch on a dynamic shape in code whose guards are dropped", "守卫被丢弃的代码按动态形状分支")
    explanation = """\
`@support_torch_compile` compiles `forward` once and drops every guard. Dynamo takes the branch that fits the shape of
the first call and guards on it; without the guard every later call takes the same branch, whatever its shape. Nothing
is raised: the result is wrong.

Decide outside the decorated class, or put the branch into a custom operator (`torch.library.custom_op`), which runs as
it is written.
"""
    operations = (Branch,)
    invalid = (
        Example(
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()

    def forward(self, x: torch.Tensor):
        if x.shape[0] > 4:
            return x * 2
        return x * 3

def assertion(captured_operations):
    block = Block()
    assert torch.equal(block(torch.ones(8, 4)), torch.full((8, 4), 2.0))
    assert torch.equal(block(torch.ones(2, 4)), torch.full((2, 4), 2.0)), "eager gives 3"
""",
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()

    def forward(self, x: torch.Tensor, scale: torch.Tensor):
        return x * scale

def assertion(captured_operations):
    block = Block()
    for rows, factor in ((8, 2.0), (2, 3.0)):
        assert torch.equal(block(torch.ones(rows, 4), torch.tensor([factor])), torch.full((rows, 4), factor))
""",
        ),
        Example(
            HEADER
            + """
@support_torch_compile(dynamic_arg_dims={"x": 1})
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()

    def forward(self, x: torch.Tensor):
        rows, tokens = x.shape
        scale = 2.0 if tokens > 16 else 3.0
        return x * scale

def assertion(captured_operations):
    block = Block()
    assert float(block(torch.ones(1, 32)).max()) == 2.0
    assert float(block(torch.ones(1, 8)).max()) == 2.0, "eager gives 3"
""",
        ),
    )
    valid = (
        Example(
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()
        self.norm = nn.LayerNorm(4)

    def forward(self, x: torch.Tensor):
        if x.shape[-1] > 4:
            return x * 4
        assert x.shape[0] > 0
        y = self.norm(x)
        if y.shape[0] != x.shape[0]:
            return y
        return x * 3

def assertion(captured_operations):
    block = Block()
    for rows in (8, 2):
        assert float(block(torch.ones(rows, 4)).max()) == 3.0
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if context.contract is None or not isinstance(operation, Branch):
            return
        if operation.kind in ("assert", "comprehension") or _only_raises(operation.statement):
            return
        what = _dynamic_size(operation.node, operation.frame, context.contract)
        if what is None:
            return
        in_root = operation.frame.name == context.contract.root
        yield Hit(
            operation.node,
            Text(
                f"`{what}` changes from call to call, and this branch is taken as at the first call for ever: "
                "vLLM drops the guards, so the result is silently wrong",
                f"`{what}` 每次调用可能不同，但 vLLM 丢弃守卫，此分支将始终沿用首次调用的走向，结果会悄悄出错",
            ),
            Text(
                "decide outside the decorated class, or in a custom operator", "在被装饰的类之外判断，或放入自定义算子"
            ),
            (),
            operation.sure and in_root,
        )


def _only_raises(statement: Optional[cst.CSTNode]) -> bool:
    """``if ...: raise``: a check of the arguments, which nobody misses."""
    if not isinstance(statement, cst.If) or statement.orelse is not None:
        return False
    body = statement.body.body
    last = body[-1] if body else None
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Raise)


class _Sizes(cst.CSTVisitor):
    """Collects ``(text, name, dimension)`` of sizes of tensors that an expression reads."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[tuple[str, str, Optional[int]]] = []
        self.names: list[str] = []

    def visit_Subscript(self, node: cst.Subscript) -> bool:
        owner = _shape_owner(node.value)
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if owner and isinstance(index, cst.Index):
            number = _integer(index.value)
            if number is not None:
                self.sizes.append((f"{owner}.shape[{number}]", owner, number))
            return False
        return True

    def visit_Call(self, node: cst.Call) -> bool:
        function = node.func
        if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Name):
            owner = function.value.value
            if function.attr.value == "size" and len(node.args) == 1:
                number = _integer(node.args[0].value)
                if number is not None:
                    self.sizes.append((f"{owner}.size({number})", owner, number))
                return False
            if function.attr.value == "numel":
                self.sizes.append((f"{owner}.numel()", owner, None))
                return False
        if isinstance(function, cst.Name) and function.value == "len" and len(node.args) == 1:
            argument = node.args[0].value
            if isinstance(argument, cst.Name):
                self.sizes.append((f"len({argument.value})", argument.value, 0))
            return False
        return True

    def visit_Name(self, node: cst.Name) -> None:
        self.names.append(node.value)


def _dynamic_size(condition: cst.CSTNode, frame: Frame, contract: Contract) -> Optional[str]:
    """The size in a condition that may change from call to call, as it is written."""
    visitor = _Sizes()
    condition.visit(visitor)
    sizes = list(visitor.sizes)
    for name in visitor.names:
        sizes += [(name, owner, number) for owner, number in _assigned_size(frame, name)]
    if len({owner for _, owner, _ in sizes}) > 1:
        return None  # sizes compared with each other: how tensors relate seldom changes from call to call
    in_root = frame.name == contract.root
    for text, owner, number in sizes:
        if not _is_data(frame.scope.get(owner)):
            continue
        dimensions = (number,) if number is not None else tuple(range(8))
        if any(contract.varies(owner, dimension, in_root) for dimension in dimensions):
            return text
    return None


def _is_data(value: Optional[Value]) -> bool:
    """Is it a tensor, and no parameter of the model?"""
    return value is not None and any(isinstance(choice, Tensor) and not choice.parameter for choice in options(value))


def _assigned_size(frame: Frame, name: str) -> list[tuple[str, int]]:
    """``(owner, dimension)`` where a local name was assigned from a size: ``n = x.shape[0]``, ``b, n = x.shape``."""
    if frame.function is None or not isinstance(frame.function.node, cst.FunctionDef):
        return []
    found: list[tuple[str, int]] = []
    for body in frame.function.node.body.body:
        if not isinstance(body, cst.SimpleStatementLine):
            continue
        for statement in body.body:
            if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
                continue
            target, value = statement.targets[0].target, statement.value
            if isinstance(target, cst.Name) and target.value == name:
                visitor = _Sizes()
                value.visit(visitor)
                if isinstance(value, (cst.Subscript, cst.Call)):
                    found += [(owner, number) for _, owner, number in visitor.sizes if number is not None]
            elif isinstance(target, cst.Tuple):
                owner = _shape_owner(value)
                if (
                    not owner
                    and isinstance(value, cst.Call)
                    and not value.args
                    and isinstance(value.func, cst.Attribute)
                ):
                    is_size = value.func.attr.value == "size" and isinstance(value.func.value, cst.Name)
                    owner = value.func.value.value if is_size and isinstance(value.func.value, cst.Name) else ""
                for position, element in enumerate(target.elements):
                    if owner and isinstance(element.value, cst.Name) and element.value.value == name:
                        found.append((owner, position))
    return found


def _shape_owner(node: cst.BaseExpression) -> str:
    """``x`` of ``x.shape``."""
    if isinstance(node, cst.Attribute) and node.attr.value == "shape" and isinstance(node.value, cst.Name):
        return node.value.value
    return ""


def _integer(node: cst.BaseExpression) -> Optional[int]:
    if isinstance(node, cst.Integer):
        return int(node.value, 0)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = _integer(node.expression)
        return -inner if inner is not None else None
    return None
