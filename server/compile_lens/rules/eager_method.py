"""CL403: a method that does not go through the compiled call of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

import libcst as cst

from ..fixes.edit import Edit, Fix
from ..fixes.site import in_place, title
from ..semantics.flow import flow_of, parts
from ..semantics.uses import Use
from ..semantics.values import Class, Function
from ..semantics.wrappers import BOOKKEEPING, Wrapper, wrappers_of
from .rule import Context, Example, FileView, Hit, Place, Rule, Text

_NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.lin(x))

    def twice(self, x):
        return self(self(x))
"""


class EagerMethod(Rule):
    """Only the call of the module is compiled: another method, or ``forward`` called by hand, runs the original."""

    code = "CL403"
    name = "eager-method"
    effect = "misuse"
    summary = Text("a method that goes past the compiled call", "绕过编译入口的方法调用")
    explanation = """\
`fast = torch.compile(net)` compiles what `fast(x)` runs. Any other method (`fast.generate(x)`, `fast.embed(x)`) is
looked up on the original: its `self` is the original module, so that the `self(...)` inside runs eagerly.

So is `generate` of Hugging Face's models (transformers 5.25 on torch 2.13, a small GPT-2: no compiled frame through the
wrapper, three after `model.compile()`).

After the in-place `net.compile()` the call `net(x)` is compiled, from inside methods too; but `net.forward(x)` and
`self.forward(x)` go past it. (`fast.forward(x)` of a wrapper is compiled.)
"""
    operations = ()
    proven_on = ("2.5.1", "2.7.1", "2.13.0")
    invalid = (
        Example(
            _NET
            + """
net = Net()
fast = torch.compile(net, backend="eager")

def run(x):
    return fast.twice(x)

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) == 0, "the method ran the original"
""",
            _NET
            + """
fast = Net()
fast.compile(backend="eager")

def run(x):
    return fast.twice(x)

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) > 0, "its calls of the module are compiled"
""",
        ),
        Example(
            _NET
            + """
net = Net()
net.compile(backend="eager")

def run(x):
    return net.forward(x)

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) == 0, "forward is not the compiled call"
""",
            _NET
            + """
net = Net()
net.compile(backend="eager")

def run(x):
    return net(x)

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) > 0, "the call is compiled"
""",
        ),
    )
    valid = (
        Example(
            _NET
            + """
net = Net()
fast = torch.compile(net, backend="eager")

def run(x):
    return fast.forward(x)

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) > 0, "the wrapper's own forward is compiled"
"""
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        module = view.interpreter.module
        flow = flow_of(module)
        for wrapper in wrappers_of(module):
            for use in wrapper.uses:
                if use.kind != "method" or use.call is None:
                    continue
                if id(flow.place(use.call).node) in view.compiled:
                    continue  # compiled with the function around it
                hit = _judge(wrapper, use, module.tree)
                if hit is not None:
                    yield hit

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        module, call = place.module, place.hit.node
        for wrapper in wrappers_of(module):
            use = next((use for use in wrapper.uses if use.call is call and use.kind == "method"), None)
            if use is None or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
                continue
            if wrapper.in_place and use.name == "forward":
                receiver = module.tree.code_for_node(call.func.value)
                edit = Edit(place.locate([call.func])[id(call.func)], receiver)
                words = title(locale, f"Call the module: `{receiver}(...)`", f"直接调用模块：`{receiver}(...)`")
                return [Fix(words, (edit,), preferred=True)]
            if use.name == "generate" and not wrapper.classes:
                return in_place(module, wrapper, place.locate, locale)
            if not wrapper.in_place and all("call" in self_calls(cls, use.name) for cls in wrapper.classes):
                return in_place(module, wrapper, place.locate, locale)
        return []


def _judge(wrapper: Wrapper, use: Use, tree: cst.Module) -> Optional[Hit]:
    assert use.call is not None
    receiver = tree.code_for_node(use.node)
    if wrapper.in_place and use.name == "forward":
        if not wrapper.is_module:
            return None
        return Hit(
            use.call,
            Text(
                f"`{receiver}.forward` goes past what `{receiver}.compile()` compiled: it runs eagerly",
                f"`{receiver}.forward` 绕过了 `{receiver}.compile()` 编译的入口：以 eager 方式运行",
            ),
            Text(f"call `{receiver}(...)`", f"请调用 `{receiver}(...)`"),
            sure=use.sure,
        )
    if use.name in BOOKKEEPING or use.name in ("forward", "__call__"):
        return None
    if use.name == "generate" and not wrapper.in_place and not wrapper.is_function and not wrapper.classes:
        return Hit(
            use.call,
            Text(
                "`generate` is a method of the original: the forward passes in it run eagerly",
                "`generate` 是原模型的方法：其中的前向计算以 eager 方式运行",
            ),
            Text(f"compile in place: `{receiver}.compile()`", f"请原地编译：`{receiver}.compile()`"),
            sure=False,
        )
    if not wrapper.classes:
        return None
    ways = [self_calls(cls, use.name) for cls in wrapper.classes]
    if not all(ways) or (wrapper.in_place and any("call" in way for way in ways)):
        return None
    inner = "self(...)" if any("call" in way for way in ways) else "self.forward(...)"
    if wrapper.in_place:
        return Hit(
            use.call,
            Text(
                f"`{use.name}` calls `self.forward(...)`, past what `{receiver}.compile()` compiled: it runs eagerly",
                f"`{use.name}` 调用 `self.forward(...)`，绕过了 `{receiver}.compile()` 编译的入口：以 eager 方式运行",
            ),
            Text("call `self(...)` in it", "请在其中调用 `self(...)`"),
            sure=use.sure,
        )
    return Hit(
        use.call,
        Text(
            f"`{use.name}` is a method of the original: the `{inner}` in it runs eagerly",
            f"`{use.name}` 是原模块的方法：其中的 `{inner}` 以 eager 方式运行",
        ),
        Text(
            "compile the module in place (`.compile()`), or compile the method",
            "请原地编译模块（`.compile()`），或直接编译该方法",
        ),
        sure=use.sure,
    )


def self_calls(cls: Class, name: str, depth: int = 0) -> set[str]:
    """How a method runs its own module: by ``call`` (``self(...)``), by ``forward``; followed into other methods."""
    method = cls.find(name)
    if not isinstance(method, Function) or not isinstance(method.node, cst.FunctionDef) or depth > 3:
        return set()
    first = next((p.name.value for p in [*method.node.params.posonly_params, *method.node.params.params]), "")
    found: set[str] = set()
    pending: list[cst.CSTNode] = [method.node.body]
    while pending:
        node = pending.pop()
        pending += parts(node)
        if not isinstance(node, cst.Call):
            continue
        callee = node.func
        if isinstance(callee, cst.Name) and callee.value == first:
            found.add("call")
        elif isinstance(callee, cst.Attribute) and isinstance(callee.value, cst.Name) and callee.value.value == first:
            other = callee.attr.value
            if other in ("forward", "__call__"):
                found.add("forward" if other == "forward" else "call")
            elif other != name:
                found |= self_calls(cls, other, depth + 1)
    return found
