"""CL107: operators that answer with a Python value computed from tensor data."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import Call, MethodCall, Operation
from ..semantics.values import Tensor
from .rule import Context, Example, Hit, Rule, Text

_NAMES = frozenset({"equal", "allclose", "is_nonzero"})
_REMEDIES = {
    "equal": Text("use `(a == b).all()` and keep it a tensor", "改用 `(a == b).all()` 并保持为张量"),
    "allclose": Text(
        "use `torch.isclose(a, b).all()` and keep it a tensor", "改用 `torch.isclose(a, b).all()` 并保持为张量"
    ),
}


class DataDependentOperator(Rule):
    """An operator returns a Python bool that depends on the data: ``torch.equal``, ``torch.allclose``."""

    code = "CL107"
    name = "data-dependent-operator"
    effect = "graph-break"
    summary = Text("operator that answers with a Python bool", "返回 Python 布尔值的算子")
    explanation = """\
`torch.equal` and `torch.allclose` compare all elements and answer with a Python `bool`; there is no data while
tracing, so the graph ends there, with `fullgraph=True` too.

Compare with an operator that returns a tensor (`(a == b).all()`, `torch.isclose(a, b).all()`) and select with
`torch.where`.
"""
    operations = (Call, MethodCall)
    gb_types = ("Data dependent operator",)
    invalid = (
        Example(
            """
import torch

def f(x, y):
    same = torch.equal(x, y)  # breaks
    return x * 2 if same else y

def inputs():
    return [(torch.ones(4), torch.ones(4))]
""",
            """
import torch

def f(x, y):
    same = (x == y).all()
    return torch.where(same, x * 2, y)

def inputs():
    return [(torch.ones(4), torch.ones(4))]
""",
        ),
        Example(
            """
import torch

def f(x, y):
    close = x.allclose(y)  # breaks
    return x + int(close)

def inputs():
    return [(torch.ones(4), torch.ones(4))]
""",
            """
import torch

def f(x, y):
    close = torch.isclose(x, y).all()
    return x + close

def inputs():
    return [(torch.ones(4), torch.ones(4))]
""",
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x, y):
    return torch.isclose(x, y).all() & torch.eq(x, y).any()

def inputs():
    return [(torch.ones(4), torch.ones(4))]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if isinstance(operation, Call):
            module, _, name = operation.name.rpartition(".")
            value = operation.arguments[0] if operation.arguments else None
            if module != "torch" or name not in _NAMES:
                return
        elif isinstance(operation, MethodCall) and isinstance(operation.receiver, Tensor):
            name, value = operation.method, operation.receiver
            if name not in _NAMES:
                return
        else:
            return
        yield Hit(
            operation.node,
            Text(f"`{name}` answers with a Python bool", f"`{name}` 返回 Python 布尔值"),
            _REMEDIES.get(name, Text("keep it a tensor", "保持为张量")),
            self.gb_types,
            operation.sure and not getattr(value, "guessed", False),
        )
