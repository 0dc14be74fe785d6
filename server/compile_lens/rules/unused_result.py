"""CL402: the result of ``torch.compile`` is dropped, or bound to a name that nobody calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

import libcst as cst

from ..fixes.edit import Fix
from ..fixes.site import assign_back, call_compiled, in_place
from ..semantics.code import dotted_name
from ..semantics.flow import Flow, flow_of
from ..semantics.uses import Use, in_function
from ..semantics.wrappers import BOOKKEEPING, Wrapper, in_raises, runs_code_of_torch, uses_of_original, wrappers_of
from .rule import Context, Example, FileView, Hit, Place, Rule, Text

_HEAD = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.lin(x))
"""
_STACK = (
    _HEAD
    + """
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Net() for _ in range(3))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
)
_EAGER = """
def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) == 0, "nothing was compiled"
"""
_COMPILED = """
def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) > 0, "it was compiled"
"""


class UnusedResult(Rule):
    """``torch.compile`` returns a wrapper and leaves what it is given as it was: whoever calls that runs eagerly."""

    code = "CL402"
    name = "unused-result"
    effect = "misuse"
    summary = Text("the result of `torch.compile` is not used", "没有使用 `torch.compile` 的返回值")
    explanation = """\
`torch.compile(model)` changes nothing in `model`: it returns a wrapper, and compiles when that is called. Where the
wrapper is dropped, bound to a name that nobody calls, or bound to a loop variable (the list keeps the original), all
calls run the original, eagerly, and no message says so.

Either use what it returns (`model = torch.compile(model)`, `blocks[i] = torch.compile(block)`), or compile the module
in place: `model.compile()` needs no assignment, and keeps the class and the keys of the `state_dict`.

Nothing is said where the result is returned, stored, handed on, or called on any path.
"""
    operations = ()
    proven_on = ("2.5.1", "2.7.1", "2.13.0")
    invalid = (
        Example(
            _HEAD
            + """
model = Net()
torch.compile(model, backend="eager")

def run(x):
    return model(x)
"""
            + _EAGER,
            _HEAD
            + """
model = Net()
model.compile(backend="eager")

def run(x):
    return model(x)
"""
            + _COMPILED,
        ),
        Example(
            _HEAD
            + """
def run(x):
    net = Net()
    fast = torch.compile(net, backend="eager")
    return net(x)
"""
            + _EAGER,
            _HEAD
            + """
def run(x):
    net = Net()
    fast = torch.compile(net, backend="eager")
    return fast(x)
"""
            + _COMPILED,
        ),
        Example(
            _STACK
            + """
model = Stack()
for block in model.blocks:
    block = torch.compile(block, backend="eager")

def run(x):
    return model(x)
"""
            + _EAGER,
            _STACK
            + """
model = Stack()
for block in model.blocks:
    block.compile(backend="eager")

def run(x):
    return model(x)
"""
            + _COMPILED,
        ),
        Example(
            _STACK
            + """
model = Stack()
for name, child in model.named_children():
    child = torch.compile(child, backend="eager")

def run(x):
    return model(x)
"""
            + _EAGER,
        ),
        Example(
            _HEAD.replace(
                "        self.lin = nn.Linear(4, 4)\n",
                '        self.lin = nn.Linear(4, 4)\n        self = torch.compile(self, backend="eager")\n',
            )
            + "\nrun = Net()\n"
            + _EAGER,
            _HEAD.replace(
                "        self.lin = nn.Linear(4, 4)\n",
                '        self.lin = nn.Linear(4, 4)\n        self.compile(backend="eager")\n',
            )
            + "\nrun = Net()\n"
            + _COMPILED,
        ),
        Example(
            _HEAD
            + """
def speed_up(model):
    model = torch.compile(model, backend="eager")

run = Net()
speed_up(run)
"""
            + _EAGER,
        ),
        Example(
            _HEAD
            + """
net = Net()
fast = net.compile(backend="eager")

def assertion(captured_operations):
    assert fast is None
"""
        ),
    )
    valid = (
        Example(
            _STACK
            + """
model = Stack()
for i, block in enumerate(model.blocks):
    model.blocks[i] = torch.compile(block, backend="eager")

def run(x):
    return model(x)
"""
            + _COMPILED
        ),
        Example(
            _STACK
            + """
from functools import partial

fast = partial(torch.compile, backend="eager")
model = nn.Sequential(Net(), Net())
for name, child in list(model.named_children()):
    setattr(model, name, fast(child))

def run(x):
    return model(x)
"""
            + _COMPILED
        ),
        Example(
            _HEAD
            + """
model = Net()
flag = True
step = torch.compile(model, backend="eager") if flag else model

def run(x):
    return step(x)
"""
            + _COMPILED
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        module = view.interpreter.module
        flow = flow_of(module)
        for wrapper in wrappers_of(module):
            if in_raises(flow, wrapper.call):
                continue
            if wrapper.in_place:
                if wrapper.is_module and isinstance(flow.parents.get(id(wrapper.call)), cst.Assign):
                    yield Hit(
                        wrapper.call,
                        Text("`.compile()` compiles in place and returns `None`", "`.compile()` 原地编译，返回 `None`"),
                        Text("make it a statement of its own", "请单独作为一条语句"),
                    )
                continue
            hit = _judge(flow, wrapper, module.tree, module.source.text)
            if hit is not None:
                yield hit

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        module = place.module
        wrapper = next((w for w in wrappers_of(module) if w.call is place.hit.node), None)
        if wrapper is None or wrapper.in_place:
            return []
        flow = flow_of(module)
        calls = [use.call for use in eager_calls(flow, wrapper) if use.call is not None]
        fixes = [] if wrapper.is_function else in_place(module, wrapper, place.locate, locale, wrapper.is_module)
        name = next((use.name for use in wrapper.uses if use.kind == "bound"), "")
        target = dotted_name(wrapper.target)
        if name and name != target:
            here = [c for c in calls if flow.place(c) is flow.place(wrapper.call) and dotted_name(c.func) == target]
            fixes += call_compiled(module, name, here, place.locate, locale, not fixes)
        elif not name and (calls or not fixes):
            fixes += assign_back(module, wrapper, place.locate, locale, not wrapper.is_module or not fixes)
        return sorted(fixes, key=lambda fix: not fix.preferred)


_ALL_NAMES = frozenset({"locals", "vars", "globals", "eval", "exec"})
"""Functions that read names nobody sees."""


def runs(use: Use) -> bool:
    """May this use call the wrapper, or hand it to somebody who does?"""
    if use.kind == "method":
        return use.name not in BOOKKEEPING
    if use.kind == "attribute":
        return use.name in ("forward", "__call__")
    return use.kind not in ("dropped", "bound", "looked at", "set")


def eager_calls(flow: Flow, wrapper: Wrapper) -> list[Use]:
    """Calls of the original behind the site."""
    return [use for use in uses_of_original(flow, wrapper) if use.kind == "called"]


def _judge(flow: Flow, wrapper: Wrapper, tree: cst.Module, text: str) -> Optional[Hit]:
    stored = [use for use in wrapper.uses if use.kind == "stored" and use.definition is not None]
    if any(runs(use) and use not in stored for use in wrapper.uses):
        return None
    target = tree.code_for_node(wrapper.target) if wrapper.target is not None else "it"
    calls = eager_calls(flow, wrapper)
    sure = True
    if stored:
        if not _unread_attribute(flow, stored[0], wrapper, text) or not calls:
            return None
        sure = False
    bound = [use for use in wrapper.uses if use.kind == "bound" and use.definition is not None]
    shadowed = ""
    for use in bound:
        definition = use.definition
        assert definition is not None
        place = definition.place
        if place is None or place.is_class or use.name in place.shared:
            return None
        others = [d for d in place.bound.get(use.name, []) if d is not definition]
        if any(d.kind == "loop" for d in others):
            shadowed = "loop"
        elif in_function(place):
            if place.first_parameter == use.name:
                shadowed = "self"
            elif any(read.path in _ALL_NAMES for read in flow.reads.values() if read.place is place):
                return None
        elif not calls or use.name == target:
            return None  # other files may import the name
    return Hit(
        wrapper.call, _reason(wrapper, target, bound, shadowed, calls, tree), _remedy(wrapper, target), sure=sure
    )


def _unread_attribute(flow: Flow, use: Use, wrapper: Wrapper, text: str) -> bool:
    """Is the result stored in an attribute of ``self`` that this file never reads, by whatever name of the object?"""
    definition = use.definition
    if definition is None or definition.place is None or definition.place.owner is None:
        return False
    first, _, name = definition.path.partition(".")
    if first != definition.place.first_parameter or "." in name or name == "forward":
        return False
    return name not in flow.attributes and f'"{name}"' not in text and f"'{name}'" not in text


def _reason(wrapper: Wrapper, target: str, bound: list[Use], shadowed: str, calls: list[Use], tree: cst.Module) -> Text:
    if shadowed == "loop":
        return Text(
            f"only the loop variable `{target}` is the compiled one: where it came from the original stays, eager",
            f"只有循环变量 `{target}` 指向编译后的对象：原容器中仍是未编译的模块，以 eager 方式运行",
        )
    if shadowed == "self":
        return Text(
            f"only the local name `{target}` is bound to the compiled one: the object itself stays eager",
            f"只有局部变量 `{target}` 指向编译后的对象：对象本身仍以 eager 方式运行",
        )
    call = next((use.call for use in calls if use.call is not None), None)
    runs_eagerly, zh = f"`{target}` stays eager", f"`{target}` 仍以 eager 方式运行"
    if call is not None:
        words = tree.code_for_node(call)
        if len(words) <= 60 and "\n" not in words:
            runs_eagerly, zh = f"`{words}` runs the original, eager", f"`{words}` 运行的是未编译的对象（eager）"
    if bound and bound[0].name != target:
        return Text(
            f"`{bound[0].name}`, the compiled one, is never called: {runs_eagerly}",
            f"编译后的 `{bound[0].name}` 从未被调用：{zh}",
        )
    if bound:
        return Text(
            f"the compiled `{target}` is never used: whoever holds the original runs it eagerly",
            f"编译后的 `{target}` 从未被使用：持有原对象的代码仍以 eager 方式运行",
        )
    return Text(f"the result of `torch.compile` is dropped: {runs_eagerly}", f"`torch.compile` 的返回值被丢弃：{zh}")


def _remedy(wrapper: Wrapper, target: str) -> Text:
    if wrapper.is_function or any(map(runs_code_of_torch, wrapper.original)):
        return Text("use what `torch.compile` returns", "请使用 `torch.compile` 的返回值")
    return Text(
        f"use what it returns, or compile in place: `{target}.compile()`",
        f"请使用其返回值，或原地编译：`{target}.compile()`",
    )
