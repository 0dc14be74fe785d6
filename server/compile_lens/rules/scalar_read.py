"""CL102: a Python number read out of a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..knowledge import torch_api
from ..semantics.operations import Call, MethodCall, Operation, Subscript
from ..semantics.values import NdArray, Opaque, Sequence, Tensor, Value
from .rule import Context, Example, Hit, Rule, Text

ITEM = "Unsupported Tensor.item() call with capture_scalar_outputs=False"
OPERATOR = "Data dependent operator"
SORT = "sort with non-constant keys"
BUILTIN = "Failed to trace builtin operator"
_REMEDY = Text("keep it a tensor", "保持为张量")


class ScalarRead(Rule):
    """A Python number is read out of a tensor: ``.item()``, ``int()``, ``float()``, ``bool()``, an index."""

    code = "CL102"
    name = "scalar-read"
    effect = "graph-break"
    summary = Text("number read out of a tensor", "从张量读取标量")
    explanation = """\
`.item()`, `int(t)`, `float(t)`, `bool(t)`, a tensor used as a list index, a slice bound or in `range()`: Python needs
the number now, while Dynamo traces without data. By default the graph ends there.

Keep the value a tensor (`torch.where`, `index_select`, tensor arithmetic), or read it outside the compiled region.
With `torch._dynamo.config.capture_scalar_outputs = True` (and under `fullgraph=True` on recent torch) the read
becomes part of the graph.
"""
    operations = (MethodCall, Call, Subscript)
    gb_types = (ITEM, OPERATOR, SORT, BUILTIN)
    invalid = (
        Example(
            """
import torch

def f(x):
    scale = x.abs().max().item()  # breaks
    return x / scale

def inputs():
    return [(torch.ones(4),), (torch.ones(4) * 2,)]
""",
            """
import torch

def f(x):
    scale = x.abs().max()
    return x / scale

def inputs():
    return [(torch.ones(4),), (torch.ones(4) * 2,)]
""",
        ),
        Example(  # torch.jit.ignore means nothing to Dynamo: it traces into the function
            """
import torch

@torch.jit.ignore
def scale(x):
    return x.abs().max().item()  # breaks

def f(x):
    return x / scale(x)

def inputs():
    return [(torch.ones(4),), (torch.ones(4) * 2,)]
""",
        ),
        Example(
            """
import torch

def f(x):
    n = int(x.sum())  # breaks
    return x * n

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch

def f(x):
    n = x.sum().trunc()
    return x * n

def inputs():
    return [(torch.ones(4),)]
""",
        ),
        Example(
            """
import torch

def f(x):
    flag = bool((x > 0).all())  # breaks
    return x * 2 if flag else x

def inputs():
    return [(torch.ones(4),)]
"""
        ),
        Example(
            """
import torch

def f(x, n):
    return x[:n].sum()  # breaks

def inputs():
    return [(torch.ones(4), torch.tensor(2))]
"""
        ),
        Example(
            """
import torch

def f(x, scales, i):
    return x * scales[i]  # breaks

def inputs():
    return [(torch.ones(4), [1.0, 2.0, 3.0], torch.tensor(1))]
"""
        ),
        Example(
            """
import torch

def f(x):
    best = x.argmax()
    return x[best] * 2  # breaks

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch

def f(x):
    best = x.argmax()
    return x.index_select(0, best.unsqueeze(0)).squeeze(0) * 2

def inputs():
    return [(torch.ones(4),)]
""",
        ),
        Example(
            """
import torch

def f(x, lengths):
    steps = torch.arange(lengths.max())  # breaks
    return x + steps.sum()

def inputs():
    return [(torch.ones(4), torch.tensor([1, 3]))]
"""
        ),
        Example(
            """
import torch

def f(x):
    return sorted([x.sum(), x.mean()])[0] * 2  # breaks

def inputs():
    return [(torch.ones(4),)]
"""
        ),
        Example(
            """
import torch

def f(x):
    total = 0.0
    for row in x:
        total += float(row.sum())  # breaks
    return x * total

def inputs():
    return [(torch.ones(3, 2),)]
"""
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x):
    n = x.shape[0]
    k = int(x.size(1) // 2)
    return x[:, :k] * float(n)

def inputs():
    return [(torch.ones(4, 6),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if context.captures_scalars:
            return
        if isinstance(operation, MethodCall):
            yield from self._method(operation)
        elif isinstance(operation, Call):
            yield from self._call(operation)
        elif isinstance(operation, Subscript):
            yield from self._subscript(operation)

    def _method(self, operation: MethodCall) -> Iterator[Hit]:
        if operation.method == "item" and isinstance(operation.receiver, (Tensor, NdArray)):
            yield self._hit(operation, "`.item()` reads a tensor", "`.item()` 读取张量数据", operation.receiver)
        elif isinstance(operation.receiver, Tensor):
            integers = torch_api.method_integers(operation.method)
            yield from self._implicit(operation, operation.method, integers, operation.arguments)

    def _implicit(
        self, operation: Operation, name: str, integers: tuple[bool, ...], arguments: tuple[Value, ...]
    ) -> Iterator[Hit]:
        """A computed number given to torch as a size, a count or a dimension, which it must know while tracing."""
        for wants_integer, value in zip(integers, arguments):
            parts = value.items if isinstance(value, Sequence) and value.items else [value]
            if wants_integer and any(_is_computed_number(part) for part in parts):
                en, zh = f"`{name}` needs this computed number while tracing", f"`{name}` 在追踪时需要该计算结果"
                yield self._hit(operation, en, zh, value, OPERATOR)
                return

    def _call(self, operation: Call) -> Iterator[Hit]:
        name, arguments = operation.name, operation.arguments
        if name in ("int", "float", "bool", "complex", "range") and arguments:
            for value in arguments:
                if isinstance(value, (Tensor, NdArray)):
                    yield self._hit(
                        operation, f"`{name}()` of a tensor reads its data", f"`{name}()` 读取张量数据", value
                    )
                    return
        if (
            name == "sorted"
            and "key" not in operation.keywords
            and arguments
            and isinstance(getattr(arguments[0], "element", None), Tensor)
        ):
            hit = self._hit(
                operation, "sorting tensors compares their data", "对张量排序需要比较数据", arguments[0], SORT
            )
            yield replace(hit, remedy=Text("stack them and use `torch.sort`", "先堆叠再使用 `torch.sort`"))
        if name.startswith("torch.") and arguments:
            yield from self._implicit(operation, name.rpartition(".")[2], torch_api.function_integers(name), arguments)
        if name == "in" and arguments and isinstance(arguments[0], Tensor):
            yield self._hit(operation, "`in` on a tensor reads its data", "对张量使用 `in` 会读取数据", arguments[0])
        if name.startswith("math.") and any(isinstance(value, Tensor) for value in arguments):
            hit = self._hit(
                operation, f"`{name}()` of a tensor reads its data", f"`{name}()` 读取张量数据", arguments[0], OPERATOR
            )
            yield replace(hit, remedy=Text(f"use `torch.{name[5:]}`", f"改用 `torch.{name[5:]}`"))

    def _subscript(self, operation: Subscript) -> Iterator[Hit]:
        index, receiver = operation.index, operation.receiver
        parts = index.items if isinstance(index, Sequence) and index.kind == "tuple" and index.items else [index]
        if isinstance(receiver, Tensor) and any(isinstance(p, Opaque) and p.kind == "slice-by-tensor" for p in parts):
            hit = self._hit(operation, "slice bound is a tensor", "切片边界是张量", receiver)
            yield replace(hit, resumes=False)
        if isinstance(receiver, Tensor) and any(_is_computed_number(part) for part in parts):
            yield self._hit(
                operation, "a computed number indexes a tensor", "用计算得到的数索引张量", receiver, OPERATOR
            )
        if isinstance(receiver, Sequence) and receiver.kind in ("list", "tuple") and isinstance(index, Tensor):
            yield self._hit(operation, "a tensor indexes a Python list", "用张量索引 Python 列表", index)

    def _hit(self, operation: Operation, en: str, zh: str, value: object, gb_type: str = ITEM) -> Hit:
        guessed = isinstance(value, Tensor) and value.guessed
        gb = OPERATOR if isinstance(value, NdArray) else gb_type
        return Hit(operation.node, Text(en, zh), _REMEDY, (gb,), operation.sure and not guessed)


def _is_computed_number(value: Value) -> bool:
    """A tensor of zero dimensions made in traced code: one that is an input Dynamo can read, and guards on."""
    if isinstance(value, NdArray):
        return value.rank == 0 and value.dtype == "int"
    return isinstance(value, Tensor) and value.computed and value.rank == 0 and value.dtype in ("int", None)
