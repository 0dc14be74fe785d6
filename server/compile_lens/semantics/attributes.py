"""Reading attributes: of modules, classes, objects, tensors."""

from __future__ import annotations

from typing import Optional

import libcst as cst

from ..knowledge import torch_api
from . import results
from .frames import Frame
from .loading import external
from .operations import Call
from .values import (
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    External,
    Function,
    Instance,
    Iterator,
    Method,
    Module,
    NdArray,
    Number,
    Opaque,
    Partial,
    Sequence,
    Super,
    Tensor,
    Text,
    Unknown,
    Value,
    is_text,
    join_all,
    options,
)


def read_attribute(frame: Frame, node: cst.CSTNode, receiver: Value, name: str) -> Value:
    """``receiver.name`` for every alternative of the receiver."""
    return join_all(_read(frame, node, choice, name) for choice in options(receiver))


def _read(frame: Frame, node: cst.CSTNode, receiver: Value, name: str) -> Value:
    if isinstance(receiver, External):
        return external(f"{receiver.name}.{name}")
    if isinstance(receiver, Module):
        return frame.interpreter.loader.member(receiver, name)
    if isinstance(receiver, Tensor):
        if torch_api.attribute_result(name) is not None:
            return results.attribute(name, receiver)
        return Method(receiver, name) if torch_api.method_result(name) is not None else UNKNOWN
    if isinstance(receiver, Instance):
        return _of_instance(frame, node, receiver, name)
    if isinstance(receiver, Class):
        member = receiver.find(name)
        if isinstance(member, Function) and "classmethod" in frame.interpreter.decorators(member):
            return Function(member.node, member.module, member.scope, member.owner, receiver)
        return member or UNKNOWN
    if isinstance(receiver, Unknown) and name in _SAY_TENSOR:
        return Method(Tensor(guessed=True), name)
    if isinstance(receiver, Super):
        return _behind(receiver, name)
    if isinstance(receiver, NdArray):
        if name in ("shape",):
            return Sequence("tuple", None, Number("int", "size"))
        if name in ("ndim", "size"):
            return Number("int", "size")
        return NdArray(receiver.rank, receiver.dtype) if name in ("T", "real", "imag") else Method(receiver, name)
    if (
        isinstance(receiver, (Sequence, Dictionary, Iterator))
        or is_text(receiver)
        or isinstance(receiver, (Number, Opaque))
    ):
        if isinstance(receiver, Opaque) and receiver.kind == "device":
            return Text() if name == "type" else Number("int", "argument")
        if isinstance(receiver, Sequence) and receiver.items is not None and name in _NAMED_FIELDS:
            index = _NAMED_FIELDS[name]
            return receiver.items[index] if index < len(receiver.items) else UNKNOWN
        return Method(receiver, name)
    if isinstance(receiver, Partial):
        if name in ("forward", "_orig_mod"):
            return receiver.function
        return _read(frame, node, receiver.function, name)
    return UNKNOWN


def _behind(receiver: Super, name: str) -> Value:
    for entry in receiver.lineage:
        member = entry.members.get(name) if isinstance(entry, Class) else None
        if isinstance(member, Function):
            return Function(member.node, member.module, member.scope, member.owner, receiver.receiver)
        if member is not None:
            return member
    return Method(receiver.receiver, name) if isinstance(receiver.receiver, Instance) else UNKNOWN


_SAY_TENSOR = frozenset({"item", "backward"})
"""Methods whose names say what they are called on, where nothing else does."""
_NAMED_FIELDS = {"values": 0, "indices": 1}


def _of_instance(frame: Frame, node: cst.CSTNode, receiver: Instance, name: str) -> Value:
    if name in receiver.attributes and name not in receiver.changing:
        return receiver.attributes[name]
    if isinstance(receiver.cls, Class):
        member = receiver.cls.find(name)
        if isinstance(member, Function):
            return bind(frame, node, member, receiver)
        if name in receiver.attributes:
            # Assigned elsewhere too: what __init__ gave is one of the things it may be.
            return _loosened(receiver.attributes[name])
        if member is not None:
            return _loosened(member) if name in receiver.changing else member
        if name == "__class__":
            return receiver.cls
        if receiver.is_module:
            return _of_module(receiver, name)
        bases = receiver.cls.external_bases
        return Method(receiver, name) if bases else UNKNOWN
    if isinstance(receiver.cls, External):
        if receiver.is_module:
            return _of_module(receiver, name)
        return Method(receiver, name)
    return UNKNOWN


def _of_module(receiver: Instance, name: str) -> Value:
    if name == "training":
        return Number("bool", "argument")
    if name in ("weight", "bias", "in_proj_weight", "running_mean", "running_var", "num_batches_tracked"):
        if isinstance(receiver.cls, External) and receiver.external_class.startswith("torch.nn."):
            return Tensor(None, "int" if name == "num_batches_tracked" else "float", parameter=True)
        return UNKNOWN
    if name in _MODULE_METHODS:
        return Method(receiver, name)
    return UNKNOWN


_MODULE_METHODS = frozenset(
    """parameters named_parameters buffers named_buffers modules named_modules children named_children state_dict
    load_state_dict train eval to cuda cpu half float double bfloat16 requires_grad_ zero_grad apply
    register_buffer register_parameter register_module add_module compile forward register_forward_hook
    register_forward_pre_hook
    append extend insert items keys values get_submodule get_parameter get_buffer npu""".split()
)


def _loosened(value: Value) -> Value:
    """What an attribute that changes may hold: its kind, not its value; ``None`` first says nothing."""
    if isinstance(value, Const):
        if value.value is None:
            return UNKNOWN
        if isinstance(value.value, (bool, int, float)):
            return Number(type(value.value).__name__, "attribute")
        return Text() if isinstance(value.value, str) else UNKNOWN
    return value


def bind(frame: Frame, node: cst.CSTNode, function: Function, receiver: Instance) -> Value:
    """A function found on a class, as an attribute of an object: method, static method or property."""
    decorators = frame.interpreter.decorators(function)
    if "staticmethod" in decorators:
        return function
    if "classmethod" in decorators:
        return Function(function.node, function.module, function.scope, function.owner, receiver.cls)
    bound = Function(function.node, function.module, function.scope, function.owner, receiver)
    if any(name.endswith("cached_property") for name in decorators):
        frame.interpreter.announce(Call(node, frame, True, "functools.cached_property.__get__", (receiver,), {}))
    if any(name in ("property", "functools.cached_property", "cached_property") for name in decorators):
        return frame.interpreter.call_function(frame, bound, (), {}, None)
    return bound


def method_of(cls: Class, name: str) -> Optional[Function]:
    """A method by name, looked up along the lineage."""
    member = cls.find(name)
    return member if isinstance(member, Function) else None
