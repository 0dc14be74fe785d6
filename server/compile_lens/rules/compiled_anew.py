"""CL501: ``torch.compile`` is called again for every step of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

import libcst as cst

from ..semantics.code import dotted_name
from ..semantics.flow import Flow, flow_of
from ..semantics.wrappers import Wrapper, wrappers_of
from .rule import Context, Example, FileView, Hit, Rule, Text

_HEAD = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2

net = Net()
"""
_COUNT = """
def assertion(captured_operations):
    made = []
    original = torch._dynamo.eval_frame.OptimizedModule.__init__

    def counted(self, *arguments, **keywords):
        made.append(1)
        original(self, *arguments, **keywords)

    torch._dynamo.eval_frame.OptimizedModule.__init__ = counted
    try:
        captured_operations(run, torch.ones(4))
    finally:
        torch._dynamo.eval_frame.OptimizedModule.__init__ = original
"""


class CompiledAnew(Rule):
    """A new wrapper for every step: the graph is found again, but making the wrapper is paid every time."""

    code = "CL501"
    name = "compiled-anew"
    effect = "performance"
    summary = Text("`torch.compile` inside a loop", "循环内调用 `torch.compile`")
    explanation = """\
`torch.compile(net)(x)` inside the loop makes a new wrapper at every step. Dynamo finds the compiled code again (12
steps: one graph, on torch 2.5.1, 2.7.1 and 2.13), but the call of `torch.compile` itself is not free: on 2.13 and one
CPU core a step of a small model took 1.1 ms instead of 0.1 ms. A backend that is made anew at every step (a lambda, a
closure) is worse: it is compiled again until the recompile limit (8), and runs eagerly from then on.

Compile once, before the loop.
"""
    operations = ()
    proven_on = ("2.5.1", "2.7.1", "2.13.0")
    invalid = (
        Example(
            _HEAD
            + """
def run(x):
    for _ in range(5):
        x = torch.compile(net, backend="eager")(x)
    return x
"""
            + _COUNT
            + '    assert len(made) == 5, "a wrapper for every step"\n',
            _HEAD
            + """
def run(x):
    fast = torch.compile(net, backend="eager")
    for _ in range(5):
        x = fast(x)
    return x
"""
            + _COUNT
            + '    assert len(made) == 1, "one wrapper"\n',
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        module = view.interpreter.module
        flow = flow_of(module)
        for wrapper in wrappers_of(module):
            loop = _loop(flow, wrapper)
            if loop is None or wrapper.in_place or id(flow.place(wrapper.call).node) in view.compiled:
                continue
            if not any(use.kind == "called" and _inside(flow, use.node, loop) for use in wrapper.uses):
                continue
            if _changes(flow, wrapper, loop) or _resets(flow, loop):
                continue
            yield Hit(
                wrapper.call,
                Text(
                    "compiled anew at every step of the loop: about 1 ms each time, for the same code",
                    "循环的每一步都重新调用 `torch.compile`：代码相同，每次约 1 毫秒",
                ),
                Text("compile once, before the loop", "请在循环之前编译一次"),
            )


def _loop(flow: Flow, wrapper: Wrapper) -> Optional[cst.CSTNode]:
    """The innermost loop around a site, in the same function, that it stands in without a condition."""
    for outer in flow.ancestors(wrapper.call):
        if isinstance(outer, (cst.For, cst.While)):
            return outer
        if isinstance(outer, (cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.If, cst.Else, cst.Try)):
            return None
    return None


def _inside(flow: Flow, node: cst.CSTNode, loop: cst.CSTNode) -> bool:
    return any(outer is loop for outer in flow.ancestors(node))


def _resets(flow: Flow, loop: cst.CSTNode) -> bool:
    """Does the loop forget what was compiled, as a benchmark of compiling does?"""
    return any(dotted_name(call.func).endswith(".reset") and _inside(flow, call, loop) for call in flow.calls)


def _changes(flow: Flow, wrapper: Wrapper, loop: cst.CSTNode) -> bool:
    """May another thing, or the same in another way, be compiled at every step?"""
    names: list[cst.CSTNode] = []
    pending: list[cst.CSTNode] = [argument.value for argument in wrapper.call.args]
    while pending:
        node = pending.pop()
        if isinstance(node, (cst.Call, cst.Lambda, cst.Subscript, cst.Await)):
            return True
        if isinstance(node, (cst.Name, cst.Attribute)):
            names.append(node)
        if isinstance(node, cst.Attribute):
            pending.append(node.value)
        elif not isinstance(node, cst.Name):
            pending += [child for child in node.children if isinstance(child, cst.BaseExpression)]
    for node in names:
        read = flow.reads.get(id(node))
        for definition in read.definitions if read is not None else ():
            if definition.target is not None and _inside(flow, definition.target, loop):
                return True
    return False
