"""What the parameters of a function are, from annotations, defaults, and from what its body does with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Optional

import libcst as cst

from ..knowledge import torch_api
from .code import dotted_name
from .values import (
    NONE,
    UNKNOWN,
    Const,
    Dictionary,
    NdArray,
    Number,
    Sequence,
    Tensor,
    Text,
    Unknown,
    Value,
    join,
)

_NUMBERS = {"int": "int", "float": "float", "bool": "bool", "complex": "complex", "SymInt": "int"}
_TENSOR_NAMES = frozenset({"Tensor", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor", "HalfTensor", "Parameter"})
_DTYPES = {"BoolTensor": "bool", "LongTensor": "int", "IntTensor": "int", "FloatTensor": "float", "HalfTensor": "float"}
_JAXTYPING = {
    "Float": "float",
    "Int": "int",
    "Bool": "bool",
    "Shaped": None,
    "Num": None,
    "Integer": "int",
    "Inexact": None,
}


def from_annotation(node: Optional[cst.BaseExpression]) -> Value:
    """Abstract value of an annotation; unknown when it says nothing about the kinds that matter."""
    if node is None:
        return UNKNOWN
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        text = node.evaluated_value
        try:
            return from_annotation(cst.parse_expression(text)) if isinstance(text, str) and len(text) < 300 else UNKNOWN
        except (cst.ParserSyntaxError, ValueError):
            return UNKNOWN
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr):
        return _either([node.left, node.right])
    if isinstance(node, (cst.Name, cst.Attribute)):
        return _named(dotted_name(node).rsplit(".", 1)[-1])
    if isinstance(node, cst.Subscript):
        return _subscripted(node)
    return UNKNOWN


def _named(name: str) -> Value:
    if name in _TENSOR_NAMES:
        return Tensor(None, _DTYPES.get(name), parameter=name == "Parameter")
    if name in _NUMBERS:
        return Number(_NUMBERS[name], "argument")
    simple: dict[str, Value] = {
        "None": NONE,
        "str": Text(),
        "ndarray": NdArray(),
        "NDArray": NdArray(),
        "list": Sequence("list", None, UNKNOWN),
        "List": Sequence("list", None, UNKNOWN),
        "tuple": Sequence("tuple", None, UNKNOWN),
        "Tuple": Sequence("tuple", None, UNKNOWN),
        "dict": Dictionary(exact=False),
        "Dict": Dictionary(exact=False),
        "Size": Sequence("size", None, Number("int", "size")),
    }
    return simple.get(name, UNKNOWN)


def _either(nodes: list[cst.BaseExpression]) -> Value:
    result: Optional[Value] = None
    for node in nodes:
        value = from_annotation(node)
        if isinstance(value, Unknown):
            return UNKNOWN
        result = value if result is None else join(result, value)
    return result or UNKNOWN


def _subscripted(node: cst.Subscript) -> Value:
    name = dotted_name(node.value).rsplit(".", 1)[-1]
    parts: list[cst.BaseExpression] = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index)]
    if name == "Optional":
        return _either([*parts, cst.Name("None")])
    if name == "Union":
        return _either(parts)
    if name in ("Annotated", "Final", "Required"):
        return from_annotation(parts[0]) if parts else UNKNOWN
    if name in _JAXTYPING and parts:
        inner = from_annotation(parts[0])
        rank: Optional[int] = None
        if len(parts) > 1 and isinstance(parts[1], (cst.SimpleString, cst.ConcatenatedString)):
            text = parts[1].evaluated_value
            if isinstance(text, str) and not re.search(r"\*|\.\.\.", text):
                rank = len(text.split())
        if isinstance(inner, Tensor):
            return Tensor(rank, _JAXTYPING[name])
        return NdArray(rank, _JAXTYPING[name]) if isinstance(inner, NdArray) else UNKNOWN
    if name in ("list", "List", "Sequence", "Iterable", "set", "Set"):
        kind = "set" if name.lower() == "set" else "list"
        return Sequence(kind, None, from_annotation(parts[0]) if parts else UNKNOWN)
    if name in ("tuple", "Tuple"):
        if len(parts) == 2 and isinstance(parts[1], cst.Ellipsis):
            return Sequence("tuple", None, from_annotation(parts[0]))
        return Sequence("tuple", [from_annotation(part) for part in parts])
    if name in ("dict", "Dict", "Mapping", "MutableMapping"):
        result = Dictionary(exact=False)
        result.element = from_annotation(parts[1]) if len(parts) > 1 else UNKNOWN
        return result
    return UNKNOWN


def from_default(value: Value) -> Value:
    """What a default says about a parameter: its kind, not its value; ``None`` says only that it may be absent."""
    if isinstance(value, Const):
        if isinstance(value.value, (bool, int, float, complex)):
            return Number(type(value.value).__name__, "argument")
        if isinstance(value.value, str):
            return Text()
        return UNKNOWN
    return value


class _Uses(cst.CSTVisitor):
    """Collects, by parameter name, whether the body uses it as only a tensor can be used."""

    def __init__(self, names: set[str], imports: Any) -> None:
        super().__init__()
        self.names = names
        self.imports = imports
        self.tensors: set[str] = set()
        self.others: set[str] = set()

    def visit_Attribute(self, node: cst.Attribute) -> Optional[bool]:
        if isinstance(node.value, cst.Name) and node.value.value in self.names:
            name = node.attr.value
            if name in _ONLY_TENSORS:
                self.tensors.add(node.value.value)
            elif torch_api.method_result(name) is None and torch_api.attribute_result(name) is None:
                self.others.add(node.value.value)
        return True

    def visit_Call(self, node: cst.Call) -> Optional[bool]:
        name = self.imports(node.func)
        if name in _TENSOR_FIRST or (name.startswith("torch.nn.functional.")):
            arguments = [a for a in node.args if a.keyword is None and not a.star]
            wanted = 2 if name in _TENSOR_BOTH else 1
            for argument in arguments[:wanted]:
                if isinstance(argument.value, cst.Name) and argument.value.value in self.names:
                    self.tensors.add(argument.value.value)
        return True


_ONLY_TENSORS = frozenset(
    """abs_ add_ argmax argmin backward bmm bool chunk clamp clamp_ clamp_min contiguous copy_ cos cpu cuda cumsum
    detach device dim div_ double dtype eq exp expand expand_as fill_ flatten float gather ge gt half
    index_select is_cuda isinf isnan item le log long lt masked_fill masked_fill_ masked_scatter masked_select
    matmul mean mm mul_ narrow ndim ne new_full new_ones new_tensor new_zeros nonzero norm numel numpy permute
    pow prod relu repeat_interleave requires_grad reshape rsqrt scatter scatter_ shape sigmoid sin softmax sqrt
    squeeze sub_ sum tanh to tolist topk transpose tril triu type_as unbind unfold unsqueeze view zero_""".split()
)
"""Attributes that, of all that a parameter may be, only a tensor has."""
_TENSOR_FIRST = frozenset(
    f"torch.{name}"
    for name in [
        "sin",
        "cos",
        "tan",
        "exp",
        "log",
        "log1p",
        "sqrt",
        "rsqrt",
        "abs",
        "relu",
        "sigmoid",
        "tanh",
        "softmax",
        "sum",
        "mean",
        "max",
        "min",
        "prod",
        "matmul",
        "mm",
        "bmm",
        "add",
        "sub",
        "mul",
        "div",
        "where",
        "nonzero",
        "unique",
        "argmax",
        "argmin",
        "topk",
        "sort",
        "clamp",
        "isnan",
        "isinf",
        "norm",
        "masked_select",
        "transpose",
        "permute",
        "reshape",
        "flatten",
        "squeeze",
        "unsqueeze",
        "any",
        "all",
        "equal",
        "allclose",
        "cumsum",
        "gather",
        "index_select",
        "zeros_like",
        "ones_like",
        "empty_like",
        "rand_like",
        "randn_like",
        "full_like",
        "var",
        "std",
        "outer",
        "dot",
        "mv",
        "cross",
        "erf",
        "floor",
        "ceil",
        "round",
        "sign",
        "square",
        "argwhere",
        "bincount",
        "chunk",
        "split",
        "roll",
        "flip",
        "tril",
        "triu",
    ]
)
_TENSOR_BOTH = frozenset(
    f"torch.{name}" for name in ["matmul", "mm", "bmm", "equal", "allclose", "dot", "outer", "mv", "cross"]
)


def used_as_tensors(function: cst.CSTNode, names: set[str], imports: Callable[[cst.BaseExpression], str]) -> set[str]:
    """Parameters that the body of a function uses as only a tensor is used (``x.view``, ``torch.exp(x)``)."""
    uses = _Uses(names, imports)
    function.visit(uses)
    return uses.tensors - uses.others
