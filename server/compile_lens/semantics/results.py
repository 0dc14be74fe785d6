"""Abstract results of torch's functions, methods, operators and layers."""

from __future__ import annotations

from typing import Optional

from ..knowledge import torch_api
from .values import (
    UNKNOWN,
    Const,
    External,
    NdArray,
    Number,
    Opaque,
    Sequence,
    Tensor,
    Text,
    Value,
    join,
    number_kind,
)


def of_kind(kind: str, like: Optional[Tensor] = None) -> Value:
    """The value that a result kind of `torch_api` stands for."""
    if "|" in kind:
        first, *others = kind.split("|")
        value = of_kind(first, like)
        for other in others:
            value = join(value, of_kind(other, like))
        return value
    if "," in kind:
        return Sequence("tuple", [of_kind(part, like) for part in kind.split(",")])
    simple: dict[str, Value] = {
        "T": like or Tensor(),
        "T*": Sequence("tuple", None, like or Tensor()),
        "int*": Sequence("tuple", None, Number("int", "size")),
        "bool": Number("bool", "computed"),
        "int": Number("int", "size"),
        "float": Number("float"),
        "complex": Number("complex"),
        "number": Number("float", "read"),
        "str": Text(),
        "none": Const(None),
        "false": Const(False),
        "size": Sequence("size", None, Number("int", "size")),
        "list": Sequence("list", None, UNKNOWN),
        "ndarray": NdArray(),
    }
    if kind in simple:
        return simple[kind]
    return Opaque(kind) if kind in ("dtype", "device", "layout") else UNKNOWN


def dtype_of(value: Optional[Value]) -> Optional[str]:
    """Class of a dtype argument: ``torch.bool`` gives ``bool``."""
    if isinstance(value, External) and value.name.startswith("torch."):
        return torch_api.DTYPES.get(value.name[6:])
    if isinstance(value, External) and value.name in ("bool", "int", "float"):
        return value.name
    return None


def _with_dim(arguments: tuple[Value, ...], keywords: dict[str, Value], skip: int) -> bool:
    if any(name in keywords for name in ("dim", "axis")):
        dim = keywords.get("dim", keywords.get("axis"))
        return not (isinstance(dim, Const) and dim.value is None)
    return len(arguments) > skip and not (isinstance(arguments[skip], Const) and arguments[skip].value is None)  # type: ignore[union-attr]


def call(name: str, arguments: tuple[Value, ...], keywords: dict[str, Value], compiling: bool) -> Optional[Value]:
    """Result of a torch function by its canonical dotted name; ``None`` when it is not known."""
    kind = torch_api.function_result(name)
    if kind is None:
        return None
    if kind == "compiling":
        return Const(compiling)
    short = name.rsplit(".", 1)[-1]
    first = arguments[0] if arguments else keywords.get("input")
    if isinstance(first, Sequence):
        first = first.element
    like = first if isinstance(first, Tensor) else None
    return _refine(short, kind, like, arguments, keywords, 1)


def method(name: str, receiver: Tensor, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
    """Result of a Tensor method."""
    kind = torch_api.method_result(name)
    if kind is None:
        return UNKNOWN
    if name in ("size", "stride"):
        return Number("int", "size") if arguments or keywords else attribute("shape", receiver)
    if name == "item":
        return Number(receiver.dtype or "float", "read")
    if name == "tolist":
        if receiver.rank == 0:
            return Number(receiver.dtype or "float", "read")
        return Sequence("list", None, Number(receiver.dtype or "float", "read") if receiver.rank == 1 else UNKNOWN)
    if name == "type" and not arguments and not keywords:
        return Text()
    return _refine(name, kind, receiver, arguments, keywords, 0)


def _refine(
    name: str,
    kind: str,
    like: Optional[Tensor],
    arguments: tuple[Value, ...],
    keywords: dict[str, Value],
    skip: int,
) -> Value:
    base = name.rstrip("_") if name not in ("_",) else name
    dtype: Optional[str] = dtype_of(keywords.get("dtype"))
    if dtype is None and name in ("to", "type"):
        dtype = next((d for d in map(dtype_of, arguments) if d), None)
    if dtype is None:
        if base in torch_api.BOOLEAN_RESULTS:
            dtype = "bool"
        elif base in torch_api.INTEGER_RESULTS:
            dtype = "int"
        elif base in torch_api.FLOAT_RESULTS:
            dtype = "float"
        elif name in ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "full_like"):
            dtype = like.dtype if like and name.endswith("_like") else "float" if name != "full" else None
        elif name in ("arange", "randint", "randperm"):
            dtype = "int"
        elif name == "where" and len(arguments) > 1:
            dtype = next((a.dtype for a in arguments[skip:] if isinstance(a, Tensor)), None)
        elif base in torch_api.KEEPS_DTYPE and like is not None:
            dtype = like.dtype
    rank: Optional[int] = None
    if (
        base in torch_api.FULL_REDUCTIONS
        and not _with_dim(arguments, keywords, skip)
        and "|" not in kind.replace("T|T", "")
    ):
        rank = 0
    if base in ("max", "min", "median") and _with_dim(arguments, keywords, skip):
        other = keywords.get("other", arguments[skip] if len(arguments) > skip else None)
        if isinstance(other, Tensor):
            return Tensor(None, like.dtype if like else None)
        values = Tensor(None, like.dtype if like else None, computed=True)
        return Sequence("tuple", [values, Tensor(None, "int", computed=True)])
    if base in ("max", "min", "median"):
        return Tensor(0, like.dtype if like else None, computed=True)
    if name in ("nonzero",) and "as_tuple" not in keywords:
        return Tensor(2, "int")
    if name == "where" and len(arguments) == skip and not keywords:
        return Sequence("tuple", None, Tensor(1, "int"))
    if name == "where":
        return Tensor(None, dtype)
    if name in ("unique", "unique_consecutive"):
        extra = [k for k in ("return_inverse", "return_counts") if k in keywords]
        parts: list[Value] = [Tensor(None, "int")] * (1 + len(extra))
        return Sequence("tuple", parts) if extra else Tensor(None, like.dtype if like else None)
    if name == "tensor" and arguments:
        rank = 0 if number_kind(arguments[0]) else None
        if isinstance(arguments[0], Sequence):
            rank = 1 if number_kind(arguments[0].element) else None
        kind_of_number = number_kind(arguments[0]) or (
            number_kind(arguments[0].element) if isinstance(arguments[0], Sequence) else None
        )
        dtype = dtype or kind_of_number
    if name in ("view", "reshape", "flatten", "ravel") and not rank:
        shape = arguments[skip:]
        if name in ("flatten", "ravel") and not shape and not keywords:
            rank = 1
        elif shape and all(number_kind(a) for a in shape):
            rank = len(shape) if name in ("view", "reshape") else None
    if name in ("zeros", "ones", "empty", "rand", "randn"):
        shape = arguments
        if shape and all(number_kind(a) for a in shape):
            rank = len(shape)
        elif len(shape) == 1 and isinstance(shape[0], Sequence) and shape[0].items is not None:
            rank = len(shape[0].items)
    if name in ("arange", "linspace", "randperm"):
        rank = 1
    if name.endswith("_like") and like is not None:
        rank = like.rank
    if base in _KEEPS_RANK and like is not None:
        rank = like.rank
    return of_kind(kind, Tensor(rank, dtype, computed=True))


_KEEPS_RANK = frozenset(
    """contiguous clone detach to cpu cuda float long bool int half double masked_fill clamp abs neg exp log sqrt
    rsqrt sin cos tanh sigmoid relu gelu silu softmax log_softmax logical_not isnan isinf isfinite cumsum sort
    argsort flip roll eq ne lt le gt ge type_as requires_grad tril triu round floor ceil sign square pow
    dropout""".split()
)


def attribute(name: str, receiver: Tensor) -> Value:
    """Value of a Tensor attribute."""
    if name == "shape":
        if receiver.rank is not None:
            sizes: list[Value] = [Number("int", "size")] * receiver.rank
            return Sequence("size", sizes, Number("int", "size"))
        return Sequence("size", None, Number("int", "size"))
    if name == "ndim":
        return Const(receiver.rank) if receiver.rank is not None and not receiver.guessed else Number("int", "size")
    if name in ("T", "mT", "H", "mH", "data", "real", "imag"):
        return Tensor(receiver.rank, receiver.dtype)
    kind = torch_api.attribute_result(name)
    return UNKNOWN if kind is None else of_kind(kind)


def binary(operator: str, left: Value, right: Value) -> Optional[Value]:
    """Result of an operator of which one side is a tensor or an array; ``None`` when neither is."""
    sides = [side for side in (left, right) if isinstance(side, (Tensor, NdArray))]
    if not sides:
        return None
    arrays = not any(isinstance(side, Tensor) for side in sides)
    ranks = [side.rank for side in sides]
    scalar_other = len(sides) == 1 and number_kind(right if sides[0] is left else left) is not None
    rank = (
        ranks[0]
        if scalar_other
        else (max(r for r in ranks if r is not None) if None not in ranks and len(ranks) == 2 else None)
    )
    if operator in ("==", "!=", "<", "<=", ">", ">="):
        return _make(arrays, rank, "bool")
    dtypes = {side.dtype for side in sides}
    if operator in ("&", "|", "^"):
        return _make(arrays, rank, dtypes.pop() if len(dtypes) == 1 else None)
    if operator == "/":
        return _make(arrays, rank, "float")
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if dtype in ("bool", "int") and not (scalar_other and number_kind(right if sides[0] is left else left) == "int"):
        dtype = dtype if dtype == "int" and not scalar_other else None
    return _make(arrays, rank, dtype)


def _make(array: bool, rank: Optional[int], dtype: Optional[str]) -> Value:
    return NdArray(rank, dtype) if array else Tensor(rank, dtype, computed=True)


def subscript(receiver: Tensor, index: Value) -> Tensor:
    """Result of indexing a tensor, as far as ranks can be followed."""
    if receiver.rank is None:
        return Tensor(None, receiver.dtype)
    rank: Optional[int] = receiver.rank
    for part in index.items if isinstance(index, Sequence) and index.kind == "tuple" and index.items else [index]:
        if rank is None:
            break
        if number_kind(part) in ("int",):
            rank -= 1
        elif isinstance(part, Const) and part.value is None:
            rank += 1
        elif isinstance(part, Opaque) and part.kind == "slice":
            continue
        elif isinstance(part, Tensor) and part.rank == 0 and part.dtype == "int":
            rank -= 1
        else:
            rank = None
    return Tensor(rank if rank is None or rank >= 0 else None, receiver.dtype)
