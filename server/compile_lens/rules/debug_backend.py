"""CL410: ``backend="eager"`` was left in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

import libcst as cst

from ..fixes.edit import Edit, Fix
from ..fixes.site import title
from ..semantics.values import Const
from ..text.source import Range
from .rule import Context, Example, FileView, Hit, Place, Rule, Text

_F = """
import torch

@torch.compile{}
def f(x):
    return torch.relu(x) * 2
"""


class DebugBackend(Rule):
    """The backend ``eager`` runs the captured graph operator by operator: Dynamo's costs without any gain."""

    code = "CL410"
    name = "debug-backend"
    effect = "misuse"
    summary = Text("a backend for debugging is left in", "遗留的调试用后端")
    explanation = """\
`backend="eager"` captures graphs and runs them operator by operator, as eager mode does: it is for finding graph
breaks, never faster. Leave `backend` out for Inductor.
"""
    operations = ()
    proven_on = ("2.5.1", "2.7.1", "2.13.0")
    invalid = (
        Example(
            _F.format('(backend="eager")')
            + """
def assertion(captured_operations):
    from torch.profiler import ProfilerActivity, profile

    f(torch.ones(4))
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        f(torch.ones(4))
    names = {event.name for event in seen.events()}
    assert {"aten::relu", "aten::mul"} <= names, "the operators ran one by one"
""",
            _F.format("")
            + """
def assertion(captured_operations):
    assert captured_operations(f, torch.ones(4)) == 2, "both are in one graph that Inductor compiled"
""",
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        module = view.interpreter.module
        if _is_test(module.source.path):
            return
        backends = [site.keywords.get("backend") for site in module.sites]
        if any(backend != Const("eager") for backend in backends):
            return  # one of several that are compared
        for site in module.sites:
            if not site.function.rpartition(".")[2].startswith("test"):
                yield Hit(
                    site.node,
                    Text(
                        '`backend="eager"` runs the captured operators one by one: never faster than eager',
                        '`backend="eager"` 逐个运行捕获到的算子：不会比 eager 更快',
                    ),
                    Text("leave `backend` out for Inductor", "去掉 `backend` 即使用 Inductor"),
                    sure=False,
                )

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        node = place.hit.node
        call = node.decorator if isinstance(node, cst.Decorator) else node
        if not isinstance(call, cst.Call):
            return []
        index = next(
            (i for i, a in enumerate(call.args) if a.keyword is not None and a.keyword.value == "backend"), None
        )
        if index is None:
            return []
        ranges = place.locate([*(argument.value for argument in call.args), call.args[index].keyword or call])
        here = ranges[id(call.args[index].value)]
        if index > 0:
            edit = Edit(Range(ranges[id(call.args[index - 1].value)].end, here.end), "")
        elif len(call.args) > 1 and call.args[1].keyword is None:
            return []
        else:
            start = ranges[id(call.args[index].keyword)].start
            behind = ranges.get(id(call.args[1].value)) if len(call.args) > 1 else None
            if behind is not None:
                return []
            edit = Edit(Range(start, here.end), "")
        return [
            Fix(title(locale, "Use the default backend, Inductor", "使用默认后端 Inductor"), (edit,), preferred=True)
        ]


def _is_test(path: str) -> bool:
    parts = PurePath(path).parts
    name = parts[-1] if parts else ""
    return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py" or "tests" in parts[:-1]
