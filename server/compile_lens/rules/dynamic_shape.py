"""CL106: operators whose output shape depends on the data."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import Call, MethodCall, Operation, Subscript
from ..semantics.values import Const, Number, Sequence, Tensor, Value
from .rule import Context, Example, Hit, Rule, Text

DYNAMIC = "Dynamic shape operator"
ONE_HOT = "Attempted to use `torch.nn.functional.one_hot` with data-dependent output shape"
_METHODS = frozenset("nonzero masked_select unique unique_consecutive argwhere bincount".split())
_REMEDIES = {
    "nonzero": Text("work on the mask instead (`torch.where`)", "直接对掩码计算（`torch.where`）"),
    "masked_select": Text("use `torch.where` and reduce", "改用 `torch.where` 再归约"),
    "bincount": Text("use `scatter_add` into a tensor of known size", "改用已知大小张量上的 `scatter_add`"),
    "repeat_interleave": Text("pass `output_size=`", "传入 `output_size=`"),
    "one_hot": Text("pass `num_classes=`", "传入 `num_classes=`"),
}
_OUTSIDE = Text("call it outside the compiled code", "移到编译代码之外调用")


class DynamicShape(Rule):
    """The shape of a result depends on the data: ``nonzero``, ``unique``, ``x[mask]``."""

    code = "CL106"
    name = "dynamic-shape"
    effect = "graph-break"
    summary = Text("result whose shape depends on the data", "结果形状依赖数据")
    explanation = """\
`nonzero`, one-argument `where`, `unique`, `masked_select`, reading `x[mask]` with a boolean mask, `repeat_interleave`
with a tensor, `one_hot` without `num_classes`: how many elements come out depends on the values, which Dynamo does
not have. By default the graph ends there.

Keep the full shape and select by value: `torch.where(mask, x, 0).sum()` instead of `x[mask].sum()`. Assigning a
number under a mask (`x[mask] = 0`) is no problem. With `torch._dynamo.config.capture_dynamic_output_shape_ops = True`
(and under `fullgraph=True` on recent torch) such operators become part of the graph.
"""
    operations = (MethodCall, Call, Subscript)
    gb_types = (DYNAMIC, ONE_HOT)
    invalid = (
        Example(
            """
import torch

def f(x):
    return x[x > 0].sum()  # breaks

def inputs():
    return [(torch.tensor([1.0, -2.0, 3.0]),)]
""",
            """
import torch

def f(x):
    return torch.where(x > 0, x, 0.0).sum()

def inputs():
    return [(torch.tensor([1.0, -2.0, 3.0]),)]
""",
        ),
        Example(
            """
import torch

def f(x):
    rows = torch.nonzero(x).squeeze(-1)  # breaks
    return x.index_select(0, rows) * 2

def inputs():
    return [(torch.tensor([1.0, 0.0, 3.0]),)]
"""
        ),
        Example(
            """
import torch

def f(x):
    (rows,) = torch.where(x > 0)  # breaks
    return rows * 2

def inputs():
    return [(torch.tensor([1.0, -2.0, 3.0]),)]
"""
        ),
        Example(
            """
import torch

def f(x):
    return torch.unique(x) * 2  # breaks

def inputs():
    return [(torch.tensor([1.0, 1.0, 3.0]),)]
"""
        ),
        Example(
            """
import torch
import torch.nn.functional as F

def f(ids):
    return F.one_hot(ids) * 2  # breaks

def inputs():
    return [(torch.tensor([0, 2, 1]),)]
""",
            """
import torch
import torch.nn.functional as F

def f(ids):
    return F.one_hot(ids, num_classes=3) * 2

def inputs():
    return [(torch.tensor([0, 2, 1]),)]
""",
            gb_types=(ONE_HOT,),
        ),
        Example(
            """
import torch

def f(x):
    x = x.clone()
    x[x > 0] += 1  # breaks
    return x

def inputs():
    return [(torch.tensor([1.0, -2.0, 3.0]),)]
""",
            """
import torch

def f(x):
    return torch.where(x > 0, x + 1, x)

def inputs():
    return [(torch.tensor([1.0, -2.0, 3.0]),)]
""",
        ),
    )
    valid = (
        Example(
            """
import torch
import torch.nn.functional as F

def f(x, ids):
    y = x.clone()
    y[x > 0] = 0.0
    z = torch.where(x > 0, x, 0.0)
    first = x[ids]
    hot = F.one_hot(ids, 4)
    return y + z + first.sum() + hot.sum() + x.masked_fill(x > 1, 0.0)

def inputs():
    return [(torch.tensor([1.0, -2.0, 3.0]), torch.tensor([0, 2]))]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if context.captures_dynamic_shapes:
            return
        if isinstance(operation, Subscript):
            yield from self._subscript(operation)
        elif isinstance(operation, MethodCall) and isinstance(operation.receiver, Tensor):
            yield from self._operator(
                operation, operation.method, (operation.receiver, *operation.arguments), operation.keywords
            )
        elif isinstance(operation, Call) and operation.name.startswith("torch.") and operation.arguments:
            name = operation.name
            if name.rpartition(".")[0] in ("torch", "torch.nn.functional"):
                short = name.rpartition(".")[2]
                yield from self._operator(operation, short, operation.arguments, operation.keywords)

    def _operator(
        self, operation: Operation, name: str, arguments: tuple[Value, ...], keywords: dict[str, Value]
    ) -> Iterator[Hit]:
        value = arguments[0]
        if name in _METHODS or (name == "where" and len(arguments) == 1 and not keywords):
            yield self._hit(
                operation, f"shape of `{name}` depends on the data", f"`{name}` 的输出形状依赖数据", name, value
            )
        elif name == "repeat_interleave" and "output_size" not in keywords:
            if len(arguments) > 1 and isinstance(arguments[1], Tensor):
                yield self._hit(
                    operation,
                    "length of `repeat_interleave` depends on the data",
                    "`repeat_interleave` 的长度依赖数据",
                    name,
                    value,
                )
        elif name == "one_hot" and len(arguments) < 2 and "num_classes" not in keywords:
            yield self._hit(
                operation,
                "`one_hot` looks for the largest class in the data",
                "`one_hot` 需要在数据中查找最大类别",
                name,
                value,
                ONE_HOT,
            )

    def _subscript(self, operation: Subscript) -> Iterator[Hit]:
        if not isinstance(operation.receiver, Tensor) or (operation.store and not operation.augmented):
            return
        index = operation.index
        parts = index.items if isinstance(index, Sequence) and index.kind == "tuple" and index.items else [index]
        for part in parts:
            if isinstance(part, Tensor) and part.dtype == "bool":
                yield self._hit(
                    operation,
                    "boolean mask selects a number of elements that depends on the data",
                    "布尔掩码索引的元素个数依赖数据",
                    "mask",
                    part,
                )
                return

    def _hit(self, operation: Operation, en: str, zh: str, name: str, value: Value, gb_type: str = DYNAMIC) -> Hit:
        remedy = _REMEDIES["masked_select"] if name == "mask" else _REMEDIES.get(name, _OUTSIDE)
        sure = operation.sure and isinstance(value, (Tensor, Const, Number)) and not getattr(value, "guessed", False)
        return Hit(operation.node, Text(en, zh), remedy, (gb_type,), sure)
