"""CL902: a compiled region whose code cannot be found."""

from __future__ import annotations

from collections.abc import Iterator

from .rule import Context, Example, FileView, Hit, Rule, Text


class UnresolvedRegion(Rule):
    """Something is given to ``torch.compile`` here, and its code is not known: nothing is said about it."""

    code = "CL902"
    name = "unresolved-region"
    effect = "info"
    summary = Text("compiled code that is not followed", "未能追踪的被编译代码")
    explanation = """\
What is compiled here comes out of a factory, a registry, a configuration or another file, so the scanner cannot look
into it. No findings does not mean that there are no breaks. Probe it, or open the file that defines it.
"""
    operations = ()
    invalid = (
        Example(
            """
import importlib
import torch

model = torch.compile(importlib.import_module("torch.nn").ReLU(), backend="eager")

def assertion(captured_operations):
    assert captured_operations(model, torch.ones(4)) == 1, "it is compiled"
"""
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        for site in view.interpreter.sites:
            reason = view.unresolved.get(id(site.node))
            if reason is not None:
                yield Hit(
                    site.node,
                    Text(f"not followed: {reason}", "未追踪：被编译的代码来自别处"),
                    Text("probe it, or open the file that defines it", "请实测，或打开定义它的文件"),
                )
