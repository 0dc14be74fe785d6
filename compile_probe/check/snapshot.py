"""What a result was at one moment: tensors copied, objects taken apart, so that later calls cannot change it.

Two runs give two objects, which may be compared by what is in them and by nothing else: identity differs, an ``__eq__``
of the user's may answer with a tensor, and a class made inside the call is another class each time.
"""

from __future__ import annotations

import copy
import enum
import inspect
import types
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..untyped import torch

_ATOMS = (bool, int, float, complex, str, bytes, type(None), enum.Enum, range, slice)
_OPAQUE = (type, types.ModuleType, types.GeneratorType, torch.Generator, torch.dtype, torch.device, torch.nn.Module)


@dataclass(frozen=True)
class Thing:
    """Something of a class of its own: its class by name, and its parts by how they are reached (``.x``, ``[0]``)."""

    kind: str
    parts: dict[str, Any]

    def __repr__(self) -> str:
        return f"<{short_kind(self.kind)}>"


@dataclass(frozen=True)
class Inside:
    """Stands for an object met inside itself."""

    kind: str


def snapshot(tree: Any) -> Any:
    """Copy a result as it is now: plain containers stay what they are, other objects become a `Thing`."""
    return _Copier().copy(tree)


def tensors_in(tree: Any) -> list[Any]:
    """The tensors of a snapshot, in order."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, Thing):
        tree = tree.parts
    if isinstance(tree, dict):
        tree = list(cast("dict[Any, Any]", tree).values())
    if isinstance(tree, (list, tuple)):
        return [tensor for item in cast("list[Any]", tree) for tensor in tensors_in(item)]
    return []


def class_name(value: Any) -> str:
    """The class of an object by module and name: the same for two classes made by the same lines."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def short_kind(kind: str) -> str:
    """The name of a class without its module and the function that it was made in."""
    return kind.rpartition(".")[2]


class _Copier:
    def __init__(self) -> None:
        self._copied: dict[int, Any] = {}
        self._alive: list[Any] = []

    def copy(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().clone()
        if isinstance(value, (*_ATOMS, *_OPAQUE)) or inspect.isroutine(value):
            return value
        if id(value) not in self._copied:
            self._copied[id(value)] = Inside(class_name(value))
            self._alive.append(value)  # or its id would be given to another
            self._copied[id(value)] = self._taken_apart(value)
        return self._copied[id(value)]

    def _taken_apart(self, value: Any) -> Any:
        kind = cast("Any", type(value))
        if isinstance(value, Mapping):
            items = {key: self.copy(item) for key, item in cast("Mapping[Any, Any]", value).items()}
            return items if kind is dict else Thing(class_name(value), {f"[{k!r}]": item for k, item in items.items()})
        if isinstance(value, (list, tuple, deque)):
            elements = [self.copy(item) for item in cast("list[Any]", value)]
            if kind in (list, tuple):
                return elements if kind is list else tuple(elements)
            return Thing(class_name(value), {f"[{index}]": item for index, item in enumerate(elements)})
        attributes = _attributes_of(value)
        if attributes:
            return Thing(class_name(value), {f".{name}": self.copy(item) for name, item in attributes.items()})
        try:
            return copy.deepcopy(value)
        except Exception:  # locks, files and the like
            return value


def _attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an object by name; none of what keeps its data elsewhere than in Python."""
    if isinstance(value, (set, frozenset)) or type(value).__module__.partition(".")[0] in ("numpy", "builtins"):
        return {}
    names: dict[str, Any] = {}
    for base in reversed(type(value).__mro__):
        slots: Any = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                names[name] = getattr(value, name)
    names.update(getattr(value, "__dict__", {}))
    return names
