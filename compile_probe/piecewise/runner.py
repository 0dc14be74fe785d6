"""The runner in the place of a piece: the general code for any size, a captured graph for sizes that come often.

Keyed by all sizes. The first call of a key goes the general way; when the key is due, one call warms up on the stream
of captures (it is that call's real work, so nothing happens twice) and then the piece is captured. From then on a call
checks the addresses of weights, copies other inputs to where the capture reads them, and replays.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Callable, Optional

from ..devices.graph import Graph, poison
from ..untyped import torch
from .buffers import Buffer, overlapping, whole_copy
from .pieces import CaptureKey, Counts, KeyReport, Piece, PieceReport
from .session import MOST_RECAPTURES, Session

COLD, WARMING, CAPTURED, REFUSED = "cold", "warming", "captured", "refused"

Function = Callable[..., Sequence[Any]]


class Entry:
    """One key of a piece."""

    __slots__ = (
        *("aliases", "buffers", "bytes", "calls", "counts", "graph", "key"),
        *("outputs", "reason", "seconds", "stable", "state", "written"),
    )

    def __init__(self, key: CaptureKey) -> None:
        self.key = key
        self.state = COLD
        self.reason = ""
        self.calls = 0
        self.counts = Counts()
        self.graph: Optional[Graph] = None
        self.stable: tuple[tuple[int, int], ...] = ()
        self.buffers: tuple[Buffer, ...] = ()
        self.written: tuple[Buffer, ...] = ()
        self.aliases: tuple[tuple[int, int, int], ...] = ()
        self.outputs: tuple[Any, ...] = ()
        self.seconds: Optional[float] = None
        self.bytes: Optional[int] = None


class PiecewiseRunner:
    """Stands in the split graph in the place of a piece and is called with its inputs.

    ``stays`` are positions of inputs whose address stays (parameters, buffers), ``changed`` of those that the piece
    writes in place. ``own_key`` reads what belongs to the key and the sizes of the whole graph do not tell; ``random``
    says that the piece draws random numbers.
    """

    def __init__(
        self,
        piece: Piece,
        general: Function,
        session: Session,
        *,
        stays: frozenset[int] = frozenset(),
        changed: frozenset[int] = frozenset(),
        own_key: Optional[Callable[[Sequence[Any]], CaptureKey]] = None,
        random: bool = False,
    ) -> None:
        self.piece = piece
        self.general = general
        self.key: CaptureKey = ()
        self.entries: dict[CaptureKey, Entry] = {}
        self._session = session
        self._stays = stays
        self._changed = changed
        self._own_key = own_key
        self._random = random

    def __call__(self, *args: Any) -> Sequence[Any]:
        """Run the piece."""
        key = self.key if self._own_key is None else (*self.key, *self._own_key(args))
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = Entry(key)
        graph = entry.graph
        if graph is None:
            return self._run(entry, args)
        for index, address in entry.stable:
            if args[index].data_ptr() != address:
                return self._moved(entry, args)
        for buffer in entry.buffers:
            value = args[buffer.index]
            if value.data_ptr() != buffer.address:
                buffer.fill(value)
        graph.replay()
        entry.counts.replayed += 1
        for buffer in entry.written:
            buffer.give_back(args[buffer.index])
        return entry.outputs if not entry.aliases else self._with_aliases(entry, args)

    def report(self) -> PieceReport:
        """The piece and what became of each of its keys."""
        keys = [
            KeyReport(e.key, e.state, e.reason, Counts(**vars(e.counts)), e.seconds, e.bytes)
            for e in self.entries.values()
        ]
        return PieceReport(self.piece, tuple(keys))

    def drop(self, entry: Entry) -> None:
        """Forget the capture of a key."""
        if entry.graph is None:
            return
        entry.graph.release()
        for buffer in entry.buffers:
            if not buffer.adopted:
                self._session.disown(buffer.tensor)
        for index in self._owned_outputs(entry):
            self._session.disown(entry.outputs[index])
        entry.graph, entry.outputs, entry.buffers, entry.written, entry.aliases = None, (), (), (), ()
        self._session.graphs -= 1

    def _run(self, entry: Entry, args: Sequence[Any]) -> Sequence[Any]:
        """The way of a call that no capture serves."""
        entry.calls += 1
        session = self._session
        if entry.state == REFUSED:
            entry.counts.refused += 1
            return self.general(*args)
        if not session.building and session.policy.due(entry.key, entry.calls):
            reason = session.refusal() or self._unfit(args)
            if not reason:
                return self._capture(entry, args)
            self._refuse(entry, reason)
        entry.counts.general += 1
        if entry.state == COLD:
            entry.state = WARMING
        return self.general(*args)

    def _unfit(self, args: Sequence[Any]) -> str:
        """Why these inputs cannot be captured; empty if they can."""
        tensors = [value for value in args if isinstance(value, torch.Tensor)]
        if any(tensor.layout is not torch.strided for tensor in tensors):
            return "an input is not strided (sparse or nested)"
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            return "gradients are recorded"
        kind = self._session.device.kind
        if any(tensor.device.type != kind for tensor in tensors):
            return f"an input lies on another device than the {kind.upper()}: its value would be baked in"
        written = {args[index].untyped_storage().data_ptr() for index in self._changed}
        for index, value in enumerate(args):
            if not isinstance(value, torch.Tensor) or index in self._stays:
                continue
            if overlapping(value):
                return "an input overlaps itself in memory"
            storage = value.untyped_storage().data_ptr()
            others = [a for i, a in enumerate(args) if i != index and isinstance(a, torch.Tensor)]
            if storage in written and any(other.untyped_storage().data_ptr() == storage for other in others):
                return "two inputs share memory that is written in place"
        return ""

    def _capture(self, entry: Entry, args: Sequence[Any]) -> Sequence[Any]:
        """Make this call in the way that warms up, then capture."""
        session, device = self._session, self._session.device
        begin, before = time.perf_counter(), device.allocated_bytes()
        buffers, static = self._place(args)
        versions = _versions(static)
        with device.warm_up():
            result = tuple(self.general(*static))
        silent = [index for index, version in _versions(static).items() if version != versions[index]]
        if not self._changed.issuperset(silent):  # an op that does not declare what it writes: a capture could lose it
            for buffer in buffers:
                if buffer.index in silent:
                    buffer.give_back(args[buffer.index])
            self._refuse(entry, "an op in it writes an input without declaring it")
            entry.counts.general += 1
            return self._result(result, static, args)
        written = tuple(buffer for buffer in buffers if buffer.index in self._changed)
        for buffer in written:
            buffer.give_back(args[buffer.index])
        tensors = [value for value in static if isinstance(value, torch.Tensor)]
        changed = [static[index] for index in self._changed]
        graph = device.graph(session.pool)
        try:
            outputs = tuple(graph.capture(lambda: self.general(*static), tensors, changed))
        except Exception as error:  # whatever a driver or an op says: the piece goes on without a graph
            if device.real_graphs:
                session.broken = "an earlier capture failed, which may have left the driver in any state"
            self._refuse(entry, device.explain(error) or f"{type(error).__name__}: {error}".partition("\n")[0])
            entry.counts.general += 1
            return self._result(result, static, args)
        entry.graph, entry.outputs, entry.written = graph, outputs, written
        entry.buffers = tuple(buffers)
        entry.stable = tuple((index, args[index].data_ptr()) for index in sorted(self._stays))
        entry.aliases = _aliases(outputs, static)
        session.graphs += 1
        for buffer in buffers:
            if not buffer.adopted:
                session.own(buffer.tensor)
        for index in self._owned_outputs(entry):
            session.own(outputs[index])
        entry.state = CAPTURED
        entry.counts.captured += 1
        fault = self._fault(entry, result)
        device.synchronize()
        entry.seconds = time.perf_counter() - begin
        after = device.allocated_bytes()
        entry.bytes = None if after is None or before is None else after - before
        if fault:
            final = self._result(result, static, args)
            self.drop(entry)
            self._refuse(entry, fault)
            return final
        for index in self._owned_outputs(entry):
            whole_copy(outputs[index], result[index])
        return entry.outputs if not entry.aliases else self._with_aliases(entry, args)

    def _place(self, args: Sequence[Any]) -> tuple[list[Buffer], list[Any]]:
        """Static memory for every input that has none of its own, filled; and the arguments that read it."""
        buffers: list[Buffer] = []
        static = list(args)
        for index, value in enumerate(args):
            if isinstance(value, torch.Tensor) and index not in self._stays:
                buffer = Buffer.of(index, value, adopted=self._session.owns(value) and not value.is_inference())
                buffers.append(buffer)
                static[index] = buffer.tensor
        return buffers, static

    def _fault(self, entry: Entry, result: Sequence[Any]) -> str:
        """Replay over poisoned outputs and compare, where that may be done; why the capture is not to be trusted."""
        if not self._session.policy.prove or self._changed or self._random or entry.graph is None:
            return ""
        owned = self._owned_outputs(entry)
        for index in owned:
            poison(entry.outputs[index])
        entry.graph.replay()
        for index in owned:
            if not _alike(entry.outputs[index], result[index]):
                return "its replay does not give what the general code gave for the same inputs"
        return ""

    def _moved(self, entry: Entry, args: Sequence[Any]) -> Sequence[Any]:
        """A weight is not where it was captured: capture again, or give up when that happens again and again."""
        self.drop(entry)
        entry.state = WARMING
        entry.counts.recaptured += 1
        if entry.counts.recaptured >= MOST_RECAPTURES:
            self._refuse(entry, f"the address of a weight changed {MOST_RECAPTURES} times")
        return self._run(entry, args)

    def _refuse(self, entry: Entry, reason: str) -> None:
        entry.state, entry.reason = REFUSED, reason

    def _owned_outputs(self, entry: Entry) -> list[int]:
        """Outputs that lie in memory of the capture, not in that of an input."""
        foreign = {index for index, _, _ in entry.aliases}
        return [i for i, out in enumerate(entry.outputs) if isinstance(out, torch.Tensor) and i not in foreign]

    def _with_aliases(self, entry: Entry, args: Sequence[Any]) -> Sequence[Any]:
        """Outputs that are views of an input, made anew from the input of this call."""
        outputs = list(entry.outputs)
        for index, source, offset in entry.aliases:
            outputs[index] = _view(args[source], outputs[index], offset)
        return tuple(outputs)

    def _result(self, result: Sequence[Any], static: Sequence[Any], args: Sequence[Any]) -> Sequence[Any]:
        """Outputs of a call on static inputs, as views of the real ones where they are views."""
        outputs = list(result)
        for index, source, offset in _aliases(result, static):
            outputs[index] = _view(args[source], outputs[index], offset)
        return tuple(outputs)


def _versions(values: Sequence[Any]) -> dict[int, int]:
    """The counters that torch raises with every change in place; inference tensors have none."""
    return {
        index: int(value._version)
        for index, value in enumerate(values)
        if isinstance(value, torch.Tensor) and not value.is_inference()
    }


def _aliases(outputs: Sequence[Any], inputs: Sequence[Any]) -> tuple[tuple[int, int, int], ...]:
    """(output, input, offset within the input) for each output that is a view of an input."""
    where = {
        value.untyped_storage().data_ptr(): index
        for index, value in reversed(list(enumerate(inputs)))
        if isinstance(value, torch.Tensor) and value.numel()
    }
    found: list[tuple[int, int, int]] = []
    for index, output in enumerate(outputs):
        if isinstance(output, torch.Tensor) and output.numel():
            source = where.get(output.untyped_storage().data_ptr())
            if source is not None:
                found.append((index, source, output.storage_offset() - inputs[source].storage_offset()))
    return tuple(found)


def _view(base: Any, like: Any, offset: int) -> Any:
    return torch.as_strided(base, like.shape, like.stride(), base.storage_offset() + offset)


def _alike(replayed: Any, expected: Any) -> bool:
    """Whether a replay gave the values of the general code, as far as the same kernels repeat themselves."""
    if replayed.dtype.is_floating_point or replayed.dtype.is_complex:
        return bool(torch.allclose(replayed, expected, rtol=1e-2, atol=1e-3, equal_nan=True))
    return bool(torch.equal(replayed, expected))
