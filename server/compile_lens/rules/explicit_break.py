"""CL110: breaks that the code asks for."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import Call, FunctionCall, Operation
from ..semantics.values import Function
from .rule import Context, Example, Hit, Rule, Text

_DISABLED = "Skip calling `torch.compiler.disable()`d function"


class ExplicitBreak(Rule):
    """``torch._dynamo.graph_break()``, or a call of a function under ``torch.compiler.disable``."""

    code = "CL110"
    name = "explicit-break"
    effect = "graph-break"
    summary = Text("break that the code asks for", "代码主动要求的图中断")
    explanation = """\
`torch._dynamo.graph_break()` and calls of functions decorated with `torch.compiler.disable` end the graph on purpose.
That is right around code that cannot be compiled, and costs a graph everywhere else: take them out again when the
reason is gone.
"""
    operations = (Call, FunctionCall)
    gb_types = ("Call to `torch._dynamo.graph_break()`", _DISABLED)
    invalid = (
        Example(
            """
import torch

def f(x):
    y = x + 1
    torch._dynamo.graph_break()  # breaks
    return y * 2

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch

def f(x):
    y = x + 1
    return y * 2

def inputs():
    return [(torch.ones(4),)]
""",
        ),
        Example(
            """
import torch

@torch.compiler.disable
def log(x):
    return x.sum()

def f(x):
    y = log(x)  # breaks
    return y * 2

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )
    valid = (
        Example(
            """
import torch

@torch.compiler.allow_in_graph
def double(x):
    return x * 2

def f(x):
    return double(x) + 1

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        remedy = Text("take it out when its reason is gone", "原因消失后请移除")
        if isinstance(operation, Call) and operation.name == "torch._dynamo.graph_break":
            reason = Text("`graph_break()` ends the graph on purpose", "`graph_break()` 主动结束计算图")
            yield Hit(operation.node, reason, remedy, self.gb_types[:1], operation.sure)
        elif isinstance(operation, FunctionCall) and isinstance(operation.function, Function):
            decorator = operation.frame.interpreter.cut.get(id(operation.function.node), "")
            if decorator.endswith(".disable"):
                name = operation.function.name
                reason = Text(
                    f"`{name}` is under `torch.compiler.disable`", f"`{name}` 被 `torch.compiler.disable` 禁用"
                )
                yield Hit(operation.node, reason, remedy, self.gb_types[1:], operation.sure)
