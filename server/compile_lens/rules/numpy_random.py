"""CL301: NumPy's random numbers in compiled code."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import Call, Operation
from .rule import Context, Example, Hit, Rule, Text

_DRAWS = frozenset("rand randn randint random random_sample uniform normal permutation choice shuffle seed".split())


class NumpyRandom(Rule):
    """NumPy's global generator is used in compiled code, where torch's takes its place."""

    code = "CL301"
    name = "numpy-random"
    effect = "wrong-result"
    summary = Text("NumPy random numbers in compiled code", "编译代码中的 NumPy 随机数")
    explanation = """\
Dynamo traces NumPy with torch: `np.random.rand(3)` draws from *torch's* generator in compiled code. The numbers are
others than in eager mode, `np.random.seed` has no effect on them, and torch's own random stream is moved on.

Draw outside and pass the array in, or draw with torch on purpose.
"""
    operations = (Call,)
    invalid = (
        Example(
            """
import numpy as np
import torch

def f(x):
    return x + torch.as_tensor(np.random.rand(3))

def inputs():
    return [(torch.zeros(3, dtype=torch.float64),)]
""",
            """
import torch

def f(x, noise):
    return x + noise

def inputs():
    return [(torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64))]
""",
        ),
    )
    valid = (
        Example(
            """
import numpy as np
import torch

def f(x):
    return x + torch.rand(3) + torch.as_tensor(np.ones(3))

def inputs():
    return [(torch.zeros(3),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if isinstance(operation, Call) and operation.name.startswith("numpy.random."):
            name = operation.name.rpartition(".")[2]
            if name in _DRAWS:
                yield Hit(
                    operation.node,
                    Text(
                        f"`np.random.{name}` draws from torch's generator when compiled",
                        f"编译后 `np.random.{name}` 改用 torch 的随机数",
                    ),
                    Text("draw outside, or with torch", "在外部抽样，或改用 torch"),
                    (),
                    operation.sure,
                )
