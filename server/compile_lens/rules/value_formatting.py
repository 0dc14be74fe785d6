"""CL114: tensors and changing numbers turned into text."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import Call, Formatting, Operation
from ..semantics.values import Number, Tensor
from .rule import Context, Example, Hit, Rule, Text

OBSERVED = "Observed exception"
BUILD = "BUILD_STRING type error"
BUILTIN = "Failed to trace builtin operator"
REPR = "repr() on tensor"
OPERATOR = "Data dependent operator"
NON_TENSOR = "torch.* op returned non-Tensor"


class ValueFormatting(Rule):
    """A tensor, or a number that changes from call to call, is turned into text."""

    code = "CL114"
    name = "value-formatting"
    effect = "graph-break"
    summary = Text("tensor or changing number turned into text", "将张量或变化的数字转为文本")
    explanation = """\
`"%.3f" % t`, `str(t)`, `repr(t)` need the data of the tensor. A number that is an argument is a constant at the first
call only: at the second value it becomes symbolic, and `f"{n}"`, `str(n)` or `"%d" % n` break then, often with the
whole function.

Make the text outside the compiled code and pass it in, or drop it.
"""
    operations = (Formatting, Call)
    gb_types = (OBSERVED, BUILTIN, REPR, OPERATOR, NON_TENSOR, BUILD)
    invalid = (
        Example(
            """
import torch

def f(x):
    text = "%.3f" % x.sum()  # breaks
    return x * 2

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch

def f(x):
    return x * 2

def inputs():
    return [(torch.ones(4),)]
""",
        ),
        Example(
            """
import torch

def f(x):
    text = repr(x)  # breaks
    return x * 2

def inputs():
    return [(torch.ones(4),)]
"""
        ),
        Example(
            """
import torch

def f(x, n: int):
    name = f"block{n}"  # breaks
    return x * len(name)

def inputs():
    return [(torch.ones(4), n) for n in (3, 4, 5)]
""",
            """
import torch

def f(x, name: str):
    return x * len(name)

def inputs():
    return [(torch.ones(4), "block3") for n in (3, 4, 5)]
""",
            calls=3,
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x, n: int = 3):
    name = f"block{n}" + "%d" % n + f"{x.shape[0]}"
    return x * len(name)

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if isinstance(operation, Formatting):
            value, style = operation.value, operation.style
            if isinstance(value, Tensor) and style in ("%", "f-string!r"):
                yield self._tensor(operation, REPR if style == "f-string!r" else OPERATOR, False, value)
            elif isinstance(value, Number) and value.origin == "varying":
                yield self._number(operation, (OBSERVED, BUILD), False)
        elif isinstance(operation, Call) and operation.name in ("str", "repr") and operation.arguments:
            first = operation.arguments[0]
            if isinstance(first, Tensor):
                yield self._tensor(operation, BUILTIN if operation.name == "str" else REPR, True, first)
            elif isinstance(first, Number) and first.origin == "varying":
                yield self._number(operation, (BUILTIN,), True)

    def _tensor(self, operation: Operation, gb_type: str, resumes: bool, value: Tensor) -> Hit:
        reason = Text("text of a tensor needs its data", "将张量转为文本需要其数据")
        remedy = Text("make the text outside", "在编译代码之外生成文本")
        types = (gb_type, NON_TENSOR) if gb_type == OPERATOR else (gb_type,)
        return Hit(operation.node, reason, remedy, types, operation.sure and not value.guessed, resumes)

    def _number(self, operation: Operation, types: tuple[str, ...], resumes: bool) -> Hit:
        reason = Text("text of a changing number breaks at its second value", "变化的数字转为文本，在第二个值时中断")
        remedy = Text("pass the text in", "将文本作为参数传入")
        return Hit(operation.node, reason, remedy, types, operation.sure, resumes)
