"""CL901: a module that nothing in the file compiles."""

from __future__ import annotations

from collections.abc import Iterator

from ..fixes.compile_site import compile_after_construction
from ..fixes.edit import Fix
from ..semantics.values import Function
from .rule import Context, Example, FileView, Hit, Place, Rule, Text


class NeverCompiled(Rule):
    """A module with a ``forward`` runs eagerly: nothing in this file gives it to ``torch.compile``."""

    code = "CL901"
    name = "never-compiled"
    effect = "info"
    summary = Text("module that is never compiled", "从未被编译的模块")
    explanation = """\
The class has a `forward`, and no object of it, nor a module that contains it, is given to `torch.compile` in this
file. Whether compiling pays off is a measurement, not an opinion: press *Probe* above the class.
"""
    operations = ()
    invalid = (
        Example(
            """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2

model = Net()

def assertion(captured_operations):
    assert captured_operations(model, torch.ones(4)) == 0, "nothing was compiled"
""",
            """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2

model = Net()
model.compile(backend="eager")

def assertion(captured_operations):
    assert captured_operations(model, torch.ones(4)) == 2, "it was compiled"
""",
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        if view.scope == "regions":
            return
        for cls in view.interpreter.classes:
            forward = cls.members.get("forward")
            if not cls.is_module or not isinstance(forward, Function):
                continue
            if id(forward.node) in view.compiled or id(cls.node) in view.interpreter.contained:
                continue
            yield Hit(
                cls.node.name,
                Text(
                    f"`{cls.qualified_name}` is never compiled in this file", f"本文件从未编译 `{cls.qualified_name}`"
                ),
                Text("probe it to see whether it pays off", "用“实测”查看是否值得编译"),
            )

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        return compile_after_construction(place.module, place.interpreter, place.hit.node, place.locate, locale)
