"""CL405: ``.compile()`` on a module whose ``forward`` is torch's own."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..fixes.compile_site import arguments_text
from ..fixes.edit import Edit, Fix
from ..fixes.imports import torch_name
from ..fixes.site import title
from ..semantics.code import dotted_name
from ..semantics.flow import flow_of
from ..semantics.wrappers import holds_only_layers, runs_code_of_torch, wrappers_of
from .rule import Context, Example, FileView, Hit, Place, Rule, Text

_MODEL = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
"""
_RUN = """
def run(x):
    return model(x)
"""


class LayerInPlace(Rule):
    """Dynamo skips the frames of torch's own files: ``nn.Sequential(...).compile()`` compiles nothing by itself."""

    code = "CL405"
    name = "layer-in-place"
    effect = "misuse"
    summary = Text("`.compile()` on a module of torch itself", "对 torch 自带模块使用 `.compile()`")
    explanation = """\
Dynamo does not compile frames whose code lies in torch's own files, and the `forward` of `nn.Sequential`, `nn.Linear`
or `nn.TransformerEncoder` does. After `model.compile()` such a module still runs eagerly; of an `nn.Sequential` only
those children are compiled that have a `forward` of your own, each by itself. Seen on torch 2.5.1, 2.7.1 and 2.13.

The wrapper that `torch.compile(model)` returns does not have that gap: use `model = torch.compile(model)`.
"""
    operations = ()
    proven_on = ("2.5.1", "2.7.1", "2.13.0")
    invalid = (
        Example(
            _MODEL
            + 'model.compile(backend="eager")\n'
            + _RUN
            + """
def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) == 0, "nothing is compiled"
""",
            _MODEL
            + 'model = torch.compile(model, backend="eager")\n'
            + _RUN
            + """
def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) == 2, "both layers are in the graph"
""",
        ),
    )
    valid = (
        Example(
            """
import torch
from torch import nn

class Net(nn.Sequential):
    def forward(self, x):
        return super().forward(x) * 2

run = Net(nn.Linear(4, 4), nn.ReLU())
run.compile(backend="eager")

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(2, 4)) == 3, "its own forward is compiled"
"""
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        module = view.interpreter.module
        for wrapper in wrappers_of(module):
            values = wrapper.original
            if not wrapper.in_place or not values or not all(map(runs_code_of_torch, values)):
                continue
            if id(flow_of(module).place(wrapper.call).node) in view.compiled:
                continue
            target = module.tree.code_for_node(wrapper.target) if wrapper.target is not None else "it"
            if all(map(holds_only_layers, values)):
                reason = Text(
                    f"`{target}` stays eager: its `forward` is torch's own, which Dynamo skips",
                    f"`{target}` 仍以 eager 方式运行：其 `forward` 属于 torch，Dynamo 会跳过",
                )
            else:
                reason = Text(
                    f"only children of `{target}` with a `forward` of their own are compiled, one by one:"
                    " its own is torch's, which Dynamo skips",
                    f"只有自带 `forward` 的子模块会被逐个编译：`{target}` 的 `forward` 属于 torch，会被跳过",
                )
            yield Hit(
                wrapper.call,
                reason,
                Text(f"use `{target} = torch.compile({target})`", f"请使用 `{target} = torch.compile({target})`"),
                sure=all(map(holds_only_layers, values)),
            )

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        module, call = place.module, place.hit.node
        wrapper = next((w for w in wrappers_of(module) if w.call is call), None)
        statement = flow_of(module).parents.get(id(call))
        if wrapper is None or not isinstance(statement, cst.Expr) or not dotted_name(wrapper.target):
            return []
        name = dotted_name(wrapper.target)
        if name == "self":
            return []
        torch, imports = torch_name(module)
        arguments = arguments_text(module, wrapper.call.args)
        code = f"{name} = {torch}.compile({name}{', ' if arguments else ''}{arguments})"
        edit = Edit(place.locate([call])[id(call)], code)
        return [Fix(title(locale, f"Wrap instead: `{code}`", f"改为包装：`{code}`"), (*imports, edit), preferred=True)]
