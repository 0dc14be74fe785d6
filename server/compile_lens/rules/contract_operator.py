"""CL607: a custom operator without a fake kernel, in code that is compiled in one graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

import libcst as cst

from ..semantics.code import Code, dotted_name
from ..semantics.operations import FunctionCall, Operation
from ..semantics.values import Function
from .contract_shape_branch import HEADER
from .rule import Context, Example, Hit, Rule, Text

_FAKES = ("register_fake", "impl_abstract", "register_meta")


class ContractOperator(Rule):
    """Dynamo cannot know the result of a custom operator without a fake kernel, and vLLM allows no break."""

    code = "CL607"
    name = "contract-operator"
    effect = "contract"
    summary = Text("custom operator without a fake kernel", "没有 fake 内核的自定义算子")
    explanation = """\
While Dynamo traces, tensors have shapes and no data. A custom operator is opaque: what it returns is told by its fake
kernel (`@op.register_fake`). Without one tracing fails, and vLLM compiles in one graph, so the model does not start.
"""
    operations = (FunctionCall,)
    invalid = (
        Example(
            HEADER
            + """
@torch.library.custom_op("contract_example::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()

    def forward(self, x: torch.Tensor):
        return twice(x)

def assertion(captured_operations):
    try:
        Block()(torch.ones(8, 4))
    except Exception as error:
        assert "fake" in str(error).lower()
    else:
        raise AssertionError("it was not refused")
""",
            HEADER
            + """
@torch.library.custom_op("contract_example::thrice", mutates_args=())
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 3

@thrice.register_fake
def thrice_fake(x):
    return torch.empty_like(x)

@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()

    def forward(self, x: torch.Tensor):
        return thrice(x)

def assertion(captured_operations):
    assert float(Block()(torch.ones(8, 4)).max()) == 3.0
""",
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if context.contract is None or not isinstance(operation, FunctionCall):
            return
        function = operation.function
        if not isinstance(function, Function) or not isinstance(function.node, cst.FunctionDef):
            return
        decorators = operation.frame.interpreter.decorators(function)
        if "torch.library.custom_op" not in decorators or _has_fake(function.module, function.node):
            return
        yield Hit(
            operation.node,
            Text(
                f"the custom operator `{function.name}` has no fake kernel: tracing fails, and vLLM allows no break",
                f"自定义算子 `{function.name}` 没有 fake 内核：追踪失败，而 vLLM 不允许图中断",
            ),
            Text(f"add `@{function.name}.register_fake`", f"添加 `@{function.name}.register_fake`"),
            (),
            operation.sure,
        )


def _has_fake(module: Code, function: cst.FunctionDef) -> bool:
    """Is a fake kernel registered anywhere in the file, by the operator's object or by its name?"""
    visitor = _Registrations(function.name.value, _operator_name(function))
    module.tree.visit(visitor)
    return visitor.found


def _operator_name(function: cst.FunctionDef) -> Optional[str]:
    for decorator in function.decorators:
        call = decorator.decorator
        if isinstance(call, cst.Call) and call.args and isinstance(call.args[0].value, cst.SimpleString):
            text = call.args[0].value.evaluated_value
            return text if isinstance(text, str) else None
    return None


class _Registrations(cst.CSTVisitor):
    def __init__(self, name: str, operator: Optional[str]) -> None:
        super().__init__()
        self.name = name
        self.operator = operator
        self.found = False

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value in _FAKES and dotted_name(node.value) == self.name:
            self.found = True

    def visit_Call(self, node: cst.Call) -> None:
        if dotted_name(node.func).rpartition(".")[2] in _FAKES and node.args:
            first = node.args[0].value
            self.found |= isinstance(first, cst.SimpleString) and first.evaluated_value == self.operator
