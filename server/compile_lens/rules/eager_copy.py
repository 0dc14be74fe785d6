"""CL404: a copy of a module that was compiled in place."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..fixes.compile_site import arguments_text
from ..fixes.edit import Fix, insertion
from ..fixes.site import title
from ..semantics.flow import flow_of
from ..semantics.uses import uses
from ..semantics.wrappers import wrappers_of
from ..text.source import Position
from .rule import Context, Example, FileView, Hit, Place, Rule, Text

_NET = """
import copy
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2

net = Net()
net.compile(backend="eager")
ema = copy.deepcopy(net)
"""
_RUN = """
def run(x):
    return ema(x)
"""


class EagerCopy(Rule):
    """A copy of a module leaves behind what ``.compile()`` made: the copy runs eagerly."""

    code = "CL404"
    name = "eager-copy"
    effect = "misuse"
    summary = Text("copy of a module that was compiled in place", "原地编译模块的拷贝")
    explanation = """\
`net.compile()` keeps the compiled call in the object, and `copy.deepcopy(net)` and `copy.copy(net)` do not take it
along: the copy computes the same, eagerly. Compile the copy as well, or copy before compiling. (A copy of the wrapper
that `torch.compile(net)` returns is compiled.)
"""
    operations = ()
    proven_on = ("2.5.1", "2.7.1", "2.13.0")
    invalid = (
        Example(
            _NET
            + _RUN
            + """
def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) == 0, "the copy is eager"
""",
            _NET
            + 'ema.compile(backend="eager")\n'
            + _RUN
            + """
def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) > 0, "the copy is compiled"
""",
        ),
    )
    valid = (
        Example(
            """
import copy
import torch
from torch import nn

fast = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), backend="eager")
run = copy.deepcopy(fast)

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) > 0, "the copy of a wrapper is compiled"
"""
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        module = view.interpreter.module
        flow = flow_of(module)
        for wrapper in wrappers_of(module):
            for use in wrapper.uses if wrapper.in_place and wrapper.is_module else ():
                if use.kind != "argument" or use.call is None or use.name or use.call.args[0].value is not use.node:
                    continue
                if view.interpreter.name_in(module.scope, use.call.func) not in ("copy.deepcopy", "copy.copy"):
                    continue
                fates = uses(flow, use.call)
                again = [fate for fate in fates if fate.kind == "method" and fate.name == "compile"]
                called = [fate for fate in fates if fate.kind == "called"]
                handed_on = any(fate.kind in ("argument", "returned", "stored", "other") for fate in fates)
                if again or handed_on or not called:
                    continue
                name = module.tree.code_for_node(called[0].node)
                yield Hit(
                    use.call,
                    Text(
                        f"the copy is not compiled: `{name}(...)` runs eagerly",
                        f"拷贝未被编译：`{name}(...)` 以 eager 方式运行",
                    ),
                    Text(f"compile the copy: `{name}.compile()`", f"请编译该拷贝：`{name}.compile()`"),
                    sure=use.sure,
                )

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        module, call = place.module, place.hit.node
        flow = flow_of(module)
        assign = flow.parents.get(id(call))
        statement = flow.statement(call)
        wrapper = next((w for w in wrappers_of(module) for use in w.uses if use.call is call), None)
        if wrapper is None or statement is None or not isinstance(assign, cst.Assign) or len(statement.body) != 1:
            return []
        target = assign.targets[0].target
        if len(assign.targets) != 1 or not isinstance(target, (cst.Name, cst.Attribute)):
            return []
        line = place.locate([statement])[id(statement)]
        indent = module.source.line(line.start.line)[: line.start.column]
        name = module.tree.code_for_node(target)
        code = f"{name}.compile({arguments_text(module, wrapper.call.args)})"
        newline = module.source.newline
        behind = Position(line.end.line + 1, 0)
        if behind.line < len(module.source.line_starts):
            edit = insertion(behind, indent + code + newline)
        else:
            edit = insertion(module.source.position(len(module.source.text)), newline + indent + code)
        return [Fix(title(locale, f"Compile the copy: `{code}`", f"编译该拷贝：`{code}`"), (edit,), preferred=True)]
