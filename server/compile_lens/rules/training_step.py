"""CL111: gradients and optimizer steps inside compiled code."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import Call, MethodCall, Operation
from ..semantics.values import Instance, Tensor, Value
from .rule import Context, Example, Hit, Rule, Text

BACKWARD = "Unsupported Tensor.backward() call"
GRAD = "using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`"
OPTIMIZER = "Attempted to inline function marked as skipped"


class TrainingStep(Rule):
    """``backward()``, ``torch.autograd.grad`` or an optimizer's step is called in compiled code."""

    code = "CL111"
    name = "training-step"
    effect = "graph-break"
    summary = Text("backward or optimizer step in compiled code", "编译代码中的反向传播或优化器步骤")
    explanation = """\
Dynamo traces the forward pass; the backward pass is derived from it by AOTAutograd. A call of `loss.backward()`,
`torch.autograd.grad` or an optimizer's `zero_grad()` inside the compiled function ends the graph.

Compile the model (or a function that returns the loss) and call `backward()` and the optimizer outside.
"""
    operations = (MethodCall, Call)
    gb_types = (BACKWARD, GRAD, OPTIMIZER, "Call to `torch._dynamo.graph_break()`")
    invalid = (
        Example(
            """
import torch

w = torch.ones(4, requires_grad=True)

def f(x):
    with torch.enable_grad():
        loss = (x * w).sum()
        loss.backward()  # breaks
    return x * 2

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x, w):
    return (x * w).sum()

def inputs():
    return [(torch.ones(4), torch.ones(4, requires_grad=True))]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        remedy = Text("call it outside the compiled code", "移到编译代码之外调用")
        if context.settings.get("trace_autograd_ops"):
            return
        if isinstance(operation, MethodCall):
            receiver = operation.receiver
            if isinstance(receiver, Tensor) and operation.method == "backward":
                reason = Text("`.backward()` inside compiled code", "编译代码中的 `.backward()`")
                yield Hit(operation.node, reason, remedy, (BACKWARD,), operation.sure and not receiver.guessed)
            elif _is_optimizer(receiver) and operation.method in ("step", "zero_grad"):
                name = f"optimizer.{operation.method}()"
                reason = Text(f"`{name}` inside compiled code", f"编译代码中的 `{name}`")
                yield Hit(operation.node, reason, remedy, (OPTIMIZER, self.gb_types[3]), operation.sure)
        elif isinstance(operation, Call) and operation.name in ("torch.autograd.grad", "torch.autograd.backward"):
            reason = Text(f"`{operation.name}` inside compiled code", f"编译代码中的 `{operation.name}`")
            yield Hit(operation.node, reason, remedy, (GRAD, BACKWARD), operation.sure)


def _is_optimizer(value: Value) -> bool:
    return isinstance(value, Instance) and value.external_class.startswith("torch.optim.")
