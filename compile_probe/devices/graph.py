"""A captured graph: device work recorded once over fixed addresses and replayed without Python.

The contract is that of ``torch.cuda.CUDAGraph`` and ``torch.npu.NPUGraph``:

- ``capture`` records and does not run: what the function would have changed is unchanged afterwards, and its outputs
  hold nothing yet;
- ``replay`` reads the inputs where they lay, and writes the outputs where they were put: every result of an earlier
  replay is overwritten.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Callable, Optional

from ..untyped import torch


class Graph(ABC):
    """One captured graph; made by ``Device.graph``."""

    @abstractmethod
    def capture(self, function: Callable[[], Sequence[Any]], inputs: Sequence[Any], changed: Sequence[Any]) -> Any:
        """Record ``function`` and return its outputs.

        ``inputs`` are the tensors that it reads, whose addresses stay; ``changed`` those of them that it writes.

        :raises Exception: what the function or the driver raised first; the stream is as it was before
        """

    @abstractmethod
    def replay(self) -> None:
        """Run what was recorded."""

    @abstractmethod
    def release(self) -> None:
        """Give its resources back; it cannot be replayed any more."""


class StreamGraph(Graph):
    """A graph of a driver that captures what is launched on a stream (CUDA, Ascend)."""

    def __init__(self, api: Any, graph: Any, stream: Any, pool: Any, options: dict[str, Any]) -> None:
        self._api = api
        self._graph = graph
        self._stream = stream
        self._pool = pool
        self._options = options

    def capture(self, function: Callable[[], Sequence[Any]], inputs: Sequence[Any], changed: Sequence[Any]) -> Any:
        before = self._api.current_stream()
        self._api.synchronize()
        self._stream.wait_stream(before)
        try:
            self._api.set_stream(self._stream)
            self._begin()
            try:
                outputs = function()
            except BaseException:
                with contextlib.suppress(Exception):  # the capture is broken: what it says now is not the cause
                    self._graph.capture_end()
                raise
            self._graph.capture_end()
        finally:
            self._api.set_stream(before)
        before.wait_stream(self._stream)
        return outputs

    def _begin(self) -> None:
        try:
            self._graph.capture_begin(pool=self._pool, **self._options)
        except BaseException:
            with contextlib.suppress(Exception):  # what it holds already, streams too, others can use
                self._graph.reset()
            raise

    def replay(self) -> None:
        self._graph.replay()

    def release(self) -> None:
        self._graph.reset()


class StandInGraph(Graph):
    """The contract without a device graph: a replay runs the function again and writes into the captured outputs.

    It keeps the logic around graphs testable where there is none. Its time says nothing about a graph's.
    """

    def __init__(self) -> None:
        self._function: Optional[Callable[[], Sequence[Any]]] = None
        self._owned: list[tuple[int, Any]] = []

    def capture(self, function: Callable[[], Sequence[Any]], inputs: Sequence[Any], changed: Sequence[Any]) -> Any:
        saved = [(tensor, tensor.detach().clone()) for tensor in changed]
        generator = torch.get_rng_state()
        try:
            outputs = tuple(function())
        finally:
            torch.set_rng_state(generator)
            with torch.no_grad():
                for tensor, value in saved:
                    tensor.copy_(value)
        read = {tensor.untyped_storage().data_ptr() for tensor in inputs}
        self._owned = [
            (index, output)
            for index, output in enumerate(outputs)
            if isinstance(output, torch.Tensor) and output.untyped_storage().data_ptr() not in read
        ]
        for _, output in self._owned:
            poison(output)
        self._function = function
        return outputs

    def replay(self) -> None:
        if self._function is None:
            raise RuntimeError("replay of a graph that holds no capture")
        outputs = self._function()
        for index, kept in self._owned:
            _write(kept, outputs[index])

    def release(self) -> None:
        self._function = None
        self._owned = []


def poison(tensor: Any) -> None:
    """Fill the memory of a tensor, between its elements too, with what no computation gives (NaN, least integer)."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        value: Any = float("nan")
    elif tensor.dtype is torch.bool:
        value = True
    else:
        value = torch.iinfo(tensor.dtype).min
    _whole(tensor).fill_(value)


def _write(kept: Any, fresh: Any) -> None:
    """Overwrite a captured output; by storage, since views of one tensor may overlap."""
    if kept.shape != fresh.shape:
        raise RuntimeError(f"a replay gave the shape {tuple(fresh.shape)} where {tuple(kept.shape)} was captured")
    same = kept.stride() == fresh.stride() and kept.storage_offset() == fresh.storage_offset()
    if same and kept.untyped_storage().nbytes() == fresh.untyped_storage().nbytes():
        _whole(kept).copy_(_whole(fresh))
    else:
        kept.copy_(fresh)


def _whole(tensor: Any) -> Any:
    """All elements of the storage of a tensor, in a row."""
    storage = tensor.detach().untyped_storage()
    count = storage.nbytes() // tensor.element_size()
    return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage, 0, (count,), (1,))
