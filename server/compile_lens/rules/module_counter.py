"""CL201: a Python counter on a module or object."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..semantics.operations import AttributeStore, GlobalStore, Operation
from ..semantics.values import Class, Instance, Union, number_kind
from .rule import Context, Example, Hit, Rule, Text


class ModuleCounter(Rule):
    """An integer that outlives the call (attribute, class attribute, global) is counted up in compiled code."""

    code = "CL201"
    name = "module-counter"
    effect = "recompile"
    summary = Text("Python counter that compiled code changes", "编译代码修改的 Python 计数器")
    explanation = """\
Dynamo treats integer attributes and globals as constants and guards on them. A counter that `forward` changes makes
the guard fail at the next call: the function is compiled again every time, until the limit (8), and runs eagerly from
then on.

Make it a buffer (`self.register_buffer("steps", torch.zeros((), dtype=torch.long))` and `self.steps.add_(1)`), or
count outside the compiled code.
"""
    operations = (AttributeStore, GlobalStore)
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
        Example(
            """
import torch

count = 0

def f(x):
    global count
    count += 1
    return x * 2

def inputs():
    return [(torch.ones(2, 4),) for _ in range(4)]
""",
            """
import torch

def f(x):
    return x * 2

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
        if isinstance(operation, AttributeStore):
            receiver = operation.receiver
            if not isinstance(receiver, (Instance, Class)) or (isinstance(receiver, Instance) and receiver.local):
                return
            counted = operation.augmented or _adds_to_itself(operation)
        elif isinstance(operation, GlobalStore):
            counted = operation.augmented
        else:
            return
        if not counted or isinstance(operation.old, Union) or number_kind(operation.old) != "int":
            return
        if number_kind(operation.value) not in ("int", None) or _is_taken_back(operation):
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


def _adds_to_itself(operation: AttributeStore) -> bool:
    """``self.n = self.n + 1``: is the new value computed from the old one?"""
    expression = operation.expression
    return isinstance(expression, cst.BinaryOperation) and expression.left.deep_equals(operation.node)


def _is_taken_back(operation: Operation) -> bool:
    """Does the same function count down again (a depth, a re-entrance flag)? Then the next call finds the old value."""
    function, node = operation.frame.function, operation.node
    if function is None or not isinstance(node, (cst.Name, cst.Attribute)):
        return False
    text = operation.frame.module.tree.code_for_node(function.node)
    name = operation.frame.module.tree.code_for_node(node)
    return f"{name} += 1" in text and f"{name} -= 1" in text
