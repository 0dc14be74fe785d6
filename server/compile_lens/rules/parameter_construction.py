"""CL112: parameters and layers made inside compiled code."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import Call, Operation
from .rule import Context, Example, Hit, Rule, Text

PARAMETER = "Attempted to use `torch.nn.Parameter()` constructor with Dynamo"
_WITH_PARAMETERS = frozenset(
    f"torch.nn.{name}"
    for name in """Parameter Linear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
    Embedding EmbeddingBag LayerNorm BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm RMSNorm PReLU MultiheadAttention
    TransformerEncoderLayer TransformerDecoderLayer""".split()
)


class ParameterConstruction(Rule):
    """An ``nn.Parameter``, or a layer with parameters, is made in compiled code."""

    code = "CL112"
    name = "parameter-construction"
    effect = "graph-break"
    summary = Text("parameter or layer made in compiled code", "在编译代码中创建参数或层")
    explanation = """\
A parameter made inside `forward` is new at every call: it is trained by nobody, and Dynamo cannot put its
construction into a graph. Make it in `__init__`.
"""
    operations = (Call,)
    gb_types = (PARAMETER,)
    invalid = (
        Example(
            """
import torch
from torch import nn

def f(x):
    w = nn.Parameter(torch.ones(4))  # breaks
    return x * w

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch
from torch import nn

w = nn.Parameter(torch.ones(4))

def f(x):
    return x * w

def inputs():
    return [(torch.ones(4),)]
""",
        ),
    )
    valid = (
        Example(
            """
import torch
from torch import nn

def f(x):
    return nn.ReLU()(x) + nn.functional.gelu(x)

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if isinstance(operation, Call) and operation.name in _WITH_PARAMETERS:
            name = operation.name.removeprefix("torch.")
            yield Hit(
                operation.node,
                Text(f"`{name}` is made in compiled code", f"在编译代码中创建 `{name}`"),
                Text("make it in `__init__`", "移到 `__init__` 中创建"),
                self.gb_types,
                operation.sure,
            )
