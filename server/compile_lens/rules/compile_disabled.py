"""CL406: compiling is switched off in the file that asks for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Optional

import libcst as cst

from ..semantics.code import dotted_name
from ..semantics.flow import Flow, flow_of
from ..semantics.modules import CompileSite
from ..semantics.uses import conditions
from ..semantics.values import Const
from ..semantics.wrappers import wrappers_of
from .rule import Context, Example, FileView, Hit, Rule, Text

_FUNCTION = """
def f(x):
    return torch.relu(x) * 2
"""
_VARIABLES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")


class CompileDisabled(Rule):
    """A switch that is left on: every ``torch.compile`` of the process, or this one, returns what runs eagerly."""

    code = "CL406"
    name = "compile-disabled"
    effect = "misuse"
    summary = Text("compiling is switched off", "编译已被关闭")
    explanation = """\
`torch._dynamo.config.disable = True`, `TORCHDYNAMO_DISABLE=1` (or `TORCH_COMPILE_DISABLE=1`) in `os.environ`,
`torch.compiler.set_stance("force_eager")`, `torch.compile(..., disable=True)` and `torch.compiler.disable(...)` around
what `torch.compile` returned all leave the code eager, without a message. They are for looking for a fault: said where
one stands unconditionally in a file that compiles something.

`torch.compile(torch.compiler.disable(f))` does compile `f`; a compiled function that is called inside a disabled one is
compiled as well.
"""
    operations = ()
    proven_on = ("2.5.1", "2.7.1", "2.13.0")
    invalid = (
        Example(
            "\nimport torch\n"
            + _FUNCTION
            + """
torch._dynamo.config.disable = True
run = torch.compile(f, backend="eager")

def assertion(captured_operations):
    try:
        assert captured_operations(run, torch.ones(4)) == 0, "nothing was compiled"
    finally:
        setattr(torch._dynamo.config, "disable", False)
""",
            "\nimport torch\n"
            + _FUNCTION
            + """
run = torch.compile(f, backend="eager")

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(4)) == 2, "it was compiled"
""",
        ),
        Example(
            "\nimport torch\n"
            + _FUNCTION
            + """
run = torch.compile(f, backend="eager", disable=True)

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(4)) == 0, "nothing was compiled"
"""
        ),
        Example(
            "\nimport torch\n"
            + _FUNCTION
            + """
run = torch.compiler.disable(torch.compile(f, backend="eager"))

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(4)) == 0, "nothing was compiled"
"""
        ),
        Example(
            "\nimport torch\n"
            + _FUNCTION.replace("def f", '@torch.compiler.disable\n@torch.compile(backend="eager")\ndef run')
            + """
def assertion(captured_operations):
    assert captured_operations(run, torch.ones(4)) == 0, "nothing was compiled"
"""
        ),
    )
    valid = (
        Example(
            "\nimport torch\n"
            + _FUNCTION
            + """
run = torch.compile(torch.compiler.disable(f), backend="eager")

def assertion(captured_operations):
    assert captured_operations(run, torch.ones(4)) == 2, "it was compiled"
"""
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        module = view.interpreter.module
        if not module.sites:
            return
        flow = flow_of(module)
        text = module.source.text
        if "disable" in text.lower() or "force_eager" in text:
            yield from self._switches(view, flow)
        for site in module.sites:
            if site.keywords.get("disable") == Const(True):
                yield _hit(
                    site.node, "`disable=True`: nothing is compiled here", "`disable=True`：此处不会编译任何代码"
                )
            if isinstance(site.node, cst.Decorator) and _disabled_above(view, flow, site):
                yield _hit(
                    site.node,
                    "`disable` above it switches off what `torch.compile` made",
                    "其上方的 `disable` 关闭了 `torch.compile` 的结果",
                )
        for wrapper in wrappers_of(module):
            for use in () if wrapper.in_place else wrapper.uses:
                call = use.call if use.kind == "argument" and not use.name else None
                if call is None or _is_flat(call) or view.interpreter.name_in(module.scope, call.func) not in _DISABLE:
                    continue
                en = "`disable` around it switches off what `torch.compile` made"
                yield _hit(call, en, "外层的 `disable` 关闭了 `torch.compile` 的结果", use.sure)

    def _switches(self, view: FileView, flow: Flow) -> Iterator[Hit]:
        interpreter, scope = view.interpreter, view.interpreter.module.scope
        for definition in flow.definitions.values():
            target = definition.target
            if (
                definition.path.endswith(".disable")
                and isinstance(target, cst.Attribute)
                and not conditions(flow, target)
            ):
                name = interpreter.name_in(scope, target)
                on = isinstance(definition.value, cst.Name) and definition.value.value == "True"
                if name == "torch._dynamo.config.disable" and on and not _set_back(flow, definition.path):
                    yield _hit(target, "nothing in this process is compiled", "本进程中不会编译任何代码")
        for target, value in flow.item_stores:
            receiver = interpreter.name_in(scope, target.value)
            on = receiver == "os.environ" and _text(_index(target)) in _VARIABLES and _text(value) == "1"
            if on and not conditions(flow, target):
                yield _hit(target, "nothing in this process is compiled", "本进程中不会编译任何代码")
        stances = [call for call in flow.calls if interpreter.name_in(scope, call.func) == "torch.compiler.set_stance"]
        for call in stances:
            first = call.args[0].value if call.args else None
            alone = len(stances) == 1 and isinstance(flow.parents.get(id(call)), cst.Expr)
            if alone and _text(first) == "force_eager" and not conditions(flow, call):
                yield _hit(
                    call,
                    "everything that is compiled runs eagerly from here on",
                    "此后所有被编译的代码都以 eager 方式运行",
                )


_DISABLE = ("torch.compiler.disable", "torch._dynamo.disable")


def _hit(node: cst.CSTNode, en: str, zh: str, sure: bool = True) -> Hit:
    return Hit(
        node, Text(en, zh), Text("remove the switch when the fault is found", "问题定位后请移除该开关"), sure=sure
    )


def _disabled_above(view: FileView, flow: Flow, site: CompileSite) -> bool:
    """Does ``disable`` stand above ``torch.compile`` among the decorators of a function?"""
    function = flow.parents.get(id(site.node))
    if not isinstance(function, cst.FunctionDef):
        return False
    for decorator in function.decorators:
        if decorator is site.node:
            return False
        node = decorator.decorator
        flat = isinstance(node, cst.Call) and _is_flat(node)
        if view.interpreter.decorator_name(view.interpreter.module.scope, decorator) in _DISABLE and not flat:
            return True
    return False


def _is_flat(call: cst.Call) -> bool:
    """``recursive=False`` leaves what is called alone."""
    return any(argument.keyword is not None and argument.keyword.value == "recursive" for argument in call.args)


def _set_back(flow: Flow, path: str) -> bool:
    """Is a setting assigned more than once in the file?"""
    return sum(1 for definition in flow.definitions.values() if definition.path == path) > 1


def _index(target: cst.Subscript) -> Optional[cst.BaseExpression]:
    index = target.slice[0].slice if len(target.slice) == 1 else None
    return index.value if isinstance(index, cst.Index) else None


def _text(node: Optional[cst.CSTNode]) -> Optional[str]:
    if isinstance(node, cst.SimpleString):
        value = ast.literal_eval(node.value)
        return value if isinstance(value, str) else None
    return dotted_name(node) if isinstance(node, cst.Name) else None
