"""CL103: a tensor turned into Python lists."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import MethodCall, Operation
from ..semantics.values import NdArray, Tensor
from .rule import Context, Example, Hit, Rule, Text


class Tolist(Rule):
    """A tensor is turned into Python lists by ``.tolist()``."""

    code = "CL103"
    name = "tolist"
    effect = "graph-break"
    summary = Text("tensor turned into Python lists", "张量转换为 Python 列表")
    explanation = """\
`.tolist()` reads every element. A float tensor never can be turned into a list inside the graph; an integer one only
where scalars are captured (`capture_scalar_outputs`, or `fullgraph=True` on recent torch).

Pass lists (of split sizes, say) as arguments, or keep working on the tensor.
"""
    operations = (MethodCall,)
    gb_types = (
        "Data dependent operator",
        "Tensor.tolist() with non-integer tensor",
        "Unsupported Tensor.item() call with capture_scalar_outputs=False",
    )
    invalid = (
        Example(
            """
import torch

def f(x, sizes):
    a, b = x.split(sizes.tolist())  # breaks
    return a.sum() + b.sum()

def inputs():
    return [(torch.ones(5), torch.tensor([2, 3]))]
""",
            """
import torch

def f(x, sizes):
    a, b = x.split(sizes)
    return a.sum() + b.sum()

def inputs():
    return [(torch.ones(5), [2, 3])]
""",
        ),
        Example(
            """
import torch

def f(x):
    values = x.exp().tolist()  # breaks
    return x * values[0]

def inputs():
    return [(torch.ones(3),)]
""",
            """
import torch

def f(x):
    values = x.exp()
    return x * values[0]

def inputs():
    return [(torch.ones(3),)]
""",
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x, sizes):
    return sum(part.sum() for part in x.split(list(sizes)))

def inputs():
    return [(torch.ones(5), (2, 3))]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if not isinstance(operation, MethodCall) or operation.method != "tolist":
            return
        receiver = operation.receiver
        if not isinstance(receiver, (Tensor, NdArray)) or (context.captures_scalars and receiver.dtype != "float"):
            return
        guessed = isinstance(receiver, Tensor) and receiver.guessed
        yield Hit(
            operation.node,
            Text("`.tolist()` reads a tensor", "`.tolist()` 读取张量数据"),
            Text("keep it a tensor, or pass a list as an argument", "保持为张量，或将列表作为参数传入"),
            self.gb_types,
            operation.sure and not guessed,
        )
