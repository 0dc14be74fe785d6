"""Static memory for the inputs of a capture."""

from __future__ import annotations

from typing import Any

from ..untyped import torch


class Buffer:
    """Where a capture reads one input. ``adopted`` memory is the output of a capture before it, which stays there."""

    __slots__ = ("_dense", "address", "adopted", "index", "tensor")

    def __init__(self, index: int, tensor: Any, *, adopted: bool) -> None:
        self.index = index
        self.tensor = tensor
        self.adopted = adopted
        self.address = tensor.data_ptr()
        self._dense = dense(tensor)

    @classmethod
    def of(cls, index: int, value: Any, *, adopted: bool) -> Buffer:
        """A buffer that holds what ``value`` holds, of its sizes and strides."""
        if adopted:
            return cls(index, value, adopted=True)
        with torch.inference_mode(False):  # a tensor born in inference mode cannot be written outside of it
            tensor = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
        buffer = cls(index, tensor, adopted=False)
        buffer.fill(value)
        return buffer

    def fill(self, value: Any) -> None:
        """Copy an input in."""
        self._dense.copy_(dense(value))

    def give_back(self, value: Any) -> None:
        """Copy what was written here to the tensor that should have been written."""
        if value.data_ptr() != self.address:
            dense(value).copy_(self._dense)


def dense(tensor: Any) -> Any:
    """The tensor without repetition: a dimension that is only expanded (stride 0) has one element."""
    for dimension, stride in enumerate(tensor.stride()):
        if stride == 0 and tensor.shape[dimension] > 1:
            tensor = tensor.narrow(dimension, 0, 1)
    return tensor


def overlapping(tensor: Any) -> bool:
    """Whether elements lie on top of each other in other ways than by expanding."""
    one = dense(tensor)
    reach = 1
    for stride, size in sorted((stride, size) for stride, size in zip(one.stride(), one.shape) if size > 1):
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False


def whole_copy(target: Any, value: Any) -> None:
    """Copy a value into an output of a capture, whatever their strides."""
    dense(target).copy_(dense(value) if target.stride() == value.stride() else value)
