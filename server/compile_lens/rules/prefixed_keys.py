"""CL407: the wrapper puts ``_orig_mod.`` before the names of parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Optional

import libcst as cst

from ..fixes.edit import Edit, Fix
from ..fixes.site import in_place, title
from ..semantics.code import dotted_name
from ..semantics.flow import Flow, flow_of
from ..semantics.uses import Use, origins, reaches_call, uses_of_definition
from ..semantics.wrappers import Wrapper, wrappers_of
from .rule import Context, Example, FileView, Hit, Place, Rule, Text

_HEAD = """
import io
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        return self.head(x)
"""


class PrefixedKeys(Rule):
    """Parameters of the wrapper are named ``_orig_mod.head.weight``: checkpoints and filters on names do not fit."""

    code = "CL407"
    name = "prefixed-keys"
    effect = "misuse"
    summary = Text("`_orig_mod.` in the names of parameters", "参数名带有 `_orig_mod.` 前缀")
    explanation = """\
`torch.compile(net)` returns a module that holds `net` as `_orig_mod`: all keys of its `state_dict()` and all names of
its `named_parameters()` begin with `_orig_mod.`. A checkpoint saved from it does not load into `net`; one of `net` does
not load into it (with `strict=False` it loads nothing, without a word); `name.startswith("head")` is never true.

Compile in place (`net.compile()` keeps all names), or save and load through the original:
`getattr(model, "_orig_mod", model).state_dict()`. Nothing is said in files that handle `_orig_mod` themselves.
"""
    operations = ()
    proven_on = ("2.5.1", "2.7.1", "2.13.0")
    invalid = (
        Example(
            _HEAD
            + """
model = torch.compile(Net(), backend="eager")
file = io.BytesIO()
torch.save(model.state_dict(), file)

def assertion(captured_operations):
    file.seek(0)
    try:
        Net().load_state_dict(torch.load(file))
    except RuntimeError as error:
        assert "Missing key" in str(error)
    else:
        raise AssertionError("the checkpoint loads")
""",
            _HEAD
            + """
model = Net()
model.compile(backend="eager")
file = io.BytesIO()
torch.save(model.state_dict(), file)

def assertion(captured_operations):
    file.seek(0)
    Net().load_state_dict(torch.load(file))
    assert captured_operations(model, torch.ones(2, 4)) == 1, "it is compiled all the same"
""",
        ),
        Example(
            _HEAD
            + """
net = Net()
plain = net.state_dict()
model = torch.compile(net, backend="eager")

def load():
    model.load_state_dict(plain)

def assertion(captured_operations):
    try:
        load()
    except RuntimeError as error:
        assert "Missing key" in str(error)
    else:
        raise AssertionError("the plain keys load")
""",
            _HEAD
            + """
model = Net()
plain = model.state_dict()
model.compile(backend="eager")

def load():
    model.load_state_dict(plain)

def assertion(captured_operations):
    load()
    assert captured_operations(model, torch.ones(2, 4)) == 1, "it is compiled all the same"
""",
        ),
        Example(
            _HEAD
            + """
model = torch.compile(Net(), backend="eager")

def heads():
    return [p for name, p in model.named_parameters() if name.startswith("head")]

def assertion(captured_operations):
    assert heads() == [], "no name starts so"
""",
            _HEAD
            + """
model = Net()
model.compile(backend="eager")

def heads():
    return [p for name, p in model.named_parameters() if name.startswith("head")]

def assertion(captured_operations):
    assert len(heads()) == 2, "the weight and the bias of the head"
""",
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        module = view.interpreter.module
        if "_orig_mod" in module.source.text or "get_model_state_dict" in module.source.text:
            return  # it is taken care of
        flow = flow_of(module)
        wrappers = [w for w in wrappers_of(module) if not w.in_place and not w.is_function]
        compiled = {id(use.node) for wrapper in wrappers for use in wrapper.uses}
        saves = any(use.name == "state_dict" and use.kind == "method" for w in wrappers for use in w.uses)
        for wrapper in wrappers:
            for use in wrapper.uses:
                if use.kind != "method" or use.call is None:
                    continue
                hit: Optional[Hit] = None
                if use.name == "state_dict":
                    hit = _saved(flow, wrapper, use, compiled)
                elif use.name == "load_state_dict":
                    hit = _loaded(flow, wrapper, use, compiled)
                    if hit is not None and not hit.sure and saves:
                        hit = None  # what is loaded may be what a wrapper has saved
                elif use.name in ("named_parameters", "named_modules", "named_buffers"):
                    hit = _filtered(flow, use)
                if hit is not None:
                    yield hit

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        module, node = place.module, place.hit.node
        flow = flow_of(module)
        for wrapper in wrappers_of(module):
            for use in wrapper.uses:
                mine = use.call is node or (use.call is not None and _filter(flow, use.call) is node)
                if use.kind != "method" or not mine or use.call is None:
                    continue
                receiver = module.tree.code_for_node(use.node)
                edit = Edit(place.locate([use.node])[id(use.node)], f'getattr({receiver}, "_orig_mod", {receiver})')
                words = title(locale, "Go through the original: `_orig_mod`", "改为使用原模块：`_orig_mod`")
                kept = in_place(module, wrapper, place.locate, locale, wrapper.is_module) if wrapper.is_module else []
                return [*kept, Fix(words, (edit,), preferred=not kept)]
        return []


def _saved(flow: Flow, wrapper: Wrapper, use: Use, compiled: set[int]) -> Optional[Hit]:
    call = use.call
    assert call is not None
    sure = use.sure
    if not reaches_call(flow, call, _saves):
        into = _plain_receiver(flow, wrapper, call, compiled)
        if into is None:
            return None
        text = Text(
            f"its keys begin with `_orig_mod.`: `{into}.load_state_dict` does not take them",
            f"其键以 `_orig_mod.` 开头：`{into}.load_state_dict` 无法加载",
        )
    else:
        text = Text(
            "saved with keys that begin with `_orig_mod.`: the original does not load them",
            "保存的键以 `_orig_mod.` 开头：原模块无法加载",
        )
    return Hit(call, text, _REMEDY, sure=sure)


_REMEDY = Text(
    "compile in place (`.compile()`), or save and load the original", "请原地编译（`.compile()`），或保存、加载原模块"
)


def _saves(call: cst.Call) -> bool:
    """Is it a call that writes a checkpoint, by its name?"""
    name = dotted_name(call.func).rpartition(".")[2]
    return name.startswith(("save", "async_save")) or name.endswith("_save")


def _plain_receiver(flow: Flow, wrapper: Wrapper, call: cst.Call, compiled: set[int]) -> Optional[str]:
    """``net`` of ``net.load_state_dict(fast.state_dict())``, where that is the original's own variable."""
    argument = flow.parents.get(id(call))
    outer = flow.parents.get(id(argument)) if argument is not None else None
    if not isinstance(outer, cst.Call) or not isinstance(outer.func, cst.Attribute):
        return None
    receiver = outer.func.value
    if outer.func.attr.value != "load_state_dict" or id(receiver) in compiled or not dotted_name(receiver):
        return None
    first, second = flow.reads.get(id(receiver)), flow.reads.get(id(wrapper.target))
    same = first is not None and second is not None and set(first.definitions) == set(second.definitions) != set()
    return dotted_name(receiver) if same else None


def _loaded(flow: Flow, wrapper: Wrapper, use: Use, compiled: set[int]) -> Optional[Hit]:
    call = use.call
    if call is None or not call.args or call.args[0].star:
        return None
    plain = [_is_plain(flow, wrapper, value, compiled) for value in origins(flow, call.args[0].value)]
    if not plain or not all(known is not None for known in plain):
        return None
    loosely = any(
        a.keyword is not None and a.keyword.value == "strict" and dotted_name(a.value) == "False" for a in call.args
    )
    harm = ("loads nothing, without a word", "不会加载任何参数，也没有提示") if loosely else ("raises", "会报错")
    return Hit(
        call,
        Text(
            f"the wrapper's keys begin with `_orig_mod.`: loading plain ones {harm[0]}",
            f"包装后的键以 `_orig_mod.` 开头：加载不带前缀的键{harm[1]}",
        ),
        Text("load before compiling, or compile in place (`.compile()`)", "请先加载再编译，或原地编译（`.compile()`）"),
        sure=use.sure and all(plain),
    )


def _is_plain(flow: Flow, wrapper: Wrapper, value: cst.BaseExpression, compiled: set[int]) -> Optional[bool]:
    """Are these keys without the prefix? True: it is seen; False: likely, out of a file; ``None``: not known."""
    if not isinstance(value, cst.Call):
        return None
    if isinstance(value.func, cst.Attribute) and value.func.attr.value == "state_dict":
        return None if id(value.func.value) in compiled else _is_original(flow, wrapper, value.func.value)
    name = dotted_name(value.func).rpartition(".")[2]
    if name in ("load", "load_file", "load_state_dict_from_url") and value.args:
        path = value.args[0].value
        for save in flow.calls:
            if _saves(save) and len(save.args) > 1 and save.args[1].value.deep_equals(path):
                saved = origins(flow, save.args[0].value)
                if all(isinstance(s, cst.Call) and _is_plain(flow, wrapper, s, compiled) for s in saved):
                    return True
        return False
    return None


def _is_original(flow: Flow, wrapper: Wrapper, receiver: cst.BaseExpression) -> Optional[bool]:
    """Is it the variable that was compiled, before it was?"""
    first, second = flow.reads.get(id(receiver)), flow.reads.get(id(wrapper.target))
    if first is not None and second is not None and set(first.definitions) & set(second.definitions):
        return True
    built = origins(flow, receiver)
    mine = origins(flow, wrapper.target) if wrapper.target is not None else []
    classes = {dotted_name(call.func) for call in mine if isinstance(call, cst.Call)}
    others = {dotted_name(call.func) for call in built if isinstance(call, cst.Call)}
    return True if len(classes) == 1 and classes == others and "" not in classes else None


def _filtered(flow: Flow, use: Use) -> Optional[Hit]:
    test = _filter(flow, use.call) if use.call is not None else None
    if test is None:
        return None
    return Hit(
        test,
        Text(
            "never true: names of a compiled module begin with `_orig_mod.`",
            "永远不成立：编译后模块的参数名以 `_orig_mod.` 开头",
        ),
        Text(
            "compile in place (`.compile()`), or take the names of the original",
            "请原地编译（`.compile()`），或使用原模块的参数名",
        ),
        sure=use.sure,
    )


def _filter(flow: Flow, call: cst.Call) -> Optional[cst.Call]:
    """``name.startswith("...")`` in a loop over names that no compiled module has."""
    loop = flow.parents.get(id(call))
    target = loop.target if isinstance(loop, (cst.For, cst.CompFor)) else None
    if not isinstance(target, cst.Tuple) or not target.elements:
        return None
    definition = flow.definitions.get(id(target.elements[0].value))
    for use in uses_of_definition(flow, definition) if definition is not None else ():
        if use.kind == "method" and use.name == "startswith" and use.call is not None and use.call.args:
            literal = use.call.args[0].value
            if isinstance(literal, cst.SimpleString):
                value = ast.literal_eval(literal.value)
                if isinstance(value, str) and value and not "_orig_mod.".startswith(value):
                    return use.call
    return None
