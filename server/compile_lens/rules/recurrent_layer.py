"""CL109: recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import MethodCall, Operation
from ..semantics.values import Instance
from .rule import Context, Example, Hit, Rule, Text

_LAYERS = frozenset({"torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"})


class RecurrentLayer(Rule):
    """``nn.LSTM``, ``nn.GRU`` or ``nn.RNN`` is called in compiled code."""

    code = "CL109"
    name = "recurrent-layer"
    effect = "graph-break"
    summary = Text("recurrent layer in compiled code", "编译代码中的循环层")
    explanation = """\
Dynamo does not trace `nn.LSTM`, `nn.GRU` and `nn.RNN`: what stands before the call is compiled, the rest of the
function runs eagerly. When the layer comes first, nothing is compiled.

Compile the parts before and after it as modules of their own. `torch._dynamo.config.allow_rnn = True` lets Dynamo in.
"""
    operations = (MethodCall,)
    gb_types = ("Attempted to wrap RNN, GRU, or LSTM",)
    invalid = (
        Example(
            """
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(4, 4)
        self.rnn = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x):
        h, _ = self.rnn(torch.relu(self.inp(x)))  # breaks
        return h * 2

def make():
    torch.manual_seed(0)
    return Tagger()

def inputs():
    return [(torch.ones(2, 3, 4),)]
"""
        ),
    )
    valid = (
        Example(
            """
import torch
from torch import nn

class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 4)

    def forward(self, x, h, c):
        return self.cell(x, (h, c))[0]

def make():
    torch.manual_seed(0)
    return Step()

def inputs():
    return [(torch.ones(2, 4), torch.zeros(2, 4), torch.zeros(2, 4))]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if not isinstance(operation, MethodCall) or operation.method != "forward":
            return
        receiver = operation.receiver
        if context.settings.get("allow_rnn") or not isinstance(receiver, Instance):
            return
        if receiver.external_class in _LAYERS:
            name = receiver.external_class.rpartition(".")[2]
            yield Hit(
                operation.node,
                Text(f"`nn.{name}` is not traced", f"`nn.{name}` 不会被追踪"),
                Text("compile the parts before and after it", "分别编译其前后部分"),
                self.gb_types,
                operation.sure,
                resumes=False,
            )
