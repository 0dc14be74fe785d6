"""CL606: a decorated class of which vLLM finds no dynamic dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

import libcst as cst

from ..semantics.code import dotted_name
from ..semantics.modules import CompileSite
from ..semantics.values import Class, Dictionary, Function
from .contract_shape_branch import HEADER
from .rule import Context, Example, FileView, Hit, Rule, Text

_MARKED = frozenset({"Tensor", "FloatTensor", "IntermediateTensors"})


def _example(wrong: str, right: str, arguments: str = "", fixed: str = "") -> Example:
    """A class that cannot be defined, and the one that can."""

    def program(signature: str, given: str, outcome: str) -> str:
        return f"""{HEADER}
def define():
    @support_torch_compile{given}
    class Block(nn.Module):
        {signature}
            return x * 2
    return Block

def assertion(captured_operations):
{outcome}
"""

    refused = """    try:
        define()
    except ValueError as error:
        assert "dynamic" in str(error)
    else:
        raise AssertionError("it was not refused")"""
    works = "    assert float(define()()(torch.ones(8, 4)).max()) == 2.0"
    return Example(program(wrong, arguments, refused), program(right, fixed, works) if right else None)


class ContractDimensions(Rule):
    """The decorator finds nothing to mark dynamic, or is told of an argument that ``forward`` does not have."""

    code = "CL606"
    name = "contract-dimensions"
    effect = "contract"
    summary = Text("decorated class without a dynamic dimension", "没有动态维度的被装饰类")
    explanation = """\
`@support_torch_compile` marks the first dimension of every argument of `forward` that is annotated as `torch.Tensor`,
`torch.Tensor | None` or `IntermediateTensors`. It compares the annotation objects, so it does not see annotations that
are strings: in quotes, or in a file with `from __future__ import annotations`. When it finds none, or when
`dynamic_arg_dims` names an argument that does not exist, the class cannot be defined.

Annotate the arguments, or say `dynamic_arg_dims={"x": 0}`.
"""
    operations = ()
    invalid = (
        _example("def forward(self, x):", "def forward(self, x: torch.Tensor):"),
        _example('def forward(self, x: "torch.Tensor"):', "def forward(self, x: torch.Tensor | None):"),
        _example(
            "def forward(self, x: torch.Tensor):",
            "def forward(self, x: torch.Tensor):",
            "(dynamic_arg_dims={'hidden': 0})",
            "(dynamic_arg_dims={'x': 0})",
        ),
        Example("from __future__ import annotations\n" + _example("def forward(self, x: torch.Tensor):", "").code),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        postponed = _postpones(view.interpreter.module.tree)
        for site in view.interpreter.module.sites:
            if site.form != "vllm" or not isinstance(site.target, Class):
                continue
            forward = site.target.members.get("forward")
            if not isinstance(forward, Function) or not isinstance(forward.node, cst.FunctionDef):
                continue
            found = _problem(site, forward.node, postponed)
            if found is not None:
                yield Hit(
                    site.node,
                    found,
                    Text(
                        'annotate the arguments, or say `dynamic_arg_dims={"x": 0}`',
                        '为参数添加注解，或写明 `dynamic_arg_dims={"x": 0}`',
                    ),
                )


def _problem(site: CompileSite, forward: cst.FunctionDef, postponed: bool) -> Optional[Text]:
    parameters = [*forward.params.params[1:], *forward.params.kwonly_params]
    given = site.keywords.get("dynamic_arg_dims")
    if given is not None:
        if not isinstance(given, Dictionary) or not given.exact:
            return None
        names = {parameter.name.value for parameter in parameters}
        unknown = [name for name in given.entries if name not in names]
        if unknown:
            return Text(
                f"`dynamic_arg_dims` names `{unknown[0]}`, which `forward` does not have: the class cannot be defined",
                f"`dynamic_arg_dims` 指定了 `forward` 没有的参数 `{unknown[0]}`：无法定义该类",
            )
        if given.entries:
            return None
    marked = [parameter for parameter in parameters if _is_marked(parameter.annotation)]
    if marked and not postponed and given is None:
        return None
    if marked or _quoted(parameters):
        return Text(
            "the annotations of `forward` are strings, in which vLLM sees no tensor: the class cannot be defined",
            "`forward` 的注解是字符串，vLLM 无法识别其中的张量：无法定义该类",
        )
    return Text(
        "no argument of `forward` is annotated as a tensor, so nothing is dynamic: the class cannot be defined",
        "`forward` 没有注解为张量的参数，vLLM 找不到动态维度：无法定义该类",
    )


def _postpones(tree: cst.Module) -> bool:
    """Does the file say ``from __future__ import annotations``?"""
    for line in tree.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, cst.ImportFrom) and dotted_name(statement.module) == "__future__":
                names = statement.names if not isinstance(statement.names, cst.ImportStar) else ()
                if any(isinstance(a.name, cst.Name) and a.name.value == "annotations" for a in names):
                    return True
    return False


def _is_marked(annotation: Optional[cst.Annotation]) -> bool:
    return annotation is not None and _denotes_tensor(annotation.annotation)


def _denotes_tensor(node: cst.BaseExpression) -> bool:
    """One of the annotations that vLLM compares with, as an expression: nothing else in a union but ``None``."""
    if isinstance(node, (cst.Name, cst.Attribute)):
        return dotted_name(node).rpartition(".")[2] in _MARKED
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr):
        return _with_none([node.left, node.right])
    if isinstance(node, cst.Subscript):
        inner = [element.slice.value for element in node.slice if isinstance(element.slice, cst.Index)]
        name = dotted_name(node.value).rpartition(".")[2]
        if name == "Optional" and len(inner) == 1:
            return _denotes_tensor(inner[0])
        return name == "Union" and _with_none(inner)
    return False


def _with_none(parts: list[cst.BaseExpression]) -> bool:
    others = [part for part in parts if not (isinstance(part, cst.Name) and part.value == "None")]
    return len(parts) == 2 and len(others) == 1 and _denotes_tensor(others[0])


def _quoted(parameters: list[cst.Param]) -> bool:
    annotations = [p.annotation.annotation for p in parameters if p.annotation is not None]
    return any(isinstance(annotation, cst.SimpleString) for annotation in annotations)
