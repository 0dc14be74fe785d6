"""CL603: a Python attribute that changes, in code whose guards are dropped."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..semantics.contracts import contract_of
from ..semantics.operations import AttributeStore, Operation
from ..semantics.values import Class, Const, Function, Instance, Number, Value, options
from ..semantics.values import Text as TextValue
from .contract_shape_branch import HEADER
from .rule import Context, Example, FileView, Hit, Rule, Text

_SETTING_UP = ("__init__", "load", "init", "_init", "post_init", "process_weights", "setup", "_setup", "make", "build")
"""Beginnings of names of methods that run before the first call."""


class ContractAttribute(Rule):
    """A number, flag or string on the module that compiled code writes, or reads though it is set between calls."""

    code = "CL603"
    name = "contract-attribute"
    effect = "wrong-result"
    summary = Text("attribute that changes in code whose guards are dropped", "守卫被丢弃的代码使用会变化的属性")
    explanation = """\
Dynamo takes numbers, flags and strings on a module for constants and guards on them. `@support_torch_compile` drops the
guards: code compiled at the first call goes on with the values of the first call. A counter stands still, a flag that
is set between calls is not seen, and nothing is raised.

Pass the value as a tensor argument, keep it in a buffer that is written in place, or read it from the forward context
inside a custom operator.
"""
    operations = (AttributeStore,)
    invalid = (
        Example(
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor):
        self.calls += 1
        return x * self.calls

def assertion(captured_operations):
    block = Block()
    results = [float(block(torch.ones(8, 4)).max()) for _ in range(3)]
    assert results != [1.0, 2.0, 3.0], "eager counts"
""",
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor):
        self.calls.add_(1)
        return x * self.calls

def assertion(captured_operations):
    block = Block()
    assert [float(block(torch.ones(8, 4)).max()) for _ in range(3)] == [1.0, 2.0, 3.0]
""",
        ),
        Example(
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()
        self.scale = 1.0

    def use_scale(self, scale: float):
        self.scale = scale

    def forward(self, x: torch.Tensor):
        return x * self.scale

def assertion(captured_operations):
    block = Block()
    block(torch.ones(8, 4))
    block.use_scale(5.0)
    assert float(block(torch.ones(8, 4)).max()) == 1.0, "eager gives 5"
"""
        ),
    )
    valid = (
        Example(
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()
        self.scale = 1.0

    def load_weights(self, weights):
        self.scale = 2.0

    def forward(self, x: torch.Tensor):
        return x * self.scale

def assertion(captured_operations):
    block = Block()
    block.load_weights([])
    assert float(block(torch.ones(8, 4)).max()) == 2.0
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if context.contract is None or not isinstance(operation, AttributeStore):
            return
        receiver = operation.receiver
        if isinstance(receiver, Instance) and not receiver.local and _is_constant(operation.value):
            yield _hit(operation.node, f"self.{operation.name}", operation.sure)

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        for site in view.interpreter.module.sites:
            if contract_of(site) is None or not isinstance(site.target, Class):
                continue
            stored = _stored_later(site.target)
            forward = site.target.members.get("forward")
            if not stored or not isinstance(forward, Function):
                continue
            reads = _Reads(stored)
            forward.node.visit(reads)
            for node in reads.found:
                yield _hit(node, f"self.{node.attr.value}", False)


def _hit(node: cst.CSTNode, name: str, sure: bool) -> Hit:
    return Hit(
        node,
        Text(
            f"`{name}` changes, and the code goes on with its value of the first call: vLLM drops the guards, so the "
            "result is silently wrong",
            f"`{name}` 会变化，但 vLLM 丢弃守卫，编译后的代码始终使用首次调用时的值，结果会悄悄出错",
        ),
        Text("pass it as a tensor, or keep it in a buffer", "作为张量传入，或保存在 buffer 中"),
        (),
        sure,
    )


def _is_constant(value: Value) -> bool:
    return all(
        isinstance(choice, (Number, TextValue)) or (isinstance(choice, Const) and choice.value is not ...)
        for choice in options(value)
    )


def _stored_later(cls: Class) -> set[str]:
    """Attributes that a method assigns from a number, flag or string, other than on the way to the first call."""
    found: set[str] = set()
    for name, member in cls.members.items():
        if isinstance(member, Function) and name != "forward" and not name.startswith(_SETTING_UP):
            stores = _Stores(member.node)
            member.node.visit(stores)
            found |= stores.found
    return found


class _Reads(cst.CSTVisitor):
    """Reads of attributes of ``self`` among some names; each name once."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self.names = names
        self.found: list[cst.Attribute] = []

    def visit_Attribute(self, node: cst.Attribute) -> None:
        own = isinstance(node.value, cst.Name) and node.value.value == "self"
        if own and node.attr.value in self.names and all(node.attr.value != n.attr.value for n in self.found):
            self.found.append(node)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> bool:
        return False


class _Stores(cst.CSTVisitor):
    """``self.name = `` a literal, or a parameter that is annotated as a number, flag or string."""

    def __init__(self, function: cst.CSTNode) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.plain: set[str] = set()
        parameters = function.params if isinstance(function, cst.FunctionDef) else None
        for parameter in [*parameters.params, *parameters.kwonly_params] if parameters is not None else []:
            annotation = parameter.annotation.annotation if parameter.annotation is not None else None
            if isinstance(annotation, cst.Name) and annotation.value in ("int", "float", "bool", "str"):
                self.plain.add(parameter.name.value)

    def visit_Assign(self, node: cst.Assign) -> None:
        value = node.value
        literal = isinstance(value, (cst.Integer, cst.Float, cst.SimpleString)) or (
            isinstance(value, cst.Name) and value.value in {"True", "False", *self.plain}
        )
        for target in node.targets if literal else ():
            self._store(target.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if isinstance(node.value, (cst.Integer, cst.Float)):
            self._store(node.target)

    def _store(self, target: cst.BaseExpression) -> None:
        if isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name) and target.value.value == "self":
            self.found.add(target.attr.value)
