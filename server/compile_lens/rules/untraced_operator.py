"""CL113: torch functions and Tensor methods that Dynamo does not put into a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from ..knowledge.dynamo_facts import Fact, function_fact, method_fact
from ..semantics.operations import AttributeStore, Call, MethodCall, Operation
from ..semantics.values import Instance, Sequence, Tensor, Value
from .rule import Context, Example, Hit, Rule, Text

_OTHER_RULES = frozenset(
    """item tolist nonzero masked_select unique unique_consecutive argwhere bincount one_hot repeat_interleave equal
    allclose is_nonzero backward grad graph_break where numpy Parameter __contains__ split index_select requires_grad_
    detach_""".split()
)
"""Known better by other rules, or breaking only in the company of something else."""
PROXY = "Failed to convert args/kwargs to proxy"
OPAQUE = "An opaque object was created in the middle of the program."
RESIZE = "Unsupported Tensor.resize_() call"
_STORE = ("requires_grad", Tensor)


class UntracedOperator(Rule):
    """A torch function or Tensor method that Dynamo does not put into a graph."""

    code = "CL113"
    name = "untraced-operator"
    effect = "graph-break"
    summary = Text("torch function that Dynamo does not trace", "Dynamo 不追踪的 torch 函数")
    explanation = """\
Most of torch goes into the graph; a few functions and methods do not: those that change a tensor's storage
(`resize_`, `untyped_storage`, `data_ptr`), make sparse or nested tensors, set global state (`torch.manual_seed`,
`torch.set_num_threads`), or hand out objects that are no tensors (`torch.Generator`). Which ones was found by calling
each in compiled code on torch 2.13.

Call them outside the compiled code.
"""
    operations = (Call, MethodCall, AttributeStore)
    gb_types = (
        RESIZE,
        OPAQUE,
        PROXY,
        "Attempted to call function marked as skipped",
        "Unsupported method call",
        "torch.* op returned non-Tensor",
        "setattr() on Tensor.requires_grad",
    )
    invalid = (
        Example(
            """
import torch

def f(x):
    y = x.clone()
    torch.manual_seed(0)  # breaks
    return y * 2

def inputs():
    return [(torch.ones(4),)]
"""
        ),
        Example(
            """
import torch

def f(x):
    y = x + 1
    y.resize_(2)  # breaks
    return y * 2

def inputs():
    return [(torch.ones(4),)]
"""
        ),
        Example(
            """
import torch

def f(x):
    y = x + 1
    n = y.storage_offset()  # breaks
    return y * (n + 2)

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x):
    n = x.numel() * x.element_size()
    return torch.addcmul(x, x, x).contiguous() * n

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if isinstance(operation, MethodCall) and isinstance(operation.receiver, Tensor):
            fact = None if operation.method in _OTHER_RULES else method_fact(operation.method)
            if operation.method == "resize_":
                fact = Fact(RESIZE, False)
            if fact is not None:
                sure = operation.sure and not operation.receiver.guessed
                yield self._hit(operation, f"Tensor.{operation.method}", fact, sure)
        elif isinstance(operation, Call) and operation.name.startswith("torch."):
            short = operation.name.rpartition(".")[2]
            fact = None if short in _OTHER_RULES else function_fact(operation.name, _has_tensor(operation.arguments))
            if _is_generator(operation.keywords.get("generator")):
                fact = Fact(PROXY, False)
            if operation.name == "torch.Generator":
                fact = Fact(OPAQUE, False)
            if fact is not None:
                yield self._hit(operation, operation.name, fact, operation.sure)
        elif isinstance(operation, AttributeStore) and (operation.name, type(operation.receiver)) == _STORE:
            fact = Fact("setattr() on Tensor.requires_grad", False)
            yield self._hit(operation, "Tensor.requires_grad = ...", fact, operation.sure)

    def _hit(self, operation: Operation, name: str, fact: Fact, sure: bool) -> Hit:
        return Hit(
            operation.node,
            Text(f"`{name}` is not traced", f"`{name}` 不会被追踪"),
            Text("call it outside the compiled code", "移到编译代码之外调用"),
            (fact.gb_type,),
            sure,
            resumes=not fact.frame_skipped,
        )


def _is_generator(value: Optional[Value]) -> bool:
    return isinstance(value, Instance) and value.external_class == "torch.Generator"


def _has_tensor(arguments: tuple[Value, ...]) -> bool:
    return any(isinstance(a, Tensor) or (isinstance(a, Sequence) and isinstance(a.element, Tensor)) for a in arguments)
