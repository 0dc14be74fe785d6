"""CL204: lists and dicts that grow from call to call."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..semantics.operations import MethodCall, Operation, Subscript
from ..semantics.values import Dictionary, Sequence
from .rule import Context, Example, Hit, Rule, Text
from .specialised_number import varies

_GROWING = frozenset("append extend insert appendleft add".split())


class GrowingContainer(Rule):
    """A list or dict that outlives the call grows in compiled code."""

    code = "CL204"
    name = "growing-container"
    effect = "recompile"
    summary = Text("list or dict that grows from call to call", "随调用增长的列表或字典")
    explanation = """\
Dynamo guards on the length of every list that compiled code touches. A list on the module, at module level or in a
default argument that `append` makes longer is another list at the next call: the function is compiled again every
time, up to the limit (8).

Return the value and collect it outside, or write into a buffer of fixed size.
"""
    operations = (MethodCall, Subscript)
    invalid = (
        Example(
            """
import torch
from torch import nn

class Keeper(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x):
        self.history.append(x)
        return x * 2

def make():
    return Keeper()

def inputs():
    return [(torch.ones(4),) for _ in range(4)]
""",
            """
import torch
from torch import nn

class Keeper(nn.Module):
    def forward(self, x):
        return x * 2

def make():
    return Keeper()

def inputs():
    return [(torch.ones(4),) for _ in range(4)]
""",
            calls=4,
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x):
    parts = []
    for i in range(3):
        parts.append(x + i)
    return torch.stack(parts)

def inputs():
    return [(torch.ones(4),) for _ in range(4)]
""",
            calls=4,
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if isinstance(operation, MethodCall) and operation.method in _GROWING:
            node = operation.node
            if isinstance(operation.receiver, Sequence) and isinstance(node, cst.Call):
                owner = node.func.value if isinstance(node.func, cst.Attribute) else None
                if self._outlives(operation, owner):
                    yield self._hit(operation)
        elif isinstance(operation, Subscript) and operation.store and isinstance(operation.receiver, Dictionary):
            node = operation.node
            if varies(operation.index) and isinstance(node, cst.Subscript) and self._outlives(operation, node.value):
                yield self._hit(operation)

    def _outlives(self, operation: Operation, owner: object) -> bool:
        """Is the container an attribute of an object from outside, a global, or a default argument?"""
        frame = operation.frame
        if isinstance(owner, cst.Attribute) and isinstance(owner.value, cst.Name):
            holder = frame.scope.get(owner.value.value)
            return owner.value.value == "self" and not getattr(holder, "local", False)
        if isinstance(owner, cst.Name):
            name = owner.value
            if name not in frame.scope.names:
                return name in frame.scope.outermost.names
            parameters = frame.function.node.params if frame.function is not None else None
            every = [*parameters.params, *parameters.kwonly_params] if parameters is not None else []
            return any(p.name.value == name and isinstance(p.default, (cst.List, cst.Dict)) for p in every)
        return False

    def _hit(self, operation: Operation) -> Hit:
        return Hit(
            operation.node,
            Text(
                "this container grows at every call, so the code is compiled again",
                "该容器每次调用都会增长，导致重编译",
            ),
            Text("return the value and collect it outside", "返回该值并在外部收集"),
            (),
            operation.sure,
        )
