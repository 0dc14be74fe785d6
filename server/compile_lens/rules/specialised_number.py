"""CL202: numbers that Dynamo compiles for one value at a time."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import Call, Operation, Subscript
from ..semantics.values import Dictionary, Instance, Number, Sequence, Text, Value
from .rule import Context, Example, Hit, Rule
from .rule import Text as Words


def varies(value: Value) -> bool:
    return (isinstance(value, Number) and value.origin == "varying") or (isinstance(value, Text) and value.varying)


class SpecialisedNumber(Rule):
    """An argument that changes is used where Dynamo needs its value: ``range``, an index, a key, a probability."""

    code = "CL202"
    name = "specialised-number"
    effect = "recompile"
    summary = Words("argument compiled for one value at a time", "参数按取值逐个编译")
    explanation = """\
An int or float argument becomes symbolic at its second value and costs one more compilation, no matter how many
values follow. Not where Dynamo needs the value itself: a `range()` that is unrolled, an index into a Python list or
`nn.ModuleList`, a key of a dict, the probability of a dropout, `torch.as_tensor(n)`. There every value is compiled
anew, up to the limit (8), and runs eagerly from then on.

Pass a tensor (`torch.tensor(n)` outside), or keep such values in a small fixed set.
"""
    operations = (Call, Subscript)
    invalid = (
        Example(
            """
import torch

def f(x, n: int):
    for _ in range(n):
        x = x + 1
    return x

def inputs():
    return [(torch.ones(4), n) for n in (2, 3, 4)]
""",
            calls=3,
        ),
        Example(
            """
import torch
import torch.nn.functional as F

def f(x, p: float):
    return F.dropout(x, p)

def inputs():
    return [(torch.ones(4), p) for p in (0.1, 0.2, 0.3)]
""",
            calls=3,
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x, n: int = 3):
    for _ in range(n):
        x = x + n
    return x

def inputs():
    return [(torch.ones(4),), (torch.ones(4),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if isinstance(operation, Subscript) and not operation.store:
            receiver = operation.receiver
            items = isinstance(receiver, Instance) and "_items" in receiver.attributes
            if (isinstance(receiver, (Sequence, Dictionary)) or items) and varies(operation.index):
                yield self._hit(operation, "index or key", "索引或键")
        elif isinstance(operation, Call):
            name = operation.name.rpartition(".")[2]
            values = operation.arguments
            if operation.name == "range" and any(varies(value) for value in values):
                yield self._hit(operation, "number of iterations", "迭代次数")
            elif name.startswith("dropout") and any(
                varies(v) for v in (*values[1:2], *([operation.keywords["p"]] if "p" in operation.keywords else []))
            ):
                yield self._hit(operation, "probability", "概率")
            elif operation.name == "torch.as_tensor" and values and varies(values[0]):
                yield self._hit(operation, "number", "数字")

    def _hit(self, operation: Operation, what: str, zh: str) -> Hit:
        return Hit(
            operation.node,
            Words(f"this {what} changes, and is compiled for every value", f"此处的{zh}会变化，每个值都会重新编译"),
            Words("pass a tensor, or a fixed value", "改为传入张量或固定值"),
            (),
            operation.sure,
        )
