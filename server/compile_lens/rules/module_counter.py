"""CL201: a Python counter on a module or object."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import AttributeStore, Operation
from ..semantics.values import Instance, Union, number_kind, options
from .rule import Context, Example, Hit, Rule, Text


class ModuleCounter(Rule):
    """An integer attribute of a module is counted up in compiled code."""

    code = "CL201"
    name = "module-counter"
    effect = "recompile"
    summary = Text("Python counter on a module", "模块上的 Python 计数器")
    explanation = """\
Dynamo treats integer attributes of a module as constants and guards on them. A counter that `forward` changes makes
the guard fail at the next call: the function is compiled again every time, until the limit (8), and runs eagerly from
then on.

Make it a buffer (`self.register_buffer("steps", torch.zeros((), dtype=torch.long))` and `self.steps.add_(1)`), or count
outside the compiled code.
"""
    operations = (AttributeStore,)
    invalid = (
        Example(
            """
import torch
from torch import nn

class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        self.steps += 1
        return self.lin(x)

def make():
    torch.manual_seed(0)
    return Counted()

def inputs():
    return [(torch.ones(2, 4),) for _ in range(4)]
""",
            """
import torch
from torch import nn

class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        self.steps.add_(1)
        return self.lin(x)

def make():
    torch.manual_seed(0)
    return Counted()

def inputs():
    return [(torch.ones(2, 4),) for _ in range(4)]
""",
            calls=4,
        ),
    )
    valid = (
        Example(
            """
import torch
from torch import nn

class Flagged(nn.Module):
    def __init__(self):
        super().__init__()
        self.warm = False
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.steps += 1
        return x * 2

def make():
    return Flagged()

def inputs():
    return [(torch.ones(2, 4),) for _ in range(4)]
""",
            calls=4,
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if not isinstance(operation, AttributeStore) or not isinstance(operation.receiver, Instance):
            return
        if operation.receiver.local or not operation.augmented or isinstance(operation.old, Union):
            return
        if {number_kind(value) for value in options(operation.old)} != {"int"}:
            return
        if number_kind(operation.value) not in ("int", None):
            return
        yield Hit(
            operation.node,
            Text(
                f"`{operation.name}` changes at every call, so the code is compiled again every time",
                f"`{operation.name}` 每次调用都会变化，导致每次重编译",
            ),
            Text("make it a buffer, or count outside", "改为 buffer，或在编译代码之外计数"),
            (),
            operation.sure,
        )
