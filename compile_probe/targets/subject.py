"""The thing that is probed: how to call it, and how to put its state back so that every run starts from the same."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Callable, Optional, cast

from ..nested import map_leaves
from ..untyped import torch
from . import uncompiled
from .calls import Call, total_of

STATE_SHARE = 4
"""A module's tensors are copied for putting back only if they take less than this part of the free memory."""

_PLAIN = (int, float, complex, bool, str, bytes, type(None), list, dict, set, tuple)


@dataclass(frozen=True)
class State:
    """A saved state: of each submodule its plain attributes, and of each tensor its values."""

    attributes: tuple[tuple[Any, dict[str, Any]], ...]
    tensors: tuple[tuple[Any, Any], ...]
    complete: bool


class Subject:
    """A callable with the module behind it, if there is one, and the mode in which it is called.

    Eager and compiled calls share this one instance: a second one may not fit into memory.

    ``compiles_inside`` is set where a call itself uses ``torch.compile``, which is then passed over in every call.
    """

    def __init__(self, target: Callable[..., Any], *, train: bool, device: str) -> None:
        self.target = target
        owner = getattr(target, "__self__", target)
        self.module: Optional[Any] = owner if isinstance(owner, torch.nn.Module) else None
        self.train = train
        self.grad = train
        self.compiles_inside = False
        self.device = device
        if self.module is not None:
            self.module.to(device)
            self.module.train(train)

    def call(self, function: Callable[..., Any], call: Call) -> Any:
        """Make one call of the target or of its compiled form; when training, its backward too."""
        args, kwargs = call
        if self.compiles_inside:
            with uncompiled.passing_over_all():
                output = function(*args, **kwargs)
        else:
            output = function(*args, **kwargs)
        if self.train:
            loss = total_of(output)
            if loss is not None:
                loss.backward()
        return output

    def place(self, call: Call) -> Call:
        """Move the tensors of a call to the device."""
        args, kwargs = call

        def move(value: Any) -> Any:
            return _moved(value, self.device)

        return map_leaves(args, move), map_leaves(kwargs, move)

    def parameters(self) -> list[Any]:
        """The module's parameters."""
        return list(self.module.parameters()) if self.module is not None else []

    def gradients(self) -> dict[str, Any]:
        """Gradients by the name of their parameter."""
        if self.module is None:
            return {}
        return {name: p.grad for name, p in self.module.named_parameters() if p.grad is not None}

    def buffers(self) -> dict[str, Any]:
        """Buffers by name."""
        return dict(self.module.named_buffers()) if self.module is not None else {}

    def clear_gradients(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters():
            parameter.grad = None

    def save(self, free_bytes: Optional[int]) -> State:
        """Save what calls may change; without its tensors where they are too large for a copy."""
        if self.module is None:
            return State((), (), True)
        tensors = [*self.module.parameters(), *self.module.buffers()]
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        complete = free_bytes is None or size * STATE_SHARE < free_bytes
        attributes = tuple((part, _plain_attributes(part)) for part in self.module.modules())
        values = tuple((tensor, tensor.detach().clone()) for tensor in tensors) if complete else ()
        return State(attributes, values, complete)

    def restore(self, state: State) -> None:
        """Put a saved state back, in place: compiled code may hold the addresses."""
        for part, attributes in state.attributes:
            for name in [name for name in _plain_attributes(part, copied=False) if name not in attributes]:
                part.__dict__.pop(name, None)
            part.__dict__.update({name: _duplicate(value) for name, value in attributes.items()})
        with torch.no_grad():
            for tensor, value in state.tensors:
                if not torch.equal(tensor, value):
                    tensor.copy_(value)
        self.clear_gradients()


def _plain_attributes(part: Any, copied: bool = True) -> dict[str, Any]:
    """Attributes of a module that are plain Python values, torch's own bookkeeping left out."""
    attributes = cast("dict[str, Any]", part.__dict__)
    return {
        name: _duplicate(value) if copied else value
        for name, value in attributes.items()
        if type(value) in _PLAIN and not name.startswith("_")
    }


def _duplicate(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # a list may hold anything of the user's
        return value


def _moved(value: Any, device: str) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    tensor: Any = value
    moved = tensor.to(device)
    if moved is not tensor and tensor.is_leaf and tensor.requires_grad:
        moved = moved.detach().requires_grad_(True)
    return moved
