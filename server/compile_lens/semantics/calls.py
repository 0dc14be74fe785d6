"""Calls: of analysed functions and classes, of torch, of methods on values, of Python's builtins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional

import libcst as cst

from ..knowledge import torch_api
from . import python_builtins, results
from .attributes import method_of
from .frames import Frame
from .iteration import element_of, look_up
from .objects import fill_record, is_record, note_changing
from .operations import Call, FunctionCall, MethodCall
from .values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    External,
    Function,
    Instance,
    Iterator,
    Method,
    NdArray,
    Number,
    Partial,
    Sequence,
    Super,
    Tensor,
    Value,
    is_text,
    join,
    join_all,
    number_kind,
    options,
)

Arguments = tuple[Value, ...]
Keywords = dict[str, Value]


def call_value(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments, keywords: Keywords) -> Value:
    """Result of calling every alternative of ``callee``; announces each call."""
    choices = options(callee)
    sure = len(choices) == 1
    return join_all(_call(frame, node, choice, arguments, keywords, sure) for choice in choices)


def _call(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments, keywords: Keywords, sure: bool) -> Value:
    announce = frame.interpreter.announce
    if isinstance(callee, Function):
        announce(FunctionCall(node, frame, sure, callee))
        return frame.interpreter.call_function(frame, callee, arguments, keywords, node)
    if isinstance(callee, Class):
        return instantiate(frame, callee, arguments, keywords, node)
    if isinstance(callee, Partial):
        if callee.compiled:
            return UNKNOWN if not frame.traced else _call(frame, node, callee.function, arguments, keywords, sure)
        return _call(frame, node, callee.function, callee.arguments + arguments, keywords, sure)
    if isinstance(callee, Instance):
        return call_instance(frame, node, callee, arguments, keywords, sure)
    if isinstance(callee, External):
        return _external(frame, node, callee.name, arguments, keywords, sure)
    if isinstance(callee, Method):
        return _method(frame, node, callee, arguments, keywords, sure)
    return UNKNOWN


# --- objects -------------------------------------------------------------------------------------------------------


def instantiate(
    frame: Frame, cls: Class, arguments: Arguments, keywords: Keywords, node: Optional[cst.CSTNode]
) -> Value:
    """A new object of an analysed class; its ``__init__`` is walked for the attributes that it sets."""
    instance = Instance(cls)
    note_changing(instance, frame.interpreter.stored_outside_init)
    instance.local = frame.traced
    if frame.function is not None and frame.function.owner is not None and frame.function.owner.is_module:
        frame.interpreter.contained.add(id(cls.node))
    initializer = method_of(cls, "__init__")
    if initializer is not None:
        bound = Function(initializer.node, initializer.module, initializer.scope, initializer.owner, instance)
        frame.interpreter.call_function(frame, bound, arguments, keywords, node, quiet=True)
    elif is_record(frame.interpreter, cls):
        fill_record(instance, arguments, keywords)
    return instance


def call_instance(
    frame: Frame, node: cst.Call, instance: Instance, arguments: Arguments, keywords: Keywords, sure: bool
) -> Value:
    """``object(...)``: ``forward`` of a module, ``__call__`` of anything else."""
    result = _call_instance(frame, node, instance, arguments, keywords, sure)
    for kind, given in (("pre_hook", (arguments_of(arguments),)), ("hook", (arguments_of(arguments), result))):
        hooks = instance.attributes.get(f"_register_forward_{kind}s")
        for hook in hooks.items or [] if isinstance(hooks, Sequence) else []:
            call_value(frame, node, hook, (instance, *given), {})
    return result


def arguments_of(arguments: Arguments) -> Value:
    return Sequence("tuple", list(arguments))


def _call_instance(
    frame: Frame, node: cst.Call, instance: Instance, arguments: Arguments, keywords: Keywords, sure: bool
) -> Value:
    if isinstance(instance.cls, Class):
        own = "forward" if instance.is_module else "__call__"
        for name in (own, "__call__"):
            method = method_of(instance.cls, name)
            if method is not None:
                bound = Function(method.node, method.module, method.scope, method.owner, instance)
                frame.interpreter.announce(FunctionCall(node, frame, sure, bound))
                return frame.interpreter.call_function(frame, bound, arguments, keywords, node)
        names = [name for name in instance.cls.external_bases if name.startswith("torch.nn.")]
        if names and names[0] not in ("torch.nn.Module",):
            return _layer(frame, node, instance, names[0], arguments, keywords, sure)
        return UNKNOWN
    name = instance.external_class
    if instance.is_module:
        return _layer(frame, node, instance, name, arguments, keywords, sure)
    frame.interpreter.announce(MethodCall(node, frame, sure, instance, "__call__", arguments, keywords))
    return UNKNOWN


def _layer(
    frame: Frame, node: cst.Call, instance: Instance, name: str, arguments: Arguments, keywords: Keywords, sure: bool
) -> Value:
    """A call of one of ``torch.nn``'s own modules."""
    short = name.rsplit(".", 1)[-1]
    if short == "Sequential":
        items = instance.attributes.get("_items")
        value = arguments[0] if arguments else UNKNOWN
        if isinstance(items, Sequence):
            for item in items.items if items.items is not None else [items.element]:
                value = call_value(frame, node, item, (value,), {})
        return value
    frame.interpreter.announce(MethodCall(node, frame, sure, instance, "forward", arguments, keywords))
    kind = torch_api.module_result(short)
    if kind is None:
        return UNKNOWN
    first = arguments[0] if arguments else None
    if kind == "T":
        rank = (
            first.rank
            if isinstance(first, Tensor) and short in ("Linear", "Dropout", "LayerNorm", "ReLU", "GELU")
            else None
        )
        return Tensor(rank, "float")
    return results.of_kind(kind)


# --- outside code --------------------------------------------------------------------------------------------------


def _external(frame: Frame, node: cst.Call, name: str, arguments: Arguments, keywords: Keywords, sure: bool) -> Value:
    frame.interpreter.announce(Call(node, frame, sure, name, arguments, keywords))
    special = _SPECIAL.get(name)
    if special is not None:
        return special(frame, node, arguments, keywords)
    if "." not in name:
        return python_builtins.call(frame, node, name, arguments, keywords)
    if name.startswith("torch.Tensor.") and arguments and isinstance(arguments[0], Tensor):
        method = name.rsplit(".", 1)[1]
        frame.interpreter.announce(MethodCall(node, frame, sure, arguments[0], method, arguments[1:], keywords))
        return results.method(method, arguments[0], arguments[1:], keywords)
    known = results.call(name, arguments, keywords, frame.traced)
    if known is not None:
        return known
    short = name.rsplit(".", 1)[-1]
    if name.startswith("torch.nn.") and short[:1].isupper():
        return _new_layer(name, arguments, keywords)
    if name.startswith("numpy."):
        return _numpy(short, arguments)
    if name in _DRAWN:
        return Number(_DRAWN[name], "random")
    if name.startswith("math."):
        return Number("int" if short in ("ceil", "floor", "gcd", "prod", "isqrt") else "float")
    if short in ("getLogger", "get_logger"):
        return Instance(External("logging.Logger"))
    if short[:1].isupper() or name in _FACTORIES:
        instance = Instance(External(name))
        instance.arguments = arguments
        return instance
    return UNKNOWN


_DRAWN = {"random.uniform": "float", "random.randint": "int", "random.randrange": "int"}
"""Draws that Dynamo puts behind the graph's inputs: numbers without a value while tracing."""
_FACTORIES = frozenset({"torch.device"})


def _new_layer(name: str, arguments: Arguments, keywords: Keywords) -> Value:
    instance = Instance(External(name))
    instance.arguments = arguments
    short = name.rsplit(".", 1)[-1]
    if short == "Sequential":
        if len(arguments) == 1 and isinstance(arguments[0], Dictionary):
            instance.attributes["_items"] = Sequence("list", list(arguments[0].entries.values()))
        elif "*" in keywords:
            instance.attributes["_items"] = Sequence("list", None, join_all(arguments))
        else:
            instance.attributes["_items"] = Sequence("list", list(arguments))
    elif short in ("ModuleList", "ParameterList", "BufferList"):
        first = arguments[0] if arguments else Sequence("list", [])
        items = first.items if isinstance(first, Sequence) else None
        instance.attributes["_items"] = Sequence("list", items, element_of(first) if items is None else None)
    elif short in ("ModuleDict", "ParameterDict"):
        first = arguments[0] if arguments else Dictionary()
        instance.attributes["_items"] = first if isinstance(first, Dictionary) else Dictionary(exact=False)
    return instance


def _numpy(short: str, arguments: Arguments) -> Value:
    if short in ("float32", "float64", "int32", "int64", "bool_"):
        return NdArray(0)
    sizes = any(isinstance(a, Sequence) and number_kind(a.element) for a in arguments)
    if short in ("prod", "sum", "max", "min") and sizes and len(arguments) == 1:
        return NdArray(0, "int")
    return NdArray() if any(isinstance(a, (NdArray, Tensor)) for a in arguments) or short in _NUMPY_MAKERS else UNKNOWN


_NUMPY_MAKERS = frozenset(
    """array zeros ones empty arange linspace full eye asarray ascontiguousarray rand randn""".split()
)


def _partial(frame: Frame, node: cst.Call, arguments: Arguments, keywords: Keywords) -> Value:
    return Partial(arguments[0], arguments[1:]) if arguments else UNKNOWN


def _compile(frame: Frame, node: cst.Call, arguments: Arguments, keywords: Keywords) -> Value:
    target = arguments[0] if arguments else keywords.get("model")
    frame.interpreter.compile_site(frame, node, target, keywords)
    return Partial(External("torch.compile"), ()) if target is None else Partial(target, compiled=True)


def _checkpoint(frame: Frame, node: cst.Call, arguments: Arguments, keywords: Keywords) -> Value:
    if not arguments:
        return UNKNOWN
    rest = {k: v for k, v in keywords.items() if k not in ("use_reentrant", "preserve_rng_state", "context_fn")}
    return call_value(frame, node, arguments[0], arguments[1:], rest)


def _apply_first(frame: Frame, node: cst.Call, arguments: Arguments, keywords: Keywords) -> Value:
    return arguments[0] if arguments else UNKNOWN


def _super(frame: Frame, node: cst.Call, arguments: Arguments, keywords: Keywords) -> Value:
    function = frame.function
    if function is None or function.owner is None or function.bound is None:
        return UNKNOWN
    lineage: list[Value] = []
    for base in function.owner.bases:
        lineage += base.lineage() if isinstance(base, Class) else [base]
    return Super(function.bound, tuple(lineage))


def _optimize(frame: Frame, node: cst.Call, arguments: Arguments, keywords: Keywords) -> Value:
    return Partial(External("torch.compile"), ())


def _cast(frame: Frame, node: cst.Call, arguments: Arguments, keywords: Keywords) -> Value:
    return arguments[1] if len(arguments) > 1 else UNKNOWN


_SPECIAL: dict[str, Callable[[Frame, cst.Call, Arguments, Keywords], Value]] = {
    "functools.partial": _partial,
    "torch.compile": _compile,
    "torch._dynamo.optimize": _optimize,
    "torch.utils.checkpoint.checkpoint": _checkpoint,
    "super": _super,
    "copy.deepcopy": _apply_first,
    "copy.copy": _apply_first,
    "typing.cast": _cast,
}


# --- methods of values ---------------------------------------------------------------------------------------------


def _method(
    frame: Frame, node: cst.Call, method: Method, arguments: Arguments, keywords: Keywords, sure: bool
) -> Value:
    receiver, name = method.receiver, method.name
    frame.interpreter.announce(MethodCall(node, frame, sure, receiver, name, arguments, keywords))
    if isinstance(receiver, Tensor):
        return results.method(name, receiver, arguments, keywords)
    if isinstance(receiver, NdArray):
        return _array_method(receiver, name, arguments)
    if isinstance(receiver, Sequence):
        return _sequence_method(frame, receiver, name, arguments)
    if isinstance(receiver, Dictionary):
        if name == "get" and arguments and isinstance(arguments[0], Const):
            look_up(frame, receiver, arguments[0])
        return _dictionary_method(receiver, name, arguments)
    if is_text(receiver):
        return python_builtins.text_method(frame, node, name, arguments)
    if isinstance(receiver, Instance):
        return _instance_method(frame, node, receiver, name, arguments, keywords)
    if isinstance(receiver, Number):
        return Number("int" if name in ("bit_length", "__index__") else "float")
    return UNKNOWN


def _array_method(receiver: NdArray, name: str, arguments: Arguments) -> Value:
    if name in ("item", "tolist"):
        return Number(receiver.dtype or "float", "read") if name == "item" else Sequence("list", None, UNKNOWN)
    return NdArray(0 if name in ("sum", "mean", "max", "min", "any", "all") and not arguments else None)


def _sequence_method(frame: Frame, receiver: Sequence, name: str, arguments: Arguments) -> Value:
    certain = not frame.conditional
    if name in ("append", "add", "appendleft") and arguments:
        receiver.append(arguments[0], certain)
        return NONE
    if name == "insert" and len(arguments) > 1:
        receiver.append(arguments[1], False)
        return NONE
    if name in ("extend", "update", "extendleft") and arguments:
        receiver.append(element_of(arguments[0]), False)
        return NONE
    if name in ("pop", "popleft", "popitem"):
        element = receiver.element
        receiver.items = None
        return element
    if name in ("clear", "sort", "reverse", "remove", "discard"):
        receiver.items = None
        return NONE
    if name == "copy":
        return Sequence(receiver.kind, list(receiver.items) if receiver.items is not None else None, receiver.element)
    if name in ("numel", "index", "count", "__len__"):
        return Number("int", "size")
    return UNKNOWN


def _dictionary_method(receiver: Dictionary, name: str, arguments: Arguments) -> Value:
    key = arguments[0] if arguments else UNKNOWN
    if name in ("get", "pop", "setdefault"):
        default = arguments[1] if len(arguments) > 1 else NONE
        if name == "setdefault":
            receiver.store(key, default)
        if isinstance(key, Const) and key.value in receiver.entries:
            return receiver.entries[key.value]
        if receiver.exact and isinstance(key, Const):
            return default
        return join(receiver.element, default) if receiver.entries else UNKNOWN
    if name == "items":
        return Sequence("list", None, Sequence("tuple", [element_of(receiver), receiver.element]))
    if name == "values":
        return Sequence("list", list(receiver.entries.values()) if receiver.exact else None, receiver.element)
    if name == "keys":
        return Sequence("list", None, element_of(receiver))
    if name == "update":
        receiver.exact = False
        if arguments and isinstance(arguments[0], Dictionary):
            receiver.entries.update(arguments[0].entries)
            receiver.element = join_all(receiver.entries.values())
        return NONE
    if name == "copy":
        copied = Dictionary(receiver.entries, receiver.exact, receiver.kind)
        copied.element = receiver.element
        return copied
    return UNKNOWN


def _instance_method(
    frame: Frame, node: cst.Call, receiver: Instance, name: str, arguments: Arguments, keywords: Keywords
) -> Value:
    if name == "compile" and not arguments and isinstance(receiver.cls, External) and not receiver.is_module:
        frame.interpreter.compile_site(frame, node, receiver, keywords)
        return NONE
    if not receiver.is_module:
        return receiver if name in ("manual_seed", "eval", "to", "cuda") else UNKNOWN
    if name in ("register_forward_hook", "register_forward_pre_hook") and arguments:
        hooks = receiver.attributes.setdefault(f"_{name}s", Sequence("list", []))
        if isinstance(hooks, Sequence):
            hooks.append(arguments[0], True)
        return UNKNOWN
    items = receiver.attributes.get("_items")
    if items is not None and name in ("append", "extend", "insert", "items", "keys", "values"):
        owner = Method(items, name)
        return (
            _method(frame, node, owner, arguments, keywords, False)
            if isinstance(items, (Sequence, Dictionary))
            else UNKNOWN
        )
    if name == "register_buffer" and len(arguments) + len(keywords) > 1:
        key = arguments[0] if arguments else keywords.get("name", UNKNOWN)
        value = arguments[1] if len(arguments) > 1 else keywords.get("tensor", UNKNOWN)
        if isinstance(key, Const):
            receiver.attributes[str(key.value)] = value
        return NONE
    if name in ("register_parameter", "register_module", "add_module") and len(arguments) > 1:
        if isinstance(arguments[0], Const):
            receiver.attributes[str(arguments[0].value)] = arguments[1]
        return NONE
    if name == "compile":
        frame.interpreter.compile_site(frame, node, receiver, keywords)
        return NONE
    if name == "forward":
        return call_instance(frame, node, receiver, arguments, keywords, True)
    if name in (
        "to",
        "train",
        "eval",
        "cuda",
        "cpu",
        "half",
        "float",
        "double",
        "requires_grad_",
        "apply",
        "npu",
        "bfloat16",
    ):
        return receiver
    if name in ("parameters", "buffers"):
        return Iterator(Tensor(None, None, parameter=name == "parameters"))
    if name in ("children", "modules"):
        return Iterator(UNKNOWN)
    return UNKNOWN
