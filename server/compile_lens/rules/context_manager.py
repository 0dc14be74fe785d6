"""CL108: context managers that Dynamo cannot enter."""

from __future__ import annotations

from collections.abc import Iterator

from ..knowledge.dynamo_facts import context_fact
from ..semantics.operations import Call, ContextEntered, MethodCall, Operation
from ..semantics.values import External, Instance, Value
from .rule import Context, Example, Hit, Rule, Text


class ContextManager(Rule):
    """A ``with`` block enters a context manager that Dynamo does not trace."""

    code = "CL108"
    name = "context-manager"
    effect = "graph-break"
    summary = Text("context manager that Dynamo does not trace", "Dynamo 不追踪的上下文管理器")
    explanation = """\
Dynamo knows the context managers that change how tensors are computed (`torch.no_grad`, `torch.autocast`,
`torch.inference_mode`) and can leave and enter them around a break. Locks, files, `torch.device(...)`, anomaly
detection and their like it cannot: the graph ends there, and inside the block nothing can be resumed.

Enter it outside the compiled function. Instead of `with torch.device(d):` pass `device=d` to what is created.
"""
    operations = (ContextEntered, MethodCall, Call)
    gb_types = (
        "Unsupported context manager",
        "Attempted to call function marked as skipped",
        "Attempted to inline function marked as skipped",
        "Unsupported method call",
        "Failed to trace builtin operator",
        "torch.* op returned non-Tensor",
    )
    invalid = (
        Example(
            """
import torch

def f(x):
    with torch.device("cpu"):  # breaks
        y = torch.ones(4)
    return x + y

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch

def f(x):
    y = torch.ones(4, device="cpu")
    return x + y

def inputs():
    return [(torch.ones(4),)]
""",
        ),
        Example(
            """
import threading
import torch

lock = threading.Lock()

def f(x):
    with lock:  # breaks
        y = x * 2
    return y + 1

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )
    valid = (
        Example(
            """
import torch
from torch import nn

class Scaled(nn.Module):
    @property
    def scale(self):
        return 2.0

    def forward(self, x):
        return x * self.scale

def make():
    return Scaled()

def inputs():
    return [(torch.ones(4),)]
"""
        ),
        Example(
            """
import torch

def f(x):
    with torch.no_grad():
        y = x * 2
    with torch.autocast("cpu"):
        return y @ y

def inputs():
    return [(torch.ones(4, 4),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if isinstance(operation, MethodCall):
            if operation.method == "enter_context" and _is_exit_stack(operation.receiver):
                yield self._hit(operation, "ExitStack.enter_context", False)
            return
        if isinstance(operation, Call):
            # Before 3.12 the descriptor computes the value under a lock.
            if operation.name == "functools.cached_property.__get__" and context.python_version < (3, 12):
                yield self._hit(operation, "cached_property", False)
            return
        if not isinstance(operation, ContextEntered):
            return
        manager = operation.manager
        name = manager.external_class if isinstance(manager, Instance) else ""
        if isinstance(manager, External):
            name = manager.name
        name = operation.name or name
        fact = context_fact(name)
        if fact is not None:
            yield self._hit(operation, f"with {name}", not (fact.frame_skipped or name in _MADE_OUTSIDE))

    def _hit(self, operation: Operation, what: str, resumes: bool) -> Hit:
        return Hit(
            operation.node,
            Text(f"`{what}` is not traced", f"`{what}` 不会被追踪"),
            Text("enter it outside the compiled code", "移到编译代码之外"),
            self.gb_types,
            operation.sure,
            resumes=resumes,
        )


def _is_exit_stack(value: Value) -> bool:
    return isinstance(value, Instance) and value.external_class == "contextlib.ExitStack"


_MADE_OUTSIDE = frozenset({"threading.Lock", "threading.RLock"})
