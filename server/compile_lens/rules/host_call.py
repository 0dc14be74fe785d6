"""CL105: calls into the host that Dynamo does not trace."""

from __future__ import annotations

from collections.abc import Iterator

from ..knowledge.dynamo_facts import Fact, function_fact
from ..knowledge.skipped import OUTPUT, UNTRIED
from ..semantics.operations import Call, Operation
from ..semantics.values import NdArray, Tensor
from .rule import Context, Example, Hit, Rule, Text

BUILD_CLASS = "Invalid call to __build_class__"
_RANDOM = Text("draw with torch (`torch.rand`, `torch.randint`)", "改用 torch 抽样（`torch.rand`、`torch.randint`）")
_REMEDY = Text("call it outside the compiled code", "移到编译代码之外调用")


class HostCall(Rule):
    """The clock, files, processes or Python's random numbers are used while tracing."""

    code = "CL105"
    name = "host-call"
    effect = "graph-break"
    summary = Text("call that Dynamo does not trace", "Dynamo 不追踪的调用")
    explanation = """\
Dynamo has a list of functions that it does not look into: the clock, files and processes, most of `random`, C
extensions. A call of one ends the graph; Python makes the call, and a second graph continues.

Make the call outside and pass its result in. For random numbers draw a tensor: `torch.rand(())` instead of
`random.random()`, with `torch.where` instead of `if`.
"""
    operations = (Call,)
    gb_types = (
        "Attempted to call function marked as skipped",
        "Unsupported method call",
        "Failed to trace builtin operator",
        "attempted to trace numpy function unsupported by PyTorch",
        BUILD_CLASS,
    )
    invalid = (
        Example(
            """
import time
import torch

def f(x):
    start = time.perf_counter()  # breaks
    return x * 2 + (0.0 if start >= 0 else 1.0)

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch

def f(x, start):
    return x * 2 + (0.0 if start >= 0 else 1.0)

def inputs():
    return [(torch.ones(4), 0.5)]
""",
        ),
        Example(
            """
import random
import torch

def f(x):
    if random.random() < 2.0:  # breaks
        return x * 2
    return x

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch

def f(x):
    return torch.where(torch.rand(()) < 2.0, x * 2, x)

def inputs():
    return [(torch.ones(4),)]
""",
        ),
        Example(
            """
import os
import torch

def f(x):
    if os.path.exists("/"):  # breaks
        return x + 1
    return x

def inputs():
    return [(torch.ones(4),)]
"""
        ),
        Example(
            """
import torch

def f(x):
    y = x + 1

    class Box:  # breaks
        pass

    return y * 2

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch

class Box:
    pass

def f(x):
    y = x + 1
    return y * 2

def inputs():
    return [(torch.ones(4),)]
""",
        ),
    )
    valid = (
        Example(
            """
import math
import random
import torch

def f(x):
    k = random.randint(1, 3)
    return x * math.sqrt(x.shape[0]) + k

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if not isinstance(operation, Call):
            return
        name = operation.name
        if name == "__build_class__":
            yield Hit(
                operation.node,
                Text("a class is defined in compiled code", "在编译代码中定义类"),
                Text("define it at module level", "移到模块级定义"),
                (BUILD_CLASS,),
                operation.sure,
            )
            return
        if (
            name.startswith(("torch.", "math.", "cmath."))
            or name in OUTPUT
            or ("." not in name and name not in _BUILTINS)
        ):
            return  # other rules know these better
        fact = Fact(UNTRIED[name][0], False) if name in UNTRIED else None
        fact = fact or function_fact(name, any(isinstance(value, (Tensor, NdArray)) for value in operation.arguments))
        if fact is not None:
            yield Hit(
                operation.node,
                Text(f"`{name}` is not traced", f"`{name}` 不会被追踪"),
                _RANDOM if name.startswith("random.") else _REMEDY,
                (fact.gb_type,),
                operation.sure,
                resumes=not fact.frame_skipped,
            )


_BUILTINS = frozenset({"pow", "input", "breakpoint", "exec", "open", "id", "hash", "globals", "locals", "compile"})
