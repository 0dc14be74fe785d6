"""CL901: a module that nothing in the file compiles."""

from __future__ import annotations

from collections.abc import Iterator

from ..fixes.compile_site import compile_after_construction
from ..fixes.edit import Fix
from ..semantics.values import Class, Dictionary, Function, Instance, Partial, Sequence, Value, options
from .rule import Context, Example, FileView, Hit, Place, Rule, Text


class NeverCompiled(Rule):
    """A module with a ``forward`` runs eagerly: nothing in this file gives it to ``torch.compile``."""

    code = "CL901"
    name = "never-compiled"
    effect = "info"
    summary = Text("module that is not compiled as a whole", "未被整体编译的模块")
    explanation = """\
The class has a `forward`, and no object of it, nor a module that contains it, is given to `torch.compile` in this
file. Modules inside it may be: a model whose layers are compiled one by one is compiled where it matters, and the
message says so. Whether compiling pays off is a measurement, not an opinion: press *Probe* above the class.
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
            name = cls.qualified_name
            if _parts_compiled(view, cls):
                reason = Text(
                    f"`{name}` is not compiled as a whole in this file, only modules inside it are",
                    f"本文件未整体编译 `{name}`，只编译了其中的部分模块",
                )
            else:
                reason = Text(f"`{name}` is not compiled in this file", f"本文件没有编译 `{name}`")
            yield Hit(
                cls.node.name,
                reason,
                Text("probe it to see whether it pays off", "用“实测”查看是否值得编译"),
            )

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        return compile_after_construction(place.module, place.interpreter, place.hit.node, place.locate, locale)


def _parts_compiled(view: FileView, cls: Class) -> bool:
    """Does an object of the class hold modules whose ``forward`` is compiled?"""
    held = view.interpreter.example(cls).attributes.values()
    return any(_compiled(view, part) for value in held for part in _modules(value))


def _modules(value: Value, depth: int = 3) -> Iterator[Instance]:
    """The objects in an attribute, in a list of layers too."""
    for choice in options(value):
        if isinstance(choice, Partial):
            yield from _modules(choice.function, depth)
        elif isinstance(choice, (Sequence, Dictionary)) and depth:
            yield from _modules(choice.element, depth - 1)
        elif isinstance(choice, Instance):
            yield choice
            if "_items" in choice.attributes and depth:
                yield from _modules(choice.attributes["_items"], depth - 1)


def _compiled(view: FileView, module: Instance) -> bool:
    forward = module.cls.find("forward") if isinstance(module.cls, Class) else None
    return isinstance(forward, Function) and id(forward.node) in view.compiled
