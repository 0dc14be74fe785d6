"""Calls of other sizes, made from one that is there: rows are taken or repeated along the dimensions that vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import InputsError
from ..nested import leaves, map_leaves
from ..targets.calls import Call
from .sources import Case


@dataclass(frozen=True)
class Sizing:
    """The dimensions of the tensors of a call that vary together: (number of the tensor, dimension)."""

    name: str
    dimensions: tuple[tuple[int, int], ...]
    call: Call

    @property
    def size(self) -> int:
        """The size of the call that is there."""
        index, dimension = self.dimensions[0]
        return int(_tensors(self.call)[index].shape[dimension])

    def resized(self, size: int) -> Call:
        """The call with ``size`` in every dimension that varies; rows beyond those that are there are repeated."""
        number = -1

        def resize(value: Any) -> Any:
            nonlocal number
            if not isinstance(value, torch.Tensor):
                return value
            number += 1
            for index, dimension in self.dimensions:
                if index == number and value.shape[dimension] != size:
                    rows = torch.arange(size, device=value.device) % value.shape[dimension]
                    value = value.index_select(dimension, rows)
            return value

        args, kwargs = self.call
        return map_leaves(args, resize), map_leaves(kwargs, resize)

    def of(self, call: Call) -> int:
        """The size of another call of the same structure."""
        index, dimension = self.dimensions[0]
        return int(_tensors(call)[index].shape[dimension])


def sizing(cases: Sequence[Case]) -> Sizing:
    """What varies: where two cases differ, or else the first dimension of the tensors that share it (the batch).

    :raises InputsError: there is no tensor with a dimension
    """
    first = cases[0].calls[0]
    tensors = _tensors(first)
    for other in cases[1:]:
        others = _tensors(other.calls[0])
        dimensions = tuple(
            (index, dimension)
            for index, (a, b) in enumerate(zip(tensors, others))
            for dimension, (m, n) in enumerate(zip(a.shape, b.shape))
            if m != n
        )
        if dimensions:
            name = (cases[0].size or "size").partition("=")[0]
            return Sizing(name, dimensions, first)
    batch = next((tensor.shape[0] for tensor in tensors if tensor.dim()), None)
    if batch is None:
        raise InputsError("The example inputs hold no tensor with a dimension, so there are no sizes.", stage="inputs")
    dimensions = tuple((i, 0) for i, tensor in enumerate(tensors) if tensor.dim() and tensor.shape[0] == batch)
    return Sizing("batch", dimensions, first)


def _tensors(call: Call) -> list[Any]:
    return [leaf for leaf in leaves(call) if isinstance(leaf, torch.Tensor)]
