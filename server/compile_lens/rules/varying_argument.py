"""CL203: arguments of changing type, dtype, rank, length."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import ArgumentVaries, Operation
from .rule import Context, Example, Hit, Rule, Text

_WHAT = {
    "dtype": ("tensors of several dtypes", "多种 dtype 的张量"),
    "rank": ("tensors of several ranks", "多种维数的张量"),
    "string": ("several strings", "多个不同的字符串"),
    "length": ("lists of several lengths", "多种长度的列表"),
    "keys": ("dicts with several sets of keys", "键集合不同的字典"),
    "kind": ("values of several types", "多种类型的值"),
}


class VaryingArgument(Rule):
    """The example calls give an argument values that each need a compilation of their own."""

    code = "CL203"
    name = "varying-argument"
    effect = "recompile"
    summary = Text("argument that needs a compilation for each of its values", "每种取值都需要编译的参数")
    explanation = """\
Dynamo guards on the dtype and rank of tensors, on strings, on the length of lists and on the keys of dicts. The
example calls in this file differ in one of these: every combination is compiled by itself, up to the limit (8).

Convert outside the compiled code (`x.float()`), pad lists to one length, or compile one function per case.
"""
    operations = (ArgumentVaries,)
    invalid = (
        Example(
            """
import torch

def f(x):
    return x * 2

def inputs():
    return [(torch.ones(4),), (torch.ones(4, dtype=torch.int64),), (torch.ones(4, dtype=torch.bool),)]
""",
            """
import torch

def f(x):
    return x * 2

def inputs():
    return [(torch.ones(4),), (torch.ones(4, dtype=torch.int64).float(),), (torch.ones(4, dtype=torch.bool).float(),)]
""",
            calls=3,
        ),
        Example(
            """
import torch

def f(parts):
    return sum(part.sum() for part in parts)

def inputs():
    return [([torch.ones(2)],), ([torch.ones(2), torch.ones(2)],)]
"""
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x, n):
    return x * n

def inputs():
    return [(torch.ones(4), 2.0), (torch.ones(4), 2.0)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if isinstance(operation, ArgumentVaries) and operation.variation in _WHAT:
            en, zh = _WHAT[operation.variation]
            yield Hit(
                operation.node,
                Text(
                    f"`{operation.name}` is given {en}: each is compiled", f"`{operation.name}` 接收{zh}：每种都会编译"
                ),
                Text("make it one kind outside", "在编译代码之外统一"),
            )
