"""CL409: arguments that ``torch.compile`` refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Optional

import libcst as cst

from ..fixes.edit import Edit, Fix
from ..fixes.site import title
from ..knowledge.compile_arguments import Accepted, accepted, nearest
from ..semantics.flow import flow_of
from ..semantics.modules import CompileSite
from ..semantics.values import Instance
from ..semantics.wrappers import in_raises
from .rule import Context, Example, FileView, Hit, Place, Rule, Text

_F = """
import torch

def f(x):
    return torch.relu(x) * 2

def make():
    return torch.compile(f{})
"""
_RAISES = """
def assertion(captured_operations):
    try:
        captured_operations(make(), torch.ones(4))
    except Exception:
        return
    raise AssertionError("it is accepted")
"""
_WORKS = """
def assertion(captured_operations):
    assert captured_operations(make(), torch.ones(4)) == 2
"""


class CompileArguments(Rule):
    """The call raises: two arguments exclude each other, or one names nothing that there is."""

    code = "CL409"
    name = "compile-arguments"
    effect = "misuse"
    summary = Text("arguments that `torch.compile` refuses", "`torch.compile` 不接受的参数")
    explanation = """\
`mode` and `options` together raise; so do a mode, a backend, an option or a keyword that does not exist, and a second
positional argument. Names are read from the files of the torch that is installed; the nearest right one is offered.
(Options may be written with a dash: `max-autotune` is `max_autotune`. Other backends than Inductor take any `mode`.)
"""
    operations = ()
    proven_on = ("2.5.1", "2.7.1", "2.13.0")
    invalid = (
        Example(_F.format(', mode="default", options={"max_autotune": False}') + _RAISES),
        Example(
            _F.format(', mode="reduce_overhead"') + _RAISES,
            _F.format(', mode="reduce-overhead"') + _WORKS,
        ),
        Example(_F.format(', backend="inductr"') + _RAISES, _F.format(', backend="inductor"') + _WORKS),
        Example(_F.format(", full_graph=True") + _RAISES, _F.format(", fullgraph=True") + _WORKS),
        Example(_F.format(", True") + _RAISES),
    )
    valid = (
        Example(_F.format(', options={"max-autotune": False}') + _WORKS),
        Example(_F.format(', mode="any", backend="eager"') + _WORKS),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        module = view.interpreter.module
        known = accepted(view.torch_folder)
        registers = "register_backend" in module.source.text
        for site in module.sites:
            call = _call(site)
            if call is None or in_raises(flow_of(module), call):
                continue
            if isinstance(site.node, cst.Call) and site.form == "method":
                if not (isinstance(site.target, Instance) and site.target.is_module):
                    continue
            elif view.interpreter.name_in(module.scope, call.func) != "torch.compile":
                continue
            yield from _judge(call, known, registers, site.form)

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        hit = place.hit
        if not hit.replacement:
            return []
        edit = Edit(place.locate([hit.node])[id(hit.node)], hit.replacement)
        words = title(locale, f"Write `{hit.replacement}`", f"改为 `{hit.replacement}`")
        return [Fix(words, (edit,), preferred=True)]


def _call(site: CompileSite) -> Optional[cst.Call]:
    node = site.node.decorator if isinstance(site.node, cst.Decorator) else site.node
    return node if isinstance(node, cst.Call) else None


def _judge(call: cst.Call, known: Accepted, registers: bool, form: str) -> Iterator[Hit]:
    positional = [a for a in call.args if a.keyword is None and not a.star]
    allowed = 0 if form == "method" else 1
    if len(positional) > allowed:
        yield Hit(
            positional[allowed].value,
            Text("raises: `torch.compile` takes one positional argument", "会报错：`torch.compile` 只接受一个位置参数"),
            Text("name the argument", "请写明参数名"),
        )
    keywords = {a.keyword.value: a for a in call.args if a.keyword is not None}
    for name, argument in keywords.items():
        right = nearest(name, known.keywords, 0.7)
        if name not in known.keywords and (right or known.installed) and argument.keyword is not None:
            yield _unknown(argument.keyword, name, right, "argument", "参数", known.installed or right is not None)
    mode, options, backend = (keywords[k].value if k in keywords else None for k in ("mode", "options", "backend"))
    if _text(mode) is not None and isinstance(options, cst.Dict):
        yield Hit(
            keywords["options"].value,
            Text("raises: `mode` and `options` exclude each other", "会报错：`mode` 与 `options` 不能同时使用"),
            Text("put all into `options`, or leave them to the mode", "请全部写入 `options`，或只用 `mode`"),
        )
    inductor = backend is None or _text(backend) == "inductor"
    name = _text(backend)
    if backend is not None and name is not None and name not in known.backends and not registers:
        right = nearest(name, known.backends)
        if right or known.installed:
            yield _unknown(backend, name, right, "backend", "后端", right is not None)
    name = _text(mode)
    if mode is not None and name is not None and inductor and name not in known.modes:
        right = nearest(name, known.modes, 0.6)
        if right or known.installed:
            yield _unknown(mode, name, right, "mode", "模式", True)
    if isinstance(options, cst.Dict) and inductor and known.installed:
        for element in options.elements:
            name = _text(element.key) if isinstance(element, cst.DictElement) else None
            if (
                name is not None
                and name.replace("-", "_") not in known.options
                and isinstance(element, cst.DictElement)
            ):
                yield _unknown(element.key, name, nearest(name, known.options), "option", "选项", True)


def _unknown(node: cst.CSTNode, name: str, right: Optional[str], en: str, zh: str, sure: bool) -> Hit:
    reason = Text(f"raises: there is no {en} `{name}`", f"会报错：没有名为 `{name}` 的{zh}")
    if right is None:
        return Hit(node, reason, sure=sure)
    written = right if isinstance(node, cst.Name) else f'"{right}"'
    return Hit(node, reason, Text(f"write `{right}`", f"请写 `{right}`"), sure=sure, replacement=written)


def _text(node: Optional[cst.CSTNode]) -> Optional[str]:
    if not isinstance(node, cst.SimpleString):
        return None
    value = ast.literal_eval(node.value)
    return value if isinstance(value, str) else None
