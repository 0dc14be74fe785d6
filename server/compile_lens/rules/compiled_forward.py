"""CL401: ``torch.compile`` on ``forward`` instead of on the module."""

from __future__ import annotations

from collections.abc import Iterator

from ..fixes.compile_site import move_to_construction
from ..fixes.edit import Fix
from ..semantics.values import Function
from .rule import Context, Example, FileView, Hit, Place, Rule, Text


class CompiledForward(Rule):
    """``@torch.compile`` decorates ``forward``, so hooks and ``__call__`` stay outside the compiled code."""

    code = "CL401"
    name = "compiled-forward"
    effect = "misuse"
    summary = Text("`torch.compile` on `forward`", "在 `forward` 上使用 `torch.compile`")
    explanation = """\
A decorator on `forward` compiles the function of the class, once for all objects, whatever their configuration; hooks
run outside the graph, and nobody can get at the uncompiled module any more (to compare with, to export, to compile
with another mode).

Compile the object where it is built: `model.compile()` keeps its class, its type and the keys of its `state_dict`.
"""
    operations = ()
    invalid = (
        Example(
            """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    @torch.compile(backend="eager")
    def forward(self, x):
        return self.lin(x)

def assertion(captured_operations):
    net = Net()
    net.register_forward_hook(lambda module, args, output: torch.relu(output))
    assert captured_operations(net, torch.ones(2, 4)) == 1, "the hook is not in the graph"
""",
            """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x)

def assertion(captured_operations):
    net = Net()
    net.register_forward_hook(lambda module, args, output: torch.relu(output))
    net.compile(backend="eager")
    assert captured_operations(net, torch.ones(2, 4)) == 2, "the hook is in the graph"
""",
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        for site in view.interpreter.sites:
            target = site.target
            if site.form != "decorator" or not isinstance(target, Function) or target.name != "forward":
                continue
            if target.owner is not None and target.owner.is_module:
                yield Hit(
                    site.node,
                    Text("`forward` is compiled instead of the module", "编译的是 `forward` 而不是模块"),
                    Text("compile the object where it is built: `model.compile()`", "在构造处改用 `model.compile()`"),
                )

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        return move_to_construction(place.module, place.interpreter, place.hit.node, place.locate, locale)
