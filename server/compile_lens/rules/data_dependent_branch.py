"""CL101: control flow on the value of a tensor."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..fixes.branches import where_instead
from ..fixes.edit import Fix
from ..semantics.operations import Branch, Operation
from ..semantics.values import NdArray, Number, Tensor
from .rule import Context, Example, Hit, Place, Rule, Text

_KINDS = {
    "if": Text("`if` on tensor data", "对张量数据使用 `if`"),
    "while": Text("`while` on tensor data", "对张量数据使用 `while`"),
    "assert": Text("`assert` on tensor data with a computed message", "对张量数据使用带动态消息的 `assert`"),
    "ternary": Text("conditional expression on tensor data", "对张量数据使用条件表达式"),
    "and": Text("`and` between tensors asks for their data", "张量之间的 `and` 需要读取数据"),
    "or": Text("`or` between tensors asks for their data", "张量之间的 `or` 需要读取数据"),
    "not": Text("`not` of a tensor asks for its data", "对张量取 `not` 需要读取数据"),
    "any": Text("`any()` over tensors asks for their data", "对张量使用 `any()` 需要读取数据"),
    "all": Text("`all()` over tensors asks for their data", "对张量使用 `all()` 需要读取数据"),
    "comprehension": Text("comprehension filters on tensor data", "推导式按张量数据过滤"),
}
_REMEDIES = {
    "and": Text("use `&` or `torch.logical_and`", "改用 `&` 或 `torch.logical_and`"),
    "or": Text("use `|` or `torch.logical_or`", "改用 `|` 或 `torch.logical_or`"),
    "not": Text("use `torch.logical_not`", "改用 `torch.logical_not`"),
    "any": Text("stack them and use `torch.any`", "先堆叠再使用 `torch.any`"),
    "all": Text("stack them and use `torch.all`", "先堆叠再使用 `torch.all`"),
    "assert": Text("use `torch._assert_async` with a literal message", "改用带字面量消息的 `torch._assert_async`"),
}
_REMEDY = Text("use `torch.where` (or `torch.cond`)", "改用 `torch.where`（或 `torch.cond`）")


class DataDependentBranch(Rule):
    """Python control flow that depends on tensor data."""

    code = "CL101"
    name = "data-dependent-branch"
    effect = "graph-break"
    summary = Text("control flow on tensor data", "依赖张量数据的控制流")
    explanation = """\
Dynamo traces your function without data. When Python asks a tensor for its truth (`if`, `while`, `and`, `assert`, a
conditional expression), there is no answer while tracing: the graph ends there, the condition is evaluated by Python,
and each outcome continues in a graph of its own. Inside a loop Dynamo gives up the whole function.

Compute both sides and select with `torch.where`, or express the branch with `torch.cond`. A condition on a *shape*
(`x.shape[0] > 1`) is no problem: shapes are known while tracing.
"""
    operations = (Branch,)
    gb_types = ("Data-dependent branching",)
    invalid = (
        Example(
            """
import torch

def f(x):
    if x.sum() > 0:  # breaks
        y = x + 1
    else:
        y = x - 1
    return y * 2

def inputs():
    return [(torch.ones(4),), (-torch.ones(4),)]
""",
            """
import torch

def f(x):
    y = torch.where(x.sum() > 0, x + 1, x - 1)
    return y * 2

def inputs():
    return [(torch.ones(4),), (-torch.ones(4),)]
""",
        ),
        Example(
            """
import torch

def f(x, y):
    return x if x.mean() > y.mean() else y  # breaks

def inputs():
    return [(torch.ones(4), torch.zeros(4)), (torch.zeros(4), torch.ones(4))]
""",
            """
import torch

def f(x, y):
    return torch.where(x.mean() > y.mean(), x, y)

def inputs():
    return [(torch.ones(4), torch.zeros(4)), (torch.zeros(4), torch.ones(4))]
""",
        ),
        Example(
            """
import torch

def f(x):
    while x.norm() > 1:  # breaks
        x = x / 2
    return x

def inputs():
    return [(torch.ones(4) * 8,)]
"""
        ),
        Example(
            """
import torch

def f(x):
    if (x > 2).any() or (x < -2).any():  # breaks
        x = x.clamp(-2, 2)
    return x * 2

def inputs():
    return [(torch.ones(4),), (torch.ones(4) * 3,)]
""",
            """
import torch

def f(x):
    x = x.clamp(-2, 2)
    return x * 2

def inputs():
    return [(torch.ones(4),), (torch.ones(4) * 3,)]
""",
        ),
        Example(
            """
import random
import torch

def f(x):
    if random.uniform(0, 1) < 2:  # breaks
        x = x + 1
    return x * 2

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch

def f(x):
    x = torch.where(torch.rand(()) < 2, x + 1, x)
    return x * 2

def inputs():
    return [(torch.ones(4),)]
""",
        ),
        Example(
            """
import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("open", torch.tensor(True))

    def forward(self, x):
        if self.open:  # breaks
            return x * 2
        return x

def make():
    return Gate()

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x, mask=None):
    if x.shape[0] > 2:
        x = x * 2
    if mask is not None:
        x = x * mask
    if x.dtype == torch.float32 and x.dim() == 2:
        x = x + 1
    return x

def inputs():
    return [(torch.ones(4, 2),), (torch.ones(4, 2), torch.ones(4, 2))]
"""
        ),
        Example(
            """
import torch

def f(x):
    assert x.min() >= 0
    assert x.max() <= 10, "too large"
    return x.sqrt()

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if not isinstance(operation, Branch):
            return
        kind, condition = operation.kind, operation.condition
        if isinstance(condition, Number) and condition.origin == "random":
            reason = Text("`if` on a random number", "对随机数使用 `if`")
            remedy = Text("draw a tensor and use `torch.where`", "改为抽取张量并使用 `torch.where`")
            yield Hit(operation.node, reason, remedy, self.gb_types, operation.sure)
            return
        if not isinstance(condition, (Tensor, NdArray)):
            return
        if kind == "assert":
            statement = operation.statement
            if isinstance(statement, cst.Assert) and (
                statement.msg is None or isinstance(statement.msg, (cst.SimpleString, cst.ConcatenatedString))
            ):
                return  # Dynamo turns these into torch._assert_async
        guessed = isinstance(operation.condition, Tensor) and operation.condition.guessed
        yield Hit(
            operation.node,
            _KINDS.get(kind, _KINDS["if"]),
            _REMEDIES.get(kind, _REMEDY),
            self.gb_types,
            operation.sure and not guessed,
        )

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        return where_instead(place.module, place.statement, place.hit.node, place.locate, locale)
