"""What torch's functions and Tensor methods return, from tables generated out of torch's own stubs.

Kinds: ``T`` a tensor, ``T,T`` a tuple, ``T*`` any number of tensors, ``bool``, ``int``, ``float``, ``number``,
``size``, ``dtype``, ``device``, ``list``, ``ndarray``, ``str``, ``none``; alternatives joined with ``|``.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Optional

TABLE = Path(__file__).with_name("torch_signatures.json")

# Written in Python in torch and not annotated there.
_METHODS = {
    "unique": "T",
    "unique_consecutive": "T",
    "norm": "T",
    "split": "T*",
    "stft": "T",
    "istft": "T",
    "__len__": "int",
    "new_tensor": "T",
    "backward": "none",
    "requires_grad_": "T",
    "detach": "T",
    "numpy": "ndarray",
    "tolist": "list",
    "item": "number",
    "dim": "int",
    "type": "T",
    "register_hook": "any",
    "retain_grad": "none",
    "share_memory_": "T",
    "new": "T",
    "is_shared": "bool",
    "view": "T",
    "size": "size",
    "stride": "size",
}
_FUNCTIONS = {
    "torch.unique": "T",
    "torch.unique_consecutive": "T",
    "torch.norm": "T",
    "torch.meshgrid": "T*",
    "torch.cartesian_prod": "T",
    "torch.block_diag": "T",
    "torch.broadcast_tensors": "T*",
    "torch.einsum": "T",
    "torch.stft": "T",
    "torch.split": "T*",
    "torch.tensordot": "T",
    "torch.cdist": "T",
    "torch.is_tensor": "bool",
    "torch.numel": "int",
    "torch.chain_matmul": "T",
    "torch.atleast_1d": "T",
    "torch.atleast_2d": "T",
    "torch.nn.functional.one_hot": "T",
    "torch.nn.functional.scaled_dot_product_attention": "T",
    "torch.nn.functional.dropout": "T",
    "torch.nn.functional.interpolate": "T",
    "torch.nn.functional.pad": "T",
    "torch.nn.functional.linear": "T",
    "torch.nn.functional.gelu": "T",
    "torch.nn.functional.normalize": "T",
    "torch.nn.functional.unfold": "T",
    "torch.nn.functional.fold": "T",
    "torch.Tensor": "T",
    "torch.nn.Parameter": "T",
    "torch.nn.parameter.Parameter": "T",
    "torch.nn.Buffer": "T",
    "torch.FloatTensor": "T",
    "torch.LongTensor": "T",
    "torch.is_grad_enabled": "bool",
    "torch.cuda.is_available": "bool",
    "torch.cuda.device_count": "int",
    "torch.cat": "T",
    "torch.concat": "T",
    "torch.stack": "T",
    "torch.Size": "size",
    "torch.device": "device",
    "torch.jit.is_scripting": "false",
    "torch.jit.is_tracing": "false",
    "torch.compiler.is_compiling": "compiling",
    "torch._dynamo.is_compiling": "compiling",
    "torch.compiler.is_dynamo_compiling": "compiling",
    "torch.compiler.is_exporting": "false",
    "torch.onnx.is_in_onnx_export": "false",
    "torch._C._get_tracing_state": "none",
    "torch.overrides.has_torch_function": "false",
    "torch.overrides.has_torch_function_unary": "false",
    "torch.overrides.has_torch_function_variadic": "false",
    "torch.finfo": "any",
    "torch.iinfo": "any",
    "torch.utils.checkpoint.checkpoint": "any",
    "einops.rearrange": "T",
    "einops.repeat": "T",
    "einops.reduce": "T",
    "einops.pack": "any",
    "einops.einsum": "T",
}
_ATTRIBUTES = {"ndim": "int", "shape": "size", "names": "any", "is_npu": "bool", "device": "device", "dtype": "dtype"}
# Modules that do not return one tensor.
_MODULE_RESULTS = {
    "LSTM": "T,any",
    "GRU": "T,T",
    "RNN": "T,T",
    "LSTMCell": "T,T",
    "MultiheadAttention": "T,T|T,none",
    "AdaptiveLogSoftmaxWithLoss": "any",
}
BOOLEAN_RESULTS = frozenset(
    """eq ne lt le gt ge isnan isinf isfinite isposinf isneginf isreal isin isclose logical_and logical_or
    logical_not logical_xor any all signbit is_nonzero greater less greater_equal less_equal not_equal bool""".split()
)
"""Functions and methods whose tensor result is boolean."""
FULL_REDUCTIONS = frozenset(
    """sum mean any all max min prod norm std var median numel argmax argmin logsumexp nansum nanmean count_nonzero
    amax amin""".split()
)
"""Reductions that give a tensor without dimensions when no dimension is named."""
INTEGER_RESULTS = frozenset(
    """argmax argmin argsort long int short nonzero argwhere count_nonzero searchsorted bucketize""".split()
)
FLOAT_RESULTS = frozenset(
    """float half double bfloat16 softmax log_softmax sigmoid tanh exp log sqrt rsqrt sin cos mean std var norm
    randn rand randn_like rand_like linspace erf gelu silu layer_norm""".split()
)
DTYPES = {
    "bool": "bool",
    **dict.fromkeys(
        ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "long", "int", "short"), "int"
    ),
    **dict.fromkeys(("float16", "float32", "float64", "bfloat16", "half", "float", "double"), "float"),
    **dict.fromkeys(("complex32", "complex64", "complex128", "cfloat", "cdouble"), "complex"),
}
"""Class of every ``torch.<dtype>``."""
KEEPS_DTYPE = frozenset(
    """view reshape permute transpose t contiguous clone detach squeeze unsqueeze flatten unflatten expand repeat
    flip roll index_select gather narrow select chunk split cat stack to cpu cuda masked_fill where clamp abs
    neg sort topk unbind movedim swapaxes expand_as view_as type_as max min sum prod cumsum""".split()
)


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return json.loads(TABLE.read_text(encoding="utf-8"))


_ALIASES = (
    ("torch.nn.modules.", "torch.nn."),
    ("torch._C._nn.", "torch.nn.functional."),
    ("torch.functional.", "torch."),
    ("torch._C._VariableFunctions.", "torch."),
)


def canonical(name: str) -> str:
    """One spelling for names that torch exports in several places."""
    for old, new in _ALIASES:
        if name.startswith(old):
            return new + name[len(old) :].rsplit(".", 1)[-1]
    return name


def function_result(name: str) -> Optional[str]:
    """Result kind of a torch function by its dotted name; ``None`` when it is not known."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    kind = _table()["functions"].get(name)
    if kind is None and name.startswith("torch.Tensor."):
        return method_result(name.rsplit(".", 1)[1])
    return kind


def method_result(name: str) -> Optional[str]:
    """Result kind of a Tensor method; ``None`` when a Tensor has no such method."""
    if name in _METHODS:
        return _METHODS[name]
    return _table()["methods"].get(name)


def attribute_result(name: str) -> Optional[str]:
    """Kind of a Tensor attribute; ``None`` when a Tensor has no such attribute."""
    return _ATTRIBUTES.get(name) or _table()["attributes"].get(name)


def module_result(class_name: str) -> Optional[str]:
    """Result kind of calling a ``torch.nn`` layer by its class name; ``None`` for containers and unknown classes."""
    if class_name in _MODULE_RESULTS:
        return _MODULE_RESULTS[class_name]
    if class_name in ("Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        return None
    return "T" if class_name in _table()["module_classes"] else None


@cache
def function_integers(name: str) -> tuple[bool, ...]:
    """For each positional parameter of a torch function: must it be a Python integer or size?"""
    return tuple(kind == "i" for kind in _table()["integer_parameters"].get(name, ""))


@cache
def method_integers(name: str) -> tuple[bool, ...]:
    """For each positional parameter of a Tensor method (without the tensor): must it be a Python integer or size?"""
    return tuple(kind == "i" for kind in _table()["integer_parameters"].get(f".{name}", ""))
