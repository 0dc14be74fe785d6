"""CL408: what is done to the wrapper only works with the original."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

import libcst as cst

from ..fixes.edit import Fix
from ..fixes.site import in_place
from ..semantics.flow import flow_of
from ..semantics.modules import SourceModule
from ..semantics.uses import Use
from ..semantics.values import Class
from ..semantics.wrappers import Wrapper, in_raises, wrappers_of
from .rule import Context, Example, FileView, Hit, Place, Rule, Text

_HEAD = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x)

net = Net()
"""


class WrapperIdentity(Rule):
    """The wrapper is an ``OptimizedModule``: no instance of the class, no container, nothing that can be scripted."""

    code = "CL408"
    name = "wrapper-identity"
    effect = "misuse"
    summary = Text("the wrapper is not the module", "包装对象不是原模块")
    explanation = """\
`torch.compile(net)` returns a `torch._dynamo.OptimizedModule`. `isinstance(fast, Net)` is false; `fast[0]` of a
compiled `nn.Sequential` raises; `torch.jit.script`, `torch.jit.trace` and `torch.fx.symbolic_trace` refuse it; and
compiling it once more returns a plain function, without `parameters()` and `state_dict()`.

`net.compile()` compiles in place: the object keeps its class. Script, trace and export the original.
"""
    operations = ()
    proven_on = ("2.5.1", "2.7.1", "2.13.0")
    invalid = (
        Example(
            _HEAD
            + """
fast = torch.compile(net, backend="eager")
is_net = isinstance(fast, Net)

def assertion(captured_operations):
    assert not is_net
""",
            _HEAD
            + """
fast = net
fast.compile(backend="eager")
is_net = isinstance(fast, Net)

def assertion(captured_operations):
    assert is_net
    assert captured_operations(fast, torch.ones(2, 4)) == 1, "it is compiled all the same"
""",
        ),
        Example(
            _HEAD
            + """
fast = torch.compile(net, backend="eager")
fast = torch.compile(fast, backend="eager")

def assertion(captured_operations):
    assert not hasattr(fast, "state_dict") and not isinstance(fast, nn.Module)
""",
        ),
        Example(
            _HEAD
            + """
fast = torch.compile(net, backend="eager")

def script():
    return torch.jit.script(fast)

def assertion(captured_operations):
    try:
        script()
    except Exception:
        return
    raise AssertionError("it can be scripted")
""",
        ),
        Example(
            _HEAD
            + """
layers = torch.compile(nn.Sequential(Net(), Net()), backend="eager")

def first():
    return layers[0]

def assertion(captured_operations):
    try:
        first()
    except TypeError:
        return
    raise AssertionError("it has elements")
""",
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        module = view.interpreter.module
        flow = flow_of(module)
        sites = {id(site.node) for site in module.sites}
        for wrapper in wrappers_of(module):
            for use in () if wrapper.in_place or wrapper.is_function else wrapper.uses:
                if use.kind == "element" and wrapper.is_module:
                    yield Hit(
                        use.node,
                        Text("raises: a compiled module has no elements", "会报错：编译后的模块不支持下标访问"),
                        Text("take the element from the original, or compile in place", "请从原模块取元素，或原地编译"),
                        sure=use.sure,
                    )
                if use.kind != "argument" or use.call is None or in_raises(flow, use.call):
                    continue
                hit = _judge(view, module, wrapper, use, sites)
                if hit is not None:
                    yield hit

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        module = place.module
        for wrapper in wrappers_of(module):
            if wrapper.is_module and any(place.hit.node in (use.call, use.node) for use in wrapper.uses):
                return in_place(module, wrapper, place.locate, locale)
        return []


_REFUSING = ("torch.jit.script", "torch.jit.trace", "torch.fx.symbolic_trace")


def _judge(view: FileView, module: SourceModule, wrapper: Wrapper, use: Use, sites: set[int]) -> Optional[Hit]:
    call = use.call
    assert call is not None
    first = call.args[0].value is use.node
    # An attribute that another method has compiled, or this one at an earlier call, most often is guarded elsewhere.
    again = id(call) in sites and call is not wrapper.call and here(module, wrapper, use)
    if again and first and (wrapper.is_module or _is_named_module(wrapper)):
        return Hit(
            call,
            Text(
                "compiled a second time: a plain function comes back, without `parameters()` and `state_dict()`",
                "第二次编译：返回普通函数，没有 `parameters()` 和 `state_dict()`",
            ),
            Text("compile once", "只编译一次即可"),
            sure=use.sure,
        )
    name = view.interpreter.name_in(module.scope, call.func)
    if name in _REFUSING and first:
        return Hit(
            call,
            Text(f"raises: `{name}` refuses a compiled module", f"会报错：`{name}` 不接受编译后的模块"),
            Text("give it the original", "请传入原模块"),
            sure=use.sure and wrapper.is_module,
        )
    if name == "isinstance" and first and len(call.args) == 2:
        cls = module.scope.get(module.tree.code_for_node(call.args[1].value))
        if isinstance(cls, Class) and wrapper.classes and all(cls in known.lineage() for known in wrapper.classes):
            return Hit(
                call,
                Text(
                    f"false for a compiled module: it is an `OptimizedModule`, no `{cls.qualified_name}`",
                    f"对编译后的模块为假：它是 `OptimizedModule`，不是 `{cls.qualified_name}`",
                ),
                Text("compile in place: `.compile()` keeps the class", "请原地编译：`.compile()` 保留类型"),
                sure=use.sure,
            )
    return None


def here(module: SourceModule, wrapper: Wrapper, use: Use) -> bool:
    """Does it happen in the function that compiles?"""
    flow = flow_of(module)
    return flow.place(use.node) is flow.place(wrapper.call)


def _is_named_module(wrapper: Wrapper) -> bool:
    """Is what was compiled called a model by its author?"""
    return isinstance(wrapper.target, (cst.Name, cst.Attribute)) and "model" in (
        wrapper.target.value if isinstance(wrapper.target, cst.Name) else wrapper.target.attr.value
    )
