"""Values as plain data, and back: tensors by shape, stride, dtype and device; scalars, small integer tensors verbatim.

Objects of a class that can be imported again (configurations, mostly) are kept by their attributes; what cannot be kept
is ``opaque`` and says what it was. A module is kept by its class and constructor arguments, if those were seen.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import importlib
import math
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable, Optional, cast

from ..errors import InputsError
from ..untyped import torch

KEPT = 4096
"""Largest integer or boolean tensor, in elements, whose values are kept."""
TEXT = 10_000
"""Longest text, in characters, that is kept."""
NODES = 5000
"""Parts of one value; what has more is opaque."""

Data = dict[str, Any]
Init = Callable[[Any], Optional[Data]]
"""Gives the recorded constructor arguments of a module."""


class Encoder:
    """Turns values into data; ``init`` knows how modules were made."""

    def __init__(self, init: Init) -> None:
        self._init = init
        self._left = NODES
        self._inside: set[int] = set()

    def encode(self, value: Any) -> Data:
        """One value."""
        self._left -= 1
        if self._left < 0 or id(value) in self._inside:
            return _opaque(value)
        if value is None or type(value) in (bool, int) or (type(value) is str and len(value) <= TEXT):
            return {"plain": value}
        if type(value) is float:
            return {"plain": value} if math.isfinite(value) else {"float": str(value)}
        self._inside.add(id(value))
        try:
            return self._composite(value)
        except Exception as error:  # an object of the user's may refuse in any way
            return {"opaque": f"{type(value).__qualname__} ({type(error).__name__})"}
        finally:
            self._inside.discard(id(value))

    def _composite(self, value: Any) -> Data:
        if isinstance(value, torch.Tensor):
            return {"tensor": _tensor(value)}
        if isinstance(value, (torch.dtype, torch.device)):
            return {"torch": str(value)}
        if isinstance(value, torch.Size):
            return {"size": list(value)}
        if isinstance(value, enum.Enum):
            return {"enum": {**_reference(type(value)), "name": value.name}}
        if isinstance(value, tuple):
            whole = cast("tuple[Any, ...]", value)
            items = [self.encode(item) for item in whole]
            if getattr(cast("Any", value), "_fields", None) is not None:
                return {"named": {**_reference(type(cast("Any", value))), "items": items}}
            return {"tuple": items}
        if type(value) is list:
            return {"list": [self.encode(item) for item in cast("list[Any]", value)]}
        if type(value) in (set, frozenset):
            return {"set": [self.encode(item) for item in cast("set[Any]", value)]}
        if type(value) is dict:
            pairs = cast("dict[Any, Any]", value).items()
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in pairs]}
        if isinstance(value, torch.nn.Module):
            made = self._init(value)
            return {"module": {**_reference(type(value)), "init": made}} if made is not None else _opaque(value)
        if isinstance(value, (type, types.FunctionType)):
            return {"name": _reference(value)} if "<" not in value.__qualname__ else _opaque(value)
        if dataclasses.is_dataclass(value) or isinstance(value, (types.SimpleNamespace, argparse.Namespace)):
            return self._object(value)
        if type(value).__module__ not in ("builtins", "torch") and hasattr(value, "__dict__"):
            return self._object(value)
        return _opaque(value)

    def _object(self, value: Any) -> Data:
        if "<" in type(value).__qualname__:
            return _opaque(value)
        held = cast("dict[str, Any]", vars(value))
        state = {name: self.encode(item) for name, item in held.items()}
        return {"object": {**_reference(type(value)), "state": state}}


def decode(data: Data) -> Any:
    """Make the value anew; tensors hold torch's random numbers where theirs were not kept.

    :raises InputsError: a part was opaque, or its class is not there any more
    """
    ((kind, told),) = data.items()
    if kind == "plain":
        return told
    if kind == "float":
        return float(told)
    if kind == "tensor":
        return _make(told)
    if kind == "torch":
        return getattr(torch, told[6:]) if told.startswith("torch.") else torch.device(told)
    if kind == "size":
        return torch.Size(told)
    if kind == "enum":
        return _find(told)[told["name"]]
    if kind in ("tuple", "list", "set"):
        return {"tuple": tuple, "list": list, "set": set}[kind](decode(item) for item in told)
    if kind == "named":
        return _find(told)(*(decode(item) for item in told["items"]))
    if kind == "dict":
        return {decode(key): decode(item) for key, item in told}
    if kind == "module":
        args, kwargs = call_of(told["init"])
        return _find(told)(*args, **kwargs)
    if kind == "name":
        return _find(told)
    if kind == "object":
        cls = _find(told)
        made = cls.__new__(cls)
        for name, item in told["state"].items():
            object.__setattr__(made, name, decode(item))
        return made
    raise InputsError(f"The recorded value {told} cannot be made again.", stage="inputs")


def call_of(data: Data) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a recorded call."""
    return tuple(decode(item) for item in data["args"]), {name: decode(item) for name, item in data["kwargs"].items()}


def opaque_parts(data: Any) -> list[str]:
    """What in the data cannot be made again."""
    if isinstance(data, dict):
        told = cast("dict[str, Any]", data)
        if isinstance(told.get("opaque"), str):
            return [str(told["opaque"])]
        return [part for item in told.values() for part in opaque_parts(item)]
    if isinstance(data, list):
        return [part for item in cast("list[Any]", data) for part in opaque_parts(item)]
    return []


def brief(data: Data) -> str:
    """The form of a value, without its contents: calls with the same form are one."""
    ((kind, told),) = data.items()
    if kind == "tensor":
        return f"{told['dtype'][6:]}[{','.join(map(str, told['shape']))}]"
    if kind in ("tuple", "list", "set"):
        return f"{kind}({', '.join(brief(item) for item in told)})"
    if kind == "dict":
        return "{" + ", ".join(f"{brief(key)}: {brief(item)}" for key, item in told) + "}"
    if kind in ("named", "object", "module", "enum", "name"):
        return str(told["qualname"])
    return repr(told)[:80]


def _opaque(value: Any) -> Data:
    return {"opaque": f"{type(value).__module__}.{type(value).__qualname__}"}


def _reference(named: Any) -> Data:
    """Where a class or function comes from; a script's own module is found again by its file."""
    module = sys.modules.get(named.__module__)
    file = getattr(module, "__file__", None)
    return {
        "module": named.__module__,
        "qualname": named.__qualname__,
        "file": str(Path(file).resolve()) if file else None,
    }


def _find(told: Mapping[str, Any]) -> Any:
    module: Any = None
    for known in list(sys.modules.values()):
        file = getattr(known, "__file__", None)
        if file and told["file"] and known.__name__ != "__main__" and Path(file).resolve() == Path(told["file"]):
            module = known
            break
    try:
        if module is None:
            module = importlib.import_module(
                told["module"] if told["module"] != "__main__" else Path(told["file"]).stem
            )
        found: Any = module
        for part in told["qualname"].split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, TypeError) as error:
        raise InputsError(
            f"The recorded inputs need {told['module']}.{told['qualname']}, which is not there: {error}.",
            stage="inputs",
            remedy="Record them again.",
        ) from error
    return found


def _tensor(value: Any) -> Data:
    told: Data = {
        "shape": list(value.shape),
        "stride": list(value.stride()) if value.layout is torch.strided else None,
        "dtype": str(value.dtype),
        "device": value.device.type,
        "requires_grad": bool(value.requires_grad),
    }
    whole = not (value.dtype.is_floating_point or value.dtype.is_complex)
    if whole and value.device.type != "meta" and value.numel() and value.layout is torch.strided:
        plain = value.detach()
        if value.numel() <= KEPT:
            told["values"] = plain.cpu().flatten().tolist()
        elif value.dtype is not torch.bool:
            told["low"], told["high"] = int(plain.min()), int(plain.max())
    return told


def _make(told: Data) -> Any:
    dtype = getattr(torch, told["dtype"][6:])
    shape = tuple(told["shape"])
    if told.get("values") is not None:
        made = torch.tensor(told["values"], dtype=dtype).reshape(shape)
    elif dtype is torch.bool:
        made = torch.randint(0, 2, shape, dtype=torch.uint8).to(torch.bool)
    elif dtype.is_floating_point or dtype.is_complex:
        made = torch.randn(shape, dtype=torch.float32 if dtype.itemsize < 4 else dtype).to(dtype)
    else:
        made = torch.randint(told.get("low", 0), told.get("high", 9) + 1, shape, dtype=dtype)
    stride = told.get("stride")
    if stride is not None and made.numel() and tuple(stride) != made.stride() and 0 not in stride:
        laid = torch.empty_strided(shape, tuple(stride), dtype=dtype)
        made = laid.copy_(made)
    return made.requires_grad_() if told["requires_grad"] and dtype.is_floating_point else made
